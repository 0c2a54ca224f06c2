"""What the derivatives of operators are written with: nodes, one after the other, each under a fresh name."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..graph import Node
from ..registry import Registry
from ..schema import Schema, versions

Rule = Callable[..., Sequence[Callable[[], str] | None]]
RULES: dict[tuple[str, str], tuple[int, Rule]] = {}
# Steps, counts and positions: nothing small changes them.
FLAT = {"Floor", "Ceil", "Round", "Sign", "Shape", "Size", "ArgMax", "ArgMin", "NonZero", "Equal", "Greater", "GreaterOrEqual",
        "Less", "LessOrEqual", "Not", "And", "Or", "Xor", "IsNaN", "IsInf", "ConstantOfShape", "EyeLike", "OneHot", "Range"}


def derivative(*names: str, since: int = 1, domain: str = "") -> Callable[[Rule], Rule]:
    """Declare the derivative of operators, from a schema version on.

    A rule gets the tape, the node, and the gradient of each output (None where nothing depends on it), and returns a callable
    an input that writes that input's gradient, or None where it has none.
    """
    def declare(rule: Rule) -> Rule:
        RULES.update({(domain, name): (since, rule) for name in names})
        return rule
    return declare


class Tape:
    """Backward nodes being written. An attribute is an operator of the newest version: ``tape.Mul(a, b)`` names its result."""

    def __init__(self, constants: dict[str, Any], registry: Registry, fresh: Callable[[str, str], str], prefix: str):
        self.nodes: list[Node] = []
        self._constants, self._registry, self._fresh, self._prefix = constants, registry, fresh, prefix

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *inputs, **attributes: self.write(self._schema(name), inputs, attributes)

    def _schema(self, name: str) -> Schema:
        found = versions(name)
        declared = found[-1] if found else self._registry.declared("interp", name)
        if declared is None:
            raise AttributeError(f"there is no operator {name}")
        return declared

    def write(self, schema: Schema, inputs: Sequence[str | None], attributes: dict[str, Any], outputs: int = 1) -> Any:
        """Add a node and return the name of its output, or a list of names where several are asked for."""
        names = [self._fresh(f"{self._prefix}/{schema.name}", "value") for _ in range(outputs)]
        unknown = attributes.keys() - schema.defaults.keys()
        if unknown:
            raise TypeError(f"{schema} has no attribute {', '.join(unknown)}")
        self.nodes.append(Node(self._fresh(f"{self._prefix}/{schema.name}", "node"), schema, self._registry.find(schema),
                               [i or "" for i in inputs], names, {**schema.defaults, **attributes}))
        return names[0] if outputs == 1 else names

    def several(self, name: str, count: int, *inputs: str | None, **attributes: Any) -> list[str]:
        """An operator with several outputs."""
        found = self.write(self._schema(name), inputs, attributes, count)
        return found if count > 1 else [found]

    def constant(self, value: Any, dtype: Any = np.int64) -> str:
        name = self._fresh(f"{self._prefix}/constant", "value")
        self._constants[name] = np.array(value, dtype)
        return name

    def like(self, x: str, value: float) -> str:
        """A number of the type of a value."""
        return self.CastLike(self.constant(value, np.float64), x)

    def ones(self, x: str) -> str:
        """Ones, as many and of the type as a value's elements."""
        return self.Expand(self.like(x, 1), self.Shape(x))

    def zeros(self, x: str) -> str:
        return self.Expand(self.like(x, 0), self.Shape(x))

    def scaled(self, x: str, factor: float) -> str:
        return x if factor == 1 else self.Mul(x, self.like(x, factor))

    def total(self, gradients: list[str]) -> str:
        """The sum of the gradients that come to a value along several ways; the list then holds just that."""
        if len(gradients) > 1:
            gradients[:] = [self.Sum(*gradients)]
        return gradients[0]

    def named(self, name: str, value: str) -> None:
        """Give a value another name."""
        schema, node = versions("Identity")[-1], self._fresh(f"{self._prefix}/{name}", "node")
        self.nodes.append(Node(node, schema, self._registry.find(schema), [value], [name]))

    def output(self, node: Node, position: int) -> str:
        """The name of an output that a node may lack so far."""
        node.outputs += [""] * (position + 1 - len(node.outputs))
        node.outputs[position] = node.outputs[position] or self._fresh(f"{node.name}/output_{position}", "value")
        return node.outputs[position]

    def replayed(self, nodes: list[Node], values: dict[str, str]) -> tuple[list[Node], dict[str, str]]:
        """Copies of nodes that start from other values, and what each value is called in them."""
        called, copies = dict(values), []
        for node in nodes:
            called |= {o: self._fresh(f"{self._prefix}/{o}", "value") for o in node.outputs if o}
            copies.append(Node(self._fresh(f"{self._prefix}/{node.name}", "node"), node.schema, node.op,
                               [called.get(i, i) for i in node.inputs], [called.get(o, o) for o in node.outputs],
                               node.attributes, node.captured))
        self.nodes += copies
        return copies, called
