"""Activations and trigonometry far from where they are easy: large, tiny, infinite, NaN; and what their versions differ in."""
import math

import ml_dtypes
import numpy as np
import pytest

from interp.ops import standard
from interp.schema import schema

BOTH = ["f4", "f8"]
SIZES = [1e30, 1e4, 745.0, 104.0, 88.0, 20.0, 1.0, 1e-3, 1e-6, 1e-20]
ENDS = np.array([*(-v for v in SIZES), 0.0, *reversed(SIZES)])


def run(name, opset, x, *others, **attributes):
    """Run an operator of an opset at once."""
    s = schema(name, opset)
    out = np.empty_like(x)
    standard.find(s).run(x, *others, **{**s.defaults, **attributes}, out=out)()
    return out


def relative(found, due, most):
    """Every element as near as a few roundings, whatever its size."""
    with np.errstate(over="ignore", under="ignore"):
        due = np.asarray(due, "f8").astype(found.dtype).astype("f8")
    tiny = float(np.finfo(found.dtype).tiny)
    np.testing.assert_allclose(found.astype("f8"), due, rtol=most * float(np.finfo(found.dtype).eps), atol=tiny)


def exactly(formula):
    """A formula of one number by Python's mathematics, in double precision."""
    return lambda x: np.array([formula(float(v)) for v in x])


def softplus(v):
    return max(v, 0) + math.log1p(math.exp(-abs(v)))


def minus_one(v):
    return math.expm1(min(v, 700))


@pytest.mark.parametrize("dtype", BOTH)
@pytest.mark.parametrize("name, attributes, formula", [
    ("Softplus", {}, softplus),
    ("Softsign", {}, lambda v: v / (1 + abs(v))),
    ("Elu", {"alpha": 2.0}, lambda v: v if v > 0 else 2 * minus_one(v)),
    ("Selu", {"alpha": 2.0, "gamma": 3.0}, lambda v: 3 * v if v > 0 else 6 * minus_one(v)),
    ("Celu", {"alpha": 2.0}, lambda v: v if v > 0 else 2 * minus_one(v / 2)),
    ("Mish", {}, lambda v: v * math.tanh(softplus(v)))])
def test_activations_are_exact_at_both_ends_and_around_zero(name, attributes, formula, dtype):
    x = ENDS.astype(dtype) if name != "Mish" else ENDS[(ENDS > -80) & (ENDS < 1e6)].astype(dtype)
    version = 28 if name == "Celu" else 22
    relative(run(name, version, x, **attributes), exactly(formula)(x), 8)


@pytest.mark.parametrize("name, low, high", [("Softplus", 0, np.inf), ("Elu", -1, np.inf), ("Celu", -1, np.inf),
                                             ("Sigmoid", 0, 1), ("Tanh", -1, 1), ("Softsign", np.nan, np.nan),
                                             ("Relu", 0, np.inf)])
@pytest.mark.parametrize("dtype", [*BOTH, "f2", ml_dtypes.bfloat16])
def test_infinities_and_nan(name, low, high, dtype):
    version = 28 if name == "Celu" else 22
    found = run(name, version, np.array([-np.inf, np.inf, np.nan], dtype)).astype("f8")
    np.testing.assert_array_equal(found, [low, high, np.nan])


@pytest.mark.parametrize("approximate, formula", [
    ("none", lambda v: v / 2 * (1 + math.erf(v / math.sqrt(2)))),
    ("tanh", lambda v: v / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v**3))))])
@pytest.mark.parametrize("dtype", BOTH)
def test_gelu(approximate, formula, dtype):
    x = np.linspace(-12, 12, 1001).astype(dtype)
    found = run("Gelu", 20, x, approximate=approximate).astype("f8")
    np.testing.assert_allclose(found, exactly(formula)(x), atol=4e-7 if dtype == "f4" else 1e-14)
    with pytest.raises(ValueError, match="fast"):
        run("Gelu", 20, x, approximate="fast")


@pytest.mark.parametrize("name, function", [("Sin", math.sin), ("Cos", math.cos), ("Tan", math.tan)])
@pytest.mark.parametrize("scale", [1e-30, 1e-3, 1, 100, 1e5, 9e5, 1e7, 1e30])
def test_angles_of_any_size(name, function, scale):
    x = (np.random.default_rng(0).standard_normal(1003) * scale).astype("f4")
    relative(run(name, 22, x), exactly(function)(x), 8)
    relative(run(name, 22, x.astype("f8")), exactly(function)(x), 8)


@pytest.mark.parametrize("name, function", [("Atan", math.atan), ("Sinh", math.sinh), ("Cosh", math.cosh), ("Asinh", math.asinh)])
@pytest.mark.parametrize("scale", [1e-30, 1e-3, 0.4, 2, 30])
def test_hyperbolic_functions_and_inverses_of_any_size(name, function, scale):
    x = np.clip(np.random.default_rng(0).standard_normal(1003) * scale, -88, 88).astype("f4")
    relative(run(name, 22, x), exactly(function)(x), 16)
    relative(run(name, 22, x.astype("f8")), exactly(function)(x), 8)


def test_hyperbolic_functions_reach_as_far_as_their_type():
    x = np.array([88.5, 89, 89.4, -89.4], "f4")
    np.testing.assert_allclose(run("Sinh", 22, x), np.sinh(x.astype("f8")), rtol=4e-6)
    np.testing.assert_allclose(run("Cosh", 22, x), np.cosh(x.astype("f8")), rtol=4e-6)
    odd = np.array([90, -90, np.inf, -np.inf, np.nan], "f4")
    np.testing.assert_array_equal(run("Sinh", 22, odd), [np.inf, -np.inf, np.inf, -np.inf, np.nan])
    np.testing.assert_array_equal(run("Cosh", 22, odd), [np.inf] * 4 + [np.nan])
    np.testing.assert_allclose(run("Atan", 22, odd[2:]), [math.pi / 2, -math.pi / 2, np.nan], rtol=1e-7)


@pytest.mark.parametrize("name", ["Sin", "Cos", "Tan"])
def test_angles_that_are_multiples_of_a_quarter_turn(name):
    x = (np.arange(-4000, 4000) * (math.pi / 4)).astype("f4")
    np.testing.assert_allclose(run(name, 22, x), getattr(np, name.lower())(x.astype("f8")), rtol=1e-6, atol=1e-12)
    assert np.isnan(run(name, 22, np.array([np.inf, -np.inf, np.nan], "f4"))).all()


def test_zeros_keep_their_signs():
    x = np.array([-0.0, 0.0], "f4")
    for name in ("Sin", "Tan", "Asin", "Atan", "Sinh", "Asinh", "Atanh"):
        assert np.signbit(run(name, 22, x)).tolist() == [True, False], name


def test_what_has_no_angle_is_nan():
    assert np.isnan(run("Acos", 22, np.array([2, -2], "f4"))).all()
    assert np.isnan(run("Acosh", 22, np.array([0.5, -2], "f4"))).all()
    assert run("Atanh", 22, np.array([1, -1], "f4")).tolist() == [np.inf, -np.inf]


def test_hardmax_groups_axes_before_version_13():
    x = np.array([[[1, 5], [5, 0]]], "f4")
    assert run("Hardmax", 11, x).tolist() == [[[0, 1], [0, 0]]]  # one maximum of all four, the first
    assert run("Hardmax", 13, x).tolist() == [[[0, 1], [1, 0]]]
    assert run("Hardmax", 13, x, axis=1).tolist() == [[[0, 1], [1, 0]]]
    assert run("Hardmax", 13, np.zeros((0, 3), "f4")).shape == (0, 3)


def test_shrink_moves_whole_numbers_as_their_type_has_them():
    x = np.array([-2**62 - 1, -3, 0, 3, 2**62 + 1], "i8")
    assert run("Shrink", 9, x, lambd=2.0, bias=1.0).tolist() == [-2**62, -2, 0, 2, 2**62]
    assert run("Shrink", 9, x[1:4], lambd=2.0, bias=1.5).tolist() == [-1, 0, 1]
    assert run("Shrink", 9, np.array([1, 3, 255], "u1"), lambd=2.0, bias=1.0).tolist() == [0, 2, 254]


def test_the_gate_of_swiglu_has_the_shape_of_its_values():
    with pytest.raises(ValueError, match="differ"):
        from interp.dims import Fact
        standard.find(schema("SwiGLU", 28)).shape(Fact("tensor(float)", (2, 3)), Fact("tensor(float)", (2, 1)), alpha=1.0)
