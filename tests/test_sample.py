"""GridSample, AffineGrid and ImageDecoder: modes, borders, types and hostile positions against what the texts say."""
import io
import itertools
import sys

import ml_dtypes
import numpy as np
import pytest

import interp
from interp.dims import Fact, named
from interp.ops import image

from .every import run_node
from .oracle import sample as oracle
from .tolerance import assert_close, size_of_terms

F = np.float32
MODES, PADDINGS = ["nearest", "linear", "cubic"], ["zeros", "border", "reflection"]
OLD = {"nearest": "nearest", "linear": "bilinear", "cubic": "bicubic"}


def drawn(shape, dtype=F, seed=0):
    random = np.random.default_rng(seed)
    if np.dtype(dtype).kind in "iu":
        return random.integers(0, 100, shape).astype(dtype)
    return random.standard_normal(shape).astype(dtype)


def positions(shape, dtype=F, reach=2.5, seed=1):
    return np.random.default_rng(seed).uniform(-reach, reach, shape).astype(dtype)


def sampled(x, grid, opset=22, threads=1, **attributes):
    return run_node("GridSample", opset, {"X": x, "grid": grid}, attributes, threads=threads)[0]


def check(x, grid, opset=22, threads=1, **attributes):
    due = oracle.grid_sample(x, grid, **attributes)
    if opset == 16:
        attributes["mode"] = OLD[attributes["mode"]]
    y = sampled(x, grid, opset, threads, **attributes)
    assert_close(y, due.astype(x.dtype), 4 * size_of_terms(x))


EVERY = list(itertools.product(MODES, PADDINGS, [0, 1]))


@pytest.mark.parametrize("mode, padding, align", EVERY)
def test_images_of_all_sizes(mode, padding, align):
    given = dict(mode=mode, padding_mode=padding, align_corners=align)
    for shape, spots in [((2, 3, 4, 5), (2, 3, 6, 2)), ((1, 1, 1, 1), (1, 2, 2, 2)), ((1, 2, 1, 7), (1, 1, 5, 2)),
                         ((1, 2, 2, 3), (1, 30, 31, 2))]:
        for opset in (16, 20, 22):
            check(drawn(shape), positions(spots), opset, **given)


@pytest.mark.parametrize("mode, padding, align", EVERY)
@pytest.mark.parametrize("axes", [1, 3, 4])
def test_any_number_of_axes(mode, padding, align, axes):
    x, grid = drawn((2, 2, 3, 4, 2, 3)[:axes + 2]), positions((2, *(2, 3, 1, 2)[:axes], axes))
    check(x, grid, mode=mode, padding_mode=padding, align_corners=align)


@pytest.mark.parametrize("dtype", [np.float64, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("grid_dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("mode", MODES)
def test_types_of_values_and_positions(dtype, grid_dtype, mode):
    check(drawn((2, 3, 5, 4), dtype), positions((2, 4, 3, 2), grid_dtype), mode=mode, padding_mode="reflection", align_corners=1)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64, bool])
def test_whole_numbers_are_cut_at_the_end(dtype):
    x, grid = drawn((1, 2, 5, 4), np.uint8).astype(dtype), positions((1, 4, 4, 2))
    for mode, padding in itertools.product(MODES, PADDINGS):
        due = oracle.grid_sample(x, grid, mode=mode, padding_mode=padding)
        y = sampled(x, grid, mode=mode, padding_mode=padding)
        if dtype is bool:
            np.testing.assert_array_equal(y, np.abs(due) > 1e-6)
        else:
            cut = np.clip(due, np.iinfo(dtype).min, np.iinfo(dtype).max)
            assert np.all(np.abs(y - np.trunc(cut)) <= (np.abs(cut - np.rint(cut)) < 1e-4))


def test_text_and_complex_numbers():
    grid = positions((1, 4, 4, 2), reach=1.5)
    z = (drawn((1, 2, 3, 3)) + 1j * drawn((1, 2, 3, 3), seed=5)).astype(np.complex64)
    for mode in MODES:
        np.testing.assert_allclose(sampled(z, grid, mode=mode), oracle.grid_sample(z, grid, mode=mode), 1e-5, 1e-5)
    number = np.arange(1, 10).reshape(1, 1, 3, 3)
    words = np.array([f"s{n}" for n in range(1, 10)], object).reshape(number.shape)
    due = oracle.grid_sample(number, grid, mode="nearest").astype(int)
    assert sampled(words, grid, mode="nearest").tolist() == np.array(["", *words.ravel()], object)[due].tolist()
    with pytest.raises(interp.InterpError, match="strings"):
        sampled(words, grid)


@pytest.mark.parametrize("mode, padding, align", EVERY)
def test_hostile_positions(mode, padding, align):
    """Nothing outside is read, whatever a position says."""
    far = [np.nan, np.inf, -np.inf, 3e38, -3e38, 1e9, -1e9, 1e-40, -1, 1, 0]
    grid = np.array(list(itertools.product(far, far)), F).reshape(1, 11, 11, 2)
    x, given = drawn((1, 2, 3, 4)), dict(mode=mode, padding_mode=padding, align_corners=align)
    y = sampled(x, grid, **given)
    if padding == "reflection":  # beyond 2**24 a float no longer tells where a mirrored position lies
        known = np.abs(grid).max(-1)[0] <= 1
        due = oracle.grid_sample(x, grid[:, known.any(1)][:, :, known.any(0)], **given)
        np.testing.assert_allclose(y[:, :, known.any(1)][..., known.any(0)], due, 1e-4, 1e-5)
        assert np.isnan(y[:, :, :3]).all() and np.isfinite(y[:, :, 3:, 3:]).all()
    else:
        np.testing.assert_allclose(y, oracle.grid_sample(x, grid, **given), 1e-4, 1e-5)
    whole = sampled(drawn((1, 2, 3, 4), np.int32), grid, **given)
    assert np.all(np.abs(whole) < 200)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_places_that_do_not_count_are_not_read(value):
    x = np.zeros((1, 1, 3, 3), F)
    x[0, 0, 1, 1] = value
    middle = np.array([[[-1, -1], [0, 0], [1, 1], [0, 1]]], F)[None]
    for mode in MODES:
        y = sampled(x, middle, mode=mode, align_corners=1)[0, 0, 0]
        assert y[[0, 2, 3]].tolist() == [0, 0, 0] and not np.isfinite(y[1])


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_many_positions(threads):
    for mode in MODES:
        check(drawn((1, 5, 9, 8)), positions((1, 40, 37, 2)), threads=threads, mode=mode, padding_mode="border")


def test_empty_tensors():
    assert sampled(drawn((0, 2, 3, 3)), positions((0, 2, 2, 2))).shape == (0, 2, 2, 2)
    assert sampled(drawn((2, 0, 3, 3)), positions((2, 2, 2, 2))).shape == (2, 0, 2, 2)
    assert sampled(drawn((2, 1, 3, 3)), positions((2, 0, 2, 2)), mode="cubic").shape == (2, 1, 0, 2)
    for mode in MODES:
        assert sampled(drawn((1, 1, 0, 3)), positions((1, 2, 2, 2)), mode=mode).tolist() == [[[[0, 0], [0, 0]]]]
        with pytest.raises(interp.InterpError, match="no border"):
            sampled(drawn((1, 1, 0, 3)), positions((1, 2, 2, 2)), mode=mode, padding_mode="border")


@pytest.mark.parametrize("x, grid, attributes", [
    ((1, 1, 3, 3), (1, 2, 2, 3), {}), ((1, 1, 3, 3), (2, 2, 2, 2), {}), ((1, 1, 3, 3), (1, 2, 2), {}),
    ((1, 1, 3, 3), (1, 2, 2, 2), {"mode": "bilinear"}), ((1, 1, 3, 3), (1, 2, 2, 2), {"padding_mode": "wrap"}),
    ((1, 1), (1, 0), {})], ids=str)
def test_what_does_not_fit_is_refused(x, grid, attributes):
    with pytest.raises(interp.InterpError):
        sampled(drawn(x), positions(grid), **attributes)


def test_shapes_with_names():
    n, h = named("N"), named("H")
    assert image._sampled(Fact("tensor(float)", (n, 3, 4, 5)), Fact("tensor(float)", (n, h, h * 2, 2))) == [(n, 3, h, h * 2)]
    size = Fact("tensor(int64)", (4,), np.array([n, 3, h, h * 2], object))
    assert image._grid(Fact("tensor(float)", (n, 2, 3)), size) == [(n, h, h * 2, 2)]
    [(count, *rest)] = image._grid(Fact("tensor(float)", (n, 3, 4)), Fact("tensor(int64)", (5,)))
    assert count == n and len(rest) == 4 and rest[-1] == 3


# AffineGrid


def affine(theta, size, **attributes):
    return run_node("AffineGrid", 20, {"theta": theta, "size": np.array(size)}, attributes, outputs=("grid",))[0]


@pytest.mark.parametrize("dtype", [F, np.float64, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("size", [(2, 3, 4, 5), (2, 3, 1, 1), (2, 1, 2, 3, 4), (2, 3, 0, 5), (0, 3, 2, 2)], ids=str)
@pytest.mark.parametrize("align", [0, 1])
def test_grids_of_affine_maps(dtype, size, align):
    axes = len(size) - 2
    theta = drawn((size[0], axes, axes + 1), dtype)
    due = oracle.affine_grid(theta, size, align_corners=align)
    assert_close(affine(theta, size, align_corners=align), due.astype(dtype), 4 * size_of_terms(theta))


@pytest.mark.parametrize("theta, size", [((1, 2, 3), (1, 1, 2, 2, 2)), ((1, 3, 4), (1, 1, 2, 2)), ((1, 2, 2), (1, 1, 2, 2)),
                                         ((1, 4, 5), (1, 1, 2, 2, 2, 2)), ((2, 2, 3), (1, 1, 2, 2)), ((1, 2, 3), (1, 1, -2, 2))])
def test_matrices_and_sizes_that_disagree(theta, size):
    with pytest.raises(interp.InterpError):
        affine(drawn(theta), size)


# ImageDecoder


def decoded(data, pixel_format="RGB"):
    stream = np.frombuffer(data, np.uint8)
    return run_node("ImageDecoder", 20, {"encoded_stream": stream}, {"pixel_format": pixel_format}, outputs=("image",))[0]


@pytest.mark.parametrize("kind", ["PNG", "BMP", "TIFF", "PPM"])
@pytest.mark.parametrize("mode", ["RGB", "L", "RGBA", "1"])
def test_images_without_loss(kind, mode):
    pillow = pytest.importorskip("PIL.Image", reason="images are decoded by pillow")
    if kind == "PPM" and mode == "RGBA":
        kind = "PNG"
    pixels = drawn((5, 4, 3), np.uint8)
    picture, file = pillow.fromarray(pixels).convert(mode), io.BytesIO()
    picture.save(file, kind)
    rgb = np.array(picture.convert("RGB"))
    np.testing.assert_array_equal(decoded(file.getvalue()), rgb)
    np.testing.assert_array_equal(decoded(file.getvalue(), "BGR"), rgb[:, :, ::-1])
    np.testing.assert_array_equal(decoded(file.getvalue(), "Grayscale"), np.array(picture.convert("L"))[:, :, None])


@pytest.mark.parametrize("data", [b"", b"nonsense", b"\x89PNG\r\n\x1a\n" + bytes(40), b"BM" + bytes(100)], ids=repr)
def test_what_cannot_be_decoded_is_empty(data):
    pytest.importorskip("PIL.Image", reason="images are decoded by pillow")
    assert decoded(data).shape == (0, 0, 3) and decoded(data, "Grayscale").shape == (0, 0, 1)


def test_without_pillow_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(interp.InterpError, match="onnx-interp\\[image\\]"):
        decoded(b"nonsense")


def test_pixels_of_no_known_format():
    with pytest.raises(interp.InterpError, match="RGB, BGR, Grayscale"):
        decoded(b"nonsense", "HSV")
