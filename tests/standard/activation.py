"""Activations, trigonometry and the softmax: formulas in float64."""
import math

import numpy as np

from .case import Case, case

SHAPE = (2, 3, 5)


def values(spec, low=-4.0, high=4.0):
    x = spec.data(SHAPE, next(iter(spec.types)), low, high)
    return x, x.astype(float)


def given(spec, **wanted):
    """The attributes that this version has."""
    return {k: v for k, v in wanted.items() if spec.has(k)}


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


RANGES = {"Acosh": (1, 9), "Atanh": (-0.95, 0.95), "Acos": (-1, 1), "Asin": (-1, 1), "Tan": (-1.4, 1.4), "Sin": (-30, 30),
          "Cos": (-30, 30)}


@case("Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cos", "Cosh", "Sin", "Sinh", "Tan", "Tanh")
def angles(spec):
    x, v = values(spec, *RANGES.get(spec.op, (-4, 4)))
    function = getattr(np, spec.op.lower().replace("asin", "arcsin").replace("acos", "arccos").replace("atan", "arctan"))
    return Case([x], [function(v)])


PLAIN = {"Sigmoid": sigmoid, "Softplus": lambda x: np.logaddexp(x, 0), "Softsign": lambda x: x / (1 + np.abs(x)),
         "Mish": lambda x: x * np.tanh(np.logaddexp(x, 0)), "HardSwish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1)}


@case("Sigmoid", "Softplus", "Softsign", "Mish", "HardSwish")
def plain(spec):
    x, v = values(spec, -30, 30)
    return Case([x], [PLAIN[spec.op](v)])


@case("Relu")
def relu(spec):
    x = spec.data(SHAPE, "T")
    return Case([x], [np.maximum(x, np.zeros((), x.dtype))], exact=True)


SET = {"LeakyRelu": lambda x, alpha: np.where(x < 0, alpha * x, x),
       "Elu": lambda x, alpha: np.where(x < 0, alpha * np.expm1(x), x),
       "Celu": lambda x, alpha: np.maximum(0, x) + np.minimum(0, alpha * np.expm1(x / alpha)),
       "Selu": lambda x, alpha, gamma: gamma * np.where(x > 0, x, alpha * np.expm1(x)),
       "HardSigmoid": lambda x, alpha, beta: np.clip(alpha * x + beta, 0, 1),
       "ThresholdedRelu": lambda x, alpha: np.where(x > alpha, x, 0),
       "Swish": lambda x, alpha: x * sigmoid(alpha * x)}


@case("LeakyRelu", "Elu", "Celu", "Selu", "HardSigmoid", "ThresholdedRelu", "Swish")
def with_settings(spec):
    x, v = values(spec)
    settings = given(spec, alpha=0.75, beta=0.375, gamma=1.5)
    return Case([x], [SET[spec.op](v, **settings)], **settings)


@case("Gelu")
def gelu(spec):
    x, v = values(spec)
    if spec.types["T"] in ("tensor(float)", "tensor(float16)"):
        inner = math.sqrt(2 / math.pi) * (v + 0.044715 * v**3)
        return Case([x], [v / 2 * (1 + np.tanh(inner))], approximate="tanh")
    return Case([x], [v / 2 * (1 + np.vectorize(math.erf)(v / math.sqrt(2)))])


@case("SwiGLU")
def swiglu(spec):
    a, b = spec.data(SHAPE, "T"), spec.data(SHAPE, "T")
    u, v = a.astype(float), b.astype(float)
    return Case([a, b], [u * sigmoid(1.5 * u) * v], alpha=1.5)


@case("Shrink")
def shrink(spec):
    x = spec.data(SHAPE, "T", -9, 9)
    v = x.astype(float)
    found = np.where(v < -2, v + 1.5, np.where(v > 2, v - 1.5, 0))
    return Case([x], [np.trunc(found).astype(x.dtype) if x.dtype.kind in "iu" else found], lambd=2.0, bias=1.5)


@case("PRelu")
def prelu(spec):
    x = spec.data(SHAPE, "T")
    slope = spec.data((3,) if spec.version < 7 else (3, 1), "T", 1, 3)
    u, v = x.astype(float), slope.astype(float).reshape(3, 1)
    return Case([x, slope], [np.where(u < 0, u * v, u)])


def along(spec, v):
    """How a version groups elements: along one axis, before 13 by all axes from one on."""
    if spec.version >= 13:
        return v, {"axis": 1}, 1
    return v.reshape(2, 15), {"axis": 1 if spec.version == 1 else -2}, 1


@case("Hardmax")
def hardmax(spec):
    x, v = values(spec)
    x[0, 1] = x[0, 2] = v[0, 1] = v[0, 2] = 9  # of equal ones the first counts
    rows, settings, axis = along(spec, v)
    found = np.zeros_like(rows)
    np.put_along_axis(found, np.expand_dims(rows.argmax(axis), axis), 1, axis)
    return Case([x], [found.reshape(SHAPE)], exact=True, **settings)
