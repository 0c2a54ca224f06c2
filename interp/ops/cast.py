"""Conversions between element types."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..dims import Dim, Fact
from ..errors import UnsupportedType
from ..kernels import cast as kernel
from ..kernels.step import Later
from ..registry import op
from ..types import DTYPE, OF_CODE, OF_DTYPE
from .layout import put
from .shapes import carried, shape_of, value_of

STRING = "tensor(string)"
BOUNDED = frozenset(("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"))
ALWAYS_BOUNDED = frozenset(("float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn"))
WITHOUT_ZERO_SIGN = frozenset(("float8_e4m3fnuz", "float8_e5m2fnuz"))
FEW_BITS = {"int4": 4, "uint4": 4, "int2": 2, "uint2": 2}


def target(to: int | str) -> str:
    """The type that a Cast names: by its code, before version 6 by its name."""
    kind = f"tensor({to.lower()})" if isinstance(to, str) else OF_CODE.get(to, "")
    if kind not in DTYPE:
        raise UnsupportedType(f"Cast to type {to}, which this package does not know")
    return kind


def converted(x: np.ndarray, kind: str, saturate: int = 1, round_mode: str = "up", endless: bool = True) -> np.ndarray:
    """An array in another element type, as the text of Cast has it.

    Between floats values are rounded to even, and infinite out of range; those of eight bits and less take the nearest end
    while they saturate, also from infinities if `endless`. Whole numbers lose their upper bits. Floats lose their fraction;
    where the text leaves open what becomes of them it is what processors answer, the least whole number of 32 or 64 bits,
    cut to the type.
    """
    dtype = DTYPE[kind]
    if kind == STRING:
        return _texts(x)
    if x.dtype.kind in "OUS":
        return converted(_parsed(x, dtype), kind, saturate, round_mode, endless)
    if x.dtype == dtype:
        return x
    with np.errstate(all="ignore"):
        name = dtype.name
        if name == "float8_e8m0fnu":
            return _powers(_with_trace(x) if x.dtype.itemsize == 8 and x.dtype.kind in "iu" else wide(x), saturate, round_mode)
        if name in BOUNDED or name in ALWAYS_BOUNDED:
            return _bounded(wide(x), dtype, name in ALWAYS_BOUNDED or bool(saturate), endless)
        if name in FEW_BITS:
            return (_compiled(wide(x), np.dtype("i1")) & np.int8((1 << FEW_BITS[name]) - 1)).view("u1").astype(dtype)
        return _compiled(x if x.dtype.isbuiltin == 1 or x.dtype.name == "bfloat16" else wide(x), dtype)


def _compiled(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    made = np.empty(x.shape, dtype)
    step = kernel.cast(np.ascontiguousarray(x).reshape(x.shape), made)
    if step is None:
        return x.astype(dtype)
    step()
    return made


def _bounded(x: np.ndarray, dtype: np.dtype, saturate: bool, endless: bool) -> np.ndarray:
    """Floats of eight bits and less, from wider ones."""
    if not saturate:
        return x.astype(dtype)
    import ml_dtypes

    most = float(ml_dtypes.finfo(dtype).max)
    within = np.clip(x, -most, most)
    return (within if endless or dtype.name not in WITHOUT_ZERO_SIGN else np.where(np.isinf(x), np.nan, within)).astype(dtype)


def wide(x: np.ndarray) -> np.ndarray:
    """Numbers as NumPy's own floats; whole ones too large for them stay."""
    return x if x.dtype.kind in "fiub" and x.dtype.itemsize > 2 else x.astype("f4")


def _with_trace(x: np.ndarray) -> np.ndarray:
    """64-bit whole numbers as doubles; the last bit that is left tells whether any was lost."""
    lost = x & x.dtype.type(0xfff)
    return np.where(x >> x.dtype.type(53) > 0, x - lost | (lost != 0).astype(x.dtype) << x.dtype.type(12), x).astype("f8")


def _powers(x: np.ndarray, saturate: int, round_mode: str) -> np.ndarray:
    """Powers of two: the next one up, down or nearest; 2^-127 to 2^127, beyond which the ends stand, or else NaN."""
    part, exponent = np.frexp(np.abs(x.astype("f8")))
    up = {"up": part > 0.5, "down": np.zeros(x.shape, bool), "nearest": part >= 0.75}[round_mode]
    power = np.where(np.isinf(x), 2000, np.where(x == 0, -2000, exponent - 1 + up))
    outside = np.isnan(x) | ((not saturate) & ((power < -127) | (power > 127)))
    codes = np.where(outside, 255, np.clip(power, -127, 127) + 127).astype("u1")
    return codes.view(DTYPE["tensor(float8e8m0)"])


def _texts(x: np.ndarray) -> np.ndarray:
    """Numbers as text, without exponents: the shortest that reads back as the same number."""
    def text(value: Any) -> str:
        if isinstance(value, str):
            return value
        if not np.isfinite(value):
            return "NaN" if np.isnan(value) else "INF" if value > 0 else "-INF"
        if x.dtype.kind == "f":
            return np.format_float_positional(value, trim="0")
        return np.format_float_positional(float(_shortest(value)), trim="0")
    if x.dtype.kind in "iub" or "int" in x.dtype.name:
        return np.array([str(int(v)) for v in x.ravel()], object).reshape(x.shape)
    return np.array([text(v) for v in x.ravel()], object).reshape(x.shape)


def _shortest(value: Any) -> str:
    """The fewest digits that read back as a number of a type that NumPy does not know."""
    return next(t for t in (f"{float(value):.{digits}g}" for digits in range(1, 18)) if type(value)(float(t)) == value)


def _parsed(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Numbers from text: whole ones for types of whole numbers where the text is one, else doubles."""
    def number(value: Any) -> float | int:
        text = value.decode() if isinstance(value, bytes) else str(value)
        try:
            return int(text) if whole else float(text)
        except ValueError:
            return float(text)
    whole = dtype.kind in "iu" or "int" in dtype.name
    found = [number(v) for v in x.ravel()]
    if whole and all(isinstance(v, int) for v in found):
        found = [(v + 2**63) % 2**64 - 2**63 for v in found]  # as many bits as any type has
        return np.array(found, "i8").reshape(x.shape)
    return np.array(found, "f8").reshape(x.shape)


def _cast_fact(x: Fact, *, to: int | str, **_: Any) -> list[Any]:
    return [_fact(x, target(to))]


def _fact(x: Fact, kind: str) -> Fact:
    """The type asked for; sizes stay sizes among whole numbers, and are truths where they are plain numbers."""
    value = carried(x) if "int" in kind or "bool" in kind else None
    if value is not None and "bool" in kind and any(isinstance(n, Dim) for n in value.flat):
        value = None
    return Fact(kind, shape_of(x), None if value is None else value_of(value, DTYPE[kind]))


def _cast(x: np.ndarray, kind: str, saturate: int, round_mode: str, out: np.ndarray | None, endless: bool = True) -> Any:
    if round_mode not in ("up", "down", "nearest"):
        raise ValueError(f"round_mode {round_mode!r}: it is up, down or nearest")
    made = None if out is None else kernel.cast(x, out)
    return made or Later(lambda x, out: put(converted(x, kind, saturate, round_mode, endless), out), x, out)


@op("Cast", 24, 28, shape=_cast_fact)
@op("Cast", 1, 13, shape=_cast_fact)
def cast(input, *, to, saturate=1, round_mode="up", out):
    """The same numbers in another type; out of range, those of eight bits and less take the nearest end while they saturate."""
    return _cast(input, target(to), saturate, round_mode, out)


@op("Cast", 19, 23, shape=_cast_fact)
def cast_without_infinities(input, *, to, saturate, out):
    """As in other versions, but infinities are NaN in those 8-bit floats that have no negative zero."""
    return _cast(input, target(to), saturate, "up", out, endless=False)


def _like(x: Fact, like: Fact, **_: Any) -> list[Any]:
    return [_fact(x, like.type)]


def _type_like(out: np.ndarray | None) -> str:
    return STRING if out is None else OF_DTYPE[out.dtype]


@op("CastLike", 24, 25, shape=_like)
@op("CastLike", 15, 15, shape=_like)
def cast_like(input, target_type, *, saturate=1, round_mode="up", out):
    """The same numbers in the type of another array."""
    return _cast(input, _type_like(out), saturate, round_mode, out)


@op("CastLike", 19, 23, shape=_like)
def cast_like_without_infinities(input, target_type, *, saturate, out):
    """As in other versions, but infinities are NaN in those 8-bit floats that have no negative zero."""
    return _cast(input, _type_like(out), saturate, "up", out, endless=False)
