"""ReferenceEvaluator: what onnx.reference has under that name, over sessions of this package, with operators as OpRun classes."""
from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, helper, numpy_helper

from .ops import standard
from .registry import Op, Registry
from .session import Session, load

if TYPE_CHECKING:
    from onnx.reference.op_run import OpRun

    from .observe import Event

Key = tuple[str, str]  # domain and name of an operator


class ReferenceEvaluator:
    """A model, graph, function or node that runs by `run(None, feeds)`, as onnx.reference.ReferenceEvaluator does.

    ``proto``: a ModelProto, GraphProto (with ``opsets``), FunctionProto or NodeProto, a path, or bytes. ``functions``: more
    functions that it calls, as FunctionProto or evaluators of one. ``new_ops``: classes derived from onnx.reference.op_run.OpRun
    with an ``op_domain``; each is the operator of its own name, also where the standard has one, and the first of a name counts.
    ``verbose``: from 2 on nodes are printed as they run, from 3 on with their results. ``optimize`` and ``threads`` are those of
    `interp.load`: by default the graph runs as it is written.

    Other than there, feeds must have the declared types, and names that the model lacks are refused; types that NumPy lacks
    are those of ml_dtypes; an operator that raises is a RunError that names its node; and bodies cannot be attributes of new
    operators. Raises ModelError, Unsupported or UsageError.
    """

    def __init__(self, proto: Any, opsets: Mapping[str, int] | None = None, functions: Sequence[Any] | None = None,
                 verbose: int = 0, new_ops: Sequence[type[OpRun]] | None = None, *, optimize: int = 0,
                 threads: int | None = None):
        source: Any = None
        if isinstance(proto, str | bytes | os.PathLike):
            source = proto
            proto = onnx.load(proto, load_external_data=False) if not isinstance(proto, bytes) else onnx.load_from_string(proto)
        self._settings: dict[str, Any]
        self.proto_, self.verbose, self._settings = proto, verbose, {"optimize": optimize, "threads": threads}
        if isinstance(proto, ModelProto) and (opsets is not None or functions is not None):
            raise ValueError("opsets and functions must be None if proto is ModelProto.")
        if isinstance(proto, GraphProto) and not isinstance(opsets, Mapping):
            raise TypeError("opsets must be a dictionary if proto is GraphProto.")
        if isinstance(proto, FunctionProto) and opsets is not None:
            raise ValueError("opsets must be None if proto is FunctionProto.")
        if not isinstance(proto, ModelProto | GraphProto | FunctionProto | NodeProto):
            raise TypeError(f"Unexpected type {type(proto)} for proto.")
        self._functions = [f if isinstance(f, FunctionProto) else f.proto_ for f in functions or ()]
        self.new_ops_ = classes(new_ops or ())
        self.opsets_ = dict(opsets) if opsets is not None else imported(proto)
        self._attributes: tuple[Any, Session] | None = None
        if not isinstance(proto, FunctionProto):
            self._session = self._loaded(source if source is not None and not self.new_ops_ else self._model({}), source)

    def _loaded(self, model: Any, source: Any = None) -> Session:
        registry = standard
        if self.new_ops_:
            whole = model if isinstance(model, ModelProto) else self.proto_
            registry = Registry(standard).add(*operators(self.new_ops_, whole, self.opsets_))
            model = model if source is None else source
        made = load(model, registry=registry, **self._settings)
        if self.verbose > 1:
            made.observers.append(self._tell)
        return made

    def _model(self, attributes: Mapping[str, Any]) -> ModelProto:
        """The model that runs, whatever was given."""
        proto, functions = self.proto_, self._functions
        if isinstance(proto, ModelProto):
            return proto
        if isinstance(proto, GraphProto):
            graph = proto
        else:
            node = proto
            if isinstance(proto, FunctionProto):
                functions = [*functions, proto]
                given = {k: v for k, v in attributes.items() if v is not None}
                node = helper.make_node(proto.name, list(proto.input), list(proto.output), domain=proto.domain, **given)
            graph = helper.make_graph([node], "g", [onnx.ValueInfoProto(name=i) for i in dict.fromkeys(node.input) if i],
                                      [onnx.ValueInfoProto(name=o) for o in node.output if o])
        imports = {**{f.domain: 1 for f in functions}, **self.opsets_}
        versions = [helper.make_opsetid(d, v) for d, v in imports.items()]
        return helper.make_model(graph, functions=functions, opset_imports=versions)

    @property
    def input_names(self) -> list[str]:
        """The names of the inputs, among them initializers that are inputs too."""
        return names(self.proto_, "input")

    @property
    def output_names(self) -> list[str]:
        """The names of the outputs."""
        return names(self.proto_, "output")

    @property
    def input_types(self) -> list[onnx.TypeProto] | None:
        """The declared types of the inputs, where there are any."""
        graph = graph_of(self.proto_)
        return None if graph is None else [i.type for i in graph.input]

    @property
    def output_types(self) -> list[onnx.TypeProto] | None:
        """The declared types of the outputs, where there are any."""
        graph = graph_of(self.proto_)
        return None if graph is None else [o.type for o in graph.output]

    @property
    def opsets(self) -> dict[str, int]:
        """The versions by domain."""
        return self.opsets_

    def __str__(self) -> str:
        return f"{type(self).__name__}({', '.join(self.input_names)}) -> {', '.join(self.output_names)}"

    def run(self, output_names: Sequence[str] | None, feed_inputs: Mapping[str, Any], attributes: Mapping[str, Any] | None = None,
            intermediate: bool = False) -> Any:
        """The results of these names (None: the outputs) as a list; with ``intermediate`` a dictionary of all of them by name.

        ``attributes`` are those of a FunctionProto. Raises InputError for feeds that do not fit, and RunError, which names
        the node, where one fails.
        """
        session = self._called(attributes or {}) if isinstance(self.proto_, FunctionProto) else self._session
        if not intermediate:
            asked = self.output_names if output_names is None else list(output_names)
            inner = [n for n in asked if n not in self.output_names]
            if not inner:
                return session.run(asked, feed_inputs)
            given = session.run(self.output_names, feed_inputs, tensors=inner)
            made = dict(zip([*self.output_names, *inner], given, strict=True))
            return [made[n] for n in asked]
        graph = graph_of(self.proto_)
        there = {v.name for v in session.tensors}.difference(v.name for v in session.outputs)
        wanted = [] if graph is None else [o for n in graph.node for o in n.output if o in there]
        stored = [] if graph is None else [numpy_helper.to_array(t) for t in graph.initializer]
        found = dict(zip((t.name for t in graph.initializer), stored, strict=True)) if graph is not None else {}
        found.update(feed_inputs)
        given = session.run(None, feed_inputs, tensors=wanted)
        return {**found, **dict(zip([*(v.name for v in session.outputs), *wanted], given, strict=True))}

    def _called(self, attributes: Mapping[str, Any]) -> Session:
        """The function with values for its attributes."""
        key = {k: attributes[k] for k in sorted(attributes)}
        if self._attributes is None or repr(self._attributes[0]) != repr(key):
            self._attributes = key, self._loaded(self._model(key))
        return self._attributes[1]

    def _tell(self, event: Event) -> None:
        print(f"{event.op_type}({', '.join(event.inputs)}) -> {', '.join(event.outputs)}")
        if self.verbose > 2:
            for name, value in event.outputs.items():
                print(f" + {name}: {described(value)}")


def described(value: Any) -> str:
    """A result in short."""
    if not isinstance(value, np.ndarray):
        return str(value)
    limits = f"in [{value.min()}, {value.max()}]" if value.size and value.dtype != object else f"({value.size} elements)"
    return f"{value.dtype}:{value.shape} {limits}"


def graph_of(proto: Any) -> Any:
    """The graph of what was given, if it is one."""
    return proto.graph if isinstance(proto, ModelProto) else proto if isinstance(proto, GraphProto) else None


def names(proto: Any, side: str) -> list[str]:
    """The names of inputs or outputs."""
    graph = graph_of(proto)
    return list(getattr(proto, side)) if graph is None else [v.name for v in getattr(graph, side)]


def imported(proto: Any) -> dict[str, int]:
    """The versions by domain that a proto asks for; a node by itself has the newest."""
    if isinstance(proto, NodeProto):
        return {proto.domain: 1 if proto.domain else onnx.defs.onnx_opset_version()}
    return {d.domain: d.version for d in proto.opset_import}


def classes(new_ops: Iterable[type[OpRun]]) -> dict[Key, type[OpRun]]:
    """Operator classes by domain and name."""
    from onnx.reference.op_run import OpRun, OpRunExpand

    found: dict[Key, type[OpRun]] = {}
    for given in new_ops:
        if not hasattr(given, "op_domain"):
            raise AttributeError(f"Class {given} must define attribute 'op_domain'.")
        if not issubclass(given, OpRun):
            raise TypeError(f"Class {given} must inherit from OpRun (in new_ops).")
        if not issubclass(given, OpRunExpand):  # asks for the function that the standard writes, which is this package's business
            found.setdefault((given.op_domain, given.__name__), given)
    return found


def nodes(proto: Any) -> Iterator[NodeProto]:
    """Every node of a model, its functions and bodies."""
    owners = [proto.graph, *proto.functions] if isinstance(proto, ModelProto) else [proto]
    for owner in owners:
        for node in owner.node:
            yield node
            for attribute in node.attribute:
                for body in [*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs]:
                    yield from nodes(body)


def operators(new_ops: Mapping[Key, type[OpRun]], model: ModelProto, opsets: Mapping[str, int]) -> Iterator[Op]:
    """An operator for each class, with the attributes that the model's nodes give it."""
    used: dict[Key, dict[str, None]] = {key: {} for key in new_ops}
    for node in nodes(model):
        for attribute in node.attribute:
            if (node.domain, node.op_type) in used:
                used[node.domain, node.op_type].setdefault(attribute.name)
    for (domain, name), made in new_ops.items():
        known = onnx.defs.has(name, domain)
        attributes = list(onnx.defs.get_schema(name, domain=domain).attributes) if known else list(used[domain, name])
        yield Op(name=name, since=1, through=None, run=runner(made, attributes, opsets, new_ops), shape=None, domain=domain,
                 wants=frozenset(["outputs"]), signature="" if known else "**inputs: T -> **outputs: U")


def runner(made: type[OpRun], attributes: Sequence[str], opsets: Mapping[str, int],
           new_ops: Mapping[Key, type[OpRun]]) -> Callable[..., Any]:
    """A function that runs a class, whose instances are kept by attributes."""
    kept: dict[Any, OpRun] = {}
    parameters = {"log": lambda pattern, *args: None, "opsets": dict(opsets), "verbose": 0, "new_ops": dict(new_ops),
                  "existing_functions": {}, "evaluator_cls": ReferenceEvaluator}

    def run(*arrays: Any, outputs: tuple[bool, ...], **given: Any) -> Any:
        given = {k: v for k, v in given.items() if v is not None}
        key = len(arrays), outputs, repr(sorted(given.items()))
        if key not in kept:
            node = helper.make_node(made.__name__, [f"x{i}" if a is not None else "" for i, a in enumerate(arrays)],
                                    [f"y{i}" if o else "" for i, o in enumerate(outputs)], domain=made.op_domain)
            node.attribute.extend(attribute(k, v) for k, v in given.items())
            kept[key] = made(node, parameters)
        return kept[key].run(*arrays)

    keywords = [inspect.Parameter(a, inspect.Parameter.KEYWORD_ONLY, default=None) for a in attributes]
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter("inputs", inspect.Parameter.VAR_POSITIONAL), *keywords])
    return run


def attribute(name: str, value: Any) -> onnx.AttributeProto:
    """An attribute, of a value as operators get it."""
    if isinstance(value, np.ndarray):
        return helper.make_attribute(name, numpy_helper.from_array(value))
    if isinstance(value, tuple):
        items = [numpy_helper.from_array(v) if isinstance(v, np.ndarray) else v for v in value]
        return helper.make_attribute(name, items, attr_type=None if items else onnx.AttributeProto.INTS)
    if not isinstance(value, str | int | float):
        raise TypeError(f"attribute {name}: bodies and types cannot be handed to a class of new_ops; write it with interp.op")
    return helper.make_attribute(name, value)
