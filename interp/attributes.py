"""Attributes of nodes, as operators get them: checked against the schema, its defaults bound."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .errors import ModelError
from .schema import Schema, plain
from .tensors import Folder, array, dense
from .values import type_name

FIELDS = {"INT": "i", "FLOAT": "f", "STRING": "s", "TENSOR": "t", "GRAPH": "g", "SPARSE_TENSOR": "sparse_tensor",
          "TYPE_PROTO": "tp", "INTS": "ints", "FLOATS": "floats", "STRINGS": "strings", "TENSORS": "tensors",
          "SPARSE_TENSORS": "sparse_tensors", "TYPE_PROTOS": "type_protos"}

KINDS = ("FLOAT", "INT", "STRING", "TENSOR", "GRAPH", "FLOATS", "INTS", "STRINGS", "TENSORS", "GRAPHS", "SPARSE_TENSOR",
         "SPARSE_TENSORS", "TYPE_PROTO", "TYPE_PROTOS")  # by their numbers, from 1


def bind(node: str, schema: Schema, given: dict[str, tuple[Any, Any]], value: Callable[[str, Any, Any], Any]) -> dict[str, Any]:
    """Every attribute of the schema: what the node gives, its default, or None.

    ``given`` has each attribute and where it stands; ``value(kind, attribute, where)`` reads it.
    Names that start with two underscores are the private business of whatever wrote the model.
    """
    bound = dict(schema.defaults)
    for name, (proto, where) in given.items():
        if name not in schema.defaults:
            if name.startswith("__"):
                continue
            raise ModelError(f"{node}: {schema} has no attribute {name}; it has {_listed(schema.defaults)}")
        due = schema.kinds.get(name)
        kind = kind_of(proto) or due
        if due is not None and kind != due:
            raise ModelError(f"{node}: attribute {name} of {schema} must be {due}, it is {kind}")
        if kind not in FIELDS:
            raise ModelError(f"{node}: attribute {name} of {schema} has a type that cannot be read, {kind}")
        bound[name] = value(kind, proto, where)
    if missing := schema.required - set(given):
        raise ModelError(f"{node}: {schema} needs the attribute {_listed(missing)}")
    return bound


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"


def kind_of(proto: Any) -> str | None:
    """An attribute's type; the oldest models do not state it, there its one field tells."""
    if proto.type:
        return KINDS[proto.type - 1]
    return next((kind for kind, field in FIELDS.items()
                 if (getattr(proto, field) if kind.endswith("S") else proto.HasField(field))), None)


def plain_value(kind: str, proto: Any, folder: Folder) -> Any:
    """An attribute's value, of any type but a graph."""
    content = getattr(proto, FIELDS[kind])
    if kind in READERS:
        return READERS[kind](content, folder)
    if kind.endswith("S") and kind[:-1] in READERS:
        return tuple(READERS[kind[:-1]](c, folder) for c in content)
    return plain(content if kind in ("INT", "FLOAT", "STRING") else tuple(content))


READERS: dict[str, Callable[[Any, Folder], Any]] = {
    "TENSOR": array, "SPARSE_TENSOR": dense, "TYPE_PROTO": lambda proto, _: type_name(proto)}


CONSTANTS = {"value_float": "f4", "value_int": "i8", "value_string": "O"}


def constant(node: str, bound: dict[str, Any]) -> np.ndarray:
    """What a Constant node stands for."""
    given = {k: v for k, v in bound.items() if v is not None}
    if len(given) != 1:
        raise ModelError(f"{node}: a Constant needs exactly one value, it has {_listed(given)}")
    [(name, value)] = given.items()
    if isinstance(value, np.ndarray):
        return value
    made = np.array(value, np.dtype(CONSTANTS[name.removesuffix("s")]))
    made.flags.writeable = False
    return made
