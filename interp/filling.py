"""Outputs written into arrays of the caller."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .call import numbers
from .errors import InputError, UsageError, nearest
from .feeding import shown
from .graph import Value
from .kernels.program import Cell
from .parts import Body
from .types import DTYPE, type_of


def check(out: Mapping[str, Any], names: Sequence[str]) -> None:
    """Refuse arrays for outputs that are not asked for, that cannot be written, or that share memory."""
    if not isinstance(out, Mapping):
        raise InputError(f"out is given as {{name: array}}, not as {type(out).__name__}")
    for name, array in out.items():
        if name not in names:
            raise UsageError(f"out: {name} is not among the outputs asked for{nearest(name, names)}")
        if not isinstance(array, np.ndarray):
            raise InputError(f"out: {name}: {shown(array)} came; give a NumPy array")
        if not array.flags.writeable:
            raise InputError(f"out: {name}: the array is read-only")
        if not array.flags.c_contiguous:
            raise InputError(f"out: {name}: the array is not C-contiguous; np.ascontiguousarray makes one that is")
        if not array.dtype.isnative:
            raise InputError(f"out: {name}: the array is in another byte order than this machine's")
    pairs = ((a, b) for k, a in enumerate(out) for b in list(out)[:k])
    for a, b in pairs:
        if np.may_share_memory(out[a], out[b]):
            raise InputError(f"out: the arrays for {b} and {a} share memory")


def filled(body: Body, feeds: list[Any], out: Mapping[str, Any]) -> list[Any]:
    """The outputs of a run, those in ``out`` written there: at once, or by a copy where a feed or a name twice is in the way."""
    model = body.model(feeds)
    facts = [model.scope.facts[o] for o in model.outputs]
    if model.whole is None:
        for name, fact in zip(model.outputs, facts, strict=True):
            fits(name, out, fact.type, numbers(fact.shape))
        return copied(model.outputs, model.run(feeds), out)
    program: Any = model.whole.take(feeds) or model.whole.bind(feeds)
    try:
        stands = program.stands[program.fed:]
        for name, fact, stand in zip(model.outputs, facts, stands, strict=True):
            fits(name, out, fact.type, None if isinstance(stand, Cell) else stand.shape)
        direct = {n for n in out if model.outputs.count(n) == 1 and out[n].flags.aligned
                  and not any(isinstance(f, np.ndarray) and np.may_share_memory(f, out[n]) for f in feeds)}
        outs = [None if isinstance(s, Cell) else out[n] if n in direct else np.empty_like(s)
                for n, s in zip(model.outputs, stands, strict=True)]
        return copied(model.outputs, program.run(feeds, outs), out)
    finally:
        model.whole.shelf.put(program)


def copied(names: Sequence[str], made: list[Any], out: Mapping[str, Any]) -> list[Any]:
    """The outputs, those of ``out`` in its arrays."""
    for k, (name, value) in enumerate(zip(names, made, strict=True)):
        if name in out and value is not out[name]:
            fits(name, out, type_of(value), getattr(value, "shape", None))
            out[name][...] = value
            made[k] = out[name]
    return made


def fits(name: str, out: Mapping[str, Any], kind: str, shape: tuple[int, ...] | None) -> None:
    """Refuse an array that does not fit an output's type, or its shape where that is known."""
    if name in out and (out[name].dtype != DTYPE.get(kind) or shape is not None and out[name].shape != shape):
        due = shown(Value(name, kind, shape)) if kind in DTYPE else f"{kind}, which cannot be written into an array,"
        raise InputError(f"out: {name}: {shown(out[name])} came, {due} is due")
