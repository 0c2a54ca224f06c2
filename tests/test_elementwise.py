"""Elementwise operators and activations against NumPy in double precision, in every type that they take."""
import math

import ml_dtypes
import numpy as np
import pytest

from interp.dims import Fact, named
from interp.kernels import elementwise
from interp.kernels.step import KernelFailed, isa
from interp.ops import standard
from interp.registry import misfits
from interp.schema import schema

FLOATS = ["f4", "f8", "f2", ml_dtypes.bfloat16]
SHAPES = [((3, 5), (3, 5)), ((2, 3, 4, 5), (3, 1, 1)), ((7,), (2, 7)), ((), (3, 4)), ((4, 1), (1, 5)), ((0, 3), (3,)), ((), ()),
          ((2, 1, 3, 1, 5), (1, 4, 1, 6, 5)), ((20000,), (1,)), ((3, 20001), (3, 1)), ((2, 3), (2, 3, 1, 1, 1)), ((1, 1), (1,))]
ROUNDED = {"f4": 1e-6, "f8": 1e-13, "f2": 2e-3, "bfloat16": 1e-2}


def run(name, opset, *inputs, out, **attributes):
    """Run an operator of an opset at once."""
    s = schema(name, opset)
    step = standard.find(s).run(*inputs, **{**s.defaults, **attributes}, out=out)
    step()
    return out


def random(shape, dtype, seed=0, scale=3):
    return np.asarray(np.random.default_rng(seed).standard_normal(shape) * scale).astype(dtype)


def near(found, wanted):
    dtype = str(found.dtype) if found.dtype == ml_dtypes.bfloat16 else found.dtype.str[1:]
    with np.errstate(over="ignore"):
        wanted = np.asarray(wanted).astype(found.dtype).astype("f8")
    tolerance = ROUNDED[dtype]
    np.testing.assert_allclose(found.astype("f8"), wanted, rtol=tolerance, atol=tolerance / 10)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("a, b", SHAPES)
@pytest.mark.parametrize("name, wanted", [("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply), ("Div", np.divide)])
def test_arithmetic_broadcasts(name, wanted, a, b, dtype):
    a, b = random(a, dtype), random(b, dtype, 1)
    near(run(name, 14, a, b, out=np.empty(np.broadcast_shapes(a.shape, b.shape), dtype)), wanted(a.astype("f8"), b.astype("f8")))


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_whole_numbers_divide_towards_zero(dtype):
    a = np.array([7, 8, 100, 0, 9], dtype) * (np.array([1, -1, 1, 1, -1], "i8").astype(dtype) if dtype[0] == "i" else 1)
    b = np.array([2, 3, 7, 5, 3], dtype)
    out = run("Div", 14, a.astype(dtype), b, out=np.empty(5, dtype))
    assert out.tolist() == [math.trunc(int(u) / int(v)) for u, v in zip(a, b, strict=True)]


@pytest.mark.parametrize("dtype", ["i1", "i4", "i8", "u2"])
def test_a_division_by_zero_is_an_error(dtype):
    with pytest.raises(RuntimeError, match="divided by zero"):
        run("Div", 14, np.ones(3, dtype), np.array([1, 0, 1], dtype), out=np.empty(3, dtype))


@pytest.mark.parametrize("dtype", ["i1", "i4", "i8"])
def test_the_least_integer_by_minus_one_is_an_error(dtype):
    with pytest.raises(RuntimeError, match="-1"):
        run("Div", 14, np.array([np.iinfo(dtype).min], dtype), np.array([-1], dtype), out=np.empty(1, dtype))


@pytest.mark.parametrize("dtype", ["u1", "i4", "i8"])
def test_whole_numbers_wrap_around(dtype):
    top = np.array([np.iinfo(dtype).max], dtype)
    assert run("Add", 14, top, np.array([1], dtype), out=np.empty(1, dtype)).tolist() == [np.iinfo(dtype).min]


@pytest.mark.parametrize("opset", [1, 6])
def test_old_broadcasting_puts_the_second_operand_at_an_axis(opset):
    a, b = random((2, 3, 4, 5), "f4"), random((3, 4), "f4", 1)
    near(run("Add", opset, a, b, axis=1, broadcast=1, out=np.empty_like(a)), a + b.reshape(3, 4, 1))
    near(run("Mul", opset, a, b[0], axis=-2, broadcast=1, out=np.empty_like(a)), a * b[0].reshape(4, 1))
    near(run("Add", opset, a, random((5,), "f4"), broadcast=1, out=np.empty_like(a)), a + random((5,), "f4"))
    with pytest.raises(ValueError, match="broadcast"):
        run("Add", opset, a, b, out=np.empty_like(a))


def test_the_result_may_overwrite_an_operand():
    a, b = random((5, 1031), "f4"), random((5, 1031), "f4", 1)
    wanted = a - b
    assert np.array_equal(run("Sub", 14, a, b, out=b), wanted)
    h = random((1031,), "f2")
    wanted = np.maximum(h, 0)
    assert np.array_equal(run("Relu", 14, h, out=h), wanted)


@pytest.mark.parametrize("dtype", [*FLOATS, "i4", "i8", "u1"])
@pytest.mark.parametrize("name, wanted", [("Less", np.less), ("Greater", np.greater), ("Equal", np.equal),
                                          ("LessOrEqual", np.less_equal), ("GreaterOrEqual", np.greater_equal)])
def test_comparisons(name, wanted, dtype):
    a, b = np.array([[1, 2, 3]], dtype), np.array([[1], [3]], dtype)
    assert np.array_equal(run(name, 19, a, b, out=np.empty((2, 3), bool)), wanted(a.astype("f8"), b.astype("f8")))


def test_strings_compare():
    a = np.array(["a", "b"], object)
    assert run("Equal", 19, a, np.array(["a", "c"], object), out=np.empty(2, bool)).tolist() == [True, False]


@pytest.mark.parametrize("name, wanted", [("And", np.logical_and), ("Or", np.logical_or), ("Xor", np.logical_xor)])
def test_logic(name, wanted):
    a, b = np.array([[True], [False]]), np.array([True, False])
    assert np.array_equal(run(name, 7, a, b, out=np.empty((2, 2), bool)), wanted(a, b))
    assert run("Not", 1, b, out=np.empty(2, bool)).tolist() == [False, True]


@pytest.mark.parametrize("dtype", [*FLOATS, "i4", "u1"])
def test_folds_of_several_operands(dtype):
    many = [np.array(v, dtype) for v in ([[1, 5, 2]], [[3], [4]], [2, 2, 9])]
    for name, wanted in [("Sum", np.add), ("Max", np.maximum), ("Min", np.minimum)]:
        if np.dtype(dtype).kind in "iu" and name == "Sum":
            continue  # Sum is for floating-point numbers
        folded = wanted(wanted(many[0].astype("f8"), many[1].astype("f8")), many[2].astype("f8"))
        assert np.array_equal(run(name, 13, *many, out=np.empty((2, 3), dtype)).astype("f8"), folded)
        assert np.array_equal(run(name, 13, many[0], out=np.empty((1, 3), dtype)), many[0])


def test_the_mean_of_operands():
    a, b, c = (random((3, 4), "f2", i) for i in range(3))
    near(run("Mean", 13, a, b, c, out=np.empty_like(a)), (a.astype("f8") + b + c) / 3)


def test_nan_wins_over_numbers():
    a, b = np.array([np.nan, 1, 2], "f4"), np.array([1, np.nan, 3], "f4")
    assert np.isnan(run("Max", 13, a, b, out=np.empty(3, "f4"))[:2]).all()
    assert np.isnan(run("Min", 13, a, b, out=np.empty(3, "f4"))[:2]).all()
    assert np.isnan(run("Relu", 14, a, out=np.empty(3, "f4"))[0])
    assert np.isnan(run("Clip", 6, a, min=0.0, max=1.0, out=np.empty(3, "f4"))[0])


def test_comparisons_with_nan_are_false():
    a = np.array([np.nan] * 9, "f4")
    for name in ("Less", "Greater", "LessOrEqual", "GreaterOrEqual", "Equal"):
        assert not run(name, 19, a, a, out=np.empty(9, bool)).any()


def test_powers_keep_the_type_of_the_base():
    x = np.array([1, 2, 3], "f4")
    near(run("Pow", 15, x, np.array(2, "i8"), out=np.empty(3, "f4")), [1, 4, 9])
    near(run("Pow", 15, x, np.array(2, "f4"), out=np.empty(3, "f4")), [1, 4, 9])
    near(run("Pow", 15, x, np.array([0.5, -1, 3], "f4"), out=np.empty(3, "f4")), [1, 0.5, 27])
    assert run("Pow", 15, np.array([2, 3], "i4"), np.array([3, -1], "i4"), out=np.empty(2, "i4")).tolist() == [8, 0]


def test_rests_take_the_sign_of_the_divisor_or_of_the_dividend():
    a, b = np.array([-7, 7, 5], "i4"), np.array([3, -3, 5], "i4")
    assert run("Mod", 13, a, b, out=np.empty(3, "i4")).tolist() == [2, -2, 0]
    assert run("Mod", 13, a, b, fmod=1, out=np.empty(3, "i4")).tolist() == [-1, 1, 0]


ERF = np.vectorize(math.erf, otypes=["f8"])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name, attributes, wanted", [
    ("Relu", {}, lambda x: np.maximum(x, 0)), ("Sigmoid", {}, lambda x: 1 / (1 + np.exp(-x))), ("Tanh", {}, np.tanh),
    ("Exp", {}, np.exp), ("Erf", {}, ERF), ("Neg", {}, np.negative), ("Abs", {}, np.abs), ("Floor", {}, np.floor),
    ("Ceil", {}, np.ceil), ("LeakyRelu", {"alpha": 0.25}, lambda x: np.where(x < 0, 0.25 * x, x)),
    ("Elu", {"alpha": 2.0}, lambda x: np.where(x < 0, 2 * np.expm1(x), x)),
    ("HardSigmoid", {"alpha": 0.25, "beta": 0.5}, lambda x: np.clip(0.25 * x + 0.5, 0, 1)),
    ("HardSwish", {}, lambda x: x * np.clip(x / 6 + 0.5, 0, 1)),
    ("Reciprocal", {}, np.reciprocal), ("Sqrt", {}, np.sqrt), ("Log", {}, np.log)])
@pytest.mark.parametrize("size", [0, 1, 7, 1031, 20011])
def test_functions_of_one_operand(name, attributes, wanted, dtype, size):
    x = random((size,), dtype)
    if name in ("Reciprocal", "Sqrt", "Log"):
        x = np.abs(x) + np.ones((), dtype)
    near(run(name, 22, x, out=np.empty_like(x), **attributes), wanted(x.astype("f8")))


@pytest.mark.parametrize("loop, wanted", [("exp", np.exp), ("sigmoid", lambda x: 1 / (1 + np.exp(-x))), ("tanh", np.tanh),
                                          ("erf", ERF)])
def test_polynomials_are_accurate_over_the_whole_range(loop, wanted):
    x = np.concatenate([np.linspace(-87, 88.7, 200003), np.linspace(-1, 1, 20001), np.logspace(-30, 0, 1001)]).astype("f4")
    y = np.empty_like(x)
    elementwise.unary(loop, x, y)()
    exact = wanted(x.astype("f8"))
    assert np.max(np.abs(y - exact) / np.maximum(np.abs(exact), 1e-37)) < (3e-7 if isa() != "baseline" else 3.5e-7)


def test_exponentials_reach_their_ends():
    x, y = np.array([np.inf, -np.inf, 89, -104, -100, 88.7, np.nan] * 3, "f4"), np.empty(21, "f4")
    elementwise.unary("exp", x, y)()
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(y, np.exp(x.astype("f8")).astype("f4"), rtol=3e-7, atol=2e-45)


@pytest.mark.parametrize("dtype", [*FLOATS, "i4", "i8", "u1"])
def test_clip_takes_inputs_and_the_upper_limit_wins(dtype):
    x, low, high = np.arange(6).astype(dtype), np.array(2).astype(dtype), np.array(4).astype(dtype)
    for limits, wanted in [((low, high), [2, 2, 2, 3, 4, 4]), ((None, high), [0, 1, 2, 3, 4, 4]), ((low,), [2, 2, 2, 3, 4, 5]),
                           ((high, low), [2] * 6), ((), [0, 1, 2, 3, 4, 5])]:
        assert run("Clip", 13, x, *limits, out=np.empty_like(x)).astype(int).tolist() == wanted


def test_clip_takes_attributes_before_version_11():
    x = np.arange(6, dtype="f4")
    assert run("Clip", 6, x, min=1.0, max=3.0, out=np.empty_like(x)).tolist() == [1, 1, 2, 3, 3, 3]
    assert run("Clip", 1, x, max=3.0, out=np.empty_like(x)).tolist() == [0, 1, 2, 3, 3, 3]


def test_prelu_has_a_slope_for_each_channel_before_version_7():
    x, slope = random((2, 3, 4), "f4"), np.array([0.5, 2, -1], "f4")
    wanted = np.where(x < 0, x * slope[:, None], x)
    near(run("PRelu", 6, x, slope, out=np.empty_like(x)), wanted)
    near(run("PRelu", 16, x, slope[:, None], out=np.empty_like(x)), wanted)


def test_where_chooses():
    c, x, y = np.array([[True], [False]]), np.array([1, 2, 3], "i8"), np.array(9, "i8")
    assert run("Where", 16, c, x, y, out=np.empty((2, 3), "i8")).tolist() == [[1, 2, 3], [9, 9, 9]]


def rule(name, *facts, opset=14, **attributes):
    s = schema(name, opset)
    return standard.find(s).shape(*facts, **{**s.defaults, **attributes})


def test_shapes_broadcast_with_names():
    n, x = named("N"), lambda *shape: Fact("tensor(float)", shape)
    assert rule("Add", x(n, 3, 1), x(3, 5)) == [(n, 3, 5)]
    assert rule("Add", x(n), x(4)) == [(4,)]
    assert rule("Sum", x(n, 2), x(1), x(n, 1)) == [(n, 2)]
    assert rule("Add", x(2, 3, 4), x(3), opset=6, axis=1, broadcast=1) == [(2, 3, 4)]
    with pytest.raises(ValueError, match="broadcast"):
        rule("Add", x(3), x(4))


def test_values_made_of_sizes_are_carried():
    n = named("N")
    sizes = Fact("tensor(int64)", (2,), np.array([n, 6], object))
    two = Fact("tensor(int64)", (), np.array(2))
    assert rule("Mul", sizes, two)[0].sizes == [n * 2, 12]
    assert rule("Div", sizes, two)[0].sizes == [n // 2, 3]
    unknown = Fact("tensor(int64)", (2,), np.array([-1, -1]))
    [same] = rule("Equal", sizes, unknown)
    assert same.sizes == [0, 0] and same.type == "tensor(bool)"
    [chosen] = rule("Where", same, two, sizes, opset=16)
    assert chosen.sizes == [n, 6] and chosen.type == "tensor(int64)"
    assert rule("Div", Fact("tensor(int64)", (1,), np.array([-3])), two) == [(1,)]


def test_shapes_and_types_are_checked_at_the_door():
    a = np.zeros((3, 4), "f4")
    with pytest.raises(ValueError, match="broadcast"):
        elementwise.binary("add", a, a[:, :3], a)
    with pytest.raises(ValueError, match="broadcast"):
        elementwise.binary("add", a, a, a[:1])
    with pytest.raises(TypeError):
        elementwise.binary("add", a, a.astype("f8"), a)
    with pytest.raises(ValueError):
        elementwise.unary("relu", a, a[:1])
    with pytest.raises(ValueError, match="contiguous"):
        elementwise.unary("relu", a.T, a.T)


def test_kernels_name_what_failed():
    with pytest.raises(KernelFailed, match="divided by zero"):
        elementwise.binary("div", np.ones(3, "i4"), np.zeros(3, "i4"), np.empty(3, "i4"))()


def test_functions_fit_their_schemas():
    assert not [m for o in standard for m in misfits(o)]
