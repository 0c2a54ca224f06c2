"""Rotary embeddings: pairs of a head's elements, turned by an angle that the position gives."""
from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..dims import Fact
from ..kernels.step import Later
from ..registry import op
from ..types import tensors
from .attention import by_head, heads_of, joined, wide
from .shapes import shape_of
from .standardize import fill


def _turned(x: Fact, cos: Fact, sin: Fact, positions: Fact | None = None, *, num_heads: int | None, rotary_embedding_dim: int,
            **_: Any) -> list[Any]:
    batch, _heads, rows, size = heads_of(shape_of(x), num_heads, "X")
    if rotary_embedding_dim < 0 or rotary_embedding_dim % 2 or isinstance(size, int) and (rotary_embedding_dim or size) > size:
        raise ValueError(f"{rotary_embedding_dim} elements cannot turn in pairs in a head of {size}")
    half = (rotary_embedding_dim or size) // 2
    due = (None, half) if positions is not None else (batch, rows, half)
    for f in (cos, sin):
        if len(shape_of(f)) != len(due) or any(isinstance(a, int) and isinstance(b, int) and a != b
                                               for a, b in zip(shape_of(f), due, strict=True)):
            raise ValueError(f"a cache of {f.shape} for {half} pairs" + (" by position" if positions else f", {batch} x {rows}"))
    return [x.shape]


def turned(x: np.ndarray, cos: np.ndarray, sin: np.ndarray, interleaved: bool) -> np.ndarray:
    """Heads (batch, heads, rows, size) with the first 2n elements of each turned: cos and sin are (batch, rows, n)."""
    n = cos.shape[-1]
    first, second = (slice(0, 2 * n, 2), slice(1, 2 * n, 2)) if interleaved else (slice(0, n), slice(n, 2 * n))
    cos, sin = cos[:, None], sin[:, None]
    made = x.copy()
    made[..., first] = cos * x[..., first] - sin * x[..., second]
    made[..., second] = sin * x[..., first] + cos * x[..., second]
    return made


def rows_at(cache: np.ndarray, positions: np.ndarray | None) -> np.ndarray:
    """The rows of a cache for positions, which must lie in it."""
    if positions is None:
        return cache
    if positions.size and not 0 <= positions.min() <= positions.max() < len(cache):
        raise ValueError(f"positions {positions.min()} to {positions.max()} are outside of a cache of {len(cache)}")
    return cache[positions]


@op("RotaryEmbedding", 23, 23, shape=_turned, types=tensors("float", "float16", "bfloat16"))
def rotary_embedding(X, cos_cache, sin_cache, position_ids=None, *, num_heads, rotary_embedding_dim, interleaved, out):
    """Pairs (a, b) of each head become (a cos - b sin, a sin + b cos): halves of the head, or neighbours where interleaved."""
    return Later(partial(_turn, num_heads, bool(interleaved)), X, cos_cache, sin_cache, position_ids, out)


def _turn(heads: int | None, interleaved: bool, x: np.ndarray, cos: np.ndarray, sin: np.ndarray, positions: np.ndarray | None,
          out: np.ndarray) -> None:
    at, of_cos, of_sin = wide(by_head(x, heads), rows_at(cos, positions), rows_at(sin, positions))
    fill(out, joined(turned(at, of_cos, of_sin, interleaved), x.ndim))
