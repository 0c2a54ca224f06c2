"""A model for what is asked of it: other outputs than its own, tensors inside it, initializers that are fed."""
from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from .errors import UsageError, nearest, nearest_or_all
from .feeding import listed
from .graph import Graph, Value
from .optimize import optimized
from .parts import KEPT
from .record import record
from .source import Source
from .weights import Packing, let_go


@record(frozen=True)
class Wanted:
    """What a run feeds beside the inputs, the outputs that it asks for (None: all), and tensors inside the graph."""

    fed: frozenset[str] = frozenset()
    outputs: tuple[str, ...] | None = None
    tensors: tuple[str, ...] = ()


@record(frozen=True)
class Variant:
    """A graph as it runs, and what is made of its constants: it goes when the graph does."""

    graph: Graph
    packing: Packing


class Variants:
    """A model's graphs, optimized; a session and its copies share them."""

    def __init__(self, source: Source, outputs: Sequence[Value], level: int, exact: bool, most_bytes: int):
        self._source, self._level, self._exact, self._most_bytes = source, level, exact, most_bytes
        self._outputs = {v.name: v for v in outputs}
        self._found: dict[Wanted, Variant] = {}

    def find(self, wanted: Wanted) -> Variant:
        """The graph for what is wanted. Raises UsageError for names that the model lacks."""
        for name in wanted.outputs or ():
            if name not in self._outputs:
                raise UsageError(f"the model has no output {name}; it gives {listed(list(self._outputs.values()))}"
                                 + nearest(name, self._outputs))
        found = self._found.get(wanted)
        if found is None:
            graph = self._source.read(wanted.fed)
            chosen = self._outputs if wanted.outputs is None else wanted.outputs
            graph.outputs = [self._outputs[n] for n in chosen] + inner(graph, wanted.tensors)
            found = self._found[wanted] = self.optimized(graph)
            for old in list(self._found)[:-KEPT]:
                self._found.pop(old, None)
        return found

    @cached_property
    def tensors(self) -> list[Value]:
        """What the nodes of the model give, in their order."""
        graph = self._source.read()
        known = {**graph.hints, **self._outputs}
        return [known.get(o, Value(o)) for n in graph.nodes for o in n.outputs if o]

    def optimized(self, graph: Graph) -> Variant:
        """A graph as it runs."""
        stored = list(graph.constants.values())
        graph = optimized(graph, self._level, self._most_bytes, self._exact)
        for array in stored:  # what passes made of them is there, and programs read them again
            let_go(array)
        packing = Packing()
        packing.own(constants(graph).values())
        return Variant(graph, packing)


def inner(graph: Graph, names: Sequence[str]) -> list[Value]:
    """Tensors of a graph by name, with what is declared of them."""
    made = dict.fromkeys(o for n in graph.nodes for o in n.outputs if o)
    known = {**made, **dict.fromkeys(graph.constants), **graph.hints, **graph.overridable,
             **{v.name: v for v in [*graph.inputs, *graph.outputs]}}
    for name in names:
        if name not in known:
            home = next((n.name for n in graph.nodes for b in n.bodies.values() for m in b.walk() if name in m.outputs), None)
            if home is not None:
                raise UsageError(f"{name} is made inside a body of {home}; only tensors outside of bodies can be asked for")
            raise UsageError(f"the model has no tensor {name}{nearest_or_all(name, known)}")
    return [known[name] or Value(name) for name in names]


def constants(graph: Graph) -> dict[int, Any]:
    """The constants of a graph and its bodies, by identity: bodies share those of what they lie in."""
    bodies = (body for node in graph.walk() for body in node.bodies.values())
    return {id(c): c for g in (graph, *bodies) for c in g.constants.values()}


def counts(graph: Graph) -> dict[str, Any]:
    """How large a model is, with the bodies in it: nodes, elements and bytes of its constants."""
    arrays = [c for c in constants(graph).values() if isinstance(c, np.ndarray)]
    return {"nodes": len([*graph.walk()]), "parameters": sum(a.size for a in arrays), "bytes": sum(a.nbytes for a in arrays)}
