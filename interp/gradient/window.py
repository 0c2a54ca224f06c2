"""Derivatives of pools: each window hands its gradient back."""
from __future__ import annotations

from .tape import derivative


@derivative("MaxPool")
def max_pool(t, node, dy):
    x = node.inputs[0]
    place = {"storage_order": 0, "ceil_mode": 0, "dilations": None}
    attributes = {**place, **node.attributes, "storage_order": 0}
    return [lambda: t.MaxPoolGradient(dy, x, t.several("MaxPool", 2, x, **attributes)[1])]


@derivative("AveragePool")
def average_pool(t, node, dy):
    return [lambda: t.AveragePoolGradient(dy, node.inputs[0], **node.attributes)]


@derivative("GlobalAveragePool")
def global_average_pool(t, node, dy):
    def back():
        x, y = node.inputs[0], node.outputs[0]
        return t.Mul(t.Expand(dy, t.Shape(x)), t.Div(t.CastLike(t.Size(y), x), t.CastLike(t.Size(x), x)))
    return [back]
