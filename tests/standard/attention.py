"""Attention of every kind, and rotary embeddings: formulas in float64, from the operators' texts."""
import numpy as np
from onnx import helper

from .case import Case, case, dtype_of


def wide(*arrays):
    return [a.astype(np.float64) for a in arrays]


def softmax(x):
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def heads(x, count):
    """(batch, rows, heads * size) as (batch, heads, rows, size)."""
    return x.reshape(*x.shape[:2], count, -1).swapaxes(1, 2)


def rows(x):
    return x.swapaxes(1, 2).reshape(x.shape[0], x.shape[2], -1)


@case("Attention")
def attention(spec):
    """Four query heads over two of keys, with a cache, a mask that is added (or that chooses), a cap, causal; every output."""
    q, k, past_k = (spec.data(s, "T1", -1, 1) for s in ((2, 3, 20), (2, 3, 10), (2, 2, 2, 5)))
    v, past_v = (spec.data(s, "T2", -1, 1) for s in ((2, 3, 8), (2, 2, 2, 4)))
    mask = spec.data((3, 5), "U", 0, 2)
    if mask.dtype == bool:
        mask[:, 0] = True
    bias = np.where(mask, 0, -np.inf) if mask.dtype == bool else mask.astype(np.float64)
    wide_q, wide_k, wide_v = heads(*wide(q), 4), heads(*wide(k), 2), heads(*wide(v), 2)
    keys, values = np.concatenate([*wide(past_k), wide_k], 2), np.concatenate([*wide(past_v), wide_v], 2)
    products = 0.5 * wide_q @ keys.repeat(2, 1).swapaxes(2, 3)
    scores = 2 * np.tanh(products / 2) + bias
    barred = np.arange(5) > np.arange(3)[:, None] + 2
    if spec.has("left_window_size"):
        barred |= np.arange(5) < np.arange(3)[:, None] + 2 - 3
    scores = np.where(barred, -np.inf, scores)
    y = rows(softmax(scores) @ values.repeat(2, 1))
    window = {"left_window_size": 3} if spec.has("left_window_size") else {}
    return Case([q, k, v, mask, past_k, past_v], [y, keys, values, products], q_num_heads=4, kv_num_heads=2, scale=0.5,
                softcap=2.0, is_causal=1, **window)


@case("FlexAttention", domain="ai.onnx.preview")
def flex_attention(spec):
    """Scores are halved, probabilities doubled; bodies see float, and double where the inputs are."""
    q, k, v = (spec.data(s, "T1", -1, 1) for s in ((2, 4, 3, 5), (2, 2, 6, 5), (2, 2, 6, 4)))
    kind = "tensor(double)" if spec.types["T1"] == "tensor(double)" else "tensor(float)"
    wide_q, wide_k, wide_v = wide(q, k, v)
    y = 2 * softmax(wide_q @ wide_k.repeat(2, 1).swapaxes(2, 3) / 2) @ wide_v.repeat(2, 1)
    return Case([q, k, v], [y], scale=1.0, score_mod=times(0.5, kind), prob_mod=times(2.0, kind))


def times(factor, kind):
    """A body that multiplies."""
    value = helper.np_dtype_to_tensor_dtype(dtype_of(kind))
    factor = helper.make_tensor("factor", value, (), [factor])
    x, y = (helper.make_tensor_value_info(n, value, ["b", "h", "q", "k"]) for n in "xy")
    return helper.make_graph([helper.make_node("Mul", ["x", "factor"], ["y"])], "times", [x], [y], [factor])


@case("LinearAttention")
def linear_attention(spec):
    """The gated delta rule with two query heads a head of keys."""
    b, t, size, v_size = 2, 4, 3, 5
    q, k, v = (spec.data((b, t, n), "T", -1, 1) for n in (4 * size, 2 * size, 2 * v_size))
    decay, beta = spec.data((b, t, 2), "T", -1, 0), spec.data((b, t, 2), "T", 0, 1)
    past = spec.data((b, 2, size, v_size), "S", -1, 1)
    [state], wide_q, wide_k, wide_v = wide(past), heads(*wide(q), 4), heads(*wide(k), 2), heads(*wide(v), 2)
    kept, rate = heads(np.exp(*wide(decay)), 2), heads(*wide(beta), 2)
    made = []
    for i in range(t):
        state = kept[:, :, i, :, None] * state
        new = rate[:, :, i] * (wide_v[:, :, i] - np.einsum("bhkv,bhk->bhv", state, wide_k[:, :, i]))
        state = state + np.einsum("bhk,bhv->bhkv", wide_k[:, :, i], new)
        made.append(0.5 * np.einsum("bhk,bhkv->bhv", wide_q[:, :, i], state.repeat(2, 1)))
    return Case([q, k, v, past, decay, beta], [rows(np.stack(made, 2)), state], q_num_heads=4, kv_num_heads=2, scale=0.5)


@case("RotaryEmbedding")
def rotary_embedding(spec):
    """Neighbours among the first four elements of each head, by position."""
    x, cos, sin = spec.data((2, 3, 12), "T"), spec.data((7, 2), "T", -1, 1), spec.data((7, 2), "T", -1, 1)
    at = spec.rng.integers(0, 7, (2, 3))
    wide_x, c, s = heads(*wide(x), 2), *(a[at][:, None] for a in wide(cos, sin))
    y = wide_x.copy()
    y[..., 0:4:2] = c * wide_x[..., 0:4:2] - s * wide_x[..., 1:4:2]
    y[..., 1:4:2] = s * wide_x[..., 0:4:2] + c * wide_x[..., 1:4:2]
    return Case([x, cos, sin, at], [rows(y)], num_heads=2, rotary_embedding_dim=4, interleaved=1)
