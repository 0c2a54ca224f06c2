"""The trained model that the repository carries: still as good as on the day of its training."""
from pathlib import Path

import numpy as np
import onnx
import pytest

import interp

FOLDER = Path(__file__).parent.parent / "examples/digits"


@pytest.fixture(scope="module")
def held_out():
    with np.load(FOLDER / "held_out.npz") as data:
        return data["image"], data["label"]


@pytest.mark.parametrize("optimize", [0, 2])
def test_more_than_95_percent_of_the_held_out_digits_are_right(held_out, optimize):
    images, labels = held_out
    [probability] = interp.load(FOLDER / "digits.onnx", optimize=optimize).run(None, {"image": images})
    accuracy = (probability.argmax(1) == labels).mean()
    assert accuracy > 0.95
    assert f"{accuracy:.4f}" == interp.load(FOLDER / "digits.onnx").metadata["props"]["accuracy"]


def test_the_seven_is_what_float64_makes_of_it():
    image = pytest.importorskip("PIL.Image", reason="pillow reads the PNG")
    pixels = np.asarray(image.open(FOLDER / "seven.png"), np.float32) / 255
    [probability] = interp.load(FOLDER / "digits.onnx").run(None, {"image": pixels[None, None]})
    np.testing.assert_allclose(probability, np.load(FOLDER / "seven.npz")["probability"], rtol=1e-4, atol=1e-7)


def test_onnxruntime_agrees(held_out):
    onnxruntime = pytest.importorskip("onnxruntime", reason="the engine to compare with")
    older = onnx.load(FOLDER / "digits.onnx")
    older.opset_import[0].version = 21  # GlobalLpPool-22 only adds bfloat16, and onnxruntime stops at 2
    [due] = onnxruntime.InferenceSession(older.SerializeToString()).run(None, {"image": held_out[0]})
    [got] = interp.load(FOLDER / "digits.onnx").run(None, {"image": held_out[0]})
    np.testing.assert_allclose(got, due, rtol=1e-3, atol=1e-6)
