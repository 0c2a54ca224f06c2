"""Observers that measure: what each node takes, runs as a trace, and who is alive when memory is at its most."""
from __future__ import annotations

import json
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np

from .costs import macs
from .observe import Ended, Event
from .types import type_of

LONG = 1.0  # seconds for which runs are repeated where nobody says how often
FEWEST, MOST = 3, 100  # runs then


@dataclass
class Measured:
    """A node over all runs.

    ``inputs`` and ``outputs`` tell types and shapes by name, ``bytes`` what the outputs take. ``seconds`` are those of each run
    by its number, without what nodes within this one take that tell by themselves; in a loop that Python runs it has several
    ``calls`` a run. ``macs`` are the multiply-accumulates of a run, None where they cannot be told.
    """

    name: str
    op_type: str
    domain: str
    index: int
    within: tuple[str, ...]
    sources: tuple[str, ...]
    inputs: dict[str, str]
    outputs: dict[str, str]
    bytes: int
    each: int | None
    runs: dict[int, float] = field(default_factory=dict)
    counts: Counter[int] = field(default_factory=Counter)

    @property
    def seconds(self) -> float:
        return median(self.runs.values())

    @property
    def calls(self) -> int:
        return max(self.counts.values())

    @property
    def macs(self) -> int | None:
        return None if self.each is None else self.each * self.calls


class Profile:
    """An observer that adds up what each node takes, over as many runs as it sees, several at once too.

    ``nodes`` come in the order in which they tell. ``walls`` are the seconds of the runs that it has seen, ``plain`` those of
    runs without any observer which `profile` makes between them; ``memory`` is the most that the programs of a run hold for
    values between operators and for scratch, in bytes.
    """

    reads_inputs = False

    def __init__(self) -> None:
        self._found: dict[tuple[Any, ...], Measured] = {}
        self._inner: dict[tuple[int, tuple[str, ...]], float] = {}
        self.walls: list[float] = []
        self.plain: list[float] = []
        self.memory = 0

    def __call__(self, event: Event) -> None:
        key = event.within, event.index, event.node, event.op_type
        node = self._found.get(key) or self._found.setdefault(key, measured(event))
        own = event.seconds - self._inner.pop((event.run, (*event.within, event.node)), 0.0)
        node.runs[event.run] = node.runs.get(event.run, 0.0) + own
        node.counts[event.run] += 1
        if event.within:
            around = event.run, event.within
            self._inner[around] = self._inner.get(around, 0.0) + event.seconds

    def finished(self, ended: Ended) -> None:
        self.walls.append(ended.seconds)
        self.memory = max(self.memory, ended.memory)

    @property
    def nodes(self) -> list[Measured]:
        return list(self._found.values())

    @property
    def seconds(self) -> float:
        """The sum of the nodes' medians."""
        return sum(n.seconds for n in self.nodes)

    def grouped(self, by: str) -> list[Group]:
        """The nodes together that share an operator (``by="op"``), or also the shapes that it reads (``"shape"``); the longest
        first."""
        found: dict[tuple[str, ...], Group] = {}
        for n in self.nodes:
            kinds = tuple(n.inputs.values()) if by == "shape" else ()
            key = (n.domain, n.op_type, *kinds)
            found.setdefault(key, Group(n.op_type, n.domain, kinds)).add(n)
        return sorted(found.values(), key=lambda g: -g.seconds)

    def report(self) -> dict[str, Any]:
        """All of it, for JSON."""
        total = self.seconds
        nodes = [{"index": n.index, "name": n.name, "op_type": n.op_type, "domain": n.domain, "within": list(n.within),
                  "sources": list(n.sources), "inputs": n.inputs, "outputs": list(n.outputs), "kinds": n.outputs,
                  "seconds": n.seconds, "share": n.seconds / total if total else 0.0, "calls": n.calls, "bytes": n.bytes,
                  "macs": n.macs} for n in self.nodes]
        groups = {by: [{"op_type": g.op_type, "domain": g.domain, **({"inputs": list(g.inputs)} if by == "shape" else {}),
                        "nodes": g.nodes, "seconds": g.seconds, "share": g.seconds / total if total else 0.0, "bytes": g.bytes,
                        "macs": g.macs} for g in self.grouped(by)] for by in ("op", "shape")}
        return {"runs": len(self.walls), "seconds": total, "nodes": nodes, "operators": groups["op"], "shapes": groups["shape"],
                "wall": {"plain": median(self.plain) if self.plain else None,
                         "observed": median(self.walls) if self.walls else None},
                "memory": {"programs": self.memory}}


@dataclass
class Group:
    """Nodes of one operator, or of one operator on the same shapes: how many, and their sums."""

    op_type: str
    domain: str
    inputs: tuple[str, ...]
    nodes: int = 0
    seconds: float = 0.0
    bytes: int = 0
    macs: int | None = 0

    def add(self, node: Measured) -> None:
        self.nodes += 1
        self.seconds += node.seconds
        self.bytes += node.bytes
        self.macs = None if self.macs is None or node.macs is None else self.macs + node.macs


def measured(event: Event) -> Measured:
    """What a node reads and makes."""
    reads, makes = ([getattr(values.get(name), "shape", None) for name in names]
                    for names, values in ((event.reads, event.inputs), (event.makes, event.outputs)))
    return Measured(event.node, event.op_type, event.domain, event.index, event.within, event.sources,
                    {k: kind(v) for k, v in event.inputs.items()}, {k: kind(v) for k, v in event.outputs.items()},
                    sum(map(size, event.outputs.values())), macs(event.op_type, reads, makes, event.attributes, event.domain))


def kind(value: Any) -> str:
    """Element type and shape: float32[1,3,224,224]; of what is no array its ONNX type."""
    if isinstance(value, np.ndarray):
        name = "string" if value.dtype.kind in "OUS" else value.dtype.name
        return f"{name}[{','.join(map(str, value.shape))}]"
    return "nothing" if value is None else type_of(value)


def size(value: Any) -> int:
    """Bytes of an array, or of the arrays of a sequence."""
    return value.nbytes if isinstance(value, np.ndarray) else sum(map(size, value)) if isinstance(value, list) else 0


class Trace:
    """An observer that keeps runs as trace events, which Chrome and Perfetto show (the Trace Event Format): a complete event
    ("X") for every run and every node that takes time, in microseconds."""

    reads_inputs = False

    def __init__(self, name: str = "model") -> None:
        self.name = name
        self.events: list[dict[str, Any]] = []

    def __call__(self, event: Event) -> None:
        if event.seconds:
            said = {"op_type": event.op_type, "domain": event.domain, "index": event.index, "sources": list(event.sources),
                    "inputs": {k: kind(v) for k, v in event.inputs.items()},
                    "outputs": {k: kind(v) for k, v in event.outputs.items()}}
            self._keep(event.node, event.op_type, event.started, event.seconds, said)

    def finished(self, ended: Ended) -> None:
        self._keep(f"run {ended.run}", "run", ended.started, ended.seconds, {"memory": ended.memory})

    def _keep(self, name: str, category: str, started: float, seconds: float, args: dict[str, Any]) -> None:
        self.events.append({"name": name, "cat": category, "ph": "X", "ts": started * 1e6, "dur": seconds * 1e6,
                            "pid": os.getpid(), "tid": threading.get_native_id(), "args": args})

    def as_json(self) -> dict[str, Any]:
        """The events from the earliest on, times from its beginning."""
        first = min((e["ts"] for e in self.events), default=0.0)
        events = sorted(({**e, "ts": round(e["ts"] - first, 3), "dur": round(e["dur"], 3)} for e in self.events),
                        key=lambda e: (e["ts"], -e["dur"]))
        about = {"name": "process_name", "ph": "M", "pid": os.getpid(), "tid": 0, "args": {"name": f"interp {self.name}"}}
        return {"traceEvents": [about, *events], "displayTimeUnit": "ms"}

    def save(self, path: str | os.PathLike[str]) -> None:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.as_json(), file, ensure_ascii=False)


@dataclass(frozen=True)
class Alive:
    """A value in memory: its bytes, the node that made it, and the last that reads it ("" where it is an output)."""

    name: str
    bytes: int
    maker: str
    reader: str


@dataclass(frozen=True)
class Peak:
    """When the values of a run took most: the bytes of memory that they share, at which node, and who they are."""

    bytes: int
    node: str
    op_type: str
    alive: list[Alive]


class Memory:
    """An observer that finds out when the values of a run take most memory; ``peaks`` has one of each run by its number.

    Counted is what values take that nodes have made and others will read, or that are outputs; those that share memory, such as
    views and what was written over, count once. Feeds, weights and scratch are not in it, nor what compiled bodies hold.
    """

    reads_inputs = False

    def __init__(self, outputs: Iterable[str] = ()) -> None:
        self.outputs = frozenset(outputs)
        self.peaks: dict[int, Peak] = {}
        self._seen: dict[int, list[tuple[str, str, tuple[str, ...], dict[str, tuple[int, int]]]]] = {}

    def __call__(self, event: Event) -> None:
        if not event.within:
            made = {k: (v.__array_interface__["data"][0], v.nbytes) for k, v in event.outputs.items()
                    if isinstance(v, np.ndarray) and v.flags.writeable}
            self._seen.setdefault(event.run, []).append((event.node, event.op_type, event.reads, made))

    def finished(self, ended: Ended) -> None:
        self.peaks[ended.run] = peak(self._seen.pop(ended.run, []), self.outputs)


def peak(seen: list[tuple[str, str, tuple[str, ...], dict[str, tuple[int, int]]]], outputs: frozenset[str]) -> Peak:
    """The node after which most bytes are taken, of nodes with what they read and where the values lie that they make."""
    last = {name: k for k, (_, _, reads, _) in enumerate(seen) for name in reads} | dict.fromkeys(outputs, len(seen))
    alive: dict[str, tuple[int, int]] = {}
    maker: dict[str, str] = {}
    most = Peak(0, "", "", [])
    for k, (node, op_type, _, made) in enumerate(seen):
        alive |= {name: place for name, place in made.items() if last.get(name, k) >= k}
        maker |= dict.fromkeys(made, node)
        taken = union(alive.values())
        if taken > most.bytes:
            readers = {name: "" if last.get(name, k) == len(seen) else seen[last.get(name, k)][0] for name in alive}
            most = Peak(taken, node, op_type, [Alive(n, place[1], maker[n], readers[n]) for n, place in alive.items()])
        alive = {name: place for name, place in alive.items() if last.get(name, k) > k}
    return most


def union(places: Iterable[tuple[int, int]]) -> int:
    """The bytes that some stretches of memory, by start and length, cover together."""
    covered, end = 0, 0
    for start, length in sorted(places):
        covered += max(start + length - max(start, end), 0)
        end = max(end, start + length)
    return covered


def profile(session: Any, feeds: Mapping[str, Any], *, runs: int | None = None, warmup: int = 0,
            also: Iterable[Callable[[Event], object]] = (), progress: Callable[[], object] | None = None) -> Profile:
    """Measure the nodes of a model: as many ``runs`` as are said, or as fit into a second, each beside one that nobody observes.

    Before come two runs and ``warmup`` more, in which programs are bound. ``also`` are observers that see the same runs;
    ``progress`` is called after each. Other observers of the session see none of these runs.
    """
    found = Profile()
    others, session.observers = session.observers, []
    try:
        for _ in range(2 + warmup):
            started = time.perf_counter()
            session.run(None, feeds)
            took = time.perf_counter() - started
        for _ in range(runs if runs is not None else repeats(took)):
            started = time.perf_counter()
            session.run(None, feeds)
            found.plain.append(time.perf_counter() - started)
            session.observers = [found, *also]
            session.run(None, feeds)
            session.observers = []
            if progress is not None:
                progress()
    finally:
        session.observers = others
    return found


def repeats(seconds: float) -> int:
    """How many runs of so many seconds, and as many beside them, take about a second: 3 at least."""
    return max(FEWEST, min(MOST, int(LONG / 2 / max(seconds, 1e-9))))
