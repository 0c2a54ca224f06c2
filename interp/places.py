"""Where the nodes of a graph run: within one stretch, or apart, because only the data tell a size or a value that they need."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from .dims import Dim, Fact
from .graph import Node
from .infer import free_sizes


def places(nodes: Sequence[Node], facts: dict[str, Fact]) -> Iterator[tuple[Node, str]]:
    """Where each node runs: "within" the stretch of those before it, "after" it in one of its own, "alone", or with all the
    "rest", because not even ranks are known.

    Sizes of strings need not be known to bind them; what has such a size and is no string comes after them.
    """
    loose: frozenset[str] = frozenset()
    for node in nodes:
        if any(rankless(facts[i]) for i in node.inputs if i):
            yield node, "rest"
            return
        made = [facts[o] for o in node.outputs if o]
        if needs_data(node, facts):
            loose = frozenset()
            yield node, "alone"
            continue
        if loose and loose & numbered_by(f for f in made if f.type != "tensor(string)"):
            loose = frozenset()
            yield node, "after"
        else:
            yield node, "within"
        if strings := [f for f in made if f.type == "tensor(string)"]:
            loose |= free_sizes(strings) - sizes_of(node, facts)


def sizes_of(node: Node, facts: dict[str, Fact]) -> frozenset[str]:
    """The names that the shapes and values of a node's inputs depend on."""
    return numbered_by(facts[i] for i in node.inputs if i)


def numbered_by(facts: Iterable[Fact]) -> frozenset[str]:
    """The names that shapes and values depend on."""
    given = list(facts)
    return free_sizes(given).union(*(d.names for f in given for d in symbolic(f)))


def needs_data(node: Node, facts: dict[str, Fact]) -> bool:
    """Whether a node cannot be bound before its inputs are there: a size or a needed value does not follow from shapes."""
    made = [facts[o] for o in node.outputs if o]
    if any(map(rankless, made)):
        return True
    sizes = free_sizes([f for f in made if f.type != "tensor(string)"])
    if sizes and not sizes <= sizes_of(node, facts):
        return True
    formal = node.schema.inputs
    return any(i and p.name in node.op.known and facts[i].value is None for p, i in zip(formal, node.inputs, strict=False))


def symbolic(fact: Fact) -> list[Dim]:
    """The sizes that a value is made of, where they are no numbers."""
    made_of_sizes = isinstance(fact.value, np.ndarray) and fact.value.dtype.hasobject and fact.type != "tensor(string)"
    return [d for d in fact.value.ravel().tolist() if isinstance(d, Dim)] if made_of_sizes else []


def rankless(fact: Fact) -> bool:
    """Whether not even the rank of a tensor is known."""
    return fact.shape is None and (fact.type.startswith("tensor") or fact.type == "?")
