"""`interp run --save-image`: which outputs are images, which numbers their pixels are, and where the files go."""
import json
import os
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper

from interp.cli import pictures
from interp.errors import UsageError

from .test_cli import DIGITS, ROOT, SEVEN, interp, model, refused, succeeds

Image = pytest.importorskip("PIL.Image", reason="pillow is part of the test extra")


PIXELS = np.random.default_rng(0).integers(0, 256, (5, 7, 3), np.uint8)


@pytest.fixture
def shown(tmp_path):
    """A function that saves an array as y.png, and gives what is said of it."""
    def made(array, place="y.png"):
        notices = []
        pictures.save({"y": array}, tmp_path / place, notices.append)
        return notices[0]
    return made


@pytest.fixture
def same(tmp_path):
    """A model that gives the image x.npy back as y."""
    np.save(tmp_path / "x.npy", PIXELS)
    return model(tmp_path / "same.onnx", [helper.make_node("Identity", ["x"], ["y"])], [("x", TensorProto.UINT8, PIXELS.shape)],
                 [("y", TensorProto.UINT8, PIXELS.shape)])


def read(path):
    with Image.open(path) as image:
        return np.asarray(image)


@pytest.mark.parametrize("layout, array, due", [
    ("NCHW", PIXELS.transpose(2, 0, 1)[None], PIXELS), ("NHWC", PIXELS[None], PIXELS), ("CHW", PIXELS.transpose(2, 0, 1), PIXELS),
    ("HWC", PIXELS, PIXELS), ("NCHW", PIXELS[None, None, ..., 0], PIXELS[..., 0]), ("HW", PIXELS[..., 0], PIXELS[..., 0]),
    ("NHWC", PIXELS[None, ..., :1], PIXELS[..., 0]), ("CHW", PIXELS[None, ..., 0], PIXELS[..., 0]),
], ids=lambda v: v if isinstance(v, str) else "")
def test_a_shape_tells_the_layout(shown, tmp_path, layout, array, due):
    said = shown(array)
    np.testing.assert_array_equal(read(tmp_path / "y.png"), due)
    assert said.endswith(f"y.png: y, {layout}, 5x7 pixels, {'RGB' if due.ndim == 3 else 'L'}, bytes as they are")


@pytest.mark.parametrize("scaled, said", [
    (lambda p: p / 255, "0 to 1 taken"), (lambda p: p / 127.5 - 1, "-1 to 1 taken"), (lambda p: p.astype("f4"), "0 to 255 taken"),
    (lambda p: (p / 255).astype("f2"), "0 to 1 taken"), (lambda p: p.astype("i8"), "0 to 255 taken"),
    (lambda p: p.astype(ml_dtypes.bfloat16), "0 to 255 taken"),
])
def test_numbers_tell_what_is_black_and_white(shown, tmp_path, scaled, said):
    assert said in shown(scaled(PIXELS))
    np.testing.assert_array_equal(read(tmp_path / "y.png"), PIXELS)


def test_a_mask_is_black_and_white(shown, tmp_path):
    mask = PIXELS[..., 0] > 99
    for array in (mask, mask.astype("i8")):
        shown(array)
        np.testing.assert_array_equal(read(tmp_path / "y.png"), np.where(mask, 255, 0))


@pytest.mark.parametrize("numbers, clipped", [
    ([-0.04, 0, 0.5, 1.04], 2), ([-1.02, -1, 0, 1], 1), ([-20, 0, 128, 300], 2),
])
def test_numbers_a_little_beyond_are_clipped(shown, tmp_path, numbers, clipped):
    assert f"{clipped * 2} numbers beyond are clipped" in shown(np.array([numbers] * 2, "f4"))
    np.testing.assert_array_equal(read(tmp_path / "y.png"), [[0, 0, 128, 255]] * 2)


@pytest.mark.parametrize("array, told", [
    (np.zeros((1, 1000, 1, 1)), "as NHWC it is a line of 1000x1 pixels"), (np.zeros((1, 10)), "a line of 1x10 pixels"),
    (np.zeros((2, 5, 7, 9)), "none of its axes has 1, 3 or 4 channels"), (np.zeros(5), "it has 1 axes"),
    (np.zeros((1, 1, 3, 5, 5)), "it has 5 axes"), (np.full((4, 4), np.nan), "it holds NaN"),
    (np.full((4, 4), np.inf), "it holds NaN or infinity"), (np.linspace(-5, 5, 16).reshape(4, 4), "from -5 to 5"),
    (np.full((4, 4), 1e30), r"from 1e\+30 to 1e\+30"), (np.zeros((0, 3, 4, 4)), "it is empty"),
    (np.zeros((4, 4), "c8"), "no real numbers"), (np.full((4, 4), 1000), r"from 1e\+03"),
    (np.full((4, 4), "a", object), "no real numbers"), (np.linspace(0, 5, 16).reshape(4, 4), "from 0 to 5"),
], ids=lambda v: v if isinstance(v, str) else "")
def test_what_is_no_image_is_refused(shown, array, told):
    with pytest.raises(UsageError, match=told):
        shown(array)


def test_a_batch_and_several_outputs_go_to_a_folder(tmp_path):
    path = model(tmp_path / "two.onnx", [helper.make_node("Identity", ["x"], ["a/b"]), helper.make_node("Neg", ["x"], ["minus"]),
                                         helper.make_node("GlobalMaxPool", ["x"], ["best"])],
                 [("x", TensorProto.FLOAT, ["N", 3, 4, 6])],
                 [(n, TensorProto.FLOAT, ["N", 3, *size]) for n, size in (("a/b", (4, 6)), ("minus", (4, 6)), ("best", (1, 1)))])
    done = interp(path, "-d", "N=2", "--save-image", "shown", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert sorted(os.listdir(tmp_path / "shown")) == ["a_b_0.png", "a_b_1.png", "minus_0.png", "minus_1.png"]
    assert "best float32[2,3,1,1] is no image" in done.stderr
    report = json.loads(done.stdout)
    assert [i["output"] for i in report["images"]] == ["a/b_0", "a/b_1", "minus_0", "minus_1"]
    assert report["images"][2]["mapping"].startswith("NCHW, 4x6 pixels, RGB, -1 to 1 taken as black to white")
    plus, minus = (read(tmp_path / f"shown/{name}_0.png").astype(float) for name in ("a_b", "minus"))
    np.testing.assert_allclose(minus, 127.5 - plus / 2, atol=1.5)
    assert "holds one image, there are 4" in refused(2, path, "-d", "N=2", "--save-image", "one.png", cwd=tmp_path)
    succeeds(path, "-d", "N=1", "--save-image", "one.jpg", "--outputs", "minus", cwd=tmp_path)
    assert read(tmp_path / "one.jpg").shape == (4, 6, 3)


def test_tensors_that_are_no_outputs_are_shown(tmp_path):
    succeeds(DIGITS, "-i", f"image={SEVEN}", "--outputs", "image", "--save-image", tmp_path / "seven.png", "-n", 0)
    np.testing.assert_array_equal(read(tmp_path / "seven.png"), read(SEVEN))


def test_many_outputs_that_are_no_images_are_told_in_one_line(tmp_path):
    notices = []
    pictures.save({"y": PIXELS, **{f"z{k}": np.zeros(k) for k in range(9)}}, tmp_path, notices.append)
    assert notices[1:] == ["9 others are no images, such as z0 float64[0] is no image: it has 1 axes, an image 2 to 4"]


@pytest.mark.parametrize("place", ["y.jpg", "y.bmp", "y.webp", "Y.PNG"])
def test_the_ending_names_the_format(shown, tmp_path, place):
    shown(np.concatenate([PIXELS, PIXELS[..., :1]], axis=-1), place)
    assert read(tmp_path / place).shape[:2] == (5, 7)


def test_an_image_goes_through_a_run_as_it_is(same, tmp_path):
    done = interp(same, "-i", "x=x.npy", "--save-image", "y.png", "-n", 0, cwd=tmp_path)
    assert done.stderr == "interp: notice: y.png: y, HWC, 5x7 pixels, RGB, bytes as they are\n" and done.returncode == 0
    np.testing.assert_array_equal(read(tmp_path / "y.png"), PIXELS)
    assert interp(same, "-i", "x=y.png", "--save-image", "z.png", "-q", "-n", 0, cwd=tmp_path).stderr == ""
    np.testing.assert_array_equal(read(tmp_path / "z.png"), PIXELS)


@pytest.mark.parametrize("place, told", [("y.gif", "an image ends in .png"), ("nowhere/y.png", "nowhere/y.png: No such file")])
def test_a_place_that_cannot_be_written_is_told(same, tmp_path, place, told):
    assert told in refused(2, same, "--save-image", place, "-n", 0, cwd=tmp_path)


def test_without_pillow_the_error_says_what_to_install(tmp_path):
    code = ("import sys; sys.modules['PIL'] = None; from interp.cli import main; "
            f"sys.exit(main([{str(DIGITS)!r}, '--save-image', 'y.png']))")
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "--save-image takes pillow: pip install 'onnx-interp[image]'" in done.stderr
