"""Products of bytes whose sums of neighbours are taken in 16 bits: exact at the bounds of what fits, and beyond them."""
import numpy as np
import pytest

from interp.kernels import integer
from interp.ops import integer as ops

from .oracle.integer import patched

EXTREMES = {"all highest": (255, 127), "all lowest": (255, -128), "at the bound": (255, 64), "negative at the bound": (255, -64),
            "just beyond": (255, 65), "just below": (255, -65)}


def always(make, array, *settings):
    return make(array, *settings)


def normal(shape, deviation, seed=1):
    """Weights as quantisers leave them: most of them small, a few at the ends."""
    drawn = np.random.default_rng(seed).standard_normal(shape) * deviation
    return np.clip(np.rint(drawn), -128, 127).astype(np.int8)


def full(shape, seed=0):
    """Activations of which every second one is the greatest byte."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random(shape) < 0.5, 255, rng.integers(0, 256, shape)).astype(np.uint8)


@pytest.mark.parametrize("deviation", [5, 15, 25, 35, 50, 80])
@pytest.mark.parametrize("size", [(5, 64, 48), (3, 301, 17), (130, 97, 300)])
def test_normal_weights_of_a_matrix(size, deviation):
    m, k, n = size
    a, b, y = full((m, k)), normal((k, n), deviation), np.empty((m, n), np.int32)
    ops.mat_mul_integer(a, b, constant=always, out=y)()
    np.testing.assert_array_equal(y, a.astype(np.int64) @ b.astype(np.int64))


@pytest.mark.parametrize("values", EXTREMES.values(), ids=EXTREMES)
def test_extremes(values):
    x, w = values
    for k in (1, 4, 7, 8, 64, 1000):
        a, b, y = np.full((5, k), x, np.uint8), np.full((k, 20), w, np.int8), np.empty((5, 20), np.int32)
        ops.mat_mul_integer(a, b, constant=always, out=y)()
        assert np.all(y == k * x * w)
        b[::2] = -1 - b[::2]  # neighbours of unlike signs
        ops.mat_mul_integer(a, b, constant=always, out=y)()
        np.testing.assert_array_equal(y, a.astype(np.int64) @ b.astype(np.int64))


@pytest.mark.parametrize("deviation", [5, 25, 50])
@pytest.mark.parametrize("spec", [((2, 6, 9, 21), (10, 6, 3, 3), 1, 1), ((1, 8, 11, 35), (6, 4, 3, 3), 2, 2),
                                  ((1, 37, 14, 14), (33, 37, 1, 1), 1, 1), ((1, 5, 40), (7, 5, 4), 1, 3)], ids=str)
def test_normal_weights_of_a_convolution(spec, deviation):
    shape, weights, group, stride = spec
    axes, x, w = len(shape) - 2, full(shape), normal(weights, deviation)
    pads = [(k - 1) // 2 for k in weights[2:]]
    size = [(n + 2 * p - k) // stride + 1 for n, p, k in zip(shape[2:], pads, weights[2:], strict=True)]
    y = np.empty((shape[0], weights[0], *size), np.int32)
    zero = np.array(17, np.uint8)
    for w_zero in (None, np.array(-3, np.int8)):
        ops.conv_integer(x, w, zero, w_zero, auto_pad="NOTSET", dilations=None, group=group, kernel_shape=None,
                         pads=[*pads, *pads], strides=[stride] * axes, constant=always, out=y)(2)
        due = patched(x.astype(np.int64) - 17, w.astype(np.int64) + (0 if w_zero is None else 3), group, [stride] * axes,
                      [1] * axes, pads, size)
        np.testing.assert_array_equal(y, due)


def test_packing_for_other_groups_is_refused():
    x, w, y = np.zeros((1, 4, 5, 5), np.uint8), np.zeros((8, 2, 3, 3), np.int8), np.empty((1, 8, 3, 3), np.int32)
    with pytest.raises(TypeError, match="groups"):
        integer.convolution(x, integer.Rows(w, 4), y, 2, (1, 1), (1, 1), (0, 0))
