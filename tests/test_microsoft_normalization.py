"""Normalizations, activations and fused products of com.microsoft: what onnxruntime gives."""
import numpy as np
import pytest

import interp

from .microsoft import agree, ours

RANDOM = np.random.default_rng(17)


def random(*shape, dtype="f4"):
    return RANDOM.uniform(-2, 2, shape).astype(dtype)


@pytest.mark.parametrize("skip", [(2, 3, 8), (1, 3, 8), (3, 8)])
@pytest.mark.parametrize("beta", [0, 1])
@pytest.mark.parametrize("bias", [0, 1])
@pytest.mark.parametrize("dtype, near", [("f4", 1e-5), ("f2", 4e-3)])
def test_skips_are_added_and_normalized(skip, beta, bias, dtype, near):
    x, skip, gamma = random(2, 3, 8, dtype=dtype), random(*skip, dtype=dtype), random(8, dtype=dtype)
    beta, bias = (random(8, dtype=dtype) if there else None for there in (beta, bias))
    agree("SkipLayerNormalization", [x, skip, gamma, beta, bias], (dtype, None, None, dtype), near, epsilon=1e-4)
    agree("SkipLayerNormalization", [x, skip, gamma, beta, bias], (dtype,), near)
    agree("SkipSimplifiedLayerNormalization", [x, skip, gamma, bias], (dtype, None, None, dtype), near, epsilon=1e-4)


def test_statistics_of_skips_are_those_of_the_sum():
    x, skip, gamma = random(2, 3, 8), random(2, 3, 8), random(8)
    _, mean, spread, total = ours("SkipLayerNormalization", [x, skip, gamma], ("f4",) * 4, epsilon=0.5)
    np.testing.assert_allclose(mean, (x + skip).mean(-1, keepdims=True), atol=1e-6)
    np.testing.assert_allclose(spread, 1 / np.sqrt((x + skip).var(-1, keepdims=True) + 0.5), rtol=1e-6)
    np.testing.assert_array_equal(total, x + skip)


@pytest.mark.parametrize("axis", [-1, 1])
@pytest.mark.parametrize("outputs", [("f4",), ("f4", "f4")])
def test_the_simplified_kind_lives_in_the_standards_domain(axis, outputs):
    x = random(2, 3, 8)
    agree("SimplifiedLayerNormalization", [x, random(*x.shape[axis:])], outputs, domain="", axis=axis, epsilon=1e-3)


@pytest.mark.parametrize("segments, mask, places", [(0, 0, 0), (1, 0, 0), (1, 1, 0), (1, 1, 1), (0, 1, 1)])
def test_embeddings_are_added_and_normalized(segments, mask, places):
    ids = RANDOM.integers(0, 9, (2, 4)).astype("i4")
    tables = random(9, 8), random(6, 8), random(3, 8) if segments else None
    given = [ids, RANDOM.integers(0, 3, (2, 4)).astype("i4") if segments else None, *tables, random(8), random(8)]
    given += [np.array([[1, 1, 0, 0], [1, 1, 1, 0]], "i4") if mask else None]
    given += [RANDOM.integers(0, 6, (2, 4)).astype("i4") if places else None]
    agree("EmbedLayerNormalization", given, ("f4", "i4", "f4"), epsilon=1e-5)
    given[0] = given[0] + 9
    with pytest.raises(interp.InterpError, match="outside of an embedding"):
        ours("EmbedLayerNormalization", given, ("f4", "i4"))


@pytest.mark.parametrize("at, shape", [(1, (2, 2)), (1, (1, 4)), (7, (1, 4)), (7, (2, 5)), (8, (3, 4)), (4, (3, 1))])
def test_embeddings_of_other_shapes_are_refused(at, shape):
    given = [np.zeros((2, 4), "i4")] * 2 + [random(9, 8), random(6, 8), random(3, 8), random(8), random(8)]
    given += [np.zeros((2, 4), "i4")] * 2
    given[at] = np.zeros(shape, given[at].dtype)
    with pytest.raises(interp.InterpError, match="beside"):
        ours("EmbedLayerNormalization", given, ("f4", "i4"))


@pytest.mark.parametrize("op, biased, attributes", [("Gelu", 0, {}), ("QuickGelu", 0, {}), ("QuickGelu", 0, {"alpha": 0.7}),
                                                    ("FastGelu", 0, {}), ("FastGelu", 1, {}), ("BiasGelu", 1, {})])
def test_gelus_of_every_kind(op, biased, attributes):
    x = random(3, 37) * np.float32(3)
    found = agree(op, [x, random(37)] if biased else [x], **attributes)[0] if not biased else None
    if biased:
        bias = random(37)
        agree(op, [x, bias])
        half = ours(op, [x.astype("f2"), bias.astype("f2")], ("f2",))[0]
        np.testing.assert_allclose(half, ours(op, [x.astype("f2").astype("f4"), bias.astype("f2").astype("f4")])[0], atol=4e-3)
    else:
        np.testing.assert_allclose(ours(op, [x.astype("f2")], ("f2",), **attributes)[0], found, atol=2e-2)


@pytest.mark.parametrize("a, b, attributes", [
    ((2, 3, 4), (2, 4, 5), {}), ((3, 4), (4, 5), {"alpha": 0.5}), ((2, 4, 3), (4, 5), {"transA": 1}),
    ((2, 4, 3), (2, 5, 4), {"transA": 1, "transB": 1, "alpha": 2.0}), ((3, 2, 4), (2, 4, 5), {"transBatchA": 1}),
    ((3, 2, 4), (4, 2, 5), {"transBatchA": 1, "transBatchB": 1}), ((4,), (4, 5), {}), ((3, 4), (4,), {}),
    ((4, 2, 3), (5, 2, 4), {"transBatchA": 1, "transBatchB": 1, "transA": 1, "transB": 1}),
    ((2, 1, 3, 4), (3, 5, 4), {"transB": 1})])
def test_products_of_turned_factors(a, b, attributes):
    agree("FusedMatMul", [random(*a), random(*b)], **attributes)


@pytest.mark.parametrize("activation, settings", [("Relu", {}), ("LeakyRelu", {"activation_alpha": 0.3}),
                                                  ("Tanh", {}), ("Sigmoid", {})])
@pytest.mark.parametrize("c", [None, (5,), (3, 5)])
def test_gemm_through_an_activation(activation, settings, c):
    inputs = [random(4, 3), random(5, 4), None if c is None else random(*c)]
    agree("FusedGemm", inputs, transA=1, transB=1, alpha=0.5, beta=0.25, activation=activation, **settings)


@pytest.mark.parametrize("activation, params", [("Relu", ()), ("LeakyRelu", (0.3,)), ("Tanh", ()), ("Sigmoid", ()),
                                                ("Clip", (-0.5, 1.0)), ("HardSigmoid", (0.3, 0.4)), (None, ())])
@pytest.mark.parametrize("z", [0, 1])
def test_convolutions_through_an_activation(activation, params, z):
    settings = ({"activation": activation} if activation else {}) | ({"activation_params": params} if params else {})
    inputs = [random(2, 4, 6, 7), random(6, 2, 3, 3), random(6), random(2, 6, 3, 4) if z else None]
    agree("FusedConv", inputs, group=2, strides=[2, 2], pads=[1, 1, 1, 1], **settings)


def test_an_unknown_activation_is_refused():
    with pytest.raises(interp.InterpError, match="not Mish"):
        ours("FusedGemm", [random(3, 4), random(4, 5)], activation="Mish")
