"""Which values a network keeps in blocks of eight channels, and that its answers stay."""
import numpy as np
import onnx
import pytest

import interp

from .fusing import floats, fused, model
from .tolerance import assert_close, size_of_terms


def network(text, *, weights, image="N,3,H,W", opset=22, outputs="float[a,b,c,d] y", **constants):
    """A model whose constants are named: ``weights`` by shape, drawn at random, others as given."""
    declared = ", ".join(f"float[1] {k}" for k in (*weights, *constants))
    head = f'<ir_version: 8, opset_import: ["": {opset}]> m (float[{image}] x) => ({outputs})'
    made = onnx.parser.parse_model(f"{head} <{declared}> {{ {text} }}")
    del made.graph.initializer[:]
    for seed, (name, shape) in enumerate(weights.items()):
        array = floats(shape, seed) / np.float32(np.sqrt(np.prod(shape[1:], dtype=float) or 1))
        made.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    made.graph.initializer.extend(onnx.numpy_helper.from_array(np.asarray(a), k) for k, a in constants.items())
    return made


W = {"w": (16, 3, 3, 3), "v": (24, 16, 1, 1), "u": (13, 24, 3, 3)}
CHAIN = "a = Conv<pads = [1,1,1,1]>(x, w) b = Relu(a) "
CASES = {
    "two convolutions": (CHAIN + "y = Conv(b, v)", {"BlockedConv": 2, "Unblock": 1}),
    "channels that fill no block": (CHAIN + "c = Conv(b, v) d = Conv<pads = [1,1,1,1]>(c, u) e = Sigmoid(d) y = Mul(e, d)",
                                    {"BlockedConv": 3, "Unblock": 1, "Mul": 0}),
    "a few channels": (CHAIN + "c = Conv<pads = [1,1,1,1]>(b, f) y = Sigmoid(c)", {"BlockedConv": 2, "Unblock": 1}),
    "a pool": (CHAIN + "c = MaxPool<kernel_shape = [3,3], strides = [2,2]>(b) y = Conv(c, v)",
               {"BlockedConv": 2, "BlockedMaxPool": 1, "Unblock": 1}),
    "an average": (CHAIN + "c = AveragePool<kernel_shape = [2,2], ceil_mode = 1, strides = [2,2]>(b) y = Conv(c, v)",
                   {"BlockedConv": 2, "BlockedAveragePool": 1, "Unblock": 1}),
    "a norm": (CHAIN + "c = LpPool<kernel_shape = [2,2], p = 3>(b) y = Conv(c, v)", {"BlockedLpPool": 1, "Unblock": 1}),
    "whole planes": (CHAIN + "c = GlobalAveragePool(b) d = GlobalMaxPool(b) e = Add(c, d) y = Conv(e, v)",
                     {"BlockedGlobalAveragePool": 1, "BlockedGlobalMaxPool": 1, "Unblock": 1}),
    "concatenation": (CHAIN + "c = Conv(b, v) d = Concat<axis = 1>(b, c, b) y = Abs(d)", {"Concat": 1, "Unblock": 1}),
    "concatenation of broken blocks": (CHAIN + "c = Conv(b, v) d = Conv<pads = [1,1,1,1]>(c, u) e = Concat<axis = 1>(d, c) "
                                       "y = Abs(e)", {"Concat": 1, "Unblock": 2}),
    "local responses": (CHAIN + "c = LRN<size = 5, alpha = 0.1>(b) y = Conv(c, v)", {"BlockedLRN": 1, "Unblock": 1}),
    "a residual": (CHAIN + "c = Conv(b, q) d = Add(c, b) y = Relu(d)", {"BlockedConv": 2, "Unblock": 1}),
    "a gate": (CHAIN + "c = GlobalAveragePool(b) d = Conv(c, q) e = Sigmoid(d) y = Mul(e, b)", {"BlockedScale": 1, "Unblock": 1}),
    "a slope by channel": (CHAIN + "c = Conv(b, q) d = PRelu(c, s) y = Add(d, s)", {"PRelu": 0, "Unblock": 1}),
    "a resize": (CHAIN + 'c = Resize<mode = "nearest">(b, , twice) d = Resize<mode = "linear">(c, , thrice) y = Conv(d, v)',
                 {"BlockedResize": 2, "Unblock": 1}),
    "what needs the plain layout": (CHAIN + "c = Transpose<perm = [0,1,3,2]>(b) y = Conv(c, v)",
                                    {"Transpose": 1, "Unblock": 2, "Block": 1}),
    "an output on the way": (CHAIN + "z = Conv(b, v) y = Relu(z)", {"Unblock": 2}),
}


@pytest.mark.parametrize("image", ["N,3,H,W", "2,3,9,12"])
@pytest.mark.parametrize("name", CASES)
def test_a_network_stays_blocked(name, image):
    text, expected = CASES[name]
    several = "float[a,b,c,d] y" + (", float[e,f,g,h] z" if "on the way" in name else "")
    source = network(text, weights={**W, "f": (2, 16, 3, 3), "q": (16, 16, 1, 1), "s": (16, 1, 1)}, image=image, outputs=several,
                     twice=np.array([1, 1, 2, 2], "f4"), thrice=np.array([1, 1, 0.7, 3], "f4"))
    left = fused(source, {"x": floats((2, 3, 9, 12))})
    assert {k: left[k] for k in expected} == expected, left


def test_a_network_without_convolutions_stays_plain():
    left = fused(model("m (float[1,16,4,4] x) => (float[1,16,2,2] y) { a = Relu(x) y = MaxPool<kernel_shape = [3,3]>(a) }"),
                 {"x": floats((1, 16, 4, 4))})
    assert left == {"Relu": 1, "MaxPool": 1}


def test_exact_sums_keep_to_direct_convolutions():
    source = network(CHAIN + "y = Conv<pads = [1,1,1,1]>(b, k)", weights={"w": (64, 3, 3, 3), "k": (64, 64, 3, 3)})
    x = floats((1, 3, 40, 40))
    session = interp.load(source, precision="exact")
    [second] = [n for n in session._body.graph.nodes if n.schema.name == "BlockedConv"][1:]
    assert second.attributes["exact"] == 1
    [due] = interp.load(source, optimize=0).run(None, {"x": x})
    assert_close(session.run(None, {"x": x})[0], due, size_of_terms(due))
