"""Rotary embeddings spelled out become the standard's operator, and only where the halves of cosines and sines are alike."""
import numpy as np
import pytest
from onnx import numpy_helper

from .fusing import floats, fused, model

HALVES = {
    "slices": "a = Slice(x, zero, four, last) b = Slice(x, four, end, last)",
    "split": "a, b = Split<axis=-1, num_outputs=2>(x)",
}
ANGLES = "f = MatMul(p, i) e = Concat<axis=-1>(f, f) c3 = Cos(e) s3 = Sin(e) c = Unsqueeze(c3, one) s = Unsqueeze(s3, one)"
TURN = "n = Neg(b) r = Concat<axis=-1>(n, a)"
SUM = "m = Mul(x, c) t = Mul(r, s) y = Add(m, t)"
CONSTANTS = ("int64[1] zero = {0}, int64[1] four = {4}, int64[1] end = {9223372036854775807}, int64[1] last = {3}, "
             "int64[1] one = {1}")


def of(body, batch="2", rows="5", more=""):
    x = f"float[{batch},3,{rows},8]"
    return model(f"m ({x} x, float[{batch},{rows},1] p, float[1,4] i) => ({x} y{more}) <{CONSTANTS}> {{ {body} }}")


def feeds(batch=2, rows=5):
    return {"x": floats((batch, 3, rows, 8)), "p": np.tile(np.arange(rows, dtype=np.float32)[:, None], (batch, 1, 1)),
            "i": np.float32([[1, 0.1, 0.01, 0.001]])}


@pytest.mark.parametrize("halves", HALVES)
@pytest.mark.parametrize("sizes", (("2", "5"), ("N", "S")))
def test_a_spelling_becomes_one_operator(halves, sizes):
    left = fused(of(f"{ANGLES} {HALVES[halves]} {TURN} {SUM}", *sizes), feeds())
    assert left["RotaryEmbedding"] == 1 and left["Neg"] == left["Split"] == left["Add"] == 0


def test_factors_and_terms_may_come_in_any_order_and_angles_be_scaled():
    angles = f"{ANGLES} k = Constant<value_float=0.5>() d = Mul(k, c) w = Mul(s, k)"
    left = fused(of(f"{angles} {HALVES['split']} {TURN} m = Mul(d, x) t = Mul(w, r) y = Add(t, m)"), feeds())
    assert left["RotaryEmbedding"] == 1 and left["Neg"] == 0


def test_queries_and_keys_share_the_halves_of_cosines_and_sines():
    body = f"""{ANGLES} {HALVES['split']} {TURN} {SUM}
        k = Tanh(x) ka, kb = Split<axis=-1, num_outputs=2>(k) kn = Neg(kb) kr = Concat<axis=-1>(kn, ka)
        km = Mul(k, c) kt = Mul(kr, s) z = Add(km, kt)"""
    left = fused(of(body, more=", float[2,3,5,8] z"), feeds())
    assert left["RotaryEmbedding"] == 2 and left["Slice"] == 2


def test_rows_of_a_table_that_positions_pick():
    angles = np.arange(7)[:, None] * np.float32([1, 0.1, 0.01, 0.001] * 2)
    proto = model(f"""m (float[1,3,5,8] x, int64[1,5] q, float[7,8] cs, float[7,8] sn) => (float[1,3,5,8] y) <{CONSTANTS}>
        {{ c3 = Gather(cs, q) s3 = Gather(sn, q) c = Unsqueeze(c3, one) s = Unsqueeze(s3, one)
           {HALVES['slices']} {TURN} {SUM} }}""")
    for name, table in (("cs", np.cos(angles)), ("sn", np.sin(angles))):
        proto.graph.initializer.append(numpy_helper.from_array(table.astype(np.float32), name))
    del proto.graph.input[2:]
    left = fused(proto, {"x": floats((1, 3, 5, 8)), "q": np.array([[0, 6, 2, 2, 5]])})
    assert left["RotaryEmbedding"] == 1


@pytest.mark.parametrize("body", (
    f"{ANGLES.replace('(f, f)', '(f, g)').replace('e =', 'g = Tanh(f) e =')} {HALVES['split']} {TURN} {SUM}",
    f"{ANGLES} {HALVES['split']} n = Neg(a) r = Concat<axis=-1>(n, b) {SUM}",
    f"{ANGLES} {HALVES['split']} n = Neg(b) r = Concat<axis=-1>(a, n) {SUM}",
    f"{ANGLES} a = Slice(x, zero, four, last) b = Slice(x, zero, four, last) {TURN} {SUM}",
    f"{ANGLES} {HALVES['split']} {TURN} m = Mul(x, c) t = Mul(r, s) y = Sub(m, t)"))
def test_what_only_looks_alike_stays(body):
    assert fused(of(body), feeds())["RotaryEmbedding"] == 0


def test_one_row_of_positions_for_several_items_stays():
    proto = model(f"""m (float[2,3,5,8] x, float[1,5,1] p, float[1,4] i) => (float[2,3,5,8] y) <{CONSTANTS}>
        {{ {ANGLES} {HALVES['split']} {TURN} {SUM} }}""")
    assert fused(proto, {**feeds(), "p": feeds(1)["p"]})["RotaryEmbedding"] == 0


def test_axes_may_lie_in_a_row_of_rows():
    proto = of(f"{ANGLES} {HALVES['split']} {TURN} {SUM}")
    [one] = [t for t in proto.graph.initializer if t.name == "one"]
    one.dims.insert(0, 1)
    assert fused(proto, feeds())["RotaryEmbedding"] == 1
