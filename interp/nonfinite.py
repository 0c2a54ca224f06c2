"""Where NaN and infinity come from: the first node of a run that makes one, and a model of that node alone."""
from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from dataclasses import replace as changed
from typing import Any

import numpy as np

from .cutting import cut
from .errors import RunError, UsageError
from .graph import Graph, Node
from .observe import Event
from .record import replace
from .writing import save

STORED = ("Constant", "ConstantOfShape")  # nodes that hold what they give


@dataclass(frozen=True)
class Spoilt:
    """How much of a value is NaN or infinite, and where the first such element is."""

    name: str
    nan: int
    inf: int
    size: int
    first: tuple[int, ...]


@dataclass(frozen=True)
class Found:
    """The first node that makes NaN or infinity out of values without, or, where ``made`` is not so, that passes NaN on.

    ``inputs`` and ``outputs`` are copies of what it read and made, ``spoilt`` tells of the outputs that are not finite.
    """

    event: Event
    made: bool
    inputs: dict[str, Any]
    outputs: dict[str, Any]
    spoilt: list[Spoilt]


class FirstNonFinite:
    """An observer that looks for the first node which makes NaN or, if ``infinite``, infinity; it is ``found`` then.

    Infinity that is passed on is no find, because masks are made of it.
    """

    def __init__(self, infinite: bool = True):
        self.infinite = infinite
        self.found: Found | None = None

    def __call__(self, event: Event) -> None:
        if self.found is not None or event.op_type in STORED and not event.domain:
            return
        bad = [s for name, value in event.outputs.items() if (s := spoilt(name, value)) is not None]
        if not bad:
            return
        read = [s for name, value in event.inputs.items() if (s := spoilt(name, value)) is not None]
        made = (any(s.nan for s in bad) and not any(s.nan for s in read)
                or self.infinite and any(s.inf for s in bad) and not any(s.inf for s in read))
        if made or any(s.nan for s in bad):
            inputs, outputs = copied(event.inputs), copied(event.outputs)
            self.found = Found(changed(event, inputs=inputs, outputs=outputs), made, inputs, outputs, bad)


def search(session: Any, feeds: Mapping[str, Any], infinite: bool = True) -> Found | None:
    """What `FirstNonFinite` finds in one run of a session, also in one that fails later."""
    finder = FirstNonFinite(infinite)
    session.observers.append(finder)
    try:
        session.run(None, feeds)
    except RunError:
        if finder.found is None:
            raise
    finally:
        session.observers.remove(finder)
    return finder.found


def spoilt(name: str, value: Any) -> Spoilt | None:
    """What of a value is not finite; None where all is, or it has no such numbers. A sequence is as its first such item."""
    if isinstance(value, list):
        return next((s for k, item in enumerate(value) if (s := spoilt(f"{name}[{k}]", item)) is not None), None)
    if not isinstance(value, np.ndarray) or value.dtype.kind in "biuOUSmM" or "int" in value.dtype.name:
        return None
    good = np.isfinite(value)
    if good.all():
        return None
    nan = int(np.isnan(value).sum())
    first = tuple(map(int, np.unravel_index(int(np.argmin(good)), value.shape)))
    return Spoilt(name, nan, int(value.size - good.sum()) - nan, value.size, first)


def copied(values: Mapping[str, Any]) -> dict[str, Any]:
    return {k: np.copy(v) if isinstance(v, np.ndarray) else list(map(np.copy, v)) if isinstance(v, list) else v
            for k, v in values.items()}


def stored(graph: Graph) -> Iterator[Spoilt]:
    """The initializers of a graph and its bodies that are not finite."""
    seen: set[int] = set()
    for constants in (graph.constants, *(b.constants for n in graph.walk() for b in n.bodies.values())):
        for name, array in constants.items():
            if id(array) not in seen and (found := spoilt(name, array)) is not None:
                seen.add(id(array))
                yield found


def nodes_of(graph: Graph, names: Iterable[str]) -> tuple[Graph, list[Node]]:
    """The nodes of such names, and the graph or body that holds them."""
    wanted = set(names)
    todo = [graph]
    while todo:
        here = todo.pop(0)
        mine = [n for n in here.nodes if n.name in wanted]
        if mine:
            return here, mine
        todo += [b for n in here.nodes for b in n.bodies.values()]
    raise UsageError(f"no nodes {', '.join(sorted(wanted))} stand in the model as it is written")


def write_alone(graph: Graph, found: Found, path: str | os.PathLike[str], values: Mapping[str, Any]) -> dict[str, Any]:
    """Write a model of what was found, with its initializers, out of the graph as written; returns what to feed it.

    ``values`` has arrays by name, those that the nodes as written read and others do not give, as of the run. What is found
    in a fused node becomes a model of all nodes that it stands for. Raises Unsupported where the standard has no words for it.
    """
    here, mine = nodes_of(graph, found.event.sources or (found.event.node,))
    read = {i for n in mine for i in n.inputs}
    mine += [n for n in here.nodes if n.schema.name == "Constant" and read.intersection(n.outputs) and n not in mine]
    made = cut(here, mine, known={**found.outputs, **values})
    fed = {v.name: values[v.name] for v in made.inputs if v.name in values}
    if len(fed) < len(made.inputs):
        lacking = ", ".join(v.name for v in made.inputs if v.name not in fed)
        raise UsageError(f"the run did not give {lacking}, which {found.event.node} reads")
    save(replace(made, name=f"{found.event.node} alone"), path)
    return fed
