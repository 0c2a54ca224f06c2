"""Optimisers, by the pseudo code of their texts, on two tensors at once; and Gradient, of a square."""
import numpy as np
from onnx import helper

from .case import Case, case

DOMAIN = "ai.onnx.preview.training"


def tensors(spec, states):
    """Two tensors, their gradients, and their states, which are not negative."""
    shapes = [(2, 3), (4,)]
    given = [spec.data(s, "T3") for _ in range(2) for s in shapes]
    return given + [spec.data(s, "T3", 0.5, 2) for _ in range(states) for s in shapes]


def rate_and_count(spec):
    return np.array(0.1, spec.dtype("T1")), np.array(3, np.int64)


def run(step, inputs, states):
    """Apply a step to each of the two tensors."""
    done = [step(*(x.astype(float) for x in inputs[k::2])) for k in range(2)]
    return [done[k][part].astype(inputs[k].dtype) for part in range(states + 1) for k in range(2)]


@case("Adagrad", domain=DOMAIN)
def adagrad(spec):
    R, T = rate_and_count(spec)
    inputs = tensors(spec, 1)

    def step(x, g, h):
        g = 0.25 * x + g
        h_new = h + g * g
        return x - float(R) / (1 + 3 * 0.5) * g / (np.sqrt(h_new) + 0.125), h_new
    return Case([R, T, *inputs], run(step, inputs, 1), decay_factor=0.5, norm_coefficient=0.25, epsilon=0.125)


@case("Adam", domain=DOMAIN)
def adam(spec):
    R, T = rate_and_count(spec)
    inputs = tensors(spec, 2)

    def step(x, g, v, h):
        g = 0.25 * x + g
        v_new, h_new = 0.5 * v + 0.5 * g, 0.75 * h + 0.25 * g * g
        r = float(R) * np.sqrt(1 - 0.75 ** 3) / (1 - 0.5 ** 3)
        return (1 - 0.125) * (x - r * v_new / (np.sqrt(h_new) + 0.125)), v_new, h_new
    return Case([R, T, *inputs], run(step, inputs, 2), alpha=0.5, beta=0.75, norm_coefficient=0.25, norm_coefficient_post=0.125,
                epsilon=0.125)


@case("Momentum", domain=DOMAIN)
def momentum(spec):
    R, T = rate_and_count(spec)
    inputs = tensors(spec, 1)

    def step(x, g, v):
        g = 0.25 * x + g
        v_new = 0.5 * v + 0.75 * g
        return x - float(R) * (g + 0.5 * v_new), v_new
    return Case([R, T, *inputs], run(step, inputs, 1), alpha=0.5, beta=0.75, norm_coefficient=0.25, mode="nesterov")


@case("Gradient", domain=DOMAIN)
def gradient(spec):
    """The square of x times the size of z, which may be of any type."""
    kind = spec.types["T2"] if spec.tried == "T2" or spec.dtype("T1").kind != "f" else spec.types["T1"]
    x, z = spec.array((2, 3), kind), spec.array((5,), spec.types["T1"])
    code = helper.np_dtype_to_tensor_dtype(x.dtype)
    square = [helper.make_node("Size", ["i1"], ["size"]), helper.make_node("Cast", ["size"], ["factor"], to=code),
              helper.make_node("Mul", ["i0", "i0"], ["squared"]), helper.make_node("Mul", ["squared", "factor"], ["y"])]
    return Case([x, z], [(2 * x.astype(float) * 5).astype(x.dtype)], before=square, xs=["i0"], zs=["i1"], y="y")
