"""Operators that pick elements by their positions, and those that tell positions."""
from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..dims import Dim, Fact, fresh, size_of
from ..kernels import layout, scatter
from ..kernels.program import Cell
from ..kernels.strings import taken
from ..registry import op
from .layout import put_off
from .shapes import axis_of, carried, shape_of, value_of, with_value


def checked(indices: np.ndarray, size: int) -> np.ndarray:
    """Positions counted from the front; one that is out of range is an error."""
    outside = (indices < -size) | (indices >= size)
    if np.any(outside):
        raise ValueError(f"an index is out of range: {indices[outside].flat[0]}, where the size is {size}")
    return np.where(indices < 0, indices + size, indices)


def _gathered(x: Fact, indices: Fact, *, axis: int) -> list[Any]:
    shape = shape_of(x)
    at = axis_of(axis, len(shape))
    return [(*shape[:at], *shape_of(indices), *shape[at + 1:])]


def _gathered_values(x: np.ndarray, indices: np.ndarray, *, axis: int) -> Any:
    if any(isinstance(i, Dim) for i in indices.flat):
        return None
    return np.take(x, checked(indices.astype("i8"), x.shape[axis]), axis)


@op("Gather", 1, 13, shape=with_value(_gathered, _gathered_values), cells=True)
def gather(data, indices, *, axis, out):
    """Slices of the data along an axis, by index; negative ones count from the end."""
    if isinstance(data, Cell):
        return taken(data, indices, axis, out)
    at = axis_of(axis, data.ndim)
    made = None if out is None else layout.gather(data, indices, at, out)
    return made or put_off(lambda x, i: np.take(x, checked(i, x.shape[at]), at), data, indices, out)


def within(data: Fact, indices: Fact, axis: int) -> int:
    """The axis that indices count, of data that have a place for each of them."""
    shape, given = shape_of(data), shape_of(indices)
    at = axis_of(axis, len(shape))
    if len(given) != len(shape) or any(isinstance(n, int) and isinstance(m, int) and n > m
                                       for i, (n, m) in enumerate(zip(given, shape, strict=True)) if i != at):
        raise ValueError(f"indices {given} do not fit {shape} along axis {axis}")
    return at


def _elements(data: Fact, indices: Fact, *, axis: int) -> list[Any]:
    within(data, indices, axis)
    return [shape_of(indices)]


def reached(shape: tuple[int, ...], indices: np.ndarray, at: int) -> tuple[Any, ...]:
    """NumPy's index for the elements at the indices' own places but along an axis."""
    own = [np.arange(n).reshape(-1, *(1,) * (indices.ndim - 1 - k)) for k, n in enumerate(indices.shape)]
    return tuple(checked(indices, shape[at]) if k == at else own[k] for k in range(indices.ndim))


@op("GatherElements", 11, 13, shape=_elements)
def gather_elements(data, indices, *, axis, out):
    """For every index the element of the data at its own place, but at this position along an axis."""
    at = axis_of(axis, data.ndim)
    made = None if out is None else scatter.gather_elements(data, indices, at, out)
    return made or put_off(lambda x, i: x[reached(x.shape, i, at)], data, indices, out)


def tuples_of(data: Fact, indices: Fact, batch_dims: int = 0) -> int | None:
    """How many axes the tuples of indices name, if that is known."""
    shape, given = shape_of(data), shape_of(indices)
    if not 0 <= batch_dims < min(len(shape), len(given)):
        raise ValueError(f"{batch_dims} axes of batches in {shape} and {given}")
    if any(isinstance(a, int) and isinstance(b, int) and a != b
           for a, b in zip(shape[:batch_dims], given[:batch_dims], strict=True)):
        raise ValueError(f"the batches of {shape} and {given} differ")
    if not isinstance(given[-1], int):
        return None
    if given[-1] > len(shape) - batch_dims:
        raise ValueError(f"tuples of {given[-1]} indices for {shape} behind {batch_dims} axes of batches")
    return given[-1]


def _slices(data: Fact, indices: Fact, *, batch_dims: int = 0) -> list[Any]:
    named = tuples_of(data, indices, batch_dims)
    return [None if named is None else (*shape_of(indices)[:-1], *shape_of(data)[batch_dims + named:])]


def _slices_values(data: np.ndarray, indices: np.ndarray, *, batch_dims: int = 0) -> Any:
    if batch_dims or any(isinstance(i, Dim) for i in indices.flat):
        return None
    return data[located(data.shape, indices.astype("i8"))]


def located(shape: tuple[int, ...], indices: np.ndarray) -> tuple[np.ndarray, ...]:
    """NumPy's index for the slices that tuples of indices name."""
    return tuple(checked(indices[..., k], shape[k]) for k in range(indices.shape[-1]))


def _gather_nd(x: np.ndarray, indices: np.ndarray, batches: int) -> np.ndarray:
    own: list[Any] = [np.arange(n).reshape(-1, *(1,) * (indices.ndim - 2 - k)) for k, n in enumerate(x.shape[:batches])]
    return x[(*own, *located(x.shape[batches:], indices), ...)]


@op("GatherND", 11, 13, shape=with_value(_slices, _slices_values))
def gather_nd(data, indices, *, batch_dims=0, out):
    """The slices of the data that tuples of indices name, one for each axis behind those of the batches."""
    made = None if out is None else scatter.gather_nd(data, indices, batch_dims, out)
    return made or put_off(lambda x, i: _gather_nd(x, i, batch_dims), data, indices, out)


def _compressed(x: Fact, condition: Fact, *, axis: int | None) -> list[Any]:
    if axis is None:
        return [(fresh(),)]
    shape = shape_of(x)
    at = axis_of(axis, len(shape))
    return [(*shape[:at], fresh(), *shape[at + 1:])]


@op("Compress", 9, 28, shape=_compressed)
def compress(input, condition, *, axis):
    """Slices along an axis, or elements, where the condition holds; those beyond its end are left out."""
    size = input.size if axis is None else input.shape[axis]
    if condition.ndim != 1 or condition.size > size:
        raise ValueError(f"a condition of shape {condition.shape} for {size} slices")
    return np.take(input, np.flatnonzero(condition), axis)


def _positions(x: Fact) -> list[Any]:
    value = carried(x)
    if value is None or any(isinstance(n, Dim) for n in value.flat):
        return [(len(shape_of(x)), fresh())]
    found = np.array(np.nonzero(value) if value.ndim else np.empty((0, int(bool(value)))), "i8")
    return [Fact("tensor(int64)", found.shape, value_of(found))]


@op("NonZero", 9, 13, shape=_positions)
def non_zero(X):
    """The positions of elements that are not zero, a row for each axis; a string is zero where it is empty."""
    if X.ndim == 0:
        return np.empty((0, int(bool(X))), "i8")
    return np.array(np.nonzero(X), "i8")


def _reversed(x: Fact, lens: Fact, *, batch_axis: int, time_axis: int) -> list[Any]:
    if {batch_axis, time_axis} != {0, 1} or len(shape_of(x)) < 2:
        raise ValueError(f"batch_axis {batch_axis} and time_axis {time_axis} of {shape_of(x)} are not 0 and 1")
    return [shape_of(x)]


@op("ReverseSequence", 10, 28, shape=_reversed)
def reverse_sequence(input, sequence_lens, *, batch_axis, time_axis):
    """The first elements of every sequence in the opposite order, as many as its length says."""
    batch, time = np.arange(input.shape[batch_axis]), np.arange(input.shape[time_axis])
    lens = sequence_lens
    if lens.shape != batch.shape or np.any((lens < 0) | (lens > time.size)):
        raise ValueError(f"lengths {lens.tolist()} for {batch.size} sequences of {time.size}")
    if time_axis == 0:
        time, lens = time[:, None], lens[None, :]
        return input[np.where(time < lens, lens - 1 - time, time), batch]
    lens = lens[:, None]
    return input[batch[:, None], np.where(time < lens, lens - 1 - time, time)]


def _distinct(x: Fact, *, axis: int | None, sorted: int) -> list[Any]:
    count, shape = fresh(), shape_of(x)
    if axis is None:
        return [(count,), (count,), (size_of(shape),), (count,)]
    at = axis_of(axis, len(shape))
    return [(*shape[:at], count, *shape[at + 1:]), (count,), (shape[at],), (count,)]


@op("Unique", 11, 28, shape=_distinct)
def unique(X, *, axis, sorted):
    """The distinct elements, or slices along an axis, in ascending order or as they first come; where they come, what every one
    of the input is, and how often. NaN are one element, the largest, as for NumPy."""
    sliced = X.reshape(-1) if axis is None else np.moveaxis(X, axis, 0)
    ranks = np.zeros((len(sliced), 1 + prod(sliced.shape[1:])), "i8")  # the first column is there if no other is
    ranks[:, 1:] = np.unique(_comparable(sliced), return_inverse=True)[1].reshape(len(sliced), -1) if X.size else 0
    _, first, inverse, counts = np.unique(ranks, return_index=True, return_inverse=True, return_counts=True, axis=0)
    if not sorted:
        order = np.argsort(first)
        first, counts, inverse = first[order], counts[order], np.argsort(order)[inverse.reshape(-1)]
    found = np.moveaxis(sliced[first], 0, axis or 0)
    return tuple([found, *(a.astype("i8").reshape(-1) for a in (first, inverse, counts))])


def _comparable(x: np.ndarray) -> np.ndarray:
    """The same order in a type that NumPy sorts."""
    return x.astype("f4") if x.dtype.kind == "V" else x
