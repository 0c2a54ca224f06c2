"""Calling one operator at once, outside a program: the slow path that always exists and gives the same answers."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from .dims import Dim, Fact, Size
from .errors import InterpError, RunError
from .graph import Node
from .infer import Scope, label, output_facts
from .kernels.program import Cell
from .kernels.step import KernelFailed, Later
from .types import DTYPE, type_of

Constant = Callable[..., Any]  # make, array, settings: make(array, *settings) where the array is a constant
Arrays = Sequence[Any]


def as_is(make: Callable, array: np.ndarray, *settings: Any) -> Any:
    """What ``constant`` is where nothing is known to be constant."""
    return array


def extras(node: Node, constant: Constant) -> dict[str, Any]:
    """What the function asks for by name, but for ``out``."""
    given: dict[str, Any] = {}
    if "constant" in node.op.wants:
        given["constant"] = constant
    if "outputs" in node.op.wants:
        given["outputs"] = tuple(map(bool, node.outputs))
    return given


def call(node: Node, arrays: Arrays, attributes: dict[str, Any], constant: Constant = as_is, threads: int = 1,
         most: int | None = None) -> list[Any]:
    """Run one node on arrays (None for absent inputs) and return its outputs, None where the node has none.

    Results of more than ``most`` bytes are refused before they are made, where their sizes are known by then.
    """
    try:
        return _called(node, arrays, attributes, constant, threads, most)
    except KernelFailed as e:
        raise RunError(f"{label(node)}: {e}") from e.__cause__
    except InterpError:
        raise
    except Exception as e:
        raise RunError(f"{label(node)}: {e}") from e


def _called(node: Node, arrays: Arrays, attributes: dict[str, Any], constant: Constant, threads: int,
            most: int | None) -> list[Any]:
    if len(node.bodies) > 1 and "out" in node.op.wants:  # a branch makes its results, in a program that it keeps
        made = node.op.run(*arrays, **attributes, **extras(node, constant), out=None)(threads)
        return [apart(m, arrays) for m in results(made, len(node.outputs))]
    # An optional without a value is None too, and yet no absent input.
    facts = output_facts(node, [fact_of(a) if i else None for i, a in zip(node.inputs, arrays, strict=True)], _scopes(node))
    if most is not None and sum(map(bytes_of, facts)) > most:
        raise ValueError(f"the result would take more than {most} bytes")
    given = extras(node, constant)
    if node.op.cells:
        return in_cells(node, facts, arrays, {**attributes, **given}, threads)
    if "out" not in node.op.wants:
        made = [apart(m, arrays) for m in results(node.op.run(*arrays, **attributes, **given), len(node.outputs))]
        shape = numbers(facts[0].shape)
        return [made[0].reshape(shape)] if node.op.view is not None and shape is not None else made
    outs = buffers(node, facts)
    arrays = [handed(a) if isinstance(a, np.ndarray) else a for a in arrays]  # as programs hand them over
    made = node.op.run(*arrays, **attributes, **given, out=outs if outs is None or node.schema.several else outs[0])(threads)
    if outs is not None:
        return outs
    return [apart(m, arrays) for m in results(made, len(node.outputs))]


def in_cells(node: Node, facts: Sequence[Fact], arrays: Arrays, settings: dict[str, Any], threads: int) -> list[Any]:
    """Call a function whose inputs and results stand in Cells, where they are no plain arrays."""
    plain = [isinstance(a, np.ndarray) and a.dtype.kind not in "OUS" for a in arrays]
    given = [np.asarray(a, order="C") if p else None if a is None else cell(a) for p, a in zip(plain, arrays, strict=True)]
    outs = [room(f) if name else None for name, f in zip(node.outputs, facts, strict=True)]
    node.op.run(*given, **settings, out=outs if node.schema.several else outs[0])(threads)
    return [o.value if isinstance(o, Cell) else o for o in outs]


def cell(value: Any) -> Cell:
    """A Cell with a value."""
    made = Cell()
    made.value = value
    return made


def room(fact: Fact) -> Any:
    """Where a result goes: a buffer, or a Cell where none can hold it."""
    shape, dtype = numbers(fact.shape), DTYPE.get(fact.type)
    return cell(None) if shape is None or dtype is None or dtype.hasobject else np.empty(shape, dtype)


def handed(array: np.ndarray) -> np.ndarray:
    """An array as C code can read it."""
    array = np.asarray(array, order="C")
    return array if array.flags.aligned else array.copy()


def settled(node: Node, attributes: dict[str, Any], constant: Constant) -> Callable[[Arrays], list[Any]]:
    """Calls of a node whose types are settled and whose results no buffer can hold: they need no second look."""
    given = extras(node, constant)

    def called(arrays: Arrays) -> list[Any]:
        if "out" in node.op.wants:
            arrays = [handed(a) if isinstance(a, np.ndarray) else a for a in arrays]
            made = node.op.run(*arrays, **attributes, **given, out=None)(1)
        else:
            made = node.op.run(*arrays, **attributes, **given)
        return [apart(m, arrays) for m in results(made, len(node.outputs))]

    return called


def apart(made: Any, arrays: Arrays) -> Any:
    """A result; a sequence keeps nothing of the arrays that it was made of, because they may be written again."""
    if not isinstance(made, list):
        return made
    given = [a for a in arrays if isinstance(a, np.ndarray)]
    return [m.copy() if isinstance(m, np.ndarray) and any(np.may_share_memory(m, a) for a in given) else m for m in made]


def duplicate(value: Any) -> Any:
    """A value that shares nothing with the one given."""
    return value.copy() if isinstance(value, np.ndarray) else list(map(duplicate, value)) if isinstance(value, list) else value


def _scopes(node: Node) -> dict[str, Scope]:
    return {k: Scope(g, tentative=True) for k, g in node.bodies.items()}


def fact_of(value: Any) -> Fact:
    """All that is known of a value that is there."""
    if isinstance(value, np.ndarray | np.generic):
        return Fact(type_of(value), value.shape, np.asarray(value))
    return Fact(type_of(value), None, value)


def results(made: Any, due: int) -> list[Any]:
    """What a function returned, as a list of as many as are due: a tuple is several outputs, anything else is one."""
    found = made if isinstance(made, tuple) else (made,)
    if len(found) < due:
        raise ValueError(f"it gave {len(found)} results where the node has {due}")
    return [np.asarray(m, m.dtype.newbyteorder("=")) if isinstance(m, np.ndarray | np.generic) else m for m in found[:due]]


def numbers(shape: Sequence[Size] | None) -> tuple[int, ...] | None:
    """A shape whose sizes are all numbers, or None."""
    if shape is None or any(isinstance(d, Dim) for d in shape):
        return None
    return tuple(int(d) for d in shape if not isinstance(d, Dim))


def bytes_of(fact: Fact) -> int:
    """How large a value will be; 0 where that is not known."""
    shape, dtype = numbers(fact.shape), DTYPE.get(fact.type)
    return prod(shape) * dtype.itemsize if shape is not None and dtype is not None else 0


def buffers(node: Node, facts: Sequence[Fact]) -> list[Any] | None:
    """Fresh arrays for the outputs; None where the size of one is not known before the run, or it is no plain array."""
    made: list[Any] = []
    for name, fact in zip(node.outputs, facts, strict=True):
        shape, dtype = numbers(fact.shape), DTYPE.get(fact.type)
        if name and (shape is None or dtype is None or dtype.hasobject):
            return None
        if shape and min(shape) < 0:
            raise ValueError(f"the result would have the shape {list(shape)}")
        made.append(np.empty(shape, dtype) if name and shape is not None else None)
    return made


def put_off(run: Callable[[list[Any]], list[Any]], arrays: list[Any], outs: list[Any]) -> Later:
    """A Python step: it opens the cells among its inputs and stores what ``run`` returns."""
    n = len(outs)

    def later(*all_: Any) -> None:
        made = run([a.value if isinstance(a, Cell) else a for a in all_[n:]])
        for out, value in zip(all_, made, strict=False):
            if isinstance(out, Cell):
                out.value = value if getattr(value, "base", None) is None else value.copy()
            elif out is not None:
                store(out, value)

    return Later(later, *outs, *arrays)


def store(out: np.ndarray, value: Any) -> None:
    """Put a function's result where the program wants it, if it is what was announced."""
    value = np.asarray(value)
    if value.shape != out.shape or value.dtype != out.dtype:
        raise ValueError(f"its result is {value.dtype}{list(value.shape)} where {out.dtype}{list(out.shape)} was announced")
    out[...] = value
