"""Operators that pick elements or write them by position: the loops that their texts write out."""
from functools import partial

import numpy as np

from .case import Case, case

moved = partial(Case, exact=True)  # no element is changed


def indices(spec, shape, size, constraint="Tind"):
    """Positions from either end of an axis."""
    kind = spec.dtype(constraint) if constraint in spec.types else np.int64
    return spec.rng.integers(-size, size, shape).astype(kind)


@case("Gather")
def gather(spec):
    x, at = spec.data((3, 4, 2)), indices(spec, (2, 3), 4)
    if spec.version < 11:
        at = abs(at) % 4
    y = np.stack([np.stack([x[:, k] for k in row], 1) for row in at], 1)
    return moved([x, at], [y], axis=1)


@case("GatherElements")
def gather_elements(spec):
    x, at = spec.data((3, 4, 2)), indices(spec, (2, 5, 2), 4)
    y = np.empty(at.shape, x.dtype)
    for i, j, k in np.ndindex(at.shape):
        y[i, j, k] = x[i, at[i, j, k], k]
    return moved([x, at], [y], axis=1)


@case("GatherND")
def gather_nd(spec):
    x = spec.data((2, 3, 4, 2))
    batches = 1 if spec.has("batch_dims") else 0
    sizes = x.shape[batches:batches + 2]
    at = np.stack([indices(spec, (2, 3), n, "") for n in sizes], -1)
    y = np.empty((2, 3, *x.shape[batches + 2:]), x.dtype)
    for i, j in np.ndindex(2, 3):
        y[i, j] = x[i][tuple(at[i, j])] if batches else x[tuple(at[i, j])]
    return moved([x, at], [y], **({"batch_dims": 1} if batches else {}))


@case("Compress")
def compress(spec):
    x, holds = spec.data((3, 5, 2)), np.array([True, False, True, True])
    return moved([x, holds], [x[:, [0, 2, 3]]], axis=1)


@case("NonZero")
def non_zero(spec):
    x = spec.data((3, 4))
    x[1, 2] = "" if x.dtype.hasobject else 0
    found = [at for at in np.ndindex(x.shape) if x[at] != ("" if x.dtype.hasobject else 0)]
    return moved([x], [np.array(found).reshape(-1, 2).T])


@case("ReverseSequence")
def reverse_sequence(spec):
    x, lens = spec.data((3, 4, 2)), np.array([4, 1, 3])
    y = x.copy()
    for i, n in enumerate(lens):
        y[i, :n] = x[i, :n][::-1]
    return moved([x, lens], [y], batch_axis=0, time_axis=1)


@case("Unique")
def unique(spec):
    x = spec.data((2, 7, 2))
    x[:, 3], x[:, 5] = x[:, 1], x[:, 0]
    slices = [tuple(x[:, i].ravel().tolist()) for i in range(7)]
    order = list(dict.fromkeys(slices))
    if spec.dtype("T").kind == "c":
        order.sort(key=lambda s: [(n.real, n.imag) for n in s])
    elif spec.version < 28:
        order.sort()
    first = [slices.index(s) for s in order]
    told = (first, [order.index(s) for s in slices], [slices.count(s) for s in order])
    return moved([x], [x[:, first], *map(np.array, told)], axis=1,
                **({"sorted": 0} if spec.version >= 28 and spec.dtype("T").kind != "c" else {}))


# Updates


def updated(x, places, updates, reduction):
    """The data with one update after the other, in double precision where they are folded."""
    fold = {"none": lambda a, b: b, "add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}[reduction]
    if x.dtype.kind == "b":
        fold = {"add": np.logical_or, "mul": np.logical_and}.get(reduction, fold)
    wide = x.astype(float) if x.dtype.kind in "fV" and reduction != "none" else x.copy()
    for place, u in zip(places, updates, strict=True):
        wide[place] = fold(wide[place], u)
    return wide


def reduction(spec):
    """One that the version and the type have, another for each type."""
    if not spec.has("reduction") or spec.dtype("T").kind == "O":
        return "none"
    known = ("add", "mul") if spec.version < 18 or spec.dtype("T").kind == "c" else ("add", "mul", "max", "min")
    return known[spec.rng.integers(len(known))]


@case("ScatterElements", "Scatter")
def scatter_elements(spec):
    x, how = spec.data((3, 4, 2)), reduction(spec)
    at = indices(spec, (2, 5, 2), 4)
    if how == "none":
        at = np.stack([np.stack([spec.rng.permutation(4)[:3] for _ in range(2)], 1) for _ in range(2)]).astype(at.dtype)
        at[0, 0] -= 0 if spec.op == "Scatter" else 4
    u = spec.data(at.shape)
    y = updated(x, [(i, at[i, j, k], k) for i, j, k in np.ndindex(at.shape)], u.ravel(), how)
    return Case([x, at, u], [y], axis=1, **({"reduction": how} if spec.has("reduction") else {}))


@case("ScatterND")
def scatter_nd(spec):
    x, how = spec.data((3, 4, 2)), reduction(spec)
    at = np.array([[1, 2], [-1, 0], [0, -4], [2, 1]] if how == "none" else [[1, 2], [-1, 0], [1, -2], [2, 0], [1, 2]])
    u = spec.data((len(at), 2))
    y = updated(x, [tuple(a) for a in at], u, how)
    return Case([x, at, u], [y], **({"reduction": how} if spec.has("reduction") else {}))


@case("TensorScatter")
def tensor_scatter(spec):
    cache, update, starts = spec.data((2, 3, 5, 2)), spec.data((2, 3, 4, 2)), np.array([3, 0])
    y = cache.copy()
    for i, h, s in np.ndindex(2, 3, 4):
        y[i, h, (starts[i] + s) % 5] = update[i, h, s]
    return moved([cache, update, starts], [y], mode="circular")
