"""How many multiply-accumulates a node takes, by its shapes: products of matrices, convolutions, recurrent cells, attention."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isnan, nan, prod
from typing import Any

Shape = Sequence[Any] | None  # numbers where they are known
Rule = Callable[[list[tuple[int, ...]], list[tuple[int, ...]], Mapping[str, Any]], int | None]

UNKNOWN: Any = nan
OWN = frozenset(("", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training", "com.microsoft", "interp"))
WITH_BODIES = frozenset(("If", "Loop", "Scan", "SequenceMap", "FlexAttention"))


def macs(op_type: str, inputs: Sequence[Shape], outputs: Sequence[Shape], attributes: Mapping[str, Any] | None = None,
         domain: str = "") -> int | None:
    """The multiply-accumulates of a node with inputs and outputs of these shapes, by position (None for an absent one).

    Convolutions count every tap, those on padding too, as papers do; attention counts all keys, masked ones too. 0 for what
    multiplies no sums of products, such as pooling, elementwise operators and normalizations; None where that cannot be told:
    a size is unknown, the node runs graphs of its own, or its operator is not of the standard.
    """
    rule = RULES.get((domain, op_type)) or RULES.get(("", op_type))
    if domain not in OWN or op_type in WITH_BODIES:
        return None
    if rule is None:
        return 0
    try:
        found = rule([numbers(s) for s in inputs], [numbers(s) for s in outputs], attributes or {})
    except (IndexError, KeyError, TypeError, ValueError):  # an input is absent that the rule needs, or of another rank
        return None
    return None if found is None or isnan(found) else found


def numbers(shape: Shape) -> tuple[int, ...]:
    """A shape in which unknown sizes are NaN, so that what is worked out of them is too; () for an absent value."""
    return tuple(n if isinstance(n, int) else UNKNOWN for n in shape or ())


def convolution(weights: int = 1, blocked: bool = False) -> Rule:
    """Every place of the result takes all weights once. ``weights``: which input they are."""
    def count(inputs: list[tuple[int, ...]], outputs: list[tuple[int, ...]], _: Mapping[str, Any]) -> int:
        y = outputs[0]
        return y[0] * prod(y[2:-1] if blocked else y[2:]) * prod(inputs[weights])
    return count


def transposed(blocked: bool = False) -> Rule:
    """Every place of the input takes all weights once."""
    def count(inputs: list[tuple[int, ...]], _: list[tuple[int, ...]], __: Mapping[str, Any]) -> int:
        x = inputs[0]
        return x[0] * prod(x[2:-1] if blocked else x[2:]) * prod(inputs[1])
    return count


def product(inputs: list[tuple[int, ...]], outputs: list[tuple[int, ...]], attributes: Mapping[str, Any]) -> int:
    """Every element of the result is a sum over the axis that the first factor shares with the second."""
    a = inputs[0]
    return prod(outputs[0]) * a[-2 if attributes.get("transA") else -1]


def recurrent(inputs: list[tuple[int, ...]], _: list[tuple[int, ...]], __: Mapping[str, Any]) -> int:
    """Every step of every sequence takes all weights of inputs and of states once."""
    x, w, r = inputs[:3]
    return x[0] * x[1] * (prod(w) + prod(r))


def scores_and_shares(batch: int, heads: int, queries: int, keys: int, size: int, value_size: int) -> int:
    """Q K^T, and what it weighs of V."""
    return batch * heads * queries * keys * (size + value_size)


def attention(inputs: list[tuple[int, ...]], _: list[tuple[int, ...]], attributes: Mapping[str, Any]) -> int:
    """Attention of the standard, with heads as an axis or inside the rows."""
    q, k, v = inputs[:3]
    keys = inputs[4][2] if len(inputs) > 4 and inputs[4] else 0
    if len(q) == 4:
        return scores_and_shares(q[0], q[1], q[2], keys + k[2], q[3], v[3])
    heads, kv_heads = attributes["q_num_heads"], attributes["kv_num_heads"]
    return scores_and_shares(q[0], heads, q[1], keys + k[1], q[2] // heads, v[2] // kv_heads)


def fused_attention(inputs: list[tuple[int, ...]], _: list[tuple[int, ...]], attributes: Mapping[str, Any]) -> int:
    """The same where rows may come before heads."""
    q, k, v = ((s[0], s[2], s[1], s[3]) if n in attributes["swapped"] else s for n, s in zip("qkv", inputs, strict=False))
    return scores_and_shares(q[0], q[1], q[2], k[2], q[3], v[3])


def projected(past: int) -> Rule:
    """Attention of one input, which is multiplied by the weights of queries, keys and values. ``past``: which input that is."""
    def count(inputs: list[tuple[int, ...]], outputs: list[tuple[int, ...]], _: Mapping[str, Any]) -> int:
        x, w, y = inputs[0], inputs[1], outputs[0]
        before = inputs[past][3] if len(inputs) > past and inputs[past] else 0
        hidden = (w[1] - y[2]) // 2  # of queries and of keys; those of values are the result's
        return x[0] * x[1] * prod(w) + scores_and_shares(x[0], 1, x[1], before + x[1], hidden, y[2])
    return count


def several_heads(inputs: list[tuple[int, ...]], outputs: list[tuple[int, ...]], attributes: Mapping[str, Any]) -> int:
    """Attention over queries, keys and values of (batch, rows, heads x size), or packed together."""
    q, y = inputs[0], outputs[0]
    keys, heads = inputs[1] if len(inputs) > 1 else (), attributes["num_heads"]
    past = inputs[6][2] if len(inputs) > 6 and inputs[6] else 0
    rows = keys[2] if len(keys) == 4 else keys[1] if keys else q[1]
    size = q[-1] if len(q) == 5 else q[2] // heads
    return scores_and_shares(q[0], heads, q[1], past + rows, size, y[2] // heads)


def grouped(_: list[tuple[int, ...]], outputs: list[tuple[int, ...]], __: Mapping[str, Any]) -> int:
    """Attention over all keys that there are by then."""
    y, keys = outputs[0], outputs[1]
    return scores_and_shares(y[0], 1, y[1], keys[2], y[2], y[2])




def contracted(inputs: list[tuple[int, ...]], _: list[tuple[int, ...]], attributes: Mapping[str, Any]) -> int | None:
    """Einsum of two factors: every combination of indices once; of more, in which order is not said."""
    terms = attributes["equation"].partition("->")[0].replace(" ", "").split(",")
    if len(terms) != 2 or "." in "".join(terms):
        return 0 if len(terms) == 1 else None
    sizes: dict[str, int] = {}
    for term, shape in zip(terms, inputs, strict=True):
        for letter, n in zip(term, shape, strict=True):
            sizes[letter] = n if sizes.get(letter, 1) == 1 else sizes[letter]
    return prod(sizes.values())


RULES: dict[tuple[str, str], Rule] = {
    **{("", n): convolution() for n in ("Conv", "ConvInteger", "DeformConv", "CausalConvWithState", "FusedConv", "LineConv")},
    ("", "QLinearConv"): convolution(weights=3),
    ("interp", "BlockedConv"): convolution(blocked=True),
    ("", "ConvTranspose"): transposed(),
    ("interp", "BlockedConvTranspose"): transposed(blocked=True),
    **{("", n): product for n in ("MatMul", "Gemm", "MatMulInteger", "QLinearMatMul", "FusedMatMul", "FusedGemm",
                                  "QuantizedMatMul", "ScaledMatMulInteger", "DynamicQuantizeMatMul", "MatMulIntegerToFloat",
                                  "QGemm", "MatMulNBits")},
    **{("", n): recurrent for n in ("RNN", "GRU", "LSTM", "DynamicQuantizeLSTM")},
    ("", "Attention"): attention,
    ("interp", "FusedAttention"): fused_attention,
    ("com.microsoft", "Attention"): projected(past=4),
    ("com.microsoft", "QAttention"): projected(past=8),
    ("com.microsoft", "MultiHeadAttention"): several_heads,
    ("com.microsoft", "GroupQueryAttention"): grouped,
    ("", "Einsum"): contracted,
}
