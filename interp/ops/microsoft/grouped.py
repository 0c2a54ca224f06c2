"""Attention of groups of query heads over a cache that grows in place, and rotary embeddings by position, of com.microsoft."""
from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ...dims import Fact, Size, larger
from ...kernels import rotary
from ...kernels.step import Later
from ...registry import op
from ...types import tensors
from ..attention import joined, repeated
from ..shapes import shape_of
from ..standardize import fill
from .activation import MICROSOFT
from .attention import FLOATING, attended, heads_in, refuse

ROTARY = "input: T, position_ids: M, cos_cache: T, sin_cache: T -> output: T"


def _rotated(x: Fact, positions: Fact, cos: Fact, sin: Fact, *, num_heads: int, rotary_embedding_dim: int, **_: Any) -> list[Any]:
    shape = shape_of(x)
    if len(shape) not in (3, 4) or len(shape_of(cos)) != 2 or len(shape_of(sin)) != 2:
        raise ValueError(f"an input of {shape} and caches of {cos.shape} and {sin.shape}; 3 or 4, and 2 dimensions are due")
    if rotary_embedding_dim and len(shape) == 3 and num_heads < 1:
        raise ValueError("rotary_embedding_dim needs num_heads")
    half = shape_of(cos)[1]
    if rotary_embedding_dim and isinstance(half, int) and rotary_embedding_dim != 2 * half:
        raise ValueError(f"rotary_embedding_dim {rotary_embedding_dim} is not twice the {half} columns of the caches")
    return [shape]


@op("RotaryEmbedding", domain=MICROSOFT, signature=ROTARY, types={"T": FLOATING, "M": tensors("int64")}, shape=_rotated)
def rotary_embedding(input, position_ids, cos_cache, sin_cache, *, num_heads=0, rotary_embedding_dim=0, interleaved=0, scale=1.0,
                     is_packed_batching=0, out):
    """The standard's RotaryEmbedding; a single position is that of the first token of every row."""
    refuse({"is_packed_batching": is_packed_batching, "scale": scale - 1})
    how = partial(_rotate, num_heads, rotary_embedding_dim, bool(interleaved))
    return Later(how, input, position_ids, cos_cache, sin_cache, out)


def _rotate(heads: int, dim: int, interleaved: bool, x: np.ndarray, positions: np.ndarray, cos: np.ndarray, sin: np.ndarray,
            out: np.ndarray) -> None:
    heads = heads if x.ndim == 4 or heads and dim else x.shape[2] // max(2 * cos.shape[1], 1)
    at = x if x.ndim == 4 else heads_in(x, heads)
    if positions.size == 1:
        positions = np.broadcast_to(positions.reshape(1, 1) + np.arange(at.shape[2]), (at.shape[0], at.shape[2]))
    fill(out, joined(rotated(at, cos, sin, positions, interleaved), x.ndim))


def rotated(x: np.ndarray, cos: np.ndarray, sin: np.ndarray, positions: np.ndarray, interleaved: bool) -> np.ndarray:
    """Heads, turned by the angles of their positions."""
    y = np.empty_like(x)
    rotary.rotary(x, cos, sin, np.ascontiguousarray(positions, np.int64), y, None, interleaved)()
    return y


GROUPED = ("query: T, key?: T, value?: T, past_key?: T, past_value?: T, seqlens_k: M, total_sequence_length: M, cos_cache?: T, "
           "sin_cache?: T, position_ids?: tensor(int64), attention_bias?: T, head_sink?: T, k_scale?: tensor(float), "
           "v_scale?: tensor(float), q_norm_weight?: T, k_norm_weight?: T, query_seqlens?: M "
           "-> output: T, present_key?: T, present_value?: T, output_qk?: T")


def _grouped(query: Fact, key: Fact | None, value: Fact | None, past_key: Fact | None, past_value: Fact | None, seqlens: Fact,
             total: Fact, *_: Fact | None, num_heads: int, kv_num_heads: int, **__: Any) -> list[Any]:
    if len(shape_of(query)) != 3 or num_heads < 1 or kv_num_heads < 1 or num_heads % kv_num_heads:
        raise ValueError(f"queries of {query.shape}, {num_heads} heads over {kv_num_heads}")
    if (key is None) != (value is None) or (past_key is None) != (past_value is None):
        raise ValueError("keys and values come together, and so do their caches")
    batch, rows, width = shape_of(query)
    size = width // (num_heads + 2 * kv_num_heads if key is None else num_heads)
    known = None if total.sizes is None else total.sizes[0]
    past: Size = 0 if past_key is None else shape_of(past_key)[2]
    present = None if known is None else (batch, kv_num_heads, larger(past, known), size)
    return [(batch, rows, num_heads * size), present, present, None]


@op("GroupQueryAttention", domain=MICROSOFT, signature=GROUPED, types={"T": FLOATING, "M": tensors("int32")}, shape=_grouped,
    known=("total_sequence_length",))
def group_query_attention(query, key, value, past_key, past_value, seqlens_k, total_sequence_length, cos_cache=None,
                          sin_cache=None, position_ids=None, attention_bias=None, head_sink=None, k_scale=None, v_scale=None,
                          q_norm_weight=None, k_norm_weight=None, query_seqlens=None, *, num_heads, kv_num_heads, scale=None,
                          softcap=0.0, local_window_size=-1, do_rotary=0, rotary_interleaved=0, smooth_softmax=0, qk_output=0,
                          causal=1, k_quant_type="NONE", v_quant_type="NONE", kv_cache_bit_width=0, sliding_window_cache=0,
                          qk_norm_epsilon=None, q_norm_epsilon=None, k_norm_epsilon=None):
    """Causal attention of new tokens to a cache and themselves: seqlens_k has, less one, the keys of each batch item."""
    refuse({"qk_output": qk_output, "kv_cache_bit_width": kv_cache_bit_width, "sliding_window_cache": sliding_window_cache,
            "causal": causal - 1, "a quantized cache": int((k_quant_type, v_quant_type) != ("NONE", "NONE")),
            "an input for it": sum(x is not None for x in (k_scale, v_scale, q_norm_weight, k_norm_weight, query_seqlens))})
    total = int(np.ravel(total_sequence_length)[0])
    batch, rows, _ = query.shape
    q, k, v = _parted(query, key, value, num_heads, kv_num_heads)
    lengths = np.ravel(seqlens_k).astype(np.int64) + 1
    before = np.zeros(batch, np.int64) if rows == total else lengths - rows
    room = max(total, 0 if past_key is None else past_key.shape[2])
    if len(lengths) != batch or lengths.size and (lengths.max() > room or before.min() < 0 or lengths.min() < 1):
        raise ValueError(f"seqlens_k {np.ravel(seqlens_k)} do not fit {batch} x {rows} queries and {room} keys")
    if do_rotary:
        if cos_cache is None or sin_cache is None:
            raise ValueError("do_rotary needs cos_cache and sin_cache")
        at = before[:, None] + np.arange(rows) if position_ids is None else position_ids
        q, k = (rotated(x, cos_cache, sin_cache, at, bool(rotary_interleaved)) for x in (q, k))
    keys, values = (_grown(p, x, before, room) for p, x in ((past_key, k), (past_value, v)))
    bias = None
    if attention_bias is not None:
        bias = np.zeros((*attention_bias.shape[:3], room), np.float32)
        bias[..., :attention_bias.shape[3]] = attention_bias[..., :room]
    left = local_window_size - 1 if local_window_size > 0 else -1
    if head_sink is None and not smooth_softmax:
        y = attended(q, keys, values, bias, scale=scale, causal=True, past=before, cap=softcap, left=left)
    else:
        sink = np.zeros(num_heads, np.float32) if head_sink is None else head_sink.astype(np.float32)
        y = _sunk(q, keys, values, bias, sink, scale, softcap, before, left)
    return joined(y, 3).astype(query.dtype), keys, values, None


def _parted(query: np.ndarray, key: np.ndarray | None, value: np.ndarray | None, heads: int, kv_heads: int) -> list[np.ndarray]:
    """Queries, keys and values by heads; they may lie side by side."""
    if key is None or value is None:
        size = query.shape[2] // (heads + 2 * kv_heads)
        query, key, value = np.split(query, [heads * size, (heads + kv_heads) * size], 2)
    return [heads_in(x, n) for x, n in ((query, heads), (key, kv_heads), (value, kv_heads))]


def _grown(past: np.ndarray | None, new: np.ndarray, before: np.ndarray, room: int) -> np.ndarray:
    """A cache with what is new behind the keys that each batch item has."""
    made = np.zeros((*new.shape[:2], room, new.shape[3]), new.dtype)
    if past is not None:
        made[:, :, :past.shape[2]] = past
    for item, at in enumerate(before):
        n = min(new.shape[2], room - at)
        made[item, :, at:at + n] = new[item, :, :n]
    return made


def _sunk(q: np.ndarray, k: np.ndarray, v: np.ndarray, bias: np.ndarray | None, sink: np.ndarray, scale: float | None, cap: float,
          before: np.ndarray, left: int) -> np.ndarray:
    """Attention with one more key for each head, which has a score and no value."""
    wide = [x.astype(np.float32) for x in (q, k, v)]
    keys, values = (repeated(x, q.shape[1]) for x in wide[1:])
    scores = wide[0] @ keys.swapaxes(2, 3) * np.float32(scale or 1 / np.sqrt(q.shape[3]))
    scores = cap * np.tanh(scores / cap) if cap else scores
    scores = scores if bias is None else scores + bias
    at, key = before.reshape(-1, 1, 1, 1) + np.arange(q.shape[2]).reshape(-1, 1), np.arange(k.shape[2])
    hidden = key > at if left < 0 else (key > at) | (key < at - left)
    scores = np.where(hidden, -np.inf, scores)
    sink = np.broadcast_to(sink.reshape(1, -1, 1, 1), (*scores.shape[:3], 1))
    most = np.maximum(scores.max(-1, keepdims=True), sink)
    powers = np.exp(scores - most)
    return powers / (powers.sum(-1, keepdims=True) + np.exp(sink - most)) @ values
