"""What follows a matrix product, or turns and scales its factors, goes into one operator with it."""
from __future__ import annotations

from typing import Any

from ..graph import Node
from .activation import activation_of
from .rewrite import Rewriter, Rules, rule

TYPES = ("tensor(float)", "tensor(double)")
# Cheap enough for the registers of a product; curves are faster in rows of their own.
CHEAP = ("Relu", "LeakyRelu", "Clip", "HardSigmoid", "HardSwish")


def _matrices(node: Node, at: Rewriter) -> bool:
    """Whether a product is one of matrices of a type that is calculated as it is."""
    shapes = [at.shape(i) for i in node.inputs[:2]]
    return at.type(node.outputs[0]) in TYPES and all(s is not None and len(s) >= 2 for s in shapes)


def _transposed(value: str, at: Rewriter) -> str | None:
    """What a Transpose of the last two axes alone turns."""
    node = at.maker(value, "Transpose")
    perm = node.attributes["perm"] if node is not None else None
    if node is None or perm is None or len(perm) < 2:
        return None
    rank = len(perm)
    return node.inputs[0] if tuple(perm) == (*range(rank - 2), rank - 1, rank - 2) else None


@rule("MatMul")
def turned(node: Node, at: Rewriter) -> bool:
    """A transposed second factor is read as it lies."""
    if not _matrices(node, at):
        return False
    b = _transposed(node.inputs[1], at)
    if b is None:
        return False
    at.replace([node], [at.make("FusedMatMul", [node.inputs[0], b], node.outputs, like=node, transB=1)])
    return True


def _fused(node: Node) -> tuple[list[str], dict[str, Any]] | None:
    """The four inputs and the settings that FusedMatMul needs for a product."""
    names = [*node.inputs, "", "", ""][:4]
    if node.schema.name == "MatMul":
        return names, {}
    settings = dict(node.attributes)
    if node.schema.name == "Gemm":
        if settings.pop("broadcast", None) is not None:
            return None
        return names, {k: settings[k] for k in ("alpha", "beta", "transA", "transB")}
    return names, settings


def _grow(node: Node, after: Node, at: Rewriter, extra: dict[int, str] | None = None, **settings: Any) -> bool:
    """Put a FusedMatMul in the place of a product and what follows it."""
    found = _fused(node)
    if found is None:
        return False
    names, known = found
    for place, value in (extra or {}).items():
        names[place] = value
    at.replace([node, after], [at.make("FusedMatMul", names, after.outputs, like=node, **{**known, **settings})])
    return True


@rule("MatMul", "Gemm", domain="")
def added(node: Node, at: Rewriter) -> bool:
    return _added(node, at)


@rule("FusedMatMul", domain="interp")
def added_more(node: Node, at: Rewriter) -> bool:
    return _added(node, at)


def _added(node: Node, at: Rewriter) -> bool:
    """A bias, or a value of the result's shape, added to a product that nothing else reads."""
    y = node.outputs[0]
    add = at.sole(y, "Add")
    found = _fused(node)
    if (add is None or found is None or add.attributes.get("broadcast") is not None or not _matrices(node, at)
            or at.shape(add.outputs[0]) != at.shape(y) or found[1].get("activation")):
        return False
    other = next((i for i in add.inputs if i != y), "")
    shape, due = at.shape(other) if other else None, at.shape(y)
    if shape is None or due is None:
        return False
    if not found[0][2] and not found[0][3] and len(shape) <= 2:
        return _grow(node, add, at, {2: other}, beta=1.0)
    if not found[0][3] and shape == due:
        return _grow(node, add, at, {3: other})
    return False


@rule("MatMul", "Gemm", domain="")
def activated(node: Node, at: Rewriter) -> bool:
    return _activated(node, at)


@rule("FusedMatMul", domain="interp")
def activated_more(node: Node, at: Rewriter) -> bool:
    return _activated(node, at)


def _activated(node: Node, at: Rewriter) -> bool:
    """A cheap activation of a product that nothing else reads."""
    after = at.sole(node.outputs[0])
    found = _fused(node)
    if after is None or found is None or found[1].get("activation") or not _matrices(node, at):
        return False
    kind = activation_of(after, at)
    if kind is None or kind.name not in CHEAP:
        return False
    return _grow(node, after, at, activation=kind.name, act_alpha=kind.alpha, act_beta=kind.beta)


products = Rules(turned, added, added_more, activated, activated_more)
