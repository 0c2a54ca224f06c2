"""Products of quantised factors: exact sums of whole numbers in 32 bits, as they are or quantised again."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..dims import Fact, Size
from ..kernels import conv, integer
from ..kernels.step import Later
from ..registry import op
from .conv import check, convolved, window_of
from .matmul import multiplied
from .quantize import nearest
from .shapes import shape_of

Some = np.ndarray | None
BYTES = (np.dtype(np.uint8), np.dtype(np.int8))


def in_line(given: Sequence[Size], factor: Sequence[Size], at: int) -> tuple[Size, ...]:
    """The shape in which a scale or zero point goes with a factor's rows (`at` is -2) or columns (-1).

    It is one number, a vector with one for each, or an array of the factor's rank with 1 in place of the other axis.
    """
    if all(n == 1 for n in given):
        return ()
    full = [1 if len(factor) + at != i >= len(factor) - 2 else n for i, n in enumerate(factor)]
    shape = tuple(given)
    if len(given) == 1 and len(factor) > 1:
        full = [n if len(factor) + at == i else 1 for i, n in enumerate(factor)]
        shape = tuple(given[0] if len(factor) + at == i else 1 for i in range(len(factor)))
    if len(factor) < 2 or len(shape) != len(full) or any(
            isinstance(a, int) and isinstance(b, int) and a not in (1, b) for a, b in zip(shape, full, strict=True)):
        raise ValueError(f"a scale or zero point of shape {tuple(given)} does not go with a factor of shape {tuple(factor)}")
    return shape


def rowwise(given: Any, a: np.ndarray) -> Any:
    """A scale or zero point that repeats along the rows of the first factor."""
    return None if given is None else given.reshape(in_line(given.shape, a.shape, -2))


def columnwise(given: Any, b: np.ndarray) -> Any:
    """One that repeats along the columns of the second factor."""
    return None if given is None else given.reshape(in_line(given.shape, b.shape, -1))


def multiplied_integers(A: Fact, B: Fact, a_zero_point: Fact | None = None, b_zero_point: Fact | None = None) -> list[Any]:
    """The shape rule of MatMulInteger."""
    _go_with(A, (a_zero_point,), -2)
    _go_with(B, (b_zero_point,), -1)
    return multiplied(A, B)


def _go_with(factor: Fact, given: Sequence[Fact | None], at: int) -> None:
    for g in given:
        if g is not None and g.shape is not None:
            in_line(g.shape, shape_of(factor), at)


def one_number(given: Fact | None, which: str) -> None:
    """Refuse scales and zero points for anything but the whole tensor."""
    if given is not None and any(isinstance(n, int) and n != 1 for n in given.shape or ()):
        raise ValueError(f"{which} has one scale and one zero point, not those of shape {given.shape}")


def product(A: np.ndarray, B: np.ndarray, out: np.ndarray, constant: Callable, **scaling: Some) -> Any:
    """The step of a product of bytes with factors of one axis or more; a constant second one is packed once."""
    a = A.reshape(1, -1) if A.ndim == 1 else A
    b = B.reshape(-1, 1) if B.ndim == 1 else constant(integer.Panels, B)
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return integer.product(a, b, out.reshape(*batch, a.shape[-2], b.shape[-1]), **scaling)


@op("MatMulInteger", 10, 10, shape=multiplied_integers)
def mat_mul_integer(A: np.ndarray, B: np.ndarray, a_zero_point: Some = None, b_zero_point: Some = None, *, constant: Callable,
                    out: np.ndarray) -> Any:
    """The product of two matrices of bytes, less their zero points; sums beyond 32 bits wrap around."""
    return product(A, B, out, constant, a_zero=rowwise(a_zero_point, A), b_zero=columnwise(b_zero_point, B))


def multiplied_and_scaled(a: Fact, a_scale: Fact, a_zero_point: Fact, b: Fact, b_scale: Fact, b_zero_point: Fact, y_scale: Fact,
                          y_zero_point: Fact) -> list[Any]:
    """The shape rule of QLinearMatMul."""
    _go_with(a, (a_scale, a_zero_point), -2)
    _go_with(b, (b_scale, b_zero_point), -1)
    one_number(y_scale, "y")
    one_number(y_zero_point, "y")
    return multiplied(a, b)


@op("QLinearMatMul", 10, 21, shape=multiplied_and_scaled)
def q_linear_mat_mul(a: np.ndarray, a_scale: np.ndarray, a_zero_point: np.ndarray, b: np.ndarray, b_scale: np.ndarray,
                     b_zero_point: np.ndarray, y_scale: np.ndarray, y_zero_point: np.ndarray, *, constant: Callable,
                     out: np.ndarray) -> Any:
    """The product of two quantised matrices, quantised: sums times scales in double, rounded half to even, plus the zero point.

    Sums of bytes are exact and wrap around beyond 32 bits; those of 8-bit floats are taken in double.
    """
    a_scale, a_zero = rowwise(a_scale, a), rowwise(a_zero_point, a)
    b_scale, b_zero = columnwise(b_scale, b), columnwise(b_zero_point, b)
    if {a.dtype, b.dtype, out.dtype} <= set(BYTES) and a_scale.dtype == np.float32:
        return product(a, b, out, constant, a_zero=a_zero, b_zero=b_zero, a_scale=a_scale, b_scale=b_scale, y_scale=y_scale,
                       y_zero=y_zero_point)
    return Later(_wide_product, a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero_point, out)


def _wide_product(*arrays: np.ndarray) -> None:
    *given, out = arrays
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = (x.astype(np.float64) for x in given)
    with np.errstate(all="ignore"):
        sums = np.matmul(a - a_zero, b - b_zero)
        if "int" in given[0].dtype.name and "int" in given[3].dtype.name:
            sums = sums.astype(np.int64).astype(np.int32).astype(np.float64)
        # A row's scale has an axis for the columns, and a column's one for the rows, that a vector's product lacks.
        scale = a_scale * b_scale if a.ndim > 1 and b.ndim > 1 else (a_scale * b_scale).reshape(())
        out[...] = nearest(sums * (scale / y_scale.reshape(())), y_zero.reshape(()), out.dtype)


def convolved_integers(x: Fact, w: Fact, x_zero_point: Fact | None = None, w_zero_point: Fact | None = None,
                       **attributes: Any) -> list[Any]:
    """The shape rule of ConvInteger."""
    one_number(x_zero_point, "x")
    _each_channel((w_zero_point,), w)
    return convolved(x, w, **attributes)


def _each_channel(given: Sequence[Fact | None], w: Fact) -> None:
    for g in given:
        if g is not None and g.shape is not None and not all(n == 1 for n in g.shape):
            channels = shape_of(w)[0]
            if len(g.shape) != 1 or isinstance(g.shape[0], int) and isinstance(channels, int) and g.shape[0] != channels:
                raise ValueError(f"a scale or zero point of shape {g.shape} for {channels} output channels")


@op("ConvInteger", 10, 10, shape=convolved_integers)
def conv_integer(x: np.ndarray, w: np.ndarray, x_zero_point: Some = None, w_zero_point: Some = None, *, auto_pad: str,
                 dilations: Any, group: int, kernel_shape: Any, pads: Any, strides: Any, constant: Callable,
                 out: np.ndarray) -> Any:
    """Sums of weights over windows of bytes, both less their zero points, which is what padding is worth."""
    window = window_of(x.shape, w.shape, auto_pad=auto_pad, dilations=dilations, kernel_shape=kernel_shape, pads=pads,
                       strides=strides)
    return convolution(x, w, out, group, window, constant, a_zero=w_zero_point, b_zero=x_zero_point)


def convolution(x: np.ndarray, w: np.ndarray, out: np.ndarray, group: int, window: Any, constant: Callable,
                **scaling: Some) -> Any:
    """The step of a convolution of bytes; constant weights are packed once."""
    check(x.shape, w.shape, None, group)
    weights = w if conv.depthwise(w.shape, group) else constant(integer.Rows, w, group)
    return integer.convolution(x, weights, out, group, window.stride, window.dilation, window.before, **scaling)


def convolved_and_scaled(x: Fact, x_scale: Fact, x_zero_point: Fact, w: Fact, w_scale: Fact, w_zero_point: Fact, y_scale: Fact,
                         y_zero_point: Fact, B: Fact | None = None, **attributes: Any) -> list[Any]:
    """The shape rule of QLinearConv."""
    for name, given in (("x", x_scale), ("x", x_zero_point), ("y", y_scale), ("y", y_zero_point)):
        one_number(given, name)
    _each_channel((w_scale, w_zero_point), w)
    return convolved(x, w, B, **attributes)


@op("QLinearConv", 10, 10, shape=convolved_and_scaled)
def q_linear_conv(x: np.ndarray, x_scale: np.ndarray, x_zero_point: np.ndarray, w: np.ndarray, w_scale: np.ndarray,
                  w_zero_point: np.ndarray, y_scale: np.ndarray, y_zero_point: np.ndarray, B: Some = None, *, auto_pad: str,
                  dilations: Any, group: int, kernel_shape: Any, pads: Any, strides: Any, constant: Callable,
                  out: np.ndarray) -> Any:
    """A quantised convolution, quantised: exact sums and a bias, times the scales, rounded half to even, plus the zero point."""
    window = window_of(x.shape, w.shape, auto_pad=auto_pad, dilations=dilations, kernel_shape=kernel_shape, pads=pads,
                       strides=strides)
    return convolution(x, w, out, group, window, constant, a_zero=w_zero_point, b_zero=x_zero_point, a_scale=w_scale,
                       b_scale=x_scale, y_scale=y_scale, y_zero=y_zero_point, bias=B)
