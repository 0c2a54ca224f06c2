"""Transposed convolutions take up the affine maps of channels after them."""
from __future__ import annotations

import numpy as np

from ..graph import Node
from ..record import replace
from .affine import WIDE, affine_of
from .rewrite import Rewriter, Rules, rule


@rule("ConvTranspose")
def transposed(node: Node, at: Rewriter) -> bool:
    """ConvTranspose by constants and what scales and shifts its channels become one."""
    source, weights, *others = [i for i in node.inputs if i]
    kernel, shift = at.constant(weights), at.constant(others[0]) if others else np.zeros(1)
    if kernel is None or shift is None or at.type(source) not in WIDE or node.attributes["group"] != 1:
        return False
    w, bias = kernel.astype(np.float64), shift.astype(np.float64)
    output, gone = node.outputs[0], [node]
    while (after := at.sole(output)) is not None and (affine := affine_of(after, output, at)) is not None:
        w = w * np.broadcast_to(affine.scale, w.shape[1]).reshape(-1, *(1,) * (w.ndim - 2))
        bias = bias * affine.scale + affine.shift
        output = after.outputs[0]
        gone.append(after)
    if len(gone) == 1:
        return False
    bias = np.broadcast_to(bias, w.shape[1])
    inputs = [source, *(at.store(weights, a.astype(kernel.dtype)) for a in (w, bias))]
    at.replace(gone, [replace(node, inputs=inputs, outputs=[output])])
    return True


fuse_transposed_convolutions = Rules(transposed)
