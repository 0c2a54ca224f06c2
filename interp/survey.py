"""What a model is, without running it: its graph, and the types and shapes of its values as far as they follow.

What looks at models must not stop at those that cannot run: operators that nobody has are opaque, and where inference
finds a contradiction it goes on with what is unknown.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .dims import Fact
from .errors import InterpError, UsageError, nearest_or_all
from .feeding import check_sizes
from .graph import Graph, Node, Value
from .infer import UNKNOWN, Scope, declared
from .loading import load, parsed
from .opaque import ANYTHING, tolerant
from .ops import standard
from .optimize import optimized
from .record import replace
from .registry import Registry

Sizes = Mapping[str, int]


@dataclass
class Survey:
    """A model as it was read, its graph, and what inference found; ``problems`` are where it could not go on.

    ``model`` is the message that the file holds, with the fields of a ModelProto. ``missing`` counts the nodes of each
    operator that nobody has.
    """

    model: Any
    graph: Graph
    scope: Scope
    missing: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)


def survey(source: Any, *, sizes: Sizes | None = None, shapes: Mapping[str, tuple[int, ...]] | None = None,
           registry: Registry = standard, optimize: int = 0, trusted: Iterable[str] = ()) -> Survey:
    """A model (a path, bytes or a ModelProto) read and inferred.

    ``sizes`` are numbers for named sizes, ``shapes`` whole shapes of inputs by name. ``optimize`` looks at the graph after
    the passes of that level, which needs operators for all nodes. Raises UsageError for names that the model does not
    have, ModelError for what is no model.
    """
    model, _ = parsed(source)
    graph = load(source, registry if optimize else tolerant(source, registry), trusted=tuple(trusted))
    graph.inputs = sized(graph.inputs, sizes or {}, shapes or {})
    found = Survey(model, optimized(graph, optimize), Scope(graph))
    found.missing.update(name_of(n.schema.domain, n.schema.name) for n in found.graph.walk() if is_missing(n))
    found.scope = inferred(found.graph, found.problems)
    return found


def name_of(domain: str, name: str) -> str:
    """An operator as people write it: with its domain where that is not the standard's."""
    return f"{domain}:{name}" if domain else name


def is_missing(node: Node) -> bool:
    """Whether nothing runs a node's operator."""
    return node.op.signature == ANYTHING


def sized(inputs: Iterable[Value], sizes: Sizes, shapes: Mapping[str, tuple[int, ...]]) -> list[Value]:
    """Declared inputs, with numbers for sizes that have names or for whole shapes."""
    given = list(inputs)
    check_sizes(sizes, given)
    for name in shapes:
        if name not in (known := [v.name for v in given]):
            raise UsageError(f"the model has no input {name}{nearest_or_all(name, known)}")
    found = []
    for v in given:
        shape = None if v.shape is None else tuple(sizes.get(d, d) if isinstance(d, str) else d for d in v.shape)
        if v.name in shapes:
            due, shape = shape, tuple(shapes[v.name])
            if due is not None and (len(due) != len(shape) or any(isinstance(d, int) and d != n
                                                                  for d, n in zip(due, shape, strict=True))):
                raise UsageError(f"{v.name}: the shape {list(shape)} is given where {list(due)} is due")
        found.append(replace(v, shape=shape))
    return found


def inferred(graph: Graph, problems: list[str], given: list[Fact] | None = None) -> Scope:
    """What follows for the values of a graph; where it follows nothing, what the model declares. Contradictions are listed."""
    scope = Scope(graph)
    scope.begin([declared(v) for v in graph.inputs] if given is None else given)
    for node in graph.nodes:
        try:
            scope.follow(node)
        except InterpError as problem:
            problems.append(str(problem))
            scope.facts |= {o: Fact(UNKNOWN) for o in node.outputs if o}
        for o in node.outputs:
            if o and scope.facts[o].shape is None and (hint := graph.hints.get(o)) and hint.shape is not None:
                scope.facts[o] = declared(hint)
    for end in graph.outputs:
        if scope.facts[end.name].shape is None and end.shape is not None:
            scope.facts[end.name] = declared(end)
    return scope
