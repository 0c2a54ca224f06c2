"""Operators that a program never runs: the result is the input's storage under another shape."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..dims import Dim, Fact, Size, divided, fresh, size_of
from ..registry import op
from .shapes import Shape, axes_of, numbers, shape_of, sizes


@op("Identity", 1, 25, shape=lambda x: [Fact(x.type, x.shape, x.value)], view=0)
def identity(input):
    """The same value: a view."""
    return input


def _reshaped(x: Fact, shape: Any = None, *, allowzero: int = 0, **_: Any) -> list[Any]:
    wanted = sizes(shape)
    if wanted is None:
        rank = shape.shape[0] if isinstance(shape, Fact) and shape.shape else None
        return [tuple(fresh() for _ in range(rank)) if isinstance(rank, int) else None]
    return [resolved(shape_of(x), wanted, allowzero)]


def resolved(shape: Shape, wanted: Sequence[Size], allowzero: int) -> Shape:
    """The shape that Reshape is asked for: 0 keeps a size (unless zeros are allowed), -1 takes what remains."""
    if allowzero and 0 in wanted and -1 in wanted:
        raise ValueError(f"{list(wanted)} has both 0 and -1, which allowzero forbids")
    if not allowzero and any(n == 0 and i >= len(shape) for i, n in enumerate(wanted)):
        raise ValueError(f"{list(wanted)} keeps a size that {shape} does not have")
    if list(wanted).count(-1) > 1 or any(isinstance(n, int) and n < -1 for n in wanted):
        raise ValueError(f"{list(wanted)} leaves more than one size open")
    kept = [shape[i] if n == 0 and not allowzero else n for i, n in enumerate(wanted)]
    total, rest = size_of(shape), size_of(tuple(n for n in kept if n != -1))
    if -1 in wanted and rest == 0:
        raise ValueError(f"{list(wanted)} leaves open what an empty {shape} has along one axis")
    found = tuple(divided(total, rest) if n == -1 else n for n in kept)
    if isinstance(total, int) and isinstance(size_of(found), int) and size_of(found) != total:
        raise ValueError(f"{total} elements of {shape} do not make {list(wanted)}")
    return found


@op("Reshape", 5, 25, shape=_reshaped, view=0, known=("shape",))
@op("Reshape", 1, 1, shape=_reshaped, view=0)
def reshape(data, shape=None, *, allowzero=0, consumed_inputs=None):
    """The same elements in another shape: a view, which its reader shapes by the rule."""
    return data


def _flattened(x: Fact, *, axis: int) -> list[Any]:
    shape = shape_of(x)
    if not -len(shape) <= axis <= len(shape):
        raise ValueError(f"axis {axis} is outside of {len(shape)} dimensions")
    at = axis + len(shape) if axis < 0 else axis
    return [(size_of(shape[:at]), size_of(shape[at:]))]


@op("Flatten", 1, 25, shape=_flattened, view=0)
def flatten(input, *, axis):
    """A matrix of the axes before one and of those from it on: a view."""
    return input


def _unsqueezed(x: Fact, axes: Any) -> list[Any]:
    shape, named = shape_of(x), numbers(axes)
    if named is None:
        return [None]
    rank = len(shape) + len(named)
    at, rest = axes_of(named, rank), iter(shape)
    return [tuple(1 if i in at else next(rest) for i in range(rank))]


@op("Unsqueeze", 13, 25, shape=_unsqueezed, view=0, known=("axes",))
@op("Unsqueeze", 1, 11, shape=_unsqueezed, view=0)
def unsqueeze(data, axes):
    """Axes of size 1 put in: a view."""
    return data


def _squeezed(x: Fact, axes: Any = None) -> list[Any]:
    shape, named = shape_of(x), numbers(axes)
    if axes is None:
        if any(isinstance(n, Dim) for n in shape):  # which of them are 1 only a run tells
            return [None]
        return [tuple(n for n in shape if n != 1)]
    if named is None:
        return [None]
    gone = axes_of(named, len(shape))
    if any(isinstance(shape[a], int) and shape[a] != 1 for a in gone):
        raise ValueError(f"axes {list(gone)} of {shape} are not all of size 1")
    return [tuple(n for i, n in enumerate(shape) if i not in gone)]


@op("Squeeze", 13, 25, shape=_squeezed, view=0, known=("axes",))
@op("Squeeze", 1, 11, shape=_squeezed, view=0)
def squeeze(data, axes=None):
    """Axes of size 1 left out: a view."""
    return data
