"""Sizes that nobody gives: 1 where that fits, else the first likely ones that do, and never instead of what somebody gives."""
import json

import numpy as np
import onnx
import onnx.parser
import pytest

import interp
from interp.guessing import LIKELY, axes, guessed

from .test_cli import interp as run
from .test_cli import refused, succeeds

HEAD = '<ir_version: 8, opset_import: ["": 17]>'
CONV = f"""{HEAD} g (float[batch,1,height,width] x) => (float[a,b,c,d] y) <float[1,1,20,3] w = {{{','.join(['1'] * 60)}}}> {{
    y = Conv(x, w)
}}"""
PRODUCT = f"{HEAD} g (float[batch,n] x) => (float[a,b] y) <float[37,1] w = {{{','.join(['1'] * 37)}}}> {{ y = MatMul(x, w) }}"
# A recurrent state whose second axis is the batch: it has to stay as large as the first axis of the other input.
STATE = f"""{HEAD} g (float[?,?] x, float[2,?] s) => (float[a,b] y)
<float[1,1,30] w = {{{','.join(['1'] * 30)}}}, int64[1] at = {{1}}> {{
    planes = Unsqueeze(x, at)
    windows = Conv(planes, w)
    sums = ReduceSum<keepdims = 0>(windows, at)
    last = ReduceMax<axes = [1], keepdims = 1>(sums)
    rows = Transpose(s)
    y = Concat<axis = 1>(last, rows)
}}"""
CHOICE = f"""{HEAD} g (float[1,n] x, bool[1] long) => (float[a,b] y) <float[70,1] w = {{{','.join(['1'] * 70)}}},
    float[5,1] v = {{1,1,1,1,1}}> {{
    y = If(long) <then_branch = t () => (float[a,b] p) {{ p = MatMul(x, w) }},
                  else_branch = e () => (float[a,b] q) {{ q = MatMul(x, v) }}>
}}"""


def sizes(text, **values):
    session = interp.load(onnx.parser.parse_model(text))
    found = guessed(session.graph, {v.name: axes(v.shape, v.name) for v in session.inputs}, values)
    whole = {v.name: [d if isinstance(d, int) else found[d] for d in axes(v.shape, v.name)] for v in session.inputs}
    feeds = {name: values.get(name, np.ones(shape, np.float32)) for name, shape in whole.items()}
    session.run(None, feeds)
    return found


def test_images_are_as_large_as_the_largest_kernel_and_one_at_a_time():
    assert sizes(CONV) == {"batch": 1, "height": 24, "width": 24}
    assert 24 == min(n for n in LIKELY if n >= 20)


def test_a_size_that_weights_settle_is_found():
    assert sizes(PRODUCT) == {"batch": 1, "n": 37}


def test_sizes_that_have_to_agree_do():
    assert sizes(STATE) == {("x", 0): 1, ("x", 1): 32, ("s", 1): 1}


@pytest.mark.parametrize("long, n", [(True, 70), (False, 5)])
def test_the_branch_that_runs_decides(long, n):
    assert sizes(CHOICE, long=np.array([long])) == {"n": n}


def test_what_nothing_fits_is_left_at_1():
    text = f"""{HEAD} g (float[m,n] x) => (float[a,b] y, float[c,d] z) <float[2,1] v = {{1,1}}, float[3,1] w = {{1,1,1}}> {{
        y = MatMul(x, v)
        z = MatMul(x, w)
    }}"""
    graph = interp.load(onnx.parser.parse_model(text)).graph
    assert guessed(graph, {"x": ("m", "n")}, {}) == {"m": 1, "n": 1}


@pytest.fixture
def conv(tmp_path):
    onnx.save(onnx.parser.parse_model(CONV), tmp_path / "conv.onnx")
    return tmp_path / "conv.onnx"


def test_a_run_says_what_it_took(conv):
    done = run(conv, "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["inputs"][0]["shape"] == [1, 1, 24, 24]
    assert "batch is not given, taken as 1; -d batch=SIZE sets it" in done.stderr
    assert "height is not given, taken as 24, the first tried that fits; -d height=SIZE sets it" in done.stderr


def test_what_somebody_gives_stays(conv):
    report = json.loads(succeeds(conv, "--json", "-d", "height=21", "-d", "batch=3"))
    assert report["inputs"][0]["shape"] == [3, 1, 21, 4]
    line = refused(6, conv, "-d", "height=7")
    assert line.endswith("sizes that nobody gave may not fit, give -d batch=SIZE -d width=SIZE")


def test_axes_without_names_are_told_input_by_input(tmp_path):
    onnx.save(onnx.parser.parse_model(STATE), tmp_path / "state.onnx")
    told = run(tmp_path / "state.onnx").stderr
    assert "axes 0, 1 of x have no size, taken as 1, 32, the first tried that fits; --shape x=1,32 sets them" in told
    assert "axis 1 of s has no size, taken as 1; --shape s=2,1 sets it" in told
    assert "x=4,40" not in told and "taken as 4" in run(tmp_path / "state.onnx", "--shape", "x=4,40").stderr


def test_what_is_counted_without_a_run_takes_the_same_sizes(conv):
    report = json.loads(succeeds("info", conv, "--json"))
    assert report["assumed"] == {"batch": 1, "height": 24, "width": 24} and report["macs"]["total"] == 5 * 22 * 60


def test_a_picture_that_does_not_fit_may_be_scaled(conv, tmp_path):
    image = pytest.importorskip("PIL.Image", reason="pillow is part of the image extra")
    image.new("L", (5, 9)).save(tmp_path / "small.png")
    assert refused(6, conv, "-i", tmp_path / "small.png").endswith("sizes that nobody gave may not fit, give --resize HxW")
    assert succeeds(conv, "-i", tmp_path / "small.png", "--resize", "30x30")
    line = refused(5, conv, "-i", tmp_path / "smal.png")
    assert "there is no such file; did you mean" in line and "small.png" in line
