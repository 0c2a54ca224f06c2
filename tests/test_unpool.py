"""MaxUnpool: every element at its index, nothing anywhere else."""
import numpy as np
import pytest

from interp.dims import Fact, named
from interp.kernels.step import KernelFailed
from interp.ops.roi import max_unpool
from tests import oracle
from tests.every import every
from tests.tolerance import assert_close

SQUARE = {"kernel_shape": (2, 2), "strides": (2, 2), "pads": None}


def fact(shape, type_="tensor(float)", value=None):
    return Fact(type_, shape, value)


def unpool(x, indices, output_shape=None, **attributes):
    attributes = SQUARE | attributes
    known = None if output_shape is None else fact((len(output_shape),), "tensor(int64)", output_shape)
    [shape] = max_unpool.shape(fact(x.shape), fact(indices.shape), known, **attributes)
    out = np.full(shape, 77, x.dtype)
    max_unpool(x, indices, output_shape, **attributes, out=out)()
    return out


def of_a_pool(shape, total, dtype, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(shape).astype(dtype), rng.permutation(total)[:np.prod(shape)].reshape(shape)


@pytest.mark.parametrize("case", every("MaxUnpool"))
def test_every_type(case):
    x, indices = of_a_pool((2, 3, 4, 5), 2 * 3 * 8 * 10, case.dtype)
    assert_close(unpool(x, indices), oracle.max_unpool(x, indices, kernel_shape=(2, 2), strides=(2, 2)))
    larger = np.array([2, 3, 9, 13])
    expected = oracle.max_unpool(x, indices, larger, kernel_shape=(2, 2), strides=(2, 2))
    assert_close(unpool(x, indices, larger), expected)


@pytest.mark.parametrize("shape, attributes, total", [
    ((1, 2, 7), {"kernel_shape": (3,), "strides": (2,), "pads": (1, 0)}, 2 * 14),
    ((1, 2, 7), {"kernel_shape": (3,), "strides": None, "pads": None}, 2 * 9),
    ((2, 1, 3, 4, 2), {"kernel_shape": (2, 3, 1), "strides": (1, 2, 3), "pads": None}, 2 * 4 * 9 * 4),
    ((1, 1, 2, 2, 2, 2), {"kernel_shape": (2,) * 4, "strides": (2,) * 4, "pads": None}, 4**4),
], ids=str)
def test_any_number_of_axes(shape, attributes, total):
    x, indices = of_a_pool(shape, total, np.float32)
    assert_close(unpool(x, indices, **attributes), oracle.max_unpool(x, indices, **attributes))


def test_padding_is_ignored_beside_an_output_shape():
    x, indices = of_a_pool((1, 1, 2, 2), 16, np.float32)
    larger = np.array([1, 1, 4, 5])
    assert_close(unpool(x, indices, larger, pads=(0, 0, 1, 1)), unpool(x, indices, larger))


def test_the_last_of_several_at_one_index_stays():
    x = np.array([[[[1, 2], [3, 4]]]], np.float32)
    out = unpool(x, np.array([[[[5, 5], [0, 5]]]]))
    assert out[0, 0, 1, 1] == 4 and out[0, 0, 0, 0] == 3 and out.sum() == 7


@pytest.mark.parametrize("index", [-1, 16, 24, 1 << 62, -(1 << 63)])
@pytest.mark.parametrize("output_shape", [None, np.array([1, 1, 5, 5])], ids=["as inferred", "larger"])
def test_an_index_outside_fails(index, output_shape):
    with pytest.raises(KernelFailed, match="out of range"):
        unpool(np.ones((1, 1, 2, 2), np.float32), np.array([[[[0, 1], [2, index]]]]), output_shape)


def test_an_empty_batch():
    x, indices = np.ones((0, 3, 2, 2), np.float32), np.ones((0, 3, 2, 2), np.int64)
    assert unpool(x, indices).shape == (0, 3, 4, 4)


def test_shapes_keep_names():
    n, h = named("n"), named("h")
    assert max_unpool.shape(fact((n, 3, h, 5)), fact((n, 3, h, 5)), None, **SQUARE) == [(n, 3, (h - 1) * 2 + 2, 10)]
    unknown = fact((4,), "tensor(int64)")
    assert max_unpool.shape(fact((n, 3, h, 5)), fact((n, 3, h, 5)), unknown, **SQUARE) == [None]


@pytest.mark.parametrize("given", [(1, 1, 3, 4), (1, 1, 4), (2, 0, 9, 9)], ids=str)
def test_an_output_shape_without_room_is_refused(given):
    x, indices = np.ones((1, 1, 2, 2), np.float32), np.zeros((1, 1, 2, 2), np.int64)
    with pytest.raises(ValueError, match="output_shape"):
        unpool(x, indices, np.array(given))


@pytest.mark.parametrize("attributes", [
    {"kernel_shape": (2,)}, {"strides": (2,)}, {"pads": (1, 1)}, {"pads": (9, 9, 9, 9)},
], ids=str)
def test_attributes_that_do_not_fit_are_refused(attributes):
    with pytest.raises(ValueError, match="X|pool"):
        unpool(np.ones((1, 1, 2, 2), np.float32), np.zeros((1, 1, 2, 2), np.int64), **attributes)


def test_indices_of_another_type_are_refused():
    with pytest.raises(ValueError, match="int64"):
        unpool(np.ones((1, 1, 2, 2), np.float32), np.zeros((1, 1, 2, 2), np.int32))
