"""Element types: what ONNX calls them, their codes in a TensorProto, and what NumPy calls them."""
from typing import Any

import numpy as np


class Element:
    """One element type: its code in TensorProto.DataType, its NumPy type, and how many bits an element takes in a file.

    The types that NumPy lacks are those of ml_dtypes, which takes long to import: that happens when one is asked for.
    """

    __slots__ = ("code", "bits", "_dtype", "_late")

    def __init__(self, code: int, dtype: Any, bits: int, late: str = ""):
        self.code, self.bits = code, bits
        self._dtype: np.dtype | None = None if late else np.dtype(dtype)
        self._late = late

    @property
    def dtype(self) -> np.dtype:
        if self._dtype is None:
            import ml_dtypes

            self._dtype = np.dtype(getattr(ml_dtypes, self._late))
        return self._dtype


ELEMENTS: dict[str, Element] = {
    name: Element(code, dtype, bits)
    for name, code, dtype, bits in [
        ("float", 1, "f4", 32), ("uint8", 2, "u1", 8), ("int8", 3, "i1", 8), ("uint16", 4, "u2", 16), ("int16", 5, "i2", 16),
        ("int32", 6, "i4", 32), ("int64", 7, "i8", 64), ("string", 8, object, 0), ("bool", 9, "?", 8), ("float16", 10, "f2", 16),
        ("double", 11, "f8", 64), ("uint32", 12, "u4", 32), ("uint64", 13, "u8", 64), ("complex64", 14, "c8", 64),
        ("complex128", 15, "c16", 128),
    ]
} | {
    name: Element(code, None, bits, late)
    for name, code, late, bits in [
        ("bfloat16", 16, "bfloat16", 16), ("float8e4m3fn", 17, "float8_e4m3fn", 8), ("float8e4m3fnuz", 18, "float8_e4m3fnuz", 8),
        ("float8e5m2", 19, "float8_e5m2", 8), ("float8e5m2fnuz", 20, "float8_e5m2fnuz", 8), ("uint4", 21, "uint4", 4),
        ("int4", 22, "int4", 4), ("float4e2m1", 23, "float4_e2m1fn", 4), ("float8e8m0", 24, "float8_e8m0fnu", 8),
        ("uint2", 25, "uint2", 2), ("int2", 26, "int2", 2), ("float6e2m3", 27, "float6_e2m3fn", 6),
        ("float6e3m2", 28, "float6_e3m2fn", 6),
    ]
}
LATE = {f"tensor({name})": e for name, e in ELEMENTS.items() if e.code >= 16}


class _Types(dict[str, np.dtype]):
    """NumPy types by ONNX type; those that come late are in it from when they are asked for."""

    def __missing__(self, kind: str) -> np.dtype:
        self[kind] = found = LATE[kind].dtype
        return found

    def __contains__(self, kind: object) -> bool:
        return kind in EVERY

    def get(self, kind: str, default: Any = None) -> Any:
        return self[kind] if kind in EVERY else default


class _Names(dict[np.dtype, str]):
    """ONNX types by NumPy type."""

    def __missing__(self, dtype: np.dtype) -> str:
        if dtype.isbuiltin != 1:
            self.update((e.dtype, kind) for kind, e in LATE.items())
        if dict.__contains__(self, dtype):
            return self[dtype]
        raise KeyError(dtype)


EVERY = frozenset(f"tensor({name})" for name in ELEMENTS)
DTYPE = _Types((f"tensor({name})", e.dtype) for name, e in ELEMENTS.items() if e.code < 16)
OF_DTYPE = _Names((dtype, kind) for kind, dtype in DTYPE.items())
OF_CODE: dict[int, str] = {e.code: f"tensor({name})" for name, e in ELEMENTS.items()}


def width_of(kind: str) -> int:
    """How many bits an element of an ONNX tensor type takes in a file."""
    return ELEMENTS[kind[len("tensor("):-1]].bits


def tensors(*names: str) -> frozenset[str]:
    """The ONNX types of tensors with these elements."""
    return frozenset(f"tensor({n})" for n in names)


FLOATS = tensors("float", "double", "float16", "bfloat16")
SIGNED = tensors("int8", "int16", "int32", "int64")
UNSIGNED = tensors("uint8", "uint16", "uint32", "uint64")
INTEGERS = SIGNED | UNSIGNED
BYTES = tensors("int8", "uint8")


def type_of(value: object) -> str:
    """The ONNX type of an array; lists and dictionaries are sequences and maps of what comes first in them, None an optional."""
    if isinstance(value, np.ndarray | np.generic):
        kind = value.dtype
        if kind.kind in "US":
            return "tensor(string)"
        if kind.kind == "T":  # NumPy's own texts of any length, which know no byte order
            return "tensor(StringDType)"
        try:
            return OF_DTYPE[kind]
        except KeyError:
            return OF_DTYPE.get(kind.newbyteorder("=")) or f"tensor({kind})"
    if isinstance(value, list):
        return f"seq({type_of(value[0]) if value else '?'})"
    if isinstance(value, Map):
        return value.kind
    if isinstance(value, dict):
        return f"map({', '.join(map(_plain_type, next(iter(value.items()))))})" if value else "map(?)"
    if value is None:
        return "optional(?)"
    return type(value).__name__


def _plain_type(value: object) -> str:
    """The element type of a key or a value of a map. Python's floats stand for float, which ZipMap makes; NumPy's tell more."""
    if isinstance(value, np.generic):
        return type_of(value)[7:-1]
    return {str: "string", int: "int64", float: "float"}.get(type(value), "?")


class Map(dict):
    """A map whose type was said: one that is empty, or of doubles, does not show it."""

    kind: str


def as_map(value: dict, kind: str) -> Map:
    """A dictionary with keys and values of a map's type, as in "map(string, double)"; ValueError where it has others."""
    key, held = (t.strip() for t in kind[4:-1].split(","))
    of_key, of_value = _PLAIN.get(key), _PLAIN.get(held) or ELEMENTS[held].dtype.type
    found = Map()
    found.kind = kind
    for k, v in value.items():
        if not isinstance(k, str if key == "string" else int | np.integer) or not isinstance(
                v, str if held == "string" else int | float | np.number):
            raise ValueError(f"{k!r}: {v!r} is no item of a {kind}")
        found[k if of_key is str else int(k)] = float(np.float32(v)) if held == "float" else of_value(v)
    return found


_PLAIN: dict[str, type] = {"string": str, "int64": int, "float": float}
