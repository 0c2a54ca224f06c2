"""Convolutions against sums over windows in float64: axes, groups, paddings, types, both instruction sets, any threads."""
import itertools
import os
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interp.dims import Fact, named, number
from interp.kernels import conv as kernel
from interp.kernels.step import isa
from interp.ops import conv
from interp.registry import misfits

TYPES = [np.float32, np.float64, np.float16, ml_dtypes.bfloat16]
# Errors are relative to the sum of the absolute terms; 16-bit results are rounded once more.
TOLERANCE = {np.float32: 2e-6, np.float64: 4e-15, np.float16: 1e-3, ml_dtypes.bfloat16: 8e-3}
NOTHING = dict(auto_pad="NOTSET", dilations=None, group=1, kernel_shape=None, pads=None, strides=None)


def drawn(shape, dtype=np.float32, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def padding(x, w, auto_pad, pads, strides, dilations):
    """The padding before and after each axis, as the operator's text has it."""
    axes = x.ndim - 2
    if auto_pad == "NOTSET":
        return pads[:axes], pads[axes:]
    if auto_pad == "VALID":
        return (0,) * axes, (0,) * axes
    total = [max((-(-n // s) - 1) * s + (k - 1) * d + 1 - n, 0)
             for n, k, s, d in zip(x.shape[2:], w.shape[2:], strides, dilations, strict=True)]
    less, more = [t // 2 for t in total], [t - t // 2 for t in total]
    return (less, more) if auto_pad == "SAME_UPPER" else (more, less)


def exact(x, w, b, *, auto_pad, dilations, group, kernel_shape, pads, strides):
    """The convolution in float64: a product for each tap of the kernel over shifted, strided slices of the padded input."""
    axes = x.ndim - 2
    strides, dilations = strides or (1,) * axes, dilations or (1,) * axes
    before, after = padding(x, w, auto_pad, pads or (0,) * 2 * axes, strides, dilations)
    padded = np.pad(np.asarray(x, np.float64), [(0, 0), (0, 0), *zip(before, after, strict=True)])
    out = [(n - (k - 1) * d - 1) // s + 1 for n, k, s, d in zip(padded.shape[2:], w.shape[2:], strides, dilations, strict=True)]
    y = np.zeros((x.shape[0], group, w.shape[0] // group, *out))
    grouped = np.asarray(w, np.float64).reshape(group, w.shape[0] // group, *w.shape[1:])
    for tap in itertools.product(*map(range, w.shape[2:])):
        at = tuple(slice(t * d, t * d + (n - 1) * s + 1, s) for t, d, n, s in zip(tap, dilations, out, strides, strict=True))
        part = padded[(slice(None), slice(None), *at)].reshape(x.shape[0], group, w.shape[1], *out)
        y += np.einsum("ngc...,gmc->ngm...", part, grouped[(slice(None),) * 3 + tap])
    y = y.reshape(x.shape[0], w.shape[0], *out)
    return y if b is None else y + np.asarray(b, np.float64).reshape(-1, *(1,) * axes)


def packed(make, array, *settings):
    return make(array, *settings)


def fed(make, array, *settings):
    return array


def check(x, w, b=None, constant=packed, threads=1, **attributes):
    attributes = NOTHING | attributes
    due = exact(x, w, b, **attributes)
    scale = exact(np.abs(x), np.abs(w), None if b is None else np.abs(b), **attributes)
    facts = [None if a is None else Fact("tensor(float)", a.shape) for a in (x, w, b)]
    assert conv.convolved(*facts, **attributes) == [due.shape]
    y = np.full(due.shape, np.nan, x.dtype)
    conv.convolution(x, w, b, **attributes, constant=constant, out=y)(threads)
    assert np.all(np.abs(y.astype(np.float64) - due) <= TOLERANCE[x.dtype.type] * scale + 1e-30)
    return y


CASES = [
    # x, w, attributes
    ((1, 3, 17, 19), (8, 3, 3, 3), dict(pads=(1, 1, 1, 1))),
    ((2, 3, 33, 31), (7, 3, 7, 7), dict(pads=(3, 3, 3, 3), strides=(2, 2))),
    ((1, 5, 40, 40), (13, 5, 1, 1), {}),
    ((1, 300, 5, 5), (33, 300, 1, 1), {}),
    ((1, 40, 9, 9), (10, 40, 1, 1), dict(strides=(2, 2))),
    ((1, 64, 14, 14), (48, 64, 3, 3), dict(pads=(1, 1, 1, 1))),
    ((1, 70, 7, 7), (20, 70, 3, 3), dict(pads=(0, 1, 2, 1), dilations=(2, 1))),
    ((1, 2, 23, 29), (4, 2, 20, 20), dict(pads=(5, 0, 1, 9), strides=(3, 2))),  # more taps than one chain of sums
    ((2, 6, 12, 11), (9, 2, 3, 2), dict(group=3, pads=(1, 0, 0, 1))),
    ((1, 8, 21, 22), (8, 1, 3, 3), dict(group=8, pads=(1, 1, 1, 1))),
    ((1, 8, 21, 40), (16, 1, 5, 5), dict(group=8, pads=(2, 2, 2, 2), strides=(2, 2))),
    ((2, 5, 9, 9), (5, 1, 3, 3), dict(group=5, pads=(0, 3, 1, 0), strides=(1, 3), dilations=(2, 2))),
    ((1, 3, 300, 300), (3, 1, 3, 3), dict(group=3, pads=(1, 1, 1, 1))),  # several bands
    ((1, 3, 7, 8), (27, 1, 3, 3), dict(group=3)),
    ((2, 4, 35), (6, 4, 5), dict(pads=(2, 2), strides=(2,))),
    ((1, 4, 35), (4, 1, 5), dict(group=4, pads=(2, 2), dilations=(3,))),
    ((1, 3, 6, 7, 9), (5, 3, 3, 2, 3), dict(pads=(1, 0, 1, 1, 1, 1), strides=(1, 2, 1))),
    ((1, 4, 6, 7, 9), (4, 1, 3, 3, 3), dict(group=4, pads=(1, 1, 1, 1, 1, 1), strides=(2, 1, 2))),
    ((1, 3, 5, 6), (4, 3, 2, 2), dict(auto_pad="SAME_UPPER")),
    ((1, 3, 5, 6), (4, 3, 2, 4), dict(auto_pad="SAME_LOWER", strides=(2, 3))),
    ((1, 3, 11, 12), (4, 3, 2, 4), dict(auto_pad="SAME_LOWER", dilations=(2, 2))),
    ((1, 3, 5, 6), (4, 3, 2, 2), dict(auto_pad="VALID", pads=(1, 1, 1, 1))),
    ((1, 1, 28, 28), (8, 1, 5, 5), dict(auto_pad="SAME_UPPER")),
    ((1, 2, 4, 4), (3, 2, 2, 2), dict(pads=(4, 4, 4, 4), strides=(3, 3))),  # windows wholly in padding
]


@pytest.mark.parametrize("constant", [packed, fed])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_convolution_is_near_the_exact_one(case, dtype, constant):
    x, w, attributes = case
    if dtype in TYPES[2:] and np.prod(x) > 20000:
        x = (*x[:2], *(min(n, 40) for n in x[2:]))
    check(drawn(x, dtype), drawn(w, dtype, 1), drawn(w[0], dtype, 2), constant, **attributes)


@given(st.data())
def test_random_windows(data):
    axes, group = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3))

    def each(low, high, n=axes):
        return tuple(data.draw(st.lists(st.integers(low, high), min_size=n, max_size=n)))

    size, w, dilations, strides, pads = each(1, 20), each(1, 4), each(1, 3), each(1, 3), each(0, 4, 2 * axes)
    inner, outer = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 5))
    auto_pad = data.draw(st.sampled_from(["NOTSET", "SAME_UPPER", "SAME_LOWER"]))
    if auto_pad == "NOTSET":
        reach = [(k - 1) * d + 1 for k, d in zip(w, dilations, strict=True)]
        size = tuple(max(n, r - pads[i] - pads[i + axes]) for i, (n, r) in enumerate(zip(size, reach, strict=True)))
    else:
        pads = None
    bias = drawn((outer * group,), seed=2) if data.draw(st.booleans()) else None
    check(drawn((2, inner * group, *size)), drawn((outer * group, inner, *w), seed=1), bias,
          data.draw(st.sampled_from([packed, fed])), data.draw(st.integers(1, 3)), group=group, auto_pad=auto_pad, pads=pads,
          strides=strides, dilations=dilations)


@pytest.mark.parametrize("case", CASES[:14], ids=str)
def test_the_bits_do_not_depend_on_threads(case):
    x, w, attributes = case
    for constant in (packed, fed):
        assert len({check(drawn(x), drawn(w, seed=1), None, constant, n, **attributes).tobytes() for n in (1, 2, 5)}) == 1


@pytest.mark.parametrize(("x", "w", "group"), [
    ((0, 3, 5, 5), (4, 3, 3, 3), 1), ((0, 4, 5, 5), (4, 1, 3, 3), 4), ((2, 3, 5, 5), (0, 3, 3, 3), 1),
])
def test_no_images_or_channels_give_nothing(x, w, group):
    check(drawn(x), drawn(w), group=group)


def test_no_input_channels_leave_the_bias():
    y = check(drawn((2, 0, 5, 5)), drawn((4, 0, 3, 3)), drawn((4,)))
    assert np.array_equal(y[1, :, 0, 0], drawn((4,)))


def test_nan_reaches_its_windows_only():
    x = drawn((1, 2, 12, 12))
    x[0, 1, 5, 6] = np.nan
    for w, group in (((3, 2, 3, 3), 1), ((2, 1, 3, 3), 2)):
        y = np.empty((1, w[0], 10, 10), np.float32)
        conv.convolution(x, drawn(w), None, **NOTHING | dict(group=group), constant=packed, out=y)()
        there = np.zeros((10, 10), bool)
        there[3:6, 4:7] = True
        assert np.array_equal(np.isnan(y[0, 1]), there)


def test_weights_may_move_between_runs_of_a_step():
    x, w, y = drawn((1, 3, 9, 9)), drawn((4, 3, 3, 3)), np.empty((1, 4, 7, 7), np.float32)
    step = conv.convolution(x, w, None, **NOTHING, constant=fed, out=y)
    for seed in (1, 2):
        x[...], w[...] = drawn(x.shape, seed=seed), drawn(w.shape, seed=seed + 9)
        step()
        assert np.allclose(y, exact(x, w, None, **NOTHING), rtol=1e-4, atol=1e-4)


def test_what_does_not_fit_is_refused():
    x, w, y = drawn((1, 4, 9, 9)), drawn((4, 2, 3, 3)), np.empty((1, 4, 7, 7), np.float32)

    def refused(match, *arrays, **attributes):
        with pytest.raises(ValueError, match=match):
            conv.convolution(*arrays, **NOTHING | attributes, constant=packed, out=y)

    refused("channels", x, w, None)
    refused("groups", x, w, None, group=3)
    refused("bias", x, w, drawn((3,)), group=2)
    refused("kernel_shape", x, w, None, group=2, kernel_shape=(3, 2))
    refused("larger than the padded input", x, drawn((4, 4, 10, 3)), None)
    with pytest.raises(ValueError, match="is not"):
        kernel.convolution(x, w, None, np.empty((1, 3, 7, 7), np.float32), 2, (1, 1), (1, 1), (0, 0))
    with pytest.raises(TypeError, match="float64"):
        kernel.convolution(x, kernel.Packed(w.astype(np.float64), 2), None, y, 2, (1, 1), (1, 1), (0, 0))


@pytest.mark.parametrize("attributes", [dict(pads=(1, 1, 1, 1), strides=(2, 2)), dict(auto_pad="SAME_LOWER", strides=(2, 3))])
def test_shapes_of_named_sizes(attributes):
    x = (named("N"), 3, named("H"), named("W"))
    [shape] = conv.convolved(Fact("tensor(float)", x), Fact("tensor(float)", (8, 3, 3, 3)), None, **NOTHING | attributes)
    known = {"N": 2, "H": 13, "W": 20}
    due = exact(drawn((2, 3, 13, 20)), drawn((8, 3, 3, 3)), None, **NOTHING | attributes).shape
    assert tuple(number(n, known) for n in shape) == due


def test_the_declaration_fits_every_schema():
    assert list(misfits(conv.convolution)) == []


@pytest.mark.skipif(isa() == "baseline", reason="this machine has one instruction set, or the test already forces it")
def test_the_baseline_gives_the_same_answers():
    here = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__]
    done = subprocess.run(here, env={**os.environ, "INTERP_ISA": "baseline"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_more_groups_than_output_channels_are_refused():
    """No channels divide into any number of groups, and a loop over 2**62 of them does not end."""
    x, w = Fact("tensor(float)", (1, 0, 1)), Fact("tensor(float)", (0, 0, 1))
    with pytest.raises(ValueError, match="0 output channels in 4611686018427387904 groups"):
        conv.convolved(x, w, **NOTHING | {"group": 2**62})
