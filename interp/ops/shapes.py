"""Shape rules that families share: sameness, broadcasting, axes, and values made of sizes that rules carry along."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..dims import Dim, Fact, Size, larger, smaller
from ..types import DTYPE

Shape = tuple[Size, ...]
CARRIED = 1024  # values with more elements than this are data, no sizes


def same(x: Fact, *_: Any, **__: Any) -> list[Any]:
    """Every element stays where it is."""
    return [x.shape]


def unknown(*_: Any, **__: Any) -> list[Any]:
    """Only a run tells."""
    return [None]


def shape_of(fact: Fact) -> Shape:
    """The shape of a value whose rank is known."""
    if fact.shape is None:
        raise ValueError(f"the rank of a {fact.type} is not known")
    return fact.shape


def axis_of(axis: int, rank: int) -> int:
    """An axis counted from the front; negative ones count from the end."""
    if not -rank <= axis < rank:
        raise ValueError(f"axis {axis} is outside of {rank} dimensions")
    return axis % rank


def axes_of(axes: Iterable[int], rank: int) -> tuple[int, ...]:
    """Axes counted from the front, in the order given; none may come twice."""
    found = tuple(axis_of(int(a), rank) for a in axes)
    if len(set(found)) != len(found):
        raise ValueError(f"axes {tuple(axes)} name one twice")
    return found


def sizes(given: Fact | Iterable[int] | None) -> list[Size] | None:
    """The numbers of an attribute, or of an input whose value is known; None for what is absent or unknown."""
    if isinstance(given, Fact):
        return given.sizes
    return None if given is None else [int(n) for n in given]


def numbers(given: Fact | Iterable[int] | None) -> list[int] | None:
    """Those of `sizes` where all of them are plain numbers."""
    found = sizes(given)
    plain = [n for n in found or () if isinstance(n, int)]
    return None if found is None or len(plain) < len(found) else plain


def widest(shapes: Sequence[Shape]) -> Shape:
    """The shape to which NumPy broadcasts these shapes."""
    rank = max(map(len, shapes), default=0)
    rows = [(1,) * (rank - len(s)) + tuple(s) for s in shapes]
    return tuple(_stretched(column, shapes) for column in zip(*rows, strict=True))


def _stretched(column: Iterable[Size], shapes: Sequence[Shape]) -> Size:
    """The size of one axis: sizes of 1 repeat, any others must agree."""
    others = list(dict.fromkeys(n for n in column if n != 1))
    known = [n for n in others if isinstance(n, int)]
    if len(known) > 1:
        raise ValueError(f"shapes {', '.join(map(str, shapes))} do not broadcast")
    if known or len(others) < 2:
        return known[0] if known else others[0] if others else 1
    most, least = others[0], others[0]
    for n in others[1:]:
        most, least = larger(most, n), smaller(least, n)
    return most * smaller(least, 1)  # an empty axis stays empty beside one of size 1


def broadcast(*facts: Fact, axis: int | None = None, broadcast: int | None = None, **_: Any) -> list[Any]:
    """NumPy's broadcasting; before version 7 only the second operand repeats, its axes put at `axis`, and only if asked to."""
    shapes = [shape_of(f) for f in facts]
    if broadcast is None:
        return [widest(shapes)]
    a, b = shapes
    found = widest([a, aligned(a, b, axis) if broadcast else b])
    if len(found) != len(a) or any(isinstance(m, int) and isinstance(n, int) and m != n for m, n in zip(found, a, strict=True)):
        raise ValueError(f"before version 7 the second operand broadcasts to the first: {b} to {a}")
    return [found]


def aligned(a: Shape, b: Shape, axis: int | None) -> Shape:
    """The second operand's shape with the trailing ones that NumPy needs to put it at `axis` of the first."""
    at = len(a) - len(b) if axis is None else axis + len(a) if axis < 0 else axis
    if not 0 <= at <= len(a) - len(b):
        raise ValueError(f"{b} does not fit {a} at axis {axis}")
    return (*b, *(1,) * (len(a) - len(b) - at))


def all_alike(*facts: Fact, **_: Any) -> list[Any]:
    """Operands of one shape: what variadic operators took before they broadcast."""
    shapes = [shape_of(f) for f in facts]
    found = widest(shapes)
    if any(len(s) != len(found) for s in shapes):
        raise ValueError(f"shapes {', '.join(map(str, shapes))} differ")
    return [found]


def reduced(x: Fact, axes: Fact | Sequence[int] | None = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0,
            **_: Any) -> list[Any]:
    """The named axes become 1, or go; all of them where none is named."""
    shape = shape_of(x)
    named = numbers(axes)
    if axes is not None and named is None:
        return [None]
    if not named and noop_with_empty_axes:
        return [shape]
    gone = set(axes_of(named, len(shape)) if named else range(len(shape)))
    if keepdims:
        return [tuple(1 if i in gone else n for i, n in enumerate(shape))]
    return [tuple(n for i, n in enumerate(shape) if i not in gone)]


# Values made of sizes


def value_of(found: Any, dtype: Any = "i8") -> np.ndarray | None:
    """Sizes as an array of `dtype`; one of objects where some have names. None for what is too much to be sizes."""
    array = np.asarray(found, object)
    if array.size > CARRIED:
        return None
    if any(isinstance(n, Dim) for n in array.flat):
        return array
    try:
        return array.astype(dtype)
    except OverflowError:  # such values wrap around in a run, and are no sizes
        return None


def carried(fact: Fact | None) -> np.ndarray | None:
    """The value of an input of whole numbers or truths as an array of objects, where it is known and small enough to be sizes."""
    if fact is None or fact.value is None:
        return None
    value = np.asarray(fact.value)
    whole = value.dtype.kind in "iuOb" and ("int" in fact.type or "bool" in fact.type)
    return value.astype(object) if whole and value.size <= CARRIED else None


def with_value(rule: Callable[..., list[Any]], compute: Callable[..., Any], typed: int | str = 0) -> Callable[..., list[Any]]:
    """A shape rule that also computes the values of its output where those of all its inputs are known.

    `compute` gets arrays of objects, with sizes in them, and the attributes; it returns None for what it cannot tell.
    The output's type is `typed`, or that of the input at this position.
    """
    def ruled(*facts: Fact | None, **attributes: Any) -> list[Any]:
        [shape] = rule(*facts, **attributes)
        values = [carried(f) for f in facts]
        if shape is None or any(v is None and f is not None for v, f in zip(values, facts, strict=True)) or not facts:
            return [shape]
        found = compute(*values, **attributes)
        kind = typed if isinstance(typed, str) else facts[typed].type  # type: ignore[union-attr]
        value = None if found is None else value_of(found, DTYPE[kind])
        return [shape if value is None else Fact(kind, shape, value)]
    return ruled
