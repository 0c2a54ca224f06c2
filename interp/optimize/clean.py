"""Removes what no output needs: nodes, optional outputs, constants."""
from ..graph import Graph, Node
from ..record import replace


def clean(graph: Graph) -> Graph:
    """The graph without dead nodes and unused constants; outputs that nobody reads lose their names where they may."""
    needed, kept = {v.name for v in graph.outputs}, []
    for node in reversed(graph.nodes):
        if any(o in needed for o in node.outputs if o):
            named, bodies = outputs(node, needed), {k: clean(body) for k, body in node.bodies.items()}
            if bodies or named != node.outputs:
                node = replace(node, outputs=named, attributes={**node.attributes, **bodies})
            kept.append(node)
            needed.update(node.inputs)
    return replace(graph, nodes=kept[::-1], constants={k: c for k, c in graph.constants.items() if k in needed})


def outputs(node: Node, needed: set[str]) -> list[str]:
    """The outputs of a node; an optional one that nobody reads is not asked for."""
    if all(node.outputs) and needed.issuperset(node.outputs) or trains(node):
        return node.outputs
    named = []
    for i, o in enumerate(node.outputs):
        parameter = node.schema.parameter(node.schema.outputs, i)
        named.append("" if o not in needed and parameter is not None and parameter.optional else o)
    while named and not named[-1]:
        named.pop()
    return named


def trains(node: Node) -> bool:
    """Whether a node is a BatchNormalization in training, which its outputs tell before version 14, and which has all of them."""
    given = node.attributes
    return (node.schema.name == "BatchNormalization" and any(node.outputs[1:]) and not given.get("is_test")
            and given.get("training_mode") != 0)
