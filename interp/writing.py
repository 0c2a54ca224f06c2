"""Models written: a Graph becomes a ModelProto or a file of standard ONNX, its larger weights beside it where that is due."""
from __future__ import annotations

import os
import re
import tempfile
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from .errors import ModelError, Unsupported, UsageError
from .graph import Graph, Node, Value
from .schema import versions
from .tensors import packed
from .types import ELEMENTS, type_of

if TYPE_CHECKING:
    import onnx

MOST_INSIDE = 2**31 - 2**24  # bytes of weights in one protobuf file; room for the rest is left
LEAST_OUTSIDE = 1024  # bytes of a tensor that is worth a place in the file beside
ALIGNED = 4096  # where tensors begin there, so that they can be mapped
PRIVATE = "interp"  # the domain of operators that only this package's own passes write
YOUNG = {"4": 10, "8": 9, "6": 13, "float4e2m1": 11, "float8e8m0": 12, "2": 13}  # element types by bits or name: IR versions
Keep = Callable[[Any, np.ndarray], None]


def save(graph: Graph, path: str | os.PathLike[str], *, external: bool | None = None) -> None:
    """Write a graph as a model, in the place of whatever has that name.

    ``external``: whether tensors of 1 KiB and more go to PATH.data, from which they can be mapped; by default where they take
    more than the 2 GiB that a protobuf file can have. Raises Unsupported, which names the node, where the standard has no words
    for what is there (operators of the private domain, constant sequences), and OSError.
    """
    place = os.fspath(path)
    if external is None:
        external = weight(graph) > MOST_INSIDE
    if not external:
        with replaced(place) as file:
            file.write(model_of(graph).SerializeToString())
        return
    with replaced(f"{place}.data") as data, replaced(place) as file:
        beside = Beside(data, f"{os.path.basename(place)}.data")
        file.write(model_of(graph, beside.keep).SerializeToString())


@contextmanager
def replaced(path: str) -> Iterator[BinaryIO]:
    """A file that takes its name when all is written: who has mapped an old one of that name keeps what it has."""
    folder, name = os.path.split(path)
    handle, made = tempfile.mkstemp(prefix=f".{name[:100]}.", dir=folder or ".")
    try:
        with open(handle, "wb") as file:
            yield file
        os.chmod(made, 0o666 & ~mask())
        os.replace(made, path)
    except BaseException:
        os.unlink(made)
        raise


def mask() -> int:
    """The permissions that new files do not get."""
    old = os.umask(0o077)
    os.umask(old)
    return old


def weight(graph: Graph) -> int:
    """The bytes of all constants of a graph and of its bodies."""
    return sum(a.nbytes for a in constants(graph))


def constants(graph: Graph) -> Iterable[np.ndarray]:
    """The arrays that a graph and its bodies hold, each once."""
    return {id(a): a for g in graphs(graph) for a in g.constants.values() if isinstance(a, np.ndarray)}.values()


def graphs(graph: Graph) -> Iterator[Graph]:
    """A graph and the bodies in it, at any depth."""
    yield graph
    for node in graph.nodes:
        for body in node.bodies.values():
            yield from graphs(body)


class Beside:
    """The file of weights beside a model."""

    def __init__(self, file: BinaryIO, location: str):
        self._file, self._location = file, location

    def keep(self, tensor: Any, array: np.ndarray) -> None:
        """Write an array's elements, and into its tensor where they are; a small one stays in the tensor."""
        content = packed(array)
        if content.nbytes < LEAST_OUTSIDE:
            inside(tensor, array)
            return
        self._file.write(bytes(-self._file.tell() % ALIGNED))
        facts = {"location": self._location, "offset": self._file.tell(), "length": content.nbytes}
        self._file.write(content.data)
        tensor.data_location = tensor.EXTERNAL
        for key, value in facts.items():
            tensor.external_data.add(key=key, value=str(value))


def inside(tensor: Any, array: np.ndarray) -> None:
    """Give a tensor its elements."""
    tensor.raw_data = packed(array).tobytes()


def model_of(graph: Graph, keep: Keep = inside) -> onnx.ModelProto:
    """The ModelProto of a graph; ``keep`` puts the elements of each constant where they belong."""
    import onnx

    opsets = opsets_for(graph)
    facts = graph.metadata
    made = onnx.ModelProto(producer_name=facts.get("producer_name", "onnx-interp"), doc_string=facts.get("model_doc", ""),
                           producer_version=facts.get("producer_version", ""), domain=facts.get("domain", ""),
                           model_version=facts.get("model_version", 0), ir_version=ir_version(graph, opsets))
    made.opset_import.extend(onnx.helper.make_opsetid(domain, version) for domain, version in sorted(opsets.items()))
    for key, value in facts.get("props", {}).items():
        made.metadata_props.add(key=key, value=value)
    Writer(graph, keep).graph(graph, made.graph)
    made.graph.doc_string = facts.get("graph_doc", "")
    return made


def opsets_for(graph: Graph) -> dict[str, int]:
    """A version of each domain under which every node means what it does; Unsupported where none does.

    It is the model's own, but where functions that were put in their place had been written for another.
    """
    found = {"": graph.opsets[""]} if "" in graph.opsets else {}
    by_domain: dict[str, list[Node]] = {}
    for node in graph.walk():
        by_domain.setdefault(node.schema.domain, []).append(node)
    for domain, nodes in by_domain.items():
        if domain == PRIVATE:
            raise Unsupported(f"{nodes[0].name}: {nodes[0].schema} is an operator of this package, which the standard does not "
                              "have; write the graph as it was before the passes that fuse operators (optimize=0)")
        found[domain] = common_version(domain, nodes, graph.opsets.get(domain))
    return found or dict(graph.opsets)


def common_version(domain: str, nodes: list[Node], preferred: int | None) -> int:
    """A version of a domain in which all nodes mean what they do: the preferred one, or the newest that will do."""
    low, high = 1, 2**31
    for node in {n.schema: n for n in nodes}.values():
        first, last = reach(node)
        if first > high or last < low:
            other = next(n for n in nodes if reach(n)[1] < first or reach(n)[0] > last)
            raise Unsupported(f"{node.name} and {other.name}: {node.schema} and {other.schema} are not in one version of "
                              f"{domain or 'ai.onnx'}; they come from functions that import different ones")
        low, high = max(low, first), min(high, last)
    return preferred if preferred is not None and low <= preferred <= high else high if high < 2**31 else max(low, preferred or 1)


def reach(node: Node) -> tuple[int, int]:
    """From which to which version of its domain a node means the same."""
    history = [v for v in versions(node.schema.name, node.schema.domain) if v.since >= node.schema.since]
    for older, newer in zip(history, history[1:], strict=False):
        if newer.deprecated or not newer.only_widens(older):
            return node.schema.since, newer.since - 1
    return (node.schema.since if history else 1), 2**31


def ir_version(graph: Graph, opsets: Mapping[str, int]) -> int:
    """The version of the file format: the model's own, if that is not too old for what the graph has."""
    from onnx import helper

    imports = [helper.make_opsetid(domain, version) for domain, version in opsets.items()]
    kinds = {type_of(a) for g in graphs(graph) for a in g.constants.values()}
    kinds |= {v.type or "" for g in graphs(graph) for v in (*g.inputs, *g.outputs, *g.hints.values())}
    elements = {e for kind in kinds for e in re.findall(r"\w+", kind) if e in ELEMENTS}
    young = [YOUNG.get(e, YOUNG.get(str(ELEMENTS[e].bits), 4) if re.match("float[468]|u?int[24]$", e) else 4) for e in elements]
    return max(4, graph.metadata.get("ir_version", 0), helper.find_min_ir_version_for(imports, ignore_unknown=True), *young)


class Writer:
    """Writes a graph and its bodies; every value and every node gets a name that nothing else in the model has."""

    def __init__(self, top: Graph, keep: Keep):
        self._keep = keep
        self._values: set[str] = set()
        self._nodes: set[str] = set()
        self._shared = shared(top)

    def graph(self, given: Graph, proto: Any, outer: ChainMap[str, str] | None = None, path: str = "") -> None:
        """Fill a GraphProto; ``outer`` has what the names around it are written as."""
        names: ChainMap[str, str] = ChainMap() if outer is None else outer
        own = given.inputs[:len(given.inputs) - given.captured]
        constants = {k: c for k, c in given.constants.items() if k not in self._shared} if outer is not None else {
            **given.constants, **self._shared}
        for name in [*(v.name for v in own), *constants, *(o for n in given.nodes for o in n.outputs if o)]:
            names.maps[0][name] = unused(self._values, name)
        proto.name = given.name or path or "graph"
        for v in [*own, *given.overridable.values()]:
            describe(proto.input.add(), v, names[v.name], path)
        for name, value in constants.items():
            self._constant(proto.initializer.add(), name, names[name], value)
        for node in given.nodes:
            self._node(node, proto.node.add(), names)
        for v in given.outputs:
            name = names[v.name]
            if v.name not in names.maps[0] and outer is not None:  # a graph has to make its outputs itself
                name = unused(self._values, name)
                proto.node.add(op_type="Identity", input=[names[v.name]], output=[name], name=unused(self._nodes, name))
            describe(proto.output.add(), v, name, path)
        made = {o for n in given.nodes for o in n.outputs if o} - {v.name for v in given.outputs}
        for v in given.hints.values():
            if v.name in made and v.type:
                describe(proto.value_info.add(), v, names[v.name], path)

    def _constant(self, proto: Any, name: str, written: str, value: Any) -> None:
        if not isinstance(value, np.ndarray):
            raise Unsupported(f"{name}: is a constant that is no tensor, {type_of(value)}; a model cannot hold one")
        fill(proto, value, self._keep)
        proto.name = written

    def _node(self, node: Node, proto: Any, names: ChainMap[str, str]) -> None:
        proto.name, proto.op_type, proto.domain = unused(self._nodes, node.name), node.schema.name, node.schema.domain
        proto.input.extend(i and names[i] for i in node.inputs[:len(node.inputs) - node.captured])
        proto.output.extend(o and names[o] for o in node.outputs)
        for key, value in node.attributes.items():
            if value is None or not isinstance(value, Graph) and key not in node.schema.required and same(
                    value, node.schema.defaults.get(key)):
                continue
            attribute = proto.attribute.add()
            attribute.name = key
            if isinstance(value, Graph):
                seen = zip(value.inputs[len(value.inputs) - value.captured:], node.inputs[len(node.inputs) - node.captured:],
                           strict=True)
                around = names.new_child({v.name: names[o] for v, o in seen})
                attribute.type = attribute.GRAPH
                self.graph(value, attribute.g, around.new_child(), f"{node.name}/{key}")
            else:
                attach(attribute, value, node.schema.kinds.get(key), f"{node.name}: attribute {key}", self._keep)


def shared(top: Graph) -> dict[str, Any]:
    """The constants that several graphs of a model have; they are written once, in the outermost."""
    found: dict[str, list[Any]] = {}
    for g in graphs(top):
        for name, value in g.constants.items():
            found.setdefault(name, []).append(value)
    inner = {o for g in graphs(top) for n in g.nodes for o in n.outputs} | {v.name for g in graphs(top) for v in g.inputs}
    return {name: values[0] for name, values in found.items()
            if len(values) > 1 and name not in inner and all(v is values[0] for v in values)}


def unused(taken: set[str], name: str) -> str:
    """A name, with a number where it is taken."""
    free, count = name, 1
    while free in taken:
        count += 1
        free = f"{name}_{count}"
    taken.add(free)
    return free


def same(value: Any, default: Any) -> bool:
    """Whether an attribute has its default, of the same type."""
    return type(value) is type(default) and not isinstance(value, np.ndarray) and value == default


def describe(proto: Any, value: Value, name: str, path: str) -> None:
    """Fill a ValueInfoProto; what lies in a sub-graph need not have a type."""
    proto.name = name
    if value.type and "?" not in value.type:
        fill_type(proto.type, value.type, value.shape)
    elif not path:
        raise ModelError(f"{name}: its type is not known, which an input or output of a model has to have")


def fill_type(proto: Any, kind: str, shape: tuple[int | str | None, ...] | None = None) -> None:
    """Fill a TypeProto from a type in ONNX's words, as in "seq(tensor(float))"."""
    outer, _, rest = kind.partition("(")
    inner = rest.removesuffix(")")
    if outer in ("tensor", "sparse_tensor"):
        tensor = proto.tensor_type if outer == "tensor" else proto.sparse_tensor_type
        tensor.elem_type = code(inner)
        if shape is not None:
            tensor.shape.SetInParent()
            for size in shape:
                dim = tensor.shape.dim.add()
                if isinstance(size, str):
                    dim.dim_param = size
                elif size is not None:
                    dim.dim_value = size
    elif outer in ("seq", "optional"):
        fill_type((proto.sequence_type if outer == "seq" else proto.optional_type).elem_type, inner)
    elif outer == "map":
        key, _, held = inner.partition(",")
        proto.map_type.key_type = code(key.strip())
        fill_type(proto.map_type.value_type, f"tensor({held.strip()})" if held.strip() in ELEMENTS else held.strip())
    elif outer == "opaque":
        proto.opaque_type.domain, _, proto.opaque_type.name = inner.partition(",")
    else:
        raise ModelError(f"{kind} is no type of ONNX")


def code(element: str) -> int:
    """The number that stands for an element type."""
    if element not in ELEMENTS:
        raise ModelError(f"{element} is no element type of ONNX")
    return ELEMENTS[element].code


def fill(proto: Any, array: np.ndarray, keep: Keep = inside) -> None:
    """Fill a TensorProto."""
    kind = type_of(array)
    proto.data_type = code(kind[len("tensor("):-1])
    proto.dims.extend(array.shape)
    if kind == "tensor(string)":
        proto.string_data.extend(octets(s) for s in array.ravel().tolist())
    else:
        keep(proto, array)


def octets(text: Any) -> bytes:
    """Text as files have it; what was no UTF-8 comes out as it came in."""
    return text if isinstance(text, bytes) else str(text).encode("utf-8", "surrogateescape")


def attach(proto: Any, value: Any, kind: str | None, what: str, keep: Keep = inside) -> None:
    """Give an AttributeProto its value, of the kind that the schema says, or else that the value shows."""
    kind = kind or kind_of(value)
    proto.type = getattr(proto, kind, 0)
    several = list(value) if kind.endswith("S") else [value]
    if kind in ("INT", "FLOAT", "STRING"):
        setattr(proto, kind[0].lower(), octets(value) if kind == "STRING" else value)
    elif kind in ("INTS", "FLOATS", "STRINGS"):
        getattr(proto, kind.lower()).extend(map(octets, several) if kind == "STRINGS" else several)
    elif kind in ("TENSOR", "TENSORS"):
        for array in several:
            fill(proto.tensors.add() if kind == "TENSORS" else proto.t, array, keep)
    elif kind in ("TYPE_PROTO", "TYPE_PROTOS"):
        for name in several:
            fill_type(proto.type_protos.add() if kind == "TYPE_PROTOS" else proto.tp, name)
    else:
        raise UsageError(f"{what} is {kind}, which cannot be written")


def kind_of(value: Any) -> str:
    """The kind of attribute that a value is, where no schema tells."""
    if isinstance(value, tuple | list):
        kinds = {kind_of(v) for v in value} or {"INT"}
        return ("FLOAT" if kinds == {"INT", "FLOAT"} else kinds.pop()) + "S"
    if isinstance(value, np.ndarray):
        return "TENSOR"
    return "STRING" if isinstance(value, str | bytes) else "FLOAT" if isinstance(value, float | np.floating) else "INT"
