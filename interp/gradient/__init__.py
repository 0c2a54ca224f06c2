"""Gradient nodes become the backward nodes that they stand for: reverse-mode differentiation of a graph, when it is read.

`tape.py` has what rules write with; the rules, one an operator, stand by family in the other files.
"""
from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from ..errors import ModelError, UnsupportedOperator
from ..graph import Graph, Node
from ..registry import Registry
from .tape import FLAT, RULES, Rule, Tape

FAMILIES = ("elementwise", "layout", "linear", "reduction", "window")
Fresh = Callable[[str, str], str]


def is_gradient(node: Node) -> bool:
    return node.schema.name == "Gradient" and node.schema.domain == "ai.onnx.preview.training"


def flat(node: Node) -> bool:
    """Whether nothing small changes what the node gives."""
    return node.schema.name in FLAT and not node.schema.domain


def differentiated(graph: Graph, registry: Registry, fresh: Fresh) -> list[Node]:
    """The nodes of a graph with every Gradient replaced; ``fresh(hint, what)`` makes a name of a value or of a node.

    A gradient of a gradient waits until that one is nodes. Raises UnsupportedOperator for what has no declared derivative.
    """
    nodes = list(graph.nodes)
    while waiting := [n for n in nodes if is_gradient(n)]:
        node = next((n for n in waiting if not any(is_gradient(m) for m in path(n, nodes))), None)
        if node is None:
            raise ModelError(f"{waiting[0].name}: gradients wait for each other")
        tape = Tape(graph.constants, registry, fresh, node.name)
        backward(node, path(node, nodes), tape)
        nodes[nodes.index(node):nodes.index(node) + 1] = tape.nodes
    return nodes


def path(node: Node, nodes: list[Node]) -> list[Node]:
    """The nodes through which y follows from xs and zs, in an order in which they can run."""
    writer = {o: n for n in nodes for o in n.outputs if o}
    found: dict[int, Node] = {}
    ends = {*node.attributes["xs"], *(node.attributes["zs"] or ())}
    todo = [(node.attributes["y"], False)]
    while todo:
        name, done = todo.pop()
        made = writer.get(name)
        if made is None or name in ends or id(made) in found:
            continue
        if done:
            found[id(made)] = made
        else:
            todo += [(name, True), *((i, False) for i in made.inputs if i)]
    return list(found.values())


def backward(node: Node, forward: list[Node], tape: Tape) -> None:
    """Write the nodes that give the outputs of a Gradient node."""
    xs, y = list(node.attributes["xs"]), node.attributes["y"]
    named = [*xs, *(node.attributes["zs"] or ())]
    if len(node.inputs) != len(named):
        raise ModelError(f"{node.name}: {len(named)} values in xs and zs, and {len(node.inputs)} inputs")
    values = {n: i for n, i in zip(named, node.inputs, strict=True) if n != i}
    if values:
        forward, values = tape.replayed(forward, values)
    start = values.get(y, y)
    gradients = {start: [tape.ones(start)]}
    varies = {values.get(x, x) for x in xs}
    for made in forward:
        if not flat(made) and any(i in varies for i in made.inputs):
            varies.update(o for o in made.outputs if o)
    for made in reversed(forward):
        if any(o in gradients for o in made.outputs):
            _back(made, gradients, varies, tape)
    for x, output in zip(xs, node.outputs, strict=False):
        if output:
            x = values.get(x, x)
            tape.named(output, tape.total(gradients[x]) if x in gradients else tape.zeros(x))


def _back(node: Node, gradients: dict[str, list[str]], varies: set[str], tape: Tape) -> None:
    """Hand the gradients of a node's outputs on to those of its inputs that depend on what is differentiated by."""
    wanted = [i for i, name in enumerate(node.inputs) if name in varies]
    if not wanted or flat(node):
        return
    due = [tape.total(gradients[o]) if o in gradients else None for o in node.outputs]
    found = rule_of(node)(tape, node, *due)
    for i in wanted:
        write = found[i] if i < len(found) else None
        if write is not None:
            gradients.setdefault(node.inputs[i], []).append(write())


def rule_of(node: Node) -> Rule:
    """How the gradients of a node's inputs follow from those of its outputs."""
    for family in FAMILIES:
        import_module(f".{family}", __name__)
    key = node.schema.domain, node.schema.name
    if key in RULES and RULES[key][0] <= node.schema.since:
        return RULES[key][1]
    known = sorted({name for domain, name in RULES if not domain} | FLAT)
    raise UnsupportedOperator(f"{node.name}: {node.schema} has no derivative here; Gradient knows those of {', '.join(known)}")
