"""Linear attention: a state that every token decays and adds to, in place of scores of all keys."""
from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..dims import Fact
from ..kernels.step import Later
from ..registry import op
from ..types import tensors
from .attention import by_head, heads_of, joined, repeated
from .shapes import shape_of
from .standardize import fill

GATED, CORRECTED = ("gated", "gated_delta"), ("delta", "gated_delta")


def _state(query: Fact, key: Fact, value: Fact, past: Fact | None = None, decay: Fact | None = None, beta: Fact | None = None, *,
           q_num_heads: int, kv_num_heads: int, update_rule: str, **_: Any) -> list[Any]:
    for name, f in (("query", query), ("key", key), ("value", value)):
        if len(shape_of(f)) != 3:
            raise ValueError(f"{name} has 3 dimensions, not {len(shape_of(f))}")
    if q_num_heads < 1 or kv_num_heads < 1 or q_num_heads % kv_num_heads:
        raise ValueError(f"{q_num_heads} query heads cannot share {kv_num_heads} heads of keys")
    if update_rule not in ("linear", *GATED, *CORRECTED):
        raise ValueError(f"update_rule is linear, gated, delta or gated_delta, not {update_rule}")
    for gate, name, rules in ((decay, "decay", GATED), (beta, "beta", CORRECTED)):
        if (gate is not None) != (update_rule in rules):
            raise ValueError(f"the rule {update_rule} {'needs' if gate is None else 'has no'} {name}")
    batch, _heads, rows, size = heads_of(shape_of(query), q_num_heads, "query")
    heads, keys, k_size = heads_of(shape_of(key), kv_num_heads, "key")[1:]
    values, v_size = heads_of(shape_of(value), kv_num_heads, "value")[2:]
    for what, a, b in (("rows", rows, keys), ("rows", rows, values), ("sizes of heads", size, k_size)):
        if isinstance(a, int) and isinstance(b, int) and a != b:
            raise ValueError(f"{what} of {a} and of {b} differ")
    _spans(decay, (heads, heads * size), "decay")
    _spans(beta, (heads, 1), "beta")
    due = (batch, heads, size, v_size)
    if past is not None and past.shape is not None and (len(past.shape) != 4 or any(
            isinstance(a, int) and isinstance(b, int) and a != b for a, b in zip(past.shape, due, strict=True))):
        raise ValueError(f"a state of {past.shape} where {due} is due")
    return [(batch, rows, q_num_heads * v_size), Fact((past or query).type, due)]


def _spans(f: Fact | None, allowed: tuple[Any, ...], name: str) -> None:
    if f is None:
        return
    shape = shape_of(f)
    if len(shape) != 3 or isinstance(shape[2], int) and all(isinstance(n, int) for n in allowed) and shape[2] not in allowed:
        raise ValueError(f"{name} of shape {shape} has neither {allowed[0]} nor {allowed[1]} numbers a token")


@op("LinearAttention", 27, 27, shape=_state, types={"T": tensors("float", "float16", "bfloat16")})
def linear_attention(query, key, value, past_state=None, decay=None, beta=None, *, chunk_size, kv_num_heads, q_num_heads, scale,
                     update_rule, out):
    """scale * q S, where S grows by k (x) v with every token, decays before, and forgets by beta what stood at the key.

    The state is kept in float whatever its type; chunk_size is a hint that changes no result.
    """
    how = partial(_recur, q_num_heads, kv_num_heads, scale)
    return Later(how, query, key, value, past_state, decay, beta, *out)


def _recur(q_heads: int, heads: int, scale: float, query: np.ndarray, key: np.ndarray, value: np.ndarray,
           past: np.ndarray | None, decay: np.ndarray | None, beta: np.ndarray | None, out: np.ndarray | None,
           present: np.ndarray | None) -> None:
    q, k, v = (by_head(x, n).astype(np.float32) for x, n in ((query, q_heads), (key, heads), (value, heads)))
    batch, _, rows, size = q.shape
    state = np.zeros((batch, heads, size, v.shape[3]), np.float32) if past is None else past.astype(np.float32)
    kept = None if decay is None else np.exp(by_head(decay.astype(np.float32), heads))
    rate = None if beta is None else by_head(beta.astype(np.float32), beta.shape[2])
    made = np.empty((batch, q_heads, rows, v.shape[3]), np.float32)
    for t in range(rows):
        if kept is not None:
            state = state * kept[:, :, t, :, None]
        new = v[:, :, t]
        if rate is not None:
            new = rate[:, :, t] * (new - (k[:, :, t, None] @ state)[:, :, 0])
        state = state + k[:, :, t, :, None] * new[:, :, None]
        made[:, :, t] = (q[:, :, t, None] @ repeated(state, q_heads))[:, :, 0]
    factor = np.float32(scale or 1 / np.sqrt(max(size, 1)))
    fill(out, joined(made * factor, 3))
    fill(present, state)
