"""Operators that pick elements by their positions."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..dims import Dim, Fact, fresh
from ..errors import RunError
from ..kernels import layout
from ..registry import op
from .layout import put_off
from .shapes import axis_of, shape_of, with_value


def _gathered(x: Fact, indices: Fact, *, axis: int) -> list[Any]:
    shape = shape_of(x)
    at = axis_of(axis, len(shape))
    return [(*shape[:at], *shape_of(indices), *shape[at + 1:])]


def _gathered_values(x: np.ndarray, indices: np.ndarray, *, axis: int) -> Any:
    if any(isinstance(i, Dim) for i in indices.flat):
        return None
    return np.take(x, checked(indices.astype("i8"), x.shape[axis]), axis)


def checked(indices: np.ndarray, size: int) -> np.ndarray:
    """Positions counted from the front; one that is out of range is an error."""
    if np.any((indices < -size) | (indices >= size)):
        raise RunError(f"an index is out of range: {indices.min()} to {indices.max()} in {size}")
    return np.where(indices < 0, indices + size, indices)


@op("Gather", 1, 13, shape=with_value(_gathered, _gathered_values))
def gather(data, indices, *, axis, out):
    """Slices of the data along an axis, by index; negative ones count from the end."""
    at = axis_of(axis, data.ndim)
    made = None if out is None else layout.gather(data, indices, at, out)
    return made or put_off(lambda x, i: np.take(x, checked(i, x.shape[at]), at), data, indices, out)


@op("GatherElements", 11, 13, shape=lambda x, indices, **_: [indices.shape])
def gather_elements(data, indices, *, axis, out):
    """For every index the element of the data at its own place, but at this position along an axis."""
    at = axis_of(axis, data.ndim)
    return put_off(lambda x, i: np.take_along_axis(x[tuple(slice(n) if k != at else slice(None) for k, n in enumerate(i.shape))],
                                                   checked(i, x.shape[at]), at), data, indices, out)


@op("NonZero", 9, 13, shape=lambda x: [(x.rank, fresh())])
def non_zero(X):
    """The positions of elements that are not zero, a row for each axis."""
    if X.ndim == 0:
        return np.empty((0, int(bool(X))), "i8")
    return np.array(np.nonzero(X), "i8")
