"""Activations as fused operators take them: a name, and two settings."""
from __future__ import annotations

from math import inf
from typing import Any

from ..graph import Node
from ..record import record
from .rewrite import Rewriter

PLAIN = frozenset(("Relu", "Sigmoid", "Tanh", "HardSwish", "Mish"))
SET = frozenset(("LeakyRelu", "HardSigmoid", "Swish", "Elu"))


@record(frozen=True)
class Activation:
    """The name that kernels know it by, and the operator's alpha and beta; of Clip the least and the greatest."""

    name: str
    alpha: float = 0.0
    beta: float = 0.0

    @property
    def attributes(self) -> dict[str, Any]:
        """As attributes of a fused operator."""
        return {"activation": self.name, "alpha": self.alpha, "beta": self.beta}


def activation_of(node: Node | None, at: Rewriter) -> Activation | None:
    """What a node does, if it is an activation that fused operators know, of its first input, with settings that are known."""
    if node is None or not at.is_a(node, *PLAIN, *SET, "Clip", "Gelu"):
        return None
    name, given = node.schema.name, node.attributes
    if name in PLAIN:
        return Activation(name)
    if name == "Gelu":
        return Activation("GeluTanh" if given["approximate"] == "tanh" else "Gelu")
    if name == "Clip":
        return clip(node, at)
    return Activation(name, float(given["alpha"]), float(given.get("beta") or 0))


def clip(node: Node, at: Rewriter) -> Activation | None:
    """Clip, whose limits are attributes before version 11 and inputs after that."""
    limits = []
    for i, (name, default) in enumerate((("min", -inf), ("max", inf)), 1):
        if name in node.attributes:
            limits.append(default if node.attributes[name] is None else float(node.attributes[name]))
        elif len(node.inputs) > i and node.inputs[i]:
            found = at.number(node.inputs[i])
            if found is None:
                return None
            limits.append(float(found))
        else:
            limits.append(default)
    return Activation("Clip", *limits)
