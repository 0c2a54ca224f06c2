"""Padding in every mode: pads that take away, sizes 0 and 1, pads beyond the axis, types of every width."""
import ml_dtypes
import numpy as np
import pytest

import interp
from interp.kernels import pad

from .every import one_node
from .standard.layout import places

MODES = ["constant", "reflect", "edge", "wrap"]


def run(x, pads, mode, value=None, axes=None, opset=25):
    feeds = {"data": x, "pads": np.array(pads, "i8"), "value": value, "axes": None if axes is None else np.array(axes)}
    while list(feeds.values())[-1] is None:
        feeds.popitem()
    given = {k: v for k, v in feeds.items() if v is not None}
    return interp.load(one_node("Pad", opset, feeds, {"mode": mode})).run(None, given)[0]


def due(x, before, after, mode, fill):
    """Element by element, from where along every axis it comes."""
    along = [places(mode, n, b, a) for n, b, a in zip(x.shape, before, after, strict=True)]
    y = np.empty([len(p) for p in along], x.dtype)
    for at in np.ndindex(y.shape):
        source = [p[i] for p, i in zip(along, at, strict=True)]
        y[at] = fill if None in source else x[tuple(source)]
    return y


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["i1", "f2", ml_dtypes.bfloat16, "f4", "i8", "c16", ml_dtypes.int4, "?", object])
@pytest.mark.parametrize("before, after", [
    ((0, 0, 0), (0, 0, 0)), ((1, 2, 3), (3, 2, 1)), ((0, 2, 0), (0, 0, 0)), ((0, 0, 5), (0, 0, 9)), ((2, 0, 0), (0, 0, 1)),
    ((-1, 3, -2), (2, -1, 4)), ((0, -2, 0), (0, -1, 0)), ((-2, 0, 0), (1, 0, 0))])
def test_every_mode_and_width(mode, dtype, before, after):
    x = np.random.default_rng(0).integers(0, 2, (3, 4, 5)).astype(dtype)
    fill = np.array("" if dtype is object else 1).astype(dtype)
    got = run(x, before + after, mode, fill if mode == "constant" else None)
    assert np.array_equal(got, due(x, before, after, mode, fill[()]))


@pytest.mark.parametrize("mode", MODES)
def test_long_lines_of_many_axes(mode):
    x = np.random.default_rng(0).normal(size=(2, 3, 1, 33, 65)).astype("f4")
    before, after = (0, 0, 1, 1, 2), (0, 0, 1, 70, 130)
    y = np.zeros([n + b + a for n, b, a in zip(x.shape, before, after, strict=True)], "f4")
    pad.pad(x, before, after, mode, np.float32(5).tobytes(), y)(2)
    extra = {"constant_values": 5} if mode == "constant" else {}
    assert np.array_equal(y, np.pad(x, list(zip(before, after, strict=True)), mode, **extra))


@pytest.mark.parametrize("mode", ["reflect", "edge", "wrap"])
def test_one_element_repeats(mode):
    assert run(np.array([7], "f4"), (2, 3), mode).tolist() == [7] * 6


@pytest.mark.parametrize("mode", ["reflect", "edge", "wrap"])
@pytest.mark.parametrize("shape, pads", [((0,), (1, 0)), ((0, 3), (0, 0, 2, 0)), ((2,), (-2, 1))])
def test_nothing_cannot_be_continued(mode, shape, pads):
    with pytest.raises(interp.RunError, match="Pad.*nothing to put around"):
        run(np.zeros(shape, "f4"), pads, mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape, pads, due", [
    ((0, 3), (0, 1, 0, 1), (0, 5)), ((0, 3), (0, 0, 0, -3), (0, 0)), ((2,), (-1, -1), (0,))])
def test_nothing_stays_nothing(mode, shape, pads, due):
    assert run(np.zeros(shape, "f4"), pads, mode).shape == due


def test_a_constant_around_nothing():
    assert run(np.zeros((0, 1), "f4"), (1, 0, 1, 1), "constant", np.array(3, "f4")).tolist() == [[3, 3]] * 2
    assert run(np.array([1, 2], "f4"), (-3, 4), "constant", np.array(3, "f4")).tolist() == [3, 3, 3]
    assert run(np.array(5, "f4"), (), "constant").tolist() == 5


@pytest.mark.parametrize("far", [4, 2**31, 2**62, 2**63 - 1])
@pytest.mark.parametrize("dtype", ["i1", "f4", "c16", object])
def test_what_is_taken_beyond_one_end_comes_off_the_other(far, dtype):
    """No address is reckoned from pads that lead beyond the data."""
    x, fill = np.arange(3).astype(dtype), np.array(9).astype(dtype)
    for pads in ((-far, far), (far, -far), (-far, far - 1), (far - 3, -far)):
        assert run(x, pads, "constant", fill).tolist() == [9] * (3 + sum(pads))
    wide = np.arange(6).reshape(2, 3).astype(dtype)
    assert run(wide, (0, -far, 1, far), "constant", fill).tolist() == [[9] * 3] * 3
    assert run(wide, (far, 1, -far, 0), "constant", fill).tolist() == [[9] * 4] * 2


def test_the_default_constant():
    assert run(np.array([1], "f4"), (1, 1), "constant").tolist() == [0, 1, 0]
    assert run(np.array([True]), (1, 0), "constant").tolist() == [False, True]
    assert run(np.array(["a"], object), (1, 0), "constant").tolist() == ["", "a"]


def test_pads_that_take_more_than_there_is():
    with pytest.raises(interp.InterpError, match="Pad.*take more"):
        run(np.zeros(3, "f4"), (-2, -2), "constant")


@pytest.mark.parametrize("pads, axes", [((1, 1), None), ((1, 1, 1), [0]), ((1,) * 4, [0, 0]), ((1, 1), [2])])
def test_pads_and_axes_that_do_not_fit(pads, axes):
    with pytest.raises(interp.InterpError, match="Pad.*ax"):
        run(np.zeros((2, 2), "f4"), pads, "constant", axes=axes)


def test_an_unknown_mode():
    with pytest.raises(interp.InterpError, match="Pad has no mode mirror"):
        run(np.zeros(2, "f4"), (1, 1), "mirror")


@pytest.mark.parametrize("size, wanted, due", [
    (5, 2, [1, 2]), (5, 3, [1, 2, 3]), (4, 1, [1]), (2, 5, [0, 9, 9, 0, 0]), (3, 3, [0, 1, 2]), (2, 0, []), (0, 2, [0, 0])])
def test_the_middle(size, wanted, due):
    """The odd element is cut, or put, at the end."""
    x = np.arange(size, dtype="f4") if wanted <= size else np.full(size, 9, "f4")
    feeds = {"x": x, "shape": np.array([wanted])}
    assert interp.load(one_node("CenterCropPad", 18, feeds)).run(None, feeds)[0].tolist() == due
