"""What programs feed, as onnxruntime takes it: arrays as they are, lists made into arrays of the declared type, None left out."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...graph import Value
from ...types import DTYPE, type_of
from .faults import Fail, InvalidArgument, OrtError
from .values import OrtValue, spelt


def required(inputs: Sequence[Value], feeds: Mapping[str, Any]) -> None:
    """Refuse feeds that lack an input, unless that is an optional."""
    names = list(feeds.keys())
    missing = [v.name for v in inputs if v.name not in feeds and not (v.type or "").startswith("optional")]
    if missing:
        raise ValueError(f"Required inputs ({missing}) are missing from input feed ({names}).")


def taken(inputs: Mapping[str, Value], feeds: Mapping[str, Any]) -> dict[str, Any]:
    """Feeds by name for every input, as `Session.run` takes them."""
    given: dict[str, Any] = {}
    for name, fed in feeds.items():
        value = inputs.get(name)
        if value is None:
            if not isinstance(name, str):
                raise TypeError(f"run(): inputs are named by strings, not by {name!r}")
            raise InvalidArgument.saying(f"Invalid input name: {name}")
        plain = type(fed) is np.ndarray and fed.dtype.kind not in "OUS" and fed.dtype.isnative and value.type != "tensor(string)"
        given[name] = fed if plain else one(value, fed)
    for name, value in inputs.items():
        if name not in given and (value.type or "").startswith("optional"):
            given[name] = None
    return given


def one(value: Value, fed: Any) -> Any:
    """One feed."""
    kind = value.type or "tensor"
    if isinstance(fed, OrtValue):
        fed = fed._value
    if isinstance(fed, np.ndarray):
        if kind == "tensor(string)" and fed.dtype.kind not in "OUS":
            raise InvalidArgument.saying(f"Unexpected input data type. Actual: ({type_of(fed)}) , expected: ({kind})")
        return texts(fed) if fed.dtype.kind in "OUS" else np.asarray(fed, fed.dtype.newbyteorder("="))
    if fed is None:
        if kind.startswith("optional"):
            return None
        raise Fail.saying(f"Missing Input: {value.name}")
    if isinstance(fed, list):
        return several(value, kind[9:-1] if kind.startswith("optional(") else kind, fed)
    if isinstance(fed, dict):
        return fed
    if hasattr(fed, "__iter__") and not isinstance(fed, memoryview | np.generic):
        raise RuntimeError(f"Input must be a list of dictionaries or a single numpy array for input '{value.name}'.")
    raise RuntimeError(f"Unable to handle object of type {type(fed)}")


def several(value: Value, kind: str, fed: list[Any]) -> Any:
    """A list: a sequence of arrays or maps, or the elements of a tensor."""
    if kind.startswith("seq(map"):
        return fed
    if kind.startswith("seq"):
        arrays = [g.numpy() if isinstance(g, OrtValue) else g for g in fed]
        if not all(isinstance(a, np.ndarray) for a in arrays):
            raise RuntimeError("CreateSequenceOfTensors: Input is not a tensor")
        for a in arrays:
            if f"seq({type_of(a)})" != kind:
                raise RuntimeError(f"TensorSeq: tensor to be added has a different data type: {type_of(a)} for {kind}")
        return [texts(a) if a.dtype.kind in "OUS" else a for a in arrays]
    try:
        made = np.array(fed, DTYPE.get(kind))
    except (ValueError, TypeError, OverflowError) as e:
        raise RuntimeError(f"Could not create tensor from given input list: {value.name}: {e}") from e
    return texts(made) if made.dtype.hasobject else made


def texts(array: np.ndarray) -> np.ndarray:
    """An array of str, of an array of anything."""
    if array.dtype.kind == "O" and all(type(a) is str for a in array.flat):
        return array
    return np.array([a.decode() if array.dtype.kind == "S" else str(a) for a in array.flat] or [], object).reshape(array.shape)


def unfit(inputs: Mapping[str, Value], feeds: Mapping[str, Any]) -> OrtError | None:
    """What onnxruntime says of a feed of another type, rank or size; None where sizes of one name differ, which it allows."""
    for name, fed in feeds.items():
        value, found = inputs[name], type_of(fed)
        if fed is None:
            continue
        if isinstance(fed, np.ndarray) and found not in DTYPE and fed.dtype.kind not in "OUSV":
            raise RuntimeError(f"{name}: NumPy type {fed.dtype} can't be converted to one of ONNX's.")
        if value.type and found != value.type and not value.type.startswith("optional") and not (
                isinstance(fed, list) and value.type.startswith("seq") and (not fed or found == value.type)):
            if value.type.startswith("seq") and isinstance(fed, np.ndarray):
                return InvalidArgument.saying(f"input with name: '{name}' expected to be of type: 3 but received a tensor")
            return InvalidArgument.saying(f"Unexpected input data type. Actual: ({spelt(found)}) , "
                                          f"expected: ({spelt(value.type)})")
        if not value.shape or not isinstance(fed, np.ndarray):  # onnxruntime does not tell a scalar from an unknown shape
            continue
        if fed.ndim != len(value.shape):
            return InvalidArgument.saying(f"Invalid rank for input: {name} Got: {fed.ndim} Expected: {len(value.shape)} "
                                          "Please fix either the inputs/outputs or the model.")
        wrong = [f"\n index: {axis} Got: {n} Expected: {due}" for axis, (n, due) in enumerate(
            zip(fed.shape, value.shape, strict=True)) if isinstance(due, int) and due != n]
        if wrong:
            return InvalidArgument.saying(f"Got invalid dimensions for input: {name} for the following indices{''.join(wrong)}"
                                          "\n Please fix either the inputs/outputs or the model.")
    return None
