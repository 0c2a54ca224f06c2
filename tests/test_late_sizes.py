"""Inputs of wrong sizes are refused also where a model leaves all sizes open, so that only a run tells them."""
import numpy as np
import onnx
import pytest
from onnx import helper

import interp


def zeros(shape, kind="f4"):
    return np.zeros(shape, kind)


def refused(op, inputs, domain="com.microsoft", **attributes):
    """Run one node whose inputs' sizes are all open, and expect an error."""
    names, results = [f"i{k}" for k in range(len(inputs))], ["y", "z"] if op == "CausalConvWithState" else ["y"]
    given = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), [None] * x.ndim)
             for n, x in zip(names, inputs, strict=True)]
    graph = helper.make_graph([helper.make_node(op, names, results, domain=domain, **attributes)], "g", given,
                              [helper.make_empty_tensor_value_info(results[0])])
    opsets = [helper.make_opsetid("", onnx.defs.onnx_opset_version()), helper.make_opsetid("com.microsoft", 1)]
    session = interp.load(helper.make_model(graph, opset_imports=opsets, ir_version=13))
    with pytest.raises(interp.InterpError):
        session.run(None, dict(zip(names, inputs, strict=True)))


@pytest.mark.parametrize("op", ["BiasGelu", "FastGelu"])
def test_a_bias_is_one_number_for_each_of_a_row(op):
    refused(op, [zeros((2, 3)), zeros(1)])


@pytest.mark.parametrize("shape", [(1, 3, 1, 1), (1, 3, 4, 4)])
def test_what_is_added_to_a_convolution_has_its_shape(shape):
    refused("FusedConv", [zeros((2, 2, 5, 5)), zeros((3, 2, 2, 2)), zeros(3), zeros(shape)])


@pytest.mark.parametrize("shape", [(3, 5, 3), (3, 0, 3), (3, 1, 0)])
def test_causal_weights_are_one_row_for_each_channel(shape):
    refused("CausalConvWithState", [zeros((2, 3, 4)), zeros(shape)], "")


@pytest.mark.parametrize("at, shape", [(1, (1, 3, 1)), (3, (2, 32)), (8, (9,)), (9, (9,)), (10, (2,)), (7, (1, 13)),
                                       (5, (1, 2, 5))])
def test_quantized_layers_have_weights_and_scales_that_fit(at, shape):
    inputs = [zeros((5, 2, 3)), zeros((1, 3, 16), "u1"), zeros((1, 4, 16), "u1"), zeros((1, 32)), zeros(2, "i4"),
              zeros((1, 2, 4)), zeros((1, 2, 4)), zeros((1, 12)), zeros(1), zeros(1, "u1"), zeros(1), zeros(1, "u1")]
    inputs[at] = zeros(shape, inputs[at].dtype)
    refused("DynamicQuantizeLSTM", inputs, hidden_size=4)


@pytest.mark.parametrize("op, wanted, feed, attributes", [
    ("Reshape", [3, 0, 2], (3, 5, 4), {}), ("Squeeze", [1], (3, 5, 4), {}),
    ("Resize", [1, 3, 3], (1, 0, 3), {"keep_aspect_ratio_policy": "not_larger"})])
def test_sizes_that_cannot_be_are_errors_of_the_package(op, wanted, feed, attributes):
    names = ["x", "", "", "wanted"] if op == "Resize" else ["x", "wanted"]
    graph = helper.make_graph([helper.make_node(op, names, ["y"], **attributes)], "g",
                              [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["a", "b", "c"])],
                              [helper.make_empty_tensor_value_info("y")],
                              [onnx.numpy_helper.from_array(np.array(wanted), "wanted")])
    session = interp.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=10))
    with pytest.raises(interp.InterpError):
        session.run(None, {"x": zeros(feed)})
