"""Operators on the blocked layout, (N, blocks of 8 channels, H, W, 8), in which a CNN stays between its convolutions.

A value of C channels has ceil(C / 8) blocks; what the last of them has beyond the channels are finite numbers, zeros where
nothing else is said, that no result depends on. Passes alone write these operators.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from ...dims import Fact, Size
from ...kernels import affine, blocked_layout, blocked_pool, blocked_response
from ...kernels.step import Step
from ...registry import op
from ...types import tensors
from ..shapes import same, shape_of
from ..window import Window, collapsed, pooled

Ints = tuple[int, ...] | None
DOMAIN = "interp"
OCTET = 8
SINGLE = {"T": tensors("float")}
SIGNATURE = "x: T -> y: T"


def blocks(channels: Size) -> Size:
    """How many blocks so many channels take."""
    return (channels + OCTET - 1) // OCTET


def plain(x: Fact | np.ndarray) -> tuple[Size, ...]:
    """The (N, blocks, H, W) of a blocked value."""
    shape = shape_of(x) if isinstance(x, Fact) else x.shape
    if len(shape) < 3 or shape[-1] != OCTET:
        raise ValueError(f"a value of shape {shape} is not blocked")
    return shape[:-1]


def blocked(x: Fact, **_: Any) -> list[Any]:
    """The channels of each place in octets."""
    shape = shape_of(x)
    if len(shape) < 2:
        raise ValueError(f"a value of shape {shape} has no channels")
    return [(shape[0], blocks(shape[1]), *shape[2:], OCTET)]


def unblocked(x: Fact, *, channels: int) -> list[Any]:
    """So many channels of those in blocks."""
    batch, count, *places = plain(x)
    if isinstance(count, int) and count != blocks(channels):
        raise ValueError(f"{channels} channels take {blocks(channels)} blocks, not {count}")
    return [(batch, channels, *places)]


@op("Block", domain=DOMAIN, signature=SIGNATURE, types=SINGLE, shape=blocked)
def block(x: np.ndarray, *, groups: int = 1, out: np.ndarray) -> Step:
    """A value in the plain layout, (N, C, H, W), laid out in blocks, with zeros beyond its channels.

    With several ``groups`` its channels are shuffled, the first of each group before the second ones: what is written as a
    Reshape to (N, groups, C / groups, H, W), a Transpose of its axes 1 and 2, and a Reshape.
    """
    return blocked_layout.block(x, out, groups)


@op("Unblock", domain=DOMAIN, signature=SIGNATURE, types=SINGLE, shape=unblocked)
def unblock(x: np.ndarray, *, channels: int, out: np.ndarray) -> Step:
    """A blocked value in the plain layout."""
    return blocked_layout.unblock(x, out)


# Pools

def pooled_blocks(x: Fact, **attributes: Any) -> list[Any]:
    """The shape rule of a pool, on blocks."""
    return [(*shape, OCTET) for shape in pooled(Fact(x.type, plain(x)), **attributes)]


def collapsed_blocks(x: Fact, **_: Any) -> list[Any]:
    """The shape rule of a global pool, on blocks."""
    return [(*shape, OCTET) for shape in collapsed(Fact(x.type, plain(x)))]


@op("BlockedMaxPool", domain=DOMAIN, signature=SIGNATURE, types=SINGLE, shape=pooled_blocks)
def blocked_max_pool(x: np.ndarray, *, kernel_shape: Ints, auto_pad: str = "NOTSET", pads: Ints = None, strides: Ints = None,
                     ceil_mode: int = 0, dilations: Ints = None, out: np.ndarray) -> Step:
    """MaxPool of a blocked value, without indices."""
    return blocked_pool.max(x, out, Window.of(plain(x), kernel_shape, auto_pad, pads, strides, dilations, ceil_mode))


@op("BlockedAveragePool", domain=DOMAIN, signature=SIGNATURE, types=SINGLE, shape=pooled_blocks)
def blocked_average_pool(x: np.ndarray, *, kernel_shape: Ints, auto_pad: str = "NOTSET", pads: Ints = None,
                         strides: Ints = None, count_include_pad: int = 0, ceil_mode: int = 0, dilations: Ints = None,
                         out: np.ndarray) -> Step:
    """AveragePool of a blocked value."""
    window = Window.of(plain(x), kernel_shape, auto_pad, pads, strides, dilations, ceil_mode)
    return blocked_pool.mean(x, out, window, padded=bool(count_include_pad))


@op("BlockedLpPool", domain=DOMAIN, signature=SIGNATURE, types=SINGLE, shape=pooled_blocks)
def blocked_lp_pool(x: np.ndarray, *, kernel_shape: Ints, auto_pad: str = "NOTSET", pads: Ints = None, strides: Ints = None,
                    p: int = 2, ceil_mode: int = 0, dilations: Ints = None, out: np.ndarray) -> Step:
    """LpPool of a blocked value, for p = 1, 2 or 3."""
    return blocked_pool.norm(x, out, Window.of(plain(x), kernel_shape, auto_pad, pads, strides, dilations, ceil_mode), p)


@op("BlockedGlobalMaxPool", domain=DOMAIN, signature=SIGNATURE, types=SINGLE, shape=collapsed_blocks)
def blocked_global_max_pool(x: np.ndarray, *, out: np.ndarray) -> Step:
    """The largest element of every channel."""
    return blocked_pool.max(x, out, Window.whole(plain(x)))


@op("BlockedGlobalAveragePool", domain=DOMAIN, signature=SIGNATURE, types=SINGLE, shape=collapsed_blocks)
def blocked_global_average_pool(x: np.ndarray, *, out: np.ndarray) -> Step:
    """The mean of every channel."""
    return blocked_pool.mean(x, out, Window.whole(plain(x)))


# Normalizations

def scaled(x: Fact, scale: Fact, shift: Fact | None = None, **_: Any) -> list[Any]:
    """The shape rule of scales of blocks."""
    return [(*plain(x), OCTET)]


def kept_blocks(x: Fact, *, channels: int, **_: Any) -> list[Any]:
    """The shape rule of what looks across channels, so that it must know how many there are."""
    unblocked(x, channels=channels)
    return [x.shape]


@op("Scale", domain=DOMAIN, signature="x: T, scale: T, shift?: T -> y: T", types=SINGLE, shape=same, inplace=(0,))
def scale(x: np.ndarray, scale: np.ndarray, shift: np.ndarray | None = None, *, activation: str = "", alpha: float = 0.0,
          beta: float = 0.0, out: np.ndarray) -> Step:
    """activation(x * scale + shift), scale and shift by channel of a value in the plain layout."""
    return affine.channels(x, scale, shift, out, False, activation, alpha, beta)


@op("BlockedScale", domain=DOMAIN, signature="x: T, scale: T, shift?: T -> y: T", types=SINGLE, shape=scaled, inplace=(0,))
def blocked_scale(x: np.ndarray, scale: np.ndarray, shift: np.ndarray | None = None, *, activation: str = "",
                  alpha: float = 0.0, beta: float = 0.0, out: np.ndarray) -> Step:
    """activation(x * scale + shift) of a blocked value, with a scale and a shift for each lane of each block."""
    return affine.channels(x, scale, shift, out, True, activation, alpha, beta)


@op("BlockedLRN", domain=DOMAIN, signature=SIGNATURE, types=SINGLE, shape=kept_blocks, inplace=(0,))
def blocked_lrn(x: np.ndarray, *, channels: int, size: int, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0,
                out: np.ndarray) -> Step:
    """LRN of a blocked value; what lies beyond its channels is taken for zeros."""
    return blocked_response.response(x, out, channels, size, alpha, beta, bias)


# Resizing
