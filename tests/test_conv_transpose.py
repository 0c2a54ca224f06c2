"""ConvTranspose, DeformConv, Col2Im and CausalConvWithState against products added up one by one."""
import itertools

import ml_dtypes
import numpy as np
import pytest

import interp
from interp.dims import Fact, named
from interp.ops import conv

from .every import run_node
from .oracle import conv as oracle
from .oracle import sample
from .tolerance import assert_close

F = np.float32
TYPES = [F, np.float64, np.float16, ml_dtypes.bfloat16]


def drawn(shape, dtype=F, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def check(x, w, b=None, opset=22, threads=1, **attributes):
    due = oracle.conv_transpose(x, w, b, **attributes)
    terms = oracle.conv_transpose(abs(x), abs(w), None if b is None else abs(b), **attributes)
    [y] = run_node("ConvTranspose", opset, {"X": x, "W": w, "B": b}, attributes, threads=threads)
    assert_close(y, due.astype(x.dtype), float(terms.max(initial=1)))


@pytest.mark.parametrize("opset", [1, 11, 22])
@pytest.mark.parametrize("x, w, attributes", [
    ((2, 3, 5), (3, 2, 3), {}), ((2, 3, 5), (3, 2, 3), {"strides": [2]}), ((1, 1, 1), (1, 1, 1), {}),
    ((1, 2, 4, 5), (2, 3, 2, 2), {"strides": [2, 2]}), ((1, 2, 4, 5), (2, 3, 3, 2), {"strides": [3, 2]}),
    ((2, 4, 3, 4), (4, 3, 3, 3), {"strides": [2, 1], "pads": [1, 0, 2, 1], "dilations": [2, 3]}),
    ((1, 6, 3, 4), (6, 1, 3, 3), {"group": 6, "strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 1]}),
    ((2, 6, 3, 4), (6, 5, 2, 4), {"group": 2, "strides": [2, 2]}), ((1, 2, 3, 2, 3), (2, 3, 2, 3, 2), {"strides": [1, 2, 3]}),
    ((1, 2, 3, 2, 3), (2, 1, 2, 2, 2), {"strides": [2, 2, 2], "pads": [1, 0, 0, 0, 1, 1]}),
    ((1, 3, 4, 4), (3, 2, 1, 1), {"strides": [3, 3], "output_padding": [2, 2]}),
    ((1, 3, 4, 70), (3, 2, 4, 4), {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
    ((1, 30, 9, 8), (30, 20, 3, 3), {"strides": [2, 2], "pads": [1, 1, 1, 1], "kernel_shape": [3, 3]}),
], ids=str)
def test_products_are_added_up(opset, x, w, attributes):
    x, w = drawn(x), drawn(w, seed=1)
    check(x, w, None, opset, **attributes)
    check(x, w, drawn(w.shape[1] * attributes.get("group", 1), seed=2), opset, **attributes)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_every_type(dtype, stride):
    check(drawn((2, 3, 7, 6), dtype), drawn((3, 4, 2, 2), dtype, 1), drawn(4, dtype, 2), strides=[stride, stride])


@pytest.mark.parametrize("auto_pad", ["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"])
@pytest.mark.parametrize("kernel", [1, 2, 3, 4])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_padding_that_follows(auto_pad, kernel, stride):
    x, w, b = drawn((1, 2, 4, 3)), drawn((2, 2, kernel, 3), seed=1), drawn(2, seed=2)
    given = dict(auto_pad=auto_pad, strides=[stride, 2])
    for more in ([0, 0], [1, 1]):
        check(x, w, b, **given, output_padding=more)
    for shape in ([4, 5], [3 * stride + kernel, 7], [3 * stride + kernel + 3, 9], [1, 1], [12, 8]):
        check(x, w, b, **given, output_shape=shape)


def test_the_odd_one_is_cut_off_after_with_same_upper_else_before():
    """Every padding of the text, by hand: 1, 2, 3 with weights 1, 10, 100 and a stride of 2 are 1 10 102 20 203 30 300."""
    x, w = np.array([[[1, 2, 3]]], F), np.array([[[1, 10, 100]]], F)
    for opset, (auto_pad, due) in itertools.product((1, 11, 22), [
            ("SAME_UPPER", [1, 10, 102, 20, 203, 30]), ("SAME_LOWER", [10, 102, 20, 203, 30, 300])]):
        [y] = run_node("ConvTranspose", opset, {"X": x, "W": w}, {"auto_pad": auto_pad, "strides": [2]})
        assert y.ravel().tolist() == due
    for shape, due in [(4, [102, 20, 203, 30]), (6, [10, 102, 20, 203, 30, 300]), (10, [1, 10, 102, 20, 203, 30, 300, 0, 0, 0])]:
        [y] = run_node("ConvTranspose", 22, {"X": x, "W": w}, {"output_shape": [shape], "strides": [2]})
        assert y.ravel().tolist() == due


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_large_planes(threads):
    """More pixels than one product takes, more channels than a block has; the same whoever does the work."""
    for x, w, given in [((1, 24, 31, 40), (24, 24, 2, 2), dict(strides=[2, 2])),
                        ((1, 3, 600), (3, 50, 3), dict(strides=[2], pads=[1, 1]))]:
        x, w, b = drawn(x), drawn(w, seed=1), drawn(w[1], seed=2)
        feeds = {"X": x, "W": w, "B": b}
        y, one = (run_node("ConvTranspose", 22, feeds, given, threads=n)[0] for n in (threads, 1))
        np.testing.assert_array_equal(y, one)
        np.testing.assert_allclose(y, by_planes(x, w, b, **given), 1e-4, 1e-4)


def by_planes(x, w, b, strides, pads=None):
    """The same in float64 by strided sums of whole planes."""
    axes = x.ndim - 2
    pads = pads or [0] * 2 * axes
    whole = [(n - 1) * s + k for n, s, k in zip(x.shape[2:], strides, w.shape[2:], strict=True)]
    y = np.zeros((len(x), w.shape[1], *whole))
    for tap in np.ndindex(*w.shape[2:]):
        at = tuple(slice(t, t + s * (n - 1) + 1, s) for t, s, n in zip(tap, strides, x.shape[2:], strict=True))
        y[(..., *at)] += np.einsum("nc...,cm->nm...", x.astype(float), w[(..., *tap)].astype(float))
    inner = tuple(slice(pads[a], whole[a] - pads[axes + a]) for a in range(axes))
    return y[(..., *inner)] + b.reshape(-1, *(1,) * axes)


def test_transposed_convolutions_of_nothing():
    for x, w in [((0, 2, 3, 3), (2, 3, 2, 2)), ((1, 0, 3, 3), (0, 3, 2, 2)), ((1, 2, 3, 3), (2, 0, 2, 2)),
                 ((1, 2, 0, 3), (2, 3, 2, 2))]:
        check(drawn(x), drawn(w), drawn(w[1]), strides=[2, 2])


@pytest.mark.parametrize("x, w, attributes", [
    ((1, 2, 3), (3, 2, 3), {}), ((1, 4, 3), (4, 2, 3), {"group": 3}), ((1, 2, 3, 3), (2, 2, 3), {}), ((1, 2), (2, 2), {}),
    ((1, 2, 3), (2, 2, 3), {"strides": [0]}), ((1, 2, 3), (2, 2, 3), {"pads": [-1, 0]}), ((1, 2, 3), (2, 2, 3), {"pads": [9, 9]}),
    ((1, 2, 3), (2, 2, 3), {"kernel_shape": [2]}), ((1, 2, 3), (2, 2, 3), {"auto_pad": "SAME"}),
    ((1, 2, 3), (2, 2, 3), {"output_shape": [1, 2]}), ((1, 2, 3), (2, 2, 3), {"output_shape": [-1]}),
    ((1, 2, 3), (2, 2, 3), {"strides": [2**62]}), ((1, 2, 3), (2, 2, 3), {"group": 0})], ids=str)
def test_what_does_not_fit_is_refused(x, w, attributes):
    with pytest.raises(interp.InterpError):
        run_node("ConvTranspose", 22, {"X": drawn(x), "W": drawn(w)}, attributes)


def test_sizes_with_names():
    n, h = named("N"), named("H")
    given = dict(auto_pad="NOTSET", dilations=None, group=1, kernel_shape=None, output_padding=None, output_shape=None, pads=None,
                 strides=(2, 2))
    x, w = Fact("tensor(float)", (n, 3, h, 8)), Fact("tensor(float)", (3, 5, 2, 2))
    assert conv._transposed(x, w, **given) == [(n, 5, h * 2, 16)]
    assert conv._transposed(x, w, **given | {"auto_pad": "SAME_UPPER"}) == [(n, 5, h * 2, 16)]
    assert conv._transposed(x, w, **given | {"output_shape": (20, 20)}) == [(n, 5, 20, 20)]


# DeformConv


def deformed(x, w, offset, b=None, mask=None, opset=22, threads=1, **attributes):
    feeds = {"X": x, "W": w, "offset": offset, "B": b, "mask": mask}
    return run_node("DeformConv", opset, feeds, attributes, threads=threads)[0]


@pytest.mark.parametrize("opset", [19, 22])
@pytest.mark.parametrize("x, w, out, attributes", [
    ((1, 1, 3, 3), (1, 1, 2, 2), (2, 2), {}), ((2, 4, 5, 4), (6, 2, 3, 2), (3, 3), {"group": 2}),
    ((2, 4, 5, 4), (6, 4, 3, 2), (3, 3), {"offset_group": 2}),
    ((1, 4, 5, 4), (4, 1, 3, 3), (5, 4), {"group": 4, "offset_group": 4, "pads": [1, 1, 1, 1]}),
    ((1, 2, 7, 6), (3, 2, 2, 2), (4, 2), {"strides": [2, 2], "dilations": [1, 2], "pads": [1, 0, 1, 0]}),
    ((2, 2, 6), (3, 2, 3), (4,), {}), ((1, 2, 3, 4, 3), (2, 2, 2, 2, 1), (2, 3, 3), {"offset_group": 2}),
], ids=str)
def test_taps_are_moved_by_offsets(opset, x, w, out, attributes):
    x, w = drawn(x), drawn(w, seed=1)
    axes, taps, groups = x.ndim - 2, int(np.prod(w.shape[2:])), attributes.get("offset_group", 1)
    offset = drawn((len(x), groups * taps * axes, *out), seed=2)
    mask, b = drawn((len(x), groups * taps, *out), seed=3), drawn(len(w), seed=4)
    for given in ((None, None), (b, None), (None, mask), (b, mask)):
        y = deformed(x, w, offset, *given, opset, **attributes)
        np.testing.assert_allclose(y, sample.deform_conv(x, w, offset, *given, **attributes), 1e-4, 1e-4)


@pytest.mark.parametrize("dtype", TYPES)
def test_every_type_of_deformable_convolutions(dtype):
    x, w = drawn((1, 2, 4, 4), dtype), drawn((3, 2, 2, 2), dtype, 1)
    offset, mask, b = drawn((1, 8, 3, 3), dtype, 2), drawn((1, 4, 3, 3), dtype, 3), drawn(3, dtype, 4)
    due = sample.deform_conv(x, w, offset, b, mask)
    assert_close(deformed(x, w, offset, b, mask), due.astype(dtype), 64.0)


@pytest.mark.parametrize("threads", [1, 2])
def test_many_outputs_are_made_in_blocks(threads):
    x, w, zeros = drawn((2, 3, 40, 38)), drawn((4, 3, 3, 3), seed=1), np.zeros((2, 18, 40, 38), F)
    y = deformed(x, w, zeros, threads=threads, pads=[1, 1, 1, 1])
    [due] = run_node("Conv", 22, {"X": x, "W": w}, {"pads": [1, 1, 1, 1]})
    np.testing.assert_allclose(y, due, 1e-4, 1e-4)


def test_hostile_offsets():
    x, w = np.ones((1, 1, 3, 3), F), np.ones((1, 1, 1, 1), F)
    offset = np.zeros((1, 2, 3, 3), F)
    offset[0, 0] = [[np.nan, np.inf, -np.inf], [1e30, -1e30, 1e9], [0, -0.5, 3]]
    y = deformed(x, w, offset)[0, 0]
    assert np.isnan(y[0, 0]) and y[0, 1:].tolist() == [0, 0] and y[1].tolist() == [0, 0, 0] and y[2].tolist() == [1, 1, 0]


@pytest.mark.parametrize("offset, mask, attributes", [
    ((1, 8, 2, 2), None, {}), ((1, 8, 3, 2), None, {}), ((1, 7, 3, 3), None, {}), ((1, 8, 3, 3), (1, 8, 3, 3), {}),
    ((1, 8, 3, 3), None, {"offset_group": 3}), ((1, 8, 3, 3), None, {"group": 3}), ((1, 8, 3, 3), None, {"strides": [2, 2]})],
    ids=str)
def test_offsets_and_masks_that_do_not_fit(offset, mask, attributes):
    mask = None if mask is None else drawn(mask)
    with pytest.raises(interp.InterpError):
        deformed(drawn((1, 2, 4, 4)), drawn((2, 2, 2, 2)), drawn(offset), None, mask, **attributes)


# Col2Im


def put_back(columns, image, block, **attributes):
    feeds = {"input": columns, "image_shape": np.array(image, np.int64), "block_shape": np.array(block, np.int64)}
    return run_node("Col2Im", 18, feeds, attributes)[0]


@pytest.mark.parametrize("dtype", [F, np.float16, ml_dtypes.bfloat16, np.int8, np.uint64, bool, np.complex64, object])
@pytest.mark.parametrize("columns, image, block, attributes", [
    ((2, 6, 4), (3, 4), (2, 3), {}), ((1, 8, 9), (5, 5), (2, 2), {"strides": [2, 2], "pads": [0, 0, 1, 1]}),
    ((1, 4, 4), (4, 4), (2, 2), {"dilations": [2, 2]}), ((1, 4, 12), (2, 3, 4), (1, 2, 2), {}), ((2, 3, 4), (6,), (3,), {})],
    ids=str)
def test_columns_are_put_back(dtype, columns, image, block, attributes):
    made = drawn(columns).round(1)
    made = np.array([f"s{i}" for i in range(made.size)], object).reshape(columns) if dtype is object else \
        np.abs(made * 10).astype(dtype)
    y = put_back(made, image, block, **attributes)
    due = oracle.col2im(made, image, block, **attributes)
    if dtype is object:
        assert y.shape == due.shape and y.tolist() == due.tolist()
    elif np.dtype(dtype).kind in "iubc":
        np.testing.assert_array_equal(y, due)
    else:
        assert_close(y, due.astype(dtype), 100.0)


@pytest.mark.parametrize("columns, image, block", [
    ((1, 5, 4), (3, 3), (2, 2)), ((1, 4, 5), (3, 3), (2, 2)), ((1, 4, 4), (3, 3), (2,)), ((1, 4, 4), (1, 1), (2, 2)),
    ((4, 4), (3, 3), (2, 2))])
def test_columns_that_make_no_image(columns, image, block):
    with pytest.raises(interp.InterpError):
        put_back(drawn(columns), image, block)


# CausalConvWithState


def causal(x, w, bias=None, past=None, **attributes):
    feeds = {"input": x, "weight": w, "bias": bias, "past_state": past}
    return run_node("CausalConvWithState", 27, feeds, attributes, outputs=("output", "present_state"))


@pytest.mark.parametrize("dtype", [F, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("activation", ["none", "silu", "swish"])
@pytest.mark.parametrize("length, taps", [(5, 3), (1, 4), (2, 4), (6, 1), (0, 3)])
def test_causal_convolutions(dtype, activation, length, taps):
    x, w = drawn((2, 3, length), dtype), drawn((3, 1, taps), dtype, 1)
    bias, past = drawn(3, dtype, 2), drawn((2, 3, taps - 1), dtype, 3)
    for given in ((None, None), (bias, None), (None, past), (bias, past)):
        y, state = causal(x, w, *given, activation=activation)
        due, kept = oracle.causal_conv_with_state(x, w, *given, activation=activation)
        assert_close(y, due.astype(dtype), 16.0)
        assert_close(state, kept.astype(dtype))


def test_a_sequence_in_pieces_is_the_sequence():
    x, w = drawn((1, 4, 9)), drawn((4, 1, 4), seed=1)
    whole, last = causal(x, w)
    state, pieces = None, []
    for at in (slice(0, 2), slice(2, 3), slice(3, 9)):
        y, state = causal(x[:, :, at], w, None, state)
        pieces.append(y)
    np.testing.assert_allclose(np.concatenate(pieces, 2), whole, 1e-6, 1e-6)
    np.testing.assert_array_equal(state, last)


@pytest.mark.parametrize("x, w, past, attributes", [
    ((1, 2, 3), (3, 1, 2), None, {}), ((1, 2, 3), (2, 2, 2), None, {}), ((1, 2, 3), (2, 1, 2), (1, 2, 2), {}),
    ((1, 2), (2, 1, 2), None, {}), ((1, 2, 3), (2, 1, 2), None, {"activation": "relu"})], ids=str)
def test_causal_convolutions_that_do_not_fit(x, w, past, attributes):
    with pytest.raises(interp.InterpError):
        causal(drawn(x), drawn(w), None, None if past is None else drawn(past), **attributes)
