"""Convolutions."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..dims import Fact, Size
from ..kernels import conv
from ..registry import op
from .shapes import shape_of
from .window import Window


def convolved(X: Fact, W: Fact, B: Fact | None = None, *, group: int, **attributes: Any) -> list[tuple[Size, ...]]:
    """The shape rule of Conv."""
    x, w = shape_of(X), shape_of(W)
    check(x, w, None if B is None else B.shape, group)
    return [(x[0], w[0], *window_of(x, w, **attributes).out)]


def check(x: Sequence[Size], w: Sequence[Size], b: Sequence[Size] | None, group: int) -> None:
    if len(x) < 3 or len(w) != len(x):
        raise ValueError(f"weights of shape {w} do not fit an input of shape {x}")
    if group < 1 or isinstance(w[0], int) and (w[0] % group or group > max(w[0], 1)):
        raise ValueError(f"{w[0]} output channels in {group} groups")
    if isinstance(x[1], int) and isinstance(w[1], int) and x[1] != w[1] * group:
        raise ValueError(f"the input has {x[1]} channels, weights of shape {w} in {group} groups take {w[1] * group}")
    if b is not None and (len(b) != 1 or isinstance(b[0], int) and isinstance(w[0], int) and b[0] != w[0]):
        raise ValueError(f"a bias of shape {b} for {w[0]} output channels")


def window_of(x: Sequence[Size], w: Sequence[Size], *, auto_pad: str, dilations: Any, kernel_shape: Any, pads: Any,
            strides: Any) -> Window:
    if kernel_shape is not None and any(isinstance(n, int) and n != k for n, k in zip(w[2:], kernel_shape, strict=True)):
        raise ValueError(f"kernel_shape {tuple(kernel_shape)} and weights of shape {w} disagree")
    return Window.of(x, w[2:] if kernel_shape is None else kernel_shape, auto_pad, pads, strides, dilations)


@op("Conv", 1, 22, shape=convolved)
def convolution(X: np.ndarray, W: np.ndarray, B: np.ndarray | None = None, *, auto_pad: str, dilations: Any, group: int,
                kernel_shape: Any, pads: Any, strides: Any, constant: Callable, out: np.ndarray) -> Any:
    """Sums of the weights over windows of the input, with one to three spatial axes; constant weights are packed once.

    SAME_UPPER and SAME_LOWER give ceil(size / stride) outputs in every version, as the text says from 11 on.
    """
    check(X.shape, W.shape, None if B is None else B.shape, group)
    window: Any = window_of(X.shape, W.shape, auto_pad=auto_pad, dilations=dilations, kernel_shape=kernel_shape, pads=pads,
                          strides=strides)
    weights = W if conv.depthwise(W.shape, group) else constant(conv.Packing(group), W)
    return conv.convolution(X, weights, B, out, group, window.stride, window.dilation, window.before)
