"""Conversions between element types."""
from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from ..dims import Fact
from ..errors import UnsupportedType
from ..kernels.step import Later
from ..registry import op
from ..types import DTYPE, OF_CODE
from .layout import put
from .shapes import carried, shape_of, value_of

STRING = "tensor(string)"
BOUNDED = frozenset(map(np.dtype, (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2,
                                   ml_dtypes.float8_e5m2fnuz)))
ALWAYS_BOUNDED = frozenset(map(np.dtype, (ml_dtypes.float4_e2m1fn, ml_dtypes.float6_e2m3fn, ml_dtypes.float6_e3m2fn)))
POWER = np.dtype(ml_dtypes.float8_e8m0fnu)
LITERAL = {"inf": np.inf, "+inf": np.inf, "-inf": -np.inf, "nan": np.nan}


def target(to: int | str) -> str:
    """The type that a Cast names: by its code, before version 6 by its name."""
    kind = f"tensor({to.lower()})" if isinstance(to, str) else OF_CODE.get(to, "")
    if kind not in DTYPE:
        raise UnsupportedType(f"Cast to type {to}, which this package does not know")
    return kind


def converted(x: np.ndarray, kind: str, saturate: int = 1, round_mode: str = "up") -> np.ndarray:
    """An array in another element type, as the text of Cast has it."""
    dtype = DTYPE[kind]
    if kind == STRING:
        return _texts(x)
    if x.dtype.kind in "OUS":
        return _parsed(x, dtype)
    if x.dtype == dtype:
        return x
    if dtype.kind == "b":
        return x != x.dtype.type(0)
    with np.errstate(all="ignore"):
        if dtype == POWER:
            return _powers(_wide(x), saturate, round_mode)
        if dtype in ALWAYS_BOUNDED or (dtype in BOUNDED and saturate):
            most = float(ml_dtypes.finfo(dtype).max)
            return np.clip(_wide(x), -most, most).astype(dtype)
        if _is_float(x.dtype) and not _is_float(dtype):
            return _wide(x).astype("u8" if dtype == np.uint64 else "i8").astype(dtype)
        return x.astype(dtype)


def _is_float(dtype: np.dtype) -> bool:
    return dtype.kind == "f" or (dtype.kind == "V" and "float" in dtype.name)


def _wide(x: np.ndarray) -> np.ndarray:
    """Numbers as NumPy's own floats."""
    return x if x.dtype.kind == "f" and x.dtype.itemsize > 2 else x.astype("f4" if x.dtype.itemsize < 4 else "f8")


def _powers(x: np.ndarray, saturate: int, round_mode: str) -> np.ndarray:
    """Powers of two: the next one up, down or nearest; 2^-127 to 2^127, beyond which the ends stand, or else NaN."""
    part, exponent = np.frexp(np.abs(x.astype("f8")))
    up = {"up": part > 0.5, "down": np.zeros(x.shape, bool), "nearest": part >= 0.75}[round_mode]
    power = np.where(np.isinf(x), 2000, np.where(x == 0, -2000, exponent - 1 + up))
    outside = np.isnan(x) | ((not saturate) & ((power < -127) | (power > 127)))
    codes = np.where(outside, 255, np.clip(power, -127, 127) + 127).astype("u1")
    return codes.view(POWER)


def _texts(x: np.ndarray) -> np.ndarray:
    """Numbers as text: the shortest that reads back as the same number."""
    def text(value: Any) -> str:
        if isinstance(value, str):
            return value
        name = str(value)
        return {"nan": "NaN", "inf": "INF", "-inf": "-INF"}.get(name, name)
    return np.array([text(v) for v in x.ravel()], object).reshape(x.shape)


def _parsed(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Numbers from text."""
    def number(value: Any) -> float | int:
        text = value.decode() if isinstance(value, bytes) else str(value)
        found = LITERAL.get(text.strip().lower())
        if found is not None:
            return found
        try:
            return int(text)
        except ValueError:
            return float(text)
    if dtype.kind in "iub" and not all(_whole(v) for v in x.ravel()):
        return np.array([int(number(v)) for v in x.ravel()]).reshape(x.shape).astype(dtype)
    return np.array([number(v) for v in x.ravel()], None if x.size else "f8").reshape(x.shape).astype(dtype)


def _whole(text: Any) -> bool:
    return str(text).strip().lstrip("+-").isdigit()


def _cast_fact(x: Fact, *, to: int | str, **_: Any) -> list[Any]:
    return [_fact(x, target(to))]


def _fact(x: Fact, kind: str) -> Fact:
    """The type asked for; sizes stay sizes among whole numbers."""
    value = carried(x) if "int" in kind else None
    return Fact(kind, shape_of(x), None if value is None else value_of(value, DTYPE[kind]))


def _cast(x: np.ndarray, kind: str, saturate: int, round_mode: str, out: np.ndarray | None) -> Later:
    return Later(lambda x, out: put(converted(x, kind, saturate, round_mode), out), x, out)


@op("Cast", 1, 28, shape=_cast_fact)
def cast(input, *, to, saturate=1, round_mode="up", out):
    """The same numbers in another type; out of range, those of eight bits and less take the nearest end while they saturate."""
    return _cast(input, target(to), saturate, round_mode, out)


def _like(x: Fact, like: Fact, **_: Any) -> list[Any]:
    return [_fact(x, like.type)]


@op("CastLike", 15, 25, shape=_like)
def cast_like(input, target_type, *, saturate=1, round_mode="up", out):
    """The same numbers in the type of another array."""
    kind = STRING if out is None else next(k for k, d in DTYPE.items() if d == out.dtype)
    return _cast(input, kind, saturate, round_mode, out)
