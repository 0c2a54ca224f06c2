"""Fourier transforms and windows: what the triples do not show."""
import numpy as np
import pytest

import interp

from .every import run_node

RNG = np.random.default_rng(0)


def parts(x):
    return np.stack((x.real, x.imag), -1)


def matrix(n):
    """Transforms a signal of n numbers, by the sum in the text."""
    k = np.arange(n)
    return np.exp(-2j * np.pi * np.outer(k, k) / n)


@pytest.mark.parametrize("n", [1, 2, 7, 16])
@pytest.mark.parametrize("length", [None, 1, 5, 20])
def test_a_transform_pads_or_cuts_the_signal(n, length):
    x = RNG.normal(size=(2, n, 2)).astype(np.float32)
    z = x[..., 0].astype(float) + 1j * x[..., 1]
    due = np.zeros((2, length or n), complex)
    due[:, :min(n, length or n)] = z[:, :length or n]
    [y] = run_node("DFT", 20, {"x": x, "length": None if length is None else np.array(length), "axis": np.array(1)})
    np.testing.assert_allclose(y, parts(due @ matrix(length or n)), atol=1e-4)


@pytest.mark.parametrize("n", [2, 5, 8])
def test_a_one_sided_transform_and_its_inverse(n):
    x = RNG.normal(size=(3, n, 1))
    [y] = run_node("DFT", 20, {"x": x, "length": None, "axis": np.array(-2)}, {"onesided": 1})
    np.testing.assert_allclose(y, parts((x[..., 0] @ matrix(n))[:, :n // 2 + 1]), atol=1e-12)
    [z] = run_node("DFT", 20, {"x": y, "length": np.array(n)}, {"onesided": 1, "inverse": 1})
    np.testing.assert_allclose(z, x, atol=1e-12)


def test_the_axis_is_the_second_before_version_20_and_the_last_of_the_signal_after():
    x = RNG.normal(size=(2, 3, 4, 1))
    [old] = run_node("DFT", 17, {"x": x})
    [new] = run_node("DFT", 20, {"x": x})
    np.testing.assert_allclose(old, parts(np.einsum("nkc,kl->nlc", x[..., 0], matrix(3))), atol=1e-12)
    np.testing.assert_allclose(new, parts(x[..., 0] @ matrix(4)), atol=1e-12)


@pytest.mark.parametrize("shape, feeds, attributes, message", [
    ((2, 3, 1), {"length": None, "axis": np.array(-1)}, {}, "real and imaginary"),
    ((2, 3, 2), {}, {"onesided": 1}, "real signals"),
    ((2, 3, 3), {}, {}, "last dimension"),
    ((2, 3, 1), {"length": np.array(0)}, {}, "at least 1"),
    ((2, 3, 1), {"length": np.array([2, 2])}, {}, "one number")])
def test_impossible_transforms_are_refused(shape, feeds, attributes, message):
    with pytest.raises(interp.InterpError, match=message):
        run_node("DFT", 20, {"x": np.zeros(shape, np.float32), **feeds}, attributes)


def test_frames_of_a_real_signal():
    x = RNG.normal(size=(1, 10, 1)).astype(np.float32)
    [y] = run_node("STFT", 17, {"x": x, "step": np.array(2), "window": None, "length": np.array(4)})
    frames = np.stack([x[:, at:at + 4, 0] for at in (0, 2, 4, 6)], 1)
    np.testing.assert_allclose(y, parts((frames @ matrix(4))[..., :3]), atol=1e-5)


@pytest.mark.parametrize("step, length, message", [
    (0, 4, "frame_step"), (1, 11, "frame"), (1, 0, "frame"), (-1, 4, "frame_step")])
def test_impossible_frames_are_refused(step, length, message):
    with pytest.raises(interp.InterpError, match=message):
        run_node("STFT", 17, {"x": np.zeros((1, 10, 1), np.float32), "step": np.array(step), "window": None,
                              "length": np.array(length)})


@pytest.mark.parametrize("op", ["HannWindow", "HammingWindow", "BlackmanWindow"])
@pytest.mark.parametrize("size, periodic, due", [(0, 1, []), (1, 0, [1]), (1, 1, None)])
def test_short_windows(op, size, periodic, due):
    [y] = run_node(op, 17, {"size": np.array(size)}, {"periodic": periodic}, {"Y": np.float32})
    assert y.shape == (size,) and (due is None or y.tolist() == due)


def test_a_hann_window_is_numpys():
    [y] = run_node("HannWindow", 17, {"size": np.array(9)}, {"periodic": 0}, {"Y": np.float32})
    np.testing.assert_allclose(y, np.hanning(9), atol=1e-7)
