"""What convolutions take up, and what they must leave: each model beside the graph as written."""
import numpy as np
import onnx
import pytest

import interp

from .fusing import floats, fused, model

CONV = "<float[8,3,3,3] w, float[8] b, float[8] s, float[8] t, float[8] m, float[8] v, float[1,8,1,1] c, float[1] one = {1.5}>"
FEED = {"x": floats((2, 3, 9, 7))}
PADS = "p = Constant<value = int64[8] {0, 0, 1, 2, 0, 0, 0, 1}>() "
LAST = " y = Abs(d) z = Abs(y)"


def convolution(text, opset=22, outputs="float[2,8,h,k] y"):
    """A model around weights w, a bias b, and the constants of a normalization, drawn at random."""
    head = f'<ir_version: 8, opset_import: ["": {opset}]> m (float[2,3,h0,k0] x) => ({outputs})'
    made = onnx.parser.parse_model(f"{head} {CONV} {{ {text} }}")
    del made.graph.initializer[:]
    rng = np.random.default_rng(1)
    shapes = {"w": (8, 3, 3, 3), **dict.fromkeys("bstm", (8,)), "c": (1, 8, 1, 1)}
    arrays = {k: rng.standard_normal(n).astype(np.float32) for k, n in shapes.items()}
    arrays |= {"v": rng.uniform(0.5, 2, 8).astype(np.float32), "one": np.array([1.5], np.float32)}
    made.graph.initializer.extend(onnx.numpy_helper.from_array(a, k) for k, a in arrays.items())
    return made


TAKEN = {
    "normalization": "a = Conv(x, w) y = BatchNormalization(a, s, t, m, v)",
    "normalization and bias": "a = Conv(x, w, b) y = BatchNormalization(a, s, t, m, v)",
    "a product and a sum by channel": "a = Conv(x, w, b) d = Mul(a, c) y = Add(c, d)",
    "a difference from a number": "a = Conv(x, w) y = Sub(one, a)",
    "a quotient": "a = Conv(x, w, b) y = Div(a, one)",
    **{f"activation {name}": f"a = Conv(x, w, b) y = {name}(a)" for name in
       ("Relu", "Sigmoid", "Tanh", "HardSwish", "Mish", "LeakyRelu", "HardSigmoid", "Elu", "Gelu")},
    "activation Gelu by tanh": 'a = Conv(x, w, b) y = Gelu<approximate = "tanh">(a)',
    "normalization and activation": "a = Conv(x, w) d = BatchNormalization(a, s, t, m, v) y = LeakyRelu<alpha = 0.3>(d)",
    "a sum and an activation": "a = Conv(x, w, b) d = Conv<strides = [1, 1]>(x, w) e = Abs(d) f = Add(e, a) y = Relu(f)",
}


@pytest.mark.parametrize("name", TAKEN)
def test_a_convolution_takes_up_what_follows(name):
    left = fused(convolution(TAKEN[name]), FEED)
    assert not left.keys() & {"Conv", "BatchNormalization", "Mul", "Sub", "Div", "Add", "Relu", "Gelu"}, left


@pytest.mark.parametrize("opset", [2, 10, 11, 18])
def test_a_convolution_takes_up_padding(opset):
    text = f"{PADS} a = Pad(x, p)" if opset > 10 else "a = Pad<pads = [0, 0, 1, 2, 0, 0, 0, 1]>(x)"
    assert "Pad" not in fused(convolution(f"{text} y = Conv<pads = [0, 1, 1, 0]>(a, w)", opset), FEED)


LEFT = {
    "what others read too": ("a = Conv(x, w) y = Relu(a) z = Abs(a)", {"Relu": 1}),
    "an output": ("y = Conv(x, w) z = Relu(y)", {"Relu": 1}),
    "a sum that broadcasts": ("a = Conv(x, w) d = ReduceMean<keepdims = 1>(x) e = Add(a, d) y = Abs(e) z = Abs(y)", {"Chain": 1}),
    "a normalization that trains": ("a = Conv(x, w) d, e, f = BatchNormalization<training_mode = 1>(a, s, t, m, v)" + LAST,
                                    {"BatchNormalization": 1}),
    "weights that a run brings": ("k = Abs(x) l = ReduceSum<keepdims = 0>(k) n = Mul(w, l) a = Conv(x, n) d = Mul(a, c)" + LAST,
                                  {"Conv": 1}),
    "padding with ones": (PADS + "a = Pad(x, p, one) y = Conv(a, w) z = Abs(y)", {"Pad": 1}),
    "padding by reflection": (PADS + 'a = Pad<mode = "reflect">(x, p) y = Conv(a, w) z = Abs(y)', {"Pad": 1}),
    "padding beside SAME": (PADS + 'a = Pad(x, p) y = Conv<auto_pad = "SAME_UPPER">(a, w) z = Abs(y)', {"Pad": 1}),
}


@pytest.mark.parametrize("name", LEFT)
def test_a_convolution_leaves(name):
    text, expected = LEFT[name]
    left = fused(convolution(text, outputs="float[2,8,h,k] y, float[2,8,i,j] z"), FEED)
    assert all(left[k] == n for k, n in expected.items()), left


def test_in_float16_nothing_is_folded_into_weights():
    text = "m (float16[1,2,4,4] x) => (float16[1,1,2,2] y) <float16[1,2,3,3] w, float16[1] s> { a = Conv(x, w) y = Mul(a, s) }"
    made = model(text)
    del made.graph.initializer[:]
    arrays = {"w": floats((1, 2, 3, 3), dtype=np.float16), "s": floats(1, dtype=np.float16)}
    made.graph.initializer.extend(onnx.numpy_helper.from_array(a, k) for k, a in arrays.items())
    assert fused(made, {"x": floats((1, 2, 4, 4), dtype=np.float16)}) == {"Conv": 1, "Mul": 1}


def test_maps_by_channel_without_a_convolution_become_one():
    left = fused(convolution("a = Conv(x, w) k = Abs(a) d = BatchNormalization(k, s, t, m, v) e = Mul(d, c) f = Add(e, c) "
                             "y = Relu(f)"), FEED)
    assert left.keys() & {"Scale", "BlockedScale"} and not left.keys() & {"BatchNormalization", "Mul", "Add", "Relu"}


def test_maps_that_are_too_large_together_stay_apart():
    text = "m (float[1,1,3] x) => (float[1,1,3] y) <float k = {1e30}> { a = Mul(x, k) y = Mul(a, k) }"
    [y] = interp.load(model(text)).run(None, {"x": np.float32([[[0, 1e-30, -1]]])})
    np.testing.assert_array_equal(y, np.float32([[[0, 1e30, -np.inf]]]))


def test_constants_of_version_6_lie_along_the_axes_that_they_name():
    text = """<ir_version: 3, opset_import: ["": 6]> m (float[3,3,2] x) => (float[3,3,2] y) <float[3,1] k = {1, 2, 3}>
        { a = Mul<broadcast = 1, axis = 0>(x, k) y = Add<broadcast = 1, axis = 0>(a, k) }"""
    [y] = interp.load(model(text)).run(None, {"x": np.ones((3, 3, 2), np.float32)})
    np.testing.assert_array_equal(y, np.broadcast_to(np.float32([2, 4, 6]).reshape(3, 1, 1), (3, 3, 2)))
