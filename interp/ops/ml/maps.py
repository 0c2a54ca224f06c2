"""Maps, which are dictionaries in Python: CastMap, DictVectorizer, ZipMap."""
from __future__ import annotations

from typing import Any

import numpy as np

from ...dims import Fact, fresh
from ...kernels.strings import zipped
from ...registry import op
from ...types import DTYPE, type_of
from .classes import one_of

DOMAIN = "ai.onnx.ml"
CASTS = {"TO_FLOAT": "tensor(float)", "TO_STRING": "tensor(string)", "TO_INT64": "tensor(int64)"}


def value_type(kind: str) -> str:
    """The tensor of what a map holds: tensor(float) of map(string, float)."""
    return f"tensor({kind.rpartition(',')[2].strip(' )')})"


# ZipMap

def _zipped(x: Fact, *, classlabels_int64s: Any = None, classlabels_strings: Any = None) -> list[Any]:
    keys = one_of("classlabels_*", classlabels_int64s, classlabels_strings)
    return [Fact(f"seq(map({'string' if keys is classlabels_strings else 'int64'}, float))")]


@op("ZipMap", 1, 1, domain=DOMAIN, shape=_zipped, cells=True)
def zip_map(x, *, classlabels_int64s, classlabels_strings, out):
    """A map for each row: from labels to the row's numbers."""
    return zipped(x, one_of("classlabels_*", classlabels_int64s, classlabels_strings), out)


# DictVectorizer

def _vector(x: Fact, *, int64_vocabulary: Any = None, string_vocabulary: Any = None) -> list[Any]:
    kind = value_type(x.type)
    return [Fact(kind if kind in DTYPE else "?", (1, len(one_of("*_vocabulary", int64_vocabulary, string_vocabulary))))]


@op("DictVectorizer", 1, 1, domain=DOMAIN, shape=_vector)
def dict_vectorizer(x, *, int64_vocabulary, string_vocabulary):
    """The values of a map in the order of a vocabulary, in one row; 0 or the empty string where it has none.

    A key that is not in the vocabulary is an error, because the text says that all are.
    """
    words = one_of("*_vocabulary", int64_vocabulary, string_vocabulary)
    if unknown := x.keys() - set(words):
        raise ValueError(f"{sorted(unknown)[0]!r} is not in the vocabulary")
    dtype = DTYPE.get(value_type(type_of(x)), np.dtype(np.float32))
    other = "" if dtype.kind == "O" else 0
    return np.array([[x.get(w, other) for w in words]], dtype)


# CastMap

def _cast(x: Fact, *, cast_to: str, map_form: str, max_map: int) -> list[Any]:
    if cast_to not in CASTS:
        raise ValueError(f"cast_to is {cast_to}; it is one of {', '.join(CASTS)}")
    return [Fact(CASTS[cast_to], (max_map if map_form == "SPARSE" else fresh() if x.value is None else len(x.value),))]


@op("CastMap", 1, 1, domain=DOMAIN, shape=_cast)
def cast_map(x, *, cast_to, map_form, max_map):
    """The values of a map in the order of its keys, or each at its key: a vector, as the text says, where onnxruntime has a row.

    Strings are read as numbers; numbers are written with six decimals, as by C's %f.
    """
    if map_form not in ("DENSE", "SPARSE"):
        raise ValueError(f"map_form is {map_form}; it is one of DENSE, SPARSE")
    cast, dtype = {"TO_FLOAT": to_float, "TO_STRING": to_string, "TO_INT64": to_int}[cast_to], DTYPE[CASTS[cast_to]]
    if map_form == "DENSE":
        return np.array([cast(x[k]) for k in sorted(x)], dtype)
    if x and not 0 <= min(x) <= max(x) < max_map:
        raise ValueError(f"keys go from {min(x)} to {max(x)}, max_map is {max_map}")
    y = np.full(max_map, "" if dtype.kind == "O" else 0, dtype)
    for key, value in x.items():
        y[key] = cast(value)
    return y


def to_float(value: Any) -> float:
    return float(value)


def to_int(value: Any) -> int:
    """A number without its fraction, or what a string begins with a number of."""
    if isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            value = float(value)
    return int(value)


def to_string(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:f}"
