"""Sizes that a model leaves open and nobody gives: 1 where that fits, else likely ones, tried by inference until one fits."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .branches import chosen
from .dims import Fact
from .errors import InterpError
from .graph import Graph, Node
from .infer import Scope, declared
from .parts import decides

Key = str | tuple[str, int]  # an open size: its name, or the input that has it and the axis
Shape = tuple[int | Key, ...]
# Least first, so that what is made is small; 48 is the height that text is read at, 224 and 299 what classifiers take.
LIKELY = (1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 224, 256, 299, 320, 384, 448, 512, 640, 768, 1024, 1536, 2048, 4096,
          8192, 16384)
TRIALS = 200  # after which sizes are taken not to be found


def guessed(graph: Graph, shapes: Mapping[str, Shape], values: Mapping[str, Any]) -> dict[Key, int]:
    """A number for every open size in the ``shapes`` of a graph's inputs, so that inference meets no contradiction.

    All are 1 if that fits. Else axes beside the first, which counts what goes through the model at once, are tried with one
    likely size for all; then, from what went furthest, each by itself with those and with the sizes that the node takes at
    which inference stopped. ``values`` are what inputs hold: small integers may decide what runs. Where nothing
    fits all are 1.
    """
    trials = Trials(graph, shapes, values)
    keys = list(dict.fromkeys(d for shape in shapes.values() for d in shape if not isinstance(d, int)))
    outer = {shape[0] for shape in shapes.values() if shape}
    inner = [k for k in keys if k not in outer] or keys
    ones: dict[Key, int] = dict.fromkeys(keys, 1)
    trials.best(ones | dict.fromkeys(inner, n) for n in LIKELY)
    while trials.stopped is not None and trials.left > 0:
        before = trials.reached
        for key in [*inner, *(k for k in keys if k not in inner)]:
            trials.best({**trials.sizes, key: n} for n in dict.fromkeys((*LIKELY, *trials.due)))
        if trials.reached == before:
            break
    return trials.sizes if trials.stopped is None else ones


class Trials:
    """Sizes that have been tried: those with which inference got furthest, and where that was."""

    def __init__(self, graph: Graph, shapes: Mapping[str, Shape], values: Mapping[str, Any]):
        self.graph, self.shapes = graph, shapes
        self.values = {k: a for k, a in values.items() if decides(a)}
        self.reached, self.left = -1, TRIALS
        self.sizes: dict[Key, int] = {}
        self.stopped: Node | None = None
        self.due: list[int] = []  # sizes that the node takes at which inference stopped

    def best(self, candidates: Iterator[dict[Key, int]]) -> None:
        """Try sizes in turn until some fit."""
        for sizes in candidates:
            if self.reached >= 0 and self.stopped is None or self.left == 0:
                return
            self.left -= 1
            self._try(sizes)

    def _try(self, sizes: dict[Key, int]) -> None:
        given = [self._fact(v.name, v, sizes) for v in self.graph.inputs]
        scope = Scope(chosen(self.graph, given, tentative=True))
        scope.begin(given)
        for k, node in enumerate(scope.graph.nodes):
            try:
                scope.follow(node)
            except InterpError:
                if k > self.reached:
                    self.reached, self.sizes, self.stopped = k, sizes, node
                    self.due = sorted({d for i in node.inputs if i for d in scope.facts[i].shape or () if isinstance(d, int)})
                return
        self.reached, self.sizes, self.stopped = len(scope.graph.nodes), sizes, None

    def _fact(self, name: str, value: Any, sizes: Mapping[Key, int]) -> Fact:
        if name not in self.shapes:
            return declared(value)
        return Fact(value.type, tuple(d if isinstance(d, int) else sizes[d] for d in self.shapes[name]), self.values.get(name))


def axes(shape: Sequence[int | str | None], name: str) -> Shape:
    """A declared shape with keys for what is open."""
    return tuple((name, axis) if d is None else d for axis, d in enumerate(shape))
