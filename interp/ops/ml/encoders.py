"""Look-ups of values: CategoryMapper, LabelEncoder, OneHotEncoder."""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ...dims import Fact
from ...kernels import lookup, strings
from ...kernels.program import Cell
from ...kernels.step import Later
from ...registry import op
from ...types import type_of
from ..once import once
from ..shapes import shape_of
from .classes import one_of

DOMAIN = "ai.onnx.ml"


class Table:
    """What each key is mapped to, and what everything else is. Of a key that is there twice, the last counts."""

    def __init__(self, keys: np.ndarray, values: np.ndarray, default: Any, by_value: bool = True):
        if keys.shape != values.shape or keys.ndim != 1:
            raise ValueError(f"{keys.size} keys for {values.size} values")
        self.type, self.by_value = keys.dtype, by_value
        self.values = np.append(values, np.array([default], values.dtype))
        self.listed = self.values.tolist() if values.dtype.kind in "Oif" else list(self.values)
        if keys.dtype.kind == "O":
            self.known = dict(zip(keys.tolist(), self.listed, strict=False))
        else:
            self.keys = lookup.Keys(lookup.comparable(keys, by_value), len(keys))

    def bind(self, x: Any, out: Any) -> Any:
        """A step from keys to values."""
        kind = np.dtype(object) if isinstance(x, Cell) else x.dtype
        if kind != self.type:
            raise ValueError(f"the keys are {self.type}, the input is {kind}")
        if isinstance(x, Cell):
            return strings.found(x, self.known, self.listed[-1], out)
        if not isinstance(out, Cell):
            return lookup.looked_up(x, self.keys, self.values, self.by_value, out)
        places = np.empty(x.shape, np.int64)
        step = lookup.looked_up(x, self.keys, np.arange(len(self.values)), self.by_value, places)
        return strings.labelled(step, x, places, self.listed, out, None)


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
def classes(names: Any, default_int64: int, default_string: str) -> tuple[Table, Table]:
    """From strings to their positions, and back."""
    keys, numbers = np.array(names or (), object), np.arange(len(names or ()))
    return Table(keys, numbers, default_int64), Table(numbers, keys, default_string)


@op("LabelEncoder", 1, 1, domain=DOMAIN, shape=_other, cells=True)
def label_encoder_1(x, *, classes_strings, default_int64, default_string, out):
    """Strings become their positions in a list, positions the strings there."""
    to_int, to_string = classes(classes_strings, default_int64, default_string)
    return (to_int if isinstance(x, Cell) else to_string).bind(x, out)


def given_as(what: str, texts: Any, ints: Any, floats: Any, tensor: Any) -> np.ndarray:
    """The one of the attributes keys_* or values_* that is there."""
    found = one_of(what, texts, ints, floats, None if tensor is None else np.ravel(tensor))
    return np.array(found, object if found is texts else "f4" if found is floats else "i8" if found is ints else tensor.dtype)


@once
def table(version: int, key_strings: Any, key_ints: Any, key_floats: Any, key_tensor: Any, texts: Any, ints: Any, floats: Any,
          tensor: Any, default: Any, default_float: float, default_int64: int, default_string: str) -> Table:
    key = given_as("keys_*", key_strings, key_ints, key_floats, key_tensor)
    value = given_as("values_*", texts, ints, floats, tensor)
    if default is None:
        default = {"O": default_string, "f": default_float}.get(value.dtype.kind, default_int64)
    elif default.size != 1 or default.dtype != value.dtype:
        raise ValueError(f"default_tensor is {default.dtype}{list(default.shape)}, one value of {value.dtype} is due")
    else:
        default = default.item()
    return Table(key, value, default, version >= 4)


@op("LabelEncoder", 2, 2, domain=DOMAIN, shape=_due(VALUES), cells=True)
def label_encoder_2(x, *, default_float, default_int64, default_string, keys_floats, keys_int64s, keys_strings, values_floats,
                    values_int64s, values_strings, out):
    """The value of each key; floats are compared bit by bit, so that -0 is not 0 and a NaN may be a key."""
    return table(2, keys_strings, keys_int64s, keys_floats, None, values_strings, values_int64s, values_floats, None, None,
                 default_float, default_int64, default_string).bind(x, out)


@op("LabelEncoder", 4, 4, domain=DOMAIN, shape=_due(VALUES), cells=True)
def label_encoder(x, *, default_float, default_int64, default_string, default_tensor, keys_floats, keys_int64s, keys_strings,
                  keys_tensor, values_floats, values_int64s, values_strings, values_tensor, out):
    """The value of each key; every NaN is the same key."""
    return table(4, keys_strings, keys_int64s, keys_floats, keys_tensor, values_strings, values_int64s, values_floats,
                 values_tensor, default_tensor, default_float, default_int64, default_string).bind(x, out)


# CategoryMapper

@once
def categories(ints: Any, names: Any, default_int64: int, default_string: str) -> tuple[Table, Table]:
    keys, numbers = np.array(names or (), object), np.array(ints or (), np.int64)
    return Table(keys, numbers, default_int64), Table(numbers, keys, default_string)


@op("CategoryMapper", 1, 1, domain=DOMAIN, shape=_other, cells=True)
def category_mapper(x, *, cats_int64s, cats_strings, default_int64, default_string, out):
    """Strings become the integers beside them, integers the strings."""
    to_int, to_string = categories(cats_int64s, cats_strings, default_int64, default_string)
    return (to_int if isinstance(x, Cell) else to_string).bind(x, out)


# OneHotEncoder

@once
def positions(ints: Any, strings: Any) -> Any:
    """The place of each category, the last of one that is there twice."""
    keys = one_of("cats_*", ints, strings)
    return dict(zip(keys, range(len(keys)), strict=True)) if strings else lookup.Keys(keys, -1)


@op("OneHotEncoder", 1, 1, domain=DOMAIN, cells=True, shape=lambda x, *, cats_int64s=None, cats_strings=None, **_: [
    (*shape_of(x), len(cats_int64s or cats_strings or ()))])
def one_hot_encoder(x, *, cats_int64s, cats_strings, zeros, out):
    """A row of 0 with a 1 at the category of each element; all 0 for others, or an error unless `zeros`. Floats are truncated."""
    find, width = positions(cats_int64s, cats_strings), len(cats_int64s or cats_strings)
    if isinstance(x, Cell) != bool(cats_strings):
        raise ValueError("cats_strings are for strings, cats_int64s for numbers")
    if isinstance(x, Cell):
        return strings.one_hot(x, find, width, not zeros, out)
    if not zeros:
        return Later(partial(each_one_hot, find, width), x, out)
    return lookup.one_hot(x, find, width, out)


def each_one_hot(find: Any, width: int, x: np.ndarray, out: np.ndarray) -> None:
    """Fill rows that all have a 1."""
    lookup.one_hot(x, find, width, out)()
    none = ~out.any(-1)
    if none.any():
        raise ValueError(f"{x[none][0]} is none of the categories")
