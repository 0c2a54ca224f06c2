"""What is fed to a run, held against what its model declares."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from .dims import Dim, Size
from .errors import InputError
from .graph import Value
from .infer import declared
from .types import as_map, type_of


def check(inputs: Sequence[Value], arrays: Sequence[Any]) -> list[Any]:
    """The feeds, where types, ranks and sizes are as the model declares and named sizes agree; NumPy scalars as arrays."""
    arrays = [np.asarray(a) if isinstance(a, np.generic) else a for a in arrays]
    sizes: dict[Dim, tuple[int, str]] = {}
    for value, a in zip(inputs, arrays, strict=True):
        wrong = misfit(value, a, sizes)
        if wrong:
            raise InputError(f"{value.name}: {shown(a)} came, {shown(value)} is due; {wrong}")
    return [mapped(v, a) if v.type and "map(" in v.type else a for v, a in zip(inputs, arrays, strict=True)]


def mapped(value: Value, given: Any) -> Any:
    """A map, or a sequence of maps, with keys and values of the declared type."""
    kind = value.type or ""
    try:
        if kind.startswith("map("):
            return as_map(given, kind)
        return [as_map(g, kind[4:-1]) for g in given]
    except (ValueError, TypeError, AttributeError, KeyError) as e:
        raise InputError(f"{value.name}: {kind} is due; {e}") from e


def misfit(value: Value, a: Any, sizes: dict[Dim, tuple[int, str]]) -> str:
    """What is wrong with a feed, or nothing. ``sizes`` remembers what a name came to, and in which input."""
    kind = value.type or "tensor"
    if kind.startswith("seq"):
        return "" if isinstance(a, list | tuple) else "give a list"
    if kind.startswith("map"):
        return "" if isinstance(a, dict) else "give a dictionary"
    if not kind.startswith("tensor"):
        return ""
    if not isinstance(a, np.ndarray):
        return "give a NumPy array"
    if value.type is not None and type_of(a) != value.type:
        return "convert it with .astype, nothing is cast here"
    if not a.dtype.isnative:
        return "it is in another byte order than this machine's"
    if value.shape is None:
        return ""
    if a.ndim != len(value.shape):
        return "the number of axes differs"
    for axis, (d, n) in enumerate(zip(sizes_of(value), a.shape, strict=True)):
        due, where = sizes.setdefault(d, (n, value.name)) if isinstance(d, Dim) else (d, "")
        if due != n:
            return f"axis {axis} has {n}, not {due}" + (f", which is {d} in {where}" if where else "")
    return ""


@lru_cache(1024)
def sizes_of(value: Value) -> tuple[Size, ...]:
    """The sizes that an input is due to have; unknown ones have names of their own."""
    return declared(value).shape or ()


def shown(thing: Any) -> str:
    """A type and shape as messages write them."""
    kind = (thing.type if isinstance(thing, Value) else "nothing" if thing is None else type_of(thing)) or "a value"
    shape = getattr(thing, "shape", None)
    if kind.startswith("tensor"):
        kind = kind.removeprefix("tensor(").removesuffix(")")
    return kind if shape is None else f"{kind}[{','.join('?' if d is None else str(d) for d in shape)}]"


def listed(values: Sequence[Value]) -> str:
    return ", ".join(f"{v.name} {shown(v)}" for v in values) or "none"


def nearest(name: str, known: Iterable[str]) -> str:
    """What may have been meant by a name that is not known."""
    from difflib import get_close_matches

    alike = {k.casefold(): k for k in known}
    near = get_close_matches(str(name).casefold(), alike, 1)
    return f"; did you mean {alike[near[0]]}?" if near else ""
