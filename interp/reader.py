"""Graphs of a model made of its protobuf: names resolved, functions inlined, sub-graphs' captures listed, nodes sorted.

Every value and every node of the result has a name of its own, in sub-graphs too: what an inner graph names like something
else in the model is renamed, what a function names gets the calling node's name in front.
"""
from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Sequence
from typing import Any

from .attributes import bind, constant, kind_of, plain_value
from .errors import ModelError, Unsupported, UnsupportedOperator, UnsupportedVersion
from .functions import Function, domain_of, standard_function
from .gradient import differentiated
from .graph import Graph, Node, Value
from .record import field, record, replace
from .registry import Op, Registry
from .schema import Parameter, Schema, schema
from .sort import in_order
from .tensors import Folder, array, dense
from .values import text, value

DEEPEST = 100
MOST_INLINED = 1 << 18


@record(frozen=True)
class Place:
    """Where a node stands: the names it sees, the versions that rule it, and the functions it lies in.

    ``attributes`` are those of the innermost function's call, each with the place where it was written.
    """

    names: ChainMap[str, str]
    opsets: dict[str, int]
    attributes: dict[str, tuple[Any, Place]] | None = None
    calls: tuple[Function, ...] = ()
    prefix: str = ""
    depth: int = 0

    def inner(self, **changes: Any) -> Place:
        """A place one level further down."""
        if self.depth == DEEPEST:
            raise ModelError(f"sub-graphs and functions are nested more than {DEEPEST} deep")
        return replace(self, depth=self.depth + 1, **changes)


@record(frozen=True)
class Draft:
    """A graph being read, and what defines each of its values, in words."""

    graph: Graph
    defined: dict[str, str] = field(default_factory=dict)


class Reader:
    """Makes graphs, and knows what the whole model shares: the names in use, where each is defined, what is missing."""

    def __init__(self, registry: Registry, functions: dict[tuple[str, str, str], Function], folder: Folder,
                 newest: dict[str, int], plugins: bool = False):
        self._registry, self._plugins = registry, plugins
        self._functions = functions
        self._folder = folder
        self._newest = newest
        self._value_names: dict[str, int] = {}
        self._node_names: dict[str, int] = {}
        self._home: dict[str, Graph] = {}
        self._found: dict[tuple[str, str, int | None], tuple[Schema, Op | Function]] = {}
        self._missing: dict[str, tuple[Unsupported, list[str]]] = {}
        self._inlined = 0

    def check_complete(self) -> None:
        """Refuse a model that needs operators which are not there, all of them in one error."""
        if not self._missing:
            return
        lines = [f"{nodes[0]}{f' and {len(nodes) - 1} more' if len(nodes) > 1 else ''}: {message}"
                 for message, (_, nodes) in self._missing.items()]
        only_versions = all(isinstance(e, UnsupportedVersion) for e, _ in self._missing.values())
        raise (UnsupportedVersion if only_versions else UnsupportedOperator)("\n".join(lines))

    def graph(self, proto: Any, place: Place, fed: frozenset[str] = frozenset()) -> Graph:
        """A graph and all that lies in it; ``fed`` are initializers that are to be inputs."""
        draft = Draft(Graph(text(proto.name), [], [], [], opsets=place.opsets))
        made, own = draft.graph, place.names.maps[0]
        for i in proto.input:
            made.inputs.append(value(self._define(i.name, f"input {i.name}", draft, place), i.type, least=0))
        self._initializers(proto, draft, place, fed)
        self._nodes(proto.node, draft, place, {})
        for o in proto.output:
            made.outputs.append(value(self._resolve(o.name, f"output of graph {made.name}", place), o.type, least=1))
        for v in proto.value_info:
            if v.name in own:
                made.hints[own[v.name]] = value(own[v.name], v.type, least=1)
        made.nodes = in_order(differentiated(made, self._registry, lambda hint, kind: self._fresh(hint, kind, draft)))
        return made

    def _fresh(self, hint: str, kind: str, draft: Draft) -> str:
        """A name for a value or a node that the model does not have."""
        if kind == "node":
            return unused(self._node_names, hint)
        name = unused(self._value_names, hint)
        self._home[name] = draft.graph
        return name

    def _initializers(self, proto: Any, draft: Draft, place: Place, fed: frozenset[str]) -> None:
        made, own = draft.graph, place.names.maps[0]
        inputs = {v.name: v for v in made.inputs}
        for tensor, raw, read in [*((t, t.name, array) for t in proto.initializer),
                                  *((s, s.values.name, dense) for s in proto.sparse_initializer)]:
            name = own.get(raw)
            if name not in inputs or name in made.constants:
                name = self._define(raw, f"initializer {raw}", draft, place)
            elif place.depth or name in fed:
                continue
            else:
                made.overridable[name] = inputs[name]
            made.constants[name] = read(tensor, self._folder)
        made.inputs = [v for v in made.inputs if v.name not in made.overridable]

    def _nodes(self, protos: Iterable[Any], draft: Draft, place: Place, outputs: dict[str, str]) -> None:
        """Read nodes once all that they define has names; ``outputs`` are names that a function's caller has chosen."""
        named = [(p, unused(self._node_names, place.prefix + text(p.name)) if p.name else "") for p in protos]
        named = [(p, name or unused(self._node_names, f"{place.prefix}{text(p.op_type)}_{i}"))
                 for i, (p, name) in enumerate(named)]
        for proto, name in named:
            for o in filter(None, proto.output):
                self._define(o, f"node {name}", draft, place, outputs.get(o))
        constants = [p.op_type == "Constant" and not domain_of(p) for p, _ in named]
        for wanted, read in ((True, self._constant), (False, self._node)):
            for (proto, name), is_constant in zip(named, constants, strict=True):
                if is_constant == wanted:
                    read(name, proto, draft, place)

    def _define(self, raw: str, what: str, draft: Draft, place: Place, name: str | None = None) -> str:
        """Give a value of a graph the name that it has in the result."""
        own = place.names.maps[0]
        if not raw:
            raise ModelError(f"{what.rstrip()} has no name")
        if raw in own:
            before = draft.defined.get(own[raw], "an input of the function")
            raise ModelError(f"the value {raw} is defined twice, by {before} and by {what}")
        own[raw] = name = name or unused(self._value_names, place.prefix + text(raw))
        draft.defined[name] = what
        self._home[name] = draft.graph
        return name

    def _resolve(self, raw: str, what: str, place: Place) -> str:
        try:
            return place.names[raw]
        except KeyError:
            from difflib import get_close_matches

            near = get_close_matches(text(raw), place.names, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ModelError(f"{what}: nothing defines the value {raw!r}{hint}") from None

    def _constant(self, name: str, proto: Any, draft: Draft, place: Place) -> None:
        s = schema("Constant", self._opset("", name, place))
        check_counts(name, s, proto.input, proto.output)
        given = proto.attribute
        if len(given) == 1 and given[0].name == "value" and not given[0].ref_attr_name and kind_of(given[0]) == "TENSOR":
            draft.graph.constants[place.names[proto.output[0]]] = array(given[0].t, self._folder)
            return
        bound = bind(name, s, self._attributes(name, proto, place), lambda kind, a, _: plain_value(kind, a, self._folder))
        draft.graph.constants[place.names[proto.output[0]]] = constant(name, bound)

    def _node(self, name: str, proto: Any, draft: Draft, place: Place) -> None:
        inputs = [i and self._resolve(i, name, place) for i in proto.input]
        while inputs and not inputs[-1]:
            inputs.pop()
        outputs = [o and place.names[o] for o in proto.output]
        given = self._attributes(name, proto, place)
        domain, op_type = domain_of(proto), text(proto.op_type)
        local = self._functions.get((domain, op_type, proto.overload))
        if local and not (domain and self._registry.declared(domain, op_type)):
            local.check_call(name, len(inputs), len(outputs), given)
            self._inline(name, local, inputs, outputs, given, draft, place)
            return
        try:
            s, op = self._operator(domain, op_type, name, place)
        except Unsupported as e:
            self._missing.setdefault(str(e), (e, []))[1].append(name)
            return
        check_counts(name, s, inputs, outputs)
        if isinstance(op, Function):
            bind(name, s, given, lambda *_: None)
            self._inline(name, op, inputs, outputs, given, draft, place)
            return
        bound = bind(name, s, given, lambda kind, a, there: self._value(kind, a, there, place))
        for key in op.refers:
            bound[key] = self._referred(bound[key], name, place)
        node = Node(name, s, op, inputs, outputs, bound)
        self._capture(node)
        draft.graph.nodes.append(node)

    def _referred(self, given: Any, name: str, place: Place) -> Any:
        """An attribute that names values, with the names that they have in the result."""
        if isinstance(given, str):
            return self._resolve(given, name, place)
        return given and tuple(self._resolve(g, name, place) for g in given)

    def _attributes(self, name: str, proto: Any, place: Place) -> dict[str, tuple[Any, Place]]:
        """A node's attributes, each with the place where it was written: references stand for those of the function's call."""
        found: dict[str, tuple[Any, Place]] = {}
        for a in proto.attribute:
            if text(a.name) in found:
                raise ModelError(f"{name}: attribute {a.name} is there twice")
            if not a.ref_attr_name:
                found[a.name] = a, place
            elif place.attributes is None:
                raise ModelError(f"{name}: attribute {a.name} refers to {a.ref_attr_name}, outside of a function")
            elif a.ref_attr_name in place.attributes:
                found[a.name] = place.attributes[a.ref_attr_name]
        return found

    def _value(self, kind: str, attribute: Any, there: Place, here: Place) -> Any:
        if kind != "GRAPH":
            return plain_value(kind, attribute, self._folder)
        deep = replace(there, depth=here.depth)  # a graph handed to a function lies as deep as the function uses it
        return self.graph(attribute.g, deep.inner(names=there.names.new_child()))

    def _opset(self, domain: str, name: str, place: Place) -> int:
        opset, newest = place.opsets.get(domain), self._newest[domain]
        if opset is None:
            raise ModelError(f"{name}: the model does not say which version of {domain or 'ai.onnx'} it uses (opset_import)")
        if opset > newest:
            raise UnsupportedVersion(f"version {opset} of {domain or 'ai.onnx'} is newer than the newest known, {newest}; "
                                     "convert the model, or upgrade onnx")
        if opset < 1:
            raise ModelError(f"{name}: there is no version {opset} of {domain or 'ai.onnx'}")
        return opset

    def _operator(self, domain: str, op_type: str, name: str, place: Place) -> tuple[Schema, Op | Function]:
        """What runs a node: an operator, or a function where only the standard has one."""
        key = domain, op_type, place.opsets.get(domain)
        if key not in self._found:
            opset = self._opset(domain, name, place) if domain in self._newest else 1
            try:
                self._found[key] = self._look_up(self._registry, domain, op_type, opset, name)
            except Unsupported as e:
                if not self._plugins:
                    raise
                self._found[key] = self._plugged(domain, op_type, opset, name, e)
        return self._found[key]

    def _plugged(self, domain: str, op_type: str, opset: int, name: str, lacking: Unsupported) -> tuple[Schema, Op | Function]:
        """What a plug-in has for a node that nobody else serves."""
        from . import plugins

        try:
            return self._look_up(plugins.registry(), domain, op_type, opset, name)
        except Unsupported:
            reason = plugins.installed().reason(domain, op_type)
            if not reason:
                raise lacking from None
            raise type(lacking)(f"{lacking}; {reason}") from None

    def _look_up(self, registry: Registry, domain: str, op_type: str, opset: int, name: str) -> tuple[Schema, Op | Function]:
        try:
            s = schema(op_type, opset, domain)
        except UnsupportedOperator:
            declared = registry.declared(domain, op_type)
            if declared is None:
                raise
            return declared, registry.find(declared)
        if s.deprecated:
            raise ModelError(f"{name}: {op_type} is deprecated since version {s.since} of its domain, the model imports {opset}")
        try:
            return s, registry.find(s)
        except Unsupported:
            body = standard_function(domain, op_type, opset)
            if body is None:
                raise
            return s, body

    def _inline(self, name: str, function: Function, inputs: list[str], outputs: list[str],
                given: dict[str, tuple[Any, Place]], draft: Draft, place: Place) -> None:
        """Put a function's nodes where it is called."""
        if function in place.calls:
            chain = " calls ".join(f.name for f in (*place.calls, function))
            raise ModelError(f"{name}: a function calls itself: {chain}")
        self._inlined += len(function.nodes)
        if self._inlined > MOST_INLINED:
            raise ModelError(f"{name}: the model's functions make more than {MOST_INLINED} nodes")
        names = dict.fromkeys(function.inputs, "") | dict(zip(function.inputs, inputs, strict=False))
        attributes = {k: (a, place) for k, a in function.defaults.items()} | given
        inside = place.inner(names=ChainMap(names), opsets=function.opsets, attributes=attributes,
                             calls=(*place.calls, function), prefix=f"{name}/")
        due = {f: o for f, o in zip(function.outputs, outputs, strict=False) if o}
        self._nodes(function.nodes, draft, inside, {f: o for f, o in due.items() if f not in names})
        for formal, output in due.items():
            source = self._resolve(formal, f"{name}: function {function.name}", inside)
            if source != output:
                self._pass_on(f"{name}/{formal}", source, output, draft, inside)

    def _pass_on(self, name: str, source: str, output: str, draft: Draft, place: Place) -> None:
        """An output of a function that is one of its inputs."""
        if not source:
            raise ModelError(f"{name}: is an output and an absent input")
        s = schema("Identity", place.opsets.get("", self._newest[""]))
        draft.graph.nodes.append(Node(unused(self._node_names, name), s, self._registry.find(s), [source], [output]))

    def _capture(self, node: Node) -> None:
        """Make what a node's bodies read from outside its hidden inputs; constants they share instead."""
        bodies = list(node.bodies.values())
        if not bodies:
            return
        reads = [self._reads(body) for body in bodies]
        captured = []
        for name in sorted(set().union(*reads)):
            home = self._home[name]
            if name not in home.constants or name in home.overridable:
                captured.append(name)
                continue
            for body, read in zip(bodies, reads, strict=True):
                if name in read:
                    body.constants[name] = home.constants[name]
        for body in bodies:
            body.inputs += map(Value, captured)
            body.captured = len(captured)
        node.inputs += captured
        node.captured = len(captured)

    def _reads(self, body: Graph) -> set[str]:
        names = {i for node in body.nodes for i in node.inputs if i} | {o.name for o in body.outputs}
        return {n for n in names if self._home[n] is not body}


def unused(taken: dict[str, int], name: str) -> str:
    """A name, with a number where it is taken."""
    free = name
    while free in taken:
        taken[name] += 1
        free = f"{name}_{taken[name]}"
    taken[free] = 1
    return free


def check_counts(name: str, s: Schema, inputs: Sequence[str], outputs: Sequence[str]) -> None:
    """Refuse more or fewer inputs and outputs than the schema has."""
    if len(inputs) == len(s.inputs) and len(outputs) == len(s.outputs) and all(inputs):
        return
    for kind, given, formal in (("inputs", inputs, s.inputs), ("outputs", outputs, s.outputs)):
        if len(given) > len(formal) and not (formal and formal[-1].variadic):
            raise ModelError(f"{name}: {s} has at most {len(formal)} {kind}, the node has {len(given)}")
        if any(not (p.optional or p.variadic) for p in formal[len(given):]):
            raise ModelError(f"{name}: {s} needs its {kind} {_required(formal)}, the node has {len(given)}")
    if len(inputs) < s.least:
        raise ModelError(f"{name}: {s} needs {s.least} inputs, the node has {len(inputs)}")
    for p, i in zip(s.inputs, inputs, strict=False):
        if not i and not p.optional and not p.variadic:
            raise ModelError(f"{name}: {s} needs its input {p.name}")


def _required(formal: Sequence[Parameter]) -> str:
    return ", ".join(p.name for p in formal if not (p.optional or p.variadic))
