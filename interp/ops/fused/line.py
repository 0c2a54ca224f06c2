"""Convolutions along one axis, by the way that their sizes ask for."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...dims import Fact
from ...kernels import line
from ...kernels.step import Step
from ...registry import op
from ..conv import check, window_of
from . import plain_conv
from .blocked import DOMAIN, SINGLE


def axis_of(x: Sequence[Any], w: Sequence[Any], y: Sequence[Any]) -> int | None:
    """The spatial axis along which all happens: any other has size 1, before and after, and one tap. None where there is none."""
    found = [a for a in range(2, len(x)) if not (x[a] == w[a] == y[a] == 1)]
    return None if len(found) > 1 else found[0] if found else 2


def convolved(X: Fact, W: Fact, B: Fact | None = None, residual: Fact | None = None, *, exact: int, **settings: Any) -> list[Any]:
    """The shape rule, that of FusedConv."""
    return plain_conv.fused_conv.shape(X, W, B, residual, **settings)  # type: ignore[misc]


@op("LineConv", domain=DOMAIN, signature="X: T, W: T, B?: T, residual?: T -> Y: T", types=SINGLE, shape=convolved, inplace=(3,))
def line_conv(X: np.ndarray, W: np.ndarray, B: np.ndarray | None = None, residual: np.ndarray | None = None, *,
              auto_pad: str = "NOTSET", dilations: Any = None, group: int = 1, kernel_shape: Any = None, pads: Any = None,
              strides: Any = None, activation: str = "", alpha: float = 0.0, beta: float = 0.0, exact: int = 0,
              constant: Callable, out: np.ndarray) -> Step:
    """FusedConv by constant weights, which is sped up where it goes along one axis; with ``exact`` sums are direct."""
    settings = {"auto_pad": auto_pad, "dilations": dilations, "kernel_shape": kernel_shape, "pads": pads, "strides": strides}
    check(X.shape, W.shape, None if B is None else B.shape, group)
    window: Any = window_of(X.shape, W.shape, **settings)
    axis = axis_of(X.shape, W.shape, out.shape) if group == 1 else None
    if axis is not None:
        x, w, y = [(*a.shape[:2], a.shape[axis]) for a in (X, W, out)]
        steps = {"stride": window.stride[axis - 2], "dilation": window.dilation[axis - 2]}
        way = line.way(x, w, y, **steps, exact=bool(exact))
        packed = constant(line.PACKINGS[way], W) if way else W
        if packed is not W:
            added = None if residual is None else residual.reshape(y)
            return line.convolution(X.reshape(x), packed, B, added, out.reshape(y), **steps, before=window.before[axis - 2],
                                    activated=activation, alpha=alpha, beta=beta)
    return plain_conv.fused_conv.run(X, W, B, residual, **settings, group=group, activation=activation, alpha=alpha, beta=beta,
                          constant=constant, out=out)
