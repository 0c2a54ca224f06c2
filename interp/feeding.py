"""What is fed to a run, held against what its model declares."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from .dims import Dim, Size
from .errors import InputError, UsageError, nearest_or_all
from .graph import Value
from .infer import declared
from .types import as_map, type_of

READABLE = (1, 3, 11, 13)  # DLPack's device types whose memory the processor reads: its own, pinned for CUDA or ROCm, managed
DEVICES = {2: "cuda", 4: "opencl", 7: "vulkan", 8: "metal", 10: "rocm", 14: "oneapi", 15: "webgpu"}

def check(inputs: Sequence[Value], arrays: Sequence[Any]) -> list[Any]:
    """The feeds as arrays, where types, ranks and sizes are as the model declares and named sizes agree."""
    arrays = [a if isinstance(a, np.ndarray) else taken(v, a) for v, a in zip(inputs, arrays, strict=True)]
    sizes: dict[Dim, tuple[int, str]] = {}
    for value, a in zip(inputs, arrays, strict=True):
        wrong = misfit(value, a, sizes)
        if wrong:
            raise InputError(f"{value.name}: {shown(a)} came, {shown(value)} is due; {wrong}")
    return [mapped(v, a) if v.type and "map(" in v.type else a for v, a in zip(inputs, arrays, strict=True)]


def taken(value: Value, given: Any) -> Any:
    """An array over the memory of what is no array: by DLPack, or by the buffer protocol. Anything else as it is."""
    if isinstance(given, np.generic):
        return np.asarray(given)
    if isinstance(given, list | tuple) and (value.type or "").startswith("seq(tensor"):
        return [g if isinstance(g, np.ndarray) else taken(value, g) for g in given]
    try:
        if hasattr(given, "__dlpack__"):
            on_cpu(given)
            return np.from_dlpack(given)
        return np.asarray(memoryview(given)) if has_buffer(given) else given
    except InputError as e:
        raise InputError(f"{value.name}: {e}") from None
    except Exception as e:  # each library raises errors of its own
        raise InputError(f"{value.name}: the memory of a {type(given).__name__} cannot be taken as an array: {e}") from e


def on_cpu(given: Any) -> None:
    """Refuse memory that the processor cannot read."""
    kind, number = given.__dlpack_device__()
    if kind not in READABLE:
        raise InputError(f"a {type(given).__name__} on device {DEVICES.get(kind, f'type {int(kind)}')}:{number} came; "
                         "copy it to the CPU first")


def has_buffer(given: Any) -> bool:
    try:
        memoryview(given).release()
    except TypeError:
        return False
    return True


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
    if value.type is None and isinstance(a, list) and a and all(isinstance(item, np.ndarray) for item in a):
        return ""
    if not isinstance(a, np.ndarray):
        return "give a NumPy array, or what DLPack or the buffer protocol can make one of"
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


def check_sizes(names: Iterable[str], inputs: Sequence[Value]) -> None:
    """Refuse names of sizes that no input has."""
    sizes = [d for v in inputs for d in (None,) * (v.shape is None) + (v.shape or ()) if not isinstance(d, int)]
    known = list(dict.fromkeys(d for d in sizes if d is not None))
    for name in names:
        if name not in known:
            hint = (nearest_or_all(name, known) if known else "; its open sizes have no names, --shape sets them" if sizes
                    else "; all sizes of its inputs are fixed")
            raise UsageError(f"the model has no dimension {name}{hint}")


def several(names: Any) -> list[str]:
    """Names out of anything that gives them one by one, which a single name does not."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise UsageError(f"names are given as a list: [{names!r}]")
    return list(names)
