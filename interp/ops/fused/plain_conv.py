"""Convolutions of the private domain interp in the plain layout, with all that follows a sum before it is stored."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...dims import Fact
from ...kernels import conv as kernel
from ...kernels.activate import NAMES
from ...kernels.step import Step
from ...registry import op
from ...types import FLOATS
from ..conv import agree, check, convolved, window_of

DOMAIN = "interp"


def _fused(X: Fact, W: Fact, B: Fact | None = None, residual: Fact | None = None, *, activation: str | None, alpha: float,
           beta: float, **attributes: Any) -> list[Any]:
    if (activation or "") not in NAMES:
        raise ValueError(f"no activation {activation!r}; there are {', '.join(NAMES[1:])}")
    [shape] = convolved(X, W, B, **attributes)
    agree("residual", None if residual is None else residual.shape, shape)
    return [shape]


@op("FusedConv", domain=DOMAIN, signature="X: T, W: T, B?: T, residual?: T -> Y: T", types={"T": FLOATS}, shape=_fused,
    inplace=(3,))
def fused_conv(X: np.ndarray, W: np.ndarray, B: np.ndarray | None = None, residual: np.ndarray | None = None, *,
               auto_pad: str = "NOTSET", dilations: Any = None, group: int = 1, kernel_shape: Any = None, pads: Any = None,
               strides: Any = None, activation: str | None = None, alpha: float = 0.0, beta: float = 0.0, constant: Callable,
               out: np.ndarray) -> Step:
    """Conv, plus a residual of the result's shape, through an activation; constant weights are packed once."""
    check(X.shape, W.shape, None if B is None else B.shape, group)
    window: Any = window_of(X.shape, W.shape, auto_pad=auto_pad, dilations=dilations, kernel_shape=kernel_shape, pads=pads,
                            strides=strides)
    weights = W if kernel.depthwise(W.shape, group) else constant(kernel.Packed, W, group)
    return kernel.convolution(X, weights, B, out, group, window.stride, window.dilation, window.before, residual=residual,
                              activation=activation or "", alpha=alpha, beta=beta)
