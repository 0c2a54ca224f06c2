"""Declared types and shapes of a model, in ONNX's words for types."""
from __future__ import annotations

from typing import Any

from .errors import ModelError
from .graph import Value
from .types import OF_CODE

DEEPEST = 100


def type_name(proto: Any, depth: int = 0) -> str | None:
    """The ONNX type that a TypeProto stands for, as in "seq(tensor(float))"; None where it does not say."""
    if depth > DEEPEST:
        raise ModelError("a type is nested too deeply")
    kind = proto.WhichOneof("value")
    if kind in ("tensor_type", "sparse_tensor_type"):
        tensor = OF_CODE.get(getattr(proto, kind).elem_type)
        return tensor and ("sparse_" + tensor if kind == "sparse_tensor_type" else tensor)
    if kind in ("sequence_type", "optional_type"):
        element = type_name(getattr(proto, kind).elem_type, depth + 1)
        return element and f"{'seq' if kind == 'sequence_type' else 'optional'}({element})"
    if kind == "map_type":
        key, value = OF_CODE.get(proto.map_type.key_type), type_name(proto.map_type.value_type, depth + 1)
        return f"map({held(key)}, {held(value)})" if key and value else None
    if kind == "opaque_type":
        return f"opaque({proto.opaque_type.domain},{proto.opaque_type.name})"
    return None


def held(kind: str) -> str:
    """How types of maps name what they hold: the element alone where it is a tensor."""
    return kind.removeprefix("tensor(").removesuffix(")") if kind.startswith("tensor(") else kind


def value(name: str, proto: Any, least: int) -> Value:
    """A declared value; its sizes below ``least`` are unknown (0 is a size only where the caller decides it)."""
    kind = proto.WhichOneof("value")
    shape = None
    if kind in ("tensor_type", "sparse_tensor_type") and getattr(proto, kind).HasField("shape"):
        shape = tuple(_size(d, least) for d in getattr(proto, kind).shape.dim)
    return Value(name, type_name(proto), shape)


def _size(dim: Any, least: int) -> int | str | None:
    if dim.HasField("dim_value"):
        return dim.dim_value if dim.dim_value >= least else None
    named = isinstance(dim.dim_param, str) and any(c.isalnum() for c in dim.dim_param)  # "?" says that nobody knows
    return dim.dim_param if named else None


def text(name: Any) -> str:
    """A name of the model, which must be text."""
    if not isinstance(name, str):
        raise ModelError(f"a name in the model is not UTF-8 text: {name!r}")
    return name
