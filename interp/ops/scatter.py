"""Operators that write updates where indices say."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..dims import Dim, Fact
from ..kernels import scatter
from ..registry import op
from .gather import checked, located, reached, tuples_of, within
from .layout import put_off
from .shapes import axis_of, shape_of, with_value

FOLDS: dict[str, Any] = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


def _fold(reduction: str, data: np.ndarray) -> Any:
    """What an update does to the element that stands there; None where it takes its place."""
    if reduction == "none":
        return None
    if reduction not in FOLDS:
        raise ValueError(f"no reduction is called {reduction}; there are none, {', '.join(FOLDS)}")
    if data.dtype.hasobject or (data.dtype.kind == "c" and reduction in ("max", "min")):
        raise ValueError(f"reduction {reduction} has no meaning for {'strings' if data.dtype.hasobject else 'complex numbers'}")
    return FOLDS[reduction]


def _updated(data: np.ndarray, where: Any, updates: np.ndarray, fold: Any) -> np.ndarray:
    made = data.copy()
    if fold is None:
        made[where] = updates
    else:
        fold.at(made, where, updates)
    return made


def _scattered(data: Fact, indices: Fact, updates: Fact, *, axis: int, **_: Any) -> list[Any]:
    within(data, indices, axis)
    alike(shape_of(updates), shape_of(indices))
    return [shape_of(data)]


def alike(updates: Any, due: Any) -> None:
    """Refuse updates of another shape than there are places for."""
    if len(updates) != len(due) or any(isinstance(a, int) and isinstance(b, int) and a != b
                                       for a, b in zip(updates, due, strict=True)):
        raise ValueError(f"updates {updates} do not fit places for {due}")


@op("ScatterElements", 11, 18, shape=_scattered, inplace=(0,))
@op("Scatter", 9, 11, shape=_scattered, inplace=(0,))
def scatter_elements(data, indices, updates, *, axis, reduction="none", out):
    """The data with every update at its own place, but at this position along an axis; later ones are folded into, or replace,
    what earlier ones have written there."""
    at, fold = axis_of(axis, data.ndim), _fold(reduction, data)
    made = None if out is None else scatter.scatter_elements(data, indices, updates, at, reduction, out)
    return made or put_off(lambda x, i, u: _updated(x, reached(x.shape, i, at), u, fold), data, indices, updates, out)


def _scattered_nd(data: Fact, indices: Fact, updates: Fact, **_: Any) -> list[Any]:
    named = tuples_of(data, indices)
    if named is not None:
        alike(shape_of(updates), (*shape_of(indices)[:-1], *shape_of(data)[named:]))
    return [shape_of(data)]


def _scattered_values(data: np.ndarray, indices: np.ndarray, updates: np.ndarray, *, reduction: str = "none", **_: Any) -> Any:
    if reduction != "none" or any(isinstance(i, Dim) for i in indices.flat):
        return None
    return _updated(data, located(data.shape, indices.astype("i8")), updates, None)


@op("ScatterND", 11, 18, shape=with_value(_scattered_nd, _scattered_values), inplace=(0,))
def scatter_nd(data, indices, updates, *, reduction="none", out):
    """The data with updates of the slices that tuples of indices name; later ones are folded into, or replace, earlier ones."""
    fold = _fold(reduction, data)
    made = None if out is None else scatter.scatter_nd(data, indices, updates, reduction, out)
    return made or put_off(lambda x, i, u: _updated(x, located(x.shape, i), u, fold), data, indices, updates, out)


def _cached(past_cache: Fact, update: Fact, write_indices: Fact | None = None, *, axis: int, mode: str) -> list[Any]:
    shape, given = shape_of(past_cache), shape_of(update)
    at = axis_of(axis, len(shape))
    if at == 0 or mode not in ("linear", "circular"):
        raise ValueError(f"axis {axis} of {shape} in mode {mode}: rows are behind the samples, and written linear or circular")
    alike(given[:at] + given[at + 1:], shape[:at] + shape[at + 1:])
    return [shape]


@op("TensorScatter", 24, 24, shape=_cached, inplace=(0,))
def tensor_scatter(past_cache, update, write_indices=None, *, axis, mode, out):
    """The cache with the rows of an update written along an axis, from where each sample says; circular ones go on in front."""
    at, circular = axis_of(axis, past_cache.ndim), mode == "circular"
    made = None if out is None else scatter.write_rows(past_cache, update, write_indices, at, circular, out)
    return made or put_off(lambda x, u, *starts: _written(x, u, starts, at, circular), past_cache, update,
                           *(() if write_indices is None else (write_indices,)), out)


def _written(cache: np.ndarray, update: np.ndarray, starts: tuple[np.ndarray, ...], axis: int, circular: bool) -> np.ndarray:
    made, size = cache.copy(), cache.shape[axis]
    for i, start in enumerate(starts[0] if starts else np.zeros(len(cache), "i8")):
        rows = int(start) + np.arange(update.shape[axis])
        rows = rows % size if circular and size else checked(np.where(rows < 0, size, rows), size)
        np.moveaxis(made[i], axis - 1, 0)[rows] = np.moveaxis(update[i], axis - 1, 0)
    return made
