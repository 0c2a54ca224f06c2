"""Losses, sample by sample."""
import numpy as np

from .case import Case, case


def loss(logs, target, weight, ignored):
    """The weighted mean of minus the logarithms of the right classes' probabilities, in float64."""
    total = weights = 0
    for at in np.ndindex(target.shape):
        if target[at] != ignored:
            total -= logs[(at[0], target[at], *at[1:])] * weight[target[at]]
            weights += weight[target[at]]
    return total / weights


def sample(spec):
    x, weight = spec.data((3, 5, 2), "T"), spec.data((5,), "T", 0.5, 2)
    target = spec.array((3, 2), spec.types["Tind"], 0, 4)
    target[1, 1] = -7
    return x, target, weight


@case("NegativeLogLikelihoodLoss")
def negative_log_likelihood_loss(spec):
    x, target, weight = sample(spec)
    return Case([x, target, weight], [loss(x.astype(float), target, weight.astype(float), -7)], ignore_index=-7)


@case("SoftmaxCrossEntropyLoss")
def softmax_cross_entropy_loss(spec):
    x, target, weight = sample(spec)
    logs = x.astype(float) - np.log(np.exp(x.astype(float)).sum(1, keepdims=True))
    return Case([x, target, weight], [loss(logs, target, weight.astype(float), -7), logs], ignore_index=-7)
