"""Derivatives of sums and means, of softmax, and of losses."""
from __future__ import annotations

from ..graph import Node
from .tape import Tape, derivative


def spread(t: Tape, node: Node, dy: str) -> str:
    """The gradient of a reduction along the axes that it folded, which may be gone."""
    x = node.inputs[0]
    kept = t.Reshape(dy, t.Shape(_again(t, node)), allowzero=1) if not node.attributes["keepdims"] else dy
    return t.Expand(kept, t.Shape(x))


def _again(t: Tape, node: Node) -> str:
    """The reduction with its axes kept, as sizes of 1."""
    return t.write(node.schema, node.inputs, {**node.attributes, "keepdims": 1})


@derivative("ReduceSum")
def reduce_sum(t, node, dy):
    return [lambda: spread(t, node, dy)]


@derivative("ReduceMean")
def reduce_mean(t, node, dy):
    def back():
        x, y = node.inputs[0], node.outputs[0]
        return t.Mul(spread(t, node, dy), t.Div(t.CastLike(t.Size(y), x), t.CastLike(t.Size(x), x)))
    return [back]


@derivative("ReduceSumSquare")
def reduce_sum_square(t, node, dy):
    return [lambda: t.Mul(spread(t, node, dy), t.scaled(node.inputs[0], 2))]


@derivative("ReduceMax", "ReduceMin")
def reduce_extreme(t, node, dy):
    """The gradient goes to the extreme elements, to equal ones in equal parts."""
    def back():
        x, best = node.inputs[0], _again(t, node)
        hits = t.CastLike(t.Equal(x, best), x)
        return t.Div(t.Mul(spread(t, node, dy), hits), t.SumTo(hits, best))
    return [back]


def along(t: Tape, node: Node, x: str) -> str:
    """Sums along a softmax's axis; before version 13 along all from its axis on."""
    axis = node.attributes["axis"]
    if node.schema.since >= 13:
        return t.ReduceSum(x, t.constant([axis]))
    folded = t.ReduceSum(t.Flatten(x, axis=axis), t.constant([1]))
    return t.Reshape(t.Expand(folded, t.Shape(t.Flatten(x, axis=axis))), t.Shape(x), allowzero=1)


@derivative("Softmax")
def softmax(t, node, dy):
    def back():
        y = node.outputs[0]
        each = t.Mul(dy, y)
        return t.Sub(each, t.Mul(y, along(t, node, each)))
    return [back]


@derivative("LogSoftmax")
def log_softmax(t, node, dy):
    return [lambda: t.Sub(dy, t.Mul(t.Exp(node.outputs[0]), along(t, node, dy)))]


@derivative("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def loss(t, node, dy, d_logs=None):
    scores, target, weight = [*node.inputs, ""][:3]
    softmax = node.schema.name == "SoftmaxCrossEntropyLoss"

    def back():
        found = []
        if dy is not None:
            found.append(t.LossGradient(dy, scores, target, weight, softmax=int(softmax), **node.attributes))
        if d_logs is not None:
            total = t.ReduceSum(d_logs, t.constant([1]))
            found.append(t.Sub(d_logs, t.Mul(t.Exp(node.outputs[1]), total)))
        return t.total(found)
    return [back]
