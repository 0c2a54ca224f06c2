"""`interp compare`, as a process of its own."""
import json
import os
import pty
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from .test_cli import DIGITS, ROOT, SEVEN, interp, refused, succeeds

pytest.importorskip("onnxruntime", reason="onnxruntime is part of the test extra")
BAD = """
import numpy as np
import interp

@interp.op("LeakyRelu", 6, 16, shape=lambda x, **_: [x.shape])
def wrong_at_one_slope(x, *, alpha):
    y = np.where(x < 0, x * np.float32(alpha), x)
    return y * np.float32(1.01) if alpha == 0.25 else y
"""


def chain(path, *alphas):
    names = ["x", *(f"t{k}" for k in range(len(alphas) - 1)), "y"]
    nodes = [helper.make_node("LeakyRelu", [names[k]], [names[k + 1]], f"n{k}", alpha=a) for k, a in enumerate(alphas)]
    values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [4, 5]) for n in "xy"]
    onnx.save(helper.make_model(helper.make_graph(nodes, "chain", values[:1], values[1:]),
                                opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


@pytest.fixture
def bad(tmp_path):
    """A model, and operators of which one is wrong in its second node alone."""
    kernels = tmp_path / "bad.py"
    kernels.write_text(BAD)
    return chain(tmp_path / "chain.onnx", 0.5, 0.25, 0.75, 0.875), kernels


def test_the_one_node_that_is_wrong_is_blamed(bad):
    path, kernels = bad
    done = interp("compare", path, "--layers", "--kernels", kernels, "--json")
    report = json.loads(done.stdout)
    assert done.returncode == 1 and report["schema"] == 1 and not report["ok"]
    assert [(r["node"], r["ok"]) for r in report["rows"]] == [("n0", True), ("n1", False), ("n2", True), ("n3", True)]
    assert report["against"] == "onnxruntime" and report["inputs"][0]["name"] == "x"
    line = refused(1, "compare", path, "--layers", "--kernels", kernels)
    assert line == "interp: check failed: n1 (LeakyRelu): t1: 20 of 20 differ, first at [0,0]"


def test_what_follows_shows_where_errors_add_up(bad):
    path, kernels = bad
    report = json.loads(interp("compare", path, "--layers", "--cumulative", "--kernels", kernels, "--json").stdout)
    assert [r["ok"] for r in report["rows"]] == [True, False, False, False]


def test_the_worst_comes_first_in_a_pipe_uncut(bad):
    path, kernels = bad
    head, first, second, *rest = interp("compare", path, "--layers", "--top", 2, "--kernels", kernels).stdout.splitlines()
    assert head.split()[:4] == ["node", "operator", "tensor", "type"]
    assert first.split()[:4] == ["n1", "LeakyRelu", "t1", "float[4,5]"]
    assert first.endswith("20 of 20 differ, first at [0,0]") and second.endswith("equal")
    assert rest == ["… and 2 more that are no worse; --top 0 lists all", "3 ok, 1 differs against onnxruntime"]


def test_tolerances_decide(bad):
    path, kernels = bad
    assert succeeds("compare", path, "--layers", "--kernels", kernels, "--rtol", "0.02").endswith("4 ok against onnxruntime\n")
    assert interp("compare", path, "--kernels", kernels, "--rtol", "0.001").returncode == 1


@pytest.mark.parametrize("against", ["onnxruntime", "reference", "O0"])
def test_the_example_agrees_with_every_side(against):
    told = succeeds("compare", DIGITS, "--layers", "-i", f"image={SEVEN}", "--against", against)
    assert "differs" not in told and " ok" in told.splitlines()[-1]


def test_a_model_that_the_other_engine_does_not_run_is_held_in_layers():
    line = refused(4, "compare", DIGITS, "-i", f"image={SEVEN}")
    assert "onnxruntime cannot load the model" in line and "GlobalLpPool" in line and "layers" in line
    told = succeeds("compare", DIGITS, "-i", f"image={SEVEN}", "--layers")
    assert "left out  globallppool (GlobalLpPool): onnxruntime cannot load" in told
    assert succeeds("compare", DIGITS, "-i", f"image={SEVEN}", "--against", "O0").startswith("tensor ")


@pytest.mark.parametrize("layers", [(), ("--layers",)])
def test_the_level_alone_stands_for_the_graph_as_written(layers):
    said = ("compare", DIGITS, "-i", f"image={SEVEN}", *layers)
    told = succeeds(*said, "-O0")
    assert told == succeeds(*said, "--against", "O0") and told.endswith("against the graph as written\n")
    assert "against onnx's reference evaluator" in succeeds("compare", DIGITS, "--layers", "-O0", "--against", "reference",
                                                            "-i", f"image={SEVEN}")


def test_nodes_as_written_are_named_where_they_are_one_by_now(tmp_path):
    text = """<ir_version: 8, opset_import: ["": 17]> g (float[2,3] x, bool c) => (float[2,2] z) <float[3,2] w = {1,2,3,4,5,6}> {
        m = MatMul(x, w)  r = Relu(m)  n = Neg(r)  k = ReduceSum<keepdims = 0>(n)  d = Cast<to = 9>(k)
        z = If (d) <then_branch = t () => (float[2,2] p) { p = Neg(r) }, else_branch = e () => (float[2,2] q) { q = Abs(r) }> }"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    told = succeeds("compare", tmp_path / "m.onnx", "--layers", "-O0", "--top", 0)
    assert "MatMul_0 + Relu_1  " in told
    assert "as one    If_5 (If) with 2 nodes: bodies are compared by what they give together" in told
    rows = json.loads(succeeds("compare", tmp_path / "m.onnx", "--layers", "-O0", "--json"))["rows"]
    assert [r["inner"] for r in rows][-1] == 2 and ["MatMul_0", "Relu_1"] in [r["sources"] for r in rows]


def test_another_model_is_named(bad, tmp_path):
    path, _ = bad
    other = chain(tmp_path / "other.onnx", 0.5, 0.125, 0.75, 0.875)
    done = interp("compare", path, other, "--layers", "--range", "x=-1:1")
    assert done.returncode == 1 and done.stdout.endswith("3 ok, 1 differs against other.onnx\n")
    told = interp("compare", path, other, "--against", "onnxruntime", "--range", "x=-1:1").stdout
    assert told.endswith("1 differs against other.onnx in onnxruntime\n")


def test_a_plot_has_a_point_for_each_tensor(bad, tmp_path):
    path, kernels = bad
    interp("compare", path, "--layers", "--kernels", kernels, "--plot", tmp_path / "errors.svg")
    drawn = ET.parse(tmp_path / "errors.svg").iter("{http://www.w3.org/2000/svg}circle")
    titles = [c[0].text for c in drawn]
    assert len(titles) == 4 and titles[3].startswith("n1 (LeakyRelu) t1: 20 of 20 differ")


def test_mistakes_are_told_before_anything_runs(bad):
    path, _ = bad
    assert "--layers" in refused(2, "compare", path, "--cumulative")
    assert "--layers" in refused(2, "compare", path, "--plot", "x.svg")
    assert "no input z" in refused(2, "compare", path, "-i", "z=ones")
    assert "there is no such file" in refused(3, "compare", "nothing.onnx")
    assert "there is no such file" in refused(3, "compare", path, "nothing.onnx")


def test_names_of_a_model_cannot_drive_a_terminal_or_a_picture(tmp_path):
    path = chain(tmp_path / "chain.onnx", 0.5)
    made = onnx.load(path)
    made.graph.node[0].name = '\x1b[31m<script>"&\x07'
    onnx.save(made, path)
    told = succeeds("compare", path, "--layers", "--plot", tmp_path / "p.svg")
    assert "\x1b" not in told and "\\x1b[31m<script>" in told
    assert "<script>" not in (tmp_path / "p.svg").read_text()
    assert any("<script>" in (e.text or "") for e in ET.parse(tmp_path / "p.svg").iter())


def test_a_terminal_gets_colour_and_lines_that_fit(bad):
    path, kernels = bad
    master, slave = pty.openpty()
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "80"}
    env.pop("NO_COLOR", None)
    with subprocess.Popen([sys.executable, "-m", "interp", "compare", str(path), "--layers", "--kernels", str(kernels)],
                          stdout=slave, stderr=slave, env=env) as process:
        os.close(slave)
        told = b""
        while True:
            try:
                piece = os.read(master, 4096)
            except OSError:  # the terminal is gone with the process
                break
            if not piece:
                break
            told += piece
    assert process.returncode == 1
    assert b"\x1b[1m" in told and b"check failed" in told
    head = next(line for line in told.decode().splitlines() if "of allowed" in line)
    assert "max abs" in head and "ulp" not in head and "mean abs" not in head
    assert b"a wider terminal, or a pipe, shows" in told


def test_help_begins_with_examples_and_is_light():
    code = "import sys; sys.argv = ['interp', 'compare', '--help']\nfrom interp.cli import main; main()\n" \
           "print([m for m in ('numpy', 'onnx', 'rich', 'onnxruntime') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(ROOT))
    assert done.stdout.startswith("examples:\n  interp compare") and done.stdout.splitlines()[-1] == "[]"
