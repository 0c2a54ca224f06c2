"""Activations: elementwise functions with settings of their own, and the softmax."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..dims import Fact
from ..kernels import elementwise
from ..kernels.step import Later
from ..registry import Op, op
from ..types import FLOATS
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


@op("LeakyRelu", 1, 16, shape=same, inplace=(0,), types=FLOATS)
def leaky_relu(X, *, alpha, consumed_inputs=None, out):
    """x, below zero alpha * x."""
    return elementwise.unary("leaky_relu", X, out, alpha)


@op("Elu", 1, 22, shape=same, inplace=(0,), types=FLOATS)
def elu(X, *, alpha, consumed_inputs=None, out):
    """x, below zero alpha * (e^x - 1)."""
    return elementwise.unary("elu", X, out, alpha)


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
