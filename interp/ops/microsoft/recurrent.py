"""Recurrent layers over 8-bit weights: DynamicQuantizeLSTM."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...dims import Fact
from ...registry import op
from ...types import BYTES, tensors, type_of
from ..recurrent import fits, functions, layered, ways
from ..shapes import shape_of

SIGNATURE = ("X: T, W: T2, R: T2, B?: T, sequence_lens?: T1, initial_h?: T, initial_c?: T, P?: T, W_scale: T, W_zero_point: T2, "
             "R_scale: T, R_zero_point: T2 -> Y?: T, Y_h?: T, Y_c?: T")
TYPES = {"T": tensors("float"), "T1": tensors("int32"), "T2": BYTES}
ACTIVATE: dict[str, Callable[[np.ndarray, float, float], np.ndarray]] = {
    "relu": lambda x, a, b: np.maximum(x, 0),
    "tanh": lambda x, a, b: np.tanh(x),
    "sigmoid": lambda x, a, b: 1 / (1 + np.exp(-x)),
    "affine": lambda x, a, b: a * x + b,
    "leakyrelu": lambda x, a, b: np.where(x < 0, a * x, x),
    "thresholdedrelu": lambda x, a, b: np.where(x < a, 0, x),
    "scaledtanh": lambda x, a, b: a * np.tanh(b * x),
    "hardsigmoid": lambda x, a, b: np.clip(a * x + b, 0, 1),
    "elu": lambda x, a, b: np.where(x < 0, a * np.expm1(x), x),
    "softsign": lambda x, a, b: x / (1 + np.abs(x)),
    "softplus": lambda x, a, b: np.logaddexp(0, x),
}
rule = layered(4, 3)


def turned(weights: Fact) -> Fact:
    """Weights as LSTM has them, with the gates before what they multiply."""
    d, k, n = shape_of(weights)
    return Fact(weights.type, (d, n, k))


def quantized(X: Fact, W: Fact, R: Fact, B: Any, sequence_lens: Any, initial_h: Any, initial_c: Any, P: Any, W_scale: Fact,
              W_zero_point: Fact, R_scale: Fact, R_zero_point: Fact, **attributes: Any) -> list[Any]:
    """The shapes of LSTM; scales and zero points are one for each direction, or for each of its gates' units."""
    d, _, gates = shape_of(R)
    for fact in (W_scale, W_zero_point, R_scale, R_zero_point):
        if not any(fits(shape_of(fact), due) for due in ((d,), (d, gates))):
            raise ValueError(f"a scale or zero point is {shape_of(fact)} where {(d,)} or {(d, gates)} is due")
    return rule(X, turned(W), turned(R), B, sequence_lens, initial_h, initial_c, P, **attributes)


@op("DynamicQuantizeLSTM", 1, 1, domain="com.microsoft", signature=SIGNATURE, types=TYPES, shape=quantized)
def dynamic_quantize_lstm(X, W, R, B, sequence_lens, initial_h, initial_c, P, W_scale, W_zero_point, R_scale, R_zero_point, *,
                          activation_alpha=None, activation_beta=None, activations=None, clip=None, direction="forward",
                          hidden_size=None, input_forget=0):
    """LSTM with the input and every hidden state quantized to 8 bits before they are multiplied, in whole numbers."""
    quantized(*(None if x is None else Fact(type_of(x), x.shape) for x in (
        X, W, R, B, sequence_lens, initial_h, initial_c, P, W_scale, W_zero_point, R_scale, R_zero_point)),
        direction=direction, hidden_size=hidden_size)
    backward = ways(direction)
    steps, batch, _ = X.shape
    hidden = R.shape[1]
    lengths = np.full(batch, steps) if sequence_lens is None else sequence_lens
    if batch and not 0 <= lengths.min() <= lengths.max() <= steps:
        raise ValueError(f"sequence_lens {lengths.tolist()} of {steps} steps")
    f = [clipped(*a, clip) for a in functions("LSTM", len(backward), activations, activation_alpha, activation_beta)]
    y = np.zeros((steps, len(backward), batch, hidden), np.float32)
    h, c = (np.zeros((len(backward), batch, hidden), np.float32) if s is None else s.copy() for s in (initial_h, initial_c))
    for d, back in enumerate(backward):
        bias = 0 if B is None else B[d, :4 * hidden] + B[d, 4 * hidden:]
        product_x, product_h = factor(W[d], W_scale[d], W_zero_point[d]), factor(R[d], R_scale[d], R_zero_point[d])
        gates = (product_x(X.reshape(steps * batch, -1)) + bias).reshape(steps, batch, -1)
        peephole = None if P is None else np.split(P[d], 3)
        for s in range(steps):
            live = np.flatnonzero(s < lengths)
            at = lengths[live] - 1 - s if back else np.full(live.size, s)
            g = gates[at, live] + product_h(h[d])[live]
            h[d, live], c[d, live] = stepped(g, c[d, live], peephole, f[3 * d:3 * d + 3], input_forget)
            y[at, d, live] = h[d, live]
    return y, h, c


def clipped(name, alpha, beta, most):
    """An activation, after its input was clipped where that is asked for."""
    if most is None:
        return lambda x: ACTIVATE[name](x, alpha, beta)
    return lambda x: ACTIVATE[name](np.clip(x, -most, most), alpha, beta)


def stepped(g, c, peephole, f, coupled):
    """The new hidden and cell states of one step, from its gates before their activation."""
    i, o, forget, cell = np.split(g, 4, 1)
    if peephole is not None:
        i, forget = i + peephole[0] * c, forget + peephole[2] * c
    i = f[0](i)
    c = (1 - i if coupled else f[0](forget)) * c + i * f[1](cell)
    if peephole is not None:
        o = o + peephole[1] * c
    return f[0](o) * f[2](c), c


def factor(weights, scale, zero):
    """The product with quantized weights: a function of a matrix, which it quantizes by its own range."""
    whole = weights.astype(np.float64) - zero.astype(np.float64)  # sums of 2**53 and less are exact, and BLAS makes them

    def times(x):
        low, high = min(x.min(initial=0), 0), max(x.max(initial=0), 0)
        step = np.float32(high - low) / np.float32(255) or np.float32(1)
        origin = np.rint(np.clip(-low / step, 0, 255))
        q = np.clip(np.rint(x / step) + origin, 0, 255)
        return ((q - origin).astype(np.float64) @ whole).astype(np.float32) * (step * scale)
    return times
