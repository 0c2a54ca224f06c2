"""Resize from its text: along each axis a result is a sum of weighted elements, found one by one."""

import math
from fractions import Fraction

import numpy as np


def resize(
    x,
    roi=None,
    scales=None,
    sizes=None,
    *,
    mode="nearest",
    coordinate_transformation_mode="half_pixel",
    nearest_mode="round_prefer_floor",
    cubic_coeff_a=-0.75,
    exclude_outside=0,
    extrapolation_value=0.0,
    axes=None,
    antialias=0,
    keep_aspect_ratio_policy="stretch",
):
    """The result in float64, unrounded. Scales are fractions, or floats that are exactly what they say."""
    axes = range(x.ndim) if axes is None else [a % x.ndim for a in axes]
    lengths, times = wanted([x.shape[a] for a in axes], scales, sizes, keep_aspect_ratio_policy)
    y, beyond = np.asarray(x, np.float64), np.zeros((1,) * x.ndim, bool)
    for i, (axis, out, scale) in enumerate(zip(axes, lengths, times, strict=True)):
        n, region = x.shape[axis], (0.0, 1.0)
        if scale == 1 and not coordinate_transformation_mode.startswith("tf"):
            continue  # every position is a place
        if coordinate_transformation_mode == "tf_crop_and_resize":
            region = float(roi[i]), float(roi[len(lengths) + i])
        rows, outside = np.zeros((out, n)), np.zeros(out, bool)
        for o in range(out):
            at = position(o, n, out, scale, coordinate_transformation_mode, region)
            if coordinate_transformation_mode == "tf_crop_and_resize" and not 0 <= at <= n - 1:
                outside[o] = True
                continue
            for place, weight in weights(at, n, scale, mode, nearest_mode, cubic_coeff_a, exclude_outside, antialias):
                rows[o, min(max(place, 0), n - 1)] += weight
        y = np.moveaxis(np.tensordot(rows, y, (1, axis)), 0, axis)
        beyond = beyond | outside.reshape([-1 if a == axis else 1 for a in range(x.ndim)])
    return np.where(beyond, extrapolation_value, y)


def wanted(shape, scales, sizes, policy):
    """The new length of each axis and its scale."""
    if scales is not None:
        times = [Fraction(s) for s in scales]
        return [math.floor(n * s) for n, s in zip(shape, times, strict=True)], times
    times = [Fraction(int(m), n) for m, n in zip(sizes, shape, strict=True)]
    if policy == "stretch":
        return [int(m) for m in sizes], times
    scale = min(times) if policy == "not_larger" else max(times)
    return [math.floor(scale * n + Fraction(1, 2)) for n in shape], [scale] * len(times)


def position(o, n, out, scale, transform, region):
    """Where a result lies among n elements: a fraction, but for a region's floats."""
    o = Fraction(o)
    if transform == "half_pixel":
        return (o + Fraction(1, 2)) / scale - Fraction(1, 2)
    if transform == "half_pixel_symmetric":
        return Fraction(n, 2) * (1 - out / (scale * n)) + (o + Fraction(1, 2)) / scale - Fraction(1, 2)
    if transform == "pytorch_half_pixel":
        return (o + Fraction(1, 2)) / scale - Fraction(1, 2) if out > 1 else Fraction(0)
    if transform == "align_corners":  # the official node test takes the length before it is cut to a whole number
        return o * (n - 1) / (scale * n - 1) if out > 1 else Fraction(0)
    if transform == "asymmetric":
        return o / scale
    if transform == "tf_half_pixel_for_nn":
        return (o + Fraction(1, 2)) / scale
    start, end = region
    if out == 1:
        return 0.5 * (start + end) * (n - 1)
    return start * (n - 1) + float(o) * (end - start) * (n - 1) / (out - 1)


def weights(at, n, scale, mode, nearest_mode, a, exclude_outside, antialias):
    """The places that count for a position, each with its weight."""
    if mode == "nearest":
        half = Fraction(1, 2)
        place = {"floor": math.floor(at), "ceil": math.ceil(at), "round_prefer_floor": math.ceil(at - half),
                 "round_prefer_ceil": math.floor(at + half)}[nearest_mode]
        return [(place, 1.0)]
    stretch = float(max(1 / scale, 1)) if antialias else 1.0
    reach = (2 if mode == "cubic" else 1) * stretch
    places = range(math.floor(at - reach), math.ceil(at + reach) + 1)
    curve = keys if mode == "cubic" else tent
    found = [(p, curve(float(p - at) / stretch, a)) for p in places]
    if exclude_outside:
        found = [(p, w) for p, w in found if 0 <= p < n]
    total = sum(w for _, w in found) if exclude_outside or antialias else 1.0
    return [(p, w / total) for p, w in found]


def tent(x, _):
    return max(1 - abs(x), 0.0)


def keys(x, a):
    """Equation 4 of Keys, Cubic Convolution Interpolation (1981), with the coefficient free."""
    x = abs(x)
    if x <= 1:
        return (a + 2) * x**3 - (a + 3) * x**2 + 1
    return a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a if x < 2 else 0.0
