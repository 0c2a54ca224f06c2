"""Order along an axis: the largest elements, and sums and products up to each one."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..dims import Fact, Size, fresh
from ..kernels import order
from ..registry import op
from .shapes import axis_of, same, shape_of, sizes


def _topped(x: Fact, K: Fact | None = None, *, axis: int, k: int | None = None, largest: int = 1, sorted: int = 1) -> list[Any]:
    """The shape rule of TopK: k elements along the axis."""
    shape, at = shape_of(x), axis_of(axis, x.rank)
    given = (None if k is None else [k]) if K is None else sizes(K)
    if given is not None and len(given) != 1:
        raise ValueError(f"K is one number, not {given}")
    count: Size = fresh() if given is None else given[0]
    n = shape[at]
    if isinstance(count, int) and (count < 0 or isinstance(n, int) and count > n):
        raise ValueError(f"the {count} largest of {n} elements along axis {axis} of {shape}")
    return [(*shape[:at], count, *shape[at + 1:])] * 2


@op("TopK", 1, 1, shape=_topped)
def top_k_1(X, *, axis, k, out):
    """The k largest elements along an axis and their positions: those of TopK since 10, with k as an attribute."""
    return order.top(X, k, axis_of(axis, X.ndim), False, *out, *[None] * (2 - len(out)))


@op("TopK", 10, 24, shape=_topped, known=("K",))
def top_k(X, K, *, axis, largest=1, sorted=1, out):
    """The k largest, or smallest, elements along an axis and their positions.

    Of equals the one with the lower index comes first; NaN counts as larger than any number. They are in order even where
    `sorted` is 0, which leaves the order open.
    """
    return order.top(X, int(np.ravel(K)[0]), axis_of(axis, X.ndim), not largest, *out, *[None] * (2 - len(out)))


def _axis(axis: Any, rank: int) -> int:
    if np.size(axis) != 1:
        raise ValueError(f"the axis is one number, not {np.asarray(axis).tolist()}")
    return axis_of(int(np.ravel(axis)[0]), rank)


@op("CumSum", 11, 14, shape=same, known=("axis",))
def cum_sum(x, axis, *, exclusive, reverse, out):
    """The sums of all elements up to each one along an axis, itself left out if `exclusive`, from the end if `reverse`."""
    return order.accumulate(x, _axis(axis, x.ndim), False, bool(exclusive), bool(reverse), out)


@op("CumProd", 26, 26, shape=same, known=("axis",))
def cum_prod(x, axis, *, exclusive, reverse, out):
    """The products of all elements up to each one along an axis, itself left out if `exclusive`, from the end if `reverse`."""
    return order.accumulate(x, _axis(axis, x.ndim), True, bool(exclusive), bool(reverse), out)
