"""Transposed convolutions of a blocked value whose kernel is as large as its stride, as networks enlarge images."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...dims import Fact, Size
from ...kernels import blocked_transpose
from ...kernels.step import Step
from ...registry import op
from ..shapes import shape_of
from .blocked import DOMAIN, OCTET, SINGLE, blocks, plain


def enlarged(X: Fact, W: Fact, B: Fact | None = None, *, to_plain: int = 0, **_: Any) -> list[tuple[Size, ...]]:
    """The shape rule: every pixel becomes a patch of the kernel's size."""
    (batch, count, *places), weights = plain(X), shape_of(W)
    if len(places) != 2 or len(weights) != 4:
        raise ValueError(f"weights of shape {weights} for an input of shape {X.shape}")
    inner, outer, *kernel = weights
    if isinstance(count, int) and count != blocks(inner):
        raise ValueError(f"an input of shape {X.shape} has not the {inner} channels that the weights take")
    size = [n * k for n, k in zip(places, kernel, strict=True)]
    return [(batch, outer, *size) if to_plain else (batch, blocks(outer), *size, OCTET)]


@op("BlockedConvTranspose", domain=DOMAIN, signature="X: T, W: T, B?: T -> Y: T", types=SINGLE, shape=enlarged)
def blocked_conv_transpose(X: np.ndarray, W: np.ndarray, B: np.ndarray | None = None, *, to_plain: int = 0,
                           activation: str = "", alpha: float = 0.0, beta: float = 0.0, constant: Callable,
                           out: np.ndarray) -> Step:
    """ConvTranspose of a blocked value in one group, with strides as large as the kernel and no padding; W is a constant.

    The result is blocked or, with ``to_plain``, in the plain layout, which is better for a few channels.
    """
    packed = constant(blocked_transpose.Packed, W, bool(to_plain))
    return blocked_transpose.convolution(X, packed, B, out, activation, alpha, beta)
