"""Gigantic results are refused before they are made, by an error that names the node."""
import time

import numpy as np
import onnx
import pytest

import interp

from .every import one_node

HUGE = [(2**20, 2**20), (2**31, 2**31), (2**62, 4), (2**63 - 1,)]


def refused(model, feeds, name, **options):
    begun = time.perf_counter()
    with pytest.raises(interp.InterpError, match=name):
        interp.load(model, **options).run(None, feeds)
    assert time.perf_counter() - begun < 5


def fed_or_constant(name, opset, feeds, attributes=None, outputs=("Y",)):
    """The node with its inputs fed, and with all but the first as constants, which are known when the model is loaded."""
    model = one_node(name, opset, feeds, attributes, outputs)
    yield model, feeds
    fixed = onnx.ModelProto()
    fixed.CopyFrom(model)
    first, *others = feeds
    del fixed.graph.input[1 if others else 0:]
    fixed.graph.initializer.extend(onnx.numpy_helper.from_array(feeds[k], k) for k in (others or [first]))
    yield fixed, {k: feeds[k] for k in ([first] if others else [])}


@pytest.mark.parametrize("sizes", HUGE)
def test_a_gigantic_expand(sizes):
    for model, feeds in fed_or_constant("Expand", 13, {"x": np.ones(1, "f4"), "shape": np.array(sizes)}):
        refused(model, feeds, "Expand")


@pytest.mark.parametrize("sizes", HUGE)
def test_a_gigantic_tile(sizes):
    for model, feeds in fed_or_constant("Tile", 13, {"x": np.ones((1,) * len(sizes), "f4"), "repeats": np.array(sizes)}):
        refused(model, feeds, "Tile")


@pytest.mark.parametrize("sizes", HUGE)
def test_a_gigantic_constant_of_shape(sizes):
    for model, feeds in fed_or_constant("ConstantOfShape", 20, {"shape": np.array(sizes)}, outputs={"Y": "f4"}):
        refused(model, feeds, "ConstantOfShape")


@pytest.mark.parametrize("dtype, limit, delta", [("i8", 2**62, 1), ("i8", 2**63 - 1, 1), ("f4", 1e30, 1), ("f8", 1e300, 1e-300),
                                                 ("f4", np.inf, 1), ("f4", np.nan, 1), ("f4", 1, 0), ("i4", 1, 0)])
def test_a_gigantic_range(dtype, limit, delta):
    feeds = {"start": np.array(0, dtype), "limit": np.array(limit, dtype), "delta": np.array(delta, dtype)}
    for model, fed in fed_or_constant("Range", 11, feeds):
        refused(model, fed, "Range")


@pytest.mark.parametrize("pads", [(2**40, 2**40), (2**62, 2**62), (2**63 - 1, 2**63 - 1)])
@pytest.mark.parametrize("mode", ["constant", "edge"])
def test_a_gigantic_pad(pads, mode):
    for model, feeds in fed_or_constant("Pad", 13, {"x": np.ones(1, "f4"), "pads": np.array(pads)}, {"mode": mode}):
        refused(model, feeds, "Pad")


@pytest.mark.parametrize("depth", [2**40, 2**63 - 1])
def test_a_gigantic_one_hot(depth):
    feeds = {"indices": np.zeros(1, "i8"), "depth": np.array(depth), "values": np.array([0, 1], "f4")}
    for model, fed in fed_or_constant("OneHot", 11, feeds, outputs={"Y": "f4"}):
        refused(model, fed, "OneHot")


def test_the_session_has_a_limit_of_its_own():
    feeds = {"x": np.ones((1, 1), "f4"), "shape": np.array([1000, 1000])}
    model = one_node("Expand", 13, feeds)
    assert interp.load(model, most_bytes=2**22).run(None, feeds)[0].shape == (1000, 1000)
    refused(model, feeds, r"Expand.*more than 2097152 bytes", most_bytes=2**21)
    with pytest.raises(interp.UsageError, match="most_bytes=0"):
        interp.load(model, most_bytes=0)


def test_the_limit_holds_for_what_lies_between_operators():
    """A product of a column and a row, of which only the sum leaves the model."""
    text = '<ir_version: 10, opset_import: ["": 18]> g (float[n, 1] a, float[1, n] b) => (float[n] y) ' \
           '{ c = Mul(a, b) d = ReduceSum<keepdims=0>(c, axis) y = Identity(d) }'
    model = onnx.parser.parse_model(text.replace("{ c", "{ axis = Constant<value_ints=[1]>() c"))
    feeds = {"a": np.ones((2000, 1), "f4"), "b": np.ones((1, 2000), "f4")}
    assert interp.load(model, most_bytes=2**25).run(None, feeds)[0].tolist() == [2000] * 2000
    with pytest.raises(interp.RunError, match=r"Mul.*\[2000, 2000\].*most_bytes"):
        interp.load(model, most_bytes=2**22).run(None, feeds)
