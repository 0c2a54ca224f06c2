"""Post-transforms of scores, in float64."""
import math

import numpy as np


def softmax(z):
    e = np.exp(z - z.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def softmax_zero(z):
    """Scores of 0 stay there, as onnxruntime and onnx.reference have it."""
    e = np.where(np.abs(z) < 1e-7, 0, np.exp(z - z.max(-1, keepdims=True)))
    total = e.sum(-1, keepdims=True)
    return np.where(total == 0, 0.5, e / np.where(total == 0, 1, total))


def logistic(z):
    return 1 / (1 + np.exp(-z))


def probit(p):
    """Winitzki's formula for the inverse error function with a = 0.147, as in onnx.reference."""
    x = 2 * p - 1
    log = np.log((1 - x) * (1 + x))
    v = 2 / (math.pi * 0.147) + log / 2
    return np.sign(x) * np.sqrt(2) * np.sqrt(np.sqrt(v * v - log / 0.147) - v)


TRANSFORMS = {"NONE": lambda z: z, "SOFTMAX": softmax, "LOGISTIC": logistic, "SOFTMAX_ZERO": softmax_zero, "PROBIT": probit}
