"""Sequences and optionals: Python's lists, and values that may be absent."""
from functools import partial

import numpy as np
from onnx import helper

from .case import Case, case

moved = partial(Case, exact=True)  # no element is changed


def inner(kind):
    """What a sequence or an optional holds."""
    return kind.partition("(")[2][:-1] if kind.startswith(("seq(", "optional(")) else kind


def held(spec):
    """The types of tensors and of sequences of them go together, whichever of them is tried."""
    tensor = inner(spec.types[spec.tried]) if spec.tried in ("S", "T") else "tensor(float)"
    return {"T": tensor, "S": f"seq({tensor})"}


def position(spec, at):
    return np.array(at, spec.dtype("I"))


@case("SequenceConstruct", prefer=held)
def sequence_construct(spec):
    x = [spec.data((2, 3)), spec.data((4,)), spec.data((1, 0))]
    return moved(x, [x])


@case("SequenceEmpty")
def sequence_empty(spec):
    return moved([], [[]], dtype=helper.np_dtype_to_tensor_dtype(spec.dtype("S")))


@case("SequenceLength")
def sequence_length(spec):
    return moved([spec.data((2, 3), "S")], [np.array(2)])


@case("SequenceAt", prefer=held)
def sequence_at(spec):
    x = spec.data((2, 3), "S")
    return moved([x, position(spec, -2)], [x[0]])


@case("SequenceInsert", prefer=held)
def sequence_insert(spec):
    x, more = spec.data((2, 3), "S"), spec.data((4,))
    return moved([x, more, position(spec, -1)], [[x[0], more, x[1]]])


@case("SequenceErase", prefer=held)
def sequence_erase(spec):
    x = spec.data((2, 3), "S")
    return moved([x, position(spec, -2)], [x[1:]])


@case("SplitToSequence", prefer=held)
def split_to_sequence(spec):
    x = spec.data((2, 5))
    if spec.version == 11:
        return moved([x, np.array([1, 0, 4], spec.dtype("I"))], [[x[:, :1], x[:, 1:1], x[:, 1:]]], axis=-1, keepdims=0)
    return moved([x, position(spec, 2)], [[x[:, :2], x[:, 2:4], x[:, 4:]]], axis=1)


@case("ConcatFromSequence", prefer=held)
def concat_from_sequence(spec):
    x = spec.data((2, 3), "S")
    y = np.empty((2, 3, 2), x[0].dtype)
    y[..., 0], y[..., 1] = x
    return moved([x], [y], axis=-1, new_axis=1)


def optional_types(spec):
    """An optional and what it holds go together, whichever of them is tried."""
    kind = spec.types[spec.tried] if spec.tried in ("V", "O") else "tensor(float)"
    return {"V": inner(kind) if kind.startswith("optional") else kind, "O": kind if spec.tried == "O" else f"optional({kind})"}


@case("Optional", prefer=optional_types)
def optional(spec):
    x = spec.data((2, 3), "V")
    return moved([x], [x])


@case("OptionalHasElement", prefer=optional_types)
def optional_has_element(spec):
    return moved([spec.data((2, 3), "O")], [np.array(True)])


@case("OptionalGetElement", prefer=optional_types)
def optional_get_element(spec):
    x = spec.data((2, 3), "O")
    return moved([x], [x])
