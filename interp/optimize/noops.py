"""Takes out what changes nothing: copies, dropout after training, reshapes to the shape that is there, transposes in pairs."""
from __future__ import annotations

import numpy as np

from ..graph import Node
from ..record import replace
from .rewrite import Rewriter, Rules, rule

VIEWS = ("Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze")
NEUTRAL = {"Mul": 1, "Div": 1, "Sub": 0, "Pow": 1}  # not 0 for Add: -0 + 0 is 0


def passed_on(node: Node, at: Rewriter, source: str) -> bool:
    """Let who reads a node's first result read another value, which is the same; an output of the graph keeps its name."""
    out = node.outputs[0]
    if any(node.outputs[1:]):
        return False
    if out not in at.outputs:
        at.rename(out, source)
        at.replace([node], [])
        return True
    maker = at.maker(source)
    if maker is None or source in at.outputs or source not in maker.outputs:
        return False
    at.replace([node], [])
    at.rename(source, out)
    at.replace([maker], [replace(maker, outputs=[out if o == source else o for o in maker.outputs])])
    return True


def same_shape(node: Node, at: Rewriter, source: str) -> bool:
    """Whether a node's first result is known to have the shape of a value."""
    shape = at.shape(node.outputs[0])
    return shape is not None and shape == at.shape(source)


@rule("Identity")
def identity(node: Node, at: Rewriter) -> bool:
    """A copy."""
    return passed_on(node, at, node.inputs[0])


@rule("Dropout")
def dropout(node: Node, at: Rewriter) -> bool:
    """Dropout that leaves nothing out."""
    mode = node.inputs[2] if len(node.inputs) > 2 else ""
    trains = at.number(mode) != 0 if mode else node.schema.since < 7 and not node.attributes["is_test"]
    return not trains and passed_on(node, at, node.inputs[0])


@rule("Concat", "Sum", "Max", "Min", "Mean")
def of_one(node: Node, at: Rewriter) -> bool:
    """A concatenation or reduction of one tensor."""
    return len(node.inputs) == 1 and passed_on(node, at, node.inputs[0])


@rule("Cast", "CastLike")
def cast(node: Node, at: Rewriter) -> bool:
    """A conversion to the type that is there."""
    kind = at.type(node.inputs[0])
    return kind.startswith("tensor(") and kind == at.type(node.outputs[0]) and passed_on(node, at, node.inputs[0])


@rule("Expand", "Tile")
def spread(node: Node, at: Rewriter) -> bool:
    """A repetition that leaves the shape as it is."""
    return same_shape(node, at, node.inputs[0]) and passed_on(node, at, node.inputs[0])


@rule("Slice")
def slice_(node: Node, at: Rewriter) -> bool:
    """A slice forwards that has all there is."""
    steps = at.constant(node.inputs[4]) if len(node.inputs) > 4 and node.inputs[4] else np.ones(1)
    forwards = steps is not None and bool((steps > 0).all())
    return forwards and same_shape(node, at, node.inputs[0]) and passed_on(node, at, node.inputs[0])


@rule("Pad")
def pad(node: Node, at: Rewriter) -> bool:
    """Padding by nothing."""
    fixed = node.attributes.get("pads", node.attributes.get("paddings"))
    widths = fixed if fixed is not None else at.constant(node.inputs[1])
    return widths is not None and not np.any(widths) and passed_on(node, at, node.inputs[0])


@rule(*NEUTRAL)
def neutral(node: Node, at: Rewriter) -> bool:
    """Arithmetic with a number that changes nothing."""
    x, y = node.inputs
    if node.schema.name == "Mul" and at.number(x) == 1:
        x, y = y, x
    return at.number(y) == NEUTRAL[node.schema.name] and same_shape(node, at, x) and passed_on(node, at, x)


@rule(*VIEWS[1:])
def view(node: Node, at: Rewriter) -> bool:
    """A view with the shape of what it is a view of, near or far; of two reshapes the last one does."""
    source: str = node.inputs[0]
    while True:
        if same_shape(node, at, source) and passed_on(node, at, source):
            return True
        maker = at.maker(source, *VIEWS)
        if maker is None:
            break
        source = maker.inputs[0]
    if source == node.inputs[0] or node.schema.name != "Reshape" or len(node.inputs) < 2:
        return False
    wanted = at.constant(node.inputs[1])
    if wanted is None or (wanted == 0).any():
        return False
    at.redirect(node, [source, node.inputs[1]])
    return True


@rule("Transpose")
def transpose(node: Node, at: Rewriter) -> bool:
    """A transpose that leaves all axes where they are, or one after another."""
    shape = at.shape(node.inputs[0])
    if shape is None:
        return False
    order = permutation(node, len(shape))
    if order == tuple(range(len(shape))):
        return passed_on(node, at, node.inputs[0])
    before = at.maker(node.inputs[0], "Transpose")
    if before is None:
        return False
    first = permutation(before, len(shape))
    both = tuple(first[axis] for axis in order)
    if both == tuple(range(len(shape))) and passed_on(node, at, before.inputs[0]):
        return True
    at.replace([node], [replace(node, inputs=[before.inputs[0]], attributes={**node.attributes, "perm": both})])
    return True


def permutation(node: Node, rank: int) -> tuple[int, ...]:
    """The order that a Transpose gives to axes."""
    given = node.attributes["perm"]
    return tuple(range(rank))[::-1] if given is None else tuple(given)


drop_noops = Rules(identity, dropout, of_one, cast, spread, slice_, pad, neutral, view, transpose)
