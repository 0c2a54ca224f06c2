"""`interp ops`, each time as a process of its own."""
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from onnx import TensorProto, defs, helper

from .test_cli import DIGITS, ROOT, interp, model, refused, succeeds

DOCUMENT = ROOT / "docs/operators.md"
HAT = 'from interp import op\n@op("Hat", domain="mine", shape=lambda x: [x.shape])\ndef hat(x):\n    return abs(x)\n'


@pytest.fixture
def unknown(tmp_path):
    """A model with an operator that nobody has, in a branch."""
    body = helper.make_graph([helper.make_node("Hat", ["x"], ["h"], domain="mine")], "body", [],
                             [helper.make_tensor_value_info("h", TensorProto.FLOAT, [2])])
    node = helper.make_node("If", ["c"], ["y"], then_branch=body, else_branch=body)
    return model(tmp_path / "unknown.onnx", [node], [("c", TensorProto.BOOL, []), ("x", TensorProto.FLOAT, [2])],
                 [("y", TensorProto.FLOAT, [2])])


def test_every_operator_of_the_standard_is_listed_with_its_live_versions():
    listed = {(r["domain"], r["name"]): r for r in json.loads(succeeds("ops", "--json"))["operators"]}
    due = {}
    for s in defs.get_all_schemas_with_history():
        due.setdefault((s.domain, s.name), []).extend([] if s.deprecated else [s.since_version])
    for key, versions in due.items():
        assert sorted(listed[key]["served"] + listed[key]["lacking"]) == sorted(versions), key


def test_the_operators_of_a_model_are_counted_at_its_versions():
    rows = {r["name"]: r for r in json.loads(succeeds("ops", DIGITS, "--json"))["operators"]}
    assert rows["Conv"]["nodes"] == 2 and rows["Conv"]["served"] == [22] and rows["Conv"]["kernel"] == "step"
    assert sum(r["nodes"] for r in rows.values()) == 10


def test_what_is_missing_is_named_and_fails(unknown, tmp_path):
    done = interp("ops", unknown, "--missing")
    assert done.returncode == 1 and done.stdout.splitlines()[1].split()[:2] == ["mine", "Hat"]
    assert len(done.stdout.splitlines()) == 2
    mine = tmp_path / "hat.py"
    mine.write_text(HAT)
    assert succeeds("ops", unknown, "--missing", "--kernels", mine) == ""
    assert "hat" in succeeds("ops", unknown, "--kernels", mine)


def test_types_are_those_of_the_data():
    rows = {r["name"]: r for r in json.loads(succeeds("ops", "--json"))["operators"]}
    assert "float" in rows["Where"]["types"] and rows["StringNormalizer"]["types"] == ["string"]


def test_a_table_is_no_wider_than_the_terminal():
    leader, follower = pty.openpty()
    subprocess.run([sys.executable, "-m", "interp", "ops", DIGITS], stdout=follower, cwd=ROOT, timeout=120, check=True,
                   env={**os.environ, "COLUMNS": "80"})
    os.close(follower)
    lines = os.read(leader, 100_000).decode().splitlines()
    assert max(map(len, lines)) <= 80 < max(map(len, succeeds("ops", DIGITS).splitlines()))
    assert any(line.startswith(" ") for line in lines)


def test_a_file_that_is_no_model_is_refused(tmp_path):
    assert "there is no such file" in refused(3, "ops", tmp_path / "none.onnx")


def test_the_committed_table_is_what_the_command_writes():
    assert succeeds("ops", "--markdown") == Path(DOCUMENT).read_text(encoding="utf-8"), \
        "write it anew: interp ops --markdown > docs/operators.md"


def test_nothing_of_the_standard_is_missing():
    rows = json.loads(interp("ops", "--missing", "--json").stdout)["operators"]
    assert [r["name"] for r in rows] == []
