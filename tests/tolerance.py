"""How far a result may lie from the float64 one: stated once, by element type.

Two things part them. The result is rounded to its type: half a unit in the last place, or a whole one where the value
before it was itself rounded (a float16 result by way of float32). And the arithmetic rounds at every step: in float32,
or in float64 for double. A sum of thousands of terms in lanes of eight, or a power whose error the exponent multiplies,
stays below 64 units. They are units at the scale of the terms: where terms cancel, the result shrinks, not the error.
"""

import ml_dtypes
import numpy as np

STEPS = 64


def rounding(dtype):
    """The distance of two neighbours at 1: what rounding to `dtype` may cost a value of 1."""
    return 0.0 if np.dtype(dtype).kind in "iu" else float(ml_dtypes.finfo(dtype).eps)


def arithmetic(dtype):
    """What calculating may cost a result with terms of size 1."""
    if np.dtype(dtype).kind in "iu":
        return 0.0
    return STEPS * rounding(np.float64 if dtype == np.float64 else np.float32)


def assert_close(actual, expected, scale=None):
    """The same shape, type, NaN and infinities; finite values as near as the type allows for terms of size `scale`.

    Without a scale nothing was calculated, only chosen: the values must be equal.
    """
    assert actual.dtype == expected.dtype, f"{actual.dtype}, expected {expected.dtype}"
    assert actual.shape == expected.shape, f"{actual.shape}, expected {expected.shape}"
    dtype, actual, expected = expected.dtype, actual.astype(np.float64), expected.astype(np.float64)
    if scale is None:
        np.testing.assert_array_equal(actual, expected)
    else:
        np.testing.assert_allclose(actual, expected, rounding(dtype), arithmetic(dtype) * scale, equal_nan=True)


def size_of_terms(*arrays):
    """The largest finite magnitude, the scale that errors are measured by."""
    values = np.concatenate([np.abs(a.astype(np.float64)).ravel() for a in arrays] + [np.zeros(1)])
    return float(values[np.isfinite(values)].max())
