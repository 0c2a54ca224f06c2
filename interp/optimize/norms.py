"""Layer and root mean square normalizations, spelled out by exporters, become the one operator that the standard has for each."""
from __future__ import annotations

from math import prod

import numpy as np

from ..graph import Node
from ..types import DTYPE
from .rewrite import Rewriter, Rules, rule
from .terms import floating, plus

Means = tuple[str, int, list[Node]]  # of what, how many last axes, and the nodes that work it out


def _mean(value: str, at: Rewriter) -> tuple[str, int, Node] | None:
    """What a ReduceMean that keeps its axes is of, and how many last axes it takes together."""
    node = at.maker(value, "ReduceMean")
    x = at.shape(node.inputs[0]) if node is not None else None
    if node is None or x is None or not node.attributes["keepdims"]:
        return None
    axes = node.attributes.get("axes")
    if axes is None and len(node.inputs) > 1 and node.inputs[1]:
        given = at.constant(node.inputs[1])
        axes = None if given is None else given.ravel().tolist()
    if not axes or sorted(a % len(x) for a in axes) != list(range(len(x) - len(axes), len(x))):
        return None
    return node.inputs[0], len(axes), node


def _square(value: str, at: Rewriter) -> tuple[str, Node] | None:
    """What is squared."""
    node = at.maker(value, "Pow", "Mul")
    if node is None or at.sole(value) is None:
        return None
    squared = at.number(node.inputs[1]) == 2 if node.schema.name == "Pow" else node.inputs[0] == node.inputs[1]
    return (node.inputs[0], node) if squared else None


def _spread(value: str, at: Rewriter) -> tuple[str, int, float, list[Node]] | None:
    """Of sqrt(mean(x^2) + epsilon) that one node reads: x, how many last axes, epsilon, the nodes."""
    root = at.maker(value, "Sqrt") if at.sole(value) else None
    sum_ = plus(at, root.inputs[0]) if root is not None else None
    mean = _mean(sum_[0], at) if sum_ is not None and at.sole(sum_[0]) else None
    square = _square(mean[0], at) if mean is not None else None
    if root is None or sum_ is None or mean is None or square is None:
        return None
    return square[0], mean[1], sum_[1], [root, sum_[2], mean[2], square[1]]


def _inverse(value: str, at: Rewriter) -> tuple[str, list[Node]] | None:
    """The square root of which a value is the reciprocal, and the nodes between."""
    node = at.maker(value, "Reciprocal", "Div") if at.sole(value) else None
    if node is None or node.schema.name == "Div" and at.number(node.inputs[0]) != 1:
        return None
    return node.inputs[-1], [node]


def _normalized(node: Node, at: Rewriter) -> tuple[str, int, float, list[Node]] | None:
    """Of x over its root mean square: x, how many last axes, epsilon, the nodes."""
    found: list[tuple[str, str, list[Node]]] = []
    if node.schema.name == "Div":
        found.append((node.inputs[0], node.inputs[1], []))
    else:
        for x, other in (node.inputs, node.inputs[::-1]):
            inverse = _inverse(other, at)
            if inverse is not None:
                found.append((x, *inverse))
    for x, root, between in found:
        spread = _spread(root, at)
        if spread is not None and _same(spread[0], x, at) and floating(at, x):
            return x, spread[1], spread[2], [node, *between, *spread[3]]
    return None


def _same(a: str, b: str, at: Rewriter) -> bool:
    """Whether two values are one, or the same difference of the same values."""
    m, n = at.maker(a, "Sub"), at.maker(b, "Sub")
    return a == b or (m is not None and n is not None and m.inputs == n.inputs)


def _factor(value: str, name: str, row: tuple, at: Rewriter) -> tuple[str, str, Node] | None:
    """What a value is multiplied by, or added to, by one number for each element of a row; and what that makes."""
    node = at.sole(value, name)
    if node is None or node.attributes.get("broadcast") is not None:
        return None
    other = next((i for i in node.inputs if i != value), "")
    shape = at.shape(other) if other else None
    if shape is None or at.shape(node.outputs[0]) != at.shape(value):
        return None
    if tuple(shape[max(len(shape) - len(row), 0):]) != row or any(n != 1 for n in shape[:-len(row)]):
        return None
    return other, node.outputs[0], node


@rule("Div", "Mul")
def normalization(node: Node, at: Rewriter) -> bool:
    """(x - mean) / sqrt(variance + epsilon) * scale + shift, and the same without the mean."""
    found = _normalized(node, at)
    if found is None:
        return False
    apart, count, epsilon, nodes = found
    row = tuple((at.shape(apart) or ())[-count:])
    if not all(isinstance(n, int) for n in row) or at.shape(apart) != at.shape(node.outputs[0]):
        return False
    centered = _centered(apart, count, nodes, at)
    scaled = _factor(node.outputs[0], "Mul", row, at)
    y = scaled[1] if scaled else node.outputs[0]
    shifted = _factor(y, "Add", row, at) if centered else None
    if centered is None and scaled is None:
        return False
    others = [f[2] for f in (scaled, shifted) if f]
    scale = scaled[0] if scaled else at.store(node.name, np.ones([n for n in row if isinstance(n, int)], DTYPE[at.type(apart)]))
    y = shifted[1] if shifted else y
    if centered:
        inputs = [centered[0], scale, *([shifted[0]] if shifted else [])]
        made = at.make("LayerNormalization", inputs, [y], like=node, domain="", axis=-count, epsilon=epsilon)
        at.replace([*nodes, *others, *centered[1]], [made])
    elif prod(row):  # type: ignore[arg-type]
        made = at.make("RMSNormalization", [apart, scale], [y], like=node, domain="", axis=-count, epsilon=epsilon)
        at.replace([*nodes, *others], [made])
    return True


@rule("Add")
def batch_spelling(node: Node, at: Rewriter) -> bool:
    """x * (scale / sqrt(variance + epsilon)) + (shift - mean * that): what Keras writes, after batch normalization's formula."""
    for scaled, moved in (node.inputs, node.inputs[::-1]):
        left = at.maker(scaled, "Mul") if at.sole(scaled) else None
        right = at.maker(moved, "Sub") if at.sole(moved) else None
        down = at.maker(right.inputs[1], "Mul") if right is not None and at.sole(right.inputs[1]) else None
        if left is not None and right is not None and down is not None:
            for k in range(2):
                if left.inputs[k] in down.inputs:
                    return _batch_spelled(node, left.inputs[k], left.inputs[1 - k], [left, right, down], at)
    return False


def _batch_spelled(node: Node, factor: str, x: str, nodes: list[Node], at: Rewriter) -> bool:
    """The one operator, if the factor of x is its scale over its spread, and the mean is its own."""
    _, right, down = nodes
    mean = _mean(down.inputs[1 - down.inputs.index(factor)], at)
    made = at.maker(factor, "Mul") if len(at.readers(factor)) == 2 and factor not in at.outputs else None
    shape = at.shape(x)
    if mean is None or mean[0] != x or made is None or shape is None or not floating(at, x):
        return False
    row = tuple(shape[-mean[1]:])
    for inverse, scale in (made.inputs, made.inputs[::-1]):
        found = _inverse(inverse, at)
        spread = _spread(found[0], at) if found is not None else None
        apart = at.maker(spread[0], "Sub") if spread is not None else None
        if (found is None or spread is None or apart is None or apart.inputs != [x, mean[2].outputs[0]] or spread[1] != mean[1]
                or at.shape(scale) != row or at.shape(right.inputs[0]) != row or at.shape(node.outputs[0]) != shape):
            continue
        gone = [node, *nodes, made, *found[1], *spread[3]]
        inside = {id(n) for n in gone}
        if all(id(r) in inside for r in at.readers(apart.outputs[0])) and apart.outputs[0] not in at.outputs:
            gone.append(apart)
            if all(id(r) in inside | {id(apart)} for r in at.readers(apart.inputs[1])) and apart.inputs[1] not in at.outputs:
                gone.append(mean[2])
        one = at.make("LayerNormalization", [x, scale, right.inputs[0]], [node.outputs[0]], like=node, domain="", axis=-mean[1],
                      epsilon=spread[2])
        at.replace(gone, [one])
        return True
    return False


def _centered(apart: str, count: int, nodes: list[Node], at: Rewriter) -> tuple[str, list[Node]] | None:
    """Of x - mean(x) over so many last axes, which these nodes alone read: x, and the nodes that work it out."""
    sub = at.maker(apart, "Sub")
    mean = _mean(sub.inputs[1], at) if sub is not None else None
    if sub is None or mean is None or mean[0] != sub.inputs[0] or mean[1] != count:
        return None
    subs = [n for n in at.readers(sub.inputs[1]) if at.is_a(n, "Sub") and n.inputs == sub.inputs]
    inside = {id(n) for n in nodes}
    if any(id(r) not in inside for s in subs for r in at.readers(s.outputs[0])) or any(s.outputs[0] in at.outputs for s in subs):
        return sub.inputs[0], []  # others read the difference too: it stays for them
    means = [mean[2]] if len(subs) == len(at.readers(sub.inputs[1])) and sub.inputs[1] not in at.outputs else []
    return sub.inputs[0], [*subs, *means]


norms = Rules(normalization, batch_spelling)
