"""Numbers in, numbers out: ArrayFeatureExtractor, Binarizer, FeatureVectorizer, Imputer, Normalizer, Scaler."""
from __future__ import annotations

from typing import Any

import numpy as np

from ...dims import Fact
from ...kernels import features
from ...kernels.program import Cell
from ...kernels.strings import taken
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


@op("ArrayFeatureExtractor", 1, 1, domain=DOMAIN, shape=_extracted, cells=True)
def array_feature_extractor(x, y, *, out):
    """The features at some indices of the last axis; of one row alone, a row.

    The official test follows onnxruntime in that: the text does not say that an axis comes before those of a row alone.
    """
    return taken(x, y, -1, out, rows=True) if isinstance(x, Cell) else features.picked(x, y, out)


@op("Binarizer", 1, 1, domain=DOMAIN, shape=same)
def binarizer(x, *, threshold, out):
    """1 for what is greater than the threshold, else 0."""
    return features.binary(x, np.float32(threshold), out)


def _joined(*xs: Fact, inputdimensions: Any = None) -> list[Any]:
    widths = inputdimensions or [shape_of(x)[-1] for x in xs]
    total: Any = 0
    for w in widths:
        total = total + w
    return [(rows(xs[0]), total)]


@op("FeatureVectorizer", 1, 1, domain=DOMAIN, shape=_joined)
def feature_vectorizer(*x, inputdimensions, out):
    """The features of all inputs side by side; each is cut, or filled with zeros, to the size that is said of it.

    The text only names the sizes: that they cut and fill is onnxruntime's reading, and onnx.reference's.
    """
    return features.joined(x, inputdimensions or [a.shape[-1] for a in x], out)


@once
def vector(given: Any) -> np.ndarray:
    """Floats of an attribute, as an array."""
    return np.array(given, np.float32)


@op("Imputer", 1, 1, domain=DOMAIN, shape=same)
def imputer(x, *, imputed_value_floats, imputed_value_int64s, replaced_value_float, replaced_value_int64, out):
    """One value, which may be NaN, is replaced by another, the same for all features or one for each."""
    real = x.dtype.kind == "f"
    values = one_of("imputed_value_*", imputed_value_floats, imputed_value_int64s)
    if (values is imputed_value_floats) != real:
        raise ValueError(f"imputed_value_{'floats' if real else 'int64s'} is due for {x.dtype}")
    due = vector(values).astype(x.dtype) if real else np.array(values).astype(x.dtype)
    if not real and due.tolist() != list(values):
        raise ValueError(f"the imputed values do not fit {x.dtype}")
    return features.imputed(x, replaced_value_float if real else replaced_value_int64, due, out)


@op("Normalizer", 1, 1, domain=DOMAIN, shape=same)
def normalizer(x, *, norm, out):
    """Every row over its largest number, the sum of its magnitudes, or the root of the sum of its squares; rows of 0 stay.

    The text sums the numbers themselves for L1, and loses signs for L2; onnxruntime, onnx.reference and scikit-learn do not.
    """
    rows(Fact("", x.shape))
    return features.normalised(x, norm, out)


@op("Scaler", 1, 1, domain=DOMAIN, shape=same)
def scaler(x, *, offset, scale, out):
    """Less the offset, times the scale: one for all features, or one for each."""
    if len(offset or ()) != len(scale or ()):
        raise ValueError(f"{len(offset or ())} offsets and {len(scale or ())} factors")
    return features.scaled(x, vector(offset), vector(scale), out)
