"""Runs of elementwise operators become one loop, where nothing else reads what is between them."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..graph import Node
from ..types import FLOATS
from .activation import clip
from .rewrite import Rewriter

MOST_CALLS, MOST_OPERANDS = 24, 12

PAIRS = {"Add": "add", "Sub": "sub", "Mul": "mul", "Div": "div", "Max": "max", "Min": "min", "PRelu": "prelu"}
MAPS = {"Relu": "relu", "Abs": "abs", "Neg": "neg", "Sqrt": "sqrt", "Reciprocal": "reciprocal", "Floor": "floor", "Ceil": "ceil",
        "Round": "round", "Sign": "sign", "Exp": "exp", "Log": "log", "Sigmoid": "sigmoid", "Tanh": "tanh", "Erf": "erf",
        "HardSwish": "hard_swish", "Sin": "sin", "Cos": "cos", "Softplus": "softplus", "Softsign": "softsign", "Mish": "mish"}
SETTINGS: dict[str, tuple[str, tuple[str, ...]]] = {
    "LeakyRelu": ("leaky_relu", ("alpha",)), "Elu": ("elu", ("alpha",)), "Celu": ("celu", ("alpha",)),
    "Selu": ("selu", ("alpha", "gamma")), "HardSigmoid": ("hard_sigmoid", ("alpha", "beta")), "Swish": ("swish", ("alpha",)),
    "ThresholdedRelu": ("thresholded_relu", ("alpha",))}


def _clip(node: Node, at: Rewriter) -> tuple[Any, ...] | None:
    found = clip(node, at)
    return None if found is None else ("clip", found.alpha, found.beta)


def _power(node: Node, at: Rewriter) -> tuple[Any, ...] | None:
    exponent = at.number(node.inputs[1])
    alike = at.shape(node.inputs[0]) == at.shape(node.outputs[0])  # an exponent of more axes gives them to the result
    return None if exponent is None or not alike or node.attributes.get("broadcast") is not None else ("raise", exponent)


def _gelu(node: Node, at: Rewriter) -> tuple[Any, ...] | None:
    return ("gelu_tanh" if node.attributes["approximate"] == "tanh" else "gelu",)


SPECIAL: dict[str, Callable[[Node, Rewriter], tuple[Any, ...] | None]] = {"Clip": _clip, "Pow": _power, "Gelu": _gelu}


def call_of(node: Node, at: Rewriter) -> tuple[int, tuple[Any, ...]] | None:
    """How many inputs of a node a call of a chain reads, its name and its settings; None where chains lack the operator."""
    name = node.schema.name
    y = node.outputs[0]
    if node.schema.domain or not at.is_standard(node) or at.type(y) not in FLOATS or at.shape(y) is None:
        return None
    if name in PAIRS:
        plain = len(node.inputs) == 2 and node.attributes.get("broadcast") is None
        return (2, (PAIRS[name],)) if plain and (name != "PRelu" or node.schema.since >= 7) else None
    if name in MAPS:
        return 1, (MAPS[name],)
    if name in SETTINGS:
        loop, settings = SETTINGS[name]
        return 1, (loop, *(node.attributes[s] for s in settings))
    found = SPECIAL[name](node, at) if name in SPECIAL else None
    return None if found is None else (1, found)


def chains(at: Rewriter) -> None:
    """Every maximal run of elementwise operators in one shape becomes one Chain."""
    nodes = list(at.nodes())
    place = {id(n): k for k, n in enumerate(nodes)}
    calls = {id(n): c for n in nodes if (c := call_of(n, at)) is not None}
    taken: set[int] = set()
    for root in reversed(nodes):
        if id(root) in calls and id(root) not in taken:
            run = _grown(root, at, calls)
            if len(run) > 1:
                taken |= {id(n) for n in run}
                _fuse(sorted(run, key=lambda n: place[id(n)]), at, calls)


def _grown(root: Node, at: Rewriter, calls: dict[int, tuple[int, tuple[Any, ...]]]) -> list[Node]:
    """The root, and what leads to it and to nothing else, in its shape."""
    shape, run = at.shape(root.outputs[0]), [root]
    again = True
    while again:
        again = False
        inside = {id(n) for n in run}
        for value in _operands(run, calls):
            maker = at.maker(value)
            if (maker is not None and id(maker) in calls and value not in at.outputs and at.shape(value) == shape
                    and all(id(r) in inside for r in at.readers(value)) and len(run) < MOST_CALLS
                    and len(_operands([*run, maker], calls)) <= MOST_OPERANDS):
                run.append(maker)
                again = True
    return run


def _operands(run: list[Node], calls: dict[int, tuple[int, tuple[Any, ...]]]) -> list[str]:
    """What the nodes read and do not make."""
    made = {n.outputs[0] for n in run}
    return list(dict.fromkeys(i for n in run for i in n.inputs[:calls[id(n)][0]] if i not in made))


def _fuse(run: list[Node], at: Rewriter, calls: dict[int, tuple[int, tuple[Any, ...]]]) -> None:
    """Put a Chain in the place of nodes, which come in their order."""
    operands = _operands(run, calls)
    names = {o: f"x{k}" for k, o in enumerate(operands)} | {n.outputs[0]: f"t{k}" for k, n in enumerate(run)}
    text = []
    for node in run:
        count, (name, *settings) = calls[id(node)]
        text.append(f"{name}({', '.join([*(names[i] for i in node.inputs[:count]), *(repr(float(s)) for s in settings)])})")
    at.replace(run, [at.make("Chain", operands, run[-1].outputs, like=run[-1], program="; ".join(text))])
