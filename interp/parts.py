"""A graph in parts: stretches that run as programs, cut where only the data tell what comes next."""
from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import cached_property
from threading import get_ident
from typing import Any

import numpy as np

from .branches import followed
from .call import call, duplicate
from .dims import Dim, Fact
from .errors import ModelError, RunError
from .graph import Graph, Node
from .infer import Scope, localised
from .kernels.program import Program, Shelf
from .places import places, rankless
from .plan import Plan, Settings
from .types import INTEGERS, type_of

AGAIN = 32  # plans made for sizes that came twice, beyond which sizes are taken to change for good
CHOICES = 8  # plans made for values that came twice, likewise
SMALL = 16  # elements of an input whose value may decide which nodes run, or the sizes of their results
CHOOSING = INTEGERS | {"tensor(bool)"}
KEPT = 8  # programs, and plans made for one signature, that a part keeps for later runs
KEPT_BYTES = 64 << 20  # that programs may take beyond that many, where the same shapes come again and again


class Bound:
    """A stretch of nodes whose sizes follow from those of its inputs: a plan, and idle programs by signature."""

    def __init__(self, graph: Graph, given: Sequence[Fact], settings: Settings, known: Scope | None = None):
        local, meaning = localised(given)
        local_already = (all(str(size) == name for name, size in meaning.items())
                         and all(a.value is b.value for a, b in zip(local, given, strict=True)))
        scope = known if known is not None and local_already and not known.impossible else Scope(graph)
        if scope is not known:
            scope.infer(local)
        self.plan = Plan(scope, bodies_of(scope, settings), settings)
        self.inputs, self.outputs = self.plan.inputs, self.plan.outputs
        self.shelf = Shelf(KEPT, KEPT_BYTES)
        self.fixed = [(k, f.value.tobytes()) for k, f in enumerate(given) if decides(f.value)]

    def take(self, feeds: list[Any]) -> Program | None:
        """An idle program for feeds like these, if they have the values that were planned for."""
        program = self.shelf.take(feeds)
        if program is not None and self.fixed and any(feeds[k].tobytes() != value for k, value in self.fixed):
            self.shelf.put(program)
            return None
        return program

    def bind(self, feeds: Sequence[Any]) -> Program:
        """A program of its own for feeds like these."""
        return self.plan.bind(feeds)

    def run(self, feeds: list[Any], outs: list[Any] | None = None) -> list[Any]:
        """Fill ``outs``, or fresh arrays, from feeds."""
        program = self.take(feeds) or self.shelf.bind(feeds, self.plan.bind)
        watches = self.plan.settings.watches
        watch = watches.get(get_ident()) if watches else None
        try:
            return program.run(feeds, outs) if watch is None else watch.program(self.plan, program, feeds, outs)
        finally:
            self.shelf.put(program)


class Unbound:
    """One node whose result's size, or whose needed values, only the data tell."""

    def __init__(self, node: Node, bodies: dict[str, Any], settings: Settings):
        self.node, self.settings = node, settings
        self.attributes = {**node.attributes, **bodies}
        self.inputs, self.outputs = node.inputs, node.outputs

    def run(self, feeds: list[Any], outs: list[Any] | None = None) -> list[Any]:
        watches = self.settings.watches
        watch = watches.get(get_ident()) if watches else None
        return self._called(feeds) if watch is None else watch.alone(self.node, feeds, lambda: self._called(feeds))

    def _called(self, feeds: list[Any]) -> list[Any]:
        return call(self.node, feeds, self.attributes, self.settings.constant, self.settings.threads, self.settings.most_bytes)


class Model:
    """A graph whose inputs' ranks are known: one program, or parts in turn."""

    def __init__(self, graph: Graph, given: Sequence[Fact], settings: Settings, tentative: bool = False):
        self.scope = followed(graph, given, tentative)
        self.graph = graph = self.scope.graph
        self.given, self.settings = list(given), settings
        self.inputs, self.outputs = [v.name for v in graph.inputs], [v.name for v in graph.outputs]
        self.parts: list[Any] = []
        self.position = {id(n): k for k, n in enumerate(graph.nodes)}
        self.makers = {o: n for n in graph.nodes for o in n.outputs if o}
        self.last = {i: k for k, n in enumerate(graph.nodes) for i in n.inputs} | dict.fromkeys(self.outputs, len(graph.nodes))
        self._keep_for_sizes()
        self.whole = None if self._cut() else Bound(graph, self.given, settings, self.scope)
        self.deciding = self._deciding() if self.whole is None else []

    def _deciding(self) -> list[int]:
        """The inputs whose values would tell what a node waits for at which the graph is cut."""
        found: set[str] = set()
        for node in (p.node for p in self.parts if isinstance(p, Unbound)):
            awaited = [i for p, i in zip(node.schema.inputs, node.inputs, strict=False)
                       if i and (p.name in node.op.known or node.schema.name == "If")]
            leaves = self._made_of(awaited)
            if all(self.scope.facts[v].type in CHOOSING for v in leaves):
                found |= leaves
        return [k for k, i in enumerate(self.inputs) if i in found]

    def _made_of(self, values: list[str]) -> set[str]:
        """The graph's inputs that values which are not known depend on."""
        seen, todo = set(values), list(values)
        while todo:
            maker = self.makers.get(todo.pop())
            new = {i for i in maker.inputs if i and self.scope.facts[i].value is None} - seen if maker is not None else set()
            seen |= new
            todo += new
        return seen.intersection(self.inputs)

    def _keep_for_sizes(self) -> None:
        """What sizes are worked out from lives as long as they do: parts that read them work them out anew."""
        for n in reversed(self.graph.nodes):
            end = max((self.last.get(o, 0) for o in n.outputs if o and self.scope.facts[o].value is not None), default=0)
            self.last.update((i, max(self.last.get(i, 0), end)) for i in n.inputs)

    def accepts(self, feeds: Sequence[Any]) -> bool:
        """Whether feeds have the shapes that the graph was planned for."""
        sizes: dict[Dim, int] = {}
        for fact, feed in zip(self.given, feeds, strict=True):
            if fact.shape is not None and isinstance(feed, np.ndarray):
                if len(fact.shape) != feed.ndim or type_of(feed) != fact.type:
                    return False
                pairs = zip(fact.shape, feed.shape, strict=True)
                if any((sizes.setdefault(d, n) if isinstance(d, Dim) else d) != n for d, n in pairs):
                    return False
        return True

    def _cut(self) -> bool:
        """Part the nodes, where anything parts them: what needs the data, or follows where not even ranks are known."""
        stretch: list[Node] = []
        for k, (node, place) in enumerate(places(self.graph.nodes, self.scope.facts)):
            if place != "within":
                self._add(stretch, stretched)
                stretch = []
            if place == "rest":
                self._add(self.graph.nodes[k:], Body)
                return True
            if place == "alone":
                self.parts.append(Unbound(node, bodies_at(self.scope, node, self.settings), self.settings))
            else:
                stretch.append(node)
        if self.parts:
            self._add(stretch, stretched)
        return bool(self.parts)

    def _add(self, nodes: list[Node], kind: Callable[[Graph, Sequence[Fact], Settings], Any]) -> None:
        """A part of some nodes that follow each other: it reads what others made, and leaves what others or the caller want."""
        facts, end = self.scope.facts, self.position[id(nodes[-1])] if nodes else 0
        wanted = {o for n in nodes for o in n.outputs if o and self.last.get(o, 0) > end}
        nodes = self._with_sizes(nodes)
        reads = {i for n in nodes for i in n.inputs if i} - {o for n in nodes for o in n.outputs} - self.graph.constants.keys()
        if nodes:
            inputs = first(self.inputs, reads)
            part = self.graph.part(nodes, inputs, first(self.outputs, wanted))
            self.parts.append(kind(part, [facts[i] for i in inputs], self.settings))

    def _with_sizes(self, nodes: list[Node]) -> list[Node]:
        """The nodes, and those earlier ones that work out sizes which they read: their values do not cross from part to part."""
        chosen = {id(n): n for n in nodes}
        todo = [i for n in nodes for i in n.inputs]
        while todo:
            maker = self.makers.get(i := todo.pop())
            if maker is not None and id(maker) not in chosen and self.scope.facts[i].value is not None:
                chosen[id(maker)] = maker
                todo += maker.inputs
        return sorted(chosen.values(), key=lambda n: self.position[id(n)])

    def program(self, feeds: list[Any]) -> Program | None:
        """A compiled program for feeds like these; None where a run needs the interpreter or the data."""
        made = self.whole.bind(feeds) if self.whole else None
        return made if made is not None and made.compiled else None

    def run(self, feeds: list[Any], outs: list[Any] | None = None) -> list[Any]:
        """The outputs for feeds, in the graph's order; written into ``outs`` where given."""
        if self.whole:
            return self.whole.run(feeds, outs)
        values = {**self.graph.constants, **dict(zip(self.inputs, feeds, strict=True)), "": None}
        ours: set[str] = set()
        for part in self.parts:
            values.update(zip(part.outputs, part.run([values[i] for i in part.inputs]), strict=True))
            ours.update(part.outputs)
            values[""] = None
        found = []
        for k, o in enumerate(self.outputs):
            y = values[o] if o in ours and getattr(values[o], "base", None) is None else duplicate(values[o])
            ours.discard(o)  # an output wanted twice is two arrays
            if outs is not None and outs[k] is not None:
                outs[k][...] = y
                y = outs[k]
            found.append(y)
        return found


def stretched(graph: Graph, given: Sequence[Fact], settings: Settings) -> Bound | Model:
    """Nodes that nothing cut; what made their sizes may lie outside, so that only the data tell them here: then a model."""
    local = localised(given)[0]
    scope = Scope(graph)
    scope.infer(local)
    follows = all(place == "within" for _, place in places(graph.nodes, scope.facts))
    return Bound(graph, local, settings, scope) if follows else Model(graph, local, settings)


class Body:
    """A graph run with whatever shapes come: planned for those announced, and anew for others.

    It is what an operator gets for a sub-graph. ``captured`` of its inputs, the last ones, are outer values. One that may
    never run is planned when it first does.
    """

    def __init__(self, graph: Graph, given: Sequence[Fact], settings: Settings, tentative: bool = False):
        self.graph, self.settings, self.tentative = graph, settings, tentative
        self.captured, self.most_iterations, self.most_bytes = graph.captured, settings.most_iterations, settings.most_bytes
        self.inputs, self.outputs = [v.name for v in graph.inputs], [v.name for v in graph.outputs]
        self.given = given
        self.special: OrderedDict[tuple, Model | None] = OrderedDict()  # None for what came once and was run as any other
        self.chosen: OrderedDict[tuple, Model | None] = OrderedDict()  # the same for values of deciding inputs
        self.again = self.choices = 0  # plans made for sizes and for values that came twice
        self.recent: Bound | None = None  # the last whole plan for sizes that are numbers
        if not tentative:
            self.whole  # noqa: B018 - what is wrong with it is to be told now

    @cached_property
    def general(self) -> Model | None:
        """The graph as planned for what was announced."""
        known = len(self.given) == len(self.graph.inputs) and not any(map(rankless, self.given))
        return Model(self.graph, localised(self.given)[0], self.settings, self.tentative) if known else None

    @cached_property
    def whole(self) -> Bound | None:
        """The same, if one program runs it."""
        return self.general.whole if self.general else None

    def idle(self, feeds: list[Any]) -> tuple[Bound, Program] | None:
        """A program that was bound for feeds like these and waits for its next run, and what takes it back."""
        whole = self.whole or self.recent
        program = whole.take(feeds) if whole is not None else None
        return None if whole is None or program is None else (whole, program)

    def model(self, feeds: list[Any]) -> Model:
        """The graph as planned for feeds like these."""
        general = self.general
        if general is not None and general.whole and general.accepts(feeds):
            return general
        signature = tuple([(type_of(f), getattr(f, "shape", None)) for f in feeds])
        found = self._planned(signature, feeds)
        if not found.whole and found.deciding:
            found = self._decided(found, signature, feeds)
        self.recent = found.whole or self.recent
        return found

    def _planned(self, signature: tuple, feeds: list[Any]) -> Model:
        """The graph as planned for sizes, for any or for those that are given."""
        general = self.general
        found = self.special.get(signature)
        if found is not None:
            return found
        if general is not None and (general.whole or not general.accepts(feeds)):
            general = None
        made: Model | None = None
        if general is None:
            made = self._for(signature, None)
        elif signature in self.special and self.again < AGAIN:
            made = self._for(signature, general)
            self.again += 1
        kept(self.special, signature, made)
        return made or general  # type: ignore[return-value]

    def _decided(self, found: Model, signature: tuple, feeds: list[Any]) -> Model:
        """The same for the values of inputs that decide what runs, such as the condition of an If: known ones leave no choice."""
        given = {k: feeds[k].copy() for k in found.deciding if isinstance(feeds[k], np.ndarray) and feeds[k].size <= SMALL}
        if len(given) < len(found.deciding):
            return found
        key = signature, tuple([a.tobytes() for a in given.values()])
        made = self.chosen.get(key)
        if made is None:
            if key in self.chosen and self.choices < CHOICES:
                made = self._for(signature, found, given)
                self.choices += 1
            kept(self.chosen, key, made)
        return made or found

    def _for(self, signature: tuple, general: Model | None, values: dict[int, np.ndarray] | None = None) -> Model:
        """The graph planned for sizes that are numbers: more follows from them, so that there may be fewer parts, or just one."""
        given = [Fact(t, shape, (values or {}).get(k)) for k, (t, shape) in enumerate(signature)]
        try:
            made = Model(self.graph, given, self.settings, self.tentative)
        except ModelError:
            if general is None:
                raise
            return general  # what is impossible is told by the node that comes upon it
        return made if general is None or made.whole or len(made.parts) < len(general.parts) else general

    def announced(self, feeds: list[Any]) -> list[Fact]:
        """What is known of the outputs for feeds like these before any run."""
        return Scope(self.graph, tentative=True).infer([Fact(type_of(f), getattr(f, "shape", None)) for f in feeds])

    def program(self, feeds: list[Any]) -> Program | None:
        """A compiled program for feeds like these; None where a run needs the interpreter or the data."""
        if self.settings.open_bodies:
            return None
        try:
            return self.model(feeds).program(feeds)
        except (ModelError, RunError):
            if not self.tentative:
                raise
            return None  # what is impossible may never run; where it does, its run tells

    def run(self, feeds: list[Any], outs: list[Any] | None = None) -> list[Any]:
        """The outputs for feeds, in the graph's order; written into ``outs`` where given."""
        return self.model(feeds).run(feeds, outs)


def decides(value: Any) -> bool:
    """Whether a value is such that it may decide which nodes run, or the sizes of their results."""
    return isinstance(value, np.ndarray) and value.size <= SMALL and type_of(value) in CHOOSING


def kept(plans: OrderedDict[tuple, Model | None], key: tuple, made: Model | None) -> None:
    """Remember a plan, or that it was asked for, and forget the oldest beyond a few."""
    plans[key] = made
    while len(plans) > KEPT:
        plans.popitem(last=False)


def bodies_of(scope: Scope, settings: Settings) -> dict[int, dict[str, Body]]:
    """What stands for the sub-graphs of each node."""
    return {id(n): bodies_at(scope, n, settings) for n in scope.graph.nodes if n.bodies}


def bodies_at(scope: Scope, node: Node, settings: Settings) -> dict[str, Body]:
    """What stands for the sub-graphs of a node, planned for what inference found of their inputs."""
    return {k: Body(s.graph, s.given, settings, tentative=True) for k, s in scope.bodies.get(id(node), {}).items()}


def first(order: Sequence[str], values: set[str]) -> list[str]:
    """Values, those of ``order`` first and as there."""
    return [v for v in dict.fromkeys(order) if v in values] + sorted(values.difference(order))
