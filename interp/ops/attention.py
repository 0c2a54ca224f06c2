"""Attention: scaled dot products with masks, caches and grouped heads, and the flexible kind, which bodies change."""
from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ..dims import Fact, Size
from ..kernels import attention as kernel
from ..kernels.step import Later
from ..record import record
from ..registry import op
from ..types import DTYPE, FLOATS
from .shapes import Shape, shape_of, widest
from .standardize import fill, floating

# Heads


def heads_of(shape: Shape, heads: int | None, name: str) -> Shape:
    """A shape as (batch, heads, sequence, size of a head); one of three axes has the heads in the last."""
    if len(shape) == 4:
        if heads and isinstance(shape[1], int) and shape[1] != heads:
            raise ValueError(f"{name} has {shape[1]} heads, the attribute says {heads}")
        return shape
    if len(shape) != 3:
        raise ValueError(f"{name} has 3 or 4 dimensions, not {len(shape)}")
    if not heads or heads < 1:
        raise ValueError(f"{name} has 3 dimensions: the number of heads must be given")
    if isinstance(shape[2], int) and shape[2] % heads:
        raise ValueError(f"{name} has rows of {shape[2]} elements, which {heads} heads cannot share")
    return shape[0], heads, shape[1], shape[2] // heads


def by_head(x: np.ndarray, heads: int | None) -> np.ndarray:
    """A tensor of three axes as one of four; nothing is copied."""
    if x.ndim == 4:
        return x
    heads_of(x.shape, heads, "it")
    return x.reshape(*x.shape[:2], heads or 1, x.shape[2] // (heads or 1)).swapaxes(1, 2)


def joined(x: np.ndarray, rank: int) -> np.ndarray:
    """The heads side by side again, where the inputs have three axes."""
    return x if rank == 4 else x.swapaxes(1, 2).reshape(x.shape[0], x.shape[2], x.shape[1] * x.shape[3])


def repeated(x: np.ndarray, heads: int) -> np.ndarray:
    """Each head of keys or values as often as there are query heads in its group."""
    return x if x.shape[1] == heads else x.repeat(heads // max(x.shape[1], 1), 1)


def _agree(what: str, *sizes: Size) -> None:
    known = {n for n in sizes if isinstance(n, int)}
    if len(known) > 1:
        raise ValueError(f"{what}: {sorted(known)} differ")


# Scaled dot products


@record(frozen=True)
class Settings:
    """The attributes of an attention, apart from where its heads are."""

    scale: float | None
    softcap: float = 0.0
    causal: bool = False
    left: int = -1
    right: int = -1
    mode: int = 0
    double: bool = False  # the softmax is asked for in double
    pads: bool = True  # a short mask goes on with -inf


def _shapes(q: Fact, k: Fact, v: Fact, mask: Fact | None = None, past_key: Fact | None = None,
            past_value: Fact | None = None, valid: Fact | None = None, *, q_num_heads: int | None, kv_num_heads: int | None,
            qk_matmul_output_mode: int, softmax_precision: int | None, pads: bool = True, **_: Any) -> list[Any]:
    """The shapes of Attention's outputs; what does not fit together is refused."""
    rank = len(shape_of(q))
    if len(shape_of(k)) != rank or len(shape_of(v)) != rank:
        raise ValueError(f"queries, keys and values of {q.shape}, {k.shape} and {v.shape} have different ranks")
    if not 0 <= qk_matmul_output_mode <= 3:
        raise ValueError(f"qk_matmul_output_mode is 0 to 3, not {qk_matmul_output_mode}")
    if softmax_precision is not None:
        floating(softmax_precision)
    batch, heads, rows, size = heads_of(shape_of(q), q_num_heads, "Q")
    k_batch, k_heads, keys, k_size = heads_of(shape_of(k), kv_num_heads, "K")
    v_batch, v_heads, values, v_size = heads_of(shape_of(v), kv_num_heads, "V")
    _agree("batches", batch, k_batch, v_batch)
    _agree("heads of keys and values", k_heads, v_heads)
    _agree("sizes of heads", size, k_size)
    _agree("numbers of keys and values", keys, values)
    if isinstance(heads, int) and isinstance(k_heads, int) and (k_heads < 1 and heads or k_heads and heads % k_heads):
        raise ValueError(f"{heads} query heads cannot share {k_heads} heads of keys")
    if (past_key is None) != (past_value is None):
        raise ValueError("past_key and past_value come together")
    if valid is not None and past_key is not None:
        raise ValueError("nonpad_kv_seqlen is for a cache outside, past_key and past_value for one inside")
    past: Size = 0
    if past_key is not None and past_value is not None:
        past = shape_of(past_key)[2] if len(shape_of(past_key)) == 4 else -1
        for f, due in ((past_key, (k_batch, k_heads, past, k_size)), (past_value, (k_batch, k_heads, past, v_size))):
            if len(shape_of(f)) != 4 or any(isinstance(a, int) and isinstance(b, int) and a != b
                                            for a, b in zip(shape_of(f), due, strict=True)):
                raise ValueError(f"a cache of {f.shape} where {due} is due")
    total = past + keys
    if mask is not None:
        _fits(shape_of(mask), (batch, heads, rows, total), pads)
    if valid is not None and valid.shape is not None and len(valid.shape) == 1:
        _agree("nonpad_kv_seqlen and batch", valid.shape[0], batch)
    y = (batch, heads, rows, v_size) if rank == 4 else (batch, rows, heads * v_size)
    return [y, (batch, k_heads, total, k_size), (batch, k_heads, total, v_size), (batch, heads, rows, total)]


def _fits(mask: Shape, scores: Shape, pads: bool) -> None:
    """Refuse a mask that does not broadcast to the scores; where a short one `pads`, its last size may be less."""
    if not 1 <= len(mask) <= 4:
        raise ValueError(f"a mask of shape {mask} does not broadcast to {scores}")
    due = [*scores[len(scores) - len(mask):]]
    if pads and isinstance(mask[-1], int) and isinstance(due[-1], int) and mask[-1] < due[-1]:
        due[-1] = mask[-1]
    if any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in zip(widest([mask, tuple(due)]), due, strict=True)):
        raise ValueError(f"a mask of shape {mask} does not broadcast to {scores}")


def padded(mask: np.ndarray, total: int) -> np.ndarray:
    """A short mask, gone on with False or -inf."""
    short = total - mask.shape[-1]
    if short <= 0:
        return mask
    rest = np.full((*mask.shape[:-1], short), False if mask.dtype == bool else -np.inf)
    return np.concatenate([mask if mask.dtype == bool else mask.astype(np.float64), rest], -1)


def bias_of(how: Settings, mask: np.ndarray | None, rows: int, total: int, before: np.ndarray,
            valid: np.ndarray | None) -> np.ndarray | None:
    """What is added to the scores: the mask, and -inf where the position, or the number of valid keys, forbids a key.

    `before` keys stand before the first query: one number, or one for each item of the batch.
    """
    bias = None
    if mask is not None:
        bias = padded(mask, total) if how.pads else mask
        bias = np.where(bias, 0.0, -np.inf) if bias.dtype == bool else bias.astype(np.float64)
    keys = np.arange(total)
    at = before.reshape(-1, 1, 1, 1) + np.arange(rows).reshape(-1, 1)
    barred = np.zeros((1, 1, 1, 1), bool)
    for bound, beyond in ((0 if how.causal else -1, lambda n: keys > at + n), (how.right, lambda n: keys > at + n),
                          (how.left, lambda n: keys < at - n)):
        if bound >= 0:
            barred = barred | beyond(bound)
    if valid is not None:
        barred = barred | (keys >= valid.reshape(-1, 1, 1, 1))
    if barred.any():
        bias = np.where(barred, -np.inf, 0.0 if bias is None else bias)
    return bias


def probabilities(scores: np.ndarray, bias: np.ndarray | None) -> np.ndarray:
    """The softmax of scores and a bias: a key whose bias is -inf gets none, whatever its score; a row without keys is zeros."""
    if bias is not None:
        scores = np.where(np.isneginf(bias), -np.inf, scores + bias)
    most = scores.max(-1, keepdims=True, initial=-np.inf)
    powers = np.exp(scores - np.where(np.isneginf(most), 0, most))
    total = powers.sum(-1, keepdims=True)
    return powers / np.where(total == 0, 1, total)


def scores_of(q: np.ndarray, k: np.ndarray, scale: float | None) -> np.ndarray:
    """Each query times each key."""
    return q @ k.swapaxes(2, 3) * (q.dtype.type(scale) if scale is not None else 1 / np.sqrt(q.dtype.type(max(q.shape[3], 1))))


def wide(*arrays: np.ndarray, double: bool = False) -> list[np.ndarray]:
    """The arrays in double where one of them is, or that is asked for, else in float."""
    kind = np.float64 if double or any(a.dtype == np.float64 for a in arrays) else np.float32
    return [a.astype(kind) for a in arrays]


def _attend(how: Settings, heads: tuple[int | None, int | None], q: np.ndarray, k: np.ndarray, v: np.ndarray,
            mask: np.ndarray | None, past_key: np.ndarray | None, past_value: np.ndarray | None, valid: np.ndarray | None,
            y: np.ndarray | None, present_key: np.ndarray | None, present_value: np.ndarray | None,
            products: np.ndarray | None) -> None:
    rank, keys, values = q.ndim, by_head(k, heads[1]), by_head(v, heads[1])
    past = 0
    if past_key is not None and past_value is not None:
        past = past_key.shape[2]
        keys, values = np.concatenate([past_key, keys], 2), np.concatenate([past_value, values], 2)
    fill(present_key, keys)
    fill(present_value, values)
    q = by_head(q, heads[0])
    q, keys, values = wide(q, keys, values, double=how.double)
    before = np.array([past]) if valid is None else valid.astype(np.int64) - q.shape[2]
    bias = bias_of(how, mask, q.shape[2], keys.shape[2], before, valid)
    with np.errstate(over="ignore", invalid="ignore"):
        found = [scores_of(q, repeated(keys, q.shape[1]), how.scale)]
        found.append(how.softcap * np.tanh(found[0] / how.softcap) if how.softcap else found[0])
        found.append(found[1] if bias is None else np.where(np.isneginf(bias), -np.inf, found[1] + bias))
        found.append(probabilities(found[1], bias).astype(q.dtype))
        fill(products, np.broadcast_to(found[how.mode], found[0].shape))
        fill(y, joined(found[3] @ repeated(values, q.shape[1]), rank))


def attended(how: Settings, heads: tuple[int | None, int | None], arrays: tuple[Any, ...], out: Sequence[Any]) -> Any:
    """The kernel's step where it has the types, and nobody wants the products; else a call put off."""
    q, k, v, mask, past_key, past_value, valid = arrays
    y, present_key, present_value, products = [*out, None, None, None][:4]
    if y is None or products is not None or not _compiled(how, *arrays[:5]):
        return Later(partial(_attend, how, heads), *arrays, y, present_key, present_value, products)
    size = q.shape[3] if q.ndim == 4 else q.shape[2] // (heads[0] or 1)
    scale = 1 / np.sqrt(max(size, 1)) if how.scale is None else how.scale
    return kernel.attention(q, k, v, y, heads=heads[0], kv_heads=heads[1], mask=mask, past_k=past_key, past_v=past_value,
                            valid=valid, present_k=present_key, present_v=present_value, scale=scale, cap=how.softcap,
                            left=how.left, right=0 if how.causal else how.right)


def _compiled(how: Settings, q: Any, k: Any, v: Any, mask: np.ndarray | None, past_key: np.ndarray | None) -> bool:
    """Whether the kernel knows the types, and what the mask means."""
    double = q.dtype == np.float64
    if not q.dtype == k.dtype == v.dtype or how.double and not double:
        return False
    if mask is None or mask.dtype == bool:
        return mask is None or _whole(how, k, mask, past_key)
    narrow = mask.dtype == np.float32 or mask.dtype.itemsize == 2 and mask.dtype.kind not in "iu"
    return (mask.dtype == np.float64 if double else narrow) and _whole(how, k, mask, past_key)


def _whole(how: Settings, k: np.ndarray, mask: np.ndarray, past_key: np.ndarray | None) -> bool:
    """Whether a mask is said key by key, and does not repeat along them."""
    return how.pads or mask.shape[-1] == k.shape[-2] + (0 if past_key is None else past_key.shape[2])


@op("Attention", 23, 23, shape=partial(_shapes, pads=False), types={"T1": FLOATS, "T2": FLOATS})
def attention_23(Q, K, V, attn_mask=None, past_key=None, past_value=None, *, is_causal, kv_num_heads, q_num_heads,
                 qk_matmul_output_mode, scale, softcap, softmax_precision, out):
    """softmax(Q K^T scale + mask) V by heads; each head of keys serves a group of query heads.

    Calculated in float or double, as exactly as the types and softmax_precision ask for, and rounded once.
    """
    how = Settings(scale, softcap, bool(is_causal), mode=qk_matmul_output_mode, double=_double(softmax_precision), pads=False)
    return attended(how, (q_num_heads, kv_num_heads), (Q, K, V, attn_mask, past_key, past_value, None), out)


@op("Attention", 24, 25, shape=_shapes, types={"T1": FLOATS, "T2": FLOATS})
def attention(Q, K, V, attn_mask=None, past_key=None, past_value=None, nonpad_kv_seqlen=None, *, is_causal, kv_num_heads,
              q_num_heads, qk_matmul_output_mode, scale, softcap, softmax_precision, left_window_size=-1, right_window_size=-1,
              out):
    """The same with a cache kept outside, of which the first nonpad_kv_seqlen keys count; a short mask goes on with -inf.

    A window lets a query see so many keys on either side of it.
    """
    how = Settings(scale, softcap, bool(is_causal), _window(left_window_size), _window(right_window_size),
                   qk_matmul_output_mode, _double(softmax_precision))
    return attended(how, (q_num_heads, kv_num_heads), (Q, K, V, attn_mask, past_key, past_value, nonpad_kv_seqlen), out)


def _double(precision: int | None) -> bool:
    return precision is not None and floating(precision) == "tensor(double)"


def _window(size: int) -> int:
    if size < -1:
        raise ValueError(f"a window of {size} keys; -1 stands for no bound")
    return size


# Attention that bodies change on the way


def _flexible(q: Fact, k: Fact, v: Fact, *_: Any, softmax_precision: int | None, **__: Any) -> list[Any]:
    if len(shape_of(q)) != 4:
        raise ValueError(f"Q has 4 dimensions, not {len(shape_of(q))}")
    return _shapes(q, k, v, q_num_heads=None, kv_num_heads=None, qk_matmul_output_mode=0,
                   softmax_precision=softmax_precision)[:1]


@op("FlexAttention", 1, 1, domain="ai.onnx.preview", shape=_flexible, types=FLOATS)
def flex_attention(Q, K, V, *captured, scale, softmax_precision, score_mod, prob_mod):
    """softmax(score_mod(Q K^T scale)) through prob_mod, times V; the bodies see softmax_precision, float by default."""
    kind = DTYPE[floating(softmax_precision)] if softmax_precision is not None else wide(Q)[0].dtype
    q, k, v = wide(Q, K, V, double=kind == np.float64)
    scores = scores_of(q, repeated(k, q.shape[1]), scale)
    found = wide(_through(score_mod, scores, kind, captured), double=kind == np.float64)[0]
    found = _through(prob_mod, probabilities(found, None), kind, captured)
    return (found.astype(q.dtype) @ repeated(v, q.shape[1])).astype(Q.dtype)


def _through(body: Any, x: np.ndarray, kind: np.dtype, captured: Sequence[Any]) -> np.ndarray:
    """What a body makes of a tensor, whose shape and type it must keep."""
    if body is None:
        return x
    [y] = body.run([np.ascontiguousarray(x, kind), *captured])
    if y.shape != x.shape or y.dtype != kind:
        raise ValueError(f"a body made {y.dtype}{list(y.shape)} of {kind}{list(x.shape)}")
    return y
