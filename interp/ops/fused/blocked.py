"""Operators on the blocked layout, (N, blocks of 8 channels, H, W, 8), in which a CNN stays between its convolutions.

A value of C channels has ceil(C / 8) blocks; what the last of them has beyond the channels are finite numbers, zeros where
nothing else is said, that no result depends on. Passes alone write these operators.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from ...dims import Fact, Size
from ...kernels import blocked_layout
from ...kernels.step import Step
from ...registry import op
from ...types import tensors
from ..shapes import shape_of

DOMAIN = "interp"
OCTET = 8
SINGLE = {"T": tensors("float")}


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


@op("Block", domain=DOMAIN, signature="x: T -> y: T", types=SINGLE, shape=blocked)
def block(x: np.ndarray, *, out: np.ndarray) -> Step:
    """A value in the plain layout, (N, C, H, W), laid out in blocks, with zeros beyond its channels."""
    return blocked_layout.block(x, out)


@op("Unblock", domain=DOMAIN, signature="x: T -> y: T", types=SINGLE, shape=unblocked)
def unblock(x: np.ndarray, *, channels: int, out: np.ndarray) -> Step:
    """A blocked value in the plain layout."""
    return blocked_layout.unblock(x, out)
