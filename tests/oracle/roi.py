"""Pooling over regions (MaxRoiPool, RoiAlign), and the way back from a maximum to its place (MaxUnpool)."""

import itertools
import math

import numpy as np

from tests.oracle.rounding import rounded


def real_of(dtype):
    """The type that coordinates are calculated in: float32, and double for double."""
    return np.float64 if dtype == np.float64 else np.float32


def image(x, number):
    """One image of the batch."""
    if not 0 <= number < len(x):
        raise ValueError(f"image {number} of a batch of {len(x)}")
    return x[int(number)].astype(np.float64)


def max_roi_pool(x, rois, *, pooled_shape, spatial_scale=1.0):
    """The maximum of every bin of every region; a region is (image, x1, y1, x2, y2), its last row and column included.

    The text is silent about rounding and bins. As in Fast R-CNN, where the operator comes from: coordinates are rounded
    to the nearest pixel, halves away from zero; bins overlap where they do not fall on pixels, and are cut to the
    image; an empty one gives 0.
    """
    real = real_of(x.dtype)
    scale = real(np.float32(spatial_scale))
    y = np.zeros((len(rois), x.shape[1], *pooled_shape))
    for r, roi in enumerate(rois.astype(real)):
        planes = image(x, roi[0])
        left, top, right, bottom = (half_away(c * scale) for c in roi[1:])
        rows = bins(top, bottom, pooled_shape[0], x.shape[2], real)
        columns = bins(left, right, pooled_shape[1], x.shape[3], real)
        for (i, (h0, h1)), (j, (w0, w1)) in itertools.product(enumerate(rows), enumerate(columns)):
            if h0 < h1 and w0 < w1:
                y[r, :, i, j] = planes[:, h0:h1, w0:w1].max((1, 2))  # numpy's max: NaN propagates
    return rounded(y, x.dtype)


def half_away(value):
    """The nearest integer, of two the one further from zero."""
    value = float(value)
    below = math.floor(abs(value))
    return int(math.copysign(below + (abs(value) - below >= 0.5), value))


def bins(first, last, count, size, real):
    """The pixels of every bin along one axis, as (start, end) inside the image; a region is at least one pixel long."""
    step = real(max(last - first + 1, 1)) / real(count)
    starts = [math.floor(real(b) * step) + first for b in range(count)]
    ends = [math.ceil(real(b + 1) * step) + first for b in range(count)]
    return [(min(max(s, 0), size), min(max(e, 0), size)) for s, e in zip(starts, ends, strict=True)]


def roi_align(
    x,
    rois,
    batch_indices,
    *,
    mode="avg",
    output_height=1,
    output_width=1,
    sampling_ratio=0,
    spatial_scale=1.0,
    coordinate_transformation_mode="half_pixel",
):
    """The mean, or maximum, of samples spread evenly over every bin of every region (x1, y1, x2, y2).

    A sample of mode avg is a bilinear value. Of mode max it is, as the official node test has it and the text does not,
    the largest of the four weighted corners, not their sum.
    """
    real = real_of(x.dtype)
    scale = real(np.float32(spatial_scale))
    half_pixel = coordinate_transformation_mode == "half_pixel"
    y = np.zeros((len(rois), x.shape[1], output_height, output_width))
    for r, (roi, batch) in enumerate(zip(rois.astype(real), batch_indices, strict=True)):
        planes = image(x, batch)
        left, top, right, bottom = roi * scale - real(0.5 if half_pixel else 0)
        rows = samples(top, bottom, output_height, sampling_ratio, half_pixel, real)
        columns = samples(left, right, output_width, sampling_ratio, half_pixel, real)
        for (i, of_row), (j, of_column) in itertools.product(enumerate(rows), enumerate(columns)):
            corners = [weighted(planes, v, h) for v, h in itertools.product(of_row, of_column)]
            if corners:
                y[r, :, i, j] = np.mean(np.sum(corners, 1), 0) if mode == "avg" else np.max(corners, (0, 1))
    return rounded(y, x.dtype)


def samples(start, end, count, ratio, half_pixel, real):
    """Where the samples of every bin stand along one axis; without the shift a region is at least one pixel long."""
    length = end - start if half_pixel else max(end - start, real(1))
    step = length / real(count)
    n = ratio or math.ceil(step)
    return [[start + real(b) * step + (real(i) + real(0.5)) * step / real(n) for i in range(n)] for b in range(count)]


def weighted(planes, v, h):
    """The four corners around a sample, each times its weight: 0 outside the image and a rim of one pixel around it."""
    height, width = planes.shape[1:]
    if not (-1 <= v <= height and -1 <= h <= width):
        return np.zeros((4, len(planes)))
    return np.array(
        [wv * wh * planes[:, pv, ph] for (pv, wv), (ph, wh) in itertools.product(corners(v, height), corners(h, width))]
    )


def corners(position, size):
    """The two pixels around a position along one axis, with their weights; on the rim the border's value holds."""
    position = max(position, type(position)(0))
    low = int(position)
    if low >= size - 1:
        return (size - 1, 1.0), (size - 1, 0.0)
    part = float(position - low)
    return (low, 1 - part), (low + 1, part)


def max_unpool(x, indices, output_shape=None, *, kernel_shape, pads=None, strides=None):
    """Every value at its index, all else 0; where an index comes twice the later value stands.

    Indices count over the tensor whose pooling x would be: (size − 1) · stride + kernel − padding along each axis. An
    `output_shape` does not change how they count, as the official node test has it: the tensor lies at the start of an
    output of that shape. The padding is then ignored, as the text says.
    """
    n = x.ndim - 2
    strides, pads = strides or [1] * n, pads if pads and output_shape is None else [0] * 2 * n
    spatial = [(x.shape[2 + i] - 1) * strides[i] + kernel_shape[i] - pads[i] - pads[n + i] for i in range(n)]
    inner = np.zeros((*x.shape[:2], *spatial), x.dtype)
    if indices.size and not (0 <= indices.min() and indices.max() < inner.size):
        raise ValueError(f"an index outside [0, {inner.size})")
    for value, index in zip(x.flat, indices.flat, strict=True):
        inner.flat[index] = value
    if output_shape is None:
        return inner
    y = np.zeros(output_shape, x.dtype)
    y[tuple(slice(0, d) for d in inner.shape)] = inner
    return y
