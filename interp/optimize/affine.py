"""Affine maps of channels by constants: batch normalization, sums and products; several in a row become one."""
from __future__ import annotations

import numpy as np

from ..graph import Node
from ..record import record
from ..types import DTYPE
from .activation import activation_of
from .rewrite import Rewriter, Rules, rule

WIDE = ("tensor(float)", "tensor(double)")  # in narrower types every operator rounds, so that one for several differs


@record
class Affine:
    """x * scale + shift, with a number each for all channels or for every one."""

    scale: np.ndarray
    shift: np.ndarray

    def after(self, first: Affine) -> Affine:
        """This map of what another gives."""
        return Affine(first.scale * self.scale, first.shift * self.scale + self.shift)

    def held(self, kind: str) -> bool:
        """Whether a type has its numbers: 0 times infinity is no number, where 0 times two large ones in a row is 0."""
        with np.errstate(over="ignore"):
            return all(np.isfinite(a.astype(DTYPE[kind])).all() for a in (self.scale, self.shift))


def affine_of(node: Node | None, value: str, at: Rewriter) -> Affine | None:
    """What a node does to a value, if that is an affine map of each channel by constants."""
    if node is None or not at.is_a(node, "BatchNormalization", "Add", "Sub", "Mul", "Div"):
        return None
    found = normalization(node, value, at) if node.schema.name == "BatchNormalization" else arithmetic(node, value, at)
    return found if found is not None and found.held(at.type(value)) else None


def arithmetic(node: Node, value: str, at: Rewriter) -> Affine | None:
    """A sum, difference, product or quotient of a value and a constant with a number for all channels or for each."""
    if node.attributes.get("axis") is not None:  # before version 7 the axes of the constant may lie anywhere
        return None
    a, b = node.inputs
    if (a == value) == (b == value):
        return None
    other = by_channel(b if a == value else a, value, at)
    if other is None:
        return None
    one, zero = np.ones(1), np.zeros(1)
    if node.schema.name == "Add":
        return Affine(one, other)
    if node.schema.name == "Mul":
        return Affine(other, zero)
    if node.schema.name == "Sub":
        return Affine(one, -other) if a == value else Affine(-one, other)
    return Affine(1 / other, zero) if a == value and np.all(other != 0) else None


def by_channel(name: str, value: str, at: Rewriter) -> np.ndarray | None:
    """A constant with a number for all channels of a value or one for each, as a vector of doubles; None if it is another."""
    found, shape = at.constant(name), at.shape(value)
    if found is None or shape is None or len(shape) < 3 or found.ndim > len(shape) or at.type(name) not in WIDE:
        return None
    sizes = (1,) * (len(shape) - found.ndim) + found.shape
    if any(n != 1 for axis, n in enumerate(sizes) if axis != 1) or sizes[1] not in (1, shape[1]):
        return None
    return found.reshape(-1).astype(np.float64)


def normalization(node: Node, value: str, at: Rewriter) -> Affine | None:
    """BatchNormalization by constants, as it is after training."""
    given = node.attributes
    constants = [at.constant(i) for i in node.inputs[1:5]]
    trains = given.get("training_mode") or (node.schema.since < 7 and not given.get("is_test"))
    if trains or given.get("spatial") == 0 or len([o for o in node.outputs if o]) != 1 or node.inputs[0] != value:
        return None
    if any(c is None for c in constants):
        return None
    scale, shift, mean, variance = (c.astype(np.float64) for c in constants if c is not None)
    with np.errstate(all="ignore"):
        factor = scale / np.sqrt(variance + given["epsilon"])
    return Affine(factor, shift - mean * factor)


@rule("BatchNormalization", "Mul", "Add", "Sub", "Div")
def scale(node: Node, at: Rewriter) -> bool:
    """A normalization, or several affine maps in a row, and the activation after them become one Scale."""
    source = next((i for i in node.inputs if i not in at.constants), "")
    shape = at.shape(source)
    if at.type(source) != "tensor(float)" or shape is None or len(shape) < 3 or not isinstance(shape[1], int):
        return False
    total, gone, output = Affine(np.ones(1), np.zeros(1)), [], source
    after: Node | None = node
    while after is not None and (affine := affine_of(after, output, at)) is not None and after.outputs[0]:
        longer = affine.after(total)
        if not longer.held("tensor(float)"):
            break
        total, output = longer, after.outputs[0]
        gone.append(after)
        after = at.sole(output)
    if not gone or len(gone) == 1 and not at.is_a(node, "BatchNormalization"):
        return False
    activation = activation_of(after, at)
    if activation is not None and after is not None:
        gone.append(after)
        output = after.outputs[0]
    channels = shape[1]
    vectors = [at.store(node.name, np.broadcast_to(v, (channels,)).astype(np.float32)) for v in (total.scale, total.shift)]
    at.replace(gone, [at.make("Scale", [source, *vectors], [output], like=node,
                              **(activation.attributes if activation is not None else {}))])
    return True


fuse_affine_maps = Rules(scale)
