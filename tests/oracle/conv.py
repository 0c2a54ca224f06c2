"""Transposed and causal convolution, and columns put back, from their texts: one product after another."""

import math

import numpy as np


def conv(x, w, b=None, *, group=1, dilations=None, pads=None, strides=None):
    """A product for each tap of the kernel over shifted, strided slices of the padded input, in float64."""
    axes = x.ndim - 2
    dilations, strides, pads = dilations or [1] * axes, strides or [1] * axes, pads or [0] * 2 * axes
    padded = np.pad(x.astype(np.float64), [(0, 0), (0, 0), *((pads[a], pads[axes + a]) for a in range(axes))])
    out = [(n - (k - 1) * d - 1) // s + 1 for n, k, d, s in zip(padded.shape[2:], w.shape[2:], dilations, strides, strict=True)]
    each, made = x.shape[1] // group, len(w) // group
    y = np.zeros((len(x), len(w), *out))
    for tap in np.ndindex(*w.shape[2:]):
        at = tuple(slice(t * d, t * d + s * (n - 1) + 1, s) for t, d, s, n in zip(tap, dilations, strides, out, strict=True))
        for m in range(len(w)):
            first = m // made * each
            weights = w[(m, slice(None), *tap)].astype(np.float64).reshape(-1, *(1,) * axes)
            y[:, m] += (padded[(slice(None), slice(first, first + each), *at)] * weights).sum(1)
    return y if b is None else y + b.astype(np.float64).reshape(-1, *(1,) * axes)


def conv_transpose(x, w, b=None, *, group=1, auto_pad="NOTSET", dilations=None, output_padding=None, output_shape=None,
                   pads=None, strides=None, kernel_shape=None):
    """Every element of x times the kernel, added where it lies, in float64."""
    axes = x.ndim - 2
    strides, dilations, more = strides or [1] * axes, dilations or [1] * axes, output_padding or [0] * axes
    before, out = [], []
    for i, (n, k) in enumerate(zip(x.shape[2:], w.shape[2:], strict=True)):
        whole = strides[i] * (n - 1) + more[i] + (k - 1) * dilations[i] + 1
        if output_shape is None and not auto_pad.startswith("SAME"):
            start, end = (pads[i], pads[axes + i]) if pads and auto_pad == "NOTSET" else (0, 0)
        else:
            total = whole - (output_shape[i] if output_shape else n * strides[i])
            half = max(total, 0) // 2  # padding is never less than nothing; what is missing follows
            start = half if auto_pad == "SAME_UPPER" else max(total, 0) - half
            end = total - start
        before.append(start)
        out.append(whole - start - end)
    x, w = x.astype(np.float64), w.astype(np.float64)
    y = np.zeros((len(x), w.shape[1] * group, *out))
    each = x.shape[1] // group
    for n, c in np.ndindex(*x.shape[:2]):
        channels = slice(c // each * w.shape[1], (c // each + 1) * w.shape[1])
        for spot in np.ndindex(*x.shape[2:]):
            for tap in np.ndindex(*w.shape[2:]):
                at = [spot[a] * strides[a] + tap[a] * dilations[a] - before[a] for a in range(axes)]
                if all(0 <= p < size for p, size in zip(at, out, strict=True)):
                    y[(n, channels, *at)] += x[(n, c, *spot)] * w[(c, slice(None), *tap)]
    return y if b is None else y + b.astype(np.float64).reshape(-1, *(1,) * axes)


def col2im(columns, image_shape, block_shape, *, dilations=None, pads=None, strides=None):
    """Every element of a column at its place in the image; exact for whole numbers."""
    axes = len(image_shape)
    strides, dilations, pads = strides or [1] * axes, dilations or [1] * axes, pads or [0] * 2 * axes
    blocks = [(image_shape[a] + pads[a] + pads[axes + a] - dilations[a] * (block_shape[a] - 1) - 1) // strides[a] + 1
              for a in range(axes)]
    taps = math.prod(block_shape)
    kind = columns.dtype if columns.dtype.kind in "iubcO" else np.float64
    y = np.full((len(columns), columns.shape[1] // taps, *image_shape), "" if columns.dtype.hasobject else 0, kind)
    for n, row in np.ndindex(*columns.shape[:2]):
        tap = np.unravel_index(row % taps, block_shape)
        for number, block in enumerate(np.ndindex(*blocks)):
            at = [block[a] * strides[a] + tap[a] * dilations[a] - pads[a] for a in range(axes)]
            if all(0 <= p < size for p, size in zip(at, image_shape, strict=True)):
                y[(n, row // taps, *at)] += columns[n, row, number]
    return y


def causal_conv_with_state(x, w, bias=None, past=None, *, activation="none"):
    """The result and the state in float64."""
    taps = w.shape[2]
    past = np.zeros((*x.shape[:2], taps - 1)) if past is None else past
    row = np.concatenate([past.astype(np.float64), x.astype(np.float64)], 2)
    y = np.zeros(x.shape)
    for i in range(x.shape[2]):
        y[:, :, i] = (row[:, :, i:i + taps] * w[:, 0].astype(np.float64)).sum(2)
    if bias is not None:
        y += bias.astype(np.float64)[:, None]
    return (y if activation == "none" else y / (1 + np.exp(-y))), row[:, :, x.shape[2]:]
