"""Optimisers of ai.onnx.preview.training: one update of any number of tensors, with their gradients and running averages."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..dims import Fact
from ..registry import op

DOMAIN = "ai.onnx.preview.training"


def _updated(states: int) -> Callable[..., list[Any]]:
    """The shape rule for operators that keep so many states beside each tensor: tensors and states keep their shapes."""
    def rule(rate: Fact, count: Fact, *inputs: Fact, **_: Any) -> list[Any]:
        n = len(inputs) // (states + 2)
        if n * (states + 2) != len(inputs) or not n:
            raise ValueError(f"{len(inputs)} inputs are no tensors with a gradient and {states} state(s) each")
        return [Fact(f.type, f.shape) for f in (*inputs[:n], *inputs[2 * n:])]
    return rule


def updated(update: Callable[..., tuple], states: int, inputs: tuple) -> tuple[np.ndarray, ...]:
    """New tensors, then their new states, kind by kind; `update` gets a tensor, its gradient and its states in float64."""
    n = len(inputs) // (states + 2)
    for k, x in enumerate(inputs):
        if x.shape != inputs[k % n].shape:
            raise ValueError(f"a tensor of {list(inputs[k % n].shape)} has a gradient or a state of {list(x.shape)}")

    def one(k: int) -> Iterator[np.ndarray]:
        for found in update(*(x.astype(np.float64) for x in inputs[k::n])):
            yield found.astype(inputs[k].dtype)
    return tuple(x for kind in zip(*map(one, range(n)), strict=True) for x in kind)


def number(x: np.ndarray) -> float:
    """A learning rate or a count of updates."""
    if np.size(x) != 1:
        raise ValueError(f"a learning rate and a count of updates are one number each, not {np.size(x)}")
    return float(np.ravel(x)[0])


@op("Adagrad", 1, 1, domain=DOMAIN, shape=_updated(1))
def adagrad(R, T, *inputs, decay_factor, epsilon, norm_coefficient):
    """ADAGRAD (Duchi, Hazan, Singer 2011): steps shrink with the sum of squared gradients."""
    rate = number(R) / (1 + number(T) * decay_factor)

    def update(x, gradient, squares):
        g = norm_coefficient * x + gradient
        squares = squares + g * g
        return x - rate * g / (np.sqrt(squares) + epsilon), squares
    return updated(update, 1, inputs)


@op("Adam", 1, 1, domain=DOMAIN, shape=_updated(2))
def adam(R, T, *inputs, alpha, beta, epsilon, norm_coefficient, norm_coefficient_post):
    """Adam: steps along the running average of gradients, scaled by that of their squares."""
    rate, count = number(R), number(T)
    if count > 0:
        rate *= np.sqrt(1 - beta ** count) / (1 - alpha ** count)

    def update(x, gradient, average, squares):
        g = norm_coefficient * x + gradient
        average = alpha * average + (1 - alpha) * g
        squares = beta * squares + (1 - beta) * g * g
        moved = x - rate * average / (np.sqrt(squares) + epsilon)
        return (1 - norm_coefficient_post) * moved, average, squares
    return updated(update, 2, inputs)


@op("Momentum", 1, 1, domain=DOMAIN, shape=_updated(1))
def momentum(R, T, *inputs, alpha, beta, mode, norm_coefficient):
    """Stochastic gradient descent with momentum, or with Nesterov's."""
    if mode not in ("standard", "nesterov"):
        raise ValueError(f"there is no mode {mode!r}; there are standard and nesterov")
    rate, scale = number(R), beta if number(T) > 0 else 1

    def update(x, gradient, speed):
        g = norm_coefficient * x + gradient
        speed = alpha * speed + scale * g
        return x - rate * (g + alpha * speed if mode == "nesterov" else speed), speed
    return updated(update, 1, inputs)
