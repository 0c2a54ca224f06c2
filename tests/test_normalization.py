"""Normalizations and dropout against float64 formulas, each version with its own meaning."""
import ml_dtypes
import numpy as np
import pytest

import interp
from interp.kernels import normalization

from .every import one_node
from .test_layout import run

FLOATS = ["f4", "f8", "f2", ml_dtypes.bfloat16]
ROUNDED = {"f4": 2e-6, "f8": 1e-13, "f2": 2e-3, "bfloat16": 1.6e-2}
RANDOM = np.random.default_rng(3)


def random(shape, dtype="f4", scale=2.0):
    return np.asarray(RANDOM.standard_normal(shape) * scale).astype(dtype)


def near(found, wanted):
    tolerance = ROUNDED[str(found.dtype) if found.dtype == ml_dtypes.bfloat16 else found.dtype.str[1:]]
    np.testing.assert_allclose(found.astype("f8"), wanted, rtol=tolerance, atol=tolerance)


# Batch normalization


def batch(shape, dtype="f4", params=None, of="f4"):
    params = params or shape[1:2]
    return {"X": random(shape, dtype), "scale": random(params, of), "B": random(params, of), "mean": random(params, of),
            "var": np.abs(random(params, of)) + np.ones((), of)}


def normal(feeds, epsilon=1e-5, along=None):
    x, *rest = (a.astype("f8") for a in feeds.values())
    scale, b, mean, var = (a.reshape(along or (1, -1, *(1,) * (x.ndim - 2))) for a in rest)
    return (x - mean) / np.sqrt(var + epsilon) * scale + b


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(2, 3, 5, 7), (3, 5), (1, 4, 300), (2, 0, 3), (0, 3, 2), (2, 3, 0), (1, 1, 1, 1, 1)])
def test_batches_are_normalized_by_channel(shape, dtype):
    feeds = batch(shape, dtype, of=dtype)
    out = np.empty(shape, dtype)
    normalization.batch(*feeds.values(), 1e-5, out)(2)
    near(out, normal(feeds))


def test_statistics_may_have_a_type_of_their_own():
    feeds = batch((2, 3, 4), "f2")
    names = ("X", "scale", "B", "input_mean", "input_var")
    near(run("BatchNormalization", 15, dict(zip(names, feeds.values(), strict=True))), normal(feeds))


@pytest.mark.parametrize("opset", [1, 6, 7, 9, 14, 15])
def test_one_output_means_inference_in_every_version(opset):
    feeds = batch((2, 3, 4, 5))
    if opset >= 14:
        feeds = dict(zip(("X", "scale", "B", "input_mean", "input_var"), feeds.values(), strict=True))
    near(run("BatchNormalization", opset, feeds, **({"consumed_inputs": [0, 0, 0, 1, 1]} if opset == 1 else {})), normal(feeds))


@pytest.mark.parametrize("opset", [1, 6, 7])
def test_elements_of_a_batch_are_normalized_apart_where_not_spatial(opset):
    feeds = batch((3, 2, 4), params=(2, 4))
    attributes = {"spatial": 0} | ({"is_test": 1} if opset < 7 else {})
    if opset == 1:
        attributes["consumed_inputs"] = [0, 0, 0, 1, 1]
    near(run("BatchNormalization", opset, feeds, **attributes), normal(feeds, along=(1, 2, 4)))


@pytest.mark.parametrize("opset, outputs", [(6, 5), (7, 5), (9, 5), (14, 3), (15, 3)])
def test_training_normalizes_by_the_batch(opset, outputs):
    feeds = batch((4, 3, 5))
    x, scale, b, mean, var = (a.astype("f8") for a in feeds.values())
    if opset >= 14:
        feeds = dict(zip(("X", "scale", "B", "input_mean", "input_var"), feeds.values(), strict=True))
    names = dict.fromkeys([f"y{i}" for i in range(outputs)], "f4")
    found = run("BatchNormalization", opset, feeds, names, momentum=0.75, **({"training_mode": 1} if opset >= 14 else {}))
    own_mean, own_var = x.mean((0, 2)), x.var((0, 2))
    near(found[0], normal({"x": x, "s": scale, "b": b, "m": own_mean, "v": own_var}))
    near(found[1], mean * 0.75 + own_mean * 0.25)
    near(found[2], var * 0.75 + own_var * 0.25)
    for got, wanted in zip(found[3:], (own_mean, own_var), strict=False):
        near(got, wanted)


# Local response


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("size, beta", [(1, 0.75), (2, 0.5), (5, 0.75), (8, 1.25), (30, 1.0)])
def test_local_response(size, beta, dtype):
    x = random((2, 13, 7, 9), dtype)
    d = x.astype("f8")
    wanted = np.empty(d.shape)
    for c in range(13):
        near_by = d[:, max(0, c - (size - 1) // 2): c + size // 2 + 1]
        wanted[:, c] = d[:, c] / (1.5 + 0.25 / size * np.sum(near_by**2, 1)) ** beta
    near(run("LRN", 13, {"X": x}, size=size, alpha=0.25, beta=beta, bias=1.5), wanted)


def test_local_response_forgets_large_neighbours():
    x = np.zeros((1, 6, 3), "f4")
    x[0, 0], x[0, 3:] = 1e4, 1e-2
    found = run("LRN", 13, {"X": x}, size=3, alpha=3.0, beta=0.5, bias=0.0)
    near(found[0, 4], np.full(3, 1e-2 / np.sqrt(3e-4)))


# Softmax


def soft(x, axes):
    shifted = x.astype("f8") - x.astype("f8").max(axes, keepdims=True, initial=-np.inf)
    return np.exp(shifted) / np.exp(shifted).sum(axes, keepdims=True)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(3, 5), (2, 7, 5, 3), (1, 1, 300), (4, 1031), (2, 5, 0), (1,)])
def test_softmax_along_an_axis_and_from_an_axis_on(shape, dtype):
    x = random(shape, dtype, 4)
    for axis in range(-len(shape), len(shape)):
        near(run("Softmax", 13, {"input": x}, axis=axis), soft(x, axis))
        if axis >= 0 and x.size and dtype != ml_dtypes.bfloat16:
            near(run("Softmax", 11, {"input": x}, axis=axis), soft(x, tuple(range(axis, len(shape)))))
        if x.size and dtype != ml_dtypes.bfloat16:
            near(run("LogSoftmax", 13, {"input": x}, axis=axis), np.log(soft(x, axis)))


@pytest.mark.parametrize("opset", [1, 11, 12])
@pytest.mark.parametrize("shape", [(4,), (3, 5), (2, 7, 5, 3), (1, 1, 1), (0, 3)])
def test_before_version_13_all_axes_from_one_on_are_a_row(opset, shape):
    """As the text says: coerced into a matrix, whose rows they are taken of; by default from axis 1 on."""
    x = random(shape, scale=4)
    for axis in (None, *range(0 if opset == 1 else -len(shape), len(shape))):
        if axis is None and len(shape) == 1:
            continue
        start = 1 if axis is None else axis % len(shape)
        matrix = x.reshape(int(np.prod(shape[:start], dtype=int)), int(np.prod(shape[start:], dtype=int))).astype("f8")
        given = {} if axis is None else {"axis": axis}
        if not x.size:
            assert run("Softmax", opset, {"input": x}, **given).shape == shape
            continue
        share = soft(matrix, 1).reshape(shape)
        near(run("Softmax", opset, {"input": x}, **given), share)
        near(run("LogSoftmax", opset, {"input": x}, **given), np.log(share))
        first = np.arange(matrix.shape[1]) == matrix.argmax(1)[:, None]
        assert np.array_equal(run("Hardmax", opset, {"input": x}, **given), first.reshape(shape))


@pytest.mark.parametrize("opset", [1, 11, 13])
def test_the_first_of_equal_maxima_is_the_hard_one(opset):
    x = np.array([[1, 3, 3], [2, 2, 2], [-np.inf, -np.inf, 0]], "f4")
    assert run("Hardmax", opset, {"input": x}, axis=1).tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 1]]
    found = run("Hardmax", opset, {"input": x}, axis=0).tolist()
    assert found == ([[0, 1, 1], [1, 0, 0], [0, 0, 0]] if opset == 13 else [[0, 1, 0], [0, 0, 0], [0, 0, 0]])


@pytest.mark.parametrize("opset", [11, 13])
def test_logarithms_of_shares_keep_to_their_range(opset):
    x = np.array([[1e4, 0, -1e4], [-np.inf, 0, 0], [3e38, -3e38, 0]], "f4")
    due = [[0, -1e4, -2e4], [-np.inf, -np.log(2), -np.log(2)], [0, -np.inf, -3e38]]
    np.testing.assert_allclose(run("LogSoftmax", opset, {"input": x}, axis=1), due, rtol=1e-6)


def test_softmax_of_masked_and_large_numbers():
    x = np.array([[-np.inf, 0, 0], [1e30, 0, -1e30], [np.nan, 0, 1], [-np.inf] * 3] * 9, "f4")
    y = np.empty_like(x)
    normalization.softmax(x, 1, 2, False, y)()
    assert y[0].tolist() == [0, 0.5, 0.5] and y[1].tolist() == [1, 0, 0] and np.isnan(y[2:4]).all()


# Dropout


@pytest.mark.parametrize("opset", [7, 10, 12, 13])
def test_dropout_keeps_everything_in_inference(opset):
    x = random((3, 5))
    y, mask = run("Dropout", opset, {"data": x}, {"y": "f4", "mask": "f4" if opset == 7 else "?"})
    assert np.array_equal(y, x) and mask.all()
    assert np.array_equal(run("Dropout", opset, {"data": x}, ("y",)), x)


def test_dropout_leaves_out_what_its_seed_says():
    x = np.ones(1000, "f4")
    feeds = {"data": x, "ratio": np.array(0.25, "f4"), "training_mode": np.array(True)}
    y, mask = run("Dropout", 13, feeds, {"y": "f4", "mask": "?"}, seed=7)
    again, _ = run("Dropout", 13, feeds, {"y": "f4", "mask": "?"}, seed=7)
    near(y, mask / 0.75)
    assert 650 < mask.sum() < 850 and np.array_equal(y, again)
    assert run("Dropout", 6, {"data": x}, ("y",), is_test=1).tolist() == x.tolist()
    assert 300 < np.count_nonzero(run("Dropout", 6, {"data": x}, ("y",))) < 700


@pytest.mark.parametrize("opset", [12, 13])
@pytest.mark.parametrize("ratio, kept", [(0.0, 1.0), (0.999999, 0.0), (None, 0.5)])
def test_the_mask_tells_what_is_kept(opset, ratio, kept):
    """And what is kept is scaled by 1 / (1 - ratio), which by default is a half."""
    x = random((4, 500))
    feeds = {"data": x, "ratio": None if ratio is None else np.array(ratio, "f4"), "training_mode": np.array(True)}
    y, mask = run("Dropout", opset, feeds, {"y": "f4", "mask": "?"}, seed=3)
    assert mask.dtype == bool and mask.shape == x.shape and abs(mask.mean() - kept) < 0.05
    near(y, np.where(mask, x.astype("f8") / (1 - (0.5 if ratio is None else np.float32(ratio).astype(float))), 0))


@pytest.mark.parametrize("seed", [-1, 2**32, 2**63 - 1, -2**63])
def test_any_seed_repeats_its_mask_and_no_other(seed):
    feeds = {"data": random((1000,)), "ratio": np.array(0.5, "f4"), "training_mode": np.array(True)}
    masks = [run("Dropout", 13, feeds, {"y": "f4", "mask": "?"}, seed=s)[1] for s in (seed, seed, seed ^ 1)]
    assert np.array_equal(*masks[:2]) and 400 < (masks[0] != masks[2]).sum() < 600


@pytest.mark.parametrize("ratio", [-0.1, 1.5, np.nan])
def test_ratios_that_are_no_probability_are_refused(ratio):
    with pytest.raises(interp.RunError, match="Dropout.*ratio"):
        run("Dropout", 13, {"data": random((3,)), "ratio": np.array(ratio, "f4"), "training_mode": np.array(True)}, ("y",))


# Casts


@pytest.mark.parametrize("to, saturate, wanted", [
    (ml_dtypes.float8_e4m3fn, 1, [448, -448, 448, 1]), (ml_dtypes.float8_e4m3fn, 0, [np.nan, np.nan, np.nan, 1]),
    (ml_dtypes.float8_e5m2, 1, [57344, -57344, 57344, 1]), (ml_dtypes.float8_e5m2, 0, [np.inf, -np.inf, np.inf, 1])])
def test_casts_to_eight_bits_saturate_or_not(to, saturate, wanted):
    import onnx
    x = np.array([1e6, -1e6, np.inf, 1.01], "f4")
    code = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(to))
    np.testing.assert_array_equal(run("Cast", 19, {"input": x}, {"y": to}, to=code, saturate=saturate).astype("f4"), wanted)


def test_casts_between_plain_types():
    x = np.array([-1.7, 0, 2.9, 300], "f4")
    assert run("Cast", 13, {"input": x}, {"y": "i4"}, to=6).tolist() == [-1, 0, 2, 300]
    assert run("Cast", 13, {"input": x}, {"y": "?"}, to=9).tolist() == [True, False, True, True]
    assert run("Cast", 13, {"input": np.array([200, -1], "i2")}, {"y": "i1"}, to=3).tolist() == [-56, -1]
    assert run("Cast", 1, {"input": x}, {"y": "i8"}, to="INT64").tolist() == [-1, 0, 2, 300]
    assert run("CastLike", 15, {"input": x, "like": np.zeros(0, "i8")}).tolist() == [-1, 0, 2, 300]


def test_casts_from_and_to_text():
    x = np.array(["3.5", "1e-5", "INF", "-inf", "NaN", "+INF"], object)
    np.testing.assert_array_equal(run("Cast", 13, {"input": x}, {"y": "f4"}, to=1),
                                  np.array([3.5, 1e-5, np.inf, -np.inf, np.nan, np.inf], "f4"))
    assert run("Cast", 13, {"input": np.array(["12", "9007199254740993"], object)}, {"y": "i8"}, to=7).tolist() == [12, 2**53 + 1]
    x = np.array([0.5, np.nan, -np.inf], "f4")
    assert run("Cast", 13, {"input": x}, {"y": object}, to=8).tolist() == ["0.5", "NaN", "-INF"]


def test_casts_to_unknown_types_are_refused():
    with pytest.raises(interp.InterpError):
        interp.load(one_node("Cast", 13, {"input": np.zeros(1, "f4")}, {"to": 99}, {"y": "f4"}))
