"""What observers are told: an Event for every node of a run, from the bound program as it runs without them.

A session with observers steps through its program one entry at a time and times each by itself. Every node of the graph that
runs tells once that its outputs are there, in order. Views, values that follow from shapes alone and joins whose parts are in
place take no step: their ``seconds`` are 0. A node whose body runs as compiled code is one event. Where a body needs Python,
its nodes tell too, before the node that they lie in, whose seconds include theirs; ``within`` names the nodes around.
"""
from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from threading import get_ident
from typing import Any

import numpy as np

from .arena import Planned
from .graph import Graph, Node
from .kernels.program import Cell
from .plan import Plan, address

RUNS = count(1)


@dataclass(frozen=True, slots=True)
class Event:
    """That a node has run, with what it read and made.

    ``node`` is its name, as errors have it; ``index`` its place among the nodes of the graph that runs, or of the body that it
    lies in (-1 where a body was put in the place of its node meanwhile); ``sources`` the names of the nodes as written that it
    stands for, none where a pass added it. ``inputs`` and ``outputs`` hold arrays by tensor name (strings as arrays of objects,
    sequences as lists): views of the memory of the run, valid during the call, so copy what is kept. Inputs are read-only; what
    is written to outputs, later nodes read. ``started`` is as time.perf_counter tells, ``seconds`` those of the bound step.
    ``within`` names the nodes around, the outermost first; ``run`` is a number that the events of one run share.
    ``reads`` and ``makes`` name inputs and outputs by position, "" where one is absent; ``attributes`` are the node's, with the
    defaults of its operator.
    """

    node: str
    op_type: str
    domain: str
    index: int
    sources: tuple[str, ...]
    inputs: dict[str, Any]
    outputs: dict[str, Any]
    started: float
    seconds: float
    within: tuple[str, ...]
    run: int
    reads: tuple[str, ...]
    makes: tuple[str, ...]
    attributes: dict[str, Any]


Observer = Callable[[Event], object]


@dataclass(frozen=True, slots=True)
class Ended:
    """That a run is over: its number, when it began, the seconds that it took with all that observers did meanwhile, and the
    bytes that its programs hold for values between operators and for scratch."""

    run: int
    started: float
    seconds: float
    memory: int


class Watch:
    """One observed run: it hears of every step, and tells the observers, on the thread that runs.

    An observer that does not read ``inputs`` may say so by an attribute ``reads_inputs = False``: where all do, what an
    operator writes over is not copied before, and stands for its input afterwards. One that has a method ``finished`` is given
    an `Ended` after each run that succeeds.
    """

    def __init__(self, observers: Iterable[Observer], watches: dict[int, Any]):
        self.observers, self.watches, self.run = tuple(observers), watches, next(RUNS)
        self.copies = any(getattr(o, "reads_inputs", True) for o in self.observers)
        self.failed: Exception | None = None
        self.places: list[dict[int, int]] = []
        self.within: list[str] = []
        self.sized: set[int] = set()
        self.memory: dict[int, int] = {}

    def follow(self, graph: Graph, run: Callable[[], list[Any]]) -> list[Any]:
        """What a run of a graph gives. What an observer raises goes through whatever runs between it and the caller."""
        self.places = [places(graph.nodes)]
        me = get_ident()
        outer = self.watches.get(me)
        self.watches[me] = self
        started = time.perf_counter()
        try:
            made = run()
            ended = Ended(self.run, started, time.perf_counter() - started, sum(self.memory.values()))
            for observer in self.observers:
                if hasattr(observer, "finished"):
                    observer.finished(ended)
            return made
        except Exception:
            if self.failed is not None:
                raise self.failed from None
            raise
        finally:
            del self.watches[me]
            if outer is not None:
                self.watches[me] = outer

    def program(self, plan: Plan, program: Planned, feeds: list[Any], outs: list[Any] | None) -> list[Any]:
        """Run a program step by step."""
        if program.stage is None:
            program.stage = Stage(plan, program)
        self.memory[id(plan)] = max(program.memory, self.memory.get(id(plan), 0))
        return program.run(feeds, outs, Steps(self, program.stage))

    def alone(self, node: Node, feeds: Sequence[Any], run: Callable[[], list[Any]]) -> list[Any]:
        """Run a node that stands in no program: its seconds include what it takes to bind it."""
        self.enter(node)
        started = time.perf_counter()
        made = run()
        seconds = time.perf_counter() - started
        self.leave()
        inputs = {i: frozen(a) for i, a in zip(node.inputs, feeds, strict=True) if i}
        outputs = {o: frozen(m) if shares(m, feeds) else m for o, m in zip(node.outputs, made, strict=False) if o}
        self.tell(node, inputs, outputs, started, seconds)
        return made

    def enter(self, node: Node) -> None:
        """What is told from now on lies within a node."""
        self.places.append(places(n for body in node.bodies.values() for n in body.nodes))
        self.within.append(node.name)

    def leave(self) -> None:
        self.places.pop()
        self.within.pop()

    def tell(self, node: Node, inputs: dict[str, Any], outputs: dict[str, Any], started: float, seconds: float) -> None:
        """Tell every observer of a node. Sessions that they run meanwhile are none of this watch's business."""
        event = Event(node.name, node.schema.name, node.schema.domain, self.places[-1].get(id(node), -1), node.sources,
                      inputs, outputs, started, seconds, tuple(self.within), self.run, tuple(node.inputs), tuple(node.outputs),
                      node.attributes)
        me = get_ident()
        del self.watches[me]
        try:
            for observer in self.observers:
                observer(event)
        except Exception as e:
            self.failed = e
            raise
        finally:
            self.watches[me] = self


class Stage:
    """What of a program no run changes: where its values stand, and which nodes are due after each step."""

    def __init__(self, plan: Plan, program: Planned):
        self.plan, self.values = plan, program.values
        self.steps = [n for _, n in plan.calls]
        self.due = self._due()
        starts = sorted((address(a), k) for k, a in enumerate(program.stands) if isinstance(a, np.ndarray) and a.nbytes)
        self.homes = {v: home for v, a in self.values.items() if (home := within(a, starts, program.stands)) is not None}
        self.still = {v: frozen(a) for v, a in self.values.items() if isinstance(a, np.ndarray) and v not in self.homes}
        self.spoilt = {id(n): self._overwritten(n) for n in self.steps}
        self.nesting = {id(n) for n in self.steps if n.bodies}
        known = plan.sizes([getattr(a, "shape", None) for a in program.stands[:program.fed]])
        self.sizes = known if isinstance(known, dict) else {}

    def _due(self) -> list[list[Node]]:
        """The nodes that are told of before any step, and after each: its own, and those behind it that take none."""
        after = {id(n): k + 1 for k, n in enumerate(self.steps)}
        due: list[list[Node]] = [[] for _ in range(len(self.steps) + 1)]
        live, done = set(map(id, self.plan.nodes)), 0
        for node in self.plan.graph.nodes:
            done = after.get(id(node), done)
            if id(node) in live or self.is_sized(node):
                due[done].append(node)
        return due

    def is_sized(self, node: Node) -> bool:
        """Whether all that a node makes follows from shapes."""
        return any(node.outputs) and self.plan.sized.issuperset(filter(None, node.outputs))

    def _overwritten(self, node: Node) -> list[str]:
        """The inputs that a node writes over."""
        root = self.plan.root
        made = {root[o] for o in node.outputs if o in root}
        return [i for i in node.inputs if i and root.get(i) in made]

    def value(self, name: str, arrays: list[Any]) -> Any:
        """A value in a run with these arrays."""
        if name not in self.values:
            return self.plan.size_value(name, self.sizes)
        found = self.values[name]
        if isinstance(found, Cell):
            return found.value
        home = self.homes.get(name)
        if home is None:
            return found
        slot, offset = home
        whole = np.asarray(arrays[slot])
        if whole.shape == found.shape:
            return whole
        return whole.reshape(-1).view(np.uint8)[offset:offset + found.nbytes].view(found.dtype).reshape(found.shape)

    def seen(self, name: str, arrays: list[Any]) -> Any:
        """The same, not to be written."""
        return self.still[name] if name in self.still else frozen(self.value(name, arrays))

    def is_lent(self, name: str) -> bool:
        """Whether a value stands in memory of the caller's or the model's."""
        return self.plan.root.get(name) in self.plan.lent


class Steps:
    """One run of a program, as its steps come."""

    def __init__(self, watch: Watch, stage: Stage):
        self.watch, self.stage = watch, stage
        self.kept: dict[str, Any] = {}
        self.started = self.seconds = 0.0
        self.at: Node | None = None

    def before(self, k: int, arrays: list[Any]) -> None:
        """A step is about to run."""
        if k == 0:
            self._tell(self.stage.due[0], arrays)
        node = self.stage.steps[k] if k < len(self.stage.steps) else None  # those that copy outputs belong to none
        if node is not None and node is not self.at:
            if id(node) in self.stage.nesting:
                self.watch.enter(node)
            if self.watch.copies:
                self.kept = {i: frozen(np.copy(self.stage.value(i, arrays))) for i in self.stage.spoilt[id(node)]}
        self.at = node

    def after(self, k: int, arrays: list[Any], started: float, seconds: float) -> None:
        """A step has run; a node may have several."""
        node, due = self.at, self.stage.due[k + 1] if k < len(self.stage.steps) else []
        self.started = self.started or started
        self.seconds += seconds
        if node is not None and node in due:
            if id(node) in self.stage.nesting:
                self.watch.leave()
            self._tell(due, arrays)
            self.started = self.seconds = 0.0
            self.kept = {}

    def _tell(self, due: list[Node], arrays: list[Any]) -> None:
        stage = self.stage
        for node in due:
            mine = node is self.at
            if not mine and stage.is_sized(node):
                if id(node) in self.watch.sized:  # parts of a graph work out the same sizes
                    continue
                self.watch.sized.add(id(node))
                inputs = {i: stage.seen(i, arrays) for i in node.inputs if i in stage.plan.sized or stage.is_lent(i)}
            else:
                inputs = {i: self.kept[i] if i in self.kept else stage.seen(i, arrays) for i in node.inputs if i}
            outputs = {o: stage.seen(o, arrays) if stage.is_lent(o) else stage.value(o, arrays) for o in node.outputs if o}
            self.watch.tell(node, inputs, outputs, *((self.started, self.seconds) if mine else (time.perf_counter(), 0.0)))


def places(nodes: Iterable[Node]) -> dict[int, int]:
    return {id(n): k for k, n in enumerate(nodes)}


def frozen(value: Any) -> Any:
    """An array that cannot be written through; anything else as it is."""
    if not isinstance(value, np.ndarray):
        return value
    seen = value.view()
    seen.flags.writeable = False
    return seen


def shares(value: Any, arrays: Sequence[Any]) -> bool:
    """Whether an array may lie in the memory of one of others."""
    return isinstance(value, np.ndarray) and any(isinstance(a, np.ndarray) and np.may_share_memory(value, a) for a in arrays)


def within(array: Any, starts: list[tuple[int, int]], stands: list[Any]) -> tuple[int, int] | None:
    """The stand-in that an array lies in, and at which byte; None where it lies elsewhere."""
    if not isinstance(array, np.ndarray) or not array.nbytes:
        return None
    at = address(array)
    k = bisect_right(starts, (at, len(stands))) - 1
    if k < 0 or at >= starts[k][0] + stands[starts[k][1]].nbytes:
        return None
    return starts[k][1], at - starts[k][0]
