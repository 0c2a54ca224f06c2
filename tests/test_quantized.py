"""Quantised models whose operators become ones of whole numbers: a step of the result's scale from the graph as written."""
import numpy as np
import onnx
import pytest

import interp

from .fusing import operators


def compared(text, constants, feeds, steps=1, scale=None):
    """The operators left, after a comparison with the graph as written, to a number of steps of the result's scale."""
    head = '<ir_version: 10, opset_import: ["": 21]> '
    source = onnx.parser.parse_model(head + text)
    source.graph.initializer.extend(onnx.numpy_helper.from_array(np.asarray(a), n) for n, a in constants.items())
    due = interp.load(source, optimize=False, threads=1).run(None, feeds)
    for threads in (1, 2):
        session = interp.load(source, threads=threads)
        for got, want in zip(session.run(None, feeds), due, strict=True):
            assert got.dtype == want.dtype and got.shape == want.shape
            most = np.abs(got.astype(float) - want.astype(float)).max()
            assert most <= steps * (1 if scale is None else scale) * (1 + 1e-5)
    return operators(session)


def floats(shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def weights(shape, seed=1):
    return np.random.default_rng(seed).integers(-127, 128, shape).astype(np.int8)


SCALES = {"xs": np.float32(0.03), "xz": np.uint8(128), "ys": np.float32(0.1), "yz": np.uint8(120), "zs": np.float32(0.07),
          "zz": np.uint8(0)}
IN = "q = QuantizeLinear(x, xs, xz) f = DequantizeLinear(q, xs, xz) "
OUT = "p = QuantizeLinear(g, ys, yz) y = DequantizeLinear(p, ys, yz)"


@pytest.mark.parametrize("activation", ["", "r = Relu(g) p = QuantizeLinear(r, ys, yz) y = DequantizeLinear(p, ys, yz)",
                                        "r = Relu(g) p = QuantizeLinear(r, zs, zz) y = DequantizeLinear(p, zs, zz)"])
@pytest.mark.parametrize("bias", ["none", "whole", "float"])
@pytest.mark.parametrize("each", [False, True])
def test_a_convolution(each, bias, activation):
    ws = np.float32(2.0) ** -np.arange(7, 13).astype(np.float32) if each else np.float32(0.01)
    b = np.arange(-3000, 3000, 1000)
    constants = {**SCALES, "w": weights((6, 8, 3, 3)), "ws": ws, "wz": np.zeros(np.shape(ws), np.int8), "bi": b.astype(np.int32),
                 "bs": (np.float32(0.03) * ws).astype(np.float32), "b": (b * 0.003).astype(np.float32)}
    third = {"none": "", "whole": ", b", "float": ", b"}[bias]
    if bias == "whole":
        constants.pop("b")
    text = (f"agraph (float[1,8,9,9] x) => (float[1,6,9,9] y) {{ {IN} v = DequantizeLinear<axis = 0>(w, ws, wz) "
            + ("b = DequantizeLinear<axis = 0>(bi, bs) " if bias == "whole" else "")
            + f"g = Conv<pads = [1, 1, 1, 1]>(f, v{third}) {activation or OUT} }}")
    found = compared(text, constants, {"x": floats((1, 8, 9, 9))}, scale=0.1)
    assert found["QLinearConv"] == 1 and not found["Conv"] and not found["Relu"]
    assert found["Lookup"] == (1 if "yz" in activation else 0)


@pytest.mark.parametrize("op, left", [("g = MatMul(f, v)", "QuantizedMatMul"), ("g = Gemm(f, v, b)", "QuantizedMatMul"),
                                      ("g = Gemm<transB = 1>(f, u, b)", "QuantizedMatMul"), ("g = Add(f, h)", "QuantizedAdd"),
                                      ("g = Mul(f, h)", "QuantizedMul"), ("g = Add(f, k)", "QuantizedAdd")])
def test_products_and_sums(op, left):
    constants = {**SCALES, "w": weights((12, 12)), "ws": np.full(12, 0.01, np.float32), "wz": np.zeros(12, np.int8),
                 "b": np.linspace(-2, 2, 12, dtype=np.float32), "row": np.arange(12, dtype=np.uint8).reshape(1, 12)}
    text = f"""agraph (float[5,12] x, float[5,12] z) => (float[5,12] y) {{ {IN} j = QuantizeLinear(z, zs, zz)
      h = DequantizeLinear(j, zs, zz) k = DequantizeLinear(row, zs, zz) v = DequantizeLinear<axis = 1>(w, ws, wz)
      u = DequantizeLinear<axis = 0>(w, ws, wz) {op} {OUT} }}"""
    found = compared(text, constants, {"x": floats((5, 12)), "z": floats((5, 12), 2)}, scale=0.1)
    assert found[left] == 1


@pytest.mark.parametrize("name, scale", [("xs", np.inf), ("xs", 0), ("ys", 0), ("ys", -0.1)])
def test_scales_that_are_no_steps_are_left_alone(name, scale):
    text = f"agraph (float[5,12] x) => (float[5,12] y) {{ {IN} g = Add(f, f) {OUT} }}"
    found = compared(text, {**SCALES, name: np.float32(scale)}, {"x": floats((5, 12))}, steps=0)
    assert not found["QuantizedAdd"] and found["Add"] + found["Chain"] == 1


@pytest.mark.parametrize("op", ["Relu", "Sigmoid", "Tanh", "HardSwish", "LeakyRelu <alpha = 0.1>", "Gelu", "Clip"])
def test_functions_become_tables_and_differ_in_nothing(op):
    given = "f, low, high" if op == "Clip" else "f"
    text = f"agraph (float[3,500] x) => (float[3,500] y) {{ {IN} g = {op}({given}) {OUT} }}"
    constants = {**SCALES, "low": np.float32(-0.5), "high": np.float32(1.5)}
    found = compared(text, constants, {"x": 3 * floats((3, 500))}, steps=0)
    assert found["Lookup"] == 1 and not found[op.split()[0]]


@pytest.mark.parametrize("op, size", [("MaxPool<kernel_shape = [2, 2]>(f)", "1,8,8,8"), ("Flatten(f)", "1,648"),
                                      ("Transpose<perm = [0, 2, 3, 1]>(f)", "1,9,9,8")])
def test_what_moves_bytes_differs_in_nothing(op, size):
    text = (f"agraph (float[1,8,9,9] x) => (float[{size}] y) {{ {IN} g = {op} p = QuantizeLinear(g, xs, xz) "
            "y = DequantizeLinear(p, xs, xz) }")
    found = compared(text, SCALES, {"x": floats((1, 8, 9, 9))}, steps=0)
    assert found["QuantizeLinear"] == found["DequantizeLinear"] == 1


def test_joined_values_of_several_scales_differ_in_nothing():
    text = f"""agraph (float[2,3] x, float[2,4] z) => (float[2,7] y) {{ {IN} j = QuantizeLinear(z, zs, zz)
      h = DequantizeLinear(j, zs, zz) g = Concat<axis = 1>(f, h) p = QuantizeLinear(g, zs, zz)
      y = DequantizeLinear(p, zs, zz) }}"""
    found = compared(text, SCALES, {"x": floats((2, 3)), "z": floats((2, 4), 1)}, steps=0)
    assert found["Lookup"] == 1 and found["QuantizeLinear"] == 2


def test_what_is_not_quantised_on_both_sides_stays():
    text = (f"agraph (float[1,8,9,9] x) => (float[1,6,9,9] y) {{ {IN} v = DequantizeLinear(w, ws, wz) "
            "y = Conv<pads = [1, 1, 1, 1]>(f, v) }")
    found = compared(text, {**SCALES, "w": weights((6, 8, 3, 3)), "ws": np.float32(0.01), "wz": np.int8(0)},
                     {"x": floats((1, 8, 9, 9))}, steps=1e-4)
    assert not found["QLinearConv"] and found["DequantizeLinear"] == 1


def test_what_others_read_too_stays():
    text = f"agraph (float[3,5] x) => (float[3,5] y, float[3,5] g) {{ {IN} g = Sigmoid(f) {OUT} }}"
    assert compared(text, SCALES, {"x": floats((3, 5))}, steps=1e-6)["Sigmoid"] == 1


@pytest.mark.parametrize("scales", [np.float32(0.01), np.full(6, 0.01, np.float32)], ids=["one", "each"])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("kind", [np.int8, np.uint8])
def test_dynamic_quantisation(kind, bias, scales):
    end = "m = Mul(c, s) y = Add(b, m)" if bias else "y = Mul(s, c)"
    text = f"""agraph (float[4,8] x) => (float[4,6] y) {{ q, xs, xz = DynamicQuantizeLinear(x) i = MatMulInteger(q, w, xz, wz)
      c = Cast<to = 1>(i) s = Mul(xs, ws) {end} }}"""
    constants = {"w": weights((8, 6)).view(kind), "wz": kind(3), "ws": scales, "b": np.arange(6, dtype=np.float32)}
    found = compared(text, constants, {"x": floats((4, 8))}, steps=1e-5)
    assert found["ScaledMatMulInteger"] == 1 and not found["Cast"] and not found["Add"]


def test_dynamic_quantisation_that_others_read_stays():
    text = """agraph (float[4,8] x) => (float[4,6] y, int32[4,6] i) { q, xs, xz = DynamicQuantizeLinear(x)
      i = MatMulInteger(q, w, xz, wz) c = Cast<to = 1>(i) s = Mul(xs, ws) y = Mul(c, s) }"""
    constants = {"w": weights((8, 6)), "wz": np.int8(3), "ws": np.float32(0.1)}
    assert compared(text, constants, {"x": floats((4, 8))}, steps=0)["MatMulInteger"] == 1


def test_a_convolution_whose_weights_are_fed_stays():
    text = (f"agraph (float[1,8,9,9] x, int8[6,8,3,3] w) => (float[1,6,9,9] y) {{ {IN} v = DequantizeLinear(w, ws, wz) "
            f"g = Conv<pads = [1, 1, 1, 1]>(f, v) {OUT} }}")
    feeds = {"x": floats((1, 8, 9, 9)), "w": weights((6, 8, 3, 3))}
    found = compared(text, {**SCALES, "ws": np.float32(0.01), "wz": np.int8(0)}, feeds, scale=0.1)
    assert not found["QLinearConv"]


@pytest.mark.parametrize("shape", [(6, 1), (1, 5), (6, 5), ()])
def test_sums_of_values_that_repeat(shape):
    text = f"agraph (float[2,6,5] x, float[{','.join(map(str, shape))}] z) => (float[2,6,5] y) {{ {IN} " \
           f"j = QuantizeLinear(z, zs, zz) h = DequantizeLinear(j, zs, zz) g = Mul(h, f) {OUT} }}"
    found = compared(text, SCALES, {"x": floats((2, 6, 5)), "z": np.asarray(floats(shape, 2), np.float32)}, scale=0.1)
    assert found["QuantizedMul"] == 1
