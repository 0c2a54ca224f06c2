"""Rotary embeddings: pairs of a head's elements, turned by an angle that the position gives."""
from __future__ import annotations

from typing import Any

from ..dims import Fact
from ..kernels import rotary
from ..registry import op
from ..types import tensors
from .attention import heads_of
from .shapes import shape_of


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


@op("RotaryEmbedding", 23, 23, shape=_turned, types=tensors("float", "float16", "bfloat16"))
def rotary_embedding(X, cos_cache, sin_cache, position_ids=None, *, num_heads, rotary_embedding_dim, interleaved, out):
    """Pairs (a, b) of each head become (a cos - b sin, a sin + b cos): halves of the head, or neighbours where interleaved."""
    return rotary.rotary(X, cos_cache, sin_cache, position_ids, out, num_heads, bool(interleaved))
