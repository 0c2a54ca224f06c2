"""Transposed convolutions with what follows them, in blocks of channels; and shuffles of channels on the way into blocks."""
import numpy as np
import pytest

from .fusing import floats, fused
from .test_fuse_layout import network

CONV = "a = Conv<pads = [1,1,1,1]>(x, w) b = Relu(a) "
AFTER = "d = Add(c, k) e = BatchNormalization(d, s, t, m, v) y = Relu(e) "
WEIGHTS = {"w": (16, 3, 3, 3), "k": (1, 12, 1, 1), "s": (12,), "t": (12,), "m": (12,), "v": (12,), "u": (16, 12, 2, 2),
           "o": (16, 2, 2, 2), "h": (16, 12, 3, 3), "g": (16, 6, 2, 2), "bias": (12,)}
CASES = {
    "with a map and an activation": (CONV + "c = ConvTranspose<strides = [2,2]>(b, u) " + AFTER,
                                     {"BlockedConvTranspose": 1, "ConvTranspose": 0, "Add": 0, "Scale": 0, "Relu": 0}),
    "with a bias": (CONV + "c = ConvTranspose<strides = [2,2]>(b, u, bias) d = Add(c, k) y = Sigmoid(d)",
                    {"BlockedConvTranspose": 1, "Add": 0, "Sigmoid": 0}),
    "to a few channels": (CONV + "c = ConvTranspose<strides = [2,2]>(b, o) y = Sigmoid(c)",
                          {"BlockedConvTranspose": 1, "Unblock": 0, "Sigmoid": 0}),
    "read twice": (CONV + "c = ConvTranspose<strides = [2,2]>(b, u) d = Relu(c) y = Add(c, d)",
                   {"BlockedConvTranspose": 1, "Chain": 1, "Unblock": 1}),
    "that overlaps": (CONV + "c = ConvTranspose<strides = [2,2]>(b, h) " + AFTER,
                      {"BlockedConvTranspose": 0, "ConvTranspose": 1, "BatchNormalization": 0}),
    "with padding": (CONV + "c = ConvTranspose<strides = [2,2], pads = [1,1,0,0]>(b, u) " + AFTER,
                     {"BlockedConvTranspose": 0, "ConvTranspose": 1, "BatchNormalization": 0}),
    "in groups": (CONV + "c = ConvTranspose<strides = [2,2], group = 2>(b, g) " + AFTER,
                  {"BlockedConvTranspose": 0, "ConvTranspose": 1}),
    "of larger steps": (CONV + "c = ConvTranspose<strides = [3,3]>(b, u) " + AFTER, {"BlockedConvTranspose": 0}),
}


@pytest.mark.parametrize("image", ["N,3,H,W", "2,3,9,12"])
@pytest.mark.parametrize("name", CASES)
def test_a_transposed_convolution(name, image):
    text, due = CASES[name]
    varying = {"v": np.abs(floats(12, 5)) + np.float32(0.5)}
    left = fused(network(text, weights={k: s for k, s in WEIGHTS.items() if k != "v"}, image=image, **varying),
                 {"x": floats((2, 3, 9, 12))})
    assert {k: left[k] for k in due} == due


SHUFFLE = ("a = Conv<group = 2>(x, w) b = Reshape(a, five) c = Transpose<perm = [{}]>(b) d = Reshape(c, four) "
           "y = Conv<group = 12, pads = [1,1,1,1]>(d, u)")


@pytest.mark.parametrize(("perm", "left_over"), [("0,2,1,3,4", 0), ("0,2,1,4,3", 1)])
def test_a_shuffle_in_front_of_a_depthwise_convolution(perm, left_over):
    source = network(SHUFFLE.format(perm), weights={"w": (12, 2, 1, 1), "u": (12, 1, 3, 3)}, image="2,4,6,6",
                     five=np.array([2, 3, 4, 6, 6]), four=np.array([2, 12, 6, 6]))
    left = fused(source, {"x": floats((2, 4, 6, 6))})
    assert left["Transpose"] == left_over and left["BlockedConv"] == left["Block"] == 1
