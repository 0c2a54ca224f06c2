"""Windowed and global pooling: the maximum, the mean and the p-norm of windows."""
from __future__ import annotations

from typing import Any

import numpy as np

from interp.kernels import pool
from interp.kernels.step import Later, Step

from ..dims import Fact, Size
from ..registry import op
from ..types import BYTES, FLOATS
from .window import Window, collapsed, pooled

Ints = tuple[int, ...] | None


def pooled_twice(x: Fact, **attributes: Any) -> list[tuple[Size, ...]]:
    """The shape rule of a pool with indices."""
    return pooled(x, **attributes) * 2


@op("MaxPool", 1, 1, shape=pooled, types=FLOATS)
def max_pool_1(x: np.ndarray, *, kernel_shape: Ints, auto_pad: str, pads: Ints, strides: Ints, out: np.ndarray) -> Step:
    """The largest element of every window."""
    return pool.max(x, out, Window.of(x.shape, kernel_shape, auto_pad, pads, strides))


@op("MaxPool", 8, 22, shape=pooled_twice, types=FLOATS | BYTES)
def max_pool(x: np.ndarray, *, kernel_shape: Ints, auto_pad: str, pads: Ints, strides: Ints, storage_order: int,
             ceil_mode: int = 0, dilations: Ints = None, out: list[np.ndarray | None]) -> Step | Later:
    """The largest element of every window and, where wanted, its index in the flattened input.

    Of equals the first counts; NaN is larger than any number. A window that lies in padding has the lowest value and index -1.
    """
    y, indices = (*out, None)[:2]
    window = Window.of(x.shape, kernel_shape, auto_pad, pads, strides, dilations, ceil_mode)

    def step(x: np.ndarray, y: np.ndarray, indices: np.ndarray | None) -> Step:
        return pool.max(x, y, window, indices, column_major=bool(storage_order))

    if y is not None:
        return step(x, y, indices)
    shape = (*x.shape[:2], *window.out)
    return Later(lambda x, indices: step(x, np.empty(shape, x.dtype), indices)(), x, indices)


@op("AveragePool", 1, 22, shape=pooled, types=FLOATS)
def average_pool(x: np.ndarray, *, kernel_shape: Ints, auto_pad: str, pads: Ints, strides: Ints, count_include_pad: int = 0,
                 ceil_mode: int = 0, dilations: Ints = None, out: np.ndarray) -> Step:
    """The mean of every window. Declared padding counts as zeros or not at all; what ceil_mode adds never counts."""
    window = Window.of(x.shape, kernel_shape, auto_pad, pads, strides, dilations, ceil_mode)
    return pool.mean(x, out, window, padded=bool(count_include_pad))


@op("LpPool", 1, 22, shape=pooled, types=FLOATS)
def lp_pool(x: np.ndarray, *, kernel_shape: Ints, auto_pad: str, pads: Ints, strides: Ints, p: float, ceil_mode: int = 0,
            dilations: Ints = None, out: np.ndarray) -> Step:
    """The p-norm of every window."""
    return pool.norm(x, out, Window.of(x.shape, kernel_shape, auto_pad, pads, strides, dilations, ceil_mode), p)


@op("GlobalMaxPool", 1, 22, shape=collapsed, types=FLOATS)
def global_max_pool(x: np.ndarray, *, out: np.ndarray) -> Step:
    """The largest element of every channel."""
    return pool.max(x, out, Window.whole(x.shape))


@op("GlobalAveragePool", 1, 22, shape=collapsed, types=FLOATS)
def global_average_pool(x: np.ndarray, *, out: np.ndarray) -> Step:
    """The mean of every channel."""
    return pool.mean(x, out, Window.whole(x.shape))


@op("GlobalLpPool", 1, 22, shape=collapsed, types=FLOATS)
def global_lp_pool(x: np.ndarray, *, p: float, out: np.ndarray) -> Step:
    """The p-norm of every channel."""
    return pool.norm(x, out, Window.whole(x.shape), p)
