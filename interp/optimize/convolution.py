"""Convolutions take up what stands around them: padding, batch normalization and other affine maps, a sum, an activation."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..graph import Node
from ..record import field, record
from .activation import Activation, activation_of
from .affine import WIDE, Affine, affine_of
from .rewrite import Rewriter, Rules, rule


@record
class Fused:
    """A convolution that grows by the nodes after it."""

    node: Node
    output: str
    weights: np.ndarray | None
    bias: np.ndarray | None
    gone: list[Node] = field(default_factory=list)
    residual: str = ""
    activation: Activation = field(default_factory=lambda: Activation(""))
    folded: bool = False
    pads: Any = None

    def grow(self, at: Rewriter) -> bool:
        """Take up the one node that reads the result, if that can be."""
        after = at.sole(self.output)
        if after is None or self.activation.name:
            return False
        affine = None if self.residual or self.weights is None else affine_of(after, self.output, at)
        if affine is not None:
            self.fold(affine)
        elif not self.residual and (other := self._summed(after, at)):
            self.residual = other
        elif (found := activation_of(after, at)) is not None:
            self.activation = found
        else:
            return False
        self.gone.append(after)
        self.output = after.outputs[0]
        return True

    def fold(self, affine: Affine) -> None:
        """Take up an affine map of the channels into weights and bias."""
        assert self.weights is not None
        channels = self.weights.shape[0]
        scale = np.broadcast_to(affine.scale, channels)
        bias = np.zeros(channels) if self.bias is None else self.bias
        self.bias = bias * scale + affine.shift
        self.weights = self.weights * scale.reshape(-1, *(1,) * (self.weights.ndim - 1))
        self.folded = True

    def _summed(self, after: Node, at: Rewriter) -> str:
        """What else a node adds to the result, if it is of the same shape."""
        if not at.is_a(after, "Add", "Sum") or len(after.inputs) != 2:
            return ""
        other = after.inputs[after.inputs[0] == self.output]
        alike = at.shape(other) == at.shape(self.output) and at.shape(other) is not None
        return other if alike and other != self.output and other not in at.constants else ""


@rule("Conv")
def convolution(node: Node, at: Rewriter) -> bool:
    """Conv with what comes before and after it becomes one FusedConv."""
    kind = at.type(node.inputs[0])
    if kind not in WIDE or at.shape(node.inputs[0]) is None:
        return False
    weights, bias = at.constant(node.inputs[1]), None
    if len(node.inputs) > 2:
        bias = at.constant(node.inputs[2])
    known = weights is not None and (bias is not None or len(node.inputs) < 3)
    fused = Fused(node, node.outputs[0], weights.astype(np.float64) if known and weights is not None else None,
                  None if bias is None else bias.astype(np.float64), [node])
    source = padded(fused, at)
    while fused.grow(at):
        pass
    if len(fused.gone) == 1:
        return False
    at.replace(fused.gone, [written(fused, source, at)])
    return True


def written(fused: Fused, source: str, at: Rewriter) -> Node:
    """The node that a grown convolution comes to."""
    node = fused.node
    inputs = [source, *node.inputs[1:3]]
    if fused.folded and fused.weights is not None and fused.bias is not None:
        old = at.constants[node.inputs[1]]
        inputs = [source, at.store(node.inputs[1], fused.weights.astype(old.dtype)),
                  at.store(f"{node.inputs[1]}/bias", fused.bias.astype(old.dtype))]
    inputs += [""] * (3 - len(inputs)) + [fused.residual]
    attributes = node.attributes | ({"auto_pad": "NOTSET", "pads": fused.pads} if fused.pads else {})
    return at.make("FusedConv", inputs, [fused.output], like=node, **attributes, **fused.activation.attributes)


def padded(fused: Fused, at: Rewriter) -> str:
    """The value that the convolution reads; where that is only padded with zeros, the one before, with wider pads."""
    node = fused.node
    source = node.inputs[0]
    pad = at.maker(source, "Pad")
    if pad is None or at.sole(source) is not node or node.attributes["auto_pad"] not in ("NOTSET", "VALID"):
        return source
    more = zeros_around(pad, at)
    if more is None:
        return source
    own = node.attributes["pads"] if node.attributes["auto_pad"] == "NOTSET" and node.attributes["pads"] else (0,) * len(more)
    fused.pads = tuple(int(a + b) for a, b in zip(own, more, strict=True))
    fused.gone.insert(0, pad)
    return pad.inputs[0]


def zeros_around(pad: Node, at: Rewriter) -> tuple[int, ...] | None:
    """How many zeros a Pad puts before and after each spatial axis; None where it does something else."""
    given, inputs = pad.attributes, [*pad.inputs, "", "", ""]
    rank = len(at.shape(pad.inputs[0]) or ())
    if given["mode"] != "constant" or inputs[3]:
        return None
    fixed = given.get("pads", given.get("paddings"))
    widths = at.constant(inputs[1]) if fixed is None else fixed
    value = given["value"] if fixed is not None else at.number(inputs[2]) if inputs[2] else 0
    if widths is None or value != 0 or len(widths) != 2 * rank or rank < 3:
        return None
    before, after = [int(w) for w in widths[:rank]], [int(w) for w in widths[rank:]]
    if any(before[:2]) or any(after[:2]) or min(*before, *after) < 0:
        return None
    return (*before[2:], *after[2:])


fuse_convolutions = Rules(convolution)
