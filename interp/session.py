"""Running models: a Session keeps a program per input signature, checks what is fed, and tells observers."""
from __future__ import annotations

import difflib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Union

import numpy as np

from .call import call
from .dims import Dim
from .errors import InputError, RunError, UsageError
from .graph import Graph, Value
from .infer import declared
from .kernels import threads as pool
from .kernels.program import Cancel
from .kernels.step import KernelFailed
from .ops import standard
from .optimize import LEVELS, optimized
from .parts import Body, bodies_of
from .plan import Packing, Settings
from .registry import Registry
from .types import DTYPE, type_of

if TYPE_CHECKING:
    import onnx

Source = Union[str, "os.PathLike[str]", bytes, "onnx.ModelProto"]
Observer = Callable[[str, str, dict[str, Any], float], None]


def load(model: Source, *, threads: int | None = None, registry: Registry | None = None, optimize: int | bool = 2,
         precision: Literal["exact"] | None = None, trusted: Sequence[str | os.PathLike[str]] = ()) -> Session:
    """Make a model ready to run.

    ``model`` is a path, the bytes of a file, or a ModelProto. ``threads``: how many work for one run (default: what the
    process may use, by affinity and cgroup). ``registry``: operators, by default the standard ones; a layer of your own is
    ``Registry(standard).add(...)``. ``optimize``: 0 (or False) runs the graph as written, 1 drops what is not needed, 2 also
    folds constants. ``precision="exact"`` keeps to kernels that sum directly. ``trusted``: folders, beside the model's own,
    from which external data may come. Raises ModelError, Unsupported or UsageError.
    """
    from .loading import load as read

    level = int(optimize)
    if level not in LEVELS:
        raise UsageError(f"optimize={optimize!r}: give one of {', '.join(map(str, LEVELS))}")
    if precision not in (None, "exact"):
        raise UsageError(f'precision={precision!r}: give None or "exact"')
    if threads is not None and (not isinstance(threads, int) or threads < 1):
        raise UsageError(f"threads={threads!r}: give a whole number from 1")
    known = registry or standard
    return Session(lambda fed: read(model, known, trusted=trusted, fed=fed), threads=threads, optimize=level)


class Session:
    """A model ready to run, from many threads at once. ``load`` makes one."""

    def __init__(self, read: Callable[[frozenset[str]], Graph], *, threads: int | None = None, optimize: int = 2):
        self._read, self._level = read, optimize
        self.threads = threads or pool.default()
        self._cancel = Cancel()
        self._settings = Settings(Packing(), self.threads, self._cancel)
        graph = self._read(frozenset())
        self.inputs: list[Value] = graph.inputs
        self.outputs: list[Value] = graph.outputs
        self.overridable: list[Value] = list(graph.overridable.values())
        self.metadata: dict[str, Any] = {**graph.metadata, "opset": dict(graph.opsets), **counts(graph)}
        self.observers: list[Observer] = []
        self._names = [v.name for v in self.inputs]
        self._body = self._planned(graph)
        self._variants: dict[tuple[frozenset[str], tuple[str, ...] | None], Body] = {}

    def _planned(self, graph: Graph) -> Body:
        graph = optimized(graph, self._level)
        own_constants(graph, self._settings)
        return Body(graph, [declared(v) for v in graph.inputs], self._settings)

    def run(self, names: Sequence[str] | None, feeds: Mapping[str, Any]) -> list[Any]:
        """The outputs that ``names`` lists (None: all, in the model's order) for arrays by input name.

        An initializer that the model lists among its inputs may be fed too. Raises InputError for a feed that is missing,
        unknown, or of another type, rank or size than declared, and RunError, which names the node, where a kernel fails.
        """
        body = self._body
        if names is not None or len(feeds) != len(self._names):
            body, names = self._variant(names, feeds)
        self._cancel.enter()
        try:
            arrays = [feeds[i] for i in body.inputs]
            if self.observers:
                check(body.graph.inputs, arrays)
                return self._observed(body, arrays)
            whole = body.whole
            program = whole.shelf.take(arrays) if whole is not None else None
            if whole is None or program is None:  # shapes that are not known to be right: look closely
                arrays = [np.asarray(a) if isinstance(a, np.generic) else a for a in arrays]
                check(body.graph.inputs, arrays)
                return body.run(arrays)
            try:
                return program.run(arrays)
            finally:
                whole.shelf.put(program)
        except KernelFailed as e:
            raise RunError(str(e)) from e.__cause__
        except KeyError as e:
            raise InputError(f"no feed for input {e.args[0]}; the model takes {listed(self.inputs)}") from None
        finally:
            self._cancel.leave()

    def cancel(self) -> None:
        """Stop the runs that are under way, after the operator that each is at: they raise RunError."""
        self._cancel()

    def _variant(self, names: Sequence[str] | None, feeds: Mapping[str, Any]) -> tuple[Body, Sequence[str] | None]:
        """The model for other outputs than all, or with initializers as inputs."""
        known = {v.name for v in [*self.inputs, *self.overridable]}
        for name in feeds:
            if name not in known:
                near = difflib.get_close_matches(name, known, 1)
                raise InputError(f"the model has no input {name}" + (f"; did you mean {near[0]}?" if near else
                                                                     f"; it takes {listed(self.inputs)}"))
        missing = [v.name for v in self.inputs if v.name not in feeds]
        if missing:
            raise InputError(f"no feed for input {', '.join(missing)}; the model takes {listed(self.inputs)}")
        declared_outputs = {v.name: v for v in self.outputs}
        for name in names or ():
            if name not in declared_outputs:
                near = difflib.get_close_matches(name, declared_outputs, 1)
                raise UsageError(f"the model has no output {name}; it gives {listed(self.outputs)}"
                                 + (f"; did you mean {near[0]}?" if near else ""))
        key = frozenset(feeds) - set(self._names), None if names is None else tuple(names)
        if key not in self._variants:
            graph = self._read(key[0])
            if names is not None:
                graph.outputs = [declared_outputs[n] for n in names]
            self._variants[key] = self._planned(graph)
        return self._variants[key], names

    def _observed(self, body: Body, arrays: list[Any]) -> list[Any]:
        """Run node by node, and tell the observers of each."""
        model = body.model(arrays)
        values = {**model.graph.constants, **dict(zip(model.inputs, arrays, strict=True))}
        bodies = bodies_of(model.scope, self._settings)
        for node in model.graph.nodes:
            begun = time.perf_counter()
            made = call(node, [values[i] if i else None for i in node.inputs], {**node.attributes, **bodies.get(id(node), {})},
                        self._settings.constant, self.threads)
            took = time.perf_counter() - begun
            found = {o: m for o, m in zip(node.outputs, made, strict=False) if o}
            values |= found
            for observer in self.observers:
                observer(node.name, node.schema.name, found, took)
        return [values[o] for o in model.outputs]


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


def check(inputs: Sequence[Value], arrays: Sequence[Any]) -> None:
    """Refuse feeds of another type, rank or size than the model declares, or whose named sizes disagree."""
    sizes: dict[Dim, tuple[int, str]] = {}
    for value, a in zip(inputs, arrays, strict=True):
        came = f"{value.name}: {shown(a)} came, {shown(value)} is due"
        if value.type is None or value.type.startswith("tensor"):
            if not isinstance(a, np.ndarray):
                raise InputError(f"{came}; give a NumPy array")
            if value.type is not None and type_of(a) != value.type:
                raise InputError(f"{came}; convert it with .astype, nothing is cast here")
            if value.type is not None and not a.dtype.hasobject and a.dtype.kind not in "US" and a.dtype != DTYPE[value.type]:
                raise InputError(f"{came}; it is in another byte order than this machine's")
            if value.shape is None:
                continue
            if a.ndim != len(value.shape):
                raise InputError(f"{came}; the number of axes differs")
            for axis, (d, n) in enumerate(zip(declared(value).shape or (), a.shape, strict=True)):
                want, where = (sizes.setdefault(d, (n, value.name)) if isinstance(d, Dim) else (d, ""))
                if want != n:
                    raise InputError(f"{came}; axis {axis} has {n}, not {want}" + (f", which is {d} in {where}" if where else ""))
        elif value.type.startswith("seq") and not isinstance(a, list | tuple) and a is not None:
            raise InputError(f"{came}; give a list")


def shown(thing: Any) -> str:
    """A type and shape as messages write them."""
    kind = (thing.type if isinstance(thing, Value) else type_of(thing)) or "a value"
    shape = getattr(thing, "shape", None)
    if kind.startswith("tensor"):
        kind = kind.removeprefix("tensor(").removesuffix(")")
    return kind if shape is None else f"{kind}[{','.join('?' if d is None else str(d) for d in shape)}]"


def listed(values: Sequence[Value]) -> str:
    return ", ".join(f"{v.name} {shown(v)}" for v in values) or "none"
