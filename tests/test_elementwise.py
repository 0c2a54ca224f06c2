"""Elementwise operators and activations against NumPy in double precision, in every type that they take."""
import math

import ml_dtypes
import numpy as np
import pytest

import interp
from interp.dims import Fact, named
from interp.kernels import choice, elementwise
from interp.kernels.step import KernelFailed, isa
from interp.ops import standard
from interp.registry import misfits
from interp.schema import schema

from .every import run_node

FLOATS = ["f4", "f8", "f2", ml_dtypes.bfloat16]
SHAPES = [((3, 5), (3, 5)), ((2, 3, 4, 5), (3, 1, 1)), ((7,), (2, 7)), ((), (3, 4)), ((4, 1), (1, 5)), ((0, 3), (3,)), ((), ()),
          ((2, 1, 3, 1, 5), (1, 4, 1, 6, 5)), ((20000,), (1,)), ((3, 20001), (3, 1)), ((2, 3), (2, 3, 1, 1, 1)), ((1, 1), (1,))]
ROUNDED = {"f4": 1e-6, "f8": 1e-13, "f2": 2e-3, "bfloat16": 1e-2}


def run(name, opset, *inputs, out, **attributes):
    """Run an operator of an opset at once, and a model of it, which gives the same to the bit."""
    s, feeds = schema(name, opset), {f"i{k}": None if x is None else x.copy() for k, x in enumerate(inputs)}
    step = standard.find(s).run(*inputs, **{**s.defaults, **attributes}, out=out)
    step()
    [found] = run_node(name, opset, feeds, attributes, {"y": out.dtype})
    assert found.shape == out.shape and (np.array_equal(found, out) if out.dtype == object else found.tobytes() == out.tobytes())
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


@pytest.mark.parametrize("a, b", [((1, 3), (2, 3)), ((3,), (2, 3))])
@pytest.mark.parametrize("broadcasts", [0, 1])
def test_the_first_operand_does_not_broadcast_before_version_7(a, b, broadcasts):
    with pytest.raises(ValueError):
        standard.find(schema("Add", 6)).shape(Fact("tensor(float)", a), Fact("tensor(float)", b), axis=None, broadcast=broadcasts)


def test_limits_of_sizes_are_sizes():
    n = named("N")
    x = Fact("tensor(int64)", (2,), np.array([n, 7], object))
    low, high = (Fact("tensor(int64)", (), np.array(v)) for v in (2, 5))
    [found] = standard.find(schema("Clip", 13)).shape(x, low, high)
    assert [str(v) for v in found.value] == ["min(max(N, 2), 5)", "5"]


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


CONDITIONS = [((3, 5), (3, 5), (3, 5)), ((1,), (3, 5), (3, 5)), ((3, 1), (3, 5), (1,)), ((2, 1, 4), (3, 1), (2, 3, 4)),
              ((4,), (), ()), ((), (), (7,)), ((0, 3), (1,), (3,)), ((2, 3, 1), (1, 3, 7), (2, 1, 1)), ((20001,), (1,), (20001,)),
              ((), (2, 3), ()), ((1, 1, 1, 2), (2, 1, 2, 1), (1, 3, 1, 1)), ((), (), ()),
              ((2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2), (3, 1) * 5, (1,))]


@pytest.mark.parametrize("dtype", ["u1", "f2", "f4", "i8", "c16", ml_dtypes.bfloat16, "i1"])
@pytest.mark.parametrize("shapes", CONDITIONS)
def test_a_condition_chooses_and_all_operands_broadcast(shapes, dtype):
    rng = np.random.default_rng(3)
    condition = rng.integers(0, 2, shapes[0]).astype(bool)
    x, y = (np.asarray(rng.integers(0, 8, s)).astype(dtype) for s in shapes[1:])
    due = np.where(condition, x.astype("c16"), y.astype("c16"))
    found = run("Where", 16, condition, x, y, out=np.empty(due.shape, dtype))
    assert np.array_equal(found.astype("c16"), due)
    if x.shape == due.shape:
        assert np.array_equal(run("Where", 16, condition, x, y, out=x).astype("c16"), due)


def test_a_choice_keeps_nan_and_refuses_what_does_not_broadcast():
    x, y = np.array([np.nan, 1], "f4"), np.array([2, np.nan], "f4")
    assert np.isnan(run("Where", 16, np.array([True, False]), x, y, out=np.empty(2, "f4"))).all()
    assert run("Where", 16, np.array([False, True]), x, y, out=np.empty(2, "f4")).tolist() == [2, 1]
    with pytest.raises(ValueError, match="broadcast"):
        choice.where(np.ones(3, bool), x, y, np.empty(3, "f4"))
    with pytest.raises(ValueError, match="broadcast"):
        choice.where(np.ones(2, bool), x, y, np.empty((2, 2), "f4"))
    with pytest.raises(TypeError):
        choice.where(np.ones(2, "u1"), x, y, np.empty(2, "f4"))


# Kinds of fault that other runtimes have had


WHOLE = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]


@pytest.mark.parametrize("dtype", WHOLE)
def test_integer_rests_of_every_sign(dtype):
    least = np.iinfo(dtype).min
    a = np.array([7, 7, -7, -7, least, least, 0], "i8" if dtype != "u8" else "u8") if dtype[0] == "i" else np.array([7, 8, 250])
    b = np.array([3, -3, 3, -3, -1, 3, -5]) if dtype[0] == "i" else np.array([3, 9, 7])
    a, b = a.astype(dtype), b.astype(dtype)
    pairs = [(int(u), int(v)) for u, v in zip(a, b, strict=True)]
    assert run("Mod", 13, a, b, out=np.empty_like(a)).tolist() == [u % v for u, v in pairs]
    assert run("Mod", 13, a, b, fmod=1, out=np.empty_like(a)).tolist() == [math.fmod(u, v) for u, v in pairs]
    for fmod in (0, 1):
        with pytest.raises(RuntimeError, match="divided by zero"):
            run("Mod", 13, a, np.zeros_like(b), fmod=fmod, out=np.empty_like(a))


@pytest.mark.parametrize("dtype", WHOLE)
@pytest.mark.parametrize("name", ["Div", "Mod"])
def test_what_cannot_be_divided_names_the_node(name, dtype):
    a, b = np.array([7, 5], dtype), np.array([2, 0], dtype)
    with pytest.raises(interp.RunError, match=f"{name}.*divided by zero"):
        run_node(name, 14, {"a": a, "b": b})
    if dtype[0] == "i" and name == "Div":
        with pytest.raises(interp.RunError, match="Div.*-1"):
            run_node(name, 14, {"a": np.array([np.iinfo(dtype).min], dtype), "b": np.array([-1], dtype)})


def test_rests_of_floats():
    a = np.array([-4.3, 7.2, 5.0, 4.3, -7.2, 8.0])
    b = np.array([2.1, -3.4, 8.0, -2.1, 3.4, 5.0])
    np.testing.assert_array_equal(run("Mod", 13, a, b, fmod=1, out=np.empty(6)), np.fmod(a, b))
    np.testing.assert_allclose(run("Mod", 28, a, b, out=np.empty(6)), a - np.floor(a / b) * b, atol=1e-14)
    with pytest.raises(ValueError, match="fmod=1"):
        run("Mod", 13, a, b, out=np.empty(6))


@pytest.mark.parametrize("dtype", FLOATS)
def test_rests_of_what_is_not_finite(dtype):
    """The cases that the text of version 28 lists."""
    inf, nan = np.inf, np.nan
    a = np.array([0, -0.0, inf, 1, 5, 5, -5, nan, 1], dtype)
    b = np.array([-2, 3, 3, 0, inf, -inf, inf, 1, nan], dtype)
    found = run("Mod", 28, a, b, out=np.empty_like(a)).astype("f8")
    np.testing.assert_array_equal(found, [-0.0, 0, nan, nan, 5, -inf, inf, nan, nan])
    assert np.signbit(found[:2]).tolist() == [True, False]
    found = run("Mod", 28, a, b, fmod=1, out=np.empty_like(a)).astype("f8")
    np.testing.assert_array_equal(found, [0, -0.0, nan, nan, 5, 5, -5, nan, nan])


@pytest.mark.parametrize("dtype", ["i4", "i8"])
def test_powers_of_whole_numbers_wrap_around(dtype):
    x, y = np.array([3, -2, 7, 1, -1, 0, 2], dtype), np.array([40, 63, 0, -3, -3, 0, -1], dtype)
    bits = 8 * x.itemsize
    due = [3**40, -2**63, 1, 1, -1, 1, 0]
    assert run("Pow", 15, x, y, out=np.empty_like(x)).tolist() == [(d + 2**(bits - 1)) % 2**bits - 2**(bits - 1) for d in due]
    assert run("Pow", 15, x[:1], np.array([2**63 + 1], "u8"), out=np.empty(1, dtype)).tolist() == [
        (pow(3, 2**63 + 1, 2**bits) + 2**(bits - 1)) % 2**bits - 2**(bits - 1)]


def test_powers_of_mixed_types():
    x = np.array([-2, 4, 2.25], "f2")
    assert run("Pow", 15, x, np.array([3, -1, 2], "i1"), out=np.empty(3, "f2")).tolist() == [-8, 0.25, 5.0625]
    assert run("Pow", 15, np.array([9, 2], "i8"), np.array([0.5, -0.5], "f4"), out=np.empty(2, "i8")).tolist() == [3, 0]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("exponent", [0, 1, 2, 3, -1, 7, 0.5, 1.25])
def test_powers_to_one_exponent_of_any_type(exponent, dtype):
    x = np.abs(random((5, 11), dtype))
    for kind in [*FLOATS, *(WHOLE if exponent == int(exponent) and exponent >= 0 else ["i4", "i8"] if exponent == -1 else [])]:
        near(run("Pow", 15, x, np.array([exponent], kind), out=np.empty_like(x)), x.astype("f8") ** exponent)
    y = run("Pow", 15, -x, np.array(3, dtype), out=np.empty_like(x))
    near(y, -x.astype("f8") ** 3)


def test_odd_powers_of_infinities_and_exponents_that_floats_do_not_have():
    x = np.array([-np.inf, np.inf, np.nan, 0, -1], "f4")
    np.testing.assert_array_equal(run("Pow", 15, x, np.array([3], "i8"), out=np.empty_like(x)), [-np.inf, np.inf, np.nan, 0, -1])
    x[3] = -0.0
    found = run("Pow", 15, x, np.array([0.5], "f4"), out=np.empty_like(x))
    np.testing.assert_array_equal(found, [np.inf, np.inf, np.nan, 0, np.nan])
    assert not np.signbit(found[3])
    assert run("Pow", 15, x[4:], np.array([2**24 + 1], "i8"), out=np.empty(1, "f4")).tolist() == [-1]


@pytest.mark.parametrize("size", [1, 17, 8192, 20001])
@pytest.mark.parametrize("dtype", WHOLE)
def test_clip_of_whole_numbers(dtype, size):
    x = np.random.default_rng(0).integers(np.iinfo(dtype).min, np.iinfo(dtype).max, size, dtype, endpoint=True)
    low, high = np.array(11, dtype), np.array([100], dtype)
    assert np.array_equal(run("Clip", 13, x, low, high, out=np.empty_like(x)), np.clip(x, 11, 100))
    assert np.array_equal(run("Clip", 13, x, None, high, out=x), np.minimum(x, 100))


@pytest.mark.parametrize("dtype", [*FLOATS, *WHOLE])
def test_clip_with_crossing_and_missing_limits(dtype):
    x = np.array([1, 4, 9], dtype)
    low, high = np.array(6, dtype), np.array(3, dtype)
    for limits, due in [((low, high), [3, 3, 3]), ((low, None), [6, 6, 9]), ((None, high), [1, 3, 3]), ((None, None), [1, 4, 9])]:
        assert run("Clip", 13, x, *limits, out=np.empty_like(x)).astype(int).tolist() == due
    if np.dtype(dtype).kind not in "iu":
        odd = np.array([np.nan, np.inf, -np.inf], dtype)
        np.testing.assert_array_equal(run("Clip", 13, odd, high, None, out=np.empty_like(odd)).astype("f8"), [np.nan, np.inf, 3])


def test_clip_of_old_versions_has_numbers_for_limits():
    x = np.array([-1, 0.5, 9], "f4")
    assert run("Clip", 1, x, out=np.empty(3, "f4")).tolist() == [-1, 0.5, 9]
    assert run("Clip", 1, x, max=1.0, out=np.empty(3, "f4")).tolist() == [-1, 0.5, 1]
    assert run("Clip", 6, x, min=0.0, out=np.empty(3, "f4")).tolist() == [0, 0.5, 9]


@pytest.mark.parametrize("name, fold", [("Max", np.maximum), ("Min", np.minimum)])
@pytest.mark.parametrize("dtype", FLOATS)
def test_nan_wins_in_every_operand_and_all_broadcast(name, fold, dtype):
    a, b, c = np.array([[1], [np.nan]], dtype), np.array([3, 1, np.nan], dtype), np.array(2, dtype)
    due = fold(fold(a.astype("f8"), b.astype("f8")), c.astype("f8"))
    np.testing.assert_array_equal(run(name, 13, a, b, c, out=np.empty((2, 3), dtype)).astype("f8"), due)
    np.testing.assert_array_equal(run(name, 13, c, b, a, out=np.empty((2, 3), dtype)).astype("f8"), due)


@pytest.mark.parametrize("name", ["Max", "Min", "Sum", "Mean"])
def test_before_version_8_operands_have_one_shape(name):
    rule = standard.find(schema(name, 6)).shape
    with pytest.raises(ValueError, match=r"\(2, 3\)"):
        rule(Fact("tensor(float)", (2, 3)), Fact("tensor(float)", (3,)))


def test_sums_and_means_of_half_floats_are_rounded_once():
    x = [np.array([v], "f2") for v in (2048, 1, 1, 1, 1)]
    assert run("Sum", 13, *x, out=np.empty(1, "f2")).tolist() == [2052]
    assert run("Mean", 13, *x, out=np.empty(1, "f2")).tolist() == np.array([2052 / 5], "f2").tolist()


@pytest.mark.parametrize("dtype", WHOLE)
def test_comparisons_at_the_ends_of_whole_numbers(dtype):
    info = np.iinfo(dtype)
    a, b = np.array([info.min, info.max, info.max], dtype), np.array([info.max, info.min, info.max], dtype)
    for name, due in [("Less", [1, 0, 0]), ("Greater", [0, 1, 0]), ("Equal", [0, 0, 1]), ("LessOrEqual", [1, 0, 1]),
                      ("GreaterOrEqual", [0, 1, 1])]:
        assert run(name, 19, a, b, out=np.empty(3, bool)).tolist() == list(map(bool, due)), name


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8"])
def test_the_least_number_is_its_own_opposite(dtype):
    least = np.array([np.iinfo(dtype).min], dtype)
    assert run("Neg", 13, least, out=np.empty(1, dtype)).tolist() == least.tolist()
    assert run("Abs", 13, least, out=np.empty(1, dtype)).tolist() == least.tolist()


def test_halves_are_rounded_to_even():
    x = np.array([0.5, 1.5, 2.5, -2.5, -0.4, 2.0**23 + 1, np.inf, np.nan], "f4")
    np.testing.assert_array_equal(run("Round", 22, x, out=np.empty_like(x)), [0, 2, 2, -2, -0.0, 2.0**23 + 1, np.inf, np.nan])


@pytest.mark.parametrize("dtype", FLOATS)
def test_infinities_by_sign(dtype):
    x = np.array([np.inf, -np.inf, np.nan, 1], dtype)
    for attributes, due in [({}, [1, 1]), ({"detect_negative": 0}, [1, 0]), ({"detect_positive": 0}, [0, 1]),
                            ({"detect_positive": 0, "detect_negative": 0}, [0, 0])]:
        assert run("IsInf", 20, x, out=np.empty(4, bool), **attributes).tolist() == [*map(bool, due), False, False]
    assert run("IsNaN", 20, x, out=np.empty(4, bool)).tolist() == [False, False, True, False]


@pytest.mark.parametrize("dtype", ["i1", "u1", "i8"])
def test_the_error_function_of_whole_numbers(dtype):
    x = np.array([0, 1, 5, 6, 100], dtype) * np.array(-1 if dtype[0] == "i" else 1, dtype)
    sign = -1 if dtype[0] == "i" else 1
    assert run("Erf", 9, x, out=np.empty_like(x)).tolist() == [0, 0, 0, sign, sign]
