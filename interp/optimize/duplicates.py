"""Works out once what a graph asks for twice."""
from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from ..graph import Node
from .rewrite import Rewriter


def drop_duplicates(at: Rewriter) -> None:
    """Let those who read a node's results read those of an equal one before it; random nodes and bodies are never equal."""
    known: dict[Hashable, list[Node]] = {}
    for node in at.nodes():
        if node.bodies or node.schema.random or not at.is_standard(node):
            continue
        alike = known.setdefault(key_of(node), [])
        earlier = next((n for n in alike if n is node or attributes_of(n) == attributes_of(node)), None)
        if earlier is None:
            alike.append(node)
        elif earlier is not node and not any(o in at.outputs for o in node.outputs):
            for mine, theirs in zip(node.outputs, earlier.outputs, strict=True):
                if mine:
                    at.rename(mine, theirs)
            at.replace([node], [])
            earlier.sources += node.sources


def key_of(node: Node) -> Hashable:
    """What two nodes share that give the same results, beside their attributes, which there may be many of."""
    return id(node.op), node.schema, tuple(node.inputs), tuple(map(bool, node.outputs))


def attributes_of(node: Node) -> dict[str, Hashable]:
    """The attributes of a node as they are compared."""
    return {k: key_of_value(v) for k, v in node.attributes.items()}


def key_of_value(value: Any) -> Hashable:
    """An attribute's value, by type: 1 and 1.0 are not the same."""
    if isinstance(value, np.ndarray):
        return value.dtype.name, value.shape, value.tobytes() if value.dtype != object else repr(value.tolist())
    return type(value).__name__, repr(value)
