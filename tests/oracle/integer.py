"""Products of quantised numbers by their definitions, in 64 bits."""
import numpy as np


def wide(x):
    return np.int64(0) if x is None else x.astype(np.int64)


def sums(a, b, a_zero=None, b_zero=None):
    """The exact product, cut to 32 bits."""
    return np.matmul(wide(a) - wide(a_zero), wide(b) - wide(b_zero)).astype(np.int32)


def quantised(x, zero, dtype):
    """The nearest whole number, half to even, plus a zero point, in the range of a type."""
    ends = np.iinfo(dtype)
    return np.clip(np.rint(x) + zero, ends.min, ends.max).astype(dtype)


def patched(x, w, group, strides, dilations, before, out):
    """A convolution by its definition, in 64 bits; x and w are without zero points."""
    y = np.zeros((x.shape[0], w.shape[0], *out), np.int64)
    each, per = x.shape[1] // group, w.shape[0] // group
    for place in np.ndindex(*out):
        for tap in np.ndindex(*w.shape[2:]):
            at = tuple(p * s - b + t * d for p, s, b, t, d in zip(place, strides, before, tap, dilations, strict=True))
            if all(0 <= i < n for i, n in zip(at, x.shape[2:], strict=True)):
                for g in range(group):
                    seen, mine = x[(slice(None), slice(g * each, (g + 1) * each), *at)], slice(g * per, (g + 1) * per)
                    y[(slice(None), mine, *place)] += seen @ w[(mine, slice(None), *tap)].T
    return y
