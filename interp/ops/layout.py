"""Operators that copy elements and change none: concatenation, slices, transpositions, repeats, padding."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np

from ..dims import Dim, Fact, Size, divided, fresh, larger, never_negative, smaller
from ..kernels import layout
from ..kernels.step import Later
from ..registry import op
from .shapes import CARRIED, axes_of, axis_of, carried, numbers, shape_of, sizes, value_of, widest, with_value

ENDLESS = 2**31 - 1  # what models write for "to the end"


def put(found: Any, out: np.ndarray | None) -> Any:
    """Fill the buffer, or return what was found where there is none: strings have no buffers."""
    if out is None:
        return found
    out[...] = found
    return None


def put_off(fn: Callable, *arrays: Any) -> Later:
    """A call of NumPy, put off: what the result's buffer, the last array, is filled with."""
    return Later(lambda *given: put(fn(*given[:-1]), given[-1]), *arrays)


def plain(x: Any) -> list[int]:
    """The numbers of an attribute or of an input whose value is known."""
    return [int(n) for n in np.ravel(x)]


def _joined(*facts: Fact, axis: int | None) -> list[Any]:
    shapes = [shape_of(f) for f in facts]
    at = axis_of(1 if axis is None else axis, len(shapes[0]))
    for s in shapes:
        if len(s) != len(shapes[0]) or any(isinstance(a, int) and isinstance(b, int) and a != b
                                           for i, (a, b) in enumerate(zip(s, shapes[0], strict=True)) if i != at):
            raise ValueError(f"shapes {', '.join(map(str, shapes))} do not join along axis {axis}")
    total: Size = 0
    for s in shapes:
        total = total + s[at]
    return [tuple(total if i == at else _settled(column) for i, column in enumerate(zip(*shapes, strict=True)))]


def _settled(column: Sequence[Size]) -> Size:
    """Sizes that must agree: a number where one is known."""
    return next((n for n in column if isinstance(n, int)), column[0])


def _joined_values(*values: np.ndarray, axis: int | None) -> Any:
    return np.concatenate(values, 1 if axis is None else axis)


@op("Concat", 1, 13, shape=with_value(_joined, _joined_values), joins="axis")
def concat(*inputs, axis, out):
    """The inputs one after the other along an axis, before version 4 axis 1 by default."""
    at = axis_of(1 if axis is None else axis, inputs[0].ndim)
    made = None if out is None else layout.concat(inputs, at, out)
    return made or put_off(lambda *arrays: np.concatenate(arrays, at), *inputs, out)


def _permuted(x: Fact, *, perm: Sequence[int] | None) -> list[Any]:
    shape = shape_of(x)
    order = range(len(shape))[::-1] if perm is None else axes_of(perm, len(shape))
    if len(order) != len(shape):
        raise ValueError(f"perm {perm} is no order of {len(shape)} axes")
    return [tuple(shape[p] for p in order)]


@op("Transpose", 1, 25, shape=with_value(_permuted, lambda x, *, perm: np.transpose(x, perm)))
def transpose(data, *, perm, out):
    """The axes in another order, by default the reverse."""
    order = tuple(range(data.ndim))[::-1] if perm is None else axes_of(perm, data.ndim)
    made = None if out is None else layout.transpose(data, order, out)
    return made or put_off(lambda x: np.transpose(x, order), data, out)


# Slices


def _bounds(size: Size, start: Size, end: Size, step: int) -> tuple[Size, Size]:
    """Where a slice starts and how many elements it has."""
    if step == 0:
        raise ValueError("a slice steps by 0")
    if step > 0:
        first, last = _clamped(start, size, 0, size), _clamped(end, size, 0, size)
        return first, _at_least_none(last - first + step - 1, step, first)
    first, last = _clamped(start, size, 0, size - 1), _clamped(end, size, -1, size - 1)
    return smaller(first, size - 1), _at_least_none(smaller(first, size - 1) - last - step - 1, -step, last)


def _clamped(n: Size, size: Size, low: Size, high: Size) -> Size:
    """A position between two ends; a negative one counts from the end."""
    if isinstance(n, int) and abs(n) >= ENDLESS and isinstance(size, Dim):
        return high if n > 0 else low
    if isinstance(n, Dim) and not never_negative(n):
        from_front = smaller(larger(n + 1, 0), 1)  # 1, or 0 where its names make it negative
        return from_front * smaller(n, high) + (1 - from_front) * larger(n + size, low)
    if isinstance(n, int) and n < 0:
        return high if n == -1 and high == size - 1 else larger(size + n, low)
    return n if n == low or n == high else smaller(n, high)


def _at_least_none(room: Size, step: int, other: Size) -> Size:
    """How many steps fit; names say nothing of which end comes first, unless one end is that of the axis."""
    count = divided(room, step)
    return count if other in (0, -1) and isinstance(count, Dim) and never_negative(count) else larger(count, 0)


def _sliced(x: Fact, starts: Any, ends: Any, axes: Any = None, steps: Any = None) -> list[Any]:
    shape, first, last = list(shape_of(x)), sizes(starts), sizes(ends)
    by, named = numbers(steps), numbers(axes)
    if first is None or last is None or (steps is not None and by is None) or (axes is not None and named is None):
        rows = starts.shape[0] if axes is None and isinstance(starts, Fact) and starts.shape else None
        open_ = range(rows) if isinstance(rows, int) else range(len(shape))
        touched = axes_of(open_ if named is None else named, len(shape))
        return [tuple(fresh() if i in touched else n for i, n in enumerate(shape))]
    for i, a in enumerate(axes_of(range(len(first)) if named is None else named, len(shape))):
        shape[a] = _bounds(shape[a], first[i], last[i], 1 if by is None else by[i])[1]
    return [tuple(shape)]


def _sliced_values(x: np.ndarray, starts: Any, ends: Any, axes: Any = None, steps: Any = None) -> Any:
    given = [None if a is None else sizes(Fact("tensor(int64)", None, a)) for a in (starts, ends, axes, steps)]
    if any(isinstance(n, Dim) for a in given if a is not None for n in a):
        return None
    return x[_slices(x.shape, *given)]


def _slices(shape: Sequence[int], starts: Any, ends: Any, axes: Any, steps: Any) -> tuple[slice, ...]:
    """Python's slices for all axes, out of numbers."""
    found = [slice(0, n, 1) for n in shape]
    for i, a in enumerate(axes_of(range(len(starts)) if axes is None else axes, len(shape))):
        step = 1 if steps is None else steps[i]
        bounds: Any = _bounds(shape[a], starts[i], ends[i], step)
        first, count = bounds if bounds[1] else (0, 0)
        last = first + count * step
        found[a] = slice(first, first + count, 1) if count < 2 else slice(first, None if last < 0 else last, step)
    return tuple(found)


def _slice(data: np.ndarray, starts: Any, ends: Any, axes: Any, steps: Any, out: Any) -> Any:
    along = _slices(data.shape, *(None if a is None else plain(a) for a in (starts, ends, axes, steps)))
    made = None if out is None else layout.slice(data, [s.start for s in along], [s.step for s in along], out)
    return made or put_off(lambda x: x[along], data, out)


@op("Slice", 1, 1, shape=_sliced)
def slice_by_attributes(data, *, starts, ends, axes, out):
    """A part of every axis named."""
    return _slice(data, starts, ends, axes, None, out)


@op("Slice", 10, 13, shape=with_value(_sliced, _sliced_values), known=("starts", "ends", "axes", "steps"))
def slice_(data, starts, ends, axes=None, steps=None, *, out):
    """A part of every axis named, by steps that may go backwards; ends beyond the axis are its ends."""
    return _slice(data, starts, ends, axes, steps, out)


# Parts


def _parts(size: Size, split: Any, count: int | None, ceil: bool) -> list[Size] | None:
    """The sizes of parts: as given, or equal ones, of which the last may be smaller where `ceil` is asked for."""
    given = sizes(split)
    if given is not None or split is not None:
        if given and isinstance(size, int) and all(isinstance(n, int) for n in given) and sum(given) != size:
            raise ValueError(f"parts of {given} do not make {size}")
        return given
    if not count:
        return None
    each = divided(size + count - 1, count) if ceil else divided(size, count)
    if isinstance(size, int) and not ceil and size % count:
        raise ValueError(f"{size} do not split into {count} equal parts")
    last = size - each * (count - 1)
    if isinstance(last, int) and last < 0:
        raise ValueError(f"{size} do not split into {count} parts")
    return [each] * (count - 1) + [last]


def _split_shapes(x: Fact, split: Any = None, *, axis: int | None, num_outputs: int | None = None, outputs: int | None = None,
                  **_: Any) -> list[Any]:
    shape = shape_of(x)
    at = axis_of(axis or 0, len(shape))
    if num_outputs and (split is not None or num_outputs != outputs):
        raise ValueError(f"num_outputs {num_outputs} for {outputs} outputs{'' if split is None else ', and their sizes as well'}")
    parts = _parts(shape[at], split, outputs, num_outputs is not None)
    if parts is not None and len(parts) != outputs:
        raise ValueError(f"{len(parts)} parts for {outputs} outputs")
    if parts is None:
        return [tuple(fresh() if i == at else n for i, n in enumerate(shape)) for _ in range(outputs or 0)]
    found = [(*shape[:at], n, *shape[at + 1:]) for n in parts]
    value, known = carried(x), [n for n in parts if isinstance(n, int)]
    if value is None or len(known) < len(parts):
        return found
    values = np.split(value, list(accumulate(known))[:-1], at)
    return [Fact(x.type, s, value_of(v, x.dtype)) for s, v in zip(found, values, strict=True)]


@op("Split", 13, 18, shape=_split_shapes, known=("split",))
@op("Split", 2, 11, shape=_split_shapes)
def split_(input, split=None, *, axis, num_outputs=None, outputs, out):
    """Parts along an axis: of the sizes given, or equal ones."""
    at = axis_of(axis or 0, input.ndim)
    parts: Any = _parts(input.shape[at], None if split is None else plain(split), num_outputs or len(outputs),
                        num_outputs is not None)
    starts = [0, *accumulate(parts)][:-1]
    wanted = [(s, y) for s, y in zip(starts, out or (), strict=False) if y is not None]
    made = layout.split(input, at, wanted) if out is not None else None
    return made or Later(partial(_split, at, starts), input, *([] if out is None else out))


def _split_either(x: Fact, lengths: Fact | None = None, *, split: Any, outputs: int | None = None, axis: int | None) -> list[Any]:
    return _split_shapes(x, split if lengths is None else lengths, axis=axis, outputs=outputs)


@op("Split", 1, 1, shape=_split_either, known=("split",))
def split_either(input, *lengths, split, axis, outputs, out):
    """Parts along an axis: of the sizes that an attribute gives or an input of the same name, or equal ones."""
    return split_(input, lengths[0] if lengths else split, axis=axis, outputs=outputs, out=out)


def _split(axis: int, starts: list[int], x: np.ndarray, *outs: np.ndarray | None) -> Any:
    found = np.split(x, starts[1:], axis)
    for part, out in zip(found, outs, strict=False):
        if out is not None:
            out[...] = part
    return None if outs else tuple(found)


# Repeats


def _expanded(x: Fact, shape: Any) -> list[Any]:
    wanted = sizes(shape)
    if wanted is None:
        rank = shape.shape[0] if shape.shape else None
        return [tuple(fresh() for _ in range(max(rank, x.rank))) if isinstance(rank, int) else None]
    return [widest([shape_of(x), tuple(wanted)])]


def _expanded_values(x: np.ndarray, shape: np.ndarray) -> Any:
    wanted = numbers(Fact("tensor(int64)", None, shape))
    found = None if wanted is None else tuple(n for n in widest([x.shape, tuple(wanted)]) if isinstance(n, int))
    return None if found is None or prod(found) > CARRIED else np.broadcast_to(x, found)


@op("Expand", 8, 13, shape=with_value(_expanded, _expanded_values), known=("shape",))
def expand(input, shape, *, out):
    """Axes of size 1 repeat up to a shape, with which the input broadcasts."""
    wanted = np.broadcast_shapes(input.shape, tuple(plain(shape)))
    own = (1,) * (len(wanted) - input.ndim) + input.shape
    repeats = [n if o == 1 else 1 for n, o in zip(wanted, own, strict=True)]
    made = None if out is None else layout.repeat(input, own, repeats, out)
    return made or put_off(lambda x: np.broadcast_to(x, wanted), input, out)


def _tiled(x: Fact, repeats: Any) -> list[Any]:
    times = sizes(repeats)
    shape = shape_of(x)
    if times is None:
        return [tuple(fresh() for _ in shape)]
    if len(times) != len(shape):
        raise ValueError(f"{len(times)} repeats for {len(shape)} axes")
    return [tuple(n * r for n, r in zip(shape, times, strict=True))]


@op("Tile", 6, 13, shape=_tiled, known=("repeats",))
def tile(input, repeats, *, out):
    """The input again and again along every axis."""
    times = plain(repeats)
    made = None if out is None else layout.repeat(input, input.shape, times, out)
    return made or put_off(lambda x: np.tile(x, times), input, out)


def _times(rank: int, tiles: Any, axis: Any) -> list[int]:
    """How often each axis repeats that once was given with its number."""
    [count], [at] = plain(tiles), plain(axis)
    return [count if i == axis_of(at, rank) else 1 for i in range(rank)]


def _tiled_along(x: Fact, tiles: Fact, axis: Fact) -> list[Any]:
    if tiles.value is None or axis.value is None:
        return [tuple(fresh() for _ in shape_of(x))]
    return [tuple(n * r for n, r in zip(shape_of(x), _times(x.rank, tiles.value, axis.value), strict=True))]


@op("Tile", 1, 1, shape=_tiled_along, known=("tiles", "axis"))
def tile_along(input, tiles, axis, *, out):
    """The input again and again along one axis; how often, and along which, are numbers of the input's own type."""
    times = _times(input.ndim, tiles, axis)
    return layout.repeat(input, input.shape, times, out)


# Blocks of depth and space


def _planes(x: Fact, blocksize: int) -> tuple[Size, ...]:
    """The four sizes of an image that blocks can be cut from."""
    shape = shape_of(x)
    if len(shape) != 4 or blocksize < 1:
        raise ValueError(f"blocks of {blocksize} in {len(shape)} dimensions: they are of 1 or more, in 4")
    return shape


def _deeper(x: Fact, *, blocksize: int, **_: Any) -> list[Any]:
    n, c, h, w = _planes(x, blocksize)
    return [(n, c * (blocksize * blocksize), divided(h, blocksize), divided(w, blocksize))]


def _wider(x: Fact, *, blocksize: int, **_: Any) -> list[Any]:
    n, c, h, w = _planes(x, blocksize)
    return [(n, divided(c, blocksize * blocksize), h * blocksize, w * blocksize)]


@op("DepthToSpace", 1, 28, shape=_wider)
def depth_to_space(input, *, blocksize, mode="DCR", out):
    """Blocks of the result from channels: depth first (DCR) or channel first (CRD)."""
    n, c, h, w = input.shape
    b, rest = blocksize, c // (blocksize * blocksize)
    if mode == "DCR":
        return _reordered(input, (n, b, b, rest, h, w), (0, 3, 4, 1, 5, 2), (n, rest, h * b, w * b), out)
    return _reordered(input, (n, rest, b, b, h, w), (0, 1, 4, 2, 5, 3), (n, rest, h * b, w * b), out)


@op("SpaceToDepth", 1, 28, shape=_deeper)
def space_to_depth(input, *, blocksize, mode="DCR", out):
    """Channels from the blocks of the input: depth first (DCR) or channel first (CRD)."""
    n, c, h, w = input.shape
    b, order = blocksize, (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4)
    return _reordered(input, (n, c, h // b, b, w // b, b), order, (n, c * b * b, h // b, w // b), out)


def _reordered(x: np.ndarray, within: tuple[int, ...], order: tuple[int, ...], shape: tuple[int, ...], out: Any) -> Any:
    """A transposition between two changes of shape."""
    permuted = tuple(within[p] for p in order)
    made = None if out is None else layout.transpose(x.reshape(within), order, out.reshape(permuted))
    return made or put_off(lambda x: x.reshape(within).transpose(order).reshape(shape), x, out)
