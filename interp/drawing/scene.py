"""What there is to draw: boxes for inputs, nodes and outputs, edges between them, sub-graphs as scenes in their node's box."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..dims import Dim, Fact
from ..graph import Graph, Node, Value
from ..infer import Scope
from ..survey import Survey, is_missing, name_of
from ..types import OF_CODE
from .families import family_of

FIRST = ("kernel_shape", "strides", "pads", "dilations", "group", "axis", "axes", "perm", "to", "mode")  # what says most
SHORT = {"kernel_shape": "kernel", "strides": "stride", "dilations": "dilation"}
SPATIAL = ("kernel_shape", "strides", "dilations")
PLAIN = {"strides": 1, "dilations": 1, "pads": 0, "group": 1}
FORMULA = 20  # characters of a size
LONGEST, MANY = 200, 12  # characters of an attribute's text, and elements that are written out


@dataclass(frozen=True)
class Port:
    """One input or output of a box: what the operator calls it, the value's name, type and shape; the array of a weight."""

    role: str
    value: str
    kind: str
    weight: np.ndarray | None = None


@dataclass(eq=False)
class Box:
    """What one rectangle stands for. ``kind`` is "input", "node" or "output"; ``inner`` are sub-graphs by attribute."""

    kind: str
    title: str
    name: str
    family: str
    inputs: list[Port] = field(default_factory=list)
    outputs: list[Port] = field(default_factory=list)
    attributes: list[tuple[str, str]] = field(default_factory=list)
    detail: str = ""
    version: str = ""
    sources: tuple[str, ...] = ()
    inner: list[tuple[str, Scene]] = field(default_factory=list)
    seconds: float | None = None
    together: tuple[str, ...] = ()  # the nodes that took those seconds with this one

    @property
    def shape(self) -> str:
        """The type and shape of the first output, or of what goes in."""
        ports = self.inputs if self.kind == "output" else self.outputs
        return ports[0].kind if ports else ""


@dataclass(eq=False)
class Scene:
    """Boxes in an order in which they can run, and edges (from, to, value) between their positions, which go forwards."""

    name: str
    boxes: list[Box]
    edges: list[tuple[int, int, str]]
    facts: dict[str, str] = field(default_factory=dict)

    def walk(self) -> Iterable[Box]:
        """Every box, those of sub-graphs after the one that they lie in."""
        for box in self.boxes:
            yield box
            for _, scene in box.inner:
                yield from scene.walk()


def scene_of(found: Survey, name: str = "") -> Scene:
    """The scene of a model's graph."""
    made = drawn(found.graph, found.scope)
    nodes = sum(box.kind == "node" for box in made.walk())
    opsets = ", ".join(f"{domain or 'opset'} {version}" for domain, version in found.graph.opsets.items())
    made.name = name or found.graph.name
    made.facts = {"opsets": opsets, "nodes": f"{nodes} node{'s' * (nodes != 1)}"}
    return made


def drawn(graph: Graph, scope: Scope) -> Scene:
    """Boxes and edges of one graph; the outer values that a sub-graph reads are inputs of it."""
    facts = scope.facts
    outer = {v.name for v in graph.inputs[len(graph.inputs) - graph.captured:]} if graph.captured else set()
    boxes = [Box("input", "Captured" if v.name in outer else "Input", v.name, "input",
                 outputs=[port("", v.name, facts)]) for v in graph.inputs]
    boxes += [box_of(n, scope) for n in graph.nodes]
    boxes += [Box("output", "Output", v.name, "output", inputs=[port("", v.name, facts, graph)]) for v in graph.outputs]
    boxes = arranged(boxes)
    makers = {p.value: k for k, box in enumerate(boxes) for p in box.outputs}
    edges = {(makers[p.value], k, p.value): None for k, box in enumerate(boxes) for p in box.inputs if p.value in makers}
    return Scene(graph.name, boxes, list(edges))


def arranged(boxes: list[Box]) -> list[Box]:
    """The boxes in another order in which they can run: what needs no input comes when it is read, outputs when they are made."""
    makers = {p.value: box for box in boxes for p in box.outputs}
    reads = {id(box): [makers[p.value] for p in box.inputs if p.value in makers] for box in boxes}
    loose: set[int] = set()
    ends: dict[int, list[Box]] = {}
    for box in boxes:
        if box.kind == "node" and all(id(b) in loose for b in reads[id(box)]):
            loose.add(id(box))
        elif box.kind == "output":
            ends.setdefault(id(reads[id(box)][0]) if reads[id(box)] else 0, []).append(box)
    found: dict[int, Box] = {}
    for box in boxes:
        todo = [box] if box.kind != "output" and id(box) not in loose else []
        while todo:
            waits = [b for b in reads[id(todo[-1])] if id(b) in loose and id(b) not in found]
            if waits:
                todo.append(waits[0])
                continue
            done = todo.pop()
            found |= {id(b): b for b in [done, *ends.pop(id(done), ())]}
    return [*found.values(), *(b for b in boxes if id(b) not in found)]


def box_of(node: Node, scope: Scope) -> Box:
    """A node's box."""
    facts, schema = scope.facts, node.schema
    roles = [schema.parameter(side, i) for side, values in ((schema.inputs, node.inputs), (schema.outputs, node.outputs))
             for i in range(len(values))]
    named = [p.name if p is not None else "" for p in roles]
    hidden = len(node.inputs) - node.captured
    inputs = [port("captured" if i >= hidden else named[i], v, facts, scope.graph) for i, v in enumerate(node.inputs) if v]
    outputs = [port(named[len(node.inputs) + i], v, facts, scope.graph) for i, v in enumerate(node.outputs) if v]
    given = [(k, v) for k, v in node.attributes.items()
             if v is not None and k not in node.bodies and (isinstance(v, np.ndarray) or v != schema.defaults.get(k))]
    given.sort(key=lambda kv: FIRST.index(kv[0]) if kv[0] in FIRST else len(FIRST))
    inner = [(k, drawn(s.graph, s)) for k, s in scope.bodies.get(id(node), {}).items() if s.facts]
    version = "nothing runs it" if is_missing(node) else str(schema)
    return Box("node", name_of(schema.domain, schema.name), node.name, family_of(node.op), inputs, outputs,
               [(k, told(k, v)) for k, v in given], ", ".join(brief(k, v) for k, v in given if not plain(k, v)), version,
               () if node.sources == (node.name,) else node.sources, inner)


def port(role: str, value: str, facts: dict[str, Fact], graph: Graph | None = None) -> Port:
    weight = graph.constants.get(value) if graph is not None else None
    hint = graph.hints.get(value) if graph is not None else None
    return Port(role, value, described(facts.get(value), hint), weight if isinstance(weight, np.ndarray) else None)


def described(fact: Fact | None, hint: Value | None = None) -> str:
    """A type and shape: float32[1,3,N,N]; of what is no tensor the type; "" where nothing is known."""
    if fact is None or fact.type == "?":
        return "" if fact is None or fact.shape is None else f"[{sizes(fact.shape, hint)}]"
    if not fact.type.startswith("tensor("):
        return fact.type
    name = fact.dtype.name if fact.dtype.kind != "O" else "string"
    return name if fact.shape is None else f"{name}[{sizes(fact.shape, hint)}]"


def sizes(shape: Sequence[Any], hint: Value | None = None) -> str:
    """Sizes between commas. What only the data tell is a question mark; for a long formula stands what is declared."""
    given = hint.shape if hint is not None and hint.shape is not None else ()
    declared = given if len(given) == len(shape) else (None,) * len(shape)
    return ",".join(
        "?" if isinstance(d, Dim) and any(n.startswith("?") for n in d.names) else
        str(d) if len(str(d)) <= FORMULA or is_name(d) else str(h or "…") for d, h in zip(shape, declared, strict=True))


def is_name(size: Any) -> bool:
    """Whether a size is one that the model names."""
    return isinstance(size, Dim) and size.names == {size.text} and len(size.text) <= 2 * FORMULA


def told(key: str, value: Any) -> str:
    """An attribute's value as text, cut where it is long."""
    if key in ("to", "dtype") and isinstance(value, int) and value in OF_CODE:
        return OF_CODE[value][len("tensor("):-1]
    if isinstance(value, np.ndarray):
        return f"{value.dtype.name}[{sizes(value.shape)}]" + (f" {value.ravel().tolist()}" if value.size <= MANY else "")
    if isinstance(value, tuple | list):
        shown = ", ".join(told("", v) for v in value[:MANY])
        return f"[{shown}{f', … {len(value)} in all' if len(value) > MANY else ''}]"[:LONGEST]
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def plain(key: str, value: Any) -> bool:
    """Whether an attribute says what nearly every node says: strides of 1, no pads."""
    given = value if isinstance(value, tuple | list) else [value]
    return key in PLAIN and all(v == PLAIN[key] for v in given)


def brief(key: str, value: Any) -> str:
    """The same in few characters: "kernel 3×3"."""
    name = SHORT.get(key, key)
    if key in SPATIAL and isinstance(value, tuple | list):
        return f"{name} {'×'.join(map(str, value))}"
    text = told(key, value)
    if isinstance(value, tuple | list) and len(value) <= MANY:
        text = ",".join(told("", v) for v in value) or "[]"
    return f"{name} {text if len(text) <= 40 else text[:39] + '…'}"
