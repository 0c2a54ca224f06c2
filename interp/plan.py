"""Where every value lives: aliases, lifetimes, one arena. Worked out once; a signature only fills in the sizes."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any, NoReturn

import numpy as np

from .arena import Arena, Planned, lines, roomy, stand_in
from .call import call, duplicate, extras, put_off, results, settled
from .dims import Dim, Fact, number
from .errors import InterpError, RunError
from .graph import Node
from .infer import Scope, label
from .joining import fill, parts_of, region
from .kernels.program import Cancel, Cell
from .kernels.step import Later, Step, copied
from .kernels.strings import viewed
from .record import field, record
from .types import DTYPE
from .weights import Packing

OBJECT = np.dtype(object)
BINDABLE = (Step, Later)
MOST_ITERATIONS = 2**31  # of one loop, beyond which it is taken for endless


@record
class Settings:
    """What all programs of a session share."""

    constant: Packing
    threads: int
    cancel: Cancel
    most_iterations: int = MOST_ITERATIONS
    most_bytes: int = 2**63 - 1  # that the values of one run may take
    watches: dict[int, Any] = field(default_factory=dict)  # of the runs that are observed, by thread
    open_bodies: bool = False  # whether bodies run from Python, so that observers are told of what is in them


class Plan:
    """The part of the planning that no size changes: what runs, which storage each value has, what may share memory.

    A *root* is the value whose storage others are views of or are written over. Roots live with the caller (feeds and
    outputs), with the model (constants and values made of sizes), in cells (what is no plain array) or in the arena.
    """

    def __init__(self, scope: Scope, bodies: dict[int, dict[str, Any]], settings: Settings):
        self.graph, self.facts, self.settings = scope.graph, scope.facts, settings
        self.inputs, self.outputs = [v.name for v in self.graph.inputs], [v.name for v in self.graph.outputs]
        self.sized = {n for n, f in self.facts.items()
                      if f.value is not None and n not in self.graph.constants and is_array(f)}
        self.nodes = self._live()
        self.used = {*self.inputs, *self.outputs, *(v for n in self.nodes for v in [*n.inputs, *n.outputs] if v)}
        self.lent = {*self.inputs, *self.graph.constants, *self.sized}
        self.cells = {v for v in self.used if not is_array(self.facts[v])}
        self.within = {v: v for v in self.used}
        self._views()
        self.home: dict[str, str] = {}
        self.copies = [k for k, o in enumerate(self.outputs) if not self._claim(o)]
        self._write_over()
        self.root = {v: self._root(v) for v in self.used}
        self.parts = parts_of(self.nodes, self.facts, self.root, self.lent | self.cells | self.home.keys(), self._is_view)
        self.conflicts = self._conflicts()
        self.calls = [(make, n) for n in self.nodes if not self._is_view(n) for make in self._makers(n, bodies.get(id(n), {}))]
        self.labels = [label(n) for _, n in self.calls] + [f"output {self.outputs[k]}" for k in self.copies]
        self.addresses = {address(c) for k, c in self.graph.constants.items() if k in self.used and k not in self.cells}
        self.loose = {v for v, r in self.root.items() if isinstance(c := self.graph.constants.get(r), np.ndarray)
                      and not c.flags.aligned}
        self.tight: dict[int, dict[int, np.ndarray]] = {}  # by call: the aligned copies of its inputs, once they are made
        self.order = sorted(range(len(self.calls)), key=self._weight, reverse=True)  # a copy is let go before others are made
        self.distinct = sorted({self.facts[v].shape or () for v in self.used - self.cells}, key=str)
        self.dtypes = {v: self.facts[v].dtype for v in self.used - self.cells}
        self.growing = {r for r in self.conflicts if any(isinstance(d, Dim) for d in self.facts[r].shape or ())}

    def _live(self) -> list[Node]:
        """The nodes that a run needs: values made of sizes need none."""
        needed, live = {*self.outputs}, []
        for n in reversed(self.graph.nodes):
            if any(o in needed and o not in self.sized for o in n.outputs):
                live.append(n)
                needed.update(n.inputs)
        return live[::-1]

    def _is_view(self, node: Node) -> bool:
        return node.op.view is not None and node.inputs[node.op.view] not in self.cells

    def _views(self) -> None:
        for n in self.nodes:
            if self._is_view(n) and n.op.view is not None and n.outputs[0]:
                self.within[n.outputs[0]] = n.inputs[n.op.view]

    def _root(self, value: str) -> str:
        while self.within[value] != value:
            self.within[value] = value = self.within[self.within[value]]
        return value

    def _claim(self, output: str) -> bool:
        """Let an output's storage be the caller's; what is fed, constant or wanted twice has to be copied there."""
        root = self._root(output)
        if root in self.lent or root in self.home:
            return False
        self.home[root] = output
        return True

    def _write_over(self) -> None:
        """Let operators that may do so write over an input that dies there and has the result's shape and type."""
        last = {self._root(i): k for k, n in enumerate(self.nodes) for i in n.inputs if i}
        kept = self.lent | self.cells
        for k, n in enumerate(self.nodes):
            for i in (n.inputs[p] for p in n.op.inplace if n.outputs[0] and p < len(n.inputs) and n.inputs[p]):
                root, mine = self._root(i), self._root(n.outputs[0])
                alike = (self.facts[i].shape, self.facts[i].type) == (self.facts[mine].shape, self.facts[mine].type)
                twice = any(v and (v != i or q not in n.op.inplace) and self._root(v) == root for q, v in enumerate(n.inputs))
                if alike and not twice and last[root] == k and root not in kept and root not in self.home:
                    self.within[mine], last[root] = root, last.get(mine, k)
                    if mine in self.home:
                        self.home[root] = self.home.pop(mine)
                    break

    def _whole(self, root: str) -> str:
        """The root that no other contains."""
        while root in self.parts:
            root = self.parts[root].whole
        return root

    def _conflicts(self) -> dict[str, set[str]]:
        """For every root in the arena, those alive at the same time."""
        born: dict[str, int] = {}
        last: dict[str, int] = {}
        for k, n in enumerate(self.nodes):
            for root in (self._whole(self.root[v]) for v in [*n.outputs, *n.inputs] if v):
                born.setdefault(root, k)
                last[root] = k
        found: dict[str, set[str]] = {}
        alive: list[str] = []
        for r in sorted(born.keys() - self.lent - self.home.keys() - self.cells, key=lambda r: born[r]):
            alive = [a for a in alive if last[a] >= born[r]]
            found[r] = set(alive)
            for a in alive:
                found[a].add(r)
            alive.append(r)
        return found

    def _makers(self, node: Node, bodies: dict[str, Any]) -> list[Callable[..., Any]]:
        """What a node runs: one call, or where some of what it joins is in place the copies of the others."""
        there = {p.position for p in self.parts.values() if p.node is node}
        return [partial(fill, k) for k in range(len(node.inputs)) if k not in there] if there else [self._maker(node, bodies)]

    def _maker(self, node: Node, bodies: dict[str, Any]) -> Callable[..., Any]:
        """From arrays and ``out`` to a step: the function's own, or its call put off."""
        attributes = {**node.attributes, **bodies}
        if any(v in self.cells for v in [*node.inputs, *node.outputs]):
            if self._is_known(node) and (node.op.cells or self._viewed(node) is not None):
                return self._bound_to_cells(node, attributes)
            if self._is_settled(node):
                return partial(put_off, settled(node, attributes, self.settings.constant))
            return partial(put_off, partial(call, node, attributes=attributes, constant=self.settings.constant))
        given = extras(node, self.settings.constant)
        if "out" not in node.op.wants:
            return partial(put_off, lambda arrays: results(node.op.run(*arrays, **attributes, **given), len(node.outputs)))
        several = node.schema.several
        return lambda arrays, outs: node.op.run(*arrays, **attributes, **given, out=outs if several else outs[0])

    def _bound_to_cells(self, node: Node, attributes: dict[str, Any]) -> Callable[..., Any]:
        """A maker of steps that read and fill cells without a look at types and attributes in a run."""
        shape = self._viewed(node)
        if shape is not None:
            return lambda arrays, outs: viewed(arrays[0], shape, outs[0])
        given, several = extras(node, self.settings.constant), node.schema.several
        return lambda arrays, outs: node.op.run(*arrays, **attributes, **given, out=outs if several else outs[0])

    def _viewed(self, node: Node) -> tuple[int, ...] | None:
        """The shape of a view of strings, with -1 for one size that only a run tells, () for one that stays; else None."""
        if node.op.view is None or node.bodies or not node.outputs[0]:
            return None
        before, after = (self.facts[v] for v in (node.inputs[node.op.view], node.outputs[0]))
        if before.type != "tensor(string)" or before.shape is None or after.shape is None:
            return None
        if before.shape == after.shape:
            return ()
        sizes = tuple(-1 if isinstance(d, Dim) else d for d in after.shape)
        return None if sizes.count(-1) > 1 or 0 in sizes or not sizes else sizes

    def _is_known(self, node: Node) -> bool:
        """Whether inference has seen the types of a node's values: arrays, strings and maps."""
        kinds = [self.facts[v].type for v in [*node.inputs, *node.outputs] if v]
        return (not node.bodies and "" not in node.inputs
                and all(k in DTYPE or k.removeprefix("seq(").startswith("map(") and "?" not in k for k in kinds))

    def _is_settled(self, node: Node) -> bool:
        """Whether strings and maps are all that keeps a node from being bound: then inference has seen its types."""
        to_buffers = "out" in node.op.wants and not any(self.facts[v].type == "tensor(string)" for v in node.outputs if v)
        return node.op.view is None and not to_buffers and not node.op.cells and self._is_known(node)

    def sizes(self, shapes: Sequence[tuple[int, ...] | None]) -> dict[str, int] | str:
        """The numbers of the named sizes, given the shapes of the inputs; or what contradicts the facts."""
        known: dict[str, int] = {}
        for name, shape in zip(self.inputs, shapes, strict=True):
            want = self.facts[name].shape
            if want is None or shape is None:
                continue
            if len(want) != len(shape) or any((known.setdefault(d.text, n) if isinstance(d, Dim) else d) != n
                                              for d, n in zip(want, shape, strict=True)):
                return f"{name}: {list(shape)} given where {list(want)} is due"
        return known

    def bind(self, feeds: Sequence[Any], old: Planned | None = None, beside: Planned | None = None) -> Planned:
        """A program for feeds of these shapes. It takes over what it can of an old one, which can then not run any more,
        and may work in the room of one ``beside``, as long as only one of the two runs at a time."""
        known = self.sizes([getattr(f, "shape", None) for f in feeds])
        if isinstance(known, str):
            raise RunError(known)
        try:
            numbers = {s: tuple([d if type(d) is int else number(d, known) for d in s]) for s in self.distinct}
        except ZeroDivisionError:
            given = [getattr(f, "shape", None) for f in feeds]
            raise RunError(f"a size is divided by another that is 0, for inputs of the shapes {given}") from None
        shapes = {v: numbers[self.facts[v].shape or ()] for v in self.dtypes}
        if any([n and min(n) < 0 for n in numbers.values()]):
            self._refuse(shapes)
        if sum([self._bytes(o, shapes) for o in self.outputs if o not in self.cells]) > self.settings.most_bytes:
            self._too_large(shapes)
        past = old.values if old is not None else {}
        memory, sized = self._constants(known, past)
        stands = old.stands if old is not None else [None] * (len(self.inputs) + len(self.outputs))
        slots = [self._slot(i, shapes, s, f) for i, s, f in zip(self.inputs, stands, feeds, strict=False)]
        outs = [self._slot(o, shapes, s) for o, s in zip(self.outputs, stands[len(slots):], strict=True)]
        memory = dict(zip(self.inputs, slots, strict=True)) | memory  # what a body captures may be known, and is then no feed
        copies = set(self.copies)
        for k, (o, slot, stand) in enumerate(zip(self.outputs, outs, stands[len(slots):], strict=True)):
            if k not in copies:
                root = self.root[o]
                memory[root] = slot if o in self.cells else self._seen(root, slot, shapes[root], past if slot is stand else {})
        memory |= {v: Cell() for v in self.cells - memory.keys()}
        arena = self._arena(shapes, memory, old, beside)
        for r, part in reversed(self.parts.items()):  # a whole comes after its parts
            whole, inputs = memory[part.whole], part.node.inputs
            if past and whole is past[part.whole] and all([shapes[i] == past[i].shape for i in inputs]):
                memory[r] = past[r]
            else:
                memory[r] = region(whole, part.position, [prod(shapes[i]) for i in inputs]).reshape(shapes[r])
        for v, root in self.root.items():
            if v not in memory:
                storage = memory[root]
                memory[v] = (storage if shapes[v] == shapes[root] else
                             self._seen(v, storage, shapes[v], past if past and storage is past[root] else {}))
        steps = self._steps(memory, old)
        steps += [put_off(duplicate, [memory[o]], [outs[k]]) if o in self.cells else copied(memory[o], outs[k])
                  for k, o in ((k, self.outputs[k]) for k in self.copies)]
        try:
            made = Planned(steps, self.labels, [*slots, *outs], len(slots), arena.room, self.addresses | sized,
                           self.settings.threads, self.settings.cancel)
        except (ValueError, MemoryError) as e:
            raise RunError(str(e)) from e
        made.values, made.stands, made.laid = memory, [*slots, *outs], arena
        return made

    def _seen(self, value: str, storage: np.ndarray, shape: tuple[int, ...], past: dict[str, Any]) -> np.ndarray:
        """A storage in the shape of a view, which may be there from the past."""
        if past and past[value].shape == shape:
            return past[value]
        try:
            return storage.reshape(shape)
        except ValueError as e:
            raise RunError(f"{next(label(n) for n in self.nodes if value in n.outputs)}: {e}") from e

    def _slot(self, value: str, shapes: dict[str, tuple[int, ...]], stand: Any, feed: Any = None) -> Any:
        """A stand-in for an array of the caller's; that of an old program, if it has the shape."""
        if value in self.cells:
            return Cell(getattr(feed, "shape", None), feed is not None and self.facts[value].type == "tensor(string)")
        if stand is not None and stand.shape == shapes[value]:
            return stand
        try:
            return stand_in(shapes[value], self.dtypes[value], self._bytes(value, shapes))
        except (MemoryError, ValueError, OSError, OverflowError):
            self._refuse({value: shapes[value]})

    def _constants(self, known: dict[str, int], past: dict[str, Any]) -> tuple[dict[str, Any], set[int]]:
        """What stands still during a run, and the addresses of what was made for this signature: values made of sizes."""
        memory: dict[str, Any] = {"": None}
        for k, c in self.graph.constants.items():
            if k in self.used:
                memory[k] = c
                if k in self.cells:
                    memory[k] = Cell()
                    memory[k].value = c
        sized = self.sized & self.used
        for k in sized:
            made = self.size_value(k, known)
            memory[k] = past[k] if past and np.array_equal(past[k], made) else made
        return memory, {address(memory[k]) for k in sized}

    def size_value(self, name: str, known: dict[str, int]) -> np.ndarray:
        """A value made of sizes, given the numbers of those that have names."""
        value, dtype = self.facts[name].value, self.facts[name].dtype
        numbers = value if value.dtype != object else np.array([number(d, known) for d in value.ravel()], dtype)
        return np.ascontiguousarray(numbers, dtype).reshape(np.shape(value))

    def _arena(self, shapes: dict[str, tuple[int, ...]], memory: dict[str, Any], old: Planned | None,
               beside: Planned | None) -> Arena:
        """Lay the roots that nobody else houses into one block; sizes that change get room, so that others stay in place."""
        sizes = {r: lines(self._bytes(r, shapes)) for r in self.conflicts}
        if old is not None:
            sizes |= {r: roomy(sizes[r]) for r in self.growing}
        arena = Arena.of(sizes, self.conflicts, self.settings.most_bytes, old, beside)
        if arena is None:
            self._too_large(shapes)
        past = old.values if old is not None and old.laid.room is arena.room else {}
        for r, offset in arena.offsets.items():
            stays = old is not None and past and old.laid.offsets[r] == offset and past[r].shape == shapes[r]
            memory[r] = past[r] if stays else np.ndarray(shapes[r], self.dtypes[r], arena.room.block, arena.start + offset)
        return arena

    def _bytes(self, value: str, shapes: dict[str, tuple[int, ...]]) -> int:
        return prod(shapes[value]) * self.dtypes[value].itemsize

    def _too_large(self, shapes: dict[str, tuple[int, ...]]) -> NoReturn:
        """Name the node with the largest result of a run that takes more than the session may."""
        most = f"the values of a run may take {self.settings.most_bytes / 2**30:.3g} GiB (most_bytes)"
        made = [(self._bytes(o, shapes), k, o) for k, n in enumerate(self.nodes) for o in n.outputs if o in shapes]
        if not made:
            raise RunError(most)
        size, k, o = max(made)
        raise RunError(f"{label(self.nodes[k])}: its result, {list(shapes[o])}, takes {size / 2**30:.3g} GiB; {most}")

    def _refuse(self, shapes: dict[str, tuple[int, ...]]) -> NoReturn:
        """Name the first node whose result no array can hold."""
        for node in self.nodes:
            for shape in (shapes[o] for o in node.outputs if o in shapes):
                if len(shapes) == 1 or min(shape, default=0) < 0:
                    small = "; its input is too small" if min(shape, default=0) < 0 else ""
                    raise RunError(f"{label(node)}: no array can have its result's shape, {list(shape)}{small}")
        raise RunError(f"no array can have one of the shapes {list(map(list, shapes.values()))}")

    def _weight(self, call: int) -> int:
        """Bytes of the constants of a call that have to be copied before they are packed."""
        return sum(self.graph.constants[self.root[i]].nbytes for i in self.calls[call][1].inputs if i in self.loose)

    def _tight(self, call: int, given: list[Any], outs: list[Any]) -> Any:
        """A call with constants that C code cannot read where they lie: aligned, but for those that are only packed."""
        make, node = self.calls[call]
        aligned = self.tight.get(call)
        if aligned is None:
            return self._tightened(call, [k for k, i in enumerate(node.inputs) if i in self.loose], given, outs)
        return make([aligned.get(k, a) for k, a in enumerate(given)], outs)

    def _tightened(self, call: int, loose: list[int], given: list[Any], outs: list[Any]) -> Any:
        """The same for the first time: what a call packs shows once it was tried, and the rest of ``loose`` is aligned then."""
        make, node = self.calls[call]
        constant = self.settings.constant
        chosen = [] if "constant" in node.op.wants else loose
        while True:
            aligned = {k: constant.aligned(given[k]) for k in chosen}
            try:
                made = make([aligned.get(k, a) for k, a in enumerate(given)], outs)
            except ValueError:
                if chosen == loose:
                    raise
                rest = [k for k in loose if not constant.has_packed(given[k])]
                chosen = loose if rest == chosen else rest
            else:
                self.tight[call] = aligned
                self.addresses |= {address(a) for a in aligned.values()}
                return made

    def _steps(self, memory: dict[str, Any], old: Planned | None) -> list[Any]:
        """Every call, bound to where its values live; an old step where they all live where they did."""
        steps: list[Any] = [None] * len(self.calls)
        past, before = (old.values, old.steps) if old is not None else ({}, steps)
        for k in self.order:
            make, node = self.calls[k]
            if isinstance(before[k], Step) and all([memory[v] is past[v] for v in node.inputs + node.outputs]):
                steps[k] = before[k]
                continue
            try:
                given, outs = [memory[i] for i in node.inputs], [memory[o] for o in node.outputs]
                made = make(given, outs) if self.loose.isdisjoint(node.inputs) else self._tight(k, given, outs)
                if not isinstance(made, BINDABLE):
                    raise ValueError(f"it was given the buffers to fill and returned no step but {type(made).__name__}")
                steps[k] = made
            except InterpError:
                raise
            except Exception as e:
                raise RunError(f"{label(node)}: {e}") from e
        return steps


def address(array: np.ndarray) -> int:
    """Where the first element lies."""
    return array.__array_interface__["data"][0]


def is_array(fact: Fact) -> bool:
    """Whether a value is a plain array, which compiled steps may touch."""
    return DTYPE.get(fact.type, OBJECT) != OBJECT
