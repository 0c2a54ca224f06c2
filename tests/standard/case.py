"""What a family's table is made of: a maker for an operator gets a triple and gives inputs, attributes and what is due.

A triple is one version of an operator with one type for one of its type constraints; the standard has 8,855 of them. A maker
is called once for each, and is told the types of all constraints::

    @case("LpNormalization")
    def lp_normalization(spec):
        x = spec.data((2, 3, 5), "T")
        return Case([x], [formula(x.astype(float))], axis=1)

Expected values come from a formula in float64, written from the operator's text, or from an independent engine
(`reference`, `onnxruntime`) where that is right for the version.
"""
from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from onnx import defs, helper

from ..every import plain

# The type that a constraint has while another one is tried, the first of these that it allows.
USUAL = ("tensor(float)", "tensor(int64)", "tensor(double)", "tensor(int32)", "tensor(uint8)", "tensor(int8)", "tensor(bool)",
         "tensor(string)", "seq(tensor(float))", "optional(tensor(float))", "map(int64, float)")


@dataclass(frozen=True)
class Triple:
    """One version of an operator with one type for one constraint; both are empty where the operator has no constraint."""

    domain: str
    op: str
    version: int
    constraint: str = ""
    type: str = ""

    def __str__(self) -> str:
        return f"{self.op}-{self.version}-{self.constraint}-{plain(self.type)}"


def triples() -> list[Triple]:
    """All live ones: every schema version that is not deprecated, every constraint, every type."""
    found = []
    for s in sorted(defs.get_all_schemas_with_history(), key=lambda s: (s.domain, s.name, s.since_version)):
        if not s.deprecated:
            kinds = [(c.type_param_str, t) for c in s.type_constraints for t in sorted(c.allowed_type_strs)] or [("", "")]
            found += [Triple(s.domain, s.name, s.since_version, c, t) for c, t in kinds]
    return found


def dtype_of(kind: str) -> np.dtype:
    """The NumPy type of "tensor(float)", or of what a sequence or an optional holds."""
    element = kind.rpartition("tensor(")[2].rstrip(")")
    return np.dtype(helper.tensor_dtype_to_np_dtype(onnx.TensorProto.DataType.Value(element.upper())))


@dataclass(frozen=True)
class Spec:
    """What a maker is told: the operator's version and the type of each constraint; and a source of data."""

    domain: str
    op: str
    version: int
    types: dict[str, str]
    tried: str = ""  # the constraint whose types are tried

    @cached_property
    def schema(self) -> Any:
        return defs.get_schema(self.op, self.version, self.domain)

    @cached_property
    def rng(self) -> np.random.Generator:
        """The same numbers for the same case, in every process."""
        return np.random.default_rng(zlib.crc32(f"{self.op} {self.version} {sorted(self.types.items())}".encode()))

    def has(self, attribute: str) -> bool:
        """Whether this version has the attribute."""
        return attribute in self.schema.attributes

    def dtype(self, constraint: str) -> np.dtype:
        return dtype_of(self.types[constraint])

    def data(self, shape: tuple[int, ...], constraint: str = "T", low: float = -3, high: float = 3) -> Any:
        """Random numbers from `low` to `high`, as far as the constraint's type has them; a list of two arrays for a sequence."""
        kind = self.types[constraint]
        return [self.array(shape, kind, low, high) for _ in range(2)] if "seq(" in kind else self.array(shape, kind, low, high)

    def array(self, shape: tuple[int, ...], kind: str | np.dtype, low: float = -3, high: float = 3) -> np.ndarray:
        """Random numbers of a type such as "tensor(float16)", or of a NumPy type."""
        dtype, rng = dtype_of(kind) if isinstance(kind, str) else np.dtype(kind), self.rng
        if dtype.kind in "OSU":
            return np.array([f"s{n}" for n in rng.integers(0, 9, int(np.prod(shape)))], object).reshape(shape)
        if dtype.kind == "b":
            return rng.integers(0, 2, shape).astype(bool)
        if dtype.kind == "c":
            return (rng.uniform(low, high, shape) + 1j * rng.uniform(low, high, shape)).astype(dtype)
        if "int" in dtype.name:
            most = ml_dtypes.iinfo(dtype)
            return rng.integers(int(max(low, most.min)), int(min(high, most.max)) + 1, shape).astype(dtype)
        if dtype.name == "float8_e8m0fnu":  # powers of two, positive ones
            return np.exp2(rng.integers(-3, 4, shape)).astype(dtype)
        return rng.uniform(low, high, shape).astype(dtype)


class Case:
    """Inputs (None for an absent one), the outputs that are due (None for one that the node has not), and attributes.

    Outputs may be wider than the type that the schema gives them: they are rounded to it. Floats are compared within the
    tolerance of tests/tolerance.py at the scale of `terms` (the largest result, where it is not given), or bit for bit if
    `exact`; anything else always is. Where a result cannot be known beforehand, `check` gets the outputs instead. `outer` has
    the type and the value of what sub-graphs among the attributes read by name. Nodes of the newest version may stand `before`
    the operator's own; the inputs are called i0, i1, ….
    """

    def __init__(self, inputs: list[Any], expected: Any, *, exact: bool = False, terms: float | None = None,
                 check: Callable[..., None] | None = None, outer: dict[str, tuple[str, Any]] | None = None,
                 before: Sequence[onnx.NodeProto] = (), **attributes: Any):
        self.inputs, self.expected, self.attributes, self.outer = inputs, list(expected), attributes, outer or {}
        self.exact, self.terms, self.check, self.before = exact, terms, check, before


Maker = Callable[[Spec], Case]
MAKERS: dict[tuple[str, str], tuple[Maker, Any]] = {}


def case(*names: str, domain: str = "", prefer: Any = None) -> Callable[[Maker], Maker]:
    """Register a maker for operators; `prefer` has types for the constraints that are not tried, or works them out of a Spec."""
    def register(maker: Maker) -> Maker:
        for name in names:
            if (domain, name) in MAKERS:
                raise ValueError(f"{name} has a maker already")
            MAKERS[domain, name] = maker, prefer or {}
        return maker
    return register


def spec_of(triple: Triple) -> Spec:
    """The types of all constraints of a triple."""
    schema = defs.get_schema(triple.op, triple.version, triple.domain)
    types = {}
    for c in schema.type_constraints:
        allowed = list(c.allowed_type_strs)
        types[c.type_param_str] = next((t for t in USUAL if t in allowed), sorted(allowed)[0])
    types |= {triple.constraint: triple.type} if triple.constraint else {}
    spec = Spec(triple.domain, triple.op, triple.version, types, triple.constraint)
    prefer = MAKERS[triple.domain, triple.op][1]
    chosen = prefer(spec) if callable(prefer) else {k: v for k, v in prefer.items() if k in types}
    return replace(spec, types=types | chosen | ({triple.constraint: triple.type} if triple.constraint else {}))


def made(triple: Triple) -> tuple[Spec, Case]:
    """A triple's case."""
    spec = spec_of(triple)
    return spec, MAKERS[triple.domain, triple.op][0](spec)


# Models of one node


def parameter(formal: Any, i: int) -> Any:
    """The formal parameter at a position; a variadic one goes on."""
    return formal[min(i, len(formal) - 1)]


def type_at(spec: Spec, formal: Any, i: int, value: Any) -> str:
    """The ONNX type of an input or output: its constraint's, or what the value shows where each may differ."""
    p = parameter(formal, i)
    if p.type_str not in spec.types:
        return p.type_str
    kind = spec.types[p.type_str]
    return kind if p.is_homogeneous or kind == f"optional({shown(value)})" else shown(value)


def shown(value: Any) -> str:
    """The ONNX type that a value shows."""
    if isinstance(value, list):
        return f"seq({shown(value[0])})"
    code = helper.np_dtype_to_tensor_dtype(np.asarray(value).dtype)
    return f"tensor({onnx.TensorProto.DataType.Name(code).lower()})"


def type_proto(kind: str, shape: Any = None) -> onnx.TypeProto:
    """An ONNX type written out, as in "seq(tensor(float))", as a message."""
    outer, _, inner = kind.partition("(")
    inner = inner[:-1]
    if outer == "seq":
        return helper.make_sequence_type_proto(type_proto(inner))
    if outer == "optional":
        return helper.make_optional_type_proto(type_proto(inner, shape))
    if outer == "map":
        key, _, value = (t.strip() for t in inner.partition(","))
        element = value if "(" in value else f"tensor({value})"
        return helper.make_map_type_proto(onnx.TensorProto.DataType.Value(key.upper()), type_proto(element, ()))
    return helper.make_tensor_type_proto(onnx.TensorProto.DataType.Value(inner.upper()), shape)


@dataclass
class OneNode:
    """A model of one node, what feeds it, and the types that its outputs are due to have."""

    model: onnx.ModelProto
    feeds: dict[str, Any]
    types: list[str] = field(default_factory=list)


def one_node(spec: Spec, inputs: list[Any], outputs: list[Any], attributes: dict[str, Any],
             outer: dict[str, tuple[str, Any]] | None = None, before: Sequence[onnx.NodeProto] = ()) -> OneNode:
    """A model; an output that is None is absent. Sizes of outputs stay open, ranks too where one is `...`."""
    schema = spec.schema
    names = ["" if x is None else f"i{k}" for k, x in enumerate(inputs)]
    results = ["" if y is None else f"o{k}" for k, y in enumerate(outputs)]
    node = helper.make_node(spec.op, names, results, domain=spec.domain)
    node.attribute.extend(attribute(schema, k, v) for k, v in attributes.items() if v is not None)
    given = [(n, type_at(spec, schema.inputs, k, x), x) for k, (n, x) in enumerate(zip(names, inputs, strict=True)) if n]
    given += [(n, t, x) for n, (t, x) in (outer or {}).items()]
    types = [type_at(spec, schema.outputs, k, y) for k, y in enumerate(outputs)]
    graph = helper.make_graph(
        [*before, node], "one_node", [helper.make_value_info(n, type_proto(t, getattr(x, "shape", None))) for n, t, x in given],
        [helper.make_value_info(r, type_proto(t, None if y is Ellipsis or isinstance(y, list) else [None] * np.ndim(y)))
         for r, t, y in zip(results, types, outputs, strict=True) if r])
    opsets = [helper.make_opsetid(spec.domain, spec.version)]
    if spec.domain and (before or any(a.type == onnx.AttributeProto.GRAPH for a in node.attribute)):
        opsets.append(helper.make_opsetid("", defs.onnx_opset_version()))
    model = helper.make_model(graph, opset_imports=opsets, ir_version=13)
    return OneNode(model, {n: x for n, _, x in given}, types)


def attribute(schema: Any, name: str, value: Any) -> onnx.AttributeProto:
    """An attribute in the kind that the schema gives it: a float that happens to be whole stays one."""
    kind = schema.attributes[name].type
    if isinstance(value, np.ndarray) and kind.name == "TENSOR":
        value = onnx.numpy_helper.from_array(value)
    if kind.name in ("FLOATS", "INTS"):
        value = [(float if kind.name == "FLOATS" else int)(v) for v in value]
    return helper.make_attribute(name, float(value) if kind.name == "FLOAT" else value, attr_type=kind.value)


# Independent engines


def reference(spec: Spec, inputs: list[Any], count: int = 1, widen: bool = False, **attributes: Any) -> list[Any]:
    """What onnx's reference evaluator gives; `widen` runs 16-bit floats as float32."""
    from onnx.reference import ReferenceEvaluator

    node = _for_engine(spec, inputs, count, widen, attributes)
    return ReferenceEvaluator(node.model).run(None, node.feeds)


def onnxruntime(spec: Spec, inputs: list[Any], count: int = 1, widen: bool = False, **attributes: Any) -> list[Any]:
    """What onnxruntime gives; `widen` runs 16-bit floats as float32."""
    import onnxruntime as ort

    node = _for_engine(spec, inputs, count, widen, attributes)
    node.model.ir_version = min(node.model.ir_version, 11)
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    return ort.InferenceSession(node.model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, node.feeds)


def _for_engine(spec: Spec, inputs: list[Any], count: int, widen: bool, attributes: dict[str, Any]) -> OneNode:
    if widen:
        narrow = ("tensor(float16)", "tensor(bfloat16)")
        spec = replace(spec, types={k: "tensor(float)" if t in narrow else t for k, t in spec.types.items()})
        inputs = [x.astype(np.float32) if getattr(x, "dtype", None) in (np.float16, ml_dtypes.bfloat16) else x for x in inputs]
    return one_node(spec, inputs, [...] * count, attributes)
