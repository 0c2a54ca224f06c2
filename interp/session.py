"""Running models: a Session keeps a program per input signature, checks what is fed, and tells observers."""
from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, Union

import numpy as np

from .call import call, duplicate
from .dims import Dim, Size
from .errors import InputError, RunError, UsageError
from .graph import Graph, Value
from .infer import declared
from .kernels import threads as pool
from .kernels.program import Cancel
from .kernels.step import KernelFailed
from .ops import standard
from .optimize import LEVELS, optimized
from .parts import KEPT, Body, bodies_of
from .plan import MOST_ITERATIONS, Settings
from .registry import Registry
from .types import as_map, type_of
from .weights import Packing, let_go

if TYPE_CHECKING:
    import onnx

Source = Union[str, "os.PathLike[str]", bytes, "onnx.ModelProto"]
Observer = Callable[[str, str, dict[str, Any], float], None]
MOST_THREADS = 1024


def load(model: Source, *, threads: int | None = None, registry: Registry | None = None, optimize: int | bool = 2,
         precision: Literal["exact"] | None = None, trusted: Sequence[str | os.PathLike[str]] = (),
         most_iterations: int = MOST_ITERATIONS, most_bytes: int | None = None) -> Session:
    """Make a model ready to run.

    ``model`` is a path, the bytes of a file, or a ModelProto. ``threads``: how many work for one run (default: what the
    process may use, by affinity and cgroup). ``registry``: operators, by default the standard ones; a layer of your own is
    ``Registry(standard).add(...)``. ``optimize``: 0 (or False) runs the graph as written, 1 drops what is not needed, 2 also
    folds constants and fuses operators. ``precision="exact"`` keeps to kernels that sum directly. ``trusted``: folders,
    beside the model's own, from which external data may come. ``most_iterations``: of one Loop, beyond which it is taken for
    endless and the run ends with a RunError; ``most_bytes``: that the values of one run may take (default: the memory that
    the machine has).
    A file of more than a few MiB is mapped: while the session lives, put another in its place rather than write to it.
    Raises ModelError, Unsupported or UsageError.
    """
    from .loading import load as read

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
    known = registry or standard
    return Session(lambda fed: read(model, known, trusted=trusted, fed=fed), threads=threads, optimize=int(optimize),
                   exact=precision == "exact", most_iterations=most_iterations, most_bytes=most_bytes)


class Session:
    """A model ready to run, from many threads at once. ``load`` makes one."""

    def __init__(self, read: Callable[[frozenset[str]], Graph], *, threads: int | None = None, optimize: int = 2,
                 exact: bool = False, most_iterations: int = MOST_ITERATIONS, most_bytes: int | None = None):
        self._read, self._level, self._exact = read, optimize, exact
        self.threads = threads or pool.default()
        self._cancel = Cancel()
        self._settings = Settings(Packing(), self.threads, self._cancel, most_iterations, most_bytes or memory())
        graph = self._read(frozenset())
        self.inputs: list[Value] = graph.inputs
        self.outputs: list[Value] = graph.outputs
        self.overridable: list[Value] = list(graph.overridable.values())
        self.metadata: dict[str, Any] = {**graph.metadata, "opset": dict(graph.opsets), **counts(graph)}
        self.observers: list[Observer] = []
        self._names = [v.name for v in self.inputs]
        self._maps = any("map(" in (v.type or "") for v in self.inputs)
        self._output_names = [v.name for v in self.outputs]
        self._body = self._planned(graph)
        self._variants: dict[tuple[frozenset[str], tuple[str, ...] | None], Body] = {}

    def _planned(self, graph: Graph) -> Body:
        stored = list(graph.constants.values())
        graph = optimized(graph, self._level, self._settings.most_bytes, self._exact)
        for array in stored:  # what passes made of them is there, and programs read them again
            let_go(array)
        own_constants(graph, self._settings)
        return Body(graph, [declared(v) for v in graph.inputs], self._settings)

    def run(self, names: Sequence[str] | None, feeds: Mapping[str, Any]) -> list[Any]:
        """The outputs that ``names`` lists (None: all, in the model's order) for arrays by input name.

        An initializer that the model lists among its inputs may be fed too. Raises InputError for a feed that is missing,
        unknown, or of another type, rank or size than declared, and RunError, which names the node, where a kernel fails.
        """
        if type(feeds) is not dict and not isinstance(feeds, Mapping):
            raise InputError(f"feeds are given as {{name: array}}, not as {type(feeds).__name__}")
        if names is not None and not isinstance(names, list | tuple):
            names = several(names)
        whole = (names is None or list(names) == self._output_names) and len(feeds) == len(self._names)
        body = self._body if whole else self._variant(names, feeds)
        try:
            arrays = [feeds[i] for i in body.inputs]
        except KeyError as e:
            raise self._unfit(feeds) or InputError(f"no feed for input {e}") from None
        if self._maps:  # dictionaries have no type of their own, so every run has to look at them
            arrays = check(body.graph.inputs, arrays)
        self._cancel.enter()
        try:
            return self._observed(body, arrays) if self.observers else self._run(body, arrays)
        except KernelFailed as e:
            raise RunError(str(e)) from e.__cause__
        except MemoryError as e:
            raise RunError(f"memory ran out: {e}") from e
        finally:
            self._cancel.leave()

    def _run(self, body: Body, arrays: list[Any]) -> list[Any]:
        idle = body.idle(arrays)
        if idle is None:  # shapes that are not known to be right: look closely
            return body.run(check(body.graph.inputs, arrays))
        whole, program = idle
        try:
            return program.run(arrays)
        finally:
            whole.shelf.put(program)

    def cancel(self) -> None:
        """Stop the runs that are under way, after the operator that each is at: they raise RunError."""
        self._cancel()

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

    def _variant(self, names: Sequence[str] | None, feeds: Mapping[str, Any]) -> Body:
        """The model for other outputs than all, or with initializers as inputs."""
        unfit = self._unfit(feeds)
        if unfit:
            raise unfit
        declared_outputs = {v.name: v for v in self.outputs}
        for name in names or ():
            if name not in declared_outputs:
                raise UsageError(f"the model has no output {name}; it gives {listed(self.outputs)}"
                                 + nearest(name, declared_outputs))
        key = frozenset(feeds) - set(self._names), None if names is None else tuple(names)
        found = self._variants.get(key)
        if found is None:
            graph = self._read(key[0])
            if names is not None:
                graph.outputs = [declared_outputs[n] for n in names]
            found = self._variants[key] = self._planned(graph)
            for old in list(self._variants)[:-KEPT]:
                self._variants.pop(old, None)
        return found

    def _observed(self, body: Body, arrays: list[Any]) -> list[Any]:
        """Run node by node, and tell the observers of each."""
        arrays = check(body.graph.inputs, arrays)
        model = body.model(arrays)
        values = {**model.graph.constants, **dict(zip(model.inputs, arrays, strict=True))}
        bodies = bodies_of(model.scope, self._settings)
        for node in model.graph.nodes:
            begun = time.perf_counter()
            made = call(node, [values[i] if i else None for i in node.inputs], {**node.attributes, **bodies.get(id(node), {})},
                        self._settings.constant, self.threads, self._settings.most_bytes)
            took = time.perf_counter() - begun
            found = {o: m for o, m in zip(node.outputs, made, strict=False) if o}
            values |= found
            for observer in self.observers:
                observer(node.name, node.schema.name, found, took)
        return [duplicate(values[o]) for o in model.outputs]


def several(names: Any) -> list[str]:
    """Names out of anything that gives them one by one, which a single name does not."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise UsageError(f"names are given as a list: [{names!r}]")
    return list(names)


def nearest(name: str, known: Iterable[str]) -> str:
    """What may have been meant by a name that is not known."""
    from difflib import get_close_matches

    alike = {k.casefold(): k for k in known}
    near = get_close_matches(str(name).casefold(), alike, 1)
    return f"; did you mean {alike[near[0]]}?" if near else ""


def own_constants(graph: Graph, settings: Settings) -> None:
    """Let every constant of a graph and its bodies be packed at most once."""
    settings.constant.own(graph.constants.values())
    for node in graph.walk():
        for inner in node.bodies.values():
            settings.constant.own(inner.constants.values())


def counts(graph: Graph) -> dict[str, Any]:
    """How large a model is: nodes, elements and bytes of its constants."""
    arrays = [c for c in graph.constants.values() if isinstance(c, np.ndarray)]
    return {"nodes": len(graph.nodes), "parameters": sum(a.size for a in arrays), "bytes": sum(a.nbytes for a in arrays)}


def check(inputs: Sequence[Value], arrays: Sequence[Any]) -> list[Any]:
    """The feeds, where types, ranks and sizes are as the model declares and named sizes agree; NumPy scalars as arrays."""
    arrays = [np.asarray(a) if isinstance(a, np.generic) else a for a in arrays]
    sizes: dict[Dim, tuple[int, str]] = {}
    for value, a in zip(inputs, arrays, strict=True):
        wrong = misfit(value, a, sizes)
        if wrong:
            raise InputError(f"{value.name}: {shown(a)} came, {shown(value)} is due; {wrong}")
    return [mapped(v, a) if v.type and "map(" in v.type else a for v, a in zip(inputs, arrays, strict=True)]


def mapped(value: Value, given: Any) -> Any:
    """A map, or a sequence of maps, with keys and values of the declared type."""
    kind = value.type or ""
    try:
        if kind.startswith("map("):
            return as_map(given, kind)
        return [as_map(g, kind[4:-1]) for g in given]
    except (ValueError, TypeError, AttributeError, KeyError) as e:
        raise InputError(f"{value.name}: {kind} is due; {e}") from e


def misfit(value: Value, a: Any, sizes: dict[Dim, tuple[int, str]]) -> str:
    """What is wrong with a feed, or nothing. ``sizes`` remembers what a name came to, and in which input."""
    kind = value.type or "tensor"
    if kind.startswith("seq"):
        return "" if isinstance(a, list | tuple) else "give a list"
    if kind.startswith("map"):
        return "" if isinstance(a, dict) else "give a dictionary"
    if not kind.startswith("tensor"):
        return ""
    if not isinstance(a, np.ndarray):
        return "give a NumPy array"
    if value.type is not None and type_of(a) != value.type:
        return "convert it with .astype, nothing is cast here"
    if not a.dtype.isnative:
        return "it is in another byte order than this machine's"
    if value.shape is None:
        return ""
    if a.ndim != len(value.shape):
        return "the number of axes differs"
    for axis, (d, n) in enumerate(zip(sizes_of(value), a.shape, strict=True)):
        due, where = sizes.setdefault(d, (n, value.name)) if isinstance(d, Dim) else (d, "")
        if due != n:
            return f"axis {axis} has {n}, not {due}" + (f", which is {d} in {where}" if where else "")
    return ""


@lru_cache(1024)
def sizes_of(value: Value) -> tuple[Size, ...]:
    """The sizes that an input is due to have; unknown ones have names of their own."""
    return declared(value).shape or ()


def shown(thing: Any) -> str:
    """A type and shape as messages write them."""
    kind = (thing.type if isinstance(thing, Value) else "nothing" if thing is None else type_of(thing)) or "a value"
    shape = getattr(thing, "shape", None)
    if kind.startswith("tensor"):
        kind = kind.removeprefix("tensor(").removesuffix(")")
    return kind if shape is None else f"{kind}[{','.join('?' if d is None else str(d) for d in shape)}]"


def listed(values: Sequence[Value]) -> str:
    return ", ".join(f"{v.name} {shown(v)}" for v in values) or "none"


def memory() -> int:
    """The bytes of memory that the machine has; where it does not tell, no limit."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 2**63 - 1
