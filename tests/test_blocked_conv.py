"""Blocked convolutions against sums over windows in float64: ways, layouts, strides, groups, threads, instruction sets."""
import os
import subprocess
import sys

import numpy as np
import pytest

from interp.dims import Fact, named
from interp.kernels import blocked as kernel
from interp.kernels.step import isa
from interp.ops.fused import conv
from interp.registry import misfits

from .test_blocked import blocks_of, plain_of
from .test_conv import drawn, exact

# Errors are relative to the largest sum. A float32 sum in one chain of the same products errs by as much.
TOLERANCE = 3e-6
NOTHING = dict(auto_pad="NOTSET", dilations=None, group=1, kernel_shape=None, pads=None, strides=None)
ACTIVATIONS = {
    "": lambda x: x,
    "Relu": lambda x: np.maximum(x, 0),
    "Clip": lambda x: np.clip(x, -0.5, 1.5),
    "LeakyRelu": lambda x: np.where(x < 0, -0.5 * x, x),
    "HardSwish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Swish": lambda x: x / (1 + np.exp(-1.5 * x)),
    "Tanh": np.tanh,
}
SETTINGS = {"Swish": (1.5, 0.0), "Clip": (-0.5, 1.5), "LeakyRelu": (-0.5, 0.0)}


def packed(make, array, *settings):
    return make(array, *settings)


def run(x, w, b=None, residual=None, threads=1, plain=False, inplace=False, constant=packed, **settings):
    """The blocked result for plain arrays."""
    arrays = [x if plain else blocks_of(x), w, b, None if residual is None else blocks_of(residual)]
    facts = [None if a is None else Fact("tensor(float)", a.shape) for a in arrays]
    attributes = {k: v for k, v in settings.items() if k not in ("exact", "activation", "alpha", "beta")}
    [shape] = conv.convolved(*facts, **NOTHING | attributes)
    out = arrays[3] if inplace else np.full(shape, np.nan, np.float32)
    conv.blocked_conv(*arrays, **settings, constant=constant, out=out)(threads)
    return out


def check(x, w, b=None, residual=None, activation="", threads=1, plain=False, **settings):
    """Run it and compare; what lies beyond the channels must be what the activation makes of zero."""
    alpha, beta = SETTINGS.get(activation, (0.0, 0.0))
    y = run(x, w, b, residual, threads, plain, activation=activation, alpha=alpha, beta=beta, **settings)
    due = exact(x, w, b, **NOTHING | {k: v for k, v in settings.items() if k in NOTHING})
    due = due if residual is None else due + residual
    largest = np.abs(due).max(initial=1e-30)
    due = ACTIVATIONS[activation](due)
    got = plain_of(y, w.shape[0])
    assert got.shape == due.shape
    assert np.abs(got - due).max(initial=0) <= TOLERANCE * largest
    beyond = plain_of(y, y.shape[1] * 8)[:, w.shape[0]:]
    assert np.allclose(beyond, ACTIVATIONS[activation](np.zeros(1)), atol=1e-6)
    return y


def weights(shape, seed=1):
    """Such that sums of standard normal inputs are about standard normal."""
    return (drawn(shape, seed=seed) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)


CASES = [
    # x, w, attributes
    ((1, 16, 13, 14), (16, 16, 3, 3), dict(pads=(1, 1, 1, 1))),
    ((2, 5, 9, 11), (7, 5, 3, 3), dict(pads=(1, 1, 1, 1))),
    ((1, 17, 8, 9), (33, 17, 1, 1), {}),
    ((1, 40, 1, 1), (24, 40, 1, 1), {}),
    ((1, 300, 5, 5), (40, 300, 1, 1), {}),
    ((2, 16, 9, 9), (24, 16, 1, 1), dict(strides=(2, 2))),
    ((1, 24, 15, 15), (56, 24, 3, 3), dict(pads=(1, 1, 1, 1), strides=(2, 2))),
    ((1, 8, 20, 17), (16, 8, 5, 5), dict(pads=(2, 2, 2, 2), strides=(2, 2))),
    ((1, 16, 27, 27), (32, 16, 5, 5), dict(pads=(2, 2, 2, 2))),
    ((1, 8, 12, 13), (8, 8, 3, 3), {}),
    ((1, 9, 12, 13), (9, 9, 3, 2), dict(pads=(0, 3, 1, 0), dilations=(2, 3))),
    ((1, 8, 4, 4), (8, 8, 2, 2), dict(pads=(4, 4, 4, 4), strides=(3, 3))),
    ((2, 32, 13, 13), (48, 16, 3, 3), dict(group=2, pads=(1, 1, 1, 1))),
    ((1, 32, 6, 7), (32, 8, 1, 1), dict(group=4)),
    ((1, 8, 5, 6), (8, 8, 2, 2), dict(auto_pad="SAME_UPPER")),
    ((1, 8, 5, 6), (8, 8, 2, 4), dict(auto_pad="SAME_LOWER", strides=(2, 3))),
    ((1, 64, 200, 30), (8, 64, 3, 3), dict(pads=(1, 1, 1, 1), strides=(1, 2))),
    ((0, 8, 5, 5), (8, 8, 3, 3), {}),
]
WINOGRAD = [
    ((1, 32, 24, 25), (64, 32, 3, 3), dict(pads=(1, 1, 1, 1))),
    ((2, 100, 13, 14), (68, 100, 3, 3), dict(pads=(1, 1, 1, 1))),
    ((1, 17, 12, 15), (22, 17, 3, 3), dict(pads=(1, 1, 1, 1))),
    ((1, 33, 30, 27), (88, 33, 3, 3), dict(pads=(0, 2, 3, 0))),
    ((1, 192, 26, 26), (128, 96, 3, 3), dict(group=2)),
    ((1, 48, 70, 90), (64, 48, 3, 3), dict(auto_pad="SAME_UPPER")),  # several blocks of tiles
]
DEPTHWISE = [
    ((1, 16, 13, 14), (16, 1, 3, 3), dict(group=16, pads=(1, 1, 1, 1))),
    ((2, 11, 9, 24), (11, 1, 3, 3), dict(group=11, pads=(0, 1, 1, 0))),
    ((1, 24, 15, 17), (24, 1, 3, 3), dict(group=24, pads=(1, 1, 1, 1), strides=(2, 2))),
    ((1, 24, 15, 17), (24, 1, 5, 5), dict(group=24, pads=(2, 2, 2, 2))),
    ((1, 9, 22, 31), (9, 1, 5, 5), dict(group=9, pads=(2, 2, 2, 2), strides=(2, 2))),
    ((1, 8, 7, 7), (8, 1, 7, 7), dict(group=8, pads=(3, 3, 3, 3))),
    ((1, 8, 12, 13), (8, 1, 3, 2), dict(group=8, pads=(2, 3, 1, 0), dilations=(2, 3), strides=(1, 3))),
    ((1, 8, 4, 4), (8, 1, 2, 3), dict(group=8, pads=(4, 4, 4, 4), strides=(3, 2))),
    ((1, 8, 2, 1), (8, 1, 3, 3), dict(group=8, pads=(1, 1, 1, 1))),
]
PLAIN = [
    ((1, 3, 31, 33), (24, 3, 7, 7), dict(pads=(3, 3, 3, 3), strides=(2, 2))),
    ((2, 3, 18, 17), (8, 3, 3, 3), dict(pads=(1, 1, 1, 1))),
    ((1, 3, 35, 35), (64, 3, 11, 11), dict(strides=(4, 4))),
    ((1, 1, 28, 28), (13, 1, 5, 5), dict(auto_pad="SAME_UPPER")),
    ((1, 20, 7, 9), (16, 20, 1, 1), {}),
]


@pytest.mark.parametrize("case", [*CASES, *WINOGRAD, *DEPTHWISE, *PLAIN], ids=str)
@pytest.mark.parametrize("bare", [True, False], ids=["bare", "all"])
def test_a_convolution_is_near_the_exact_one(case, bare):
    x, w, attributes = case
    plain = case in PLAIN
    if bare:
        check(drawn(x), weights(w), plain=plain, **attributes)
        return
    out = exact(drawn(x), weights(w), None, **NOTHING | attributes).shape
    check(drawn(x), weights(w), drawn(w[:1], seed=2), drawn(out, seed=3), "Relu", plain=plain, **attributes)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("case", [CASES[1], CASES[4], WINOGRAD[1], DEPTHWISE[1], PLAIN[0]], ids=str)
def test_activations(case, activation):
    x, w, attributes = case
    check(drawn(x), weights(w), drawn(w[:1], seed=2), None, activation, plain=case in PLAIN, **attributes)


def test_exponentials_of_numbers_that_are_far_out():
    x = np.array([-1e4, -200, -88, -50, 50, 88, 200, 1e4], np.float32).reshape(1, 8, 1, 1)
    for activation, due in [("Sigmoid", [0, 0, 0, 0, 1, 1, 1, 1]), ("Swish", [0, 0, 0, 0, 50, 88, 200, 1e4])]:
        y = run(x, np.eye(8, dtype=np.float32).reshape(8, 8, 1, 1), activation=activation, alpha=1.0)
        assert np.allclose(y.ravel(), due, rtol=1e-6, atol=1e-19)
    x[0, 3] = np.nan
    y = run(x, np.ones((16, 8, 1, 1), np.float32), activation="Swish", alpha=1.0)
    assert np.isnan(y).all()


@pytest.mark.parametrize("case", [*CASES, *WINOGRAD, *DEPTHWISE, *PLAIN], ids=str)
def test_the_bits_do_not_depend_on_threads(case):
    x, w, attributes = case
    assert len({run(drawn(x), weights(w), threads=n, plain=case in PLAIN, **attributes).tobytes() for n in (1, 2, 5)}) == 1


@pytest.mark.parametrize("case", [*CASES[:-1], *WINOGRAD, *DEPTHWISE], ids=str)
def test_the_result_may_take_the_place_of_the_residual(case):
    x, w, attributes = case
    out = exact(drawn(x), weights(w), None, **NOTHING | attributes).shape
    apart, same = (run(drawn(x), weights(w), None, drawn(out, seed=3), inplace=i, activation="Relu", **attributes)
                   for i in (False, True))
    assert np.array_equal(plain_of(apart, w[0]), plain_of(same, w[0]))


def ways(w, out, group=1):
    return kernel.way_of(w, group, True, out, (1, 1), (1, 1))


def test_winograds_way_is_for_many_tiles_of_many_channels():
    assert ways((64, 32, 3, 3), (24, 24)) == kernel.WINOGRAD
    for w, out in [((64, 32, 3, 3), (7, 7)), ((64, 32, 5, 5), (24, 24)), ((64, 8, 3, 3), (24, 24)), ((8, 64, 3, 3), (24, 24))]:
        assert ways(w, out) == kernel.DIRECT
    assert kernel.way_of((64, 32, 3, 3), 1, True, (24, 24), (2, 2), (1, 1)) == kernel.DIRECT
    assert kernel.way_of((64, 32, 3, 3), 1, False, (24, 24), (1, 1), (1, 1)) == kernel.DIRECT


@pytest.mark.parametrize("channels", [64, 256, 512])
def test_winograds_way_is_as_accurate_as_a_plain_sum(channels):
    x, w = drawn((1, channels, 24, 24)), weights((64, channels, 3, 3))
    due, plain = exact(x, w, None, **NOTHING), np.zeros((1, 64, 22, 22), np.float32)
    for c in range(channels):
        for i in range(3):
            for j in range(3):
                plain += w[:, c, i, j, None, None] * x[:, c:c + 1, i:i + 22, j:j + 22]
    found = [np.abs(y - due).max() for y in (plain, plain_of(run(x, w), 64), plain_of(run(x, w, exact=1), 64))]
    assert found[1] <= 2 * found[0] and found[2] <= found[0]


def test_what_is_not_taken_is_refused():
    assert kernel.takes((8, 3, 3, 3), 1, False)
    assert kernel.takes((8, 5, 1, 1), 1, True)
    assert kernel.takes((32, 8, 3, 3), 2, True)
    assert kernel.takes((10, 1, 3, 3), 10, True)
    assert not kernel.takes((10, 1, 3, 3), 10, False)
    assert not kernel.takes((20, 1, 3, 3), 10, True)
    assert not kernel.takes((32, 8, 3, 3), 2, False)
    assert not kernel.takes((30, 5, 3, 3), 2, True)
    assert not kernel.takes((8, 3, 3), 1, True)
    with pytest.raises(ValueError, match="in 2 groups"):
        run(drawn((1, 10, 5, 5)), weights((10, 5, 3, 3)), group=2)
    with pytest.raises(ValueError, match="constants"):
        run(drawn((1, 8, 5, 5)), weights((8, 8, 3, 3)), constant=lambda make, array, *settings: array)
    with pytest.raises(ValueError, match="activation"):
        run(drawn((1, 8, 5, 5)), weights((8, 8, 3, 3)), activation="Cosh")


def test_the_kernel_refuses_shapes_that_do_not_belong_together():
    x, w, y = drawn((1, 2, 5, 5, 8)), kernel.Packed(weights((8, 16, 3, 3)), 1, False), drawn((1, 1, 3, 3, 8))
    rest = ((1, 1), (1, 1), (0, 0))
    for args in [(x[:, :1].copy(), w, None, None, y), (x, w, drawn((9,)), None, y), (x, w, None, drawn((1, 1, 3, 4, 8)), y),
                 (x, w, None, None, drawn((2, 1, 3, 3, 8))), (x, w, None, None, drawn((1, 2, 3, 3, 8))),
                 (x[..., :4].copy(), w, None, None, y)]:
        with pytest.raises(ValueError):
            kernel.convolution(*args, *rest)
    with pytest.raises(ValueError):
        kernel.convolution(x, w, None, None, y, (0, 1), (1, 1), (0, 0))
    with pytest.raises(TypeError):
        kernel.convolution(x.astype(np.float64), w, None, None, y, *rest)


def test_named_sizes():
    facts = [Fact("tensor(float)", (named("n"), 2, named("h"), 10, 8)), Fact("tensor(float)", (24, 16, 3, 3))]
    [shape] = conv.convolved(*facts, **NOTHING | dict(pads=(1, 1, 1, 1)))
    assert shape == (named("n"), 3, named("h"), 10, 8)


def test_the_operator_fits_its_signature():
    assert list(misfits(conv.blocked_conv)) == []


@pytest.mark.skipif(isa() == "baseline", reason="these are the baseline's loops already")
def test_the_baseline_gives_the_same():
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__, "-k", "exact or activations"]
    done = subprocess.run(words, env=os.environ | {"INTERP_ISA": "baseline"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
