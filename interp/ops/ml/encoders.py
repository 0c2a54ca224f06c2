"""Look-ups of values: CategoryMapper, LabelEncoder, OneHotEncoder."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...dims import Fact
from ...registry import op
from ...types import type_of
from ..once import once
from ..shapes import shape_of
from .classes import one_of

DOMAIN = "ai.onnx.ml"


class Table:
    """What each key is mapped to, and what everything else is. Of a key that is there twice, the last counts."""

    def __init__(self, keys: np.ndarray, values: np.ndarray, default: Any, comparable: Callable[[np.ndarray], np.ndarray]):
        if keys.shape != values.shape or keys.ndim != 1:
            raise ValueError(f"{keys.size} keys for {values.size} values")
        self.type, self.comparable = keys.dtype, comparable
        self.values = np.append(values, np.array([default], values.dtype))
        if keys.dtype.kind == "O":
            self.at = dict(zip(keys.tolist(), range(len(keys)), strict=True))
        else:
            last, index = np.unique(comparable(keys)[::-1], return_index=True)
            self.keys, self.index = last, np.append(len(keys) - 1 - index, len(keys))

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """The values of an array of keys."""
        if self.type.kind == "O":
            get, other = self.at.get, len(self.values) - 1
            found = np.fromiter((get(k, other) for k in x.ravel().tolist()), np.intp, x.size)
        else:
            found = self.index[self.positions(self.comparable(x.ravel()))]
        return self.values[found].reshape(x.shape)

    def positions(self, wanted: np.ndarray) -> np.ndarray:
        """Where sorted keys are equal; behind the last where none is."""
        at = np.searchsorted(self.keys, wanted)
        there = self.keys[np.minimum(at, len(self.keys) - 1)] == wanted if len(self.keys) else np.zeros(len(at), bool)
        return np.where(there, at, len(self.keys))


def as_they_are(keys: np.ndarray) -> np.ndarray:
    return keys


def bits(keys: np.ndarray) -> np.ndarray:
    """Numbers that are equal where all bits are."""
    return keys.view(f"i{keys.itemsize}") if keys.dtype.kind == "f" else keys


def bits_of_value(keys: np.ndarray) -> np.ndarray:
    """Numbers that are equal where the values are, NaN with NaN."""
    if keys.dtype.kind != "f":
        return keys
    return bits(np.where(np.isnan(keys), keys.dtype.type(np.nan), keys + keys.dtype.type(0)))  # -0 + 0 is 0


# LabelEncoder

def _due(kinds: dict[str, Any]) -> Callable[..., list[Any]]:
    def rule(x: Fact, **attributes: Any) -> list[Any]:
        tensor = attributes.get("values_tensor")
        if tensor is not None:
            return [Fact(type_of(tensor), x.shape)]
        return [Fact(next((t for k, t in kinds.items() if attributes.get(k)), "?"), x.shape)]
    return rule


VALUES = {"values_strings": "tensor(string)", "values_int64s": "tensor(int64)", "values_floats": "tensor(float)"}


def _other(x: Fact, **_: Any) -> list[Any]:
    return [Fact("tensor(int64)" if x.type == "tensor(string)" else "tensor(string)", shape_of(x))]


@once
def classes(strings: Any, default_int64: int, default_string: str) -> tuple[Table, Table]:
    """From strings to their positions, and back."""
    names, numbers = np.array(strings or (), object), np.arange(len(strings or ()))
    return Table(names, numbers, default_int64, as_they_are), Table(numbers, names, default_string, as_they_are)


@op("LabelEncoder", 1, 1, domain=DOMAIN, shape=_other)
def label_encoder_1(x, *, classes_strings, default_int64, default_string):
    """Strings become their positions in a list, positions the strings there."""
    to_int, to_string = classes(classes_strings, default_int64, default_string)
    return to_string(x) if x.dtype.kind == "i" else to_int(x)


def given_as(what: str, strings: Any, ints: Any, floats: Any, tensor: Any) -> np.ndarray:
    """The one of the attributes keys_* or values_* that is there."""
    found = one_of(what, strings, ints, floats, None if tensor is None else np.ravel(tensor))
    return np.array(found, object if found is strings else "f4" if found is floats else "i8" if found is ints else tensor.dtype)


@once
def table(version: int, key_strings: Any, key_ints: Any, key_floats: Any, key_tensor: Any, strings: Any, ints: Any, floats: Any,
          tensor: Any, default: Any, default_float: float, default_int64: int, default_string: str) -> Table:
    key = given_as("keys_*", key_strings, key_ints, key_floats, key_tensor)
    value = given_as("values_*", strings, ints, floats, tensor)
    if default is None:
        default = {"O": default_string, "f": default_float}.get(value.dtype.kind, default_int64)
    elif default.size != 1 or default.dtype != value.dtype:
        raise ValueError(f"default_tensor is {default.dtype}{list(default.shape)}, one value of {value.dtype} is due")
    else:
        default = default.item()
    return Table(key, value, default, bits_of_value if version >= 4 else bits)


def looked_up(found: Table, x: np.ndarray) -> np.ndarray:
    kind = np.dtype(object) if x.dtype.kind in "US" else x.dtype
    if kind != found.type:
        raise ValueError(f"the keys are {found.type}, the input is {kind}")
    return found(x)


@op("LabelEncoder", 2, 2, domain=DOMAIN, shape=_due(VALUES))
def label_encoder_2(x, *, default_float, default_int64, default_string, keys_floats, keys_int64s, keys_strings, values_floats,
                    values_int64s, values_strings):
    """The value of each key; floats are compared bit by bit, so that -0 is not 0 and a NaN may be a key."""
    return looked_up(table(2, keys_strings, keys_int64s, keys_floats, None, values_strings, values_int64s, values_floats, None,
                           None, default_float, default_int64, default_string), x)


@op("LabelEncoder", 4, 4, domain=DOMAIN, shape=_due(VALUES))
def label_encoder(x, *, default_float, default_int64, default_string, default_tensor, keys_floats, keys_int64s, keys_strings,
                  keys_tensor, values_floats, values_int64s, values_strings, values_tensor):
    """The value of each key; every NaN is the same key."""
    return looked_up(table(4, keys_strings, keys_int64s, keys_floats, keys_tensor, values_strings, values_int64s, values_floats,
                           values_tensor, default_tensor, default_float, default_int64, default_string), x)


# CategoryMapper

@once
def categories(ints: Any, strings: Any, default_int64: int, default_string: str) -> tuple[Table, Table]:
    names, numbers = np.array(strings or (), object), np.array(ints or (), np.int64)
    return Table(names, numbers, default_int64, as_they_are), Table(numbers, names, default_string, as_they_are)


@op("CategoryMapper", 1, 1, domain=DOMAIN, shape=_other)
def category_mapper(x, *, cats_int64s, cats_strings, default_int64, default_string):
    """Strings become the integers beside them, integers the strings."""
    to_int, to_string = categories(cats_int64s, cats_strings, default_int64, default_string)
    return to_string(x) if x.dtype.kind == "i" else to_int(x)


# OneHotEncoder

@once
def positions(ints: Any, strings: Any) -> Table:
    keys = np.array(one_of("cats_*", ints, strings), np.int64 if ints else object)
    return Table(keys, np.arange(len(keys)), -1, as_they_are)


@op("OneHotEncoder", 1, 1, domain=DOMAIN, shape=lambda x, *, cats_int64s=None, cats_strings=None, **_: [
    (*shape_of(x), len(cats_int64s or cats_strings or ()))])
def one_hot_encoder(x, *, cats_int64s, cats_strings, zeros):
    """A row of 0 with a 1 at the category of each element; all 0 for others, or an error unless `zeros`. Floats are truncated."""
    find = positions(cats_int64s, cats_strings)
    if (x.dtype.kind in "OUS") != bool(cats_strings):
        raise ValueError(f"cats_{'strings' if x.dtype.kind in 'OUS' else 'int64s'} is due for {x.dtype}")
    if x.dtype.kind == "f":
        inside = np.abs(x) < 2.0**63  # NaN is not
        at = np.where(inside, find(np.where(inside, x, 0).astype(np.int64)), -1)
    else:
        at = find(x if cats_strings else x.astype(np.int64, copy=False))
    if not zeros and (at < 0).any():
        raise ValueError(f"{x[at < 0][0]} is none of the categories")
    return (at[..., None] == np.arange(len(find.values) - 1)).astype(np.float32)
