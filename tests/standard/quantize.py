"""Quantisation and integer products: exact sums in 64 bits, quotients in the precision that the text names."""
import ml_dtypes
import numpy as np
from onnx import TensorProto, helper, numpy_helper

from ..oracle.integer import patched, quantised, sums, wide
from .case import Case, case

FLOATS = (np.float32, np.float64, np.float16, ml_dtypes.bfloat16)


def granularity(spec, x):
    """The shape of a scale, attributes that say so, and how to repeat a scale over the input."""
    axis, block = 1, 2
    kinds = ["tensor", *(["axis"] if spec.has("axis") else []), *(["block"] if spec.has("block_size") else [])]
    kind = kinds[spec.rng.integers(len(kinds))]
    if kind == "tensor":
        return (), {}, lambda s: s
    if kind == "axis":
        return (x.shape[axis],), {"axis": axis - x.ndim}, lambda s: s.reshape(-1, 1)
    blocks = (x.shape[0], -(-x.shape[axis] // block), x.shape[2])
    return blocks, {"axis": axis, "block_size": block}, lambda s: np.repeat(s, block, axis)[:, :x.shape[axis]]


def constraints(spec):
    """Which constraints the scale and the result of QuantizeLinear have; None for a scale of float."""
    return ("T2", "T3") if spec.version >= 23 else ("T1" if spec.version >= 19 else None, "T2")


@case("QuantizeLinear")
def quantize_linear(spec):
    of_scale, of_result = constraints(spec)
    x = spec.data((2, 5, 3), "T1", -40, 40)
    shape, attributes, repeated = granularity(spec, x)
    low, high = (1, 5) if "int" in (spec.dtype(of_scale).name if of_scale else "") else (0.1, 0.9)
    scale = spec.data(shape, of_scale, low, high) if of_scale else spec.array(shape, "tensor(float)", low, high)
    zero = spec.data(shape, of_result, -2, 2)
    p = scale.dtype if scale.dtype in FLOATS else np.dtype(np.float64)
    if spec.has("precision") and spec.tried == "T1":
        attributes["precision"], p = TensorProto.FLOAT, np.dtype(np.float32)
    if spec.has("output_dtype"):
        attributes["output_dtype"] = helper.np_dtype_to_tensor_dtype(zero.dtype)
    if spec.has("saturate"):
        attributes["saturate"] = int(spec.rng.integers(2))
    q = x.astype(p) / repeated(scale).astype(p)
    return Case([x, scale, zero], [rounded(q, repeated(zero), attributes.get("saturate", 1))], exact=True, **attributes)


def rounded(q, zero, saturate=1):
    """The element of the zero point's type nearest to a quotient plus the zero point."""
    dtype = zero.dtype
    if "int" in dtype.name:
        ends = ml_dtypes.iinfo(dtype)
        return np.clip(np.rint(q.astype(float)) + zero.astype(float), int(ends.min), int(ends.max)).astype(dtype)
    total = q.astype(np.float64) + zero.astype(np.float64)
    bounded = saturate or "float8" not in dtype.name  # smaller types have nothing beyond their ends
    return numpy_helper.saturate_cast(total, dtype) if bounded else total.astype(dtype)


def scale_and_result(spec):
    """The result has the scale's type, unless the scale is one of powers of two."""
    return {"T3": spec.types["T2"]} if spec.tried == "T2" and "T3" in spec.types and "e8m0" not in spec.types["T2"] else {}


@case("DequantizeLinear", prefer=scale_and_result)
def dequantize_linear(spec):
    of_x = "T1" if spec.version >= 19 else "T"
    x = spec.data((2, 5, 3), of_x, -300, 300)
    shape, attributes, repeated = granularity(spec, x)
    scale = spec.data(shape, "T2", 0.1, 2) if spec.version >= 19 else spec.array(shape, "tensor(float)", 0.1, 2)
    zero = None if spec.types[of_x] == "tensor(int32)" else spec.data(shape, of_x, -2, 2)
    if spec.has("output_dtype") and spec.types["T3"] != spec.types["T2"]:
        attributes["output_dtype"] = helper.np_dtype_to_tensor_dtype(spec.dtype("T3"))
    distance = x.astype(float) - (0 if zero is None else repeated(zero).astype(float))
    return Case([x, scale, zero], [distance * repeated(scale).astype(float)], **attributes)


@case("DynamicQuantizeLinear")
def dynamic_quantize_linear(spec):
    x = spec.data((4, 5), "T1", -1, 3)
    least, most = min(x.min(), np.float32(0)), max(x.max(), np.float32(0))
    scale = (most - least) / np.float32(255)
    zero = np.uint8(np.clip(np.rint(-least / scale), 0, 255))
    return Case([x], [rounded(x / scale, np.asarray(zero)), scale, zero], exact=True)


@case("MatMulInteger")
def mat_mul_integer(spec):
    a, b = spec.data((2, 3, 7), "T1", -200, 300), spec.data((7, 5), "T2", -200, 300)
    a_zero, b_zero = spec.data((2, 3, 1), "T1", -9, 9), spec.data((5,), "T2", -9, 9)
    return Case([a, b, a_zero, b_zero], [sums(a, b, a_zero, b_zero)])


@case("QLinearMatMul")
def q_linear_mat_mul(spec):
    of_scale = "TS" if "TS" in spec.types else None
    a, b = spec.data((2, 3, 7), "T1", -200, 200), spec.data((2, 7, 5), "T2", -200, 200)
    a_zero, b_zero, y_zero = spec.data((2, 3, 1), "T1", -9, 9), spec.data((2, 1, 5), "T2", -9, 9), spec.data((), "T3", -2, 9)

    def scales(shape, low, high):
        return spec.array(shape, spec.types[of_scale] if of_scale else "tensor(float)", low, high)

    a_scale, b_scale, y_scale = scales((2, 3, 1), 0.01, 0.02), scales((2, 1, 5), 0.1, 0.2), scales((), 0.3, 0.4)
    terms = np.matmul(a.astype(float) - a_zero.astype(float), b.astype(float) - b_zero.astype(float))
    scale = a_scale.astype(float) * b_scale.astype(float) / float(y_scale)
    return Case([a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero], [rounded(terms * scale, y_zero)], exact=True)


@case("ConvInteger")
def conv_integer(spec):
    x, w = spec.data((2, 4, 6, 5), "T1", -200, 300), spec.data((6, 2, 3, 2), "T2", -200, 300)
    x_zero, w_zero = spec.data((), "T1", -9, 9), spec.data((6,), "T2", -9, 9)
    due = patched(wide(x) - wide(x_zero), wide(w) - wide(w_zero).reshape(-1, 1, 1, 1), 2, (2, 1), (1, 2), (1, 0), (3, 4))
    return Case([x, w, x_zero, w_zero], [due], group=2, strides=(2, 1), dilations=(1, 2), pads=(1, 0, 1, 1), kernel_shape=(3, 2))


@case("QLinearConv")
def q_linear_conv(spec):
    x, w = spec.data((1, 4, 6, 5), "T1", -200, 300), spec.data((6, 2, 3, 2), "T2", -200, 300)
    bias = spec.data((6,), "T4", -999, 999)
    x_zero, w_zero, y_zero = spec.data((), "T1", -9, 9), spec.data((6,), "T2", -9, 9), spec.data((), "T3", -9, 9)
    x_scale, w_scale, y_scale = (spec.array(shape, "tensor(float)", low, low + 0.1)
                                 for shape, low in [((), 0.1), ((6,), 0.01), ((), 3)])
    due = patched(wide(x) - wide(x_zero), wide(w) - wide(w_zero).reshape(-1, 1, 1, 1), 2, (1, 1), (1, 1), (1, 1), (6, 5))
    scale = (w_scale.astype(float) * float(x_scale) / float(y_scale)).reshape(-1, 1, 1)
    y = quantised((due + wide(bias).reshape(-1, 1, 1)) * scale, int(y_zero), y_zero.dtype)
    return Case([x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias], [y], group=2, auto_pad="SAME_LOWER")
