"""Derivatives of operators that move elements: the gradients move back."""
from __future__ import annotations

import numpy as np

from ..graph import Node
from .tape import Tape, derivative


@derivative("Reshape", "Flatten", "Squeeze", "Unsqueeze")
def reshaped(t, node, dy):
    x = node.inputs[0]
    return [lambda: t.Reshape(dy, t.Shape(x), allowzero=1)]


@derivative("Transpose")
def transpose(t, node, dy):
    perm = node.attributes["perm"]
    return [lambda: t.Transpose(dy, perm=None if perm is None else tuple(int(i) for i in np.argsort(perm)))]


@derivative("Expand")
def expand(t, node, dy):
    return [lambda: t.SumTo(dy, node.inputs[0])]


@derivative("Concat", since=4)
def concat(t, node, dy):
    axis = node.attributes["axis"]
    sizes = [t.Gather(t.Shape(i), t.constant([axis])) for i in node.inputs]
    parts = t.several("Split", len(node.inputs), dy, t.Concat(*sizes, axis=0), axis=axis)
    return [lambda part=part: part for part in parts]


@derivative("Split", since=2)
def split(t, node, *due):
    x, axis = node.inputs[0], node.attributes["axis"]
    return [lambda: t.Concat(*(d or t.zeros(o) for d, o in zip(due, node.outputs, strict=True)), axis=axis)] if x else []


@derivative("Gather")
def gather(t, node, dy):
    x, indices = node.inputs
    return [lambda: t.GatherGradient(dy, x, indices, axis=node.attributes["axis"])]


@derivative("Slice", since=10)
def slice_(t: Tape, node: Node, dy: str):
    """Positions, sliced like the elements, say where the gradients belong."""
    x, *bounds = node.inputs

    def back():
        count = t.Size(x)
        places = t.Reshape(t.Range(t.constant(0), count, t.constant(1)), t.Shape(x), allowzero=1)
        taken = t.Reshape(t.write(node.schema, [places, *bounds], {}), t.constant([-1]))
        flat = t.ScatterElements(t.Reshape(t.zeros(x), t.constant([-1])), taken, t.Reshape(dy, t.constant([-1])))
        return t.Reshape(flat, t.Shape(x), allowzero=1)
    return [back]


@derivative("SumTo", domain="interp")
def sum_to(t, node, dy):
    return [lambda: t.Expand(dy, t.Shape(node.inputs[0]))]


@derivative("GatherGradient", domain="interp")
def gather_gradient(t, node, dy):
    return [lambda: t.Gather(dy, node.inputs[2], axis=node.attributes["axis"])]
