"""Recurrent layers: RNN, GRU and LSTM, in either direction or both.

The texts of RNN-1, GRU-1, GRU-3 and LSTM-1 leave out that the recurrent weights are transposed; version 7 wrote down what
every exporter and engine did (onnx#1103), so all versions are one function each.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..dims import Fact, Size
from ..kernels import recurrent
from ..kernels.step import Later
from ..registry import op
from .shapes import shape_of

DIRECTIONS = {"forward": [False], "foward": [False], "reverse": [True], "bidirectional": [False, True]}  # GRU-1 has the typo
# What an activation has where the node gives no value: alpha, then beta; None where the function has no such parameter.
PARAMETERS: dict[str, tuple[float | None, float | None]] = {
    "affine": (1.0, 0.0), "leakyrelu": (0.01, None), "thresholdedrelu": (1.0, None), "scaledtanh": (1.0, 1.0),
    "hardsigmoid": (0.2, 0.5), "elu": (1.0, None), "relu": (None, None), "tanh": (None, None), "sigmoid": (None, None),
    "softsign": (None, None), "softplus": (None, None),
}
USUAL = {"RNN": ("tanh",), "GRU": ("sigmoid", "tanh"), "LSTM": ("sigmoid", "tanh", "tanh")}


def ways(direction: str) -> list[bool]:
    """Whether each direction runs backward."""
    if direction not in DIRECTIONS:
        raise ValueError(f"direction {direction!r}: it is forward, reverse or bidirectional")
    return DIRECTIONS[direction]


def functions(cell: str, directions: int, names: Sequence[str] | None, alphas: Iterable[float] | None,
              betas: Iterable[float] | None) -> list[tuple[str, float, float]]:
    """Every activation of every direction with its parameters, which are consumed in order by the functions that have them."""
    usual = USUAL[cell]
    found = [n.lower() for n in names or usual * directions]
    if cell == "RNN" and len(found) == 2 and directions == 1:
        found = found[:1]  # the schema's default is for both directions
    if len(found) != directions * len(usual) or not {*found} <= PARAMETERS.keys():
        raise ValueError(f"activations {list(names or ())}: {directions * len(usual)} of {', '.join(PARAMETERS)} are due")
    columns = []
    for k, given in enumerate((alphas, betas)):
        values, has = list(given or ()), [PARAMETERS[n][k] is not None for n in found]
        if len(values) > sum(has):
            if len(values) != len(found):
                raise ValueError(f"{len(values)} values of {('alpha', 'beta')[k]} for {sum(has)} activations that have one")
            values = [v for v, taken in zip(values, has, strict=True) if taken]
        rest = iter(values)
        columns.append([next(rest, PARAMETERS[n][k]) if taken else 0.0 for n, taken in zip(found, has, strict=True)])
    return [(n, float(a or 0), float(b or 0)) for n, a, b in zip(found, *columns, strict=True)]


def layered(gates: int, outputs: int) -> Any:
    """The shape rule of a layer with so many gates and outputs."""
    def rule(X: Fact, W: Fact, R: Fact, B: Fact | None = None, sequence_lens: Fact | None = None, initial_h: Fact | None = None,
             initial_c: Fact | None = None, P: Fact | None = None, *, direction: str, hidden_size: int | None, layout: int = 0,
             **_: Any) -> list[Any]:
        d = len(ways(direction))
        if layout not in (0, 1):
            raise ValueError(f"layout {layout}: it is 0 or 1")
        x, r = shape_of(X), shape_of(R)
        if len(x) != 3 or len(r) != 3:
            raise ValueError(f"X and R have three axes, not {x} and {r}")
        hidden = r[2] if isinstance(r[2], int) or hidden_size is None else hidden_size
        if hidden_size is not None and hidden != hidden_size:
            raise ValueError(f"hidden_size is {hidden_size}, and R has {hidden}")
        (batch, steps) = (x[0], x[1]) if layout else (x[1], x[0])
        state: tuple[Size, ...] = (batch, d, hidden) if layout else (d, batch, hidden)
        due = {"W": (W, (d, gates * hidden, x[2])), "R": (R, (d, gates * hidden, hidden)), "B": (B, (d, 2 * gates * hidden)),
               "sequence_lens": (sequence_lens, (batch,)), "initial_h": (initial_h, state), "initial_c": (initial_c, state),
               "P": (P, (d, 3 * hidden))}
        for name, (fact, shape) in due.items():
            if fact is not None and not fits(shape_of(fact), shape):
                raise ValueError(f"{name} is {shape_of(fact)} where {shape} is due")
        return [(batch, steps, d, hidden) if layout else (steps, d, batch, hidden), state, state][:outputs]
    return rule


def fits(shape: tuple[Size, ...], due: tuple[Size, ...]) -> bool:
    """Whether no size that is known contradicts what is due."""
    return len(shape) == len(due) and all(a == b or not isinstance(a, int) or not isinstance(b, int)
                                          for a, b in zip(shape, due, strict=True))


def bind(cell, X, W, R, B, lengths, h, c, P, names, alphas, betas, direction, layout, out, constant, **settings):
    """A layer as a step; 16-bit floats are widened, and rounded once at the end."""
    out = [*out, *[None] * (3 - len(out))]
    backward = ways(direction)
    settings |= {"activations": functions(cell, len(backward), names, alphas, betas), "backward": backward,
                 "batch_first": bool(layout)}
    w = constant(recurrent.Packed, W)
    r = constant(recurrent.Packed.gated if cell == "GRU" else recurrent.Packed, R)
    if X.itemsize > 2:
        return recurrent.layer(cell, X, w, r, B, lengths, h, c, P, *out, **settings)
    packed = [a if isinstance(a, recurrent.Packed) else None for a in (w, r)]
    return Later(widened, cell, settings, packed, lengths, X, W, R, B, h, c, P, *out)


def widened(cell, settings, packed, lengths, *arrays):
    """Run a layer of 16-bit floats in float32."""
    wide = [None if a is None else a.astype(np.float32) for a in arrays]
    x, w, r, b, h, c, p, *results = [q or a for q, a in zip([None, *packed, *[None] * 8], wide, strict=False)]
    recurrent.layer(cell, x, w, r, b, lengths, h, c, p, *results, **settings)()
    for narrow, result in zip(arrays[7:], results, strict=True):
        if narrow is not None:
            narrow[...] = result


@op("RNN", 1, 22, shape=layered(1, 2))
def rnn(X, W, R, B=None, sequence_lens=None, initial_h=None, *, activation_alpha, activation_beta, activations, clip, direction,
        hidden_size, layout=0, output_sequence=0, out, constant):
    """A simple recurrent layer: the new state is an activation of the weighted input and the weighted old state."""
    return bind("RNN", X, W, R, B, sequence_lens, initial_h, None, None, activations, activation_alpha, activation_beta,
                direction, layout, out, constant, clip=clip)


@op("GRU", 1, 22, shape=layered(3, 2))
def gru(X, W, R, B=None, sequence_lens=None, initial_h=None, *, activation_alpha, activation_beta, activations, clip, direction,
        hidden_size, layout=0, linear_before_reset=0, output_sequence=0, out, constant):
    """A gated recurrent layer: an update gate chooses between the old state and a new one, which a reset gate may forget."""
    return bind("GRU", X, W, R, B, sequence_lens, initial_h, None, None, activations, activation_alpha, activation_beta,
                direction, layout, out, constant, clip=clip, linear_first=linear_before_reset != 0)


@op("LSTM", 1, 22, shape=layered(4, 3))
def lstm(X, W, R, B=None, sequence_lens=None, initial_h=None, initial_c=None, P=None, *, activation_alpha, activation_beta,
         activations, clip, direction, hidden_size, input_forget, layout=0, output_sequence=0, out, constant):
    """A layer of long short-term memory: gates choose what its cells take in, forget and show."""
    return bind("LSTM", X, W, R, B, sequence_lens, initial_h, initial_c, P, activations, activation_alpha, activation_beta,
                direction, layout, out, constant, clip=clip, coupled=input_forget != 0)
