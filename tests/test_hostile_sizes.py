"""Gigantic results are refused before they are made, by an error that names the node."""
import time
import tracemalloc

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


def ones(*shape):
    return np.ones(shape, "f4")


IMAGE, ROW = ones(1, 1, 2, 2), ones(1, 4, 1)
NUMBER = {"Y": "f4"}
MANY = [  # the operator, its version, and what asks for n
    ("Resize", 19, lambda n: ({"x": ones(1), "roi": None, "scales": None, "sizes": np.array([n])},)),
    ("Resize", 19, lambda n: ({"x": ones(1, 1), "roi": None, "scales": np.array([n, n], "f4")},)),
    ("Upsample", 9, lambda n: ({"x": ones(1, 1), "scales": np.array([n, n], "f4")},)),
    ("CenterCropPad", 18, lambda n: ({"x": ones(1, 1), "shape": np.array([n, n])},)),
    ("AffineGrid", 20, lambda n: ({"theta": ones(1, 2, 3), "size": np.array([1, 1, n, n])},)),
    ("Reshape", 14, lambda n: ({"x": ones(4), "shape": np.array([n, n])},)),
    ("Reshape", 14, lambda n: ({"x": ones(0), "shape": np.array([n, n, n, 0])}, {"allowzero": 1})),
    ("Expand", 13, lambda n: ({"x": ones(0), "shape": np.array([n, n, n, 0])},)),
    ("RandomNormal", 22, lambda n: ({}, {"shape": [n, n]}, NUMBER)),
    ("RandomUniform", 22, lambda n: ({}, {"shape": [n, n]}, NUMBER)),
    ("Multinomial", 22, lambda n: ({"x": ones(1, 2)}, {"sample_size": n}, {"Y": "i4"})),
    ("HannWindow", 17, lambda n: ({"size": np.array(n)}, {}, NUMBER)),
    ("HammingWindow", 17, lambda n: ({"size": np.array(n)}, {}, NUMBER)),
    ("BlackmanWindow", 17, lambda n: ({"size": np.array(n)}, {}, NUMBER)),
    ("MelWeightMatrix", 17, lambda n: ({"bins": np.array(n), "dft": np.array(n), "rate": np.array(8000), "low": ones(),
                                        "high": 4000 * ones()}, {}, NUMBER)),
    ("DFT", 17, lambda n: ({"x": ROW, "length": np.array(n)},)),
    ("DFT", 20, lambda n: ({"x": ROW, "length": np.array(n)},)),
    ("STFT", 17, lambda n: ({"x": ROW, "step": np.array(1), "window": None, "length": np.array(n)},)),
    ("MaxUnpool", 22, lambda n: ({"x": IMAGE, "at": np.zeros((1, 1, 2, 2), "i8")}, {"kernel_shape": [n, n]})),
    ("MaxUnpool", 22, lambda n: ({"x": IMAGE, "at": np.zeros((1, 1, 2, 2), "i8"), "shape": np.array([1, 1, n, n])},
                                 {"kernel_shape": [2, 2]})),
    ("Col2Im", 18, lambda n: ({"x": ones(1, 1, 1), "image": np.array([n, n]), "block": np.array([1, 1])},)),
    ("Col2Im", 18, lambda n: ({"x": ones(1, 4, 1), "image": np.array([2, 2]), "block": np.array([n, n])},)),
    *(("ConvTranspose", 11, lambda n, a=a, k=k: ({"x": IMAGE, "w": ones(1, 1, k, k)}, {a: [n, n]}))
      for a, k in (("strides", 1), ("output_shape", 1), ("output_padding", 1), ("dilations", 2))),
    ("Conv", 11, lambda n: ({"x": IMAGE, "w": ones(1, 1, 1, 1)}, {"pads": [n] * 4})),
    ("Conv", 11, lambda n: ({"x": IMAGE, "w": ones(1, 1, 2, 2)}, {"dilations": [n] * 2})),
    ("Conv", 11, lambda n: ({"x": IMAGE, "w": ones(1, 1, 2, 2)}, {"group": n})),
    ("MaxPool", 12, lambda n: ({"x": IMAGE}, {"kernel_shape": [n, n]})),
    ("MaxPool", 12, lambda n: ({"x": IMAGE}, {"kernel_shape": [n, n], "pads": [n - 1] * 4})),
    ("AveragePool", 19, lambda n: ({"x": IMAGE}, {"kernel_shape": [2, 2], "dilations": [n, n]})),
    ("LpPool", 18, lambda n: ({"x": IMAGE}, {"kernel_shape": [2, 2], "pads": [n] * 4})),
    ("RoiAlign", 16, lambda n: ({"x": IMAGE, "rois": ones(1, 4), "at": np.array([0])}, {"output_height": n, "output_width": n})),
    ("MaxRoiPool", 22, lambda n: ({"x": IMAGE, "rois": 0 * ones(1, 5)}, {"pooled_shape": [n, n]})),
    ("DepthToSpace", 13, lambda n: ({"x": ones(1, 4, 1, 1)}, {"blocksize": n})),
    ("SpaceToDepth", 13, lambda n: ({"x": ones(1, 1, 4, 4)}, {"blocksize": n})),
    ("TopK", 11, lambda n: ({"x": ones(4), "k": np.array([n])}, {}, ("Y", "I"))),
    ("LSTM", 14, lambda n: ({"x": ones(1, 1, 2), "w": ones(1, 8, 2), "r": ones(1, 8, 2)}, {"hidden_size": n})),
    ("GroupNormalization", 21, lambda n: ({"x": ones(1, 4, 2), "s": ones(4), "b": ones(4)}, {"num_groups": n})),
    ("DequantizeLinear", 21, lambda n: ({"x": np.ones((2, 3), "i1"), "s": ones(2, 2)}, {"block_size": n, "axis": 1})),
]


@pytest.mark.parametrize("n", [2**31, 2**40, 2**62, 2**63 - 1])
@pytest.mark.parametrize("name, opset, asked", MANY, ids=[f"{i}-{m[0]}" for i, m in enumerate(MANY)])
def test_whatever_asks_for_too_much(name, opset, asked, n):
    """Or for what does not fit, at sizes whose products and sums overflow."""
    feeds, attributes, outputs = (*asked(n), *({}, ("Y",))[len(asked(n)) - 1:])
    refused(unchecked(name, opset, feeds, attributes, outputs), {k: v for k, v in feeds.items() if v is not None}, name,
            most_bytes=2**30)


def unchecked(name, opset, feeds, attributes, outputs):
    """A model of one node that the checker, which infers shapes, might refuse."""
    node = onnx.helper.make_node(name, [k if v is not None else "" for k, v in feeds.items()], list(outputs), **attributes)
    inputs = [onnx.helper.make_tensor_value_info(k, onnx.helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
              for k, v in feeds.items() if v is not None]
    graph = onnx.helper.make_graph([node], "g", inputs, [onnx.helper.make_empty_tensor_value_info(o) for o in outputs])
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=10)


@pytest.mark.parametrize("n", [2**31, 2**40, 2**62, 2**63 - 1])
def test_what_extremes_ask_for_within_reason(n):
    """Steps, limits and borders beyond everything are no error: they are cut to what is there."""
    def made(name, opset, feeds, attributes=None):
        return interp.load(one_node(name, opset, feeds, attributes)).run(None, feeds)[0]

    assert made("Conv", 11, {"x": IMAGE, "w": ones(1, 1, 2, 2)}, {"strides": [n, n]}).tolist() == [[[[4]]]]
    assert made("Tile", 13, {"x": ones(2, 0), "repeats": np.array([1, n])}).shape == (2, 0)
    assert made("Pad", 13, {"x": np.arange(3, dtype="f4"), "pads": np.array([-n, n])}).tolist() == [0, 0, 0]
    assert made("Trilu", 14, {"x": ones(2, 2), "k": np.array(n)}).tolist() == [[0, 0], [0, 0]]
    assert made("Trilu", 14, {"x": ones(2, 2), "k": np.array(-n)}).tolist() == [[1, 1], [1, 1]]
    assert made("Shape", 15, {"x": ones(2, 3)}, {"start": -n, "end": n}).tolist() == [2, 3]
    np.testing.assert_allclose(made("LRN", 13, {"x": ones(1, 3, 1, 1)}, {"size": n, "alpha": 1.0}).ravel(), [1, 1, 1], 1e-6)


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


DOUBLED = " ".join(f"x{i + 1} = Concat<axis = 0>(x{i}, x{i})" for i in range(28))


@pytest.mark.parametrize("text", [
    f"m (float[2] z) => (float[N] y) <float[2] x0 = {{1, 2}}> {{ {DOUBLED} y = Neg(x28) }}",
    f"""m (bool c) => (float[N] y) <float[2] x0 = {{1, 2}}> {{
        y = If (c) <then_branch = t () => (float[N] p) {{ {DOUBLED} p = Neg(x28) }},
                    else_branch = e () => (float[N] q) {{ {DOUBLED} q = Abs(x28) }}> }}"""], ids=["graph", "branches"])
def test_what_is_worked_out_at_load_keeps_to_the_limit(text):
    """A chain of constants, each twice the one before, of which the last would take 2 GiB."""
    model = onnx.parser.parse_model('<ir_version: 10, opset_import: ["": 18]> ' + text)
    feeds = {i.name: np.ones(2, "f4") if i.name == "z" else np.array(True) for i in model.graph.input}
    tracemalloc.start()
    try:
        refused(model, feeds, "Concat|Neg|If", most_bytes=2**22)
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()
