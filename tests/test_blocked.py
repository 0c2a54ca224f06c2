"""The operators of the blocked layout, against formulas and against the plain operators on the same channels."""
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from interp.dims import Fact, named
from interp.ops import resize as plain_resize
from interp.ops.fused import blocked, blocked_resize
from interp.registry import misfits, ops_of
from tests import oracle
from tests.oracle.resize import resize as exact
from tests.tolerance import assert_close, size_of_terms
from tests.windows import settings

CHANNELS = [1, 7, 8, 9, 16, 21]


def random(shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def made(op, *arrays, threads=1, **attributes):
    """What an operator writes over a result full of 77."""
    facts = [None if a is None else Fact("tensor(float)", a.shape, a) for a in arrays]
    [shape] = op.shape(*facts, **attributes)
    out = np.full(shape, 77, np.float32)
    op(*arrays, **attributes, out=out)(threads)
    return out


def blocks_of(x):
    """The blocked layout in NumPy: zeros beyond the channels."""
    n, c, *places = x.shape
    padded = np.zeros((n, -(-c // 8) * 8, *places), np.float32)
    padded[:, :c] = x
    return np.ascontiguousarray(np.moveaxis(padded.reshape(n, padded.shape[1] // 8, 8, *places), 2, -1))


def plain_of(y, channels):
    """The channels of a blocked value."""
    n, blocks, *places, _ = y.shape
    return np.moveaxis(y, -1, 2).reshape(n, blocks * 8, *places)[:, :channels]


@pytest.mark.parametrize("op", list(ops_of(blocked)), ids=lambda op: op.name)
def test_every_operator_fits_its_signature(op):
    assert not list(misfits(op))


@pytest.mark.parametrize("places", [(1, 1), (3, 5), (4, 4), (7, 9), (33, 40), ()], ids=str)
@pytest.mark.parametrize("channels", CHANNELS)
def test_a_value_is_blocked_and_back(channels, places):
    x = random((2, channels, *places))
    y = made(blocked.block, x)
    np.testing.assert_array_equal(y, blocks_of(x))
    np.testing.assert_array_equal(made(blocked.unblock, y, channels=channels), x)
    np.testing.assert_array_equal(made(blocked.block, x, threads=2), y)


@pytest.mark.parametrize(("channels", "groups"), [(12, 4), (34, 2), (136, 4), (24, 3)])
def test_channels_are_shuffled_on_the_way(channels, groups):
    x = random((2, channels, 5, 7))
    shuffled = x.reshape(2, groups, channels // groups, 5, 7).transpose(0, 2, 1, 3, 4).reshape(x.shape)
    np.testing.assert_array_equal(made(blocked.block, x, groups=groups), blocks_of(shuffled))
    with pytest.raises(ValueError, match="are not 5 groups"):
        made(blocked.block, x, groups=5)


def test_a_value_without_elements_is_blocked():
    for shape in [(0, 3, 2, 2), (2, 0, 2, 2), (2, 3, 0, 2)]:
        y = made(blocked.block, np.zeros(shape, np.float32))
        assert y.shape == (shape[0], -(-shape[1] // 8), *shape[2:], 8) and not y.any()
        assert made(blocked.unblock, y, channels=shape[1]).shape == shape


def test_blocks_of_named_sizes_have_shapes():
    n, h = map(named, "NH")
    assert blocked.block.shape(Fact("tensor(float)", (n, 20, h, 4))) == [(n, 3, h, 4, 8)]
    assert blocked.unblock.shape(Fact("tensor(float)", (n, 3, h, 4, 8)), channels=20) == [(n, 20, h, 4)]


def test_what_is_not_blocked_is_refused():
    with pytest.raises(ValueError, match="not blocked"):
        blocked.unblock.shape(Fact("tensor(float)", (1, 3, 4, 4)), channels=20)
    with pytest.raises(ValueError, match="20 channels take 3 blocks, not 2"):
        blocked.unblock.shape(Fact("tensor(float)", (1, 2, 4, 4, 8)), channels=20)
    with pytest.raises(ValueError, match="has no blocks"):
        blocked.block(random((1, 20, 4, 4)), out=np.empty((1, 2, 4, 4, 8), np.float32))


# Pools

POOLS = {"MaxPool": (blocked.blocked_max_pool, oracle.max_pool, {"auto_pad", "pads", "strides", "dilations", "ceil_mode"}),
         "AveragePool": (blocked.blocked_average_pool, oracle.average_pool,
                         {"auto_pad", "pads", "strides", "dilations", "ceil_mode", "count_include_pad"}),
         "LpPool": (blocked.blocked_lp_pool, oracle.lp_pool, {"auto_pad", "pads", "strides", "dilations", "ceil_mode", "p"})}
WINDOWS = {"3x3": [3, 3, 1, 1], "3x3 by 2": [3, 3, 2, 2], "2x2 by 2": [2, 2, 2, 2], "1x1 by 2": [1, 1, 2, 2], "5x5": [5, 5, 1, 1],
           "2x3 by 3": [2, 3, 1, 3], "3x2": [3, 2, 1, 1]}


def oracle_of(name, x, **attributes):
    """The pool in float64."""
    y = POOLS[name][1](x, **attributes)
    return y[0] if name == "MaxPool" else y


def check_pool(name, x, **attributes):
    """A pool of blocks beside the oracle's; two threads give the bits of one."""
    pool = POOLS[name][0]
    y = made(pool, blocks_of(x), **attributes)
    wanted = oracle_of(name, x, **attributes)
    assert_close(np.ascontiguousarray(plain_of(y, x.shape[1])), wanted, None if name == "MaxPool" else size_of_terms(x, wanted))
    np.testing.assert_array_equal(made(pool, blocks_of(x), threads=2, **attributes), y)


@pytest.mark.parametrize("name", POOLS)
def test_pools_with_every_combination_of_attributes(name):
    known = POOLS[name][2]
    case = SimpleNamespace(version=22, has=lambda attribute: attribute in known)
    for i, attributes in enumerate(settings(case, 2)):
        if attributes.get("p") != 4:
            check_pool(name, random((2, 11, 7, 6), i), **attributes)


@pytest.mark.parametrize("name", POOLS)
@pytest.mark.parametrize("window", WINDOWS)
def test_pools_of_rows_of_every_width(name, window):
    *kernel, high, wide = WINDOWS[window]
    for width in [1, 2, 3, 4, 5, 9, 14, 31]:
        for pad in (0, 1):
            if width + 2 * pad >= kernel[1]:
                for ceil in (0, 1):
                    check_pool(name, random((1, 8, 7, width), width), kernel_shape=kernel, strides=[high, wide], pads=[pad] * 4,
                               ceil_mode=ceil)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("window", WINDOWS)
def test_what_is_not_finite_stays_in_its_windows(window, value):
    *kernel, high, wide = WINDOWS[window]
    for at in range(35):
        x = random((1, 8, 5, 7), at)
        x[0, at % 8, at // 7, at % 7] = value
        for name in ("MaxPool", "AveragePool"):
            y = made(POOLS[name][0], blocks_of(x), kernel_shape=kernel, strides=[high, wide])
            assert_close(np.ascontiguousarray(plain_of(y, 8)), oracle_of(name, x, kernel_shape=kernel, strides=[high, wide]), 1.0)


def test_the_maximum_of_nothing_and_of_minus_infinity_is_minus_infinity():
    x = np.full((1, 8, 4, 4), -np.inf, np.float32)
    assert (made(blocked.blocked_max_pool, blocks_of(x), kernel_shape=[2, 2], strides=[2, 2]) == -np.inf).all()
    assert (made(blocked.blocked_global_max_pool, blocks_of(x)) == -np.inf).all()


@pytest.mark.parametrize("places", [(1, 1), (7, 7), (5, 13), (40, 33)])
def test_global_pools(places):
    x = random((2, 20, *places))
    x[1, 3, 0, 0] = np.nan
    for pool, fold in [(blocked.blocked_global_max_pool, np.max), (blocked.blocked_global_average_pool, np.mean)]:
        y = made(pool, blocks_of(x))
        assert y.shape == (2, 3, 1, 1, 8)
        np.testing.assert_allclose(plain_of(y, 20), fold(x.astype(np.float64), (2, 3), keepdims=True), rtol=1e-6, atol=1e-6)
        np.testing.assert_array_equal(made(pool, blocks_of(x), threads=2), y)


def test_pools_refuse_what_they_do_not_do():
    x = random((1, 1, 4, 4, 8))
    with pytest.raises(ValueError, match="p = 4"):
        made(blocked.blocked_lp_pool, x, kernel_shape=[2, 2], p=4)
    with pytest.raises(ValueError, match="do not pool"):
        blocked.blocked_max_pool(x, kernel_shape=[2, 2], out=np.empty((1, 1, 4, 4, 8), np.float32))


# Normalizations

ACTIVATED = {"": lambda x: x, "Relu": lambda x: np.maximum(x, 0), "Clip": lambda x: np.clip(x, -0.5, 0.75),
             "Sigmoid": lambda x: 1 / (1 + np.exp(-x))}


@pytest.mark.parametrize("activation", ACTIVATED)
@pytest.mark.parametrize("places", [(1, 1), (3, 5), (100, 90)])
def test_channels_are_scaled_and_activated(activation, places):
    x, scale, shift = random((2, 21, *places)), random(21, 1), random(21, 2)
    column = (1, -1, 1, 1)
    for b in (shift, None):
        wide = x.astype(np.float64) * scale.reshape(column) + (0 if b is None else b.reshape(column))
        wanted = ACTIVATED[activation](wide)
        attributes = {"activation": activation, "alpha": -0.5, "beta": 0.75}
        y = made(blocked.scale, x, scale, b, **attributes)
        np.testing.assert_allclose(y, wanted, rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(made(blocked.scale, x, scale, b, threads=2, **attributes), y)
        lanes = [None if v is None else np.ascontiguousarray(blocks_of(v.reshape(column))) for v in (scale, b)]
        blocks = made(blocked.blocked_scale, blocks_of(x), *lanes, **attributes)
        np.testing.assert_array_equal(plain_of(blocks, 21), y)
        np.testing.assert_array_equal(made(blocked.blocked_scale, blocks_of(x), *lanes, threads=2, **attributes), blocks)


def test_scales_that_do_not_fit_are_refused():
    x = random((1, 2, 3, 3, 8))
    with pytest.raises(ValueError, match="8 numbers for the channels"):
        made(blocked.blocked_scale, x, random(8))
    with pytest.raises(ValueError, match="no activation"):
        made(blocked.blocked_scale, x, random(16), activation="Sine")


def response(x, size, alpha, beta, bias):
    """LRN by its text, in float64."""
    x = x.astype(np.float64)
    c = x.shape[1]
    sums = np.stack([(x[:, max(0, i - (size - 1) // 2):min(c, i + size // 2 + 1)] ** 2).sum(1) for i in range(c)], 1)
    return x / (bias + alpha / size * sums) ** beta


@pytest.mark.parametrize("channels", [*CHANNELS, 96])
@pytest.mark.parametrize(("size", "beta"), [(5, 0.75), (3, 0.75), (4, 0.5), (1, 1.0), (21, 0.6), (200, 0.75)])
def test_local_response(channels, size, beta):
    for places, alpha, bias in [((5, 13), 0.1, 1.0), ((1, 1), 1e-4, 2.0), ((9, 9), 50.0, 1e-3)]:
        x = random((2, channels, *places), size) * 3
        attributes = {"channels": channels, "size": size, "alpha": alpha, "beta": beta, "bias": bias}
        blocks = blocks_of(x)
        blocks[:, -1, :, :, channels - blocks.shape[1] * 8 or 8:] = 7  # lanes that nothing depends on
        y = made(blocked.blocked_lrn, blocks, **attributes)
        np.testing.assert_allclose(plain_of(y, channels), response(x, size, alpha, beta, bias), rtol=2e-6, atol=1e-30)
        assert np.isfinite(y).all()
        np.testing.assert_array_equal(made(blocked.blocked_lrn, blocks, threads=2, **attributes), y)


def test_local_response_at_the_ends_of_numbers():
    x = np.zeros((1, 8, 1, 8), np.float32)
    x[0, 3, 0] = [0, 1e-30, 1e-12, 1e12, 1e18, 1e30, np.inf, np.nan]
    attributes = {"size": 1, "alpha": 1.0, "beta": 0.75, "bias": 0.0}
    y = plain_of(made(blocked.blocked_lrn, blocks_of(x), channels=8, **attributes), 8)[0, 3, 0]
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        squares = x[0, 3, 0] * x[0, 3, 0]
        wanted = (x[0, 3, 0] / squares.astype(np.float64) ** 0.75).astype(np.float32)
    np.testing.assert_allclose(y, wanted, rtol=2e-6)


# Resizing

RESIZES = {"twice": {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"},
           "nearest": {"nearest_mode": "ceil"}, "linear": {"mode": "linear"}, "cubic": {"mode": "cubic"},
           "corners": {"mode": "linear", "coordinate_transformation_mode": "align_corners"},
           "antialias": {"mode": "linear", "antialias": 1}}


@pytest.mark.parametrize("scales", [(2, 2), (1.5, 3), (0.5, 0.7), (1, 4)], ids=str)
@pytest.mark.parametrize("how", RESIZES)
def test_places_are_resized(how, scales):
    x, attributes = random((2, 11, 6, 9)), RESIZES[how]
    wanted = exact(x, scales=[1, 1, *(Fraction(str(s)) for s in scales)], **attributes)
    scales = np.array([1, 1, *scales], np.float32)
    y = made(blocked_resize.blocked_resize, blocks_of(x), scales, None, **attributes)
    np.testing.assert_allclose(plain_of(y, 11), wanted, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(made(blocked_resize.blocked_resize, blocks_of(x), scales, None, threads=2, **attributes), y)
    sizes = np.array(wanted.shape[2:], np.int64)
    exact_sizes = exact(x, sizes=np.array(wanted.shape), **attributes)
    for given, axes in [(sizes, (2, 3)), (np.array([2, 11, *sizes]), None), (sizes[::-1], (-1, -2))]:
        y = made(blocked_resize.blocked_resize, blocks_of(x), None, given, axes=axes, **attributes)
        np.testing.assert_allclose(plain_of(y, 11), exact_sizes, rtol=1e-5, atol=1e-5)


def test_places_are_resized_as_in_version_10():
    x, scales = random((1, 8, 6, 9)), np.array([1, 1, 1.7, 0.6], np.float32)
    for mode in ("nearest", "linear"):
        y = made(blocked_resize.blocked_resize, blocks_of(x), scales, None, mode=mode, nearest_mode="simple",
                 coordinate_transformation_mode="asymmetric")
        out = np.empty((1, 8, 10, 5), np.float32)
        plain_resize.resize_10(x, scales, mode=mode, out=out)(1)
        np.testing.assert_allclose(plain_of(y, 8), out, rtol=1e-6, atol=1e-6)


def test_only_places_are_resized():
    with pytest.raises(ValueError, match="only places"):
        made(blocked_resize.blocked_resize, random((1, 2, 4, 4, 8)), np.array([1, 2, 1, 1], np.float32), None)
    with pytest.raises(ValueError, match="roi"):
        made(blocked_resize.blocked_resize, random((1, 2, 4, 4, 8)), np.array([1, 1, 2, 2], np.float32), None,
             coordinate_transformation_mode="tf_crop_and_resize")
