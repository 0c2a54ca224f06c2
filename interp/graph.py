"""The model in memory: nodes over named values, free of protobuf."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .record import field, record, replace
from .registry import Op
from .schema import Schema


@record(frozen=True)
class Value:
    """A declared input or output: its name, ONNX type, and shape with numbers, names (str) and None for unknown sizes."""

    name: str
    type: str | None = None
    shape: tuple[int | str | None, ...] | None = None


@record(eq=False)
class Node:
    """One call of an operator.

    ``inputs`` has "" for an absent optional one; the outer names that its sub-graphs read come last, ``captured`` of them.
    ``attributes`` are bound: every attribute of the schema has a value (None where it has neither value nor default);
    a sub-graph is a Graph. ``sources`` names the nodes as written that it stands for: itself, until a pass puts it in the
    place of others.
    """

    name: str
    schema: Schema
    op: Op
    inputs: list[str]
    outputs: list[str]
    attributes: dict[str, Any] = field(default_factory=dict)
    captured: int = 0
    sources: tuple[str, ...] = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.sources is None:
            self.sources = (self.name,)

    @property
    def bodies(self) -> dict[str, Graph]:
        """The sub-graphs, by attribute."""
        if Graph not in map(type, self.attributes.values()):
            return {}
        return {k: a for k, a in self.attributes.items() if type(a) is Graph}


@record(eq=False)
class Graph:
    """Nodes in an order in which they can run. A sub-graph's inputs end with the outer names that it reads.

    ``constants`` holds arrays by name: initializers, and what passes found. ``overridable`` are initializers that the model
    also lists as inputs: constants until a feed replaces one. ``hints`` are declared types and shapes of inner values,
    ``files`` those beside the model's own in which constants lie, ``layouts`` the names of images as the model has them, by those
    of values that hold them in blocks of channels.
    """

    name: str
    inputs: list[Value]
    outputs: list[Value]
    nodes: list[Node]
    constants: dict[str, Any] = field(default_factory=dict)
    overridable: dict[str, Value] = field(default_factory=dict)
    hints: dict[str, Value] = field(default_factory=dict)
    captured: int = 0
    opsets: dict[str, int] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    layouts: dict[str, str] = field(default_factory=dict)

    def part(self, nodes: list[Node], inputs: list[str], outputs: list[str]) -> Graph:
        """Some of the nodes, as a graph of its own over the constants that they read."""
        read = {i for n in nodes for i in n.inputs}.union(outputs) & self.constants.keys()
        return replace(self, nodes=nodes, inputs=[Value(i) for i in inputs], outputs=[Value(o) for o in outputs], captured=0,
                       constants={k: self.constants[k] for k in read})

    def walk(self) -> Iterator[Node]:
        """Every node, those of sub-graphs after the node that they belong to."""
        for node in self.nodes:
            yield node
            for body in node.bodies.values():
                yield from body.walk()


