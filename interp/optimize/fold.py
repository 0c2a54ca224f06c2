"""Works out what depends on constants alone, once, when the model is loaded."""
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from ..call import call
from ..errors import InterpError
from ..graph import Graph, Node
from ..record import replace

MOST = 2**30  # bytes that folding may add to a model; beyond, nodes are left to the run


Fits = Callable[[Node, Collection[Any], dict[str, Any]], bool]


def fold(graph: Graph, most: int | None = None, fits: Fits | None = None, spared: Collection[str] = ()) -> Graph:
    """The graph with every node whose inputs are constant replaced by its results, of no more than ``most`` bytes in all.

    Random nodes and those with bodies stay, and so do operators that are ``spared`` and nodes whose results do not
    ``fits(node, results, constants)``.
    """
    return within(graph, MOST if most is None else min(most, MOST), fits or (lambda *_: True), spared)[0]


def within(graph: Graph, room: int, fits: Fits, spared: Collection[str]) -> tuple[Graph, int]:
    """The graph folded, and how many bytes of the room its results leave."""
    constants, nodes = dict(graph.constants), []
    for node in graph.nodes:
        found = None
        foldable = not node.bodies and not node.schema.random and node.schema.name not in spared
        if foldable and all(not i or i in constants for i in node.inputs):
            found = folded(node, constants, room)
        if found is None or not fits(node, found.values(), constants):
            node = with_constants(node, constants) if node.captured else node
            bodies = node.bodies
            for name, body in bodies.items():
                bodies[name], room = within(body, room, fits, spared)
            nodes.append(replace(node, attributes={**node.attributes, **bodies}))
        else:
            constants |= found
            room -= sum(map(size, found.values()))
    return replace(graph, nodes=nodes, constants=constants), room


def folded(node: Node, constants: dict[str, Any], room: int) -> dict[str, Any] | None:
    """The results of a node; None where it fails, so that the run reports it, or where they would be too large."""
    arrays = [constants[i] if i else None for i in node.inputs]
    try:
        made = call(node, arrays, node.attributes, most=room)
    except InterpError:
        return None
    return {o: own(m) for o, m in zip(node.outputs, made, strict=False) if o}


def with_constants(node: Node, constants: dict[str, Any]) -> Node:
    """The node with outer values that turned out constant inside its bodies, not among what they capture."""
    split = len(node.inputs) - node.captured
    found = {i: constants[i] for i in node.inputs[split:] if i in constants}
    kept = [i for i in node.inputs[split:] if i not in found]
    bodies = {k: replace(b, inputs=[v for v in b.inputs if v.name not in found], captured=len(kept),
                         constants={**b.constants, **found}) for k, b in node.bodies.items()}
    return replace(node, inputs=node.inputs[:split] + kept, captured=len(kept), attributes={**node.attributes, **bodies})


def own(value: Any) -> Any:
    """A contiguous array; a view of a constant stays one, because constants are never written."""
    return np.ascontiguousarray(value).reshape(value.shape) if isinstance(value, np.ndarray) else value


def size(value: Any) -> int:
    return value.nbytes if isinstance(value, np.ndarray) else 0
