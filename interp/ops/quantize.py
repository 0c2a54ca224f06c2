"""Quantisation and back: by a scale and a zero point of the tensor, of each index of an axis, or of each block along one."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dims import Fact, Size
from ..errors import UnsupportedType
from ..kernels import quantize as kernel
from ..kernels.step import Later
from ..registry import op
from ..types import DTYPE, OF_CODE, OF_DTYPE, tensors
from .cast import converted
from .shapes import axis_of, shape_of

PRECISIONS = tensors("float", "double", "float16", "bfloat16")
BYTES = (np.dtype(np.uint8), np.dtype(np.int8))
FLOAT = np.dtype(np.float32)
SHORT = ("float16", "bfloat16")


def spread(given: np.ndarray, shape: Sequence[int], axis: int, block_size: int) -> np.ndarray:
    """A scale or a zero point so that it broadcasts to what is quantised."""
    fits(given.shape, shape, axis, block_size)
    if given.size == 1:
        return given.reshape(())
    at = _axis(axis, shape)
    if _blocked(given.shape, shape, block_size):
        return np.repeat(given, block_size, at).take(np.arange(shape[at]), at)
    return given.reshape([-1 if i == at else 1 for i in range(len(shape))])


def fits(given: Sequence[Size], shape: Sequence[Size], axis: int, block_size: int) -> None:
    """Refuse a scale or zero point that is none of: one number, one for each index of the axis, one for each block."""
    if block_size < 0:
        raise ValueError(f"block_size is {block_size}; it must be positive")
    if all(n == 1 for n in given) and (len(given) < 2 or not block_size):
        return
    at = _axis(axis, shape)
    due: list[Size] = [shape[at]]
    if _blocked(given, shape, block_size):
        due = [-(-n // block_size) if i == at else n for i, n in enumerate(shape)]
    elif len(given) != 1:
        raise ValueError(f"a scale or zero point of shape {tuple(given)} needs a block_size")
    if len(given) != len(due) or any(isinstance(a, int) and isinstance(b, int) and a != b
                                     for a, b in zip(given, due, strict=True)):
        raise ValueError(f"a scale or zero point of shape {tuple(given)}; the input of shape {tuple(shape)} needs {tuple(due)}")


def _axis(axis: int, shape: Sequence[Size]) -> int:
    return 0 if len(shape) == 1 else axis_of(axis, len(shape))  # a vector has no other axis, whatever the default says


def _blocked(given: Sequence[Size], shape: Sequence[Size], block_size: int) -> bool:
    return bool(block_size) and len(given) == len(shape)


def scaled(x: Fact, scale: Fact, zero_point: Fact | None, axis: int, block_size: int = 0) -> list[Any]:
    """The shape of what is quantised, which stays; scale and zero point are of one shape."""
    shape = shape_of(x)
    for given in (scale, zero_point):
        if given is not None and given.shape is not None:
            fits(given.shape, shape, axis, block_size)
    if zero_point is not None and zero_point.shape is not None and scale.shape is not None and scale.shape != zero_point.shape:
        known = all(isinstance(n, int) for n in (*scale.shape, *zero_point.shape))
        if known and not all(n == 1 for n in (*scale.shape, *zero_point.shape)):
            raise ValueError(f"a scale of shape {scale.shape} beside a zero point of shape {zero_point.shape}")
    return [shape]


def quantised_type(zero_point: str | None, output_dtype: int) -> str:
    """The type of the result: the zero point's, or the one asked for, or uint8."""
    asked = OF_CODE.get(output_dtype) if output_dtype else None
    if output_dtype and asked is None:
        raise UnsupportedType(f"output_dtype is {output_dtype}, which this package does not know")
    if asked and zero_point and asked != zero_point:
        raise UnsupportedType(f"output_dtype is {asked}, the zero point is {zero_point}")
    return zero_point or asked or "tensor(uint8)"


def quantised(x: Fact, y_scale: Fact, y_zero_point: Fact | None = None, *, axis: int = 1, block_size: int = 0,
              output_dtype: int = 0, **_: Any) -> list[Any]:
    """The shape rule of QuantizeLinear."""
    [shape] = scaled(x, y_scale, y_zero_point, axis, block_size)
    return [Fact(quantised_type(y_zero_point.type if y_zero_point else None, output_dtype), shape)]


def one_scale(x: Fact, scale: Fact, zero_point: Fact | None = None) -> list[Any]:
    """The shape rule of version 10, which has one scale for the tensor."""
    for given in (scale, zero_point):
        if given is not None and any(isinstance(n, int) and n != 1 for n in given.shape or ()):
            raise ValueError(f"a scale or zero point of shape {given.shape}; version 10 has one for the whole tensor")
    return [shape_of(x)]


def quantised_once(x: Fact, y_scale: Fact, y_zero_point: Fact | None = None) -> list[Any]:
    """The shape rule of QuantizeLinear 10."""
    [shape] = one_scale(x, y_scale, y_zero_point)
    return [Fact(quantised_type(y_zero_point.type if y_zero_point else None, 0), shape)]


@op("QuantizeLinear", 10, 10, shape=quantised_once)
def quantize_linear_10(x: np.ndarray, y_scale: np.ndarray, y_zero_point: np.ndarray | None = None, *, out: np.ndarray) -> Any:
    """The numbers of a small type, a scale apart, that are nearest to those of the input."""
    return quantize(x, y_scale, y_zero_point, out, 1, 0, 1, None)


@op("QuantizeLinear", 13, 28, shape=quantised)
def quantize_linear(x: np.ndarray, y_scale: np.ndarray, y_zero_point: np.ndarray | None = None, *, axis: int,
                    saturate: int = 1, block_size: int = 0, output_dtype: int = 0, precision: int = 0, out: np.ndarray) -> Any:
    """The numbers of a small type, a scale apart, that are nearest to those of the input.

    Quotients are rounded to the scale's type, or to `precision`, and then half to even; those by a scale of whole numbers or
    of powers of two are exact. What is out of range takes the nearest end, and NaN the lowest number of a whole type.
    """
    if precision and OF_CODE.get(precision) not in PRECISIONS:
        raise UnsupportedType(f"precision is {precision}; it must be float, double, float16 or bfloat16")
    return quantize(x, y_scale, y_zero_point, out, axis, block_size, saturate, DTYPE[OF_CODE[precision]] if precision else None)


def quantize(x: np.ndarray, scale: np.ndarray, zero_point: np.ndarray | None, out: np.ndarray, axis: int, block_size: int,
             saturate: int, precision: np.dtype | None) -> Any:
    """Fill `out` with the quantised input; a step where it is of float, and each scale of the tensor or of an axis."""
    if x.dtype == scale.dtype == (precision or FLOAT) == FLOAT and out.dtype in BYTES and plain(x, scale, zero_point, block_size):
        return kernel.quantise(x, scale, zero_point, out, None if scale.size == 1 else _axis(axis, x.shape))

    def fill(x: np.ndarray, scale: np.ndarray, *rest: np.ndarray) -> None:
        *zero, out = rest
        q = quotient(x, spread(scale, x.shape, axis, block_size), precision)
        out[...] = nearest(q, spread(zero[0], x.shape, axis, block_size) if zero else None, out.dtype, saturate)
    return Later(fill, x, scale, *(() if zero_point is None else (zero_point,)), out)


def plain(x: np.ndarray, scale: np.ndarray, zero_point: np.ndarray | None, block_size: int) -> bool:
    """Whether there are as many scales as zero points, and no blocks."""
    blocks = scale.size > 1 and _blocked(scale.shape, x.shape, block_size)
    return not blocks and (zero_point is None or zero_point.size == scale.size)


def quotient(x: np.ndarray, scale: np.ndarray, precision: np.dtype | None = None) -> np.ndarray:
    """The input over its scale, rounded to the type of the scale or to `precision`, in float or double."""
    p = precision or (scale.dtype if OF_DTYPE[scale.dtype] in PRECISIONS else np.dtype(np.float64))
    wide = np.dtype(np.float64) if p == np.float64 else np.dtype(np.float32)
    with np.errstate(all="ignore"):
        q = np.divide(x.astype(p).astype(wide), scale.astype(p).astype(wide))
        return q.astype(p).astype(wide) if p.name in SHORT else q


def nearest(q: np.ndarray, zero_point: np.ndarray | None, dtype: np.dtype, saturate: int = 1) -> np.ndarray:
    """The element of a small type nearest to a quotient plus the zero point."""
    if "int" not in dtype.name:
        return converted(q if zero_point is None else q + zero_point.astype(q.dtype), OF_DTYPE[dtype], saturate)
    low, high = ends(dtype)
    whole = np.rint(q).astype(np.float64)
    if zero_point is not None:
        whole = whole + zero_point.astype(np.float64)
    return np.fmin(np.fmax(whole, low), high).astype(np.int32).astype(dtype)


def ends(dtype: np.dtype) -> tuple[int, int]:
    """The least and the largest whole number of a type."""
    if dtype.isbuiltin == 1:
        of: Any = np.iinfo(dtype)
    else:
        import ml_dtypes

        of = ml_dtypes.iinfo(dtype)
    return int(of.min), int(of.max)


def dequantised(x: Fact, x_scale: Fact, x_zero_point: Fact | None = None, *, axis: int = 1, block_size: int = 0,
                output_dtype: int = 0) -> list[Any]:
    """The shape rule of DequantizeLinear."""
    [shape] = scaled(x, x_scale, x_zero_point, axis, block_size)
    kind = OF_CODE.get(output_dtype, "") if output_dtype else x_scale.type
    if kind not in PRECISIONS:
        raise UnsupportedType(f"a result of type {kind or output_dtype}; output_dtype must be float, float16 or bfloat16")
    return [Fact(kind, shape)]


@op("DequantizeLinear", 10, 10, shape=one_scale)
def dequantize_linear_10(x: np.ndarray, x_scale: np.ndarray, x_zero_point: np.ndarray | None = None, *, out: np.ndarray) -> Any:
    """What quantised numbers stand for: the distance from the zero point times the scale."""
    return dequantize(x, x_scale, x_zero_point, out, 1, 0)


@op("DequantizeLinear", 13, 28, shape=dequantised)
def dequantize_linear(x: np.ndarray, x_scale: np.ndarray, x_zero_point: np.ndarray | None = None, *, axis: int,
                      block_size: int = 0, output_dtype: int = 0, out: np.ndarray) -> Any:
    """What quantised numbers stand for: the distance from the zero point times the scale, in float and rounded once."""
    return dequantize(x, x_scale, x_zero_point, out, axis, block_size)


def dequantize(x: np.ndarray, scale: np.ndarray, zero_point: np.ndarray | None, out: np.ndarray, axis: int,
               block_size: int) -> Any:
    """Fill `out` with what the input stands for; a step where that is float and the input of bytes."""
    if out.dtype == scale.dtype == FLOAT and x.dtype in BYTES and plain(x, scale, zero_point, block_size):
        return kernel.dequantise(x, scale, zero_point, out, None if scale.size == 1 else _axis(axis, x.shape))

    def fill(x: np.ndarray, scale: np.ndarray, *rest: np.ndarray) -> None:
        *zero, out = rest
        wide = np.dtype(np.float64 if out.dtype == np.float64 else np.float32)
        distance = x.astype(np.int64 if "int" in x.dtype.name else wide)
        if zero:
            distance = distance - spread(zero[0], x.shape, axis, block_size).astype(distance.dtype)
        with np.errstate(all="ignore"):
            out[...] = distance.astype(wide) * spread(scale, x.shape, axis, block_size).astype(wide)
    return Later(fill, x, scale, *(() if zero_point is None else (zero_point,)), out)


def distances(x: np.ndarray, scale: np.ndarray, zero_point: np.ndarray | None) -> np.ndarray:
    """What bytes with one scale stand for, in float."""
    return (x.astype(np.int32) - (0 if zero_point is None else int(zero_point.reshape(())))).astype(FLOAT) * scale.reshape(())


def dynamic(x: Fact) -> list[Any]:
    """The shape rule of DynamicQuantizeLinear."""
    return [shape_of(x), (), ()]


@op("DynamicQuantizeLinear", 11, 11, shape=dynamic)
def dynamic_quantize_linear(x: np.ndarray, *, out: list[np.ndarray | None]) -> Any:
    """The input in uint8, with the scale and the zero point that its range, and 0, just fit.

    Where all are 0 the scale is 1; NaN counts for the range as little as what is not there, and becomes 0.
    """
    y, scale, zero = (*out, None, None)[:3]
    if y is not None and scale is not None and zero is not None:
        return kernel.dynamic(x, y, scale, zero)

    def fill(x: np.ndarray, *there: np.ndarray) -> None:
        made = np.empty(x.shape, np.uint8), np.empty((), FLOAT), np.empty((), np.uint8)
        kernel.dynamic(x, *made)()
        for buffer, found in zip(there, (m for m, o in zip(made, (y, scale, zero), strict=True) if o is not None), strict=True):
            buffer[...] = found
    return Later(fill, x, *(o for o in (y, scale, zero) if o is not None))
