"""Numbers in, numbers out: ArrayFeatureExtractor, Binarizer, FeatureVectorizer, Imputer, Normalizer, Scaler."""
from __future__ import annotations

from typing import Any

import numpy as np

from ...dims import Fact
from ...registry import op
from ..once import once
from ..shapes import same, shape_of
from .classes import one_of, rows

DOMAIN = "ai.onnx.ml"


def _extracted(x: Fact, y: Fact) -> list[Any]:
    shape, picked = shape_of(x), shape_of(y)
    if not shape:
        raise ValueError("a number alone has no features")
    count: Any = 1
    for n in picked:
        count = count * n
    return [(*(shape[:-1] or (1,)), count)]


@op("ArrayFeatureExtractor", 1, 1, domain=DOMAIN, shape=_extracted)
def array_feature_extractor(x, y):
    """The features at some indices of the last axis; of one row alone, a row.

    The official test follows onnxruntime in that: the text does not say that an axis comes before those of a row alone.
    """
    picked = y.ravel()
    if picked.size and not 0 <= picked.min() <= picked.max() < x.shape[-1]:
        raise ValueError(f"indices go from {picked.min()} to {picked.max()}, there are {x.shape[-1]} features")
    return np.atleast_2d(x)[..., picked]


@op("Binarizer", 1, 1, domain=DOMAIN, shape=same)
def binarizer(x, *, threshold):
    """1 for what is greater than the threshold, else 0."""
    return (x > np.float32(threshold)).astype(x.dtype)


def _joined(*xs: Fact, inputdimensions: Any = None) -> list[Any]:
    widths = inputdimensions or [shape_of(x)[-1] for x in xs]
    total: Any = 0
    for w in widths:
        total = total + w
    return [(rows(xs[0]), total)]


@op("FeatureVectorizer", 1, 1, domain=DOMAIN, shape=_joined)
def feature_vectorizer(*x, inputdimensions):
    """The features of all inputs side by side; each is cut, or filled with zeros, to the size that is said of it.

    The text only names the sizes: that they cut and fill is onnxruntime's reading, and onnx.reference's.
    """
    tables = [np.atleast_2d(a) for a in x]
    widths = inputdimensions or [a.shape[1] for a in tables]
    if len(widths) != len(tables) or min(widths) < 0 or any(a.ndim != 2 or len(a) != len(tables[0]) for a in tables):
        raise ValueError(f"inputdimensions {list(widths)} for inputs of shapes {', '.join(str(a.shape) for a in x)}")
    y = np.zeros((len(tables[0]), sum(widths)), np.float32)
    start = 0
    for a, w in zip(tables, widths, strict=True):
        y[:, start:start + min(w, a.shape[1])] = a[:, :w]
        start += w
    return y


@once
def vector(given: Any) -> np.ndarray:
    """Floats of an attribute, as an array."""
    return np.array(given, np.float32)


@op("Imputer", 1, 1, domain=DOMAIN, shape=same)
def imputer(x, *, imputed_value_floats, imputed_value_int64s, replaced_value_float, replaced_value_int64):
    """One value, which may be NaN, is replaced by another, the same for all features or one for each."""
    real = x.dtype.kind == "f"
    values = one_of("imputed_value_*", imputed_value_floats, imputed_value_int64s)
    if (values is imputed_value_floats) != real:
        raise ValueError(f"imputed_value_{'floats' if real else 'int64s'} is due for {x.dtype}")
    if len(values) not in (1, x.shape[-1] if x.ndim else 1):
        raise ValueError(f"{len(values)} imputed values for rows of {x.shape[-1] if x.ndim else 1} features")
    due = vector(values).astype(x.dtype) if real else np.array(values).astype(x.dtype)
    if not real and due.tolist() != list(values):
        raise ValueError(f"the imputed values do not fit {x.dtype}")
    due = due if len(due) > 1 else due[0]
    old = replaced_value_float if real else replaced_value_int64
    return np.where(np.isnan(x) if real and np.isnan(old) else x == (np.float32(old) if real else old), due, x)


@op("Normalizer", 1, 1, domain=DOMAIN, shape=same)
def normalizer(x, *, norm):
    """Every row over its largest number, the sum of its magnitudes, or the root of the sum of its squares; rows of 0 stay.

    The text sums the numbers themselves for L1, and loses signs for L2; onnxruntime, onnx.reference and scikit-learn do not.
    """
    rows(Fact("", x.shape))
    x = x.astype(np.float32 if x.dtype == np.float32 else np.float64, copy=False)
    if norm == "MAX":
        size = np.max(x, -1, keepdims=True, initial=-np.inf)
    elif norm == "L1":
        size = np.abs(x).sum(-1, keepdims=True)
    elif norm == "L2":
        size = np.sqrt(np.square(x, dtype=np.float64).sum(-1, keepdims=True))
    else:
        raise ValueError(f"norm is {norm}; it is one of MAX, L1, L2")
    size[size == 0] = 1
    return (x / size).astype(np.float32)


@op("Scaler", 1, 1, domain=DOMAIN, shape=same)
def scaler(x, *, offset, scale):
    """Less the offset, times the scale: one for all features, or one for each."""
    features = x.shape[-1] if x.ndim else 1
    for given in (offset, scale):
        if len(given or ()) not in (1, features) or len(offset) != len(scale):
            raise ValueError(f"{len(offset or ())} offsets and {len(scale or ())} factors for rows of {features} features")
    y = np.subtract(x, vector(offset), dtype=np.float32 if x.dtype == np.float32 else np.float64)
    y *= vector(scale)
    return y.astype(np.float32, copy=False)
