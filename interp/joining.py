"""Concatenation without copies: where inputs stand in the result one after the other, they are made there."""
from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from .dims import Fact
from .graph import Node
from .kernels.step import Step, copied
from .record import record


@record(frozen=True)
class Part:
    """A storage that is a piece of another: what a node joins as its input at a position."""

    whole: str
    node: Node
    position: int


def parts_of(nodes: Sequence[Node], facts: Mapping[str, Fact], root: Mapping[str, str], fixed: Container[str],
             is_view: Callable[[Node], bool]) -> dict[str, Part]:
    """The roots that can be parts of others; ``fixed`` ones have a place already.

    A root becomes a part if nothing writes to it from then on, and nothing to the whole while the part is still read.
    """
    writes, read = uses(nodes, root, is_view)
    parts: dict[str, Part] = {}
    for k, node in enumerate(nodes):
        whole = node.outputs[0]
        if not is_joining(node, facts) or root[whole] != whole:
            continue
        roots = [root[i] for i in node.inputs]
        for position, r in enumerate(roots):
            alone = r not in fixed and r not in parts and r != whole and roots.count(r) == 1
            after = [w for w in writes[whole] if w > k]
            if alone and max(writes[r]) < k and all(read[r] < w for w in after):
                parts[r] = Part(whole, node, position)
                read[whole] = max(read[whole], read[r])
    return parts


def uses(nodes: Sequence[Node], root: Mapping[str, str],
         is_view: Callable[[Node], bool]) -> tuple[dict[str, list[int]], dict[str, int]]:
    """Which nodes write to each root, and the last that reads it."""
    writes: dict[str, list[int]] = {}
    read: dict[str, int] = {}
    for k, node in enumerate(nodes):
        for o in node.outputs:
            if o:
                read.setdefault(root[o], k)
                if not is_view(node):
                    writes.setdefault(root[o], []).append(k)
        read |= {root[i]: k for i in node.inputs if i}
    return writes, read


def is_joining(node: Node, facts: Mapping[str, Fact]) -> bool:
    """Whether the inputs of a node stand in its result one after the other, whatever the sizes that are not known yet."""
    if not node.op.joins or not all(node.inputs):
        return False
    shapes = [facts[v].shape for v in [*node.outputs, *node.inputs]]
    if any(s is None or len(s) != len(shapes[0] or ()) for s in shapes):
        return False
    shape = shapes[0] or ()
    axis = node.attributes[node.op.joins]
    return axis is not None and -len(shape) <= axis < len(shape) and all(n == 1 for n in shape[:axis % len(shape)])


def region(whole: np.ndarray, position: int, sizes: Sequence[int]) -> np.ndarray:
    """The flat piece of a whole that an input fills, given how many elements each input has."""
    ends = list(accumulate(sizes))
    return whole.reshape(-1)[ends[position] - sizes[position]:ends[position]]


def fill(position: int, arrays: list[Any], outs: list[Any]) -> Step:
    """The step that copies an input that is no part to its place."""
    return copied(arrays[position], region(outs[0], position, [a.size for a in arrays]))
