"""Sequences and optionals: lists of tensors, and values that may be absent (None). They live in Python only.

The fact of a sequence has the shape that all of its elements share, where they do; else no shape.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from ..dims import Fact, fresh
from ..registry import op
from ..types import OF_CODE
from .shapes import Shape, axis_of, numbers, shape_of


def element_of(kind: str) -> str:
    """What a sequence or an optional holds."""
    return kind.partition("(")[2][:-1] if kind.startswith(("seq(", "optional(")) else kind


def place(position: Any, size: int, last: int) -> int:
    """A position in a sequence, negative ones from the end; `last` is the largest that there is."""
    at = int(np.ravel(position)[0])
    if not -size <= at <= last:
        raise ValueError(f"position {at} is outside of a sequence of {size}")
    return at + size if at < 0 else at


def shared(*facts: Fact) -> Shape | None:
    """The shape that all of some values have; None where they differ, or one is not known."""
    return facts[0].shape if all(f.shape == facts[0].shape for f in facts) else None


@op("SequenceConstruct", 11, 11, shape=lambda *xs: [Fact(f"seq({xs[0].type})", shared(*xs))])
def sequence_construct(*inputs):
    """The inputs as a sequence."""
    return list(inputs)


@op("SequenceEmpty", 11, 11, shape=lambda *, dtype: [Fact(f"seq({OF_CODE[dtype or 1]})")])
def sequence_empty(*, dtype):
    """A sequence of nothing."""
    return []


@op("SequenceLength", 11, 11, shape=lambda s: [()])
def sequence_length(input_sequence):
    """How many tensors a sequence has."""
    return np.array(len(input_sequence), "i8")


@op("SequenceAt", 11, 11, shape=lambda s, position: [Fact(element_of(s.type), s.shape)])
def sequence_at(input_sequence, position):
    """The tensor at a position; negative ones count from the end."""
    size = len(input_sequence)
    return input_sequence[place(position, size, size - 1)]


def _inserted(s: Fact, tensor: Fact, position: Fact | None = None) -> list[Any]:
    if "?" not in s.type and element_of(s.type) != tensor.type:
        raise ValueError(f"a {tensor.type} is no element of a {s.type}")
    return [Fact(f"seq({tensor.type})", shared(s, tensor))]


@op("SequenceInsert", 11, 11, shape=_inserted)
def sequence_insert(input_sequence, tensor, position=None):
    """A sequence with one more tensor, before the position or at the end."""
    size = len(input_sequence)
    at = size if position is None else place(position, size, size)
    return [*input_sequence[:at], tensor, *input_sequence[at:]]


@op("SequenceErase", 11, 11, shape=lambda s, position=None: [Fact(s.type, s.shape)])
def sequence_erase(input_sequence, position=None):
    """A sequence without the tensor at the position, or without the last one."""
    size = len(input_sequence)
    at = size - 1 if position is None else place(position, size, size - 1)
    if not size:
        raise ValueError("nothing can be taken from an empty sequence")
    return [*input_sequence[:at], *input_sequence[at + 1:]]


def _joined(s: Fact, *, axis: int, new_axis: int) -> list[Any]:
    if s.shape is None:
        return [Fact(element_of(s.type))]
    at = axis_of(axis, len(s.shape) + bool(new_axis))
    return [Fact(element_of(s.type), (*s.shape[:at], fresh(), *s.shape[at + (not new_axis):]))]


@op("ConcatFromSequence", 11, 11, shape=_joined)
def concat_from_sequence(input_sequence, *, axis, new_axis):
    """The tensors of a sequence one after the other along an axis, or along a new one."""
    if not input_sequence:
        raise ValueError("an empty sequence has no tensors to join")
    return (np.stack if new_axis else np.concatenate)(input_sequence, axis)


def _parts_of(x: Fact, split: Fact | None = None, *, axis: int, keepdims: int) -> list[Any]:
    shape, sizes = shape_of(x), numbers(split)
    at = axis_of(axis, len(shape))
    if split is None:
        return [Fact(f"seq({x.type})", (*shape[:at], *((1,) if keepdims else ()), *shape[at + 1:]))]
    if not sizes or min(sizes) < 1 or len(set(sizes)) > 1 or not split.shape and shape[at] % sizes[0] != 0:
        return [Fact(f"seq({x.type})")]
    return [Fact(f"seq({x.type})", (*shape[:at], sizes[0], *shape[at + 1:]))]


@op("SplitToSequence", 11, 24, shape=_parts_of)
def split_to_sequence(input, split=None, *, axis, keepdims):
    """Parts of a tensor along an axis: of one size, of the sizes given, or each of size 1, then without the axis if asked."""
    at = axis_of(axis, input.ndim)
    size = input.shape[at]
    if split is None:
        parts = np.split(input, size, at) if size else []
        return [p if keepdims else np.squeeze(p, at) for p in parts]
    if np.ndim(split) > 1 or np.any(split < 0) or (np.ndim(split) == 0 and split == 0):
        raise ValueError(f"parts of {split.tolist()}: they are one size above 0, or a size for each")
    if np.ndim(split) == 0:
        ends = list(range(int(split), size, int(split)))
    else:
        if sum(split.tolist()) != size:
            raise ValueError(f"parts of {split.tolist()} do not make {size}")
        ends = np.cumsum(split)[:-1].tolist()
    return np.split(input, ends, at) if np.size(split) else []


def _held(x: Fact | None = None, *, type: str | None = None) -> list[Any]:
    if x is None and type is None:
        raise ValueError("an optional without a value needs the type of one")
    return [Fact(f"optional({type if x is None else x.type})")]


@op("Optional", 15, 28, shape=_held)
def optional(input=None, *, type):
    """A value that may be absent: the input, or nothing of a type."""
    return input


@op("OptionalHasElement", 15, 28, shape=lambda x=None: [()])
def optional_has_element(input=None):
    """Whether there is a value."""
    return np.array(input is not None)


def _got(x: Fact) -> list[Fact]:
    """What an optional holds; a tensor or a sequence, which may stand in the place of one, is that itself."""
    return [Fact(element_of(x.type), x.shape, x.value) if x.type.startswith("optional(") else x]


@op("OptionalGetElement", 15, 28, shape=_got)
def optional_get_element(input):
    """The value of an optional that has one."""
    if input is None:
        raise ValueError("the optional has no element")
    return input
