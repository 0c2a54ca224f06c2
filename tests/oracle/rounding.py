"""One rounding, from float64 to the type of a tensor."""

import ml_dtypes
import numpy as np


def rounded(values, dtype):
    """Float64 values in `dtype`, rounded once, to nearest and ties to even."""
    values = np.asarray(values, np.float64)
    with np.errstate(over="ignore"):
        if dtype == ml_dtypes.bfloat16:
            return to_odd(values).astype(dtype)
        return values.astype(dtype)


def to_odd(values):
    """Float64 values in float32, an inexact one with an odd last bit.

    ml_dtypes reaches bfloat16 by way of float32, which rounds twice: a value just above a tie becomes the tie, and then
    falls the wrong way. The odd bit remembers on which side the value was.
    """
    near = values.astype(np.float32)
    lost = np.isfinite(near) & (near.astype(np.float64) != values)
    even = lost & (near.view(np.uint32) % 2 == 0)
    away = np.where(np.abs(near.astype(np.float64)) < np.abs(values), np.inf, 0)
    return np.where(even, np.nextafter(near, np.copysign(away, values).astype(np.float32)), near)
