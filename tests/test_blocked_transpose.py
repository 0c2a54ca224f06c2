"""Transposed convolutions of blocked values against a formula: every pixel makes a patch."""
import numpy as np
import pytest

from interp.dims import Fact, named
from interp.ops.fused.transpose import blocked_conv_transpose
from interp.registry import misfits
from tests.test_blocked import blocks_of, plain_of, random


def made(x, w, bias, threads=1, **attributes):
    """What the operator writes over a result full of 77."""
    facts = [None if a is None else Fact("tensor(float)", a.shape) for a in (x, w, bias)]
    [shape] = blocked_conv_transpose.shape(*facts, **attributes)
    out = np.full(shape, 77, np.float32)
    step = blocked_conv_transpose(x, w, bias, **attributes, constant=lambda make, *given: make(*given), out=out)
    step(threads)
    return out


def expected(x, w, bias):
    """Patches side by side, in float64."""
    n, _, h, width = x.shape
    patches = np.einsum("nihw,ioab->nohawb", x.astype(np.float64), w.astype(np.float64))
    y = patches.reshape(n, w.shape[1], h * w.shape[2], width * w.shape[3])
    return y if bias is None else y + bias[:, None, None]


@pytest.mark.parametrize("to_plain", [0, 1])
@pytest.mark.parametrize("kernel", [(2, 2), (3, 1), (1, 4)], ids=str)
@pytest.mark.parametrize(("inner", "outer"), [(8, 8), (24, 24), (13, 1), (5, 19), (300, 40)])
@pytest.mark.parametrize("places", [(1, 1), (5, 7), (12, 17)], ids=str)
def test_pixels_become_patches(to_plain, kernel, inner, outer, places):
    x, w, bias = random((2, inner, *places)), random((inner, outer, *kernel), 1), random(outer, 2)
    for b in (None, bias):
        y = made(blocks_of(x), w, b, to_plain=to_plain)
        np.testing.assert_allclose(y if to_plain else plain_of(y, outer), expected(x, w, b), rtol=1e-4, atol=1e-4)
        np.testing.assert_array_equal(made(blocks_of(x), w, b, threads=2, to_plain=to_plain), y)


@pytest.mark.parametrize("to_plain", [0, 1])
def test_patches_are_activated(to_plain):
    x, w, bias = random((1, 16, 4, 5)), random((16, 3, 2, 2), 1), random(3, 2)
    wide = expected(x, w, bias)
    for activation, due in [("Relu", np.maximum(wide, 0)), ("Sigmoid", 1 / (1 + np.exp(-wide)))]:
        y = made(blocks_of(x), w, bias, to_plain=to_plain, activation=activation)
        np.testing.assert_allclose(y if to_plain else plain_of(y, 3), due, rtol=1e-4, atol=1e-5)


def test_nothing_becomes_nothing():
    x, w = np.zeros((0, 16, 4, 5), np.float32), random((16, 3, 2, 2))
    assert made(blocks_of(x), w, None).shape == (0, 1, 8, 10, 8)
    assert made(blocks_of(x[:, :, :0]), w, None, to_plain=1).shape == (0, 3, 0, 10)


def test_patches_of_named_sizes_have_shapes():
    n, h = named("N"), named("H")
    x, w = Fact("tensor(float)", (n, 2, h, 4, 8)), Fact("tensor(float)", (16, 3, 2, 2))
    assert blocked_conv_transpose.shape(x, w) == [(n, 1, h * 2, 8, 8)]
    assert blocked_conv_transpose.shape(x, w, to_plain=1) == [(n, 3, h * 2, 8)]
    assert not list(misfits(blocked_conv_transpose))


def test_weights_that_do_not_fit_are_refused():
    x = random((1, 2, 3, 3, 8))
    with pytest.raises(ValueError, match="not the 20 channels"):
        made(x, random((20, 3, 2, 2)), None)
    with pytest.raises(ValueError, match="a bias of shape"):
        made(x, random((16, 3, 2, 2)), random(4))
    with pytest.raises(ValueError, match="are constants"):
        blocked_conv_transpose(x, random((16, 3, 2, 2)), constant=lambda make, array, *settings: array, out=x)
