"""Signal processing: transforms as the sums that define them, windows by their formulas."""
import numpy as np
from onnx import helper

from .case import Case, case


def code_of(dtype):
    return helper.np_dtype_to_tensor_dtype(dtype)


def fourier(x, axis, inverse=False):
    """The sum that the text defines, over complex numbers."""
    n = x.shape[axis]
    k = np.arange(n)
    turn = np.exp((2j if inverse else -2j) * np.pi * np.outer(k, k) / n)
    return np.moveaxis(np.tensordot(turn, x, (1, axis)), 0, axis) / (n if inverse else 1)


def parts(x):
    return np.stack((x.real, x.imag), -1)


@case("DFT")
def dft(spec):
    x = spec.data((2, 6, 5, 1), "T1")
    y = fourier(np.pad(x[..., 0].astype(float), ((0, 0), (0, 2), (0, 0))), 1)[:, :5]
    length = np.array(8, spec.dtype("T2"))
    if spec.has("axis"):
        return Case([x, length], [parts(y)], axis=1, onesided=1)
    return Case([x, length, np.array(1)], [parts(y)], onesided=1)


@case("STFT")
def stft(spec):
    x, window = spec.data((2, 11, 2), "T1"), spec.data((4,), "T1")
    whole = x[..., 0].astype(float) + 1j * x[..., 1].astype(float)
    frames = np.stack([whole[:, at:at + 4] * window.astype(float) for at in range(0, 8, 3)], 1)
    step, length = (np.array(n, spec.dtype("T2")) for n in (3, 4))
    return Case([x, step, window, length], [parts(fourier(frames, 2))], onesided=0)


COSINES = {"HannWindow": (0.5, 0.5, 0), "HammingWindow": (25 / 46, 21 / 46, 0), "BlackmanWindow": (0.42, 0.5, 0.08)}


@case("HannWindow", "HammingWindow", "BlackmanWindow")
def window(spec):
    a, b, c = COSINES[spec.op]
    turns = 2 * np.pi * np.arange(7) / 6
    due = a - b * np.cos(turns) + c * np.cos(2 * turns)
    dtype = spec.dtype("T2")
    due = np.trunc(due.round(9)) if dtype.kind in "iu" else due
    return Case([np.array(7, spec.dtype("T1"))], [due], periodic=0, output_datatype=code_of(dtype))


@case("MelWeightMatrix")
def mel_weight_matrix(spec):
    def mel(hertz):
        return 2595 * np.log10(1 + hertz / 700)

    bands, length, rate, low, high = 4, 32, 8000, 64, 2048
    step = (mel(high) - mel(low)) / (bands + 2)
    hertz = [700 * (10 ** ((mel(low) + i * step) / 2595) - 1) for i in range(bands + 2)]
    edges = [int((length + 1) * f // rate) for f in hertz]
    due = np.zeros((length // 2 + 1, bands))
    for band, (before, peak, after) in enumerate(zip(edges, edges[1:], edges[2:], strict=False)):
        for k in range(before, peak):
            due[k, band] = (k - before) / (peak - before)
        due[peak, band] = 1
        for k in range(peak + 1, after):
            due[k, band] = (after - k) / (after - peak)
    dtype = spec.dtype("T3")
    due = np.trunc(due) if dtype.kind in "iu" else due
    sizes = [np.array(n, spec.dtype("T1")) for n in (bands, length, rate)]
    return Case([*sizes, *(np.array(f, spec.dtype("T2")) for f in (low, high))], [due], output_datatype=code_of(dtype))
