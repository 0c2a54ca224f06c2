"""`interp debug nan`, as the real process: which node it is, the model of it alone, and what the exit codes say."""
import json

import numpy as np
import onnx
import pytest

from .test_cli import interp, refused, succeeds

HEAD = '<ir_version: 10, opset_import: ["": 21]> '
ROOT = ("m (float[N, 3] x) => (float[N, 3] y) <float[3] w = {1, 2, 3}> "
        "{ [sum] a = Add(x, w) [root] b = Sqrt(a) [sq] c = Mul(b, w) [div] y = Div(c, w) }")
BODY = ("m (float[N] x, bool c) => (float[N] y) <float[1] k = {0}> { [pre] p = Add(x, x) [choice] q = If(c) "
        "<then_branch = t () => (float[N] a) { [zero] b = Mul(p, k) [over] a = Div(b, k) }, "
        "else_branch = e () => (float[N] u) { [neg] u = Neg(p) }> [post] y = Abs(q) }")
LOOP = ("m (float[2] x) => (float[2] y) <int64 n = {5}, bool g = {1}> { [turn] y = Loop(n, g, x) <body = b (int64 i, bool c, "
        "float[2] s) => (bool d, float[2] t) { d = Identity(c) [less] h = Sub(s, x) [root] t = Sqrt(h) }> }")
NARROW = "m (bfloat16[N] x) => (bfloat16[N] y) { [neg] b = Neg(x) [root] y = Sqrt(b) }"
LARGE = "m (float[N] x) => (float[N] y) { [big] a = Exp(x) [less] b = Sub(a, x) y = Reciprocal(b) }"
SPOILT = "m (float[2] x) => (float[2] y) <float[2] w = {1, NAN}> { [sum] a = Add(x, w) [rest] y = Relu(a) }"
MASK = "m (float[3] x) => (float[3] y) <float low = {-INF}, bool[3] k = {1, 0, 1}> { b = Where(k, x, low) y = Softmax(b) }"


@pytest.fixture
def saved(tmp_path):
    def made(text):
        proto = onnx.parser.parse_model(HEAD + text.replace("NAN", "0").replace("-INF", "0"))
        for tensor in proto.graph.initializer:
            if tensor.name == "low" or tensor.name == "w" and text is SPOILT:
                value = np.array(-np.inf, "f4") if tensor.name == "low" else np.array([1, np.nan], "f4")
                tensor.CopyFrom(onnx.numpy_helper.from_array(value, tensor.name))
        onnx.save(proto, tmp_path / "m.onnx")
        return tmp_path / "m.onnx"
    return made


def found(path, *given):
    """The report of a call that finds something."""
    done = interp("debug", "nan", path, *given, "--json")
    assert done.returncode == 1, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("text, given, node, within, kind", [
    (ROOT, ["-i", "x=[[1,2,3],[-2,0,-9]]"], "root", [], "nan"),
    (BODY, ["-i", "x=[1,2]", "-i", "c=true"], "over", ["choice"], "nan"),
    (LOOP, ["-i", "x=[1,2]"], "root", ["turn"], "nan"),
    (NARROW, ["-i", "x=[1,2]"], "root", [], "nan"),
    (LARGE, ["-i", "x=[1000,1]"], "big", [], "finite"),
    (LARGE.replace("x)", "file)").replace(" x", " file"), ["-i", "file=[1000,1]"], "big", [], "finite"),
])
def test_the_first_node_is_named_and_its_model_fails_alone(saved, tmp_path, text, given, node, within, kind):
    report = found(saved(text), *given, "-o", tmp_path / "cut.onnx")
    mine = report["found"]
    assert (mine["name"], mine["within"], mine["made"], mine["optimize"]) == (node, within, True, 0)
    assert report["schema"] == 1 and report["written"]["same"] and report["held"] == []
    cut = onnx.load(tmp_path / "cut.onnx")
    onnx.checker.check_model(cut)
    assert [n.name for n in cut.graph.node] == [node]
    with np.load(tmp_path / "inputs.npz") as fed:
        assert set(fed) == {v.name for v in cut.graph.input}
    line = refused(1, tmp_path / "cut.onnx", "--data", tmp_path / "inputs.npz", f"--check-{kind}")
    assert f"{node} (" in line


def test_ranges_of_inputs_are_told(saved):
    done = interp("debug", "nan", saved(ROOT), "-i", "x=[[1,2,3],[-2,0,-9]]")
    assert done.returncode == 1 and "root (Sqrt) makes NaN" in done.stdout
    assert "b: 2 of 6 are NaN, the first at [1,0]" in done.stdout
    assert "a  float32[2,3]  min -6  mean 1.17  max 6  nan 0" in done.stdout


def test_nothing_found_is_exit_code_0(saved):
    assert "no node makes NaN" in succeeds("debug", "nan", saved(ROOT), "-i", "x=[[1,2,3]]")
    assert json.loads(succeeds("debug", "nan", saved(ROOT), "-i", "x=[[1,2,3]]", "--json"))["found"] is None
    assert "no node makes NaN" in succeeds("debug", "nan", saved(MASK), "-i", "x=[1,2,3]")
    succeeds("debug", "nan", saved(LARGE), "-i", "x=[1000,1]", "--only", "nan")


def test_what_feeds_and_initializers_held_is_said_and_who_passes_it_on(saved):
    report = found(saved(ROOT), "-i", "x=[[1,NaN,3]]")
    assert [(h["kind"], h["name"], h["nan"], h["first"]) for h in report["held"]] == [("input", "x", 1, [0, 1])]
    assert report["found"]["name"] == "sum" and not report["found"]["made"]
    report = found(saved(SPOILT), "-i", "x=[1,2]")
    assert [(h["kind"], h["name"], h["nan"]) for h in report["held"]] == [("initializer", "w", 1)]
    assert report["found"]["name"] == "sum"


def test_usage(saved, tmp_path):
    assert "choose from" in refused(2, "debug", "inf", saved(ROOT))
    assert "ends in .onnx" in refused(2, "debug", "nan", saved(ROOT), "-o", tmp_path / "cut.txt")
    assert "no such file" in refused(3, "debug", "nan", tmp_path / "none.onnx")
    done = interp("debug", "--help")
    assert done.returncode == 0 and done.stdout.startswith("examples:\n  interp debug nan model.onnx")


def test_infinity_fails_a_run_only_where_it_is_asked_for(saved):
    path = saved("m (float[N] x) => (float[N] y) { [big] y = Exp(x) }")
    succeeds(path, "-i", "x=[1000,1]", "--check-nan")
    assert "NaN or infinity in y; big (Exp) gives the first" in refused(1, path, "-i", "x=[1000,1]", "--check-finite")
