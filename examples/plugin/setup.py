"""Compiles the kernel against the declarations and headers that onnx-interp installs."""
from pathlib import Path

import numpy as np
from Cython.Build import cythonize
from setuptools import Extension, setup

import interp.kernels

KERNEL = Extension("pair_distance.kernel", ["src/pair_distance/kernel.pyx"],
                   include_dirs=[*interp.kernels.__path__, np.get_include()], libraries=["m"])
setup(ext_modules=cythonize([KERNEL], include_path=[str(Path(interp.__file__).parent.parent)], language_level=3,
                            compiler_directives={"boundscheck": False, "wraparound": False, "cdivision": True}))
