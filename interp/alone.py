"""Single nodes as models: run by this package, bound as in a program, or by another engine."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from . import engines
from .call import fact_of
from .errors import RunError, Unsupported
from .graph import Graph, Node, Value
from .infer import Scope, declared, output_facts
from .kernels import threads as pool
from .kernels.program import Cancel
from .kernels.step import KernelFailed
from .parts import Body
from .plan import Settings
from .record import replace
from .session import memory
from .types import type_of
from .variants import constants
from .weights import Packing

LARGE = 1 << 10  # bytes of a constant that another engine gets as an input, so that nothing is copied
RunNode = Callable[[Graph, Node, Sequence[Any]], list[Any]]


class Own:
    """Runs single nodes of a graph by this package."""

    def __init__(self, threads: int | None):
        self.threads = threads or pool.default()

    def __call__(self, graph: Graph, node: Node, arrays: Sequence[Any]) -> list[Any]:
        """The outputs of one node by this package, bound as in a program; None for those that it does not have."""
        part, feeds = alone(graph, node, arrays)
        settings = Settings(Packing(), self.threads, Cancel(), most_bytes=memory())
        settings.constant.own(constants(part).values())
        try:
            made = iter(Body(part, list(map(declared, part.inputs)), settings).run(list(feeds.values())))
        except (KernelFailed, MemoryError) as e:
            raise RunError(str(e)) from e
        return [next(made) if o else None for o in node.outputs]


class OtherEngine:
    """Runs single nodes of a graph on another engine."""

    def __init__(self, engine: str, threads: int | None):
        self.engine, self.threads = engine, threads

    def __call__(self, graph: Graph, node: Node, arrays: Sequence[Any]) -> list[Any]:
        if self.engine == "reference" and (reason := engines.mistaken(node.schema, node.attributes, arrays)):
            raise Unsupported(reason)
        part, feeds = alone(graph, node, arrays)
        large = {k: c for k, c in part.constants.items() if isinstance(c, np.ndarray) and c.nbytes >= LARGE}
        try:
            made = iter(self._run(loosened(part, large), {**feeds, **large}))
        except Unsupported:
            if not large:
                raise
            made = iter(self._run(part, feeds))  # some operators insist on constants
        return [next(made) if o else None for o in node.outputs]

    def _run(self, part: Graph, feeds: Mapping[str, Any]) -> list[Any]:
        from .writing import model_of

        return engines.opened(self.engine, model_of(part), self.threads, as_written=True)(feeds)


def alone(graph: Graph, node: Node, arrays: Sequence[Any]) -> tuple[Graph, dict[str, Any]]:
    """A graph of one node for inputs like these, and those that are no constants as feeds."""
    feeds = {i: a for i, a in zip(node.inputs, arrays, strict=True) if i and i not in graph.constants}
    part = graph.part([node], list(feeds), [o for o in node.outputs if o])
    scopes = {k: Scope(g, tentative=True) for k, g in node.bodies.items()}
    facts = output_facts(node, [fact_of(a) if i else None for i, a in zip(node.inputs, arrays, strict=True)], scopes, graph.hints)
    hints = {o: graph.hints.get(o) for o in node.outputs if o}
    kinds = {o: f.type if "?" not in f.type else h.type if (h := hints[o]) is not None else None
             for o, f in zip(node.outputs, facts, strict=True) if o}
    return replace(part, inputs=[value_of(i, a, graph) for i, a in feeds.items()],
                   outputs=[Value(o, kind) for o, kind in kinds.items()], overridable={}, metadata={}), feeds


def value_of(name: str, value: Any, graph: Graph) -> Value:
    """What a value is declared as; an empty sequence, or nothing at all, as the graph says."""
    kind = type_of(value)
    known = {v.name: v.type for v in graph.inputs} | {k: h.type for k, h in graph.hints.items()} if "?" in kind else {}
    return Value(name, known.get(name) or kind, getattr(value, "shape", None))


def loosened(part: Graph, constants: Mapping[str, Any]) -> Graph:
    """A graph with some constants as inputs."""
    return replace(part, inputs=[*part.inputs, *(value_of(k, c, part) for k, c in constants.items())],
                   constants={k: c for k, c in part.constants.items() if k not in constants})
