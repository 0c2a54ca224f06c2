"""Activations with a bias added before, and those that a matrix product or a convolution ends with."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...dims import Fact
from ...kernels import elementwise
from ...kernels.step import Later
from ...registry import op
from ...types import FLOATS
from ..shapes import same, shape_of

FUSED = {"Relu": "relu", "LeakyRelu": "leaky_relu", "Sigmoid": "sigmoid", "Tanh": "tanh", "HardSigmoid": "hard_sigmoid",
         "Elu": "elu"}
SETTINGS = {"LeakyRelu": (0.01,), "HardSigmoid": (0.2, 0.5), "Elu": (1.0,)}  # as the activation has them where nothing is said
MICROSOFT = "com.microsoft"


def known(activation: str | None, allowed: Sequence[str]) -> None:
    """Refuse the name of an activation that is not served."""
    if activation is not None and activation not in allowed:
        raise ValueError(f"the activation is one of {', '.join(allowed)}, not {activation}")


def activate(name: str | None, settings: Sequence[float | None], y: np.ndarray) -> None:
    """Put an activation over an array, in its place."""
    if name is None or name == "Clip":
        if name is not None:
            np.clip(y, *settings, out=y)
        return
    defaults = SETTINGS.get(name, ())
    numbers = [d if s is None else s for s, d in zip([*settings, None, None], defaults, strict=False)]
    in_place(FUSED[name], y, *numbers)


def in_place(loop: str, y: np.ndarray, *settings: float) -> None:
    """Run a loop over the elements of an array at once."""
    step: Any = elementwise.unary(loop, y, y, *settings)
    step()


@op("Gelu", domain=MICROSOFT, signature="X: T -> Y: T", types={"T": FLOATS}, shape=same, inplace=(0,))
def gelu(X, *, out):
    """x times the normal distribution's share below it."""
    return elementwise.unary("gelu", X, out)


@op("QuickGelu", domain=MICROSOFT, signature="X: T -> Y: T", types={"T": FLOATS}, shape=same, inplace=(0,))
def quick_gelu(X, *, alpha=1.702, out):
    """x times the sigmoid of alpha x."""
    return elementwise.unary("swish", X, out, alpha)


def _along_rows(x: Fact, bias: Fact | None = None, **_: Any) -> list[Any]:
    shape = shape_of(x)
    if bias is not None:
        [*more, n] = shape_of(bias) or (1,)
        if more or not shape or isinstance(n, int) and isinstance(shape[-1], int) and n != shape[-1]:
            raise ValueError(f"a bias of {bias.shape} for rows of {shape}")
    return [shape]


@op("BiasGelu", domain=MICROSOFT, signature="A: T, B: T -> C: T", types={"T": FLOATS}, shape=_along_rows)
def bias_gelu(A, B, *, out):
    """The Gelu of each row and a bias."""
    return Later(lambda x, bias, out: _biased("gelu", x, bias, out), A, B, out)


@op("FastGelu", domain=MICROSOFT, signature="X: T, bias?: T -> Y: T", types={"T": FLOATS}, shape=_along_rows)
def fast_gelu(X, bias=None, *, out):
    """The Gelu by way of a hyperbolic tangent, of each row and a bias."""
    if bias is None:
        return elementwise.unary("gelu_tanh", X, out)
    return Later(lambda x, bias, out: _biased("gelu_tanh", x, bias, out), X, bias, out)


def _biased(name: str, x: np.ndarray, bias: np.ndarray, out: np.ndarray) -> None:
    _along_rows(Fact("", x.shape), Fact("", bias.shape))
    if x.dtype.itemsize > 2:
        np.add(x, bias, out=out)
        in_place(name, out)
        return
    wide = x.astype(np.float32) + bias.astype(np.float32)
    in_place(name, wide)
    out[...] = wide
