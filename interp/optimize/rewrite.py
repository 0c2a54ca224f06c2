"""A graph under rewriting: who makes a value, who reads it, what is known of it; and rules that put nodes in place of others."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ..dims import Fact, Size
from ..errors import Unsupported
from ..graph import Graph, Node
from ..infer import Scope, output_facts
from ..ops import standard
from ..record import replace
from ..registry import Op, Registry
from ..schema import Schema, versions
from ..types import type_of

Rule = Callable[[Node, "Rewriter"], bool]
PRIVATE = "interp"  # the domain of operators that only passes write


class Rewriter:
    """The nodes of one graph, in slots by their place in the order, and the facts of its values, kept up to date.

    ``exact``: whether sums are to be direct.
    """

    def __init__(self, scope: Scope, exact: bool = False, registry: Registry = standard):
        self.graph, self.facts, self.exact, self.registry = scope.graph, scope.facts, exact, registry
        self.constants = dict(scope.graph.constants)
        self.layouts = dict(scope.graph.layouts)
        self.outputs = {v.name for v in scope.graph.outputs}
        self._slots: list[list[Node]] = [[n] for n in scope.graph.nodes]
        self._slot = {id(n): k for k, n in enumerate(scope.graph.nodes)}
        self._makers: dict[str, Node] = {}
        self._readers: dict[str, list[Node]] = {}
        self._own: dict[tuple[str, str, int], Op | None] = {}
        self._fresh = 0
        for n in scope.graph.nodes:
            self._enter(n)

    def _enter(self, node: Node) -> None:
        self._makers |= {o: node for o in node.outputs if o}
        for i in node.inputs:
            if i:
                self._readers.setdefault(i, []).append(node)

    def nodes(self) -> Iterator[Node]:
        """The nodes in order; those that are put in while this goes on come in their turn."""
        for slot in self._slots:
            if len(slot) == 1:
                [only] = slot
                yield only
                if len(slot) == 1 and slot[0] is only:
                    continue
            seen: list[Node] = []
            k = 0
            while k < len(slot):
                if slot[k] in seen:
                    k += 1
                else:
                    seen.append(slot[k])
                    yield slot[k]
                    k = 0

    def is_standard(self, node: Node) -> bool:
        """Whether a node's operator is this package's own: what a user registered is never replaced."""
        key = node.schema.domain, node.schema.name, node.schema.since
        if key not in self._own:
            try:
                self._own[key] = self.registry.find(node.schema)
            except Unsupported:
                self._own[key] = None
        return node.op is self._own[key]

    # What is known

    def fact(self, value: str) -> Fact | None:
        return self.facts.get(value)

    def type(self, value: str) -> str:
        """The ONNX type of a value, "" where there is none."""
        found = self.facts.get(value)
        return found.type if found else ""

    def shape(self, value: str) -> tuple[Size, ...] | None:
        found = self.facts.get(value)
        return found.shape if found else None

    def constant(self, value: str) -> np.ndarray | None:
        """The array of a constant."""
        found = self.constants.get(value)
        return found if isinstance(found, np.ndarray) else None

    def number(self, value: str) -> float | None:
        """The one element of a constant that has one."""
        found = self.constant(value)
        return None if found is None or found.size != 1 or found.dtype.kind in "OUSc" else found.reshape(-1)[0].item()

    def maker(self, value: str, *names: str) -> Node | None:
        """The node that makes a value; where names are given, only if it is the standard's operator of such a name."""
        found = self._makers.get(value)
        return found if found is None or not names or self.is_a(found, *names) else None

    def is_a(self, node: Node | None, *names: str) -> bool:
        """Whether a node calls one of these operators of the standard, or of the private domain."""
        return (node is not None and node.schema.name in names and node.schema.domain in ("", PRIVATE)
                and self.is_standard(node))

    def readers(self, value: str) -> list[Node]:
        """The nodes that read a value, one as often as it does."""
        return self._readers.get(value, [])

    def sole(self, value: str, *names: str) -> Node | None:
        """The one node that reads a value, once, if it is no output of the graph; of such a name, where names are given."""
        found = self.readers(value)
        if len(found) != 1 or value in self.outputs or names and not self.is_a(found[0], *names):
            return None
        return found[0]

    # What changes

    def make(self, name: str, inputs: Sequence[str], outputs: Sequence[str] | None = None, *, like: Node, domain: str = PRIVATE,
             **attributes: Any) -> Node:
        """A node of a private operator, or of the newest version of a standard one; ``like`` gives its name.

        It takes no place in the graph before `replace`; without names for outputs it has one with a fresh name.
        """
        schema = self._schema(name, domain)
        unknown = attributes.keys() - schema.defaults.keys()
        if unknown:
            raise TypeError(f"{schema} has no attribute {', '.join(sorted(unknown))}")
        given = list(inputs)
        while given and not given[-1]:
            given.pop()
        made = Node(like.name, schema, self.registry.find(schema), given, list(outputs or [self.fresh(like.name)]),
                    {**schema.defaults, **attributes}, sources=())
        self._infer(made)
        return made

    def again(self, node: Node, inputs: Sequence[str], **attributes: Any) -> Node:
        """The same operator on other inputs, its result under a fresh name; like what `make` gives."""
        made = replace(node, inputs=list(inputs), outputs=[self.fresh(node.name)], attributes={**node.attributes, **attributes})
        self._infer(made)
        return made

    def _infer(self, made: Node) -> None:
        found = output_facts(made, [self.facts[i] if i else None for i in made.inputs], {})
        self.facts |= {o: f for o, f in zip(made.outputs, found, strict=False) if o and o not in self.facts}

    def _schema(self, name: str, domain: str) -> Schema:
        found = self.registry.declared(PRIVATE, name) if domain == PRIVATE else versions(name, domain)[-1]
        if found is None:
            raise LookupError(f"there is no private operator {name}")
        return found

    def fresh(self, hint: str) -> str:
        """A name that no value has."""
        while (name := f"{hint}~{self._fresh}") in self.facts:
            self._fresh += 1
        self._fresh += 1
        return name

    def store(self, hint: str, array: np.ndarray) -> str:
        """A constant under a fresh name."""
        name = self.fresh(hint)
        self.constants[name] = array
        self.facts[name] = Fact(type_of(array), array.shape, array)
        return name

    def replace(self, old: Iterable[Node], new: Sequence[Node]) -> None:
        """Put nodes, which stand for some others, in the place of the last of them: whatever those read is there by then."""
        gone = list(old)
        place = max(self._slot[id(n)] for n in gone)
        slot = self._slots[place]
        at = max(slot.index(n) for n in gone if self._slot[id(n)] == place)
        slot[at + 1:at + 1] = new
        sources = tuple(dict.fromkeys(s for n in sorted(gone, key=lambda n: self._slot[id(n)]) for s in n.sources))
        for n in gone:
            self._leave(n)
        for n in new:
            n.sources = sources
            self._slot[id(n)] = place
            self._enter(n)

    def _leave(self, node: Node) -> None:
        self._slots[self._slot.pop(id(node))].remove(node)
        for o in node.outputs:
            if self._makers.get(o) is node:
                del self._makers[o]
        for i in node.inputs:
            if i:
                self._readers[i].remove(node)

    def insert(self, new: Node, before: Node) -> None:
        """Put a node before another."""
        place = self._slot[id(before)]
        slot = self._slots[place]
        slot.insert(slot.index(before), new)
        self._slot[id(new)] = place
        self._enter(new)

    def append(self, new: Sequence[Node]) -> None:
        """Put nodes after all others."""
        for n in new:
            self._slot[id(n)] = len(self._slots)
            self._slots.append([n])
            self._enter(n)

    def rename(self, value: str, other: str) -> None:
        """Let all who read a value read another."""
        for node in list(dict.fromkeys(self.readers(value))):
            self.redirect(node, [other if i == value else i for i in node.inputs])

    def redirect(self, node: Node, inputs: Sequence[str]) -> None:
        """Let a node read other values."""
        self.replace([node], [replace(node, inputs=list(inputs))])

    def finished(self) -> Graph:
        """The graph as it is now."""
        return replace(self.graph, nodes=[n for slot in self._slots for n in slot], constants=self.constants,
                       layouts=self.layouts)


def rule(*names: str, domain: str = "") -> Callable[[Rule], Rule]:
    """Declare what may become of nodes of such operators; the function says whether it changed anything."""
    def declare(function: Rule) -> Rule:
        function.matches = {*getattr(function, "matches", ()), *((domain, n) for n in names)}  # type: ignore[attr-defined]
        return function
    return declare


class Rules:
    """Rules that run over a graph together, in the order given at each node, until none of them changes anything."""

    def __init__(self, *rules: Rule):
        self._rules: dict[tuple[str, str], list[Rule]] = {}
        for r in rules:
            for key in r.matches:  # type: ignore[attr-defined]
                self._rules.setdefault(key, []).append(r)

    def __call__(self, at: Rewriter) -> None:
        for node in at.nodes():
            known = self._rules.get((node.schema.domain, node.schema.name))
            if known and at.is_standard(node):
                any(r(node, at) for r in known)
