"""Two graphs side by side: node by node, with nothing kept beyond what later nodes need."""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .alone import RunNode
from .errors import InputError, InterpError, Unsupported, nearest
from .graph import Graph, Node
from .ops.fused.blocked import OCTET
from .rows import Row
from .types import type_of
from .weights import let_go

DRAWING = frozenset(("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli", "Multinomial"))
Progress = Callable[[int, int], None]


class Walk:
    """Two graphs side by side: one node of ours after the other, each time with as much of the other as it needs."""

    def __init__(self, ours: Graph, theirs: Graph, feeds: dict[str, Any], own: RunNode, engine: RunNode, cumulative: bool):
        self.graph, self.own, self.cumulative = ours, own, cumulative
        given = {k: feeds.pop(k) for k in list(feeds)}  # so that they can be let go
        feeds = paired(theirs, given) if theirs is not ours else given
        made = {o for n in theirs.nodes for o in n.outputs if o}
        mine = {o for n in ours.nodes for o in n.outputs if o}
        reads = reads_of(ours)
        wanted = mine & {*reads, *(v.name for v in ours.outputs)}  # engines differ in the mask of a Dropout that nobody reads
        there = made | theirs.constants.keys() | feeds.keys()
        self.blocked = {b: v for b, v in ours.layouts.items() if b in wanted - there and v in there}
        self.shared = {**{v: v for v in wanted & there}, **self.blocked}  # what the other side calls it
        reset = Counter() if cumulative else Counter({k: n for k, n in reads.items() if k in self.shared})
        self.mine = Values(ours, given, reads - reset)
        asked = Counter(self.shared.values())
        for k, n in reset.items():
            asked[self.shared[k]] += n
        self.other = Side(theirs, feeds, engine, own, reads_of(theirs) + asked)
        self.behind: dict[str, tuple[str, ...]] = {}  # of values that the other side lacks: the nodes as written that give them

    def rows(self, hold: Callable[..., Iterator[Row]], progress: Progress) -> Iterator[Row]:
        """What ``hold`` makes of each tensor, as the nodes run."""
        for index, node in enumerate(self.graph.nodes):
            yield from self._node(index, node, hold)
            progress(index + 1, len(self.graph.nodes))

    def _node(self, index: int, node: Node, hold: Callable[..., Iterator[Row]]) -> Iterator[Row]:
        before = (s for i in node.inputs for s in self.behind.get(i, ()))
        sources = tuple(dict.fromkeys([*before, *node.sources]))
        facts: dict[str, Any] = {"node": node.name, "op_type": node.schema.name, "domain": node.schema.domain, "index": index,
                                 "sources": sources, "inner": sum(1 for body in node.bodies.values() for _ in body.walk())}
        shared = [o for o in node.outputs if o in self.shared]
        reasons = {o: r for o in shared if (r := self.other.reach(self.shared[o]))}
        made, problem = self._made(node, shared)
        for name, value in zip(node.outputs, made, strict=True):
            if not name:
                continue
            if name not in self.shared:
                self.mine.put(name, value)
                self.behind[name] = sources
                continue
            tensor = self.shared[name]
            due = self.other.values.take(tensor)
            if problem:
                yield Row(tensor, "failed", text=problem, **facts)
            elif name in reasons:
                yield Row(tensor, "left out", type_of(value), getattr(value, "shape", None), text=reasons[name], **facts)
            else:
                yield from hold(tensor, plain(value, due.shape[1]) if name in self.blocked else value, due, **facts)
            if self.cumulative:
                self.mine.put(name, value)

    def _made(self, node: Node, shared: list[str]) -> tuple[list[Any], str]:
        """What this package makes of a node, or what went wrong and the other side's values."""
        arrays = [self._value(i) for i in node.inputs]
        try:
            if draws(node, arrays) and len(shared) == sum(map(bool, node.outputs)):
                return [self._theirs(o) if o else None for o in node.outputs], ""
            return self.own(self.graph, node, arrays), ""
        except InterpError as e:
            if len(shared) < sum(map(bool, node.outputs)):
                raise
            return [self._theirs(o) if o else None for o in node.outputs], str(e)
        finally:
            del arrays
            for i in dict.fromkeys(filter(None, node.inputs)):
                self.other.values.release(self.shared[i]) if self._reset(i) else self.mine.release(i)

    def _reset(self, name: str) -> bool:
        return name in self.shared and not self.cumulative

    def _value(self, name: str) -> Any:
        if not name:
            return None
        return self._theirs(name) if self._reset(name) else self.mine.get(name)

    def _theirs(self, name: str) -> Any:
        """The other side's value, in the layout of ours."""
        value = self.other.values.get(self.shared[name])
        return in_blocks(value) if name in self.blocked else value


def plain(image: np.ndarray, channels: int) -> np.ndarray:
    """An image of (N, blocks, H, W, lanes) as (N, C, H, W)."""
    n, blocks, high, wide, lanes = image.shape
    return image.transpose(0, 1, 4, 2, 3).reshape(n, blocks * lanes, high, wide)[:, :channels]


def in_blocks(image: np.ndarray) -> np.ndarray:
    """The same the other way; lanes beyond the channels are 0."""
    n, channels, high, wide = image.shape
    made = np.zeros((n, -(-channels // OCTET), high, wide, OCTET), image.dtype)
    for lane in range(OCTET):
        made[:, :len(range(lane, channels, OCTET)), :, :, lane] = image[:, lane::OCTET]
    return made


class Values:
    """Values by name, kept until each has been read as often as it will be."""

    def __init__(self, graph: Graph, feeds: Mapping[str, Any], reads: Counter[str]):
        self.constants, self.left = graph.constants, reads
        self.values = {k: v for k, v in feeds.items() if reads[k]}

    def put(self, name: str, value: Any) -> None:
        if self.left[name] > 0:
            self.values[name] = value

    def get(self, name: str) -> Any:
        return self.values[name] if name in self.values else self.constants[name]

    def release(self, name: str) -> None:
        """Count one reading; after the last the value is let go."""
        self.left[name] -= 1
        if self.left[name] <= 0:
            self.values.pop(name, None)
            if name in self.constants:
                let_go(self.constants[name])

    def take(self, name: str) -> Any:
        """Read a value, and count it."""
        found = self.get(name)
        self.release(name)
        return found


class Side:
    """A graph that runs node by node on an engine, as far as it is asked to; what that cannot run, ``instead`` does."""

    def __init__(self, graph: Graph, feeds: Mapping[str, Any], engine: RunNode, instead: RunNode,
                 reads: Counter[str]):
        self.graph, self.engine, self.instead = graph, engine, instead
        self.values = Values(graph, feeds, reads)
        self.todo = iter(graph.nodes)
        # Of all values that have been there: why the engine did not make them, or "".
        self.reasons = dict.fromkeys([*feeds, *graph.constants], "")

    def reach(self, name: str) -> str:
        """Run until a value is there; says why it is not the engine's own."""
        while name not in self.reasons:
            self._step(next(self.todo))
        return self.reasons[name]

    def _step(self, node: Node) -> None:
        arrays = [self.values.get(i) if i else None for i in node.inputs]
        reason = "draws random numbers" if draws(node, arrays) else ""
        made: list[Any] = []
        if not reason:
            try:
                made = self.engine(self.graph, node, arrays)
            except Unsupported as e:
                reason = str(e)
        if reason:
            made = self.instead(self.graph, node, arrays)
        del arrays
        for i in dict.fromkeys(filter(None, node.inputs)):
            self.values.release(i)
        for o, value in zip(node.outputs, made, strict=True):
            if o:
                self.reasons[o] = reason
                self.values.put(o, value)


def reads_of(graph: Graph) -> Counter[str]:
    """How many nodes read each value."""
    return Counter(i for n in graph.nodes for i in set(n.inputs) if i)


def draws(node: Node, arrays: Sequence[Any]) -> bool:
    """Whether a node draws random numbers; Dropout only does in training."""
    if node.schema.name == "Dropout" and not node.schema.domain:
        return len(arrays) > 2 and arrays[2] is not None and bool(np.any(arrays[2]))
    inner = (n for body in node.bodies.values() for n in body.walk())
    return node.schema.name in DRAWING and not node.schema.domain or any(draws(n, ()) for n in inner)


def paired(graph: Graph, feeds: Mapping[str, Any]) -> dict[str, Any]:
    """Feeds under the names of another model's inputs: the same ones, or in order where none is the same."""
    names = [v.name for v in graph.inputs]
    if not set(names) & set(feeds) and len(names) == len(feeds):
        return dict(zip(names, feeds.values(), strict=True))
    if missing := [n for n in names if n not in feeds]:
        raise InputError(f"the other model has the input {missing[0]}, which this one lacks{nearest(missing[0], feeds)}")
    return {k: v for k, v in feeds.items() if k in names or k in graph.overridable}
