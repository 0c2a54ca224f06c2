"""What a model is, without running it: its graph, and the types and shapes of its values as far as they follow.

What looks at models must not stop at those that cannot run: operators that nobody has get stand-ins, and where inference
finds a contradiction it goes on with what is unknown.
"""
from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .dims import Fact
from .errors import InterpError, Unsupported, UnsupportedOperator, UsageError
from .feeding import nearest
from .functions import domain_of, opsets_of
from .graph import Graph, Node, Value
from .infer import UNKNOWN, Scope, declared
from .loading import load, parsed
from .ops import standard
from .optimize import optimized
from .registry import Op, Registry
from .schema import schema

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
    absent = missing(model, registry)
    known = registry if optimize or not absent else standing_in(absent, registry)
    graph = load(source, known, trusted=tuple(trusted))
    graph.inputs = sized(graph.inputs, sizes or {}, shapes or {})
    found = Survey(model, optimized(graph, optimize), Scope(graph))
    found.missing.update({name_of(*key): len(nodes) for key, nodes in absent.items()})
    found.scope = inferred(found.graph, found.problems)
    return found


def walk(nodes: Iterable[Any]) -> Iterator[Any]:
    """Nodes of a message, and those of their sub-graphs."""
    todo = list(nodes)
    while todo:
        yield (node := todo.pop())
        todo += [n for a in node.attribute for graph in ([a.g] if a.HasField("g") else a.graphs) for n in graph.node]


def name_of(domain: str, name: str) -> str:
    """An operator as people write it: with its domain where that is not the standard's."""
    return f"{domain}:{name}" if domain else name


def missing(model: Any, registry: Registry) -> dict[tuple[str, str], list[Any]]:
    """The nodes of each operator that neither the standard, the model nor the registry has, by domain and name."""
    local = {(domain_of(f), f.name) for f in model.functions}
    found: dict[tuple[str, str], list[Any]] = {}
    there: dict[tuple[str, str, int], bool] = {}
    for nodes, imports in [(model.graph.node, model.opset_import), *((f.node, f.opset_import) for f in model.functions)]:
        opsets = opsets_of(imports)
        for node in walk(nodes):
            domain = domain_of(node)
            key = domain, node.op_type, opsets.get(domain, 1)
            if key not in there:
                there[key] = (domain, node.op_type) in local or has(registry, *key)
            if not there[key]:
                found.setdefault((domain, node.op_type), []).append(node)
    return found


def has(registry: Registry, domain: str, name: str, opset: int) -> bool:
    """Whether something runs an operator, if only its body in the standard."""
    if registry.declared(domain, name) is not None:
        return True
    try:
        schema(name, opset, domain)
    except UnsupportedOperator:
        return False
    return True


def standing_in(absent: dict[tuple[str, str], list[Any]], registry: Registry) -> Registry:
    """The registry under operators that take whatever the nodes give, run nothing and know no shapes."""
    layer = Registry(registry)
    for (domain, name), nodes in absent.items():
        attributes = dict.fromkeys(a.name for n in nodes for a in n.attribute)

        def stand_in(*inputs: Any, **attributes: Any) -> Any:
            raise Unsupported("nothing runs this operator")

        words = [inspect.Parameter(a, inspect.Parameter.KEYWORD_ONLY, default=None) for a in attributes if a.isidentifier()]
        stand_in.__signature__ = inspect.Signature(words)  # type: ignore[attr-defined]
        layer.add(Op(name, 1, None, stand_in, None, domain, signature="**inputs: T -> **outputs: U"))
    return layer


def stands_in(node: Node) -> bool:
    """Whether nobody has a node's operator."""
    return node.op.run.__module__ == __name__


def sized(inputs: Iterable[Value], sizes: Sizes, shapes: Mapping[str, tuple[int, ...]]) -> list[Value]:
    """Declared inputs, with numbers for sizes that have names or for whole shapes."""
    given = list(inputs)
    names = dict.fromkeys(d for v in given for d in v.shape or () if isinstance(d, str))
    for kind, said, known in (("dimension", sizes, names), ("input", shapes, {v.name: None for v in given})):
        for name in said:
            if name not in known:
                hint = nearest(name, known) or f"; it has {', '.join(known) or 'none'}"
                raise UsageError(f"the model has no {kind} {name}{hint}")
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
