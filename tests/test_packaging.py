"""What is shipped: an sdist that has all that a build needs, and metadata that say the licence, the extras and the command."""
import os
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from email import message_from_string
from pathlib import Path

import pytest
import tomllib

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def run(*words, **keywords):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, **keywords)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    """An sdist of the files that git knows, made in a copy, so that it cannot live on what lies about here."""
    pytest.importorskip("Cython", reason="setup.py imports Cython, which the test extra has")
    known = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if known.returncode:
        pytest.skip("not a clone: git tells which files belong to the package")
    copy = tmp_path_factory.mktemp("clean")
    for name in filter(None, known.stdout.split("\0")):
        if (ROOT / name).is_symlink():
            (copy / name).symlink_to(os.readlink(ROOT / name))
        elif (ROOT / name).exists():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copy / name)
    run(sys.executable, "-c", "from setuptools import build_meta; build_meta.build_sdist('dist')", cwd=copy)
    [made] = (copy / "dist").glob("*.tar.gz")
    return made


@pytest.fixture(scope="module")
def held(sdist):
    """The files of the sdist, below its folder."""
    with tarfile.open(sdist) as archive:
        assert not [m.name for m in archive.getmembers() if m.issym() or m.islnk()]
        return {m.name.partition("/")[2] for m in archive.getmembers() if m.isfile()}


def of_git(*patterns):
    return set(run("git", "ls-files", *patterns, cwd=ROOT).split())


def test_an_sdist_has_every_source_of_the_package_and_of_its_kernels(held):
    # a link in the tree, a folder of files in an sdist
    kernels = {f"interp/{name}" for name in of_git("kernels") if (ROOT / name).exists()}
    package = {name for name in of_git("interp") if (ROOT / name).is_file()}
    assert len(kernels) > 200 and (kernels | package) - held == set()


def test_an_sdist_has_its_tests_documents_and_examples(held):
    beside = of_git("tests", "docs", "examples", "benchmarks", "*.md", "LICENSE", "setup.py")
    assert {name for name in beside if (ROOT / name).exists()} - held == set()


def test_an_sdist_has_nothing_that_was_compiled(held):
    assert [name for name in held if name.endswith((".so", ".o", ".pyc", ".marshal")) or name.startswith("build/")] == []


def test_the_metadata_say_licence_extras_and_versions(sdist):
    with tarfile.open(sdist) as archive:
        [name] = [m for m in archive.getnames() if m.count("/") == 1 and m.endswith("PKG-INFO")]
        told = message_from_string(archive.extractfile(name).read().decode())
    assert told["License-Expression"] == "Apache-2.0" and told.get_all("License-File") == ["LICENSE"]
    assert told["Requires-Python"] == PROJECT["requires-python"] and set(told.get_all("Provides-Extra")) == set(
        PROJECT["optional-dependencies"])
    assert told["Description-Content-Type"] == "text/markdown"


def test_the_version_is_the_one_that_the_package_tells():
    import interp

    assert interp.__version__ == PROJECT["version"]
    assert f"## {PROJECT['version']}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_a_wheel_takes_along_what_cython_and_type_checkers_need(tmp_path):
    """All but what is compiled, as setup.py lays it out for a wheel."""
    run(sys.executable, "setup.py", "--quiet", "build_py", "--build-lib", tmp_path, "egg_info", "--egg-base", tmp_path, cwd=ROOT)
    laid = {str(p.relative_to(tmp_path)) for p in tmp_path.glob("interp/**/*")}
    package = {name for end in ("py", "css", "js", "html") for name in of_git(f"interp/*.{end}") if (ROOT / name).is_file()}
    declared = {f"interp/{name}" for end in ("pxd", "pyi", "h") for name in of_git(f"kernels/*.{end}") if "/hot/" not in name}
    assert (package | declared | {"interp/py.typed"}) - laid == set()


@pytest.mark.slow
def test_a_wheel_from_the_sdist_alone_runs_in_a_fresh_venv(sdist, tmp_path):
    """Compiles everything: some minutes."""
    run(sys.executable, "-m", "pip", "wheel", "--no-deps", "-w", tmp_path, sdist, cwd=tmp_path)
    [wheel] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    for wanted in ("interp/py.typed", "interp/kernels/step.pxd", "interp/kernels/step.pyi", "interp/kernels/threads.h"):
        assert wanted in names
    assert any(n.endswith(".dist-info/licenses/LICENSE") for n in names) and any(n.endswith(".marshal") for n in names)
    assert not [n for n in names if n.startswith(("kernels/", "tests/"))]
    venv.create(tmp_path / "fresh", with_pip=True)
    python = tmp_path / "fresh/bin/python"
    run(python, "-m", "pip", "install", "--quiet", f"{wheel}[image]", cwd=tmp_path)
    digits = ROOT / "examples/digits"
    told = run(tmp_path / "fresh/bin/interp", digits / "digits.onnx", "-i", digits / "seven.png", cwd=tmp_path)
    assert "top 5: 7 (0.998)" in told
