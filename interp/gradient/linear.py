"""Derivatives of matrix products and convolutions."""
from __future__ import annotations

from ..graph import Node
from .tape import Tape, derivative


@derivative("MatMul")
def matmul(t, node, dy):
    """Products with the other factor transposed; a vector counts as a matrix of one row or one column."""
    a, b = node.inputs
    return [lambda: t.MatMulGradient(dy, a, b, left=1), lambda: t.MatMulGradient(dy, b, a, left=0)]


@derivative("MatMulGradient", domain="interp")
def matmul_gradient(t, node, dy):
    """A product with one factor transposed is linear in both, too."""
    gradient, _, other = node.inputs
    left = node.attributes["left"]
    return [lambda: t.MatMul(dy, other) if left else t.MatMul(other, dy), None,
            lambda: t.MatMulGradient(gradient, other, dy, left=1 - left)]


@derivative("Gemm", since=7)
def gemm(t: Tape, node: Node, dy: str):
    a, b, c = [*node.inputs, ""][:3]
    alpha, beta, ta, tb = (node.attributes[k] for k in ("alpha", "beta", "transA", "transB"))

    def by_a():
        return t.Gemm(b, dy, alpha=alpha, transA=tb, transB=1) if ta else t.Gemm(dy, b, alpha=alpha, transB=1 - tb)

    def by_b():
        return t.Gemm(dy, a, alpha=alpha, transA=1, transB=ta) if tb else t.Gemm(a, dy, alpha=alpha, transA=1 - ta)
    return [by_a, by_b, lambda: t.SumTo(t.scaled(dy, beta), c)]


@derivative("Conv")
def conv(t, node, dy):
    x, w = node.inputs[:2]

    def by_bias():
        per_channel = t.Reshape(t.ReduceSum(dy, t.constant([0]), keepdims=0), t.constant([0, -1]))
        return t.ReduceSum(per_channel, t.constant([1]), keepdims=0)
    return [lambda: t.ConvInputGradient(dy, x, w, **node.attributes), lambda: t.ConvWeightGradient(dy, w, x, **node.attributes),
            by_bias]
