"""Attention of com.microsoft: with its projections inside, of floats or of bytes, or of queries, keys and values apart."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...dims import Fact, Size
from ...kernels import attention as kernel
from ...kernels import gemm
from ...kernels.step import Later
from ...registry import op
from ...types import tensors
from ..attention import joined
from ..shapes import shape_of
from ..standardize import fill
from .activation import MICROSOFT

FLOATING = tensors("float", "float16", "bfloat16")


def refuse(given: dict[str, Any]) -> None:
    """Refuse what onnxruntime's CPU kernels do not serve either."""
    for name, value in given.items():
        if value is not None and value != 0:
            raise ValueError(f"{name} is not supported")


def heads_in(x: np.ndarray, heads: int) -> np.ndarray:
    """(batch, rows, heads * size) as (batch, heads, rows, size), with nothing between."""
    return np.ascontiguousarray(x.reshape(*x.shape[:2], heads, x.shape[2] // heads).swapaxes(1, 2))


def attended(q: np.ndarray, k: np.ndarray, v: np.ndarray, bias: np.ndarray | None, *, scale: float | None, causal: bool = False,
             past: np.ndarray | int = 0, **settings: Any) -> np.ndarray:
    """softmax(q k^T scale + bias) v, of arrays of one type with four axes; ``past`` keys stand before the first query."""
    y = np.empty((*q.shape[:3], v.shape[3]), q.dtype)
    valid = None
    if causal:  # the last query stands at the last key that counts
        settings["right"], valid = 0, np.broadcast_to(np.asarray(past, np.int64) + q.shape[2], q.shape[0]).copy()
    factor = 1 / np.sqrt(max(q.shape[3], 1)) if not scale else scale
    mask = None if bias is None else np.ascontiguousarray(bias)
    q, k, v = map(np.ascontiguousarray, (q, k, v))
    kernel.attention(q, k, v, y, mask=mask, valid=valid, scale=factor, **settings)()
    return y


def bias_of(mask: np.ndarray | None, more: np.ndarray | None, batch: int, rows: int, total: int, hidden: float) -> Any:
    """What is added to the scores: ``hidden`` where a mask says so, and a bias of its own.

    A mask of two or three axes has a number for each key, above 0 where it counts; one of one axis has the number of keys of
    each batch item, and may go on with the first key of each.
    """
    if mask is None:
        return None if more is None else more.astype(np.float32)
    keys = np.arange(total)
    if mask.ndim == 1:
        off = keys >= mask[:batch, None]
        if len(mask) == 2 * batch:
            off = off | (keys < mask[batch:, None])
    else:
        off = mask <= 0
    made = np.where(off, np.float32(hidden), np.float32(0)).reshape(batch, 1, -1, total)
    return made if more is None else made + more.astype(np.float32)


def masks(mask: Fact | None, batch: Size, rows: Size, total: Size) -> None:
    """Refuse a mask of a shape that is not served."""
    if mask is None:
        return
    shape = shape_of(mask)
    served: list[tuple[Size, ...]] = [(batch,), (2 * batch,), (batch, total), (batch, rows, total)]
    if not any(len(due) == len(shape) and all(a == b for a, b in zip(shape, due, strict=True)
                                              if isinstance(a, int) and isinstance(b, int)) for due in served):
        raise ValueError(f"a mask of {shape} for {batch} x {rows} queries and {total} keys is not supported")


# Projections inside

ATTENTION = ("input: T, weights: T, bias?: T, mask_index?: M, past?: T, attention_bias?: T, past_sequence_length?: M "
             "-> output: T, present?: T")


def _split(width: Size, hidden: Sequence[int] | None, heads: int) -> tuple[Size, ...]:
    sizes: tuple[Size, ...] = tuple(hidden) if hidden else (width // 3,) * 3
    if len(sizes) != 3 or heads < 1 or any(isinstance(n, int) and n % heads for n in sizes):
        raise ValueError(f"{heads} heads cannot share queries, keys and values of {sizes} numbers")
    if hidden and isinstance(width, int) and sum(hidden) != width or hidden and hidden[0] != hidden[1]:
        raise ValueError(f"qkv_hidden_sizes {sizes} do not make up the {width} columns of the weights")
    return sizes


def _projected(x: Fact, weights: Fact, bias: Fact | None = None, mask: Fact | None = None, past: Fact | None = None,
               *_: Fact | None, num_heads: int, qkv_hidden_sizes: Sequence[int] | None = None, **__: Any) -> list[Any]:
    if len(shape_of(x)) != 3 or len(shape_of(weights)) != 2:
        raise ValueError(f"an input of {x.shape} and weights of {weights.shape}; 3 and 2 dimensions are due")
    batch, rows, _size = shape_of(x)
    _q, k, v = _split(shape_of(weights)[1], qkv_hidden_sizes, num_heads)
    total = rows + (shape_of(past)[3] if past is not None else 0)
    masks(mask, batch, rows, total)
    if past is not None and len(shape_of(past)) != 5:
        raise ValueError(f"past has 5 dimensions, not {past.shape}")
    return [(batch, rows, v), (2, batch, num_heads, total, k // num_heads)]


@op("Attention", domain=MICROSOFT, signature=ATTENTION, types={"T": FLOATING, "M": tensors("int32")}, shape=_projected)
def attention(input, weights, bias=None, mask_index=None, past=None, attention_bias=None, past_sequence_length=None, *,
              num_heads, unidirectional=0, qkv_hidden_sizes=None, scale=None, mask_filter_value=-10000.0, do_rotary=0,
              rotary_embedding_dim=0, past_present_share_buffer=0, constant: Callable, out):
    """Attention within a sequence, of its products with weights for queries, keys and values side by side."""
    refuse({"do_rotary": do_rotary, "rotary_embedding_dim": rotary_embedding_dim,
            "past_present_share_buffer": past_present_share_buffer})
    if past_sequence_length is not None:
        raise ValueError("past_sequence_length is not supported")
    packed = constant(gemm.Packed, weights)
    held = None if packed is weights else packed

    def run(x, w, b, mask, past, more, y, present):
        made = np.empty((*x.shape[:2], w.shape[1]), x.dtype)
        gemm.product(x.reshape(-1, x.shape[2]), w if held is None else held, made.reshape(-1, w.shape[1]), b)()
        _within(made, _split(w.shape[1], qkv_hidden_sizes, num_heads), num_heads, bool(unidirectional), scale, mask_filter_value,
                mask, past, more, y, present)
    return Later(run, input, weights, bias, mask_index, past, attention_bias, *[*out, None][:2])


def _within(made: np.ndarray, sizes: Sequence[Any], heads: int, causal: bool, scale: float | None, hidden: float,
            mask: np.ndarray | None, past: np.ndarray | None, more: np.ndarray | None, y: np.ndarray | None,
            present: np.ndarray | None) -> None:
    """Attention of queries, keys and values that lie side by side, behind a cache of both."""
    q, k, v = (heads_in(part, heads) for part in np.split(made, np.cumsum(sizes)[:2], 2))
    before = 0
    if past is not None:
        before = past.shape[3]
        k, v = np.concatenate([past[0], k], 2), np.concatenate([past[1], v], 2)
    if present is not None:
        present[0], present[1] = k, v
    bias = bias_of(mask, more, len(q), q.shape[2], k.shape[2], hidden)
    fill(y, joined(attended(q, k, v, bias, scale=scale, causal=causal, past=before), 3))


QUANTIZED = ("input: T1, weight: T2, bias: T3, input_scale: T3, weight_scale: T3, mask_index?: T4, input_zero_point?: T1, "
             "weight_zero_point?: T2, past?: T3 -> output: T3, present?: T3")


def _quantized(x: Fact, weights: Fact, bias: Fact, x_scale: Fact, w_scale: Fact, mask: Fact | None = None,
               zero: Fact | None = None, w_zero: Fact | None = None, past: Fact | None = None, *, num_heads: int,
               **__: Any) -> list[Any]:
    return _projected(x, weights, bias, mask, past, num_heads=num_heads)


@op("QAttention", domain=MICROSOFT, signature=QUANTIZED, shape=_quantized,
    types={"T1": tensors("int8", "uint8"), "T2": tensors("int8", "uint8"), "T3": tensors("float"), "T4": tensors("int32")})
def q_attention(input, weight, bias, input_scale, weight_scale, mask_index=None, input_zero_point=None, weight_zero_point=None,
                past=None, *, num_heads, unidirectional=0, scale=None, mask_filter_value=-10000.0, do_rotary=0,
                past_present_share_buffer=0, out):
    """Attention with its projections of bytes: their products are exact whole numbers, then scaled."""
    refuse({"do_rotary": do_rotary, "past_present_share_buffer": past_present_share_buffer})

    def run(x, w, b, x_scale, w_scale, mask, x_zero, w_zero, past, y, present):
        whole = [a.astype(np.float64) - (0 if z is None else z.astype(np.float64)) for a, z in ((x, x_zero), (w, w_zero))]
        products = whole[0] @ whole[1]  # of at most 16 bits, so exact for more rows than fit in memory
        made = (products * (x_scale.astype(np.float64) * w_scale) + b).astype(np.float32)
        _within(made, (made.shape[2] // 3,) * 3, num_heads, bool(unidirectional), scale, mask_filter_value, mask, past, None, y,
                present)
    return Later(run, input, weight, bias, input_scale, weight_scale, mask_index, input_zero_point, weight_zero_point, past,
                 *[*out, None][:2])


# Queries, keys and values apart

MULTI_HEAD = ("query: T, key?: T, value?: T, bias?: T, key_padding_mask?: M, attention_bias?: T, past_key?: T, past_value?: T, "
              "past_sequence_length?: M, cache_indirection?: M -> output: T, present_key?: T, present_value?: T, qk?: T")


def _apart(query: Fact, key: Fact | None = None, value: Fact | None = None, bias: Fact | None = None, mask: Fact | None = None,
           more: Fact | None = None, past_key: Fact | None = None, past_value: Fact | None = None, *_: Fact | None,
           num_heads: int, **__: Any) -> list[Any]:
    if key is None or value is None or len(shape_of(query)) != 3 or len(shape_of(key)) == 5:
        raise ValueError("queries, keys and values packed in one are not supported")
    if (past_key is None) != (past_value is None):
        raise ValueError("past_key and past_value come together")
    batch, rows, width = shape_of(query)
    if num_heads < 1 or any(len(shape_of(f)) == 3 and isinstance(shape_of(f)[2], int) and shape_of(f)[2] % num_heads
                            for f in (query, key, value)):
        raise ValueError(f"{num_heads} heads cannot share queries, keys and values of {query.shape}, {key.shape}, {value.shape}")
    at = 2 if len(shape_of(key)) == 4 else 1
    total = shape_of(key)[at] + (shape_of(past_key)[2] if past_key is not None else 0)
    v_size = shape_of(value)[3] if len(shape_of(value)) == 4 else shape_of(value)[2] // num_heads
    masks(mask, batch, rows, total)
    return [(batch, rows, num_heads * v_size), (batch, num_heads, total, width // num_heads), (batch, num_heads, total, v_size),
            (batch, num_heads, rows, total)]


@op("MultiHeadAttention", domain=MICROSOFT, signature=MULTI_HEAD, types={"T": FLOATING, "M": tensors("int32")}, shape=_apart)
def multi_head_attention(query, key=None, value=None, bias=None, key_padding_mask=None, attention_bias=None, past_key=None,
                         past_value=None, past_sequence_length=None, cache_indirection=None, *, num_heads, unidirectional=0,
                         scale=None, mask_filter_value=-10000.0, out):
    """Attention of queries to keys and values, which may have been put by heads before; a bias is added to all three."""
    if past_sequence_length is not None or cache_indirection is not None:
        raise ValueError("past_sequence_length and cache_indirection are not supported")
    y, present_key, present_value, products = [*out, None, None, None][:4]
    if bias is key_padding_mask is attention_bias is products is None and y is not None and not unidirectional and key.ndim == 3:
        factor = scale or 1 / np.sqrt(max(query.shape[2] // num_heads, 1))
        return kernel.attention(query, key, value, y, heads=num_heads, kv_heads=num_heads, past_k=past_key, past_v=past_value,
                                present_k=present_key, present_v=present_value, scale=factor)
    how = partial(_multi_head, num_heads, bool(unidirectional), scale, mask_filter_value)
    return Later(how, query, key, value, bias, key_padding_mask, attention_bias, past_key, past_value, y, present_key,
                 present_value, products)


def _multi_head(heads: int, causal: bool, scale: float | None, hidden: float, query: np.ndarray, key: np.ndarray,
                value: np.ndarray, bias: np.ndarray | None, mask: np.ndarray | None, more: np.ndarray | None,
                past_key: np.ndarray | None, past_value: np.ndarray | None, y: np.ndarray | None, present_key: np.ndarray | None,
                present_value: np.ndarray | None, products: np.ndarray | None) -> None:
    starts = (0, query.shape[2], 2 * query.shape[2])
    parts = [x if bias is None or x.ndim == 4 else x + bias[at:at + x.shape[2]]
             for x, at in zip((query, key, value), starts, strict=True)]
    q, k, v = (x if x.ndim == 4 else heads_in(x, heads) for x in parts)
    before = 0
    if past_key is not None and past_value is not None:
        before = past_key.shape[2]
        k, v = np.concatenate([past_key, k], 2), np.concatenate([past_value, v], 2)
    fill(present_key, k)
    fill(present_value, v)
    added = bias_of(mask, more, len(q), q.shape[2], k.shape[2], hidden)
    fill(y, joined(attended(q, k, v, added, scale=scale, causal=causal, past=before), 3))
    if products is not None:
        fill(products, (q.astype(np.float32) @ k.swapaxes(2, 3).astype(np.float32)) * (scale or 1 / np.sqrt(max(q.shape[3], 1))))
