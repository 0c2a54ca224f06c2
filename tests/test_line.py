"""Convolutions along one axis: by few places and by Winograd's way, against sums in float64."""
import numpy as np
import pytest

from interp.kernels import line
from interp.ops.fused.line import axis_of

from .fusing import floats, fused, model

DIRECT, WINOGRAD = 2e-6, 1e-5  # of outputs with unit variance


def due(x, w, bias, stride, dilation, before, places):
    """The sums of products, in float64."""
    taps = w.shape[2]
    padded = np.zeros((*x.shape[:2], before + x.shape[2] + places * stride + taps * dilation))
    padded[:, :, before:before + x.shape[2]] = x
    y = sum(np.einsum("ncp,mc->nmp", padded[:, :, t * dilation:t * dilation + (places - 1) * stride + 1:stride],
                      w[:, :, t].astype("f8")) for t in range(taps))
    return y + bias[:, None]


def convolve(way, x, w, stride=1, dilation=1, before=0, places=None, residual=None, threads=1, **activated):
    bias = floats(w.shape[0], 2)
    places = (x.shape[2] + 2 * before - (w.shape[2] - 1) * dilation - 1) // stride + 1 if places is None else places
    y = np.full((x.shape[0], w.shape[0], places), np.nan, np.float32)
    line.convolution(x, line.PACKINGS[way](w), bias, residual, y, stride=stride, dilation=dilation, before=before,
                     **activated)(threads)
    return y, due(x, w, bias, stride, dilation, before, places)


def weights(m, c, taps):
    return (floats((m, c, taps), 1) / np.sqrt(c * taps)).astype(np.float32)


@pytest.mark.parametrize("m", [1, 15, 16, 65, 130])
@pytest.mark.parametrize(("c", "taps"), [(1, 256), (1, 1), (3, 5), (129, 3), (300, 1)])
def test_few_places_are_sums_of_products(m, c, taps):
    for places in (1, 2, 3, 4, 5, 7, 12):
        for stride, dilation, before in ((1, 1, 0), (2, 1, 1), (3, 2, 4)):
            size = max((places - 1) * stride + (taps - 1) * dilation + 1 - before, 1)
            y, expected = convolve("few", floats((2, c, size)), weights(m, c, taps), stride, dilation, before, places)
            assert abs(y - expected).max() < 2 * DIRECT


@pytest.mark.parametrize("taps", [3, 4, 5, 6, 7])
@pytest.mark.parametrize(("m", "c", "size"), [(1, 1, 7), (7, 3, 50), (26, 70, 300), (64, 256, 131)])
def test_tiles_are_as_exact_as_direct_sums(taps, m, c, size):
    for before in (0, 1, taps - 1):
        y, expected = convolve("tiles", floats((2, c, size)), weights(m, c, taps), before=before)
        assert abs(y - expected).max() < WINOGRAD


def test_tiles_err_no_more_than_a_direct_sum_in_one_chain():
    x, w = floats((1, 256, 1500)), weights(32, 256, 5)
    y, expected = convolve("tiles", x, w)
    chain = np.zeros_like(y)
    for c in range(256):
        for t in range(5):
            chain += w[:, c, t, None] * x[:, c, None, t:t + 1496]
    chain += floats(32, 2)[:, None]
    assert np.square(y - expected).mean() < 2 * np.square(chain - expected).mean()


@pytest.mark.parametrize("way", ["few", "tiles"])
def test_the_same_bits_come_out_at_any_number_of_threads(way):
    x, w = floats((3, 32, 90 if way == "tiles" else 8)), weights(200, 32, 5)
    one, _ = convolve(way, x, w)
    assert all(np.array_equal(convolve(way, x, w, threads=n)[0], one) for n in (2, 3, 8))


@pytest.mark.parametrize("way", ["few", "tiles"])
def test_a_residual_is_added_before_the_activation(way):
    x, w = floats((2, 20, 60 if way == "tiles" else 6)), weights(30, 20, 3)
    residual = floats((2, 30, x.shape[2] - 2), 5)
    y, expected = convolve(way, x, w, residual=residual, activated="LeakyRelu", alpha=0.5)
    expected += residual
    assert abs(y - np.where(expected < 0, 0.5 * expected, expected)).max() < WINOGRAD


@pytest.mark.parametrize(("x", "w", "y", "axis"), [
    ((1, 3, 9), (4, 3, 5), (1, 4, 5), 2), ((1, 3, 9, 1), (4, 3, 5, 1), (1, 4, 5, 1), 2),
    ((1, 3, 1, 9), (4, 3, 1, 5), (1, 4, 1, 5), 3), ((1, 3, 1, 1), (4, 3, 1, 1), (1, 4, 1, 1), 2),
    ((1, 3, 9, 1), (4, 3, 5, 1), (1, 4, 5, 3), None), ((1, 3, 9, 2), (4, 3, 5, 2), (1, 4, 5, 1), None)])
def test_other_axes_have_size_one(x, w, y, axis):
    assert axis_of(x, w, y) == axis


def test_the_way_follows_from_the_sizes():
    assert line.way((1, 64, 4), (64, 64, 3), (1, 64, 4), 1, 1, False) == "few"
    assert line.way((1, 64, 100), (64, 64, 3), (1, 64, 98), 1, 1, False) == "tiles"
    assert line.way((1, 64, 100), (64, 64, 3), (1, 64, 98), 1, 1, True) == ""
    assert line.way((1, 64, 100), (64, 64, 3), (1, 64, 49), 2, 1, False) == ""
    assert line.way((1, 64, 100), (64, 64, 8), (1, 64, 93), 1, 1, False) == ""


CONVOLUTION = """m (float[N,40,L{more}] x) => (float[N,32,M{more}] y) {{
    y = Conv<pads = {pads}, strides = {strides}>(x, w, b) }}"""


@pytest.mark.parametrize("length", [1, 6, 30, 200])
@pytest.mark.parametrize("more", ["", ",1"])
@pytest.mark.parametrize("stride", [1, 2])
def test_convolutions_along_one_axis_become_lines(length, more, stride):
    ones = [1] if more else []
    text = CONVOLUTION.format(more=more, pads=[1, *[0] * len(ones), 1, *[0] * len(ones)], strides=[stride, *ones])
    made = with_constants(text, w=weights(32, 40, 3).reshape(32, 40, 3, *ones), b=floats(32, 3))
    assert fused(made, {"x": floats((2, 40, length, *ones))})["LineConv"] == 1


@pytest.mark.parametrize("change", ["groups", "planes", "double", "variable"])
def test_other_convolutions_stay(change):
    w, dtype, text = weights(32, 40, 3), np.float32, CONVOLUTION.format(more="", pads=[1, 1], strides=[1])
    x = floats((1, 40, 40))
    if change == "groups":
        w, text = w[:, :20], text.replace("pads", "group = 2, pads")
    elif change == "planes":
        w, x = w[..., None].repeat(3, 3), x[..., None].repeat(5, 3)
        text = CONVOLUTION.format(more=",5", pads=[1] * 4, strides=[1, 1])
    elif change == "double":
        dtype, text = np.float64, text.replace("float[", "double[")
    given = {"x": x.astype(dtype)}
    constants = {"w": w.astype(dtype), "b": floats(32, 3, dtype)}
    if change == "variable":
        text = text.replace(" x)", " x, float[32,40,3] w)")
        given["w"] = constants.pop("w")
    assert "LineConv" not in fused(with_constants(text, **constants), given)


def with_constants(text, **constants):
    """The model with initializers of these names."""
    from onnx import numpy_helper

    made = model(text)
    made.graph.initializer.extend(numpy_helper.from_array(a, k) for k, a in constants.items())
    return made
