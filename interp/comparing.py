"""Holding a model against another engine, another model or itself as written: its outputs, or every tensor, node by node."""
from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from . import engines
from .alone import OtherEngine, Own
from .branches import chosen
from .dims import Fact
from .errors import InputError, Unsupported, UsageError, nearest
from .feeding import check, listed
from .graph import Graph
from .loading import load as read
from .ops import standard
from .optimize import optimized
from .parts import decides
from .registry import Registry
from .rows import Row, held
from .session import load
from .types import type_of
from .walking import Progress, Walk, draws, paired

AS_WRITTEN = "O0"
AGAINST = (*engines.ENGINES, AS_WRITTEN)


def compare(model: Any, feeds: Mapping[str, Any], other: Any = None, *, against: str | None = None, layers: bool = False,
            cumulative: bool = False, rtol: float | None = None, atol: float | None = None, optimize: int | None = None,
            threads: int | None = None, registry: Registry | None = None, trusted: Sequence[str | os.PathLike[str]] = (),
            progress: Progress | None = None) -> Iterator[Row]:
    """Hold what this package makes of a model against what something else makes of it: a Row for each tensor, as they come.

    ``against`` is "onnxruntime" (the default where it is installed), "reference" (onnx's evaluator) or "O0", this package with
    the graph as written. ``other`` is another model, whose tensors are paired by name; by default this package runs that too.
    The outputs are compared, or with ``layers`` every tensor of the graph as written (``optimize``: as rewritten, where both
    have it, in blocks of channels or not), and of the branches of If that the feeds choose: each node gets the inputs that the
    other side has for it, so that a node which is wrong is blamed alone; ``cumulative`` leaves errors to add up. Nothing is
    kept beyond what later nodes need. An element may be ``atol + rtol * |due|`` off; for what holds where these are None see
    `interp.distance.distance`.
    Nodes that draw random numbers are left out, and those that the other side cannot run, or is known to run wrongly.
    ``progress`` is told how many nodes are done, and of how many. Raises what ``load`` and ``run`` raise, Unsupported where the
    other engine does not run the model, and UsageError.
    """
    if against is None:
        against = engines.default() if other is None else ""
    elif against not in AGAINST:
        raise UsageError(f"against={against!r}: give one of {', '.join(AGAINST)}{nearest(against, AGAINST)}")
    if cumulative and not layers:
        raise UsageError("cumulative errors are those of layers; give layers as well")
    if optimize is None:
        optimize = 2 if not layers or against == AS_WRITTEN and other is None else 0
    job = Job(model, dict(feeds), other, against, optimize, threads, registry, tuple(trusted), rtol, atol)
    return job.layers(cumulative, progress or (lambda done, total: None)) if layers else job.outputs()


@dataclass(frozen=True)
class Job:
    """What is compared with what."""

    model: Any
    feeds: dict[str, Any]
    other: Any
    against: str  # "" for this package, rewritten as far as the model is
    optimize: int
    threads: int | None
    registry: Registry | None
    trusted: tuple[str | os.PathLike[str], ...]
    rtol: float | None
    atol: float | None

    def outputs(self) -> Iterator[Row]:
        """A row for each tensor among the outputs."""
        session = load(self.model, threads=self.threads, registry=self.registry, optimize=self.optimize, trusted=self.trusted)
        names = [v.name for v in session.outputs]
        drawn = random_values(self.graph(self.model, self.feeds))
        ours = dict(zip(names, session.run(None, self.feeds), strict=True))
        del session
        theirs = self._theirs(names)
        for name, value in ours.items():
            if name in drawn:
                yield Row(name, "left out", type_of(value), text="made of random numbers")
            elif name not in theirs:
                yield Row(name, "left out", type_of(value), text=f"the other model has no such output{nearest(name, theirs)}")
            else:
                yield from held(name, value, theirs[name], self.rtol, self.atol)

    def _theirs(self, names: list[str]) -> dict[str, Any]:
        """The other side's outputs by name."""
        source = self.model if self.other is None else self.other
        graph = self.graph(source, self.feeds) if self.other is not None else None
        feeds = paired(graph, self.feeds) if graph is not None else self.feeds
        own = [v.name for v in graph.outputs] if graph is not None else names
        own = names if len(own) == len(names) and not set(own) & set(names) else own
        if self.against in engines.ENGINES:
            return dict(zip(own, self._elsewhere(source, feeds), strict=True))
        level = 0 if self.against == AS_WRITTEN else self.optimize
        session = load(source, threads=self.threads, registry=self.registry, optimize=level, trusted=self.trusted)
        return dict(zip(own, session.run(None, feeds), strict=True))

    def _elsewhere(self, source: Any, feeds: Mapping[str, Any]) -> list[Any]:
        try:
            return engines.opened(self.against, source, self.threads)(feeds)
        except Unsupported as e:
            raise Unsupported(f"{e}; with layers, nodes that {self.against} lacks are left out, and the rest is compared") from e

    def graph(self, source: Any, feeds: Mapping[str, Any]) -> Graph:
        """A model as written, with the initializers that are fed as inputs."""
        return read(source, self.registry or standard, trusted=self.trusted, fed=frozenset(feeds))

    def layers(self, cumulative: bool, progress: Progress) -> Iterator[Row]:
        """Rows as the nodes run."""
        ours = theirs = self.graph(self.model, self.feeds)
        fit(ours, self.feeds)
        if self.other is not None:
            theirs = self.graph(self.other, self.feeds)
        if self.optimize:
            ours = optimized(self.graph(self.model, self.feeds), self.optimize)
        ours = as_taken(ours, self.feeds)
        theirs = as_taken(theirs, paired(theirs, self.feeds))
        own = Own(self.threads)
        engine = OtherEngine(self.against, self.threads) if self.against in engines.ENGINES else own
        walk = Walk(ours, theirs, self.feeds, own, engine, cumulative)
        yield from walk.rows(partial(held, rtol=self.rtol, atol=self.atol), progress)


def as_taken(graph: Graph, feeds: Mapping[str, Any]) -> Graph:
    """The graph with the branches that a run of these feeds takes in the place of their nodes, where that is known before it."""
    given = [feeds[v.name] for v in graph.inputs]
    return chosen(graph, [Fact(type_of(a), getattr(a, "shape", None), a if decides(a) else None) for a in given], tentative=True)


def fit(graph: Graph, feeds: dict[str, Any]) -> None:
    """Refuse feeds that are missing, unknown, or of another type, rank or size than declared."""
    names = [v.name for v in graph.inputs]
    if missing := [n for n in names if n not in feeds]:
        raise InputError(f"no feed for input {', '.join(missing)}; the model takes {listed(graph.inputs)}")
    if unknown := [n for n in feeds if n not in names]:
        raise InputError(f"the model has no input {unknown[0]}{nearest(unknown[0], names)}; it takes {listed(graph.inputs)}")
    feeds.update(zip(names, check(graph.inputs, [feeds[n] for n in names]), strict=True))


def random_values(graph: Graph) -> set[str]:
    """The values that depend on random numbers."""
    found: set[str] = set()
    for node in graph.nodes:
        if found.intersection(node.inputs) or draws(node, [graph.constants.get(i) for i in node.inputs]):
            found.update(node.outputs)
    return found
