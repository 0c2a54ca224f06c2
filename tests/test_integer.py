"""Products of bytes against sums in 64 bits: sizes that break loops, zero points of every shape, packed or not, any threads."""
import os
import subprocess
import sys

import numpy as np
import onnx
import pytest

import interp
from interp.dims import Fact, named
from interp.kernels import integer
from interp.ops import integer as ops

from .every import one_node
from .oracle.integer import patched, quantised, sums, wide

BYTES = [np.uint8, np.int8]
SIZES = [(1, 1, 1), (1, 300, 200), (2, 3, 31), (5, 600, 100), (13, 5, 17), (100, 257, 33), (203, 70, 400), (7, 4608, 9)]
EMPTY = [(0, 3, 4), (3, 0, 5), (3, 4, 0), (0, 0, 0)]


def drawn(shape, dtype, seed=0):
    """Bytes with the extremes often among them."""
    ends = np.iinfo(dtype)
    rng = np.random.default_rng(seed)
    plain = rng.integers(ends.min, ends.max + 1, shape)
    return np.where(rng.random(shape) < 0.3, rng.choice([ends.min, ends.max], shape), plain).astype(dtype)


def always(make, array, *settings):
    return make(array, *settings)


def never(make, array, *settings):
    return array


@pytest.mark.parametrize("constant", [always, never])
@pytest.mark.parametrize("b_type", BYTES)
@pytest.mark.parametrize("a_type", BYTES)
@pytest.mark.parametrize("size", SIZES + EMPTY)
def test_sums_are_exact(size, a_type, b_type, constant):
    m, k, n = size
    a, b = drawn((m, k), a_type), drawn((k, n), b_type, 1)
    for a_zero, b_zero in [(None, None), (drawn((), a_type, 2), drawn(1, b_type, 3)), (drawn(m, a_type, 4), drawn(n, b_type, 5))]:
        y = np.full((m, n), -7, np.int32)
        ops.mat_mul_integer(a, b, a_zero, b_zero, constant=constant, out=y)()
        rows = None if a_zero is None else a_zero.reshape(-1, 1)
        np.testing.assert_array_equal(y, sums(a, b, rows, b_zero))


@pytest.mark.parametrize("constant", [always, never])
@pytest.mark.parametrize(("left", "right", "a_zero", "b_zero"), [
    ((5,), (5,), (), ()), ((5,), (5, 3), (1,), (3,)), ((4, 5), (5,), (4,), ()), ((2, 4, 5), (5, 6), (), (6,)),
    ((2, 4, 5), (5, 6), (2, 4, 1), (1, 6)), ((2, 1, 4, 5), (3, 5, 6), (2, 1, 4, 1), (3, 1, 6)),
    ((3, 4, 5), (3, 5, 6), (3, 1, 1), (3, 1, 1)), ((2, 3, 40, 5), (2, 3, 5, 33), (1, 3, 40, 1), (2, 1, 1, 33)),
    ((2, 3, 7, 5), (5, 4), (2, 3, 7, 1), (4,)),
])
def test_batches_and_zero_points_repeat_as_the_text_says(left, right, a_zero, b_zero, constant):
    a, b, za, zb = drawn(left, np.uint8), drawn(right, np.int8, 1), drawn(a_zero, np.uint8, 2), drawn(b_zero, np.int8, 3)
    due = sums(a, b, za[..., None] if len(a_zero) == 1 < len(left) else za.reshape(a_zero if len(a_zero) > 1 else ()), zb)
    y = np.full(due.shape, -7, np.int32)
    ops.mat_mul_integer(a, b, za, zb, constant=constant, out=y)()
    np.testing.assert_array_equal(y, due)
    facts = [Fact(f"tensor({x.dtype})", x.shape) for x in (a, b, za, zb)]
    assert ops.multiplied_integers(*facts) == [due.shape]


def test_the_largest_products_do_not_saturate():
    a, b = np.full((7, 64), 255, np.uint8), np.full((64, 20), -128, np.int8)
    y = np.empty((7, 20), np.int32)
    ops.mat_mul_integer(a, b, constant=always, out=y)()
    assert np.all(y == 64 * 255 * -128)
    ops.mat_mul_integer(a, b, np.array(0, np.uint8), np.array(127, np.int8), constant=always, out=y)()
    assert np.all(y == 64 * 255 * -255)


def test_sums_beyond_32_bits_wrap_around():
    k = (1 << 31) // (255 * 255) + 100
    a, b = np.full((1, k), 255, np.uint8), np.full((k, 1), 255, np.uint8)
    for constant in (always, never):
        y = np.empty((1, 1), np.int32)
        ops.mat_mul_integer(a, b, constant=constant, out=y)()
        assert y[0, 0] == np.int64(k * 255 * 255).astype(np.int32) < 0


@pytest.mark.parametrize("y_type", BYTES)
@pytest.mark.parametrize("rows", [(), (13,)])
@pytest.mark.parametrize("columns", [(), (37,)])
def test_products_are_quantised_again(rows, columns, y_type):
    a, b = drawn((13, 21), np.uint8), drawn((21, 37), np.int8, 1)
    za, zb = drawn(rows, np.uint8, 2), drawn(columns, np.int8, 3)
    rng = np.random.default_rng(4)
    sa, sb = rng.uniform(0.01, 0.1, rows).astype(np.float32), rng.uniform(0.01, 0.1, columns).astype(np.float32)
    sy, zy = np.float32(2.5), y_type(3)
    exact = sums(a, b, za.reshape(-1, 1) if rows else za, zb).astype(float)
    due = quantised(exact * (sa.astype(float).reshape(-1, 1) * sb.astype(float)) / float(sy), 3, y_type)
    for constant in (always, never):
        y = np.zeros((13, 37), y_type)
        ops.q_linear_mat_mul(a, sa, za, b, sb, zb, np.array(sy), np.array(zy), constant=constant, out=y)()
        np.testing.assert_array_equal(y, due)


def test_ties_go_to_the_even_number_before_the_zero_point_is_added():
    a, one = np.arange(1, 12, 2, dtype=np.uint8).reshape(-1, 1), np.ones((1, 1), np.int8)
    y, half = np.zeros((6, 1), np.uint8), np.array(0.5, np.float32)
    ops.q_linear_mat_mul(a, half, np.array(0, np.uint8), one, np.array(1, np.float32), np.array(0, np.int8),
                         np.array(1, np.float32), np.array(1, np.uint8), constant=never, out=y)()
    assert y.ravel().tolist() == [1, 3, 3, 5, 5, 7]  # 0.5, 1.5, 2.5, … round to 0, 2, 2, 4, 4, 6


def test_a_scale_that_is_no_number_gives_the_lowest_byte():
    a, y = np.ones((1, 1), np.uint8), np.ones((1, 1), np.int8)
    one, nan, zero = np.array(1, np.float32), np.array(np.nan, np.float32), np.array(0, np.uint8)
    ops.q_linear_mat_mul(a, nan, zero, a, one, zero, one, zero.astype(np.int8), constant=never, out=y)()
    assert y[0, 0] == -128


CONVOLUTIONS = [  # x, w, group, strides, dilations, pads
    ((1, 3, 9, 8), (4, 3, 3, 3), 1, (1, 1), (1, 1), (1, 1, 1, 1)),
    ((2, 4, 7, 7), (6, 2, 3, 3), 2, (2, 2), (1, 1), (0, 1, 1, 0)),
    ((1, 5, 6, 40), (7, 5, 1, 1), 1, (1, 1), (1, 1), (0, 0, 0, 0)),
    ((2, 6, 9, 20), (6, 1, 3, 3), 6, (1, 1), (1, 1), (1, 1, 1, 1)),
    ((1, 2, 20), (3, 2, 4), 1, (3,), (2,), (2, 5)),
    ((1, 2, 4, 5, 6), (3, 2, 2, 3, 2), 1, (1, 2, 1), (1, 1, 2), (1, 0, 1, 0, 1, 1)),
    ((0, 2, 4, 4), (3, 2, 3, 3), 1, (1, 1), (1, 1), (0, 0, 0, 0)),
    ((1, 3, 1, 1), (2, 3, 1, 1), 1, (1, 1), (1, 1), (0, 0, 0, 0)),
    ((1, 4, 9, 33), (8, 1, 3, 5), 4, (2, 2), (1, 2), (1, 3, 1, 2)),
    ((1, 16, 12, 12), (100, 16, 3, 3), 1, (1, 1), (1, 1), (1, 1, 1, 1))]


@pytest.mark.parametrize("constant", [always, never])
@pytest.mark.parametrize("x_type", BYTES)
@pytest.mark.parametrize("w_type", BYTES)
@pytest.mark.parametrize("spec", CONVOLUTIONS, ids=str)
def test_convolutions_are_exact(spec, w_type, x_type, constant):
    shape, weights, group, strides, dilations, pads = spec
    x, w, axes = drawn(shape, x_type), drawn(weights, w_type, 1), len(shape) - 2
    attributes = dict(auto_pad="NOTSET", dilations=dilations, group=group, kernel_shape=None, pads=pads, strides=strides)
    facts = [Fact("tensor(uint8)", shape), Fact("tensor(uint8)", weights)]
    [size] = ops.convolved_integers(*facts, **attributes)
    each = (drawn(1, x_type, 4), drawn(weights[0], w_type, 5))
    for zx, zw in [(None, None), (drawn((), x_type, 2), drawn(1, w_type, 3)), each]:
        rows = wide(zw).reshape(-1, *(1,) * (axes + 1))
        due = patched(wide(x) - wide(zx), wide(w) - rows, group, strides, dilations, pads[:axes], size[2:])
        y = np.full(size, -7, np.int32)
        ops.conv_integer(x, w, zx, zw, constant=constant, out=y, **attributes)()
        np.testing.assert_array_equal(y, due.astype(np.int32))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("m, group", [(6, 2), (8, 4)])
def test_quantised_convolutions_round_half_to_even(m, group, biased, per_channel, threads):
    x, w = drawn((2, 4, 9, 21), np.uint8), drawn((m, 4 // group, 3, 3), np.int8, 1)
    rng = np.random.default_rng(2)
    channels = (m,) if per_channel else ()
    sw, zw = 2.0 ** rng.integers(-9, -4, channels), drawn(channels, np.int8, 3)
    sx, zx, sy, zy = np.float32(0.5), np.uint8(130), np.float32(2), np.uint8(121)  # powers of two, so that ties are common
    bias = rng.integers(-9000, 9000, m).astype(np.int32) if biased else None
    exact = patched(wide(x) - 130, wide(w) - wide(zw).reshape(-1, 1, 1, 1), group, (1, 1), (1, 1), (1, 1), (9, 21))
    exact = exact + wide(bias).reshape(-1, 1, 1)
    due = quantised(exact * (float(sx) * np.reshape(sw, (-1, 1, 1)) / float(sy)), 121, np.uint8)
    for constant in (always, never):
        y = np.zeros((2, m, 9, 21), np.uint8)
        ops.q_linear_conv(x, np.array(sx), np.array(zx), w, np.array(sw, np.float32), zw, np.array(sy), np.array(zy), bias,
                          auto_pad="SAME_UPPER", dilations=None, group=group, kernel_shape=(3, 3), pads=None, strides=None,
                          constant=constant, out=y)(threads)
        np.testing.assert_array_equal(y, due)


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("group", [1, 2, 4])
@pytest.mark.parametrize("types", [(np.uint8, np.uint8, np.uint8), (np.uint8, np.int8, np.uint8), (np.int8, np.int8, np.int8),
                                   (np.uint8, np.int8, np.int8)])
def test_models_of_quantised_convolutions(types, group, per_channel, constant):
    """Zero points of every operand, ties, a bias, uneven padding; padding adds nothing, whatever the zero point."""
    (x_type, w_type, y_type), channels = types, (8,) if per_channel else ()
    x, w, rng = drawn((2, 4, 5, 6), x_type), drawn((8, 4 // group, 3, 2), w_type, 1), np.random.default_rng(2)
    sx, zx, sy, zy = np.float32(0.5), drawn((), x_type, 3), np.float32(2), drawn((), y_type, 4)
    sw, zw = np.float32(2.0 ** rng.integers(-9, -5, channels)), drawn(channels, w_type, 5)
    bias = rng.integers(-2000, 2000, 8).astype(np.int32)
    feeds = {"x": x, "sx": np.array(sx), "zx": zx, "w": w, "sw": np.asarray(sw), "zw": zw, "sy": np.array(sy), "zy": zy,
             "B": bias}
    model = one_node("QLinearConv", 10, feeds, {"group": group, "pads": [1, 0, 2, 1], "strides": [1, 2]})
    if constant:
        for info in [i for i in model.graph.input if i.name != "x"]:
            model.graph.initializer.append(onnx.numpy_helper.from_array(feeds.pop(info.name), info.name))
            model.graph.input.remove(info)
    [y] = interp.load(model, threads=2).run(None, feeds)
    exact = patched(wide(x) - wide(zx), wide(w) - wide(zw).reshape(-1, 1, 1, 1), group, (1, 2), (1, 1), (1, 0), y.shape[2:])
    exact = exact + wide(bias).reshape(-1, 1, 1)
    assert y.shape == (2, 8, 6, 3) and y.dtype == y_type
    np.testing.assert_array_equal(y, quantised(exact * (0.25 * np.reshape(sw, (-1, 1, 1)).astype(float)), wide(zy), y_type))


def test_the_result_does_not_depend_on_the_number_of_threads():
    a, b, za, zb = drawn((150, 200), np.uint8), drawn((200, 300), np.int8, 1), drawn(150, np.uint8, 2), drawn(300, np.int8, 3)
    due = sums(a, b, za.reshape(-1, 1), zb)
    for constant in (always, never):
        for threads in (1, 2, 5):
            y = np.zeros((150, 300), np.int32)
            ops.mat_mul_integer(a, b, za, zb, constant=constant, out=y)(threads)
            np.testing.assert_array_equal(y, due)


def test_products_may_be_left_in_float():
    a, b = drawn((5, 40), np.uint8), drawn((40, 19), np.int8, 1)
    scale, each, bias = np.float32(0.125), np.exp2(-np.arange(19) % 7).astype(np.float32), np.arange(19, dtype=np.float32)
    y = np.empty((5, 19), np.float32)
    integer.product(a, integer.Panels(b), y, a_scale=np.array(scale), b_scale=each, bias=bias)()
    np.testing.assert_array_equal(y, (sums(a, b) * (0.125 * each.astype(float)) + bias).astype(np.float32))


@pytest.mark.parametrize("wrong", [
    dict(a_zero=np.zeros(3, np.uint8)), dict(a_zero=np.zeros(4, np.int8)), dict(b_zero=np.zeros((4, 1), np.uint8)),
    dict(a_scale=np.ones(1, np.float32)), dict(bias=np.zeros(2, np.int32)), dict(bias=np.zeros(6, np.float32)),
    dict(unknown=np.zeros(1, np.uint8))])
def test_what_does_not_go_with_a_product_is_refused(wrong):
    a, b = np.zeros((4, 5), np.uint8), np.zeros((5, 6), np.uint8)
    with pytest.raises((TypeError, ValueError)):
        integer.product(a, b, np.empty((4, 6), np.int32), **wrong)


def test_zero_points_that_do_not_fit_are_refused_by_the_shape_rules():
    a, b = Fact("tensor(uint8)", (2, 4, 5)), Fact("tensor(int8)", (2, 5, 6))
    for za, zb in [((3,), ()), ((2, 4), ()), ((2, 4, 5), ()), ((), (5,)), ((), (2, 5, 1)), ((3, 4, 1), ())]:
        with pytest.raises(ValueError, match="does not go with|broadcast"):
            ops.multiplied_integers(a, b, Fact("tensor(uint8)", za), Fact("tensor(int8)", zb))
    one = Fact("tensor(float)", ())
    with pytest.raises(ValueError, match="y has one scale"):
        ops.multiplied_and_scaled(a, one, one, b, one, one, Fact("tensor(float)", (6,)), one)


def test_named_sizes_pass_through_the_rules():
    n = named("N")
    a, b = Fact("tensor(uint8)", (n, 4, 5)), Fact("tensor(int8)", (5, 6))
    assert ops.multiplied_integers(a, b, Fact("tensor(uint8)", (n, 4, 1)), Fact("tensor(int8)", (6,))) == [(n, 4, 6)]


@pytest.mark.skipif(bool(os.environ.get("INTERP_ISA")), reason="this is what runs the others so")
def test_the_baseline_is_exact_too():
    tests = f"{__file__}"
    subprocess.run([sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", tests], check=True,
                   env={**os.environ, "INTERP_ISA": "baseline"})
