"""Matrices: triangles, the identity, determinants."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..dims import Fact
from ..registry import op
from ..types import DTYPE, FLOATS, INTEGERS, OF_CODE, tensors
from .shapes import same, shape_of


def _matrices(x: Fact) -> tuple[Any, ...]:
    """The shape of one matrix or of batches of them."""
    shape = shape_of(x)
    if len(shape) < 2:
        raise ValueError(f"a matrix has two axes, {shape} has not")
    return shape


def _determined(x: Fact) -> list[Any]:
    *batch, m, n = _matrices(x)
    if isinstance(m, int) and isinstance(n, int) and m != n:
        raise ValueError(f"the determinant of {m} x {n} matrices")
    return [tuple(batch)]


@op("Det", 11, 22, shape=_determined)
def det(X):
    """The determinant of a square matrix, or of each of a batch, computed in double; NaN where an element is."""
    wide = X.astype("f8")
    with np.errstate(all="ignore"):
        return np.where(np.isnan(wide).any((-2, -1)), np.nan, np.linalg.det(wide)).astype(X.dtype)


EYES = FLOATS | INTEGERS | tensors("bool")


def _alike(x: Fact, *, dtype: int | None, k: int) -> list[Any]:
    kind = x.type if dtype is None else OF_CODE.get(dtype, f"type {dtype}")
    if kind not in EYES:
        raise ValueError(f"EyeLike does not make {kind}")
    if len(shape_of(x)) != 2:
        raise ValueError(f"EyeLike takes a matrix, not {x.shape}")
    return [Fact(kind, x.shape)]


@op("EyeLike", 9, 22, shape=_alike)
def eye_like(input, *, dtype, k):
    """Ones on the k-th diagonal above the main one, zeros elsewhere, in the shape of a matrix."""
    rows, columns = input.shape
    kind = input.dtype if dtype is None else DTYPE[OF_CODE[dtype]]
    return np.eye(rows, columns, min(max(k, -rows), columns), kind)


@op("Trilu", 14, 14, shape=lambda x, k=None, *, upper: same(x) if _matrices(x) else [])
def trilu(input, k=None, *, upper):
    """The elements of matrices on and above the k-th diagonal, or on and below it; zeros, or empty strings, elsewhere."""
    if k is not None and np.size(k) != 1:
        raise ValueError(f"k is one number, not {np.asarray(k).tolist()}")
    diagonal = 0 if k is None else int(np.ravel(k)[0])
    above = np.arange(input.shape[-1]) - np.arange(input.shape[-2])[:, None]
    nothing = np.array("", object) if input.dtype.hasobject else np.zeros((), input.dtype)
    return np.where(above >= diagonal if upper else above <= diagonal, input, nothing)
