"""What there is in a model: operators, parameters, multiply-accumulates, memory, and each node and tensor. Nothing runs."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .costs import macs
from .dims import Dim, Fact
from .errors import InterpError
from .footprint import Footprint, footprint
from .graph import Graph, Node, Value
from .guessing import axes, guessed
from .infer import Scope
from .record import replace
from .survey import Survey, inferred, name_of, sized, survey


@dataclass(frozen=True)
class Layer:
    """One node: what it gives, the parameters that it is the first to read, its multiply-accumulates (None: not known)."""

    name: str
    operator: str
    outputs: list[Tensor]
    parameters: int
    bytes: int
    macs: int | None
    within: tuple[str, ...] = ()


@dataclass(frozen=True)
class Tensor:
    """A value's name, ONNX type and shape, in which sizes are numbers, names or formulas, and None where only a run tells."""

    name: str
    type: str | None
    shape: list[int | str | None] | None


@dataclass
class Share:
    """How many tensors there are of a type, and what they hold."""

    tensors: int = 0
    count: int = 0
    bytes: int = 0


@dataclass
class Inventory:
    """All of it. ``assumed`` are the open sizes, and what they were taken as for ``macs`` and ``memory``; ``uncounted`` counts
    nodes by operator whose multiply-accumulates are not known, ``why`` says why there is no ``memory``."""

    inputs: list[Tensor]
    outputs: list[Tensor]
    operators: Counter[str]
    parameters: dict[str, Share]
    layers: list[Layer]
    tensors: list[Tensor]
    assumed: dict[str, int]
    macs: int
    uncounted: Counter[str]
    external: dict[str, Share]
    subgraphs: int
    memory: Footprint | None = None
    why: str = ""
    functions: dict[str, int] = field(default_factory=dict)


def inventory(found: Survey, source: Any = None, **reading: Any) -> Inventory:
    """What there is in a model that was looked at.

    Multiply-accumulates and memory need sizes that are numbers: open ones are taken as 1, or as what fits, as
    `interp.guessing` finds it. Memory is that of the graph that runs, so that the model is read once more, as ``source`` with
    the keywords of `survey`.
    """
    shapes = {v.name: axes(v.shape, v.name) for v in found.graph.inputs if v.shape is not None}
    taken = {} if all(isinstance(d, int) for shape in shapes.values() for d in shape) else guessed(found.graph, shapes, {})
    assumed = {k if isinstance(k, str) else f"axis {k[1]} of {k[0]}": n for k, n in taken.items()}
    whole = {name: tuple(d if isinstance(d, int) else taken[d] for d in shape) for name, shape in shapes.items()}
    numbers = inferred(replace(found.graph, inputs=sized(found.graph.inputs, {}, whole)), []) if taken else found.scope
    layers = list(layers_of(found.scope, numbers, set()))
    facts, graph = found.scope.facts, found.graph
    made = Inventory(
        inputs=[Tensor(v.name, v.type, None if v.shape is None else list(v.shape)) for v in graph.inputs],
        outputs=[tensor(v.name, facts[v.name], graph, v) for v in graph.outputs],
        operators=Counter(name_of(n.schema.domain, n.schema.name) for n in graph.walk()),
        parameters=parameters(graph), layers=layers, tensors=list(tensors_of(found.scope)), assumed=assumed,
        macs=sum(one.macs or 0 for one in layers), uncounted=Counter(one.operator for one in layers if one.macs is None),
        external=external(found.model), subgraphs=sum(len(n.bodies) for n in graph.walk()),
        functions={name_of(f.domain, f.name): len(f.node) for f in found.model.functions})
    if source is None or found.missing:
        made.why = "" if source is None else "nothing runs some of the operators"
        return made
    try:
        running = survey(source, **{**reading, "optimize": 2})
        made.memory = footprint(replace(running.graph, inputs=sized(running.graph.inputs, {}, whole)))
    except InterpError as problem:
        made.why = str(problem)
    return made


def layers_of(scope: Scope, numbers: Scope, seen: set[int], within: tuple[str, ...] = ()) -> Iterator[Layer]:
    """Every node, those of sub-graphs after their own; ``numbers`` has the facts for sizes that are numbers."""
    for node in scope.graph.nodes:
        arrays = [a for i in node.inputs if isinstance(a := scope.graph.constants.get(i), np.ndarray) and id(a) not in seen]
        seen |= {id(a) for a in arrays}
        arrays = list({id(a): a for a in arrays}.values())
        inner = scope.bodies.get(id(node), {})
        yield Layer(node.name, name_of(node.schema.domain, node.schema.name),
                    [tensor(o, scope.facts.get(o), scope.graph) for o in node.outputs if o], sum(a.size for a in arrays),
                    sum(a.nbytes for a in arrays), 0 if inner else count(node, numbers.facts), within)
        others = numbers.bodies.get(id(node), {})
        for key, body in inner.items():
            yield from layers_of(body, others.get(key, body), seen, (*within, node.name))


def count(node: Node, facts: dict[str, Fact]) -> int | None:
    """The multiply-accumulates of a node."""
    inputs, outputs = ([facts[v].shape if v and v in facts else None for v in side] for side in (node.inputs, node.outputs))
    return macs(node.schema.name, inputs, outputs, node.attributes, node.schema.domain)


def parameters(graph: Graph) -> dict[str, Share]:
    """The constants of a graph and its bodies, by element type, most bytes first."""
    graphs = [graph, *(body for n in graph.walk() for body in n.bodies.values())]
    found: dict[str, Share] = {}
    for array in {id(c): c for g in graphs for c in g.constants.values() if isinstance(c, np.ndarray)}.values():
        share = found.setdefault("string" if array.dtype.kind == "O" else array.dtype.name, Share())
        share.tensors, share.count, share.bytes = share.tensors + 1, share.count + array.size, share.bytes + array.nbytes
    return dict(sorted(found.items(), key=lambda named: (-named[1].bytes, named[0])))


def tensors_of(scope: Scope) -> Iterator[Tensor]:
    """Every value of a graph and its bodies, constants too, in the order in which they come to be."""
    for name in scope.facts:
        yield tensor(name, scope.facts[name], scope.graph)
    for bodies in scope.bodies.values():
        for body in bodies.values():
            yield from (t for t in tensors_of(body) if t.name not in scope.facts)


def tensor(name: str, fact: Fact | None, graph: Graph, hint: Value | None = None) -> Tensor:
    """What is known of a value, and what the model declares where nothing is (``hint``, or what it says of inner values)."""
    hint = hint or graph.hints.get(name)
    if fact is None or fact.type == "?" and fact.shape is None:
        return Tensor(name, hint.type if hint else None, list(hint.shape) if hint and hint.shape is not None else None)
    given = hint.shape if hint is not None and hint.shape is not None else ()
    declared = given if fact.shape is not None and len(given) == len(fact.shape) else (None,) * len(fact.shape or ())
    shape = None if fact.shape is None else [d if isinstance(d, int) else open_size(d, h)
                                             for d, h in zip(fact.shape, declared, strict=True)]
    return Tensor(name, None if fact.type == "?" else fact.type, shape)


def open_size(size: Dim, declared: int | str | None) -> int | str | None:
    """A name or formula; where only the data tell, what the model declares."""
    return declared if any(n.startswith("?") for n in size.names) else str(size)


def external(model: Any) -> dict[str, Share]:
    """The tensors of a model that lie in other files, by file."""
    found: dict[str, Share] = {}
    todo = [model.graph, *model.functions]
    while todo:
        graph = todo.pop()
        stored = list(getattr(graph, "initializer", ()))
        for attribute in (a for n in graph.node for a in n.attribute):
            todo += [attribute.g] if attribute.HasField("g") else attribute.graphs
            stored += [attribute.t] if attribute.HasField("t") else attribute.tensors
        for one in stored:
            if one.data_location == 1:
                where = {e.key: e.value for e in one.external_data}
                share = found.setdefault(where.get("location", ""), Share())
                length = where.get("length", "")
                share.tensors, share.bytes = share.tensors + 1, share.bytes + (int(length) if length.isdecimal() else 0)
                share.count += int(np.prod(list(one.dims), dtype=object)) if one.dims else 1
    return found
