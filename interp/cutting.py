"""Parts of models as models of their own: what lies between some tensors, or a few nodes, with the types that inference finds."""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np

from .dims import Dim, Fact
from .errors import UsageError
from .graph import Graph, Node, Value
from .infer import Scope, declared
from .record import replace
from .types import type_of

Known = Mapping[str, Any]
FEW = 5  # names that a message lists


def facts_of(graph: Graph) -> dict[str, Fact]:
    """What inference knows of every value of a graph, by its name."""
    scope = Scope(graph)
    scope.infer([declared(v) for v in graph.inputs])
    return scope.facts


def cut(graph: Graph, nodes: Iterable[Node], outputs: Sequence[str] | None = None, known: Known | None = None) -> Graph:
    """Some nodes of a graph as a graph of its own, in their order: what they read and do not make are its inputs or constants.

    ``outputs``: by default what others read or the graph gives out, and what nobody reads. ``known`` has arrays, or Facts, of
    values by name, whose types and shapes the new inputs and outputs get; of the others inference tells them. Sub-graphs stay
    with their nodes. ``interp.writing.save`` writes what comes out.
    """
    wanted = {id(n) for n in nodes}
    mine = [n for n in graph.nodes if id(n) in wanted]
    made = {o for n in mine for o in n.outputs if o}
    read = list(dict.fromkeys(i for n in mine for i in n.inputs if i and i not in made))
    constants = {i: graph.constants[i] for i in read if i in graph.constants}
    if outputs is None:
        elsewhere = {i for n in graph.nodes if id(n) not in wanted for i in n.inputs} | {v.name for v in graph.outputs}
        inside = {i for n in mine for i in n.inputs}
        outputs = [o for n in mine for o in n.outputs if o and (o in elsewhere or o not in inside)]
    constants |= {o: graph.constants[o] for o in outputs if o in graph.constants}
    inputs = [i for i in dict.fromkeys([*read, *outputs]) if i not in constants and i not in made]
    found = dict(known or {})
    if not found.keys() >= {*inputs, *outputs}:
        found = facts_of(graph) | found
    return replace(graph, nodes=mine, constants=constants, captured=0, hints={k: v for k, v in graph.hints.items() if k in made},
                   inputs=[described(i, found, graph) for i in inputs], outputs=[described(o, found, graph) for o in outputs],
                   overridable={k: v for k, v in graph.overridable.items() if k in constants})


def described(name: str, known: Known, graph: Graph) -> Value:
    """A value as an input or output of a model: by what is known of it, and for the rest as the model declares it."""
    given = known.get(name)
    told = next((v for v in (*graph.inputs, *graph.overridable.values(), *graph.outputs, *graph.hints.values())
                 if v.name == name), Value(name))
    if isinstance(given, np.ndarray | list | dict):
        given = Fact(type_of(given), getattr(given, "shape", None))
    if given is None or "?" in given.type:
        return told
    shape = given.shape
    if shape is None or told.shape is not None and len(told.shape) != len(shape):
        return Value(name, given.type, told.shape if shape is None else tuple(map(size, shape)))
    return Value(name, given.type, tuple(d if isinstance(d, int) or t is None else t
                                         for d, t in zip(map(size, shape), told.shape or (None,) * len(shape), strict=True))
                 if told.shape is not None else tuple(map(size, shape)))


def size(d: int | Dim) -> int | str | None:
    """A size as models declare it; None where only a run tells it."""
    return None if isinstance(d, Dim) and "?" in d.text else d.text if isinstance(d, Dim) else d


def extracted(graph: Graph, inputs: Sequence[str] = (), outputs: Sequence[str] = ()) -> Graph:
    """The part of a graph between some values: what ``outputs`` (by default the model's) need beyond ``inputs``.

    Without ``inputs`` it begins at those of the model that are needed. Raises UsageError for a name that the model does not
    have, for an input that no output needs, and where an output needs another input of the model too.
    """
    makers = {o: n for n in graph.nodes for o in n.outputs if o}
    values = [*makers, *(v.name for v in graph.inputs), *graph.constants]
    for name in (*inputs, *outputs):
        check_known(name, values, graph)
    for names, kind in ((inputs, "input"), (outputs, "output")):
        if twice := next((n for i, n in enumerate(names) if n in names[:i]), None):
            raise UsageError(f"{twice} is given twice as an {kind}")
    wanted = list(outputs) or [v.name for v in graph.outputs]
    nodes, reached = between(set(inputs), wanted, makers)
    if inputs:
        check_enough(graph, inputs, wanted, makers, reached)
    kept = replace(graph, constants={k: c for k, c in graph.constants.items() if k not in inputs})
    part = cut(kept, [n for n in graph.nodes if id(n) in nodes], wanted, facts_of(graph))
    order = list(inputs) or [v.name for v in graph.inputs]
    return replace(part, inputs=sorted(part.inputs, key=lambda v: order.index(v.name)))


def between(begin: set[str], wanted: Sequence[str], makers: Mapping[str, Node]) -> tuple[set[int], set[str]]:
    """The nodes that values need, by id, where nothing before some others is looked at; and every value that was reached."""
    nodes: set[int] = set()
    reached: set[str] = set()
    todo = list(wanted)
    while todo:
        value = todo.pop()
        if not value or value in reached:
            continue
        reached.add(value)
        maker = makers.get(value)
        if maker is not None and value not in begin and id(maker) not in nodes:
            nodes.add(id(maker))
            todo += maker.inputs
    return nodes, reached


def check_known(name: str, values: Sequence[str], graph: Graph) -> None:
    """Refuse a name that no value of the graph has."""
    if name in values:
        return
    inner = {o for n in graph.walk() for o in n.outputs}
    if name in inner:
        raise UsageError(f"{name} lies in a sub-graph, which cannot be cut; name values of the main graph")
    node = next((n for n in graph.nodes if n.name == name), None)
    if node is not None:
        raise UsageError(f"{name} is a node; name a tensor: it reads {few(node.inputs)} and makes {few(node.outputs)}")
    near = get_close_matches(name, values, 3)
    raise UsageError(f"the model has no tensor {name}; " + (f"did you mean {' or '.join(near)}?" if near else
                     f"it takes {few(v.name for v in graph.inputs)} and gives {few(v.name for v in graph.outputs)}"))


def check_enough(graph: Graph, inputs: Sequence[str], wanted: Sequence[str], makers: Mapping[str, Node],
                 reached: set[str]) -> None:
    """Refuse inputs that are too few, or that nothing needs."""
    lacking = [v.name for v in graph.inputs if v.name in reached and v.name not in inputs]
    if lacking:
        blamed = [w for w in wanted if lacking[0] in between(set(inputs), [w], makers)[1]]
        raise UsageError(f"{few(blamed)} {'needs' if len(blamed) == 1 else 'need'} more than {few(inputs)}: also the model's "
                         f"{few(lacking)}; add {'it' if len(lacking) == 1 else 'them'} to --inputs, or what is made of "
                         f"{'it' if len(lacking) == 1 else 'them'}: {few(edge(graph, inputs, wanted, makers, lacking))}")
    if idle := [i for i in inputs if i not in reached]:
        raise UsageError(f"{few(wanted)} {'does' if len(wanted) == 1 else 'do'} not need {few(idle)}; leave "
                         f"{'it' if len(idle) == 1 else 'them'} out")


def edge(graph: Graph, inputs: Sequence[str], wanted: Sequence[str], makers: Mapping[str, Node], lacking: list[str]) -> list[str]:
    """The latest values that come of inputs that are lacking alone, and that what follows the given inputs reads."""
    nodes, _ = between(set(inputs), wanted, makers)
    after = set(inputs)  # values that come of the given inputs
    for node in graph.nodes:
        if after.intersection(node.inputs):
            after.update(o for o in node.outputs if o)
    found = [i for n in graph.nodes if id(n) in nodes and after.intersection(n.outputs)
             for i in n.inputs if i and i not in after and i not in graph.constants]
    return list(dict.fromkeys(found)) or lacking


def few(names: Iterable[str]) -> str:
    """Some names, the first of many."""
    every = [n for n in names if n]
    return ", ".join(every[:FEW]) + (f" and {len(every) - FEW} more" if len(every) > FEW else "") or "nothing"
