"""Every version and type of an operator as test cases, and one operator as a model."""

from dataclasses import dataclass

import numpy as np
import onnx
import pytest

import interp


@dataclass(frozen=True)
class Case:
    """One operator at one version, for one type of its first type constraint."""

    op: str
    version: int
    type: str
    domain: str = ""

    def __str__(self):
        return f"{self.op}-{self.version}-{self.type}"

    @property
    def schema(self):
        return onnx.defs.get_schema(self.op, self.version, self.domain)

    @property
    def dtype(self):
        return np.dtype(onnx.helper.tensor_dtype_to_np_dtype(onnx.TensorProto.DataType.Value(self.type.upper())))

    def has(self, attribute):
        return attribute in self.schema.attributes


def every(op_name, domain=""):
    """A `Case` for each (version, type) of a schema, as pytest parameters with ids like MaxPool-12-float16."""
    schemas = [s for s in onnx.defs.get_all_schemas_with_history() if (s.name, s.domain) == (op_name, domain)]
    cases = [
        Case(op_name, schema.since_version, plain(type_), domain)
        for schema in sorted(schemas, key=lambda s: s.since_version)
        if not schema.deprecated
        for type_ in schema.type_constraints[0].allowed_type_strs
    ]
    return [pytest.param(case, id=str(case)) for case in cases]


def plain(type_):
    """tensor(float16) is float16; other types keep their full name."""
    return type_[len("tensor(") : -1] if type_.startswith("tensor(") else type_


def one_node(op, opset, feeds, attributes=None, outputs=("Y",), domain=""):
    """A valid model of one node.

    Feeds are {name: array} in the operator's order, None for an optional input that is left out. Outputs are names,
    with types that follow from the schema, or {name: dtype} where they do not. Their ranks are declared (those that
    onnx infers, else the first feed's), as a valid model must; their sizes stay open.
    """
    schema = onnx.defs.get_schema(op, opset, domain)
    if not isinstance(outputs, dict):
        outputs = dict(zip(outputs, result_types(schema, feeds), strict=False))
    given = {name: array for name, array in feeds.items() if array is not None}
    node = onnx.helper.make_node(
        op, [n if n in given else "" for n in feeds], list(outputs), domain=domain, **(attributes or {})
    )
    graph = onnx.helper.make_graph(
        [node],
        "one_node",
        [onnx.helper.make_tensor_value_info(n, element(a.dtype), a.shape) for n, a in given.items()],
        [onnx.helper.make_tensor_value_info(n, element(t), None) for n, t in outputs.items() if n],
    )
    opsets = [onnx.helper.make_opsetid(domain, opset)]
    model = onnx.helper.make_model(
        graph, opset_imports=opsets, ir_version=onnx.helper.find_min_ir_version_for(opsets, ignore_unknown=True)
    )
    declare_ranks(model, next(iter(given.values())).ndim if given else 0)
    onnx.checker.check_model(model)
    return model


def declare_ranks(model, otherwise):
    inferred = onnx.shape_inference.infer_shapes(model).graph.output
    for output, known in zip(model.graph.output, inferred, strict=True):
        shape = known.type.tensor_type.shape.dim if known.type.tensor_type.HasField("shape") else None
        rank = otherwise if shape is None else len(shape)
        output.CopyFrom(
            onnx.helper.make_tensor_value_info(output.name, output.type.tensor_type.elem_type, [None] * rank)
        )


def result_types(schema, feeds):
    """The type of each output: an input's where they share a type constraint, else the only one it allows."""
    fed = {i.type_str: a.dtype for i, a in zip(schema.inputs, feeds.values(), strict=False) if a is not None}
    allowed = {t.type_param_str: t.allowed_type_strs for t in schema.type_constraints}
    for output in schema.outputs:
        name = output.type_str
        if name in fed:
            yield fed[name]
        elif len(options := allowed.get(name, [name])) == 1:
            yield np.dtype(
                onnx.helper.tensor_dtype_to_np_dtype(onnx.TensorProto.DataType.Value(plain(options[0]).upper()))
            )
        else:
            raise ValueError(f"{schema.name}: the type of {output.name} does not follow from the inputs, name it")


def element(dtype):
    return onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


def run_node(op, opset, feeds, attributes=None, outputs=("Y",), **options):
    """What the package makes of one node, through its public door."""
    session = interp.load(one_node(op, opset, feeds, attributes, outputs), **{"threads": 1, **options})
    return session.run(None, {name: array for name, array in feeds.items() if array is not None})
