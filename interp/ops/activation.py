"""Activations: elementwise functions of networks, most with settings of their own."""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..dims import Fact
from ..kernels import elementwise
from ..kernels.step import Later
from ..registry import Op, op
from ..types import FLOATS, OF_DTYPE
from .cast import converted
from .shapes import same, shape_of, widest


@op("Relu", 1, 14, shape=same, inplace=(0,))
def relu(X, *, consumed_inputs=None, out):
    """What is above zero; NaN stays."""
    return elementwise.unary("relu", X, out) or Later(_positive, X, out)


def _positive(x: np.ndarray, out: np.ndarray) -> None:
    np.maximum(x, x.dtype.type(0), out=out)


def _plain(name: str, ranges: tuple[int, int], loop: str) -> Op:
    """An activation without settings."""
    @op(name, *ranges, shape=same, inplace=(0,), types=FLOATS)
    def activation(X, *, consumed_inputs=None, out):
        return elementwise.unary(loop, X, out)
    return activation


sigmoid = _plain("Sigmoid", (1, 13), "sigmoid")
tanh = _plain("Tanh", (1, 13), "tanh")
hard_swish = _plain("HardSwish", (14, 22), "hard_swish")


softplus = _plain("Softplus", (1, 22), "softplus")
mish = _plain("Mish", (18, 22), "mish")


@op("Softsign", 1, 22, shape=same, inplace=(0,), types=FLOATS)
def softsign(input, *, out):
    """x / (1 + |x|)."""
    return elementwise.unary("softsign", input, out)


@op("LeakyRelu", 1, 16, shape=same, inplace=(0,), types=FLOATS)
def leaky_relu(X, *, alpha, consumed_inputs=None, out):
    """x, below zero alpha * x."""
    return elementwise.unary("leaky_relu", X, out, alpha)


@op("Elu", 1, 22, shape=same, inplace=(0,), types=FLOATS)
def elu(X, *, alpha, consumed_inputs=None, out):
    """x, below zero alpha * (e^x - 1)."""
    return elementwise.unary("elu", X, out, alpha)


@op("Celu", 12, 28, shape=same, inplace=(0,), types=FLOATS)
def celu(X, *, alpha, out):
    """x, below zero alpha * (e^(x / alpha) - 1)."""
    return elementwise.unary("celu", X, out, alpha)


@op("Selu", 1, 22, shape=same, inplace=(0,), types=FLOATS)
def selu(X, *, alpha, gamma, consumed_inputs=None, out):
    """gamma times x, up to zero gamma * alpha * (e^x - 1)."""
    return elementwise.unary("selu", X, out, alpha, gamma)


@op("ThresholdedRelu", 10, 22, shape=same, inplace=(0,), types=FLOATS)
def thresholded_relu(X, *, alpha, out):
    """What is above alpha, else zero."""
    return elementwise.unary("thresholded_relu", X, out, alpha)


@op("Gelu", 20, 20, shape=same, inplace=(0,), types=FLOATS)
def gelu(X, *, approximate, out):
    """x times the normal distribution's share below x, or its approximation by a tanh."""
    if approximate not in ("none", "tanh"):
        raise ValueError(f"Gelu approximated by {approximate!r}: it is none or tanh")
    return elementwise.unary("gelu_tanh" if approximate == "tanh" else "gelu", X, out)


@op("Swish", 24, 24, shape=same, inplace=(0,), types=FLOATS)
def swish(X, *, alpha, out):
    """x * sigmoid(alpha * x)."""
    return elementwise.unary("swish", X, out, alpha)


def _both_alike(a: Fact, b: Fact, **_: Any) -> list[Any]:
    if len(shape_of(a)) != len(shape_of(b)) or any(isinstance(m, int) and isinstance(n, int) and m != n
                                                   for m, n in zip(shape_of(a), shape_of(b), strict=True)):
        raise ValueError(f"{a.shape} and {b.shape} differ")
    return [a.shape]


@op("SwiGLU", 28, 28, shape=_both_alike, inplace=(0, 1), types=FLOATS)
def swiglu(A, B, *, alpha, out):
    """The swish of the gate A times B."""
    return elementwise.binary("swiglu", A, B, out, alpha)


@op("Shrink", 9, 9, shape=same, inplace=(0,))
def shrink(input, *, bias, lambd, out):
    """x nearer to zero by a bias where it is farther from it than lambd, else zero; whole numbers as Cast rounds them."""
    return elementwise.unary("shrink", input, out, lambd, bias) or Later(partial(_shrunk, bias, lambd), input, out)


def _shrunk(bias: float, lambd: float, x: np.ndarray, out: np.ndarray) -> None:
    below, above = x < -lambd, x > lambd
    if float(bias).is_integer() and abs(bias) < 2**53:  # exact, whatever the size of the numbers
        step = np.array(int(bias)).astype(x.dtype)
        out[...] = np.where(below, x + step, np.where(above, x - step, x.dtype.type(0)))
    else:
        moved = x.astype("f8") + np.where(below, bias, np.where(above, -bias, 0))
        out[...] = np.where(below | above, converted(moved, OF_DTYPE[x.dtype]), x.dtype.type(0))


@op("HardSigmoid", 1, 22, shape=same, inplace=(0,), types=FLOATS)
def hard_sigmoid(X, *, alpha, beta, consumed_inputs=None, out):
    """alpha * x + beta, between 0 and 1."""
    return elementwise.unary("hard_sigmoid", X, out, alpha, beta)


def _leaning(place: Callable) -> Callable:
    """The shape rule of PRelu: that of X, to which the slope must broadcast."""
    def rule(x: Fact, slope: Fact, **_: Any) -> list[Any]:
        widest([shape_of(x), place(shape_of(x), shape_of(slope))])
        return [x.shape]
    return rule


def _by_channel(shape: tuple, slope: tuple) -> tuple:
    """Before version 7 a slope has one number, or one for each channel."""
    return (*slope, *(1,) * (len(shape) - 2)) if len(slope) == 1 and len(shape) > 1 else slope


@op("PRelu", 1, 6, shape=_leaning(_by_channel), inplace=(0,), types=FLOATS)
def prelu_by_channel(X, slope, *, consumed_inputs=None, out):
    """x, below zero slope * x; with one slope, or one for each channel."""
    return elementwise.binary("prelu", X, slope.reshape(_by_channel(X.shape, slope.shape)), out)


@op("PRelu", 7, 16, shape=_leaning(lambda shape, slope: slope), inplace=(0,))
def prelu(X, slope, *, out):
    """x, below zero slope * x; the slope broadcasts to X."""
    return elementwise.binary("prelu", X, slope, out) or Later(_leaned, X, slope, out)


def _leaned(x: np.ndarray, slope: np.ndarray, out: np.ndarray) -> None:
    out[...] = np.where(x < 0, x * slope, x)
