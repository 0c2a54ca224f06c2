"""The house keeps its order: who imports whom, how long files are, and what ruff and mypy say."""
import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LONGEST = 400  # lines

# Which modules of interp a module may import, by floor; a floor's files may import each other.
MODEL = "loading reader values tensors attributes functions sort"
ARROWS = {
    "record": "",
    "errors": "",
    "types": "",
    "reference": "session registry ops observe",
    "compat": "backend session source loading rewriting writing observe graph ops types errors",
    "dims": "types",
    "frozen": "",
    "freeze": "frozen messages schema registry ops",
    "messages": "frozen kernels",
    "schema": "frozen types errors",
    "registry": "schema types errors",
    "graph": "types dims schema registry",
    "gradient": "graph schema registry errors",
    "plugins": "registry",
    **dict.fromkeys(MODEL.split(), f"{MODEL} plugins messages gradient graph schema registry types errors"),
    "infer": "graph dims registry schema types errors",
    "call": "infer graph dims types errors kernels",
    "optimize": "branches graph infer call registry ops schema dims types errors kernels",
    "arena": "errors kernels",
    "joining": "graph dims kernels",
    "weights": "",
    "plan": "arena weights joining graph infer call registry dims types errors kernels",
    "branches": "infer graph dims",
    "places": "infer graph dims",
    "parts": "branches places errors plan graph infer call dims types kernels",
    "writing": "graph schema tensors types errors",
    "cutting": "graph infer dims types errors",
    "opaque": "plugins loading functions infer registry schema dims errors",
    "checking": "lints opaque loading functions infer session graph registry schema ops dims types errors",
    "lints": "opaque writing functions infer graph schema tensors dims types errors",
    "rewriting": "opaque cutting writing optimize loading graph registry ops errors",
    "feeding": "infer graph dims types errors",
    "guessing": "parts branches infer graph dims types errors",
    "filling": "feeding parts call graph types errors kernels",
    "source": "loading graph registry ops errors",
    "variants": "source feeding parts weights optimize graph errors",
    "awaiting": "",
    "collecting": "",
    "stream": "feeding call graph types errors",
    "costs": "",
    "profiling": "costs observe types",
    "nonfinite": "cutting writing observe record graph errors",
    "observe": "arena plan graph kernels",
    "session": "collecting observe source variants feeding filling awaiting stream weights plan parts infer call optimize graph "
               "registry ops types errors kernels",
    "environment": "plugins frozen kernels",
    "footprint": "parts plan arena weights infer graph dims errors kernels",
    "inventory": "guessing footprint survey costs functions infer graph dims errors types optimize ops registry",
    "survey": "feeding opaque loading infer optimize graph ops registry dims errors",
    "drawing": "survey infer graph ops registry dims types errors",
    "distance": "types",
    "engines": "types errors",
    "alone": "engines writing parts plan variants weights session infer call graph types errors kernels",
    "rows": "distance types",
    "walking": "ops alone rows feeding weights graph types errors",
    "comparing": "parts branches dims engines alone walking rows feeding session loading optimize graph registry"
                 " ops types errors",
    "plots": "",
    "timing": "",
    "ops": "frozen registry schema types dims errors kernels",
    "directml": "ops dims types errors kernels",
    "backend": "session registry schema types errors",
    "cli": "comparing distance engines rows plots timing "
           "drawing survey session checking lints plugins opaque rewriting cutting writing feeding guessing optimize loading "
           "functions schema registry ops types errors profiling inventory environment nonfinite source observe",
    "__init__": "collecting comparing "
                "reference observe session checking rewriting writing registry ops errors types directml drawing profiling",
    "__main__": "cli",
}


def modules():
    return [p for p in sorted((ROOT / "interp").glob("**/*.py")) if "kernels" not in p.relative_to(ROOT).parts]


def imports(path):
    """The modules at the top of interp that a file imports when it runs, and the packages from outside."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in [n for n in ast.walk(tree) if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING"]:
        node.body = []
    package = list(path.relative_to(ROOT).parts[:-1])
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (a.name.split(".") for a in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[:len(package) - node.level + 1] if node.level else []
            whole = base + (node.module.split(".") if node.module else [])
            yield from ([*whole, a.name] for a in node.names) if len(whole) == 1 and whole[0] == "interp" else [whole]


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_follow_the_arrows(path):
    mine = path.relative_to(ROOT / "interp").parts[0].removesuffix(".py")
    assert mine in ARROWS, f"say in ARROWS what interp/{mine} may import"
    public = set(ARROWS) - {"__init__", "__main__"}
    used = {found[1] for found in imports(path) if found[0] == "interp" and len(found) > 1 and found[1] in public | {"kernels"}}
    assert used - {mine, "record"} <= set(ARROWS[mine].split()), path


def test_kernels_know_neither_graphs_nor_onnx():
    for path in [*ROOT.glob("kernels/*.py*"), *ROOT.glob("kernels/*.pxd")]:
        for line in path.read_text(encoding="utf-8").splitlines():
            words = line.split()
            if words[:1] in (["import"], ["from"], ["cimport"]):
                assert words[1].split(".")[0] not in ("interp", "onnx") and not words[1].startswith(".."), f"{path}: {line}"


def test_files_stay_readable_in_one_sitting():
    files = [*modules(), *(p for end in ("py", "pyx", "pxd", "pxi", "h", "c") for p in ROOT.glob(f"kernels/**/*.{end}"))]
    generated = {p.with_suffix(".c") for p in ROOT.glob("kernels/*.pyx")}
    lengths = {str(p.relative_to(ROOT)): len(p.read_text(encoding="utf-8").splitlines()) for p in files if p not in generated}
    assert {name: n for name, n in lengths.items() if n > LONGEST} == {}


def test_every_module_says_what_one_finds_there():
    for path in modules():
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), path


@pytest.mark.parametrize("tool", [["ruff", "check", "."], ["mypy"]], ids=["ruff", "mypy"])
def test_tools_have_no_complaints(tool):
    pytest.importorskip(tool[0], reason=f"{tool[0]} is part of the test extra")
    done = subprocess.run([sys.executable, "-m", *tool], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
