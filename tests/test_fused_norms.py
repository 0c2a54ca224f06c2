"""Normalizations spelled out become the standard's operators, and only where that is what they are."""
import numpy as np
import pytest

from .fusing import floats, fused, model

CONSTANTS = "float two = {2}, float eps = {0.00001}, float one = {1}"
MEAN, SQUARE = "u = ReduceMean<axes=[-1]>(x)", "d = Sub(x, u) s = Pow(d, two)"
SPREAD = "v = ReduceMean<axes=[-1]>(s) e = Add(v, eps) r = Sqrt(e)"
SPELLINGS = (
    f"{MEAN} {SQUARE} {SPREAD} n = Div(d, r) m = Mul(n, w) y = Add(m, b)",
    f"{MEAN} d = Sub(x, u) s = Mul(d, d) {SPREAD} n = Div(d, r) m = Mul(w, n) y = Add(b, m)",
    f"{MEAN} {SQUARE} {SPREAD} i = Reciprocal(r) n = Mul(d, i) m = Mul(n, w) y = Add(m, b)",
    f"{MEAN} {SQUARE} {SPREAD} i = Div(one, r) n = Mul(i, d) m = Mul(n, w) y = Add(m, b)",
    f"{MEAN} d = Sub(x, u) f = Sub(x, u) s = Pow(f, two) {SPREAD} n = Div(d, r) m = Mul(n, w) y = Add(m, b)")
FEEDS = {"x": floats((2, 3, 24)), "w": floats(24, 1), "b": floats(24, 2)}


def of(body, shape="2,3,24"):
    return model(f"""<ir_version: 8, opset_import: ["": 17]>
        m (float[{shape}] x, float[24] w, float[24] b) => (float[{shape}] y) <{CONSTANTS}> {{ {body} }}""")

KERAS = f"{MEAN} d = Sub(x, u) s = Mul(d, d) {SPREAD} i = Reciprocal(r) g = Mul(i, w)"
KERAS_SPELLINGS = (
    f"{KERAS} p = Mul(x, g) q = Mul(u, g) t = Sub(b, q) y = Add(p, t)",
    f"{KERAS.replace('Mul(i, w)', 'Mul(w, i)')} p = Mul(g, x) q = Mul(g, u) t = Sub(b, q) y = Add(t, p)")


@pytest.mark.parametrize("body", SPELLINGS + KERAS_SPELLINGS)
@pytest.mark.parametrize("shape", ("2,3,24", "N,S,24"))
def test_a_spelling_becomes_one_operator(body, shape):
    assert fused(of(body, shape), FEEDS) == {"LayerNormalization": 1}


def test_scale_and_shift_may_be_absent():
    assert fused(of(f"{MEAN} {SQUARE} {SPREAD} y = Div(d, r)"), FEEDS) == {"LayerNormalization": 1}
    assert fused(of(f"{MEAN} {SQUARE} {SPREAD} n = Div(d, r) y = Mul(n, w)"), FEEDS) == {"LayerNormalization": 1}


def test_axes_may_be_an_input():
    text = """m (float[2,3,4] x) => (float[2,3,4] y) <float two = {2}, float eps = {0.00001}, int64[2] last = {1, 2}>
        { u = ReduceMean(x, last) d = Sub(x, u) s = Pow(d, two) v = ReduceMean(s, last) e = Add(v, eps) r = Sqrt(e)
          y = Div(d, r) }"""
    assert fused(model(text), {"x": floats((2, 3, 4))}) == {"LayerNormalization": 1}


@pytest.mark.parametrize("body", ("n = Div(x, r) y = Mul(n, w)", "i = Reciprocal(r) n = Mul(x, i) y = Mul(w, n)"))
def test_a_root_mean_square_becomes_one_operator(body):
    assert fused(of(f"s = Pow(x, two) {SPREAD} {body}"), FEEDS) == {"RMSNormalization": 1}


@pytest.mark.parametrize("body", (
    "u = ReduceMean<axes=[1]>(x) d = Sub(x, u) s = Pow(d, two) v = ReduceMean<axes=[1]>(s) e = Add(v, eps) r = Sqrt(e) "
    "y = Div(d, r)",
    f"u = ReduceMean<axes=[-1]>(b) d = Sub(x, u) s = Pow(d, two) {SPREAD} n = Div(d, r) y = Add(n, w)",
    f"{KERAS} p = Mul(x, g) q = Mul(u, w) t = Sub(b, q) y = Add(p, t)",
    f"{KERAS} p = Mul(x, g) q = Mul(u, g) t = Sub(q, b) y = Add(p, t)",
    f"{KERAS} p = Mul(w, g) q = Mul(u, g) t = Sub(b, q) y = Add(p, t)",
    f"{MEAN} {SQUARE} v = ReduceMean<axes=[-2,-1]>(s) e = Add(v, eps) r = Sqrt(e) y = Div(d, r)"))
def test_what_only_looks_alike_stays(body):
    assert fused(of(body), FEEDS)["LayerNormalization"] == 0


def test_a_difference_that_others_read_stays():
    text = f"""<ir_version: 8, opset_import: ["": 17]> m (float[2,24] x) => (float[2,24] y, float[2,24] d) <{CONSTANTS}>
        {{ {MEAN} {SQUARE} {SPREAD} y = Div(d, r) }}"""
    left = fused(model(text), {"x": floats((2, 24))})
    assert left["LayerNormalization"] == 1 and left["Sub"] == 1


def test_doubles_too():
    text = f"{MEAN} {SQUARE} {SPREAD} y = Div(d, r)".replace("two", "w").replace("eps", "b")
    proto = model(f"""<ir_version: 8, opset_import: ["": 17]> m (double[5,24] x) => (double[5,24] y)
        <double w = {{2}}, double b = {{0.001}}> {{ {text} }}""")
    assert fused(proto, {"x": floats((5, 24), dtype=np.float64)}) == {"LayerNormalization": 1}
