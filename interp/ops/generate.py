"""Operators that make values: constants, what follows from shapes, ranges."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..dims import Dim, Fact, fresh, never_negative, size_of
from ..kernels import generate
from ..registry import op
from ..types import type_of
from .layout import plain
from .shapes import CARRIED, axis_of, carried, numbers, shape_of, sizes, value_of

INT64 = "tensor(int64)"


def _constant(value: Any, sparse: Any, **given: Any) -> np.ndarray:
    """The one value that a Constant holds."""
    if value is not None:
        return np.asarray(value)
    if sparse is not None:
        raise ValueError("a sparse constant is made dense when the model is read")
    kinds: dict[str, Any] = {"value_float": "f4", "value_floats": "f4", "value_int": "i8", "value_ints": "i8",
                             "value_string": object, "value_strings": object}
    for name, kind in kinds.items():
        if given.get(name) is not None:
            return np.array(given[name], kind)
    raise ValueError("Constant has no value")


def _constant_fact(*, value: Any = None, sparse_value: Any = None, **given: Any) -> list[Any]:
    found = _constant(value, sparse_value, **given)
    return [Fact(type_of(found), found.shape, found)]


@op("Constant", 1, 25, shape=_constant_fact)
def constant(*, value, sparse_value=None, value_float=None, value_floats=None, value_int=None, value_ints=None, value_string=None,
             value_strings=None):
    """The value of an attribute."""
    return _constant(value, sparse_value, value_float=value_float, value_floats=value_floats, value_int=value_int,
                     value_ints=value_ints, value_string=value_string, value_strings=value_strings)


def _fill(value: Any) -> np.ndarray:
    """The one element that ConstantOfShape repeats: 0 as a float, where there is none."""
    return np.zeros((), "f4") if value is None else np.asarray(value).reshape(())


def _filled(shape: Fact, *, value: Any) -> list[Any]:
    fill, wanted = _fill(value), sizes(shape)
    kind = type_of(fill)
    if wanted is None:
        rank = shape_of(shape)[0]
        return [Fact(kind, tuple(fresh() for _ in range(rank)) if isinstance(rank, int) else None)]
    if any(isinstance(n, int) and n < 0 for n in wanted):
        raise ValueError(f"the shape {wanted} has a size below 0")
    total = size_of(tuple(wanted))
    small = isinstance(total, int) and total <= CARRIED and fill.dtype.kind in "iub" and numbers(shape) is not None
    return [Fact(kind, tuple(wanted), np.full(tuple(plain(shape.value)), fill) if small else None)]


@op("ConstantOfShape", 9, 25, shape=_filled, known=("input",))
def constant_of_shape(input, *, value, out):
    """An array of a shape, filled with one value."""
    return generate.repeat(_fill(value), out)


def _shape_fact(x: Fact, *, start: int = 0, end: int | None = None) -> list[Any]:
    if x.shape is None:
        return [(fresh(),)]
    found = shape_of(x)[_part(x.rank, start, end)]
    return [Fact(INT64, (len(found),), value_of(found))]


def _part(rank: int, start: int, end: int | None) -> slice:
    """Axes from start to end; both are clamped, negative ones count from the last axis."""
    def clamped(at: int) -> int:
        return min(max(at + rank if at < 0 else at, 0), rank)
    return slice(clamped(start), max(clamped(start), rank if end is None else clamped(end)))


@op("Shape", 1, 25, shape=_shape_fact)
def shape(data, *, start=0, end=None):
    """The sizes of the axes, or of some of them."""
    return np.array(data.shape[_part(data.ndim, start, end)], "i8")


def _size_fact(x: Fact) -> list[Any]:
    return [Fact(INT64, (), None if x.shape is None else value_of(size_of(x.shape)))]


@op("Size", 1, 25, shape=_size_fact)
def size(data):
    """How many elements there are."""
    return np.array(data.size, "i8")


def _counted(start: Any, limit: Any, delta: Any) -> int:
    """How many elements a range has."""
    if not delta:
        raise ValueError("a range steps by 0")
    if isinstance(start, int):
        return max(-((start - limit) // delta), 0)
    with np.errstate(over="ignore", invalid="ignore"):
        count = np.ceil((np.float64(limit) - np.float64(start)) / np.float64(delta))
    if not np.isfinite(count):
        raise ValueError(f"a range from {start} to {limit} by {delta} has no end")
    return max(int(count), 0)


def _scalars(*arrays: Any) -> list[Any]:
    return [np.ravel(a)[0].item() if np.asarray(a).dtype.kind in "iuf" else float(np.ravel(a)[0]) for a in arrays]


def _ranged(start: Fact, limit: Fact, delta: Fact, **_: Any) -> list[Any]:
    given = [carried(f) for f in (start, limit, delta)]
    if all(g is not None for g in given):
        first, last, step = (g.flat[0] for g in given if g is not None)
        if any(isinstance(n, Dim) for n in (first, last, step)):
            return [(last if (first, step) == (0, 1) and never_negative(last) else fresh(),)]
        count = _counted(first, last, step)
        return [Fact(start.type, (count,), value_of([first + i * step for i in range(count)], start.dtype)
                     if count <= CARRIED else None)]
    if any(f.value is None for f in (start, limit, delta)):
        return [(fresh(),)]
    return [(_counted(*_scalars(start.value, limit.value, delta.value)),)]


@op("Range", 11, 27, shape=_ranged, known=("start", "limit", "delta"))
def range_(start, limit, delta, *, stash_type=1, out):
    """From a start, by steps, up to a limit that it does not reach; computed in double precision, whatever the stash type."""
    first, last, step = _scalars(start, limit, delta)
    if out.size != _counted(first, last, step):
        raise ValueError(f"{out.size} elements from {first} to {last} by {step}")
    return generate.count(first, step, out)


def _encoded(indices: Fact, depth: Fact, values: Fact, *, axis: int) -> list[Any]:
    shape = shape_of(indices)
    at, size = axis_of(axis, len(shape) + 1), sizes(depth)
    if size is not None and (len(size) != 1 or (isinstance(size[0], int) and size[0] < 0)):
        raise ValueError(f"the depth {size} is no number of classes")
    return [(*shape[:at], fresh() if size is None else size[0], *shape[at:])]


@op("OneHot", 11, 28, shape=_encoded, known=("depth",))
def one_hot(indices, depth, values, *, axis):
    """On where the index is, off elsewhere, along a new axis of `depth` classes; negative indices count from the last class."""
    found, size = _whole(indices), int(np.ravel(depth)[0])
    return _hot(np.where(found < 0, found + size, found), size, values, axis)


@op("OneHot", 9, 9, shape=_encoded, known=("depth",))
def one_hot_from_zero(indices, depth, values, *, axis):
    """On where the index is, off elsewhere, along a new axis of `depth` classes; negative indices are beyond all classes."""
    return _hot(_whole(indices), int(np.ravel(depth)[0]), values, axis)


def _whole(indices: np.ndarray) -> np.ndarray:
    """Indices as whole numbers; those that are too large for them are no class."""
    if indices.dtype.kind in "iu":
        return np.minimum(indices, np.iinfo("i8").max).astype("i8") if indices.dtype == "u8" else indices.astype("i8")
    with np.errstate(invalid="ignore"):
        return indices.astype("i8")


def _hot(indices: np.ndarray, size: int, values: np.ndarray, axis: int) -> np.ndarray:
    if values.shape != (2,):
        raise ValueError(f"values of shape {values.shape} are not off and on")
    at = axis_of(axis, indices.ndim + 1)
    classes = np.arange(size).reshape(-1, *(1,) * (indices.ndim - at))
    return values[(np.expand_dims(indices, at) == classes).astype("i8")]
