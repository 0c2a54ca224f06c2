"""Running models: a Session keeps a program per input signature, checks what is fed, and tells observers."""
from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from threading import Event, Lock
from types import FrameType
from typing import TYPE_CHECKING, Any, Literal, Union
from weakref import WeakSet

from .collecting import Uncollected
from .errors import InputError, RunError, UsageError, nearest
from .feeding import check, listed, several
from .graph import Graph, Value
from .infer import declared
from .kernels import threads as pool
from .kernels.program import Cancel
from .kernels.step import KernelFailed
from .ops import standard
from .optimize import LEVELS
from .parts import KEPT, Body
from .plan import MOST_ITERATIONS, Settings
from .record import replace
from .registry import Registry
from .source import Source
from .variants import Variants, Wanted, counts
from .weights import Packing, give_back

if TYPE_CHECKING:
    import onnx

    from .observe import Observer
    from .stream import Stream

Model = Union[str, "os.PathLike[str]", bytes, "onnx.ModelProto"]
MOST_THREADS = 1024
SESSIONS: WeakSet[Session] = WeakSet()  # those of this process, which a child after fork has too


def load(model: Model, *, threads: int | None = None, registry: Registry | None = None, optimize: int | bool = 2,
         precision: Literal["exact"] | None = None, trusted: Sequence[str | os.PathLike[str]] = (),
         plugins: bool = True, most_iterations: int = MOST_ITERATIONS, most_bytes: int | None = None) -> Session:
    """Make a model ready to run.

    ``model`` is a path, the bytes of a file, or a ModelProto. ``threads``: how many work for one run (default: what the
    process may use, by affinity and cgroup). ``registry``: operators, by default the standard ones; a layer of your own is
    ``Registry(standard).add(...)``. ``optimize``: 0 (or False) runs the graph as written, 1 drops what is not needed, 2 also
    folds constants and fuses operators. ``precision="exact"`` keeps to kernels that sum directly. ``trusted``: folders,
    beside the model's own, from which external data may come. ``plugins``: whether operators that are not in the registry are
    looked for in installed plug-ins (`interp.plugins`). ``most_iterations``: of one Loop, beyond which it is taken for
    endless and the run ends with a RunError; ``most_bytes``: that the values of one run may take (default: the memory that
    the machine has).
    A file of more than a few MiB is mapped: while the session lives, put another in its place rather than write to it.
    Raises ModelError, Unsupported or UsageError.
    """
    if not isinstance(optimize, int) or optimize not in LEVELS:
        raise UsageError(f"optimize={optimize!r}: give one of {', '.join(map(str, LEVELS))}")
    if precision not in (None, "exact"):
        raise UsageError(f'precision={precision!r}: give None or "exact"')
    if threads is not None and (type(threads) is not int or not 1 <= threads <= MOST_THREADS):
        raise UsageError(f"threads={threads!r}: give a whole number from 1 to {MOST_THREADS}")
    if type(most_iterations) is not int or not 1 <= most_iterations < 2**63:
        raise UsageError(f"most_iterations={most_iterations!r}: give a whole number from 1 to 2**63 - 1")
    if most_bytes is not None and (type(most_bytes) is not int or most_bytes < 1):
        raise UsageError(f"most_bytes={most_bytes!r}: give a whole number from 1 on")
    with Uncollected():
        return Session(Source(model, registry or standard, trusted, plugins), threads=threads, optimize=int(optimize),
                       exact=precision == "exact", most_iterations=most_iterations, most_bytes=most_bytes)


class Session:
    """A model ready to run, from many threads at once. ``load`` makes one.

    ``inputs`` and ``outputs`` are what the model declares, in its order: each has a ``name``, a ``type`` in ONNX's words
    ("tensor(float)") and a ``shape`` of numbers, names and None for sizes that are not known, or None. ``overridable`` are
    initializers that may be fed as well. ``metadata`` has the opsets by domain ("opset"), what the file says of itself
    ("producer_name", "props", …), and how many "nodes", "parameters" and "bytes" of those there are. ``threads`` is how many
    work for one run.

    ``observers`` are callables; each is given an `interp.Event` for every node of a run, on the thread that runs. What one
    raises reaches the caller of ``run``. Where there are none, a run costs nothing more for it.

    ``with`` closes it at the end of a block. A pickle of it holds the absolute path of the model, or its bytes, and the
    settings, but neither weights nor observers: the model is loaded anew where it is unpickled, which is a ModelError if its
    files have changed. A copy shares the weights, and has observers and programs of its own; a deep copy is loaded anew.
    """

    def __init__(self, source: Source, **settings: Any):
        self._source, self._given = source, settings
        graph = source.read()
        self.inputs: list[Value] = graph.inputs
        self.outputs: list[Value] = graph.outputs
        self.overridable: list[Value] = list(graph.overridable.values())
        self.metadata: dict[str, Any] = {**graph.metadata, "opset": dict(graph.opsets), **counts(graph)}
        self.observers: list[Observer] = []
        self.threads = settings["threads"] or pool.default()
        self._names = [v.name for v in self.inputs]
        self._maps = any("map(" in (v.type or "") for v in self.inputs)
        self._output_names = [v.name for v in self.outputs]
        most = settings["most_bytes"] or memory()
        self._graphs: Variants | None = Variants(source, self.outputs, settings["optimize"], settings["exact"], most)
        whole = self._graphs.optimized(graph)
        self._settings = Settings(whole.packing, self.threads, Cancel(), settings["most_iterations"], most)
        self._begin(Body(whole.graph, list(map(declared, self.inputs)), self._settings))

    def _begin(self, body: Body) -> None:
        """What no two sessions share."""
        self._cancel = self._settings.cancel
        self._body: Body | None = body  # None once the session is closed
        self._bodies: dict[Wanted, Body] = {}
        self._running: list[None] = []  # an item a run: append and pop are one step each, where += is several
        self._ended, self._closing = Event(), Lock()
        self._lanes: list[Session] = []
        self._idle: list[Session] = []
        SESSIONS.add(self)

    def _forked(self) -> None:
        """Forget the runs of a parent's threads, which nobody ends here; this thread's own go on."""
        own = sum(1 for f in frames() if f.f_code is Session.run.__code__ and f.f_locals["self"] is self)
        for _ in self._running[own:]:
            self._cancel.leave()
        del self._running[own:]
        self._ended, self._closing = Event(), Lock()

    def run(self, names: Sequence[str] | None, feeds: Mapping[str, Any], *, tensors: Sequence[str] | None = None,
            out: Mapping[str, Any] | None = None) -> list[Any]:
        """The outputs that ``names`` lists (None: all, in the model's order) for arrays by input name.

        An initializer that the model lists among its inputs may be fed too. Arrays of other libraries on the CPU, and whatever
        has the buffer protocol, are taken where they lie. ``tensors`` names tensors inside the graph as it is written (as
        `tensors` lists them; also inputs and initializers), which follow the outputs. ``out`` has C-contiguous arrays by
        output name, which are filled and returned.
        Raises InputError for a feed that is missing, unknown, or of another type, rank or size than declared, and for an array
        in ``out`` that does not fit; RunError, which names the node, where a kernel fails; UsageError once the session is closed;
        ModelError where other outputs, tensors or feeds take reading the model again, and its file has changed.
        """
        if type(feeds) is not dict and not isinstance(feeds, Mapping):
            raise InputError(f"feeds are given as {{name: array}}, not as {type(feeds).__name__}")
        if names is not None and not isinstance(names, list | tuple):
            names = several(names)
        running, cancel = self._running, self._cancel
        running.append(None)
        cancel.enter()
        try:
            body = self._body
            if (names is not None and list(names) != self._output_names or len(feeds) != len(self._names) or tensors
                    or body is None):
                body = self._variant(names, feeds, tensors)
            try:
                arrays = [feeds[i] for i in body.inputs]
            except KeyError as e:
                raise self._unfit(feeds) or InputError(f"no feed for input {e}") from None
            if self._maps:  # dictionaries have no type of their own, so every run has to look at them
                arrays = check(body.graph.inputs, arrays)
            if out is not None:
                return self._filled(body, arrays, out)
            if self.observers:
                return self._observed(body, arrays)
            idle = body.idle(arrays)
            if idle is None:  # shapes that are not known to be right: look closely
                return body.run(check(body.graph.inputs, arrays))
            planned, program = idle
            try:
                return program.run(arrays)
            finally:
                planned.shelf.put(program)
        except KernelFailed as e:
            raise RunError(str(e)) from e.__cause__
        except MemoryError as e:
            raise RunError(f"memory ran out: {e}") from e
        finally:
            cancel.leave()
            running.pop()
            if self._body is None:
                self._ended.set()

    def _filled(self, body: Body, arrays: list[Any], out: Mapping[str, Any]) -> list[Any]:
        """Run into arrays of the caller."""
        from . import filling

        filling.check(out, body.outputs)
        arrays = check(body.graph.inputs, arrays)
        if self.observers:
            return filling.copied(body.outputs, self._observed(body, arrays), out)
        return filling.filled(body, arrays, out)

    async def run_async(self, names: Sequence[str] | None, feeds: Mapping[str, Any], *, tensors: Sequence[str] | None = None,
                        out: Mapping[str, Any] | None = None) -> list[Any]:
        """What `run` gives, from a thread of the event loop's executor.

        Cancelling the task stops this run alone, after the operator that it is at, and waits for that; `cancel` stops it too.
        """
        from .awaiting import in_thread

        mine: list[Session] = []
        hold = Lock()  # whoever has it knows that the lane is not another run's yet

        def run() -> list[Any]:
            mine.append(self._lane())
            try:
                return mine[0].run(names, feeds, tensors=tensors, out=out)
            finally:
                with hold:
                    self._idle.append(mine.pop())

        def stop() -> None:
            with hold:
                for lane in mine:
                    lane.cancel()

        return await in_thread(run, stop)

    def _lane(self) -> Session:
        """A copy for one run at a time, which can be cancelled by itself."""
        with self._closing:
            try:
                lane = self._idle.pop()
            except IndexError:
                lane = copy(self)
                self._lanes.append(lane)
        lane.observers = self.observers
        return lane

    def stream(self, state: Mapping[str, str], initial: Mapping[str, Any] | None = None, *,
               sizes: Mapping[str, int] | None = None) -> Stream:
        """Runs that follow each other, where outputs are the next run's inputs: ``state`` is {output: input}.

        The first run takes ``initial`` by input name; what that lacks is zeros of the declared type and shape, with named
        sizes from ``sizes``, or from what the first run is fed.
        """
        from .stream import Stream

        return Stream(self, state, initial, sizes)

    @property
    def tensors(self) -> list[Value]:
        """What the nodes of the model as it is written give, with the types and shapes that it declares for them."""
        return self._open().tensors

    @property
    def graph(self) -> Graph:
        """What runs for all outputs: the model after its passes. It is there to be looked at."""
        self._open()
        return self._body.graph  # type: ignore[union-attr]

    def open_bodies(self) -> None:
        """Let bodies run from Python from now on, so that observers are told of every node in them. To be said before any run."""
        self._settings.open_bodies = True

    def cancel(self) -> None:
        """Stop the runs that are under way, after the operator that each is at: they raise RunError."""
        self._cancel()
        for lane in list(self._lanes):
            lane.cancel()

    def close(self) -> None:
        """Let go of programs, weights and the model's file, once the runs that are under way have ended; others are refused."""
        if any(frame.f_locals["self"] in (self, *self._lanes) for frame in frames() if frame.f_code is Session.run.__code__):
            raise UsageError("a session cannot be closed inside of its own run")
        with self._closing:
            self._body = self._graphs = None
            while self._running:
                self._ended.wait()
                self._ended.clear()
            self._bodies, self._settings = {}, Settings(Packing(), self.threads, self._cancel)
            for lane in self._lanes:
                lane.close()
            self._lanes, self._idle = [], []
        give_back()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __copy__(self) -> Session:
        body: Any = self._body
        self._open()
        made = Session.__new__(Session)
        made.__dict__.update(self.__dict__)
        made.observers = list(self.observers)
        made._settings = replace(self._settings, cancel=Cancel(), watches={})
        made._begin(Body(body.graph, list(map(declared, self.inputs)), made._settings))
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Session:
        self._open()
        made = restored(self._source, self._given)
        made.observers = list(self.observers)
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        self._open()
        return restored, (self._source, self._given)

    def _open(self) -> Variants:
        """What the graphs are made by, as long as the session is not closed."""
        if self._graphs is None:
            raise UsageError("the session is closed; load the model again")
        return self._graphs

    def _unfit(self, feeds: Mapping[str, Any]) -> InputError | None:
        """What is wrong with the names of feeds."""
        known = {v.name for v in [*self.inputs, *self.overridable]}
        for name in feeds:
            if name not in known:
                return InputError(f"the model has no input {name}{nearest(name, known) or f'; it takes {listed(self.inputs)}'}")
        missing = [v.name for v in self.inputs if v.name not in feeds]
        if missing:
            return InputError(f"no feed for input {', '.join(missing)}; the model takes {listed(self.inputs)}")
        return None

    def _variant(self, names: Sequence[str] | None, feeds: Mapping[str, Any], tensors: Sequence[str] | None) -> Body:
        """The model for other outputs than all, for tensors inside it, or with initializers as inputs."""
        graphs = self._open()
        unfit = self._unfit(feeds)
        if unfit:
            raise unfit
        inside = several(tensors) if tensors else []
        if strange := [name for name in (*(names or ()), *inside) if not isinstance(name, str)]:
            raise UsageError(f"outputs and tensors are named by texts, not by {strange[0]!r}")
        wanted = Wanted(frozenset(feeds) - set(self._names), None if names is None else tuple(names),
                        tuple(inside))
        found = self._bodies.get(wanted)
        if found is None:
            variant = graphs.find(wanted)
            settings = replace(self._settings, constant=variant.packing)
            found = self._bodies[wanted] = Body(variant.graph, list(map(declared, variant.graph.inputs)), settings)
            for old in list(self._bodies)[:-KEPT]:
                self._bodies.pop(old, None)
        return found

    def _observed(self, body: Body, arrays: list[Any]) -> list[Any]:
        """Run step by step, and tell the observers of each node."""
        from .observe import Watch

        arrays = check(body.graph.inputs, arrays)
        model = body.model(arrays)
        return Watch(self.observers, self._settings.watches).follow(model.graph, lambda: model.run(arrays))


def frames() -> Iterator[FrameType]:
    """The calls that this thread is in."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back


def restored(source: Source, settings: dict[str, Any]) -> Session:
    """The session that a pickle holds."""
    return Session(source, **settings)


def memory() -> int:
    """The bytes of memory that the machine has; where it does not tell, no limit."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 2**63 - 1


def forked() -> None:
    """Let the sessions of a child after fork be its own."""
    for session in list(SESSIONS):
        session._forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forked)
