"""Convolutions on the blocked layout, with what follows them: bias, residual, activation."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...dims import Fact, Size
from ...kernels import blocked
from ...kernels.step import Step
from ...registry import op
from ..conv import agree, check, window_of
from ..shapes import shape_of
from .blocked import DOMAIN, SINGLE, blocks
from .blocked import plain as plain_of


def logical(x: Sequence[Size], w: Sequence[Size], group: int) -> tuple[Size, ...]:
    """The (N, C, H, W) of an input, blocked or plain; the weights know how many channels a blocked one has."""
    if len(x) not in (4, 5) or len(w) != 4:
        raise ValueError(f"an input of shape {tuple(x)} and weights of shape {tuple(w)} are no convolution of two axes")
    if len(x) == 4:
        return tuple(x)
    batch, count, *places = plain_of(Fact("tensor(float)", tuple(x)))
    channels = w[1] * group
    if isinstance(count, int) and isinstance(channels, int) and count != blocks(channels):
        raise ValueError(f"an input of shape {tuple(x)} has not the {channels} channels that the weights take")
    return (batch, channels, *places)


def convolved(X: Fact, W: Fact, B: Fact | None = None, residual: Fact | None = None, *, group: int = 1, activation: str = "",
              alpha: float = 0.0, beta: float = 0.0, exact: int = 0, **attributes: Any) -> list[tuple[Size, ...]]:
    """The shape rule: the blocked result."""
    w = shape_of(W)
    x = logical(shape_of(X), w, group)
    check(x, w, None if B is None else B.shape, group)
    due = (x[0], blocks(w[0]), *window_of(x, w, **attributes).out, 8)
    if residual is not None:
        agree("the residual", residual.shape, due)
    return [due]


@op("BlockedConv", domain=DOMAIN, signature="X: T, W: T, B?: T, residual?: T -> Y: T", types=SINGLE, shape=convolved,
    inplace=(3,))
def blocked_conv(X: np.ndarray, W: np.ndarray, B: np.ndarray | None = None, residual: np.ndarray | None = None, *,
                 auto_pad: str = "NOTSET", dilations: Any = None, group: int = 1, kernel_shape: Any = None, pads: Any = None,
                 strides: Any = None, activation: str = "", alpha: float = 0.0, beta: float = 0.0, exact: int = 0,
                 constant: Callable, out: np.ndarray) -> Step:
    """Conv of a blocked input, or of a plain one, to a blocked result: sums, bias and residual, activated; W is a constant.

    With ``exact`` the sums are never calculated by Winograd's way.
    """
    x = logical(X.shape, W.shape, group)
    check(x, W.shape, None if B is None else B.shape, group)
    window: Any = window_of(x, W.shape, auto_pad=auto_pad, dilations=dilations, kernel_shape=kernel_shape, pads=pads,
                            strides=strides)
    way = blocked.way_of(W.shape, group, X.ndim == 5, window.out, window.stride, window.dilation, bool(exact))
    packed = constant(blocked.Packed, W, group, X.ndim == 4, way)
    return blocked.convolution(X, packed, B, residual, out, window.stride, window.dilation, window.before, activation, alpha,
                               beta)
