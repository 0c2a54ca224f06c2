"""Builds the kernels: every .pyx once, every file of hot loops once per instruction set; then writes down what onnx says."""
import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
from Cython.Build import cythonize
from setuptools import Extension, find_namespace_packages, setup
from setuptools.command.build_ext import build_ext
from setuptools.modified import newer_group

DIRECTIVES = dict(language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False,
                  embedsignature=True, freethreading_compatible=True)
# Never -ffast-math: NaN, infinities and the rounding tricks of exp must survive.
FLAGS = ["-O3", "-g0", "-std=gnu11", "-fno-math-errno", "-fno-trapping-math", "-Wno-unused-function"]
ISAS = {"baseline": []}
if sysconfig.get_platform().endswith(("x86_64", "amd64")):
    ISAS["avx2"] = ["-mavx2", "-mfma", "-mf16c"]
CROSS = "_PYTHON_HOST_PLATFORM" in os.environ  # how a build says that it is for another machine than this one

KERNELS = Path("interp/kernels")  # a link to kernels/, so that modules are compiled under the names they are imported by
SHARED = "interp.kernels._cyutility"
BESIDE = {"threads": ["thread_pool.c"]}  # C by hand that is compiled once


class BuildExt(build_ext):
    """Compiles `hot/NAME.c`, where there is one, for each instruction set beside `NAME.pyx`; `interp.freeze` ends the build."""

    def finalize_options(self):
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count()

    def run(self):
        super().run()
        if CROSS:  # what was compiled does not run here; without what onnx said, the package asks onnx
            return
        in_place = self.inplace or self.editable_mode
        tree = os.path.abspath("." if in_place else self.build_lib)
        if os.path.exists(os.path.join(tree, "interp", "freeze.py")):
            words = [sys.executable, "-m", "interp.freeze", "interp", *(["--in-place"] if in_place else [])]
            subprocess.run(words, cwd=tree, check=True)

    def build_extension(self, ext):
        hot = KERNELS / "hot" / (ext.name.rpartition(".")[2] + ".c")
        if hot.exists():
            ext.extra_objects = [self.compiled(hot, ext, isa) for isa in ISAS]
        super().build_extension(ext)

    def compiled(self, source, ext, isa):
        """The object file of one instruction set."""
        folder = os.path.join(self.build_temp, isa)
        [made] = self.compiler.object_filenames([str(source)], output_dir=folder)
        if not self.force and not newer_group([str(source), *ext.depends], made):
            return made
        [made] = self.compiler.compile([str(source)], output_dir=folder, include_dirs=ext.include_dirs, depends=ext.depends,
                                       extra_postargs=[*FLAGS, *ISAS[isa], f"-DISA={isa}"])
        return made


def included(files):
    """All headers and declarations that the files include, however indirectly, and the files of C among them."""
    found, todo = set(), [f for f in files if f.exists()]
    while todo:
        text = todo.pop().read_text()
        names = re.findall(r'(?:#include|cdef extern from) "([^"]+)"', text)
        names += [f"{name}.pxd" for name in re.findall(r"from \.(\w+) cimport", text)]
        names += re.findall(r'^include "(.+)"', text, re.MULTILINE)
        for header in map(KERNELS.joinpath, names):
            if header.exists() and str(header) not in found:
                found.add(str(header))
                todo.append(header)
    return found | {str(f) for f in files if f.suffix == ".c" and f.exists()}


def extension(path):
    """One module of kernels, rebuilt when a header that it includes changes."""
    name = path.stem
    beside = [path.with_name(c) for c in BESIDE.get(name, ())]
    return Extension(f"interp.kernels.{name}", [str(path), *map(str, beside)], include_dirs=[np.get_include(), str(KERNELS)],
                     extra_compile_args=[*FLAGS, "-O2"], libraries=["m"],
                     depends=sorted(included([path, KERNELS / "hot" / f"{name}.c", *beside])),
                     define_macros=[("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION")])


modules = [extension(p) for p in sorted(KERNELS.glob("*.pyx"))]
if not {"egg_info", "dist_info", "sdist"} & set(sys.argv):  # which list the modules, and need no C made of them
    shared = Extension(SHARED, ["build/_cyutility.c"], extra_compile_args=FLAGS)
    modules = cythonize([*modules, shared], compiler_directives=DIRECTIVES, nthreads=os.cpu_count() or 1,
                        shared_utility_qualified_name=SHARED, build_dir="build")
setup(
    packages=find_namespace_packages(include=["interp", "interp.*"]),
    package_data={"": ["*.css", "*.js", "*.html"], "interp": ["py.typed"], "interp.kernels": ["*.pyi", "*.pxd", "*.h"]},
    cmdclass={"build_ext": BuildExt},
    ext_modules=modules,
)
