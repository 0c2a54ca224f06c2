"""Pools of bytes: means quantised anew, and the maximum with channels last."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...dims import Fact, Size
from ...kernels import pool
from ...registry import op
from ...types import BYTES
from ..shapes import shape_of
from ..window import Window, collapsed, pooled
from .quantized import DOMAIN, Some, bytes_of, later, one

Ints = tuple[int, ...] | None
SIGNATURE = "X: T, x_scale: tensor(float), x_zero_point?: T, y_scale: tensor(float), y_zero_point?: T -> Y: T"


def first(shape: Sequence[Size]) -> tuple[Size, ...]:
    """A shape with its last axis, the channels, behind the batch."""
    return (shape[0], shape[-1], *shape[1:-1])


def last(shape: Sequence[Size]) -> tuple[Size, ...]:
    """A shape with the channels moved to the end."""
    return (shape[0], *shape[2:], shape[1])


def averaged(X: Fact, *_: Any, channels_last: int = 0, **attributes: Any) -> list[Any]:
    """The shape rule of QLinearAveragePool."""
    [shape] = pooled(Fact(X.type, first(shape_of(X))) if channels_last else X, **attributes)
    return [last(shape) if channels_last else shape]


def averaged_whole(X: Fact, *_: Any, channels_last: int = 0) -> list[Any]:
    """The shape rule of QLinearGlobalAveragePool."""
    [shape] = collapsed(Fact(X.type, first(shape_of(X))) if channels_last else X)
    return [last(shape) if channels_last else shape]


def means(x: np.ndarray, zero: float, window: Window, channels_last: int, padded: bool = False) -> np.ndarray:
    """The mean distance from the zero point in every window, in float; the sums are of whole numbers."""
    wide = x.astype(np.float32) - np.float32(zero)
    if channels_last:
        wide = np.moveaxis(wide, -1, 1)
    made = np.empty((*wide.shape[:2], *window.out), np.float32)
    pool.mean(np.ascontiguousarray(wide), made, window, padded=padded)()
    return np.moveaxis(made, 1, -1) if channels_last else made


@op("QLinearAveragePool", domain=DOMAIN, signature=SIGNATURE, types={"T": BYTES}, shape=averaged)
def q_linear_average_pool(X: np.ndarray, x_scale: np.ndarray, x_zero_point: Some, y_scale: np.ndarray, y_zero_point: Some = None,
                          *, kernel_shape: Ints, auto_pad: str = "NOTSET", pads: Ints = None, strides: Ints = None,
                          ceil_mode: int = 0, count_include_pad: int = 0, channels_last: int = 0, out: np.ndarray) -> Any:
    """The mean of every window of quantised numbers, quantised; rounded with the zero point in it."""
    shape = first(X.shape) if channels_last else X.shape
    window = Window.of(shape, kernel_shape, auto_pad, pads, strides, None, ceil_mode)

    def pooled(x, x_scale, x_zero, y_scale, y_zero):
        mean = means(x, one(x_zero), window, channels_last, bool(count_include_pad)).astype(np.float64)
        return bytes_of(mean * one(x_scale) / one(y_scale) + one(y_zero), x.dtype)
    return later(pooled, out, X, x_scale, x_zero_point, y_scale, y_zero_point)


@op("QLinearGlobalAveragePool", domain=DOMAIN, signature=SIGNATURE.replace("point?", "point"), types={"T": BYTES},
    shape=averaged_whole)
def q_linear_global_average_pool(X: np.ndarray, x_scale: np.ndarray, x_zero_point: np.ndarray, y_scale: np.ndarray,
                                 y_zero_point: np.ndarray, *, channels_last: int = 0, out: np.ndarray) -> Any:
    """The mean of every channel of quantised numbers, quantised."""
    window = Window.whole(first(X.shape) if channels_last else X.shape)

    def pooled(x, x_scale, x_zero, y_scale, y_zero):
        mean = means(x, one(x_zero), window, channels_last).astype(np.float64)
        return bytes_of(mean * one(x_scale) / one(y_scale), x.dtype, one(y_zero))
    return later(pooled, out, X, x_scale, x_zero_point, y_scale, y_zero_point)


def pooled_channels_last(x: Fact, **attributes: Any) -> list[Any]:
    """The shape rule of NhwcMaxPool."""
    [shape] = pooled(Fact(x.type, first(shape_of(x))), **attributes)
    return [last(shape)]


@op("NhwcMaxPool", domain=DOMAIN, signature="x: T -> y: T", types={"T": BYTES}, shape=pooled_channels_last)
def nhwc_max_pool(x: np.ndarray, *, kernel_shape: Ints, auto_pad: str = "NOTSET", pads: Ints = None, strides: Ints = None,
                  dilations: Ints = None, ceil_mode: int = 0, out: np.ndarray) -> Any:
    """The largest byte of every window, with channels last."""
    window = Window.of(first(x.shape), kernel_shape, auto_pad, pads, strides, dilations, ceil_mode)

    def pooled(x):
        found = np.empty((x.shape[0], x.shape[-1], *window.out), x.dtype)
        pool.max(np.ascontiguousarray(np.moveaxis(x, -1, 1)), found, window)()
        return np.moveaxis(found, 1, -1)
    return later(pooled, out, x)
