"""Chooses layouts: convolutions, and what stands between them, work on channels in blocks of eight.

A blocked value has a shape of its own, (N, blocks, H, W, 8), so that elementwise operators take it as it is. Operators that
need the plain layout get it back, once a value.
"""
from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..graph import Node
from ..kernels.blocked import takes
from ..ops.fused.blocked import OCTET
from .activation import activation_of
from .line import is_line
from .rewrite import Rewriter

FEW = 4     # channels, up to which a first convolution reads them where they lie
LEAST = 5   # output channels, below which blocks, mostly empty, are worth it only where the input has them
# What keeps zero finite, so that the lanes beyond the channels stay so.
UNARY = frozenset(("Relu", "LeakyRelu", "Clip", "HardSigmoid", "HardSwish", "Sigmoid", "Tanh", "Swish", "Gelu", "Mish", "Elu",
                   "Selu", "Celu", "Softplus", "Softsign", "ThresholdedRelu", "Abs", "Neg", "Sqrt", "Erf", "Floor", "Ceil",
                   "Round", "Sign", "Dropout", "Identity"))
BINARY = frozenset(("Add", "Sub", "Mul", "Max", "Min", "Sum", "PRelu"))
POOLS = {"MaxPool": "BlockedMaxPool", "AveragePool": "BlockedAveragePool", "LpPool": "BlockedLpPool",
         "GlobalAveragePool": "BlockedGlobalAveragePool", "GlobalMaxPool": "BlockedGlobalMaxPool"}


class Layout:
    """One graph on its way to blocked values: which values have a blocked form, and which have the plain one."""

    def __init__(self, at: Rewriter):
        self.at = at
        self.blocked: dict[str, str] = {}
        self.unmade: set[str] = set()  # plain values that so far exist as blocked ones only
        self.taken: list[Node] = []  # nodes behind the one at hand that its blocked form takes up
        self.ways: dict[str, Callable[[Node], Node | None]] = {
            "Conv": self.convolution, "FusedConv": self.convolution, "Concat": self.concatenation, "LRN": self.response,
            "Scale": self.scale, "ConvTranspose": self.transposed,
            "Resize": self.resize, **dict.fromkeys(UNARY, self.unary), **dict.fromkeys(BINARY, self.binary),
            **dict.fromkeys(POOLS, self.pool)}

    def run(self) -> None:
        at = self.at
        for node in at.nodes():
            way = self.ways.get(node.schema.name) if at.is_a(node, node.schema.name) else None
            made = way(node) if way is not None and self.is_image(node) else None
            if made is None:
                self.unblock(node)
                continue
            gone, self.taken = [node, *self.taken], []
            output = gone[-1].outputs[0]
            if made.outputs[0] != output:
                self.blocked[output] = made.outputs[0]
                self.unmade.add(output)
            at.replace(gone, [made])
        last = [self.plain(o) for o in sorted(self.unmade & at.outputs)]
        at.append(last)
        at.layouts |= {blocked: plain for plain, blocked in self.blocked.items()}

    def is_image(self, node: Node) -> bool:
        """Whether a node makes one value of (N, C, H, W) in float32."""
        shape = self.at.shape(node.outputs[0])
        return (len(node.outputs) == 1 and shape is not None and len(shape) == 4 and isinstance(shape[1], int)
                and self.at.type(node.outputs[0]) == "tensor(float)")

    def channels(self, value: str) -> int | None:
        """The channels of an image; None where a value is none, or has an unknown number of them."""
        shape = self.at.shape(value)
        found = shape[1] if shape is not None and len(shape) == 4 else None
        return found if isinstance(found, int) else None

    def plain(self, value: str) -> Node:
        """The node that brings a value back to the plain layout."""
        self.unmade.discard(value)
        maker = self.at.maker(self.blocked[value])
        assert maker is not None
        return self.at.make("Unblock", [self.blocked[value]], [value], like=maker, channels=self.channels(value))

    def unblock(self, node: Node) -> None:
        """Give a node in the plain layout what it reads."""
        for i in dict.fromkeys(node.inputs):
            if i in self.unmade:
                self.at.insert(self.plain(i), node)

    def as_blocked(self, value: str, node: Node) -> str:
        """The blocked form of what a node reads."""
        if value not in self.blocked:
            source, groups = self.shuffled(value) or (value, 1)
            made = self.at.make("Block", [source], like=node, groups=groups)
            self.at.insert(made, node)
            self.blocked[value] = made.outputs[0]
        return self.blocked[value]

    def shuffled(self, value: str) -> tuple[str, int] | None:
        """The plain value whose channels, in so many groups, are shuffled to this one, the first of each group first."""
        at, last = self.at, self.at.maker(value, "Reshape")
        swap = at.maker(last.inputs[0], "Transpose") if last is not None else None
        first = at.maker(swap.inputs[0], "Reshape") if swap is not None else None
        if first is None or swap is None or tuple(swap.attributes["perm"] or ()) != (0, 2, 1, 3, 4):
            return None
        source = first.inputs[0]
        shape, split, whole = (at.shape(v) for v in (source, first.outputs[0], value))
        if shape is None or split is None or shape != whole or len(shape) != 4 or source in self.unmade:
            return None
        groups, each = split[1:3]
        if not isinstance(groups, int) or not isinstance(each, int) or split != (shape[0], groups, each, *shape[2:]):
            return None
        return (source, groups) if groups * each == shape[1] else None

    # What each operator becomes, or None where it stays as it is

    def convolution(self, node: Node) -> Node | None:
        x, w, bias, residual = [*node.inputs, "", ""][:4]
        weights, group = self.at.constant(w), node.attributes["group"]
        if weights is None or self.channels(x) is None or (weights.shape[0] < LEAST and x not in self.blocked):
            return None
        if x not in self.blocked and is_line(node, self.at):
            return None
        direct = x not in self.blocked and group == 1 and weights.shape[1] <= FEW
        if not takes(weights.shape, group, not direct):
            return None
        inputs = [x if direct else self.as_blocked(x, node), w, bias, self.as_blocked(residual, node) if residual else ""]
        return self.at.make("BlockedConv", inputs, like=node, **node.attributes, exact=int(self.at.exact))

    def transposed(self, node: Node) -> Node | None:
        """A transposed convolution whose kernel is as large as its stride, with the activation after it."""
        given, (x, w, *bias), at = node.attributes, node.inputs, self.at
        weights = at.constant(w)
        if weights is None or self.channels(x) is None or weights.shape[2:] != tuple(given["strides"] or ()):
            return None
        if given["auto_pad"] not in ("NOTSET", "VALID") or given["group"] != 1 or given["output_shape"]:
            return None
        if any(given["pads"] or ()) or any(given["output_padding"] or ()) or any(d != 1 for d in given["dilations"] or ()):
            return None
        after, output = at.sole(node.outputs[0]), node.outputs[0]
        activation = activation_of(after, at)
        if after is not None and activation is not None:
            self.taken, output = [after], after.outputs[0]
        plain = weights.shape[1] < LEAST
        return at.make("BlockedConvTranspose", [self.as_blocked(x, node), w, *bias], [output] if plain else None, like=node,
                       to_plain=int(plain), **(activation.attributes if activation is not None else {}))

    def unary(self, node: Node) -> Node | None:
        if node.inputs[0] not in self.blocked or any(i in self.blocked for i in node.inputs[1:]):
            return None
        return self.at.again(node, [self.blocked[node.inputs[0]], *node.inputs[1:]])

    def binary(self, node: Node) -> Node | None:
        shape = self.at.shape(node.outputs[0]) or ()
        if not any(i in self.blocked for i in node.inputs) or node.schema.since < 7 and node.schema.name != "Sum":
            return None
        gated = self.gate(node)
        if gated is not None:
            return gated
        ready = [self.operand(i, shape[1]) for i in node.inputs]
        if not all(ready):
            return None
        return self.at.again(node, [made(node) for made in ready if made is not None])

    def gate(self, node: Node) -> Node | None:
        """A product with one number for each channel of each image, as squeeze and excitation writes it."""
        if node.schema.name != "Mul":
            return None
        for x, gate in (node.inputs, node.inputs[::-1]):
            (shape, of_gate) = (self.at.shape(v) or () for v in (x, gate))
            if x in self.blocked and gate in self.blocked and of_gate == (*shape[:2], 1, 1):
                return self.at.make("BlockedScale", [self.blocked[x], self.blocked[gate]], like=node)
        return None

    def operand(self, value: str, channels: object) -> Callable[[Node], str] | None:
        """How an operand of an elementwise operator comes to stand beside blocked ones."""
        at, constant = self.at, self.at.constant(value)
        if constant is not None and constant.size == 1 and constant.ndim <= 4:
            return lambda node: value
        if constant is not None:
            sizes = (1,) * (4 - constant.ndim) + constant.shape
            if constant.ndim > 4 or sizes != (1, channels, 1, 1):
                return None
            return lambda node: at.store(value, octets(constant.reshape(-1)).reshape(1, -1, 1, 1, OCTET))
        if self.channels(value) == channels:
            return lambda node: self.as_blocked(value, node)
        return None

    def pool(self, node: Node) -> Node | None:
        if node.inputs[0] not in self.blocked:
            return None
        given = {k: v for k, v in node.attributes.items() if k != "storage_order" and v is not None}
        if node.schema.name == "LpPool" and given["p"] not in (1, 2, 3):
            return None
        return self.at.make(POOLS[node.schema.name], [self.blocked[node.inputs[0]]], like=node, **given)

    def concatenation(self, node: Node) -> Node | None:
        """Whole blocks, but for the last input, stand one after the other."""
        channels = [self.channels(i) for i in node.inputs]
        inside = sum(i in self.blocked for i in node.inputs)
        whole = all(c is not None and c % OCTET == 0 for c in channels[:-1]) and channels[-1] is not None
        if node.attributes["axis"] not in (1, -3) or not whole or 2 * inside < len(node.inputs):
            return None
        return self.at.again(node, [self.as_blocked(i, node) for i in node.inputs], axis=1)

    def response(self, node: Node) -> Node | None:
        x = node.inputs[0]
        if x not in self.blocked:
            return None
        return self.at.make("BlockedLRN", [self.blocked[x]], like=node, **node.attributes, channels=self.channels(x))

    def resize(self, node: Node) -> Node | None:
        """Places change, channels do not; sizes that only a run tells would end the program before this node."""
        x, given, old = node.inputs[0], node.attributes, node.schema.since == 10
        before, after = (self.at.shape(v) or () for v in (x, node.outputs[0]))
        cropped = given.get("coordinate_transformation_mode") == "tf_crop_and_resize"
        if x not in self.blocked or before[:2] != after[:2] or cropped:
            return None
        others = node.inputs[1 if old else 2:]
        facts = [self.at.fact(i) for i in others if i]
        if any(f is None or f.value is None for f in facts):
            return None
        there = [i if i and np.size(self.at.facts[i].value) else "" for i in others]
        attributes = given | ({"nearest_mode": "simple"} if old else {})
        return self.at.make("BlockedResize", [self.blocked[x], *there], like=node, **attributes)

    def scale(self, node: Node) -> Node | None:
        if node.inputs[0] not in self.blocked:
            return None
        vectors = [self.at.store(i, octets(self.at.constants[i])) for i in node.inputs[1:]]
        return self.at.make("BlockedScale", [self.blocked[node.inputs[0]], *vectors], like=node, **node.attributes)


def octets(vector: np.ndarray) -> np.ndarray:
    """One number a channel, with zeros up to whole blocks."""
    padded = np.zeros(-(-vector.size // OCTET) * OCTET, vector.dtype)
    padded[:vector.size] = vector
    return padded


def choose_layouts(at: Rewriter) -> None:
    """Let images of a graph be blocked where that pays."""
    Layout(at).run()
