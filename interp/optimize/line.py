"""Convolutions along one axis are left to the operator that knows faster ways for them."""
from __future__ import annotations

from ..graph import Node
from .rewrite import PRIVATE, Rewriter, Rules, rule


def is_line(node: Node, at: Rewriter) -> bool:
    """Whether a convolution by constant weights has one axis, or others of size 1 alone."""
    x, y, w = at.shape(node.inputs[0]), at.shape(node.outputs[0]), at.constant(node.inputs[1])
    if x is None or y is None or w is None or at.type(node.inputs[0]) != "tensor(float)" or node.attributes["group"] != 1:
        return False
    return sum(not (m == k == n == 1) for m, k, n in zip(x[2:], w.shape[2:], y[2:], strict=True)) <= 1


@rule("Conv")
@rule("FusedConv", domain=PRIVATE)
def line(node: Node, at: Rewriter) -> bool:
    """A convolution along one axis becomes LineConv."""
    if not is_line(node, at):
        return False
    at.replace([node], [at.make("LineConv", node.inputs, node.outputs, like=node, exact=int(at.exact), **node.attributes)])
    return True


lines = Rules(line)
