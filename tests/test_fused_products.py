"""Fused matrix products and convolutions against float64 formulas: what is added, every activation, batches, types, threads."""
import math

import ml_dtypes
import numpy as np
import onnx
import pytest

import interp
from interp.dims import Fact
from interp.kernels.activate import NAMES
from interp.ops.fused import matmul, plain_conv
from interp.registry import misfits

from .fusing import model
from .test_conv import NOTHING, exact

TYPES = [np.float32, np.float64, np.float16, ml_dtypes.bfloat16]
# Errors are relative to the sum of the absolute terms; 16-bit results are rounded once more.
TOLERANCE = {np.float32: 2e-6, np.float64: 4e-15, np.float16: 1e-3, ml_dtypes.bfloat16: 8e-3}
erf = np.vectorize(math.erf)
# Every activation as the text of its operator has it, with the alpha and the beta that it is tried with.
FORMULAS = {
    "": (lambda x, a, b: x, 0, 0),
    "Relu": (lambda x, a, b: np.maximum(x, 0), 0, 0),
    "LeakyRelu": (lambda x, a, b: np.where(x < 0, a * x, x), 0.1, 0),
    "Clip": (lambda x, a, b: np.clip(x, a, b), -0.5, 1.5),
    "HardSigmoid": (lambda x, a, b: np.clip(a * x + b, 0, 1), 0.2, 0.5),
    "HardSwish": (lambda x, a, b: x * np.clip(x / 6 + 0.5, 0, 1), 0, 0),
    "Sigmoid": (lambda x, a, b: 1 / (1 + np.exp(-x)), 0, 0),
    "Tanh": (lambda x, a, b: np.tanh(x), 0, 0),
    "Swish": (lambda x, a, b: x / (1 + np.exp(-a * x)), 1.5, 0),
    "Gelu": (lambda x, a, b: x * 0.5 * (1 + erf(x / math.sqrt(2))), 0, 0),
    "GeluTanh": (lambda x, a, b: x * 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))), 0, 0),
    "Mish": (lambda x, a, b: x * np.tanh(np.log1p(np.exp(x))), 0, 0),
    "Elu": (lambda x, a, b: np.where(x < 0, a * np.expm1(np.minimum(x, 0)), x), 1.3, 0),
}


def drawn(shape, dtype=np.float32, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def wide(x):
    return np.asarray(x, np.float64)


def always(make, array, *settings):
    return make(array, *settings)


def never(make, array, *settings):
    return array


def near(y, sums, scale, dtype, name=""):
    """Whether a result is the activation of float64 sums of terms whose sizes add up to `scale`: no slope exceeds 1.5."""
    formula, alpha, beta = FORMULAS[name]
    due = formula(sums, alpha, beta)
    assert y.dtype == dtype and y.shape == due.shape
    assert np.all(np.abs(wide(y) - due) <= 1.5 * TOLERANCE[dtype] * (scale + 1))


def multiplied(a, b, c=None, residual=None, *, name="", dtype=np.float32, constant=always, over=False, threads=1, trans_a=0,
               trans_b=0, alpha=1.0, beta=1.0):
    """A fused product held against the formula: its bytes."""
    _, first, second = FORMULAS[name]
    left, right = (wide(x).swapaxes(-1, -2) if t else wide(x) for x, t in ((a, trans_a), (b, trans_b)))
    sums, scale = alpha * (left @ right), abs(alpha) * (np.abs(left) @ np.abs(right))
    for x, factor in ((c, beta), (residual, 1)):
        if x is not None:
            sums, scale = sums + factor * wide(x), scale + np.abs(factor * wide(x))
    y = residual if over else np.full(sums.shape, np.nan, dtype)
    matmul.fused_mat_mul(a, b, c, residual, alpha=alpha, beta=beta, transA=trans_a, transB=trans_b, activation=name,
                         act_alpha=first, act_beta=second, constant=constant, out=y)(threads)
    near(y, sums, scale, dtype, name)
    return y.tobytes()


def test_the_formulas_are_all():
    assert tuple(FORMULAS) == NAMES


@pytest.mark.parametrize("op", [matmul.fused_mat_mul, plain_conv.fused_conv])
def test_the_declarations_fit(op):
    assert not list(misfits(op))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("m", "k", "n"), [(1, 5, 3), (1, 300, 150), (7, 20, 19), (13, 600, 33)])
def test_activations_of_products(m, k, n, name, dtype):
    a, b, c, r = drawn((m, k), dtype), drawn((k, n), dtype, 1) / dtype(4), drawn(n, dtype, 2), drawn((m, n), dtype, 3)
    multiplied(a, b, c, r, name=name, dtype=dtype)
    multiplied(a, b, c, name=name, dtype=dtype, constant=never)


@pytest.mark.parametrize("constant", [always, never])
@pytest.mark.parametrize("c", [None, (), (1,), (37,), (1, 37), (23, 1), (23, 37)])
@pytest.mark.parametrize("lead", [(), (3,), (2, 3)])
@pytest.mark.parametrize(("trans_a", "trans_b"), [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_products_of_batches_scale_turn_and_add(c, lead, trans_a, trans_b, constant):
    m, k, n = 23, 270, 37
    a, b = drawn((*lead, k, m) if trans_a else (*lead, m, k)), drawn((*lead, n, k) if trans_b else (*lead, k, n), seed=1)
    added = None if c is None else np.asarray(drawn(c, seed=2), np.float32)
    multiplied(a, b, added, drawn((*lead, m, n), seed=3), name="LeakyRelu", constant=constant, trans_a=trans_a, trans_b=trans_b,
               alpha=0.5, beta=-2.0)


@pytest.mark.parametrize("constant", [always, never])
def test_one_factor_serves_a_batch(constant):
    a, b, r = drawn((4, 5, 30)), drawn((30, 40), seed=1), drawn((4, 5, 40), seed=2)
    multiplied(a, b, drawn(40, seed=3), r, constant=constant, name="Gelu")
    multiplied(a, b, drawn((5, 1), seed=3), r, constant=constant, name="Gelu")


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("m", "k", "n"), [(1, 700, 130), (3, 9, 5), (29, 600, 300)])
def test_a_product_may_be_written_over_its_residual(m, k, n, dtype):
    a, b, c = drawn((m, k), dtype), drawn((k, n), dtype, 1), drawn(n, dtype, 2)
    found = {multiplied(a, b, c, drawn((m, n), dtype, 3), name="Relu", dtype=dtype, over=over, threads=threads)
             for over in (False, True) for threads in (1, 2, 5)}
    assert len(found) == 1


def test_an_empty_sum_leaves_what_is_added():
    multiplied(drawn((3, 0)), drawn((0, 20)), drawn(20), drawn((3, 20), seed=1), name="Tanh")


def convolved(x, w, b=None, residual=None, *, name="", dtype=np.float32, constant=always, over=False, threads=1, **attributes):
    """A fused convolution held against the formula: its bytes."""
    _, alpha, beta = FORMULAS[name]
    given = {**NOTHING, **attributes}
    sums, scale = exact(x, w, b, **given), exact(np.abs(x), np.abs(w), None if b is None else np.abs(b), **given)
    if residual is not None:
        sums, scale = sums + wide(residual), scale + np.abs(wide(residual))
    y = residual if over else np.full(sums.shape, np.nan, dtype)
    plain_conv.fused_conv(x, w, b, residual, **given, activation=name, alpha=alpha, beta=beta, constant=constant, out=y)(threads)
    near(y, sums, scale, dtype, name)
    return y.tobytes()


CONVOLUTIONS = [  # input, weights, attributes
    ((2, 3, 9, 11), (5, 3, 3, 3), dict(pads=(1, 1, 1, 1))),
    ((1, 40, 7, 7), (13, 40, 1, 1), {}),
    ((1, 300, 5, 7), (13, 300, 1, 1), {}),
    ((1, 6, 10), (4, 3, 3), dict(group=2, strides=(2,))),
    ((1, 70, 6), (33, 70, 5), dict(pads=(2, 2))),
    ((1, 2, 4, 5, 6), (3, 2, 2, 3, 3), {}),
    ((2, 6, 9, 13), (6, 1, 3, 3), dict(group=6, pads=(1, 1, 1, 1))),  # from here on by planes
    ((1, 4, 14, 3), (8, 1, 3, 3), dict(group=4, pads=(1, 1, 1, 1), strides=(2, 1))),
    ((1, 5, 40), (5, 1, 5), dict(group=5, dilations=(2,))),
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("x", "w", "attributes"), CONVOLUTIONS)
def test_activations_of_convolutions(x, w, attributes, name):
    images, weights, bias = drawn(x), drawn(w, seed=1) / np.float32(4), drawn(w[0], seed=2)
    convolved(images, weights, bias, name=name, **attributes)
    shape = exact(images, weights, None, **{**NOTHING, **attributes}).shape
    convolved(images, weights, bias, drawn(shape, seed=3), name=name, **attributes)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("constant", [always, never])
@pytest.mark.parametrize(("x", "w", "attributes"), CONVOLUTIONS)
def test_a_convolution_may_be_written_over_its_residual(x, w, attributes, constant, dtype):
    images, weights, bias = drawn(x, dtype), drawn(w, dtype, 1), drawn(w[0], dtype, 2)
    shape = exact(images, weights, None, **{**NOTHING, **attributes}).shape
    found = {convolved(images, weights, bias, drawn(shape, dtype, 3), name="HardSwish", dtype=dtype, constant=constant,
                       over=over, threads=threads, **attributes) for over in (False, True) for threads in (1, 2, 5)}
    assert len(found) == 1


def refused(op, facts, **attributes):
    with pytest.raises(ValueError):
        op.shape(*(f and Fact("tensor(float)", f) for f in facts), **attributes)


def test_shapes_that_do_not_fit_are_refused():
    plain = dict(transA=0, transB=0, activation=None)
    assert matmul.fused_mat_mul.shape(*(Fact("tensor(float)", s) for s in ((2, 5, 3), (7, 5), (7,), (2, 3, 7))),
                                      transA=1, transB=1, activation="Relu") == [(2, 3, 7)]
    refused(matmul.fused_mat_mul, ((5,), (5, 3)), **plain)
    refused(matmul.fused_mat_mul, ((4, 5), (4, 3)), **plain)
    refused(matmul.fused_mat_mul, ((4, 5), (5, 3), (2,)), **plain)
    refused(matmul.fused_mat_mul, ((4, 5), (5, 3), None, (3,)), **plain)
    refused(matmul.fused_mat_mul, ((4, 5), (5, 3)), transA=0, transB=0, activation="Softmax")
    refused(plain_conv.fused_conv, ((1, 2, 5), (3, 2, 1), None, (1, 3, 1)), activation=None, alpha=0, beta=0, **NOTHING)
    refused(plain_conv.fused_conv, ((1, 2, 5), (3, 2, 1)), activation="Softmax", alpha=0, beta=0, **NOTHING)


def test_the_kernels_refuse_a_residual_of_another_shape():
    y = np.empty((4, 3), np.float32)
    with pytest.raises(ValueError, match="residual"):
        matmul.fused_mat_mul(drawn((4, 5)), drawn((5, 3)), None, drawn((3,)), constant=never, out=y)
    with pytest.raises(ValueError, match="residual"):
        plain_conv.fused_conv(drawn((1, 2, 5)), drawn((3, 2, 1)), None, drawn((1, 3, 1)), **NOTHING, constant=never,
                              out=np.empty((1, 3, 5), np.float32))


def test_a_graph_of_private_operators_runs_over_its_residual():
    made = model('''<ir_version: 10, opset_import: ["": 22, "interp": 1]>
        g (float[2, 8] a, float[1, 2, 3, 3] x) => (float[2, 4] y, float[1, 2, 3, 3] z) {
        r = MatMul(a, b)
        y = interp.FusedMatMul<activation = "Relu">(a, b, , r)
        s = Relu(x)
        z = interp.FusedConv<activation = "Tanh">(x, w, , s) }''')
    b, w, a, x = drawn((8, 4)), drawn((2, 2, 1, 1), seed=1), drawn((2, 8), seed=2), drawn((1, 2, 3, 3), seed=3)
    made.graph.initializer.extend([onnx.numpy_helper.from_array(b, "b"), onnx.numpy_helper.from_array(w, "w")])
    y, z = interp.load(made).run(None, {"a": a, "x": x})
    np.testing.assert_allclose(y, np.maximum(2 * (a @ b), 0), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(z, np.tanh(np.einsum("oi,nihw->nohw", w[:, :, 0, 0], x) + np.maximum(x, 0)), rtol=1e-5, atol=1e-5)
