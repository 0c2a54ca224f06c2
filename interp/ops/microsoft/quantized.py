"""Quantised arithmetic as onnxruntime's quantiser writes it: sums, products, concatenations and activations of bytes.

Where its results depend on whether rounding comes before or after the zero point, they are onnxruntime's.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ...dims import Fact, Size
from ...kernels import quantize as kernel
from ...kernels.step import Later
from ...registry import op
from ...types import BYTES, tensors
from .. import quantize
from ..shapes import axis_of, broadcast, same, shape_of

Some = np.ndarray | None
DOMAIN = "com.microsoft"
UNARY = "X: T, X_scale: tensor(float), X_zero_point?: T, Y_scale: tensor(float), Y_zero_point?: T -> Y: T"
BINARY = ("A: T, A_scale: tensor(float), A_zero_point?: T, B: T, B_scale: tensor(float), B_zero_point?: T, "
          "C_scale: tensor(float), C_zero_point?: T -> C: T")
WHOLE = tensors("int8", "uint8", "int16", "uint16", "int4", "uint4")


def one(given: Some, what: str = "a scale or zero point") -> float:
    """The one number of a scale or zero point; 0 where there is none."""
    if given is None:
        return 0.0
    if given.size != 1:
        raise ValueError(f"{what} is one number, not those of shape {given.shape}")
    return float(given.reshape(()))


def distance(x: np.ndarray, scale: np.ndarray, zero_point: Some) -> np.ndarray:
    """What bytes stand for, in double."""
    return (x.astype(np.float64) - one(zero_point)) * one(scale)


def bytes_of(x: np.ndarray, dtype: np.dtype, zero: float = 0) -> np.ndarray:
    """The nearest bytes, half to even, plus a zero point; NaN becomes the lowest."""
    ends = np.iinfo(dtype)
    return np.fmin(np.fmax(np.rint(x) + zero, ends.min), ends.max).astype(dtype)


def later(compute: Callable[..., np.ndarray], out: np.ndarray, *arrays: Some) -> Later:
    """A call put off that gets its arrays, None for those that are absent."""
    there = [a is not None for a in arrays]

    def fill(*given: np.ndarray) -> None:
        *some, out = given
        rest = iter(some)
        with np.errstate(all="ignore"):
            out[...] = compute(*(next(rest) if t else None for t in there))
    return Later(fill, *(a for a in arrays if a is not None), out)


def two_operands(A: Fact, A_scale: Fact, A_zero_point: Fact | None, B: Fact, *_: Any) -> list[Any]:
    """The shape rule of a pair of operands, each with a scale and a zero point."""
    return broadcast(A, B)


@op("QLinearAdd", domain=DOMAIN, signature=BINARY, types={"T": BYTES}, shape=two_operands)
def q_linear_add(A: np.ndarray, A_scale: np.ndarray, A_zero_point: Some, B: np.ndarray, B_scale: np.ndarray, B_zero_point: Some,
                 C_scale: np.ndarray, C_zero_point: Some = None, *, out: np.ndarray) -> Any:
    """The sum of two quantised arrays, quantised; rounded with the zero point in it."""
    return kernel.pair("add", (A, A_scale, A_zero_point), (B, B_scale, B_zero_point), (out, C_scale, C_zero_point))


@op("QLinearMul", domain=DOMAIN, signature=BINARY, types={"T": BYTES}, shape=two_operands)
def q_linear_mul(A: np.ndarray, A_scale: np.ndarray, A_zero_point: Some, B: np.ndarray, B_scale: np.ndarray, B_zero_point: Some,
                 C_scale: np.ndarray, C_zero_point: Some = None, *, out: np.ndarray) -> Any:
    """The product of two quantised arrays, quantised; rounded with the zero point in it."""
    return kernel.pair("mul", (A, A_scale, A_zero_point), (B, B_scale, B_zero_point), (out, C_scale, C_zero_point))


def joined(Y_scale: Fact, Y_zero_point: Fact, *inputs: Fact, axis: int) -> list[Any]:
    """The shape rule of QLinearConcat; every third of its inputs is an array, with a scale and a zero point behind it."""
    if not inputs or len(inputs) % 3:
        raise ValueError(f"{len(inputs)} inputs after the scale and zero point of the result; they come in threes")
    shapes = [shape_of(x) for x in inputs[::3]]
    at = axis_of(axis, len(shapes[0]))
    total: Size = 0
    for s in shapes:
        total = total + s[at]
        if len(s) != len(shapes[0]) or any(isinstance(a, int) and isinstance(b, int) and a != b and i != at
                                           for i, (a, b) in enumerate(zip(s, shapes[0], strict=True))):
            raise ValueError(f"shapes {', '.join(map(str, shapes))} do not join along axis {axis}")
    return [tuple(total if i == at else n for i, n in enumerate(shapes[0]))]


@op("QLinearConcat", domain=DOMAIN, signature="Y_scale: tensor(float), Y_zero_point: T8, **inputs: TV -> Y: T8",
    types={"T8": BYTES, "TV": BYTES | tensors("float")}, shape=joined)
def q_linear_concat(Y_scale: np.ndarray, Y_zero_point: np.ndarray, *inputs: np.ndarray, axis: int, out: np.ndarray) -> Any:
    """Arrays of bytes, each quantised anew by the scale and zero point of the result, end to end along an axis."""
    def joined(scale, zero, *inputs):
        parts = zip(inputs[::3], inputs[1::3], inputs[2::3], strict=True)
        return np.concatenate([translated(np.asarray, *p, scale, zero) for p in parts], axis)
    return later(joined, out, Y_scale, Y_zero_point, *inputs)


def translated(function: Callable[[np.ndarray], np.ndarray], x: np.ndarray, x_scale: np.ndarray, x_zero: Some,
               y_scale: np.ndarray, y_zero: Some) -> np.ndarray:
    """A function of what bytes stand for, quantised: by a table of all bytes."""
    every = np.arange(256, dtype=np.uint8).view(x.dtype)
    dtype = x.dtype if y_zero is None else y_zero.dtype
    table = bytes_of(function(distance(every, x_scale, x_zero)) / one(y_scale), dtype, one(y_zero))
    return np.frombuffer(x.tobytes().translate(table.tobytes()), dtype).reshape(x.shape)


def mapped(function: Callable[[np.ndarray], np.ndarray], out: np.ndarray, *arrays: Some) -> Any:
    """A function of every byte, put off."""
    return later(partial(translated, function), out, *arrays)


@op("QLinearSigmoid", domain=DOMAIN, signature=UNARY, types={"T": BYTES}, shape=same)
def q_linear_sigmoid(X: np.ndarray, X_scale: np.ndarray, X_zero_point: Some, Y_scale: np.ndarray, Y_zero_point: Some = None, *,
                     out: np.ndarray) -> Any:
    """The logistic function of quantised numbers, quantised."""
    return mapped(lambda x: 1 / (1 + np.exp(-x)), out, X, X_scale, X_zero_point, Y_scale, Y_zero_point)


@op("QLinearLeakyRelu", domain=DOMAIN, signature=UNARY, types={"T": BYTES}, shape=same)
def q_linear_leaky_relu(X: np.ndarray, X_scale: np.ndarray, X_zero_point: Some, Y_scale: np.ndarray, Y_zero_point: Some = None, *,
                        alpha: float = 0.01, out: np.ndarray) -> Any:
    """Quantised numbers, the negative ones times `alpha`, quantised."""
    return mapped(lambda x: np.where(x < 0, np.float32(alpha) * x, x), out, X, X_scale, X_zero_point, Y_scale, Y_zero_point)


@op("QLinearSoftmax", domain=DOMAIN, types={"T": BYTES}, shape=same,
    signature="X: T, X_scale: tensor(float), x_zero_point?: T, y_scale: tensor(float), y_zero_point: T -> Y: T")
def q_linear_softmax(X: np.ndarray, X_scale: np.ndarray, x_zero_point: Some, y_scale: np.ndarray, y_zero_point: np.ndarray, *,
                     opset: int, axis: int = -1, out: np.ndarray) -> Any:
    """Softmax of quantised numbers, quantised: along an axis, or before opset 13 over all axes from one on."""
    at = axis_of(axis, X.ndim)
    along = (at,) if opset >= 13 else tuple(range(at, X.ndim))

    def softmax(x, x_scale, x_zero, y_scale, y_zero):
        wide = distance(x, x_scale, x_zero)
        power = np.exp(wide - wide.max(along, keepdims=True, initial=-np.inf))
        return bytes_of(power / power.sum(along, keepdims=True) / one(y_scale), x.dtype, one(y_zero))
    return later(softmax, out, X, X_scale, x_zero_point, y_scale, y_zero_point)


def quantised(x: Fact, y_scale: Fact, y_zero_point: Fact | None = None, *, axis: int | None = None) -> list[Any]:
    """The shape rule of QuantizeLinear, which quantises to uint8 unless a zero point says otherwise."""
    return quantize.quantised(x, y_scale, y_zero_point, axis=1 if axis is None else axis)


@op("QuantizeLinear", domain=DOMAIN, signature="x: T1, y_scale: T1, y_zero_point?: T2 -> y: T2", shape=quantised,
    types={"T1": tensors("float", "float16"), "T2": WHOLE})
def quantize_linear(x: np.ndarray, y_scale: np.ndarray, y_zero_point: Some = None, *, axis: int | None = None,
                    out: np.ndarray) -> Any:
    """The standard's QuantizeLinear, which had 16 and 4 bits here first; quotients are taken in float."""
    return quantize.quantize(x, y_scale, y_zero_point, out, 1 if axis is None else axis, 0, 1, np.dtype(np.float32))


def dequantised(x: Fact, x_scale: Fact, x_zero_point: Fact | None = None, *, axis: int | None = None) -> list[Any]:
    """The shape rule of DequantizeLinear."""
    return quantize.dequantised(x, x_scale, x_zero_point, axis=1 if axis is None else axis)


@op("DequantizeLinear", domain=DOMAIN, signature="x: T1, x_scale: T2, x_zero_point?: T1 -> y: T2", shape=dequantised,
    types={"T1": WHOLE | tensors("int32"), "T2": tensors("float", "float16")})
def dequantize_linear(x: np.ndarray, x_scale: np.ndarray, x_zero_point: Some = None, *, axis: int | None = None,
                      out: np.ndarray) -> Any:
    """The standard's DequantizeLinear, which had 16 and 4 bits here first."""
    return quantize.dequantize(x, x_scale, x_zero_point, out, 1 if axis is None else axis, 0)
