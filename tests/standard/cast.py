"""Cast by the operator's text: exact fractions, rounded half to even into each format, and the tables of special values."""
import math
from fractions import Fraction
from functools import cache

import ml_dtypes
import numpy as np
from onnx import TensorProto

from ..every import plain
from .case import Case, case, dtype_of

# Digits behind the point, the least exponent of a normal number, the largest number.
FORMATS = {
    "double": (52, -1022, Fraction(2) ** 1024 - Fraction(2) ** 971), "float": (23, -126, Fraction(2) ** 128 - Fraction(2) ** 104),
    "bfloat16": (7, -126, Fraction(2) ** 128 - Fraction(2) ** 120), "float16": (10, -14, Fraction(65504)),
    "float8e4m3fn": (3, -6, Fraction(448)), "float8e4m3fnuz": (3, -7, Fraction(240)), "float8e5m2": (2, -14, Fraction(57344)),
    "float8e5m2fnuz": (2, -15, Fraction(57344)), "float4e2m1": (1, 0, Fraction(6)), "float6e2m3": (3, 0, Fraction(15, 2)),
    "float6e3m2": (2, -2, Fraction(28))}
INFINITE = ("double", "float", "bfloat16", "float16", "float8e5m2")
FINITE = ("float4e2m1", "float6e2m3", "float6e3m2")  # neither infinity nor NaN

NUMBERS = [
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, 3.5, -2.5, 0.1, -2.75, 5.0, 6.0, 7.0, 7.75, -8.0, 15.0, 17.0, 29.0,
    30.0, 100.3, 127.0, 128.0, -128.0, -129.0, 200.0, 240.0, 248.0, 255.0, 300.0, 448.0, 463.9, 464.0, 465.0,
    -480.0, 57344.0, 61439.0, 61440.0, 65504.0, 65519.0, 65520.0, 1e5, -1e5, 16777217.0, 16842753.0, 3e9,
    9007199254740993.0, 1e18, 1e30, 1e39, -1e300, 1e-3, 0.002, 0.00390625, 0.0009765625, 2.0**-17, 2.0**-16 *
    1.25, 6e-8, 2.9e-8, 1e-40, 1e-46, 1.0009765625 + 2.0**-30, 1 + 2.0**-11, 1 + 2.0**-24, 1.5 * 2.0**-127,
    2.0**-128, 2.0**127 * 1.5, math.inf, -math.inf, math.nan]
WHOLE = [
    0, 1, -1, 2, 3, 7, 8, -8, -9, 15, 16, 100, 127, 128, -128, 200, 255, 256, 465, 2049, 2051, 65519, 65520, 2**24
    + 1, 2**24 + 2**16 + 1, 2**31 - 1, -2**31, 2**32 - 1, 2**53 + 1, 2**62 + 2**38 + 1, 2**63 - 1, -2**63, 2**64 -
    1]


def is_whole(kind):
    return "int" in kind


def limits(kind):
    info = ml_dtypes.iinfo(dtype_of(f"tensor({kind})"))
    return int(info.min), int(info.max)


@cache
def samples(kind):
    """Values of a type: the exact number of each, and the array."""
    dtype = dtype_of(f"tensor({kind})")
    if kind == "bool":
        array = np.array([True, False])
    elif is_whole(kind):
        low, high = limits(kind)
        array = np.array([v for v in WHOLE if low <= v <= high], object).astype(dtype)
    elif kind == "float8e8m0":
        array = np.array([0, 1, 2, 126, 127, 128, 130, 134, 200, 253, 254, 255], np.uint8).view(dtype)
    else:
        with np.errstate(over="ignore"):
            array = np.array(NUMBERS).astype(dtype)
    return array, [int(v) if is_whole(kind) or kind == "bool" else float(v) for v in array]


def into_float(v, kind, saturate, version):
    """A number in a format with a sign; None where the text leaves the result open."""
    digits, least, most = FORMATS[kind]
    unsigned_zero = kind.endswith("uz")
    eight = kind.startswith("float8")
    if v != v:
        return None if kind in FINITE else math.nan
    if math.isinf(v):
        if kind in INFINITE and not (eight and saturate):
            return v
        if eight and (not saturate or (unsigned_zero and version < 24)):
            return math.nan
        return math.copysign(float(most), v)
    if v == 0:
        return 0.0 if unsigned_zero else math.copysign(0.0, v)
    exact = Fraction(v)
    quantum = Fraction(2) ** (max(exponent(abs(exact)), least) - digits)
    rounded = round(exact / quantum) * quantum
    if abs(rounded) > most:
        if kind in FINITE or (eight and saturate):
            return math.copysign(float(most), v)
        return math.copysign(math.inf, v) if kind in INFINITE else math.nan
    return 0.0 if unsigned_zero and rounded == 0 else math.copysign(float(rounded), v)


def exponent(v):
    """The power of two at or below a positive fraction."""
    e = v.numerator.bit_length() - v.denominator.bit_length()
    return e if Fraction(2) ** e <= v else e - 1


def into_power(v, saturate, round_mode):
    """A power of two from 2^-127 to 2^127; None where the text leaves the result open."""
    if v != v:
        return math.nan
    if v < 0 or math.copysign(1, v) < 0:
        return None
    if v == 0 or math.isinf(v):
        return math.nan if not saturate else 2.0**127 if v else 2.0**-127
    e = exponent(Fraction(v))
    rest = Fraction(v) / Fraction(2) ** e
    e += {"up": rest > 1, "down": False, "nearest": rest >= Fraction(3, 2)}[round_mode]
    if not -127 <= e <= 127:
        return math.nan if not saturate else 2.0**127 if e > 0 else 2.0**-127
    return 2.0**e


def cast(v, source, target, saturate=1, round_mode="up", version=28):
    """The number that Cast makes of one; None where the text leaves it open."""
    if target == "bool":
        return v != 0
    if target == "float8e8m0":
        return into_power(v, saturate, round_mode)
    if not is_whole(target):
        return into_float(v, target, saturate, version)
    if isinstance(v, float):
        return math.trunc(v) if math.isfinite(v) and limits(target)[0] <= math.trunc(v) <= limits(target)[1] else None
    low, high = limits(target)
    return (v - low) % (high - low + 1) + low


def pair(source, target, **how):
    """Inputs whose results the text settles, and those results."""
    array, exact = samples(source)
    if source == target:
        return array, array
    due = [cast(v, source, target, **how) for v in exact]
    kept = [i for i, d in enumerate(due) if d is not None]
    return array[kept], np.array([due[i] for i in kept], object if is_whole(target) else None).astype(
        dtype_of(f"tensor({target})"))


TEXTS = {"float": ["0.5", "-2.25", "1e-5", "1E8", "+INF", "inf", "-Inf", "NaN", "314.15926"], "whole": ["0", "1", "3"]}


def case_of(spec, source, target, second=(), **how):
    if source == target == "string":
        x = np.array(["a", "1"], object)
        return Case([x, *second], [x], **how)
    if source == "string":
        narrow = target not in FORMATS or FORMATS[target][2] < 1e9
        texts = TEXTS["whole"] if narrow else TEXTS["float"]
        texts = ["1", "1"] if target in ("int2", "float8e8m0") else texts
        return Case([np.array(texts, object), *second], [np.array([float(t) for t in texts])], exact=True, **how)
    if target == "string":
        x = np.array([True, True]) if source == "bool" else np.array([1, 1], np.uint8).astype(dtype_of(f"tensor({source})"))
        text = "1" if source == "bool" or is_whole(source) else "1.0"
        return Case([x, *second], [np.array([text] * 2, object)], **how)
    settings = {k: v for k, v in {"saturate": int(spec.rng.integers(2)), "round_mode": "nearest"}.items() if spec.has(k)}
    x, due = pair(source, target, version=spec.version, **settings)
    return Case([x, *second], [due], exact=True, **settings, **how)


@case("Cast")
def to_a_type(spec):
    source, target = plain(spec.types["T1"]), plain(spec.types["T2"])
    named = spec.schema.attributes["to"].type.name == "STRING"
    return case_of(spec, source, target, to=target.upper() if named else TensorProto.DataType.Value(target.upper()))


@case("CastLike")
def to_the_type_of_another(spec):
    source, target = plain(spec.types["T1"]), plain(spec.types["T2"])
    return case_of(spec, source, target, [spec.array((1,), spec.types["T2"], 1, 1)])
