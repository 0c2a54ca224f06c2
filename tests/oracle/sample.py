"""Sampling from the texts of GridSample, AffineGrid, DeformConv and NonMaxSuppression, place by place."""

import itertools
import math

import numpy as np


def grid_sample(x, grid, *, mode="linear", padding_mode="zeros", align_corners=0):
    """The result in float64 (complex128 for complex numbers), not rounded to the type of x."""
    y = np.zeros((*x.shape[:2], *grid.shape[1:-1]), np.result_type(x.dtype if x.dtype.kind == "c" else np.float64, np.float64))
    values = x.astype(y.dtype)
    for n in range(len(x)):
        for spot in np.ndindex(*grid.shape[1:-1]):
            position = [float(v) for v in grid[(n, *spot)][::-1]]
            along = [places(g, x.shape[2 + a], mode, padding_mode, align_corners) for a, g in enumerate(position)]
            for taps in itertools.product(*along):
                weight = math.prod(w for _, w in taps)
                y[(n, slice(None), *spot)] += weight * values[(n, slice(None), *(p for p, _ in taps))]
    return y


def places(g, n, mode, padding, align):
    """The places of an axis that count for a normalised position, with their weights."""
    at = (g + 1) / 2 * (n - 1) if align else ((g + 1) * n - 1) / 2
    low, high = (0, n - 1) if align else (-0.5, n - 0.5)
    if math.isnan(at) or math.isinf(at) and padding == "reflection":
        return [(0, math.nan)]
    if mode == "nearest":
        at = float(np.rint(at))
    if not low <= at <= high:
        if padding == "border":  # beyond, all places of a curve are the border
            at = min(max(at, -3), n + 2) if mode == "cubic" else min(max(at, 0), n - 1)
        elif padding == "reflection":
            at = mirrored(at, low, high)
        elif math.isinf(at):
            return []
    first = math.floor(at)
    if mode == "nearest":
        found = [(first, 1.0)]
    else:
        reach = 1 if mode == "linear" else 2
        found = [(p, tent(p - at) if mode == "linear" else keys(p - at)) for p in range(first - reach + 1, first + reach + 1)]
    return [(inner(p, n, padding, low, high), w) for p, w in found if w and (padding != "zeros" or 0 <= p < n)]


def inner(place, n, padding, low, high):
    """A place of the axis that stands for one beyond it."""
    if padding == "reflection":
        return int(mirrored(place, low, high))
    return min(max(place, 0), n - 1)


def mirrored(at, low, high):
    """Mirrored at one border, then at the other, until it lies between them."""
    if low == high:
        return low
    at = math.fmod(at - low, 2 * (high - low)) + low  # a way there and back changes nothing
    while not low <= at <= high:
        at = 2 * low - at if at < low else 2 * high - at
    return at


def tent(x):
    return max(1 - abs(x), 0.0)


def keys(x, a=-0.75):
    x = abs(x)
    if x <= 1:
        return (a + 2) * x**3 - (a + 3) * x**2 + 1
    return a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a if x < 2 else 0.0


def affine_grid(theta, size, *, align_corners=0):
    """The image of every place of an even grid, last axis first."""
    spatial = size[2:]
    y = np.zeros((len(theta), *spatial, len(spatial)))
    for spot in np.ndindex(*spatial):
        even = [spaced(o, n, align_corners) for o, n in zip(spot, spatial, strict=True)]
        y[(slice(None), *spot)] = theta.astype(np.float64) @ np.array([*even[::-1], 1])
    return y


def spaced(o, n, align):
    if align:
        return -1 + 2 * o / (n - 1) if n > 1 else 0.0
    return (2 * o + 1) / n - 1


def deform_conv(x, w, offset, b=None, mask=None, *, group=1, offset_group=1, dilations=None, pads=None, strides=None):
    """Every product of a weight and a value that is interpolated where an offset puts it, in float64."""
    axes, kernel, out = x.ndim - 2, w.shape[2:], offset.shape[2:]
    dilations, strides, pads = dilations or [1] * axes, strides or [1] * axes, pads or [0] * 2 * axes
    taps = math.prod(kernel)
    x, w = x.astype(np.float64), w.astype(np.float64)
    offset = offset.astype(np.float64).reshape(len(x), offset_group, taps, axes, *out)
    mask = np.ones((len(x), offset_group, taps, *out)) if mask is None else \
        mask.astype(np.float64).reshape(len(x), offset_group, taps, *out)
    y = np.zeros((len(x), len(w), *out))
    each, together = x.shape[1] // group, x.shape[1] // offset_group
    for n, c in np.ndindex(*x.shape[:2]):
        of = c // together
        for t, tap in enumerate(np.ndindex(*kernel)):
            for spot in np.ndindex(*out):
                at = [spot[a] * strides[a] - pads[a] + tap[a] * dilations[a] + offset[(n, of, t, a, *spot)] for a in range(axes)]
                value = mask[(n, of, t, *spot)] * interpolated(x[n, c], at)
                for m in range(len(w)):
                    if m // (len(w) // group) == c // each:
                        y[(n, m, *spot)] += w[(m, c % each, *tap)] * value
    return y if b is None else y + b.astype(np.float64).reshape(-1, *(1,) * axes)


def interpolated(plane, at):
    """Between the corners around a position; those outside of the plane are 0."""
    total = 0.0
    for corner in itertools.product(*([math.floor(p), math.floor(p) + 1] for p in at)):
        weight = math.prod(tent(c - p) for c, p in zip(corner, at, strict=True))
        if weight and all(0 <= c < n for c, n in zip(corner, plane.shape, strict=True)):
            total += weight * plane[corner]
    return total


def non_max_suppression(boxes, scores, most=0, overlap=0.0, least=None, *, center_point_box=0):
    """Rows of (batch, class, box): always the best of those that are left, which drives out what overlaps it."""
    found = []
    for batch, kind in np.ndindex(*scores.shape[:2]):
        left = [i for i, s in enumerate(scores[batch, kind]) if not math.isnan(s) and (least is None or s > least)]
        taken = 0
        while left and taken < most:
            best = max(left, key=lambda i, s=scores[batch, kind]: (s[i], -i))
            found.append((batch, kind, best))
            taken += 1
            left = [i for i in left if i != best and not iou(boxes[batch, best], boxes[batch, i], center_point_box) > overlap]
    return np.array(found, np.int64).reshape(-1, 3)


def iou(a, b, centred):
    """The shared part of two boxes by all that they cover; 0 where one of them covers nothing. In float32, their type."""
    a, b = corners(a, centred), corners(b, centred)
    shared = [np.minimum(a[2 + i], b[2 + i]) - np.maximum(a[i], b[i]) for i in (0, 1)]
    areas = [(c[2] - c[0]) * (c[3] - c[1]) for c in (a, b)]
    if not (min(shared) > 0 and min(areas) > 0):
        return 0.0
    return shared[0] * shared[1] / (areas[0] + areas[1] - shared[0] * shared[1])


def corners(box, centred):
    if centred:
        x, y, width, height = box
        return x - width / 2, y - height / 2, x + width / 2, y + height / 2
    y1, x1, y2, x2 = box
    return np.minimum(x1, x2), np.minimum(y1, y2), np.maximum(x1, x2), np.maximum(y1, y2)
