"""Signal processing: Fourier transforms, window functions, and the matrix of a mel spectrogram."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..dims import Fact, Size
from ..registry import op
from ..types import DTYPE, OF_CODE
from .cast import wide
from .shapes import axis_of, numbers, shape_of, sizes


def as_complex(x: np.ndarray) -> np.ndarray:
    """Numbers whose real and imaginary parts, or real parts alone, stand along the last axis."""
    if x.shape[-1] not in (1, 2):
        raise ValueError(f"the last dimension holds a number's real or its real and imaginary part, its size is {x.shape[-1]}")
    return wide(x[..., 0]) if x.shape[-1] == 1 else wide(x[..., 0]) + 1j * wide(x[..., 1])


def as_parts(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Complex numbers as pairs along a new last axis."""
    return np.stack((x.real, x.imag), -1).astype(dtype)


def scalar(x: Any, name: str, least: int = 1) -> int:
    """A whole number given as a tensor of one element."""
    if np.size(x) != 1:
        raise ValueError(f"{name} is one number, it has {np.size(x)}")
    found = int(np.ravel(x)[0])
    if found < least:
        raise ValueError(f"{name} is at least {least}, not {found}")
    return found


def known(given: Fact | None) -> Size | None:
    """The one size that an input holds, where it is known."""
    found = sizes(given) if given is not None and given.value is not None else None
    return found[0] if found else None


# Fourier transforms


def _transformed(x: Fact, dft_length: Fact | None = None, axis: Any = -2, *, inverse: int, onesided: int) -> list[Any]:
    shape = list(shape_of(x))
    if isinstance(axis, Fact) and numbers(axis) is None:
        alike = dft_length is None and not onesided  # then no axis changes its size
        return [(*shape[:-1], 2) if alike else None]
    at = signal_axis(-2 if axis is None else numbers(axis)[0] if isinstance(axis, Fact) else axis, len(shape))  # type: ignore[index]
    length = shape[at] if dft_length is None else known(dft_length)
    if length is None:
        return [None]
    if onesided and inverse:
        shape[at], shape[-1] = (2 * (length - 1) if dft_length is None else length), 1
    else:
        shape[at], shape[-1] = (length // 2 + 1 if onesided else length), 2
    return [tuple(shape)]


def signal_axis(axis: int, rank: int) -> int:
    """An axis of a signal: any but the last, which holds the parts of complex numbers."""
    at = axis_of(axis, rank)
    if at == rank - 1:
        raise ValueError(f"axis {axis} holds the real and imaginary parts; a transform takes another one")
    return at


@op("DFT", 17, 20, shape=_transformed, known=("dft_length", "axis"))
def dft(input, dft_length=None, axis=-2, *, inverse, onesided):
    """The discrete Fourier transform along an axis, or its inverse; one-sided, only the frequencies that real signals need."""
    at = signal_axis(-2 if axis is None else int(np.ravel(axis)[0]), input.ndim)
    x = as_complex(input)
    length = None if dft_length is None else scalar(dft_length, "dft_length")
    if onesided and inverse:
        length = 2 * (x.shape[at] - 1) if length is None else length
        return np.fft.irfft(x, length, at)[..., None].astype(input.dtype) if length else _nothing(x, at, input.dtype)
    if onesided and np.iscomplexobj(x):
        raise ValueError("a one-sided transform is for real signals, this one is complex")
    transform = np.fft.rfft if onesided else np.fft.ifft if inverse else np.fft.fft
    return as_parts(transform(x, length, at), input.dtype)


def _nothing(x: np.ndarray, axis: int, dtype: np.dtype) -> np.ndarray:
    """The real signal of no length that one frequency stands for."""
    return np.zeros((*x.shape[:axis], 0, *x.shape[axis + 1:], 1), dtype)


def _framed(signal: Fact, frame_step: Fact, window: Fact | None = None, frame_length: Fact | None = None, *,
            onesided: int) -> list[Any]:
    batch, size, *_ = shape_of(signal)
    step = known(frame_step)
    length = known(frame_length) if frame_length is not None else size if window is None else shape_of(window)[0]
    if step is None or length is None:
        return [None]
    if isinstance(step, int) and step < 1:
        raise ValueError(f"frame_step is at least 1, not {step}")
    if isinstance(size, int) and isinstance(length, int) and length > size:
        raise ValueError(f"a frame of {length} is longer than the signal of {size}")
    return [(batch, (size - length) // step + 1, length // 2 + 1 if onesided else length, 2)]


@op("STFT", 17, 17, shape=_framed, known=("frame_step", "frame_length"))
def stft(signal, frame_step, window=None, frame_length=None, *, onesided):
    """The Fourier transforms of frames that slide over a signal, each weighted by a window."""
    x, step = as_complex(signal), scalar(frame_step, "frame_step")
    length = scalar(frame_length, "frame_length") if frame_length is not None else x.shape[1] if window is None else window.size
    if window is not None and window.shape != (length,):
        raise ValueError(f"a window of {list(window.shape)} does not go with frames of {length}")
    if not 1 <= length <= x.shape[1]:
        raise ValueError(f"a frame of {length} does not fit a signal of {x.shape[1]}")
    if onesided and np.iscomplexobj(x):
        raise ValueError("a one-sided transform is for real signals, this one is complex")
    frames = np.lib.stride_tricks.sliding_window_view(x, length, axis=1)[:, ::step]
    weighted = frames if window is None else frames * wide(window)
    return as_parts((np.fft.rfft if onesided else np.fft.fft)(weighted), signal.dtype)


# Windows


def _long(size: Fact, *, output_datatype: int, periodic: int) -> list[Any]:
    length = known(size)
    return [Fact(OF_CODE[output_datatype], None if length is None else (length,))]


def cosines(size: Any, periodic: int, code: int, *weights: float) -> np.ndarray:
    """A sum of cosines over one period; a window of one element is 1, where the formula divides by 0."""
    length = scalar(size, "size", least=0)
    period = length if periodic else length - 1
    turns = 2 * np.pi * np.arange(length) / period if period else np.zeros(length)
    if not period:
        weights = (1,)
    found, dtype = np.asarray(sum(w * np.cos(k * turns) for k, w in enumerate(weights))), DTYPE[OF_CODE[code]]
    # A peak of 1 less a rounding error must not become the whole number 0.
    return (found if dtype == np.float64 else np.asarray(found, np.float32)).astype(dtype)


@op("HannWindow", 17, 17, shape=_long, known=("size",))
def hann_window(size, *, output_datatype, periodic):
    """The raised cosine."""
    return cosines(size, periodic, output_datatype, 0.5, -0.5)


@op("HammingWindow", 17, 17, shape=_long, known=("size",))
def hamming_window(size, *, output_datatype, periodic):
    """The raised cosine that does not reach 0, with the weights 25/46 and 21/46."""
    return cosines(size, periodic, output_datatype, 25 / 46, -21 / 46)


@op("BlackmanWindow", 17, 17, shape=_long, known=("size",))
def blackman_window(size, *, output_datatype, periodic):
    """Blackman's window of two cosines."""
    return cosines(size, periodic, output_datatype, 0.42, -0.5, 0.08)


# Mel spectrograms


def _weights(num_mel_bins: Fact, dft_length: Fact, *_: Any, output_datatype: int) -> list[Any]:
    bands, length = known(num_mel_bins), known(dft_length)
    shape = None if bands is None or length is None else (length // 2 + 1, bands)
    return [Fact(OF_CODE[output_datatype], shape)]


@op("MelWeightMatrix", 17, 17, shape=_weights, known=("num_mel_bins", "dft_length"))
def mel_weight_matrix(num_mel_bins, dft_length, sample_rate, lower_edge_hertz, upper_edge_hertz, *, output_datatype):
    """Triangles with a peak of 1, one a band, over the frequencies of a spectrogram, evenly spaced in mel.

    The text gives the scale only. As the official test has it, edges lie (upper - lower) / (bands + 2) mel apart, on the bins
    floor((dft_length + 1) * hertz / sample_rate); a triangle whose edges fall on one bin is 1 there.
    """
    bands, length = scalar(num_mel_bins, "num_mel_bins", 0), scalar(dft_length, "dft_length", 0)
    low, high = (2595 * np.log10(1 + float(np.ravel(f)[0]) / 700) for f in (lower_edge_hertz, upper_edge_hertz))
    mel = low + np.arange(bands + 2) * ((high - low) / (bands + 2))
    edges = (length + 1) * (700 * (10 ** (mel / 2595) - 1)) // scalar(sample_rate, "sample_rate")
    before, peak, after = edges[:-2], edges[1:-1], edges[2:]
    bins = np.arange(length // 2 + 1)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        rising = np.where(peak > before, (bins - before) / (peak - before), bins == peak)
        falling = (after - bins) / (after - peak)
    inside = (bins >= before) & (bins <= after)
    return np.where(inside, np.where(bins <= peak, rising, falling), 0).astype(DTYPE[OF_CODE[output_datatype]])
