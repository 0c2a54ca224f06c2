"""Losses: the negative logarithm of the probability of the right classes."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..dims import Fact
from ..registry import op
from .shapes import shape_of

REDUCTIONS = ("none", "mean", "sum")


def _reduced(x: Fact, target: Fact, weight: Fact | None = None, *, reduction: str, **_: Any) -> list[Any]:
    shape, due = shape_of(x), shape_of(target)
    if reduction not in REDUCTIONS:
        raise ValueError(f"there is no reduction {reduction!r}; there are {', '.join(REDUCTIONS)}")
    if len(shape) < 2 or len(due) != len(shape) - 1:
        raise ValueError(f"targets of {list(due)} do not go with scores of {list(shape)}")
    return [due if reduction == "none" else (), shape]


def _check(x: np.ndarray, target: np.ndarray, weight: np.ndarray | None, ignored: np.ndarray) -> None:
    classes = x.shape[1]
    if target.shape != (x.shape[0], *x.shape[2:]):
        raise ValueError(f"targets of {list(target.shape)} do not go with scores of {list(x.shape)}")
    if weight is not None and weight.shape != (classes,):
        raise ValueError(f"there are {classes} classes and weights of {list(weight.shape)}")
    wrong = target[~ignored & ((target < 0) | (target >= classes))]
    if wrong.size:
        raise ValueError(f"there is no class {wrong[0]}, there are {classes}")


def picked_weights(x: np.ndarray, target: np.ndarray, weight: np.ndarray | None,
                   ignore_index: int | None) -> tuple[np.ndarray, np.ndarray]:
    """What each target counts for, nothing where it is ignored, in float64; and the class it names, 0 where it is ignored."""
    ignored = np.zeros(target.shape, bool) if ignore_index is None else target == ignore_index
    _check(x, target, weight, ignored)
    right = np.where(ignored, 0, target).astype(np.int64)
    each = np.ones(target.shape) if weight is None else weight.astype(np.float64)[right]
    return np.where(ignored, 0, each), right


def picked(logs: np.ndarray, target: np.ndarray, weight: np.ndarray | None, ignore_index: int | None, reduction: str) -> Any:
    """Minus the logarithms of the right classes' probabilities, weighted; those of ignored targets count for nothing."""
    each, right = picked_weights(logs, target, weight, ignore_index)
    taken = np.take_along_axis(logs, right[:, None], 1)[:, 0] if logs.shape[1] else np.zeros(target.shape)
    loss = np.where(ignore_index is not None and target == ignore_index, 0, -taken * each)
    if reduction == "none":
        return loss
    with np.errstate(invalid="ignore", divide="ignore"):
        return loss.sum() / each.sum() if reduction == "mean" else loss.sum()


@op("NegativeLogLikelihoodLoss", 12, 22, shape=_reduced)
def negative_log_likelihood_loss(input, target, weight=None, *, ignore_index, reduction):
    """The loss of scores that are logarithms of probabilities already; a mean is taken over weights, and is NaN over none."""
    return np.asarray(picked(input.astype(np.float64), target, weight, ignore_index, reduction)).astype(input.dtype)


@op("SoftmaxCrossEntropyLoss", 12, 13, shape=_reduced)
def softmax_cross_entropy_loss(scores, labels, weights=None, *, ignore_index, reduction):
    """The loss of scores that softmax makes probabilities; and the logarithms of those."""
    x = scores.astype(np.float64)
    with np.errstate(invalid="ignore"):
        x = x - x.max(1, keepdims=True, initial=-np.inf)
    logs = x - np.log(np.exp(x).sum(1, keepdims=True))
    loss = np.asarray(picked(logs, labels, weights, ignore_index, reduction))
    return loss.astype(scores.dtype), logs.astype(scores.dtype)
