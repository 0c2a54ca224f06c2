"""Types from schemas, shapes from each operator's own rule, known values carried along."""
from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from .dims import Dim, Fact, Size, fresh, named, names
from .errors import InterpError, ModelError
from .graph import Graph, Node, Value
from .record import field, record
from .registry import Op, check_types
from .schema import Schema
from .types import type_of

UNKNOWN = "?"  # the type of a value of which not even that is known


@record
class Scope:
    """A graph and what is known of its values. Bodies are scopes in the place of the attribute, so that rules can ask them."""

    graph: Graph
    facts: dict[str, Fact] = field(default_factory=dict)
    given: list[Fact] = field(default_factory=list)
    bodies: dict[int, dict[str, Scope]] = field(default_factory=dict)
    tentative: bool = False  # whether it may never run: then what is impossible in it is unknown
    impossible: bool = False  # whether there was such a thing

    @property
    def captured(self) -> int:
        return self.graph.captured

    def infer(self, given: Sequence[Fact]) -> list[Fact]:
        """Work out every value's fact from those of the inputs; returns those of the outputs."""
        self.begin(given)
        for node in self.graph.nodes:
            self.follow(node)
        return [self.facts[o.name] for o in self.graph.outputs]

    def begin(self, given: Sequence[Fact]) -> None:
        """What is known before any node."""
        self.given, self.facts = list(given), {}
        self.know(self.graph.constants)
        self.facts |= {v.name: f for v, f in zip(self.graph.inputs, given, strict=True)}

    def know(self, constants: dict[str, Any]) -> None:
        """All there is to know of constants."""
        self.facts |= {k: Fact(type_of(c), getattr(c, "shape", None), c) for k, c in constants.items()}

    def follow(self, node: Node) -> None:
        """What follows for the outputs of one node."""
        scopes = self.bodies.setdefault(id(node), {k: Scope(g, tentative=True) for k, g in node.bodies.items()})
        try:
            found = output_facts(node, [self.facts[i] if i else None for i in node.inputs], scopes, self.graph.hints)
        except ModelError:
            if not self.tentative:
                raise
            self.impossible, found = True, [Fact(UNKNOWN)] * len(node.outputs)
        self.facts |= {name: f for name, f in zip(node.outputs, found, strict=True) if name}


def output_facts(node: Node, facts: Sequence[Fact | None], scopes: dict[str, Scope],
                 hints: dict[str, Value] | None = None) -> list[Fact]:
    """What follows for each output of a node from what is known of its inputs."""
    constraints = bound_types(node, facts)
    found: list[Any] = []
    if node.op.shape is not None:
        try:
            counted = {"outputs": len(node.outputs)} if node.op.counted else {}
            found = [f if isinstance(f, Fact) else sizes(f) for f in
                     node.op.shape(*facts, **{**node.attributes, **scopes, **counted})]
        except InterpError:
            raise
        except Exception as e:
            if not any(f and f.shape is None and f.type.startswith(("tensor", UNKNOWN)) for f in facts):
                raise ModelError(f"{label(node)}: {e}") from e
            found = []  # the rule needs a rank that nobody knows yet
    found += [None] * (len(node.outputs) - len(found))
    return [f if isinstance(f, Fact) else Fact(_type(node, i, constraints, hints or {}), f, _viewed(node, f, facts))
            for i, f in enumerate(found[:len(node.outputs)])]


def sizes(shape: Any) -> tuple[Size, ...] | None:
    """What a shape rule says of one output, if it is a shape."""
    found = None if shape is None else tuple([n if type(n) is int or not isinstance(n, np.integer) else int(n) for n in shape])
    if found is not None and not all([type(n) is int or isinstance(n, (int, Dim)) for n in found]):
        raise ValueError(f"its shape rule gives {shape!r}, which is no tuple of sizes")
    return found


def _type(node: Node, i: int, constraints: dict[str, str], hints: dict[str, Value]) -> str:
    """The type of an output, where it follows from the schema, else as the model declares it."""
    parameter = node.schema.parameter(node.schema.outputs, i)
    if parameter is None:
        return UNKNOWN
    if parameter.type in constraints:
        return constraints[parameter.type]
    allowed = node.schema.allowed(parameter)
    hint = hints.get(node.outputs[i])
    return next(iter(allowed)) if len(allowed) == 1 else hint.type if hint and hint.type else UNKNOWN


def _viewed(node: Node, shape: tuple[Size, ...] | None, facts: Sequence[Fact | None]) -> Any:
    """The value of a view whose input's value is known."""
    seen = facts[node.op.view] if node.op.view is not None else None
    if seen is None or seen.value is None or shape is None or not all(isinstance(d, int) for d in shape):
        return None
    return np.reshape(seen.value, shape)


def bound_types(node: Node, facts: Sequence[Fact | None]) -> dict[str, str]:
    """The type that each constraint of a node's schema takes; types that its operator cannot do are refused."""
    types = tuple([f and f.type for f in facts[:len(facts) - node.captured]])
    try:
        return _bound(node.schema, node.op, types)
    except InterpError as e:
        raise type(e)(f"{label(node)}{e}") from None


@lru_cache(4096)  # those of a network's nodes are the same time and again
def _bound(schema: Schema, op: Op, types: tuple[str | None, ...]) -> dict[str, str]:
    constraints: dict[str, str] = {}
    for i, t in enumerate(types):
        parameter = schema.parameter(schema.inputs, i)
        if t is None or parameter is None or t == UNKNOWN:
            continue
        old = constraints.setdefault(parameter.type, t)
        if old != t and parameter.homogeneous and parameter.type in schema.types:
            raise ModelError(f": input {parameter.name} is {t}, another of the same type {old}")
    for k, t in constraints.items():
        if "?" in t:  # an empty sequence tells no element type
            continue
        if k not in schema.types and k != t and k.startswith(("tensor", "seq", "optional", "map")):
            raise ModelError(f": {t} given where {k} is due")
    check_types("", schema, op, {k: t for k, t in constraints.items() if "?" not in t})
    return constraints


def label(node: Node) -> str:
    """How messages name a node."""
    return f"{node.name} ({node.schema})"


def declared(value: Value) -> Fact:
    """What a model says of an input: an unknown size gets a name of its own."""
    kind = value.type or UNKNOWN
    if value.shape is None or not kind.startswith("tensor"):
        return Fact(kind)
    return Fact(kind, tuple(named(d) if isinstance(d, str) else fresh() if d is None else d for d in value.shape))


def localised(facts: Sequence[Fact]) -> tuple[list[Fact], dict[str, Size]]:
    """Facts in which every size that is not a number has a name of its own, and what those names stand for.

    A part of a graph is planned with such facts: its sizes then follow from those of its own inputs.
    """
    meaning: dict[str, Size] = {}
    given: dict[Size, Dim] = {}

    def local(size: Size) -> Size:
        if not isinstance(size, Dim):
            return size
        if size not in given:
            given[size] = named(f"d{len(given)}")
            meaning[given[size].text] = size
        return given[size]

    return [Fact(f.type, None if f.shape is None else tuple(local(d) for d in f.shape),
                 f.value if isinstance(f.value, np.ndarray) and f.value.dtype != object else None) for f in facts], meaning


def free_sizes(facts: Sequence[Fact | None]) -> frozenset[str]:
    """The names on which facts depend."""
    return frozenset().union(*(names(f.shape) for f in facts if f is not None and f.shape))
