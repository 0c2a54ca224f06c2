"""The README and the pages of docs/ hold what they promise: their code runs, in its order, and prints what they show.

Every block of Python, bash or Cython runs, those of a page in one folder. One whose first line names a file is that file. A block
of text right after one that runs is what it prints, but for numbers with a point or a unit, and for lines of "…". A block
whose first line is `# not run by the tests: REASON` is not run; UNRUN counts those.
"""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import onnx
import pytest

import interp

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
UNRUN = {"README.md": 1, "CONTRIBUTING.md": 3, "plugins.md": 1, "migrating.md": 1, "wheels.md": 1}
LANGUAGES = {"python", "bash", "cython"}
MEASURED = re.compile(r"-?\d[\d.,]*(e[+-]?\d+)?\s?(ns|µs|ms|s|%|[KMG]iB|[kMGT]|/s)\b|-?\d+\.\d+(e[+-]?\d+)?|\d+e[+-]?\d+")


def text_of(page):
    return page.read_text(encoding="utf-8")


def blocks(page):
    """The language and the text of every block of a page."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", text_of(page), re.M | re.S)


def named(block):
    """The file that a block shows, if its first line names one, and the rest."""
    found = re.match(r"# (\S+\.(?:pyx?|toml))\n(.*)", block, re.S)
    return (found[1], found[2]) if found else (None, block)


def left_out(block):
    return re.match(r"# not run by the tests: \S", block)


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    """A function that gives a folder as a reader has it: a copy of the examples, and an active venv's commands."""
    commands = tmp_path_factory.mktemp("venv")
    answers = {"python": f'exec "{sys.executable}" "$@"', "interp": f'exec "{sys.executable}" -m interp "$@"', "pip": "exit 0",
               "python3": f'[ "$2" = venv ] || exec "{sys.executable}" "$@"'}
    for name, line in answers.items():
        (commands / name).write_text(f"#!/bin/sh\n{line}\n")
        (commands / name).chmod(0o755)

    def made(name):
        place = tmp_path_factory.mktemp(name)
        shutil.copytree(ROOT / "examples", place / "examples", ignore=shutil.ignore_patterns("*.so", "*.c", "build"))
        (place / ".venv").mkdir()
        (place / ".venv/bin").symlink_to(commands)
        return place
    return made


def execute(words, folder):
    """What a command prints, on either stream."""
    before = {"PATH": f"{folder}/.venv/bin", "PYTHONPATH": str(ROOT)}
    env = {**os.environ, **{k: os.pathsep.join([v, os.environ.get(k, "")]) for k, v in before.items()}}
    env = {k: v for k, v in env.items() if k != "FORCE_COLOR"}
    done = subprocess.run(words, cwd=folder, env={**env, "PYTHONIOENCODING": "utf-8"}, stdout=subprocess.PIPE, timeout=240,
                          stderr=subprocess.STDOUT, text=True, encoding="utf-8")
    assert done.returncode == 0, f"{words[-1]}\n{done.stdout}"
    return done.stdout


def masked(line):
    """A line without what differs from run to run and from machine to machine."""
    return MEASURED.sub("#", " ".join(line.split()))


def assert_shown(shown, printed):
    """Every line that a page shows was printed, in the order of the page."""
    todo = [masked(line) for line in printed.splitlines()]
    for line in shown.splitlines():
        if line.strip() in ("", "…"):
            continue
        assert masked(line) in todo, f"the page shows\n{line}\nand what was printed is\n{printed}"
        del todo[:todo.index(masked(line)) + 1]


@pytest.mark.parametrize("page", [p for p in PAGES if any(kind in LANGUAGES for kind, _ in blocks(p))], ids=lambda p: p.name)
def test_every_block_runs_and_prints_what_is_shown(page, reader):
    folder, printed = reader(page.stem), None
    for kind, block in blocks(page):
        name, rest = named(block)
        if kind == "text" and printed is not None:
            assert_shown(block, printed)
        printed = None
        if name and (ROOT / name).exists():
            assert text_of(ROOT / name) == rest, f"{name} is not what {page.name} shows"
        elif name:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(rest, encoding="utf-8")
        elif kind in LANGUAGES and not left_out(block):
            printed = execute([sys.executable, "-c", block] if kind == "python" else ["bash", "-euc", block], folder)


def test_the_blocks_that_do_not_run_are_known():
    found = {p.name: sum(bool(left_out(block)) for _, block in blocks(p)) for p in PAGES}
    assert {name: n for name, n in found.items() if n} == UNRUN


def test_links_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)\s]+)\)", text_of(page)):
            path, _, anchor = target.partition("#")
            if "://" in path:
                continue
            there = (page.parent / path) if path else page
            assert there.exists(), f"{page.name} links to {target}"
            assert not anchor or anchor in anchors(there), f"{page.name} links to {target}"


def anchors(page):
    """What the headings of a page can be linked by."""
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in re.findall(r"^#+ (.+)$", text_of(page), re.M)}


def test_every_page_can_be_reached_from_the_readme():
    linked = {Path(t.partition("#")[0]).name for p in PAGES for t in re.findall(r"\]\(([^)\s]+)\)", text_of(p))}
    assert {p.name for p in PAGES} - {"README.md"} <= linked


def test_new_operators_take_fewer_than_ten_lines():
    shown = [block for kind, block in blocks(ROOT / "README.md") if "@op" in block]
    assert len(shown) == 2
    for block in shown:
        assert len([line for line in named(block)[1].splitlines() if line.strip()]) < 10


def test_the_second_command_is_what_ci_runs():
    [command] = [line for line in text_of(ROOT / "README.md").splitlines() if ".[test]" in line]
    pattern = re.search(r"grep -m 1 -E '(.*)' README.md", text_of(ROOT / ".ci/run"))[1]
    assert re.search(pattern, command)


def test_the_operators_that_the_pages_name_are_there():
    text = text_of(ROOT / "docs/architecture.md").partition("## What it does")[2]
    schemas = {s.name for s in onnx.defs.get_all_schemas()}
    claimed = set(re.findall(r"\b[A-Z]\w+", text)) & schemas
    assert {"If", "Scan", "Adam"} <= claimed <= {o.name for o in interp.standard}


def test_the_number_of_combinations_is_that_of_the_standard():
    count = sum(sum(len(c.allowed_type_strs) for c in s.type_constraints) or 1
                for s in onnx.defs.get_all_schemas_with_history() if not s.deprecated)
    assert f"{count:,} combinations" in text_of(ROOT / "README.md")


def test_figures_of_speed_are_those_of_the_page_on_performance():
    told = re.findall(r"\b(\d\.\d\d) times", text_of(ROOT / "README.md"))
    assert told and all(f"{figure} times as fast" in text_of(ROOT / "docs/performance.md") for figure in told)


MADE = {"api.md": ["docs/make_api.py"], "cli.md": ["docs/make_cli.py"], "operators.md": ["-m", "interp", "ops", "--markdown"]}


@pytest.mark.parametrize("page, words", MADE.items(), ids=MADE)
def test_made_pages_are_current(page, words):
    if page == "cli.md" and sys.version_info[:2] != (3, 11):
        pytest.skip("argparse words its help anew from version to version; the page is made with 3.11")
    done = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"})
    assert done.stdout == text_of(ROOT / "docs" / page), f"write it anew: python {' '.join(words)} > docs/{page}"
