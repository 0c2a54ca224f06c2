"""The README holds what it promises: its Python and its commands run, in their order, in one folder."""
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
BLOCKS = re.findall(r"^```(python|bash|cython)\n(.*?)^```$", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the README's reader stands: a copy of the examples, and a venv's commands on the path."""
    place = tmp_path_factory.mktemp("reader")
    shutil.copytree(ROOT / "examples", place / "examples", ignore=shutil.ignore_patterns("*.so", "*.c", "build"))
    commands = place / ".venv/bin"
    commands.mkdir(parents=True)
    for name, words in {"python": "", "interp": "-m interp"}.items():
        (commands / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
        (commands / name).chmod(0o755)
    return place


def execute(words, folder):
    before = {"PATH": f"{folder}/.venv/bin", "PYTHONPATH": str(ROOT)}
    env = {**os.environ, **{k: os.pathsep.join([v, os.environ.get(k, "")]) for k, v in before.items()}}
    done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def named(block):
    """The file that a block shows, if its first line names one, and the rest."""
    found = re.match(r"# (\S+\.pyx?)\n(.*)", block, re.S)
    return (found[1], found[2]) if found else (None, block)


def test_every_block_runs(folder):
    outputs = []
    for language, block in BLOCKS:
        name, rest = named(block)
        if name and (ROOT / name).exists():
            assert (ROOT / name).read_text(encoding="utf-8") == rest, f"{name} is not what the README shows"
        elif name:
            (folder / name).write_text(rest, encoding="utf-8")
        elif language == "python":
            outputs.append(execute([sys.executable, "-c", block], folder))
        elif "pip install" not in block:
            outputs.append(execute(["bash", "-euc", block], folder))
    told = "\n".join(outputs)
    assert "[('image', 'tensor(float)', ('N', 1, 8, 8))]" in told and "\n0.98" in told
    assert told.count("[0.  0.5 1.  0.5]") == 2


def test_the_first_command_tells_the_digit(folder):
    [command] = [block for language, block in BLOCKS if "[image]" in block]
    told = execute(["bash", "-euc", command.rpartition(" && ")[2]], folder)
    assert "top 5: 7 (0.998)" in told


def test_new_operators_take_fewer_than_ten_lines():
    shown = [block for language, block in BLOCKS if "@op" in block]
    assert len(shown) == 2
    for block in shown:
        assert len([line for line in named(block)[1].splitlines() if line.strip()]) < 10


def test_the_second_command_is_what_ci_runs():
    [command] = [block.strip() for language, block in BLOCKS if "[test]" in block]
    pattern = re.search(r"grep -m 1 -E '(.*)' README.md", (ROOT / ".ci/run").read_text(encoding="utf-8"))[1]
    assert re.search(pattern, command)


def test_the_operators_that_the_readme_names_are_there():
    text = (ROOT / "README.md").read_text(encoding="utf-8").partition("## What it does")[2].partition("Not there yet")[0]
    schemas = {s.name for s in onnx.defs.get_all_schemas()}
    claimed = set(re.findall(r"\b[A-Z]\w+", text)) & schemas
    assert {"If", "Scan", "Adam"} <= claimed <= {o.name for o in interp.standard}


def test_the_number_of_combinations_is_that_of_the_standard():
    count = sum(sum(len(c.allowed_type_strs) for c in s.type_constraints) or 1
                for s in onnx.defs.get_all_schemas_with_history() if not s.deprecated)
    assert f"{count:,} combinations" in (ROOT / "README.md").read_text(encoding="utf-8")
