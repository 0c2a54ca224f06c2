"""Loading: nodes bound to schemas, names, constants, sub-graphs; what is wrong is refused by name."""
import numpy as np
import pytest
from onnx import TensorProto, helper, parser

from interp.errors import ModelError
from interp.loading import load
from interp.registry import Registry, op

RUNS = ("Abs", "Add", "Concat", "Gelu", "Identity", "If", "Loop", "MaxPool", "Relu", "ReduceMean", "Softmax", "Split", "Sub")


def registry():
    """Operators that do nothing: loading never calls them."""
    return Registry().add(*(op(name)(lambda *inputs: None) for name in RUNS))


def read(text, **how):
    return load(parser.parse_model(text), registry(), **how)


def test_attributes_are_bound_with_the_defaults_of_the_schema():
    graph = read('<ir_version: 8, opset_import: ["": 18]> g (float[1,N,4] x) => (y) {y = Softmax(x)}')
    assert graph.nodes[0].attributes == {"axis": -1}
    assert str(graph.nodes[0].schema) == "Softmax-13"
    assert [(v.name, v.type, v.shape) for v in graph.inputs] == [("x", "tensor(float)", (1, "N", 4))]
