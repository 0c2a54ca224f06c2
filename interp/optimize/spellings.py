"""Activations that exporters write as several operators become the one that the standard has for each."""
from __future__ import annotations

from math import pi, sqrt
from typing import Any

from ..graph import Node
from .activation import activation_of
from .rewrite import Rewriter, Rules, rule
from .terms import Product, keeps, near, plus, product, product_of


def _become(at: Rewriter, name: str, x: str, root: Node, others: list[Node], **attributes: Any) -> bool:
    """Put one operator on x in the place of a root and what leads to it, where shapes allow."""
    if not keeps(at, x, root.outputs[0]):
        return False
    at.replace([*others, root], [at.make(name, [x], root.outputs, like=root, domain="", **attributes)])
    return True


def _split(found: Product, at: Rewriter, *names: str) -> tuple[str, Node] | None:
    """The other factor of a product of two, and the node of such a name that makes the first, which nothing else reads."""
    if len(found.factors) == 2:
        for one, other in (found.factors, found.factors[::-1]):
            maker = at.maker(one, *names)
            if maker is not None and at.sole(one) is not None:
                return other, maker
    return None


@rule("Mul", "Div")
def swish(node: Node, at: Rewriter) -> bool:
    """x * sigmoid(alpha * x)."""
    found = product(at, node)
    split = _split(found, at, "Sigmoid") if found and found.number == 1 else None
    if found is None or split is None:
        return False
    x, sigmoid = split
    inner = product_of(at, sigmoid.inputs[0])
    if inner.factors != [x]:
        return False
    return _become(at, "Swish", x, node, [*found.nodes[1:], sigmoid, *inner.nodes], alpha=inner.number)


@rule("Mul", "Div")
def mish(node: Node, at: Rewriter) -> bool:
    """x * tanh(softplus(x)), the latter also as ln(1 + e^x)."""
    found = product(at, node)
    split = _split(found, at, "Tanh") if found and found.number == 1 else None
    if found is None or split is None:
        return False
    x, tanh = split
    within = [*found.nodes[1:], tanh]
    soft = at.maker(tanh.inputs[0], "Softplus", "Log") if at.sole(tanh.inputs[0]) else None
    if soft is not None and soft.schema.name == "Log":
        within.append(soft)
        sum_ = plus(at, soft.inputs[0])
        soft = at.maker(sum_[0], "Exp") if sum_ and sum_[1] == 1 and at.sole(sum_[0]) else None
        within += [sum_[2]] if sum_ else []
    if soft is None or soft.inputs != [x]:
        return False
    return _become(at, "Mish", x, node, [*within, soft])


def _six(at: Rewriter, value: str) -> tuple[str, list[Node]] | None:
    """The x of a Clip of x + 3 between 0 and 6 that one node reads."""
    node = at.maker(value, "Clip") if at.sole(value) else None
    limits = activation_of(node, at)
    if node is None or limits is None or (limits.alpha, limits.beta) != (0, 6):
        return None
    sum_ = plus(at, node.inputs[0])
    return (sum_[0], [node, sum_[2]]) if sum_ and sum_[1] == 3 else None


@rule("Mul", "Div")
def hard(node: Node, at: Rewriter) -> bool:
    """clip(x + 3, 0, 6) / 6, a hard sigmoid, and x times that, a hard swish; also x times a hard sigmoid of those slopes."""
    found = product(at, node)
    if found is None:
        return False
    if found.number == 1:
        return _gated(node, found, at)
    if not near(at, node.outputs[0], found.number, 1 / 6):
        return False
    for value in found.factors:
        six = _six(at, value)
        if six is not None and len(found.factors) == 1:
            return _become(at, "HardSigmoid", six[0], node, [*found.nodes[1:], *six[1]], alpha=1 / 6, beta=0.5)
        if six is not None and sorted(found.factors) == sorted([value, six[0]]):
            return _become(at, "HardSwish", six[0], node, [*found.nodes[1:], *six[1]])
    return False


def _gated(node: Node, found: Product, at: Rewriter) -> bool:
    split = _split(found, at, "HardSigmoid")
    if split is None:
        return False
    x, gate = split
    slopes = near(at, x, gate.attributes["alpha"], 1 / 6) and gate.attributes["beta"] == 0.5
    return slopes and gate.inputs == [x] and _become(at, "HardSwish", x, node, [*found.nodes[1:], gate])


@rule("Mul", "Div")
def gelu(node: Node, at: Rewriter) -> bool:
    """x / 2 * (1 + erf(x / sqrt 2)), or its approximation by a tanh."""
    found = product(at, node)
    if found is None or len(found.factors) != 2 or found.number != 0.5:
        return False
    for one, x in (found.factors, found.factors[::-1]):
        sum_ = plus(at, one)
        curve = at.maker(sum_[0], "Erf", "Tanh") if sum_ and sum_[1] == 1 and at.sole(sum_[0]) else None
        if sum_ is None or curve is None:
            continue
        inner = product_of(at, curve.inputs[0])
        others = [*found.nodes[1:], sum_[2], curve, *inner.nodes]
        if curve.schema.name == "Erf":
            return (inner.factors == [x] and near(at, x, inner.number, sqrt(0.5))
                    and _become(at, "Gelu", x, node, others, approximate="none"))
        cubic = _cubic(inner, x, at) if near(at, x, inner.number, sqrt(2 / pi)) else None
        return cubic is not None and _become(at, "Gelu", x, node, [*others, *cubic], approximate="tanh")
    return False


def _cubic(inner: Product, x: str, at: Rewriter) -> list[Node] | None:
    """The nodes that make x + 0.044715 x^3, or x (1 + 0.044715 x^2), of a product."""
    if len(inner.factors) == 2 and x in inner.factors:
        sum_ = plus(at, next((f for f in inner.factors if f != x), x))
        nodes = _power(at, sum_[0], x, 2) if sum_ and sum_[1] == 1 else None
        return [*nodes, sum_[2]] if sum_ and nodes is not None else None
    add = at.maker(inner.factors[0], "Add") if len(inner.factors) == 1 and at.sole(inner.factors[0]) else None
    if add is None or x not in add.inputs:
        return None
    nodes = _power(at, next((i for i in add.inputs if i != x), x), x, 3)
    return None if nodes is None else [*nodes, add]


def _power(at: Rewriter, value: str, x: str, exponent: int) -> list[Node] | None:
    """The nodes that make 0.044715 times so many x."""
    found = product_of(at, value)
    if not near(at, x, found.number, 0.044715):
        return None
    factors, nodes = [], list(found.nodes)
    for f in found.factors:
        pow_ = at.maker(f, "Pow") if at.sole(f) else None
        power = at.number(pow_.inputs[1]) if pow_ is not None and pow_.inputs[0] == x else None
        if pow_ is not None and power in (2, 3):
            factors += [x] * int(power)
            nodes.append(pow_)
        else:
            factors.append(f)
    return nodes if factors == [x] * exponent else None


spelled_out = Rules(swish, mish, hard, gelu)
