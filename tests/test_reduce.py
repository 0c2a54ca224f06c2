"""Reductions along any axes against float64, and what they make of nothing, NaN, infinities and integers."""
import itertools

import ml_dtypes
import numpy as np
import pytest

import interp
from interp.dims import Fact, named
from interp.kernels import order, reduce
from interp.ops.shapes import reduced

from .every import run_node
from .tolerance import assert_close

F = np.float32
REAL = [F, np.float64, np.float16, ml_dtypes.bfloat16]
WHOLE = [np.int32, np.uint32, np.int64, np.uint64]
FOLDS = {  # the name of the kernel's kind, and the formula
    "ReduceSum": ("sum", np.sum), "ReduceMean": ("mean", np.mean), "ReduceProd": ("product", np.prod),
    "ReduceMax": ("largest", np.max), "ReduceMin": ("least", np.min), "ReduceL1": ("sizes", lambda x, a: np.sum(abs(x), a)),
    "ReduceL2": ("norm", lambda x, a: np.sqrt(np.sum(x * x, a))), "ReduceSumSquare": ("squares", lambda x, a: np.sum(x * x, a)),
    "ReduceLogSum": ("logarithm", lambda x, a: np.log(np.sum(x, a))),
    "ReduceLogSumExp": ("exponentials", lambda x, a: np.log(np.sum(np.exp(x), a)))}
OPSET = {"ReduceSum": 13, "ReduceMax": 20, "ReduceMin": 20}
SHAPES = [(), (1,), (7,), (1031,), (5000,), (3, 4, 5), (2, 300, 3), (3, 2, 601), (2, 3, 4, 5, 6), (40, 1, 70), (33, 257)]


def fold(name, x, axes=None, opset=None, threads=1, **attributes):
    feeds = {"data": x} | ({} if axes is None else {"axes": np.array(axes, "i8")})
    return run_node(name, opset or OPSET.get(name, 18), feeds, attributes, ("reduced",), threads=threads)[0]


def position(name, x, axis=0, opset=13, **attributes):
    return run_node(name, opset, {"data": x}, {"axis": axis, **attributes}, ("reduced",))[0]


def drawn(shape, dtype, low=0.5, high=1.5):
    random = np.random.default_rng(5)
    return (random.integers(0, 6, shape) if np.dtype(dtype).kind in "iu" else random.uniform(low, high, shape)).astype(dtype)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", FOLDS)
def test_every_set_of_axes_is_that_of_float64(name, shape):
    kind, formula = FOLDS[name]
    for dtype in REAL + WHOLE if name != "ReduceProd" else REAL:
        x = drawn(shape, dtype)
        for axes in itertools.chain(*(itertools.combinations(range(len(shape)), n) for n in range(len(shape) + 1))):
            y = np.empty([n for i, n in enumerate(shape) if i not in axes], dtype)
            reduce.fold(x, axes, kind, y)(2)
            with np.errstate(all="ignore"):
                due = np.asarray(formula(x.astype(float), axes))
            if y.dtype.kind in "iu":
                due = np.where(due == -np.inf, np.iinfo(dtype).min, np.trunc(due))
                assert np.array_equal(y, due.astype(dtype)), (dtype, axes)
            else:
                assert_close(y, due.astype(dtype), max(1.0, float(np.abs(due).max(initial=0))))


@pytest.mark.parametrize("dtype", WHOLE)
def test_sums_and_products_of_integers_wrap_around(dtype):
    bits, most = np.dtype(dtype).itemsize * 8, int(np.iinfo(dtype).max)
    x = np.array([[most, 3, 5], [most, most, 7]], dtype)

    def due(values):
        return np.array([v % 2**bits for v in values], object).astype(f"u{bits // 8}").view(dtype).tolist()

    assert fold("ReduceSum", x, [1], keepdims=0).tolist() == due([most + 8, 2 * most + 7])
    assert fold("ReduceProd", x, [1], keepdims=0).tolist() == due([most * 15, most * most * 7])
    assert fold("ReduceSumSquare", x, [0], keepdims=0).tolist() == due([2 * most**2, 9 + most**2, 74])


@pytest.mark.parametrize("dtype", WHOLE)
def test_means_and_norms_of_integers_do_not_overflow(dtype):
    most = int(np.iinfo(dtype).max)
    x = np.array([most, most - 3, most - 3], dtype)
    assert fold("ReduceMean", x, keepdims=0) == most - 2
    assert fold("ReduceMean", x.reshape(3, 1).repeat(2, 1), [0], keepdims=0).tolist() == [most - 2] * 2
    assert fold("ReduceL2", np.array([30000, 40000], np.int32), keepdims=0) == 50000
    assert fold("ReduceL2", np.full(4, most, dtype), keepdims=0) == most  # twice as much is out of range


def test_results_of_integers_are_cut_off_towards_zero():
    assert fold("ReduceMean", np.array([7, -4], np.int32)).tolist() == [1]
    assert fold("ReduceMean", np.array([-7, 4], np.int64)).tolist() == [-1]
    assert fold("ReduceLogSum", np.array([5, 3], np.int32)).tolist() == [2]
    assert fold("ReduceLogSum", np.array([-5, 3], np.int32)).tolist() == [0]  # no number


def test_long_sums_stay_accurate():
    x = np.random.default_rng(1).uniform(0, 1, 1 << 20).astype(F)
    due = x.astype(float)
    for shape, axes in [((1 << 20,), [0]), ((1 << 18, 4), [0]), ((4, 1 << 12, 64), [1])]:
        found = fold("ReduceSum", x.reshape(shape), axes, keepdims=0)
        np.testing.assert_allclose(found, due.reshape(shape).sum(tuple(axes)), rtol=2e-7)


# Of nothing

NOTHING = {"ReduceSum": 0, "ReduceProd": 1, "ReduceL1": 0, "ReduceL2": 0, "ReduceSumSquare": 0, "ReduceMax": -np.inf,
           "ReduceMin": np.inf, "ReduceLogSum": -np.inf, "ReduceLogSumExp": -np.inf, "ReduceMean": np.nan}


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("name", NOTHING)
def test_a_reduction_of_nothing_is_its_identity(name, dtype):
    for shape, axes, left in [((2, 0), [1], (2,)), ((2, 0, 3), [1], (2, 3)), ((0,), None, ()), ((0, 3), [0], (3,)),
                              ((2, 0, 0), [1], (2, 0))]:
        found = fold(name, np.zeros(shape, dtype), axes, keepdims=0)
        assert found.shape == left
        np.testing.assert_array_equal(found.astype(float), np.full(left, NOTHING[name]))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, *WHOLE])
def test_extremes_of_nothing_are_the_ends_of_a_type(dtype):
    assert fold("ReduceMax", np.zeros((0,), dtype), keepdims=0) == np.iinfo(dtype).min
    assert fold("ReduceMin", np.zeros((0, 2), dtype), [0], keepdims=0).tolist() == [np.iinfo(dtype).max] * 2


def test_extremes_of_truths():
    x = np.array([[True, False], [False, False]])
    assert fold("ReduceMax", x, [1], keepdims=0).tolist() == [True, False]
    assert fold("ReduceMin", x, [0], keepdims=0).tolist() == [False, False]
    assert fold("ReduceMax", np.zeros(0, bool), keepdims=0) == False  # noqa: E712
    assert fold("ReduceMin", np.zeros(0, bool), keepdims=0) == True  # noqa: E712


def test_axes_that_are_not_named_are_all_or_none():
    x = drawn((2, 3), F)
    for axes in (None, []):
        assert fold("ReduceSum", x, axes).shape == (1, 1)
        assert np.array_equal(fold("ReduceSum", x, axes, noop_with_empty_axes=1), x)
        np.testing.assert_allclose(fold("ReduceSumSquare", x, axes, noop_with_empty_axes=1), x * x)
        np.testing.assert_allclose(fold("ReduceLogSum", x, axes, noop_with_empty_axes=1), np.log(x), rtol=1e-6)
        np.testing.assert_allclose(fold("ReduceLogSumExp", x, axes, noop_with_empty_axes=1), x, rtol=1e-6)
    assert fold("ReduceSum", x, [-1], noop_with_empty_axes=1).shape == (2, 1)
    assert fold("ReduceMean", np.array(3, F), keepdims=0) == 3


def test_old_versions_have_axes_as_an_attribute():
    x = drawn((2, 3, 4), F)
    [found] = run_node("ReduceMean", 11, {"data": x}, {"axes": [-1, 0], "keepdims": 0})
    np.testing.assert_allclose(found, x.astype(float).mean((0, 2)), rtol=1e-6)
    assert fold("ReduceSum", x, opset=1).shape == (1, 1, 1)


# NaN and infinities


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("name", ["ReduceMax", "ReduceMin", "ReduceLogSumExp", "ReduceSum", "ReduceMean", "ReduceProd"])
def test_nan_wins_wherever_it_stands(name, dtype):
    for n in (3, 40, 300):
        for at in (0, n // 2, n - 1):
            x = np.ones((2, n), dtype)
            x[1, at] = np.nan
            assert np.isnan(fold(name, x, [1], keepdims=0).astype(float)).tolist() == [False, True]
            assert np.isnan(fold(name, x.T.copy(), [0], keepdims=0).astype(float)).tolist() == [False, True]


def test_logarithms_of_exponentials_keep_to_their_range():
    inf = np.inf
    x = np.array([[1000, 1000], [-1000, -1000], [inf, 0], [-inf, -inf], [-inf, 2], [inf, -inf], [3e38, -3e38]])
    due = [1000 + np.log(2), -1000 + np.log(2), inf, -inf, 2, inf, 3e38]
    for dtype in (F, np.float64):
        np.testing.assert_allclose(fold("ReduceLogSumExp", x.astype(dtype), [1], keepdims=0), due, rtol=1e-7)
        np.testing.assert_allclose(fold("ReduceLogSumExp", x.T.astype(dtype), [0], keepdims=0), due, rtol=1e-7)


def test_infinities_of_one_sign_are_kept_and_of_both_are_nan():
    x = np.array([[np.inf, 1], [np.inf, -np.inf], [-np.inf, 5]], F)
    np.testing.assert_array_equal(fold("ReduceSum", x, [1], keepdims=0), np.array([np.inf, np.nan, -np.inf], F))
    np.testing.assert_array_equal(fold("ReduceMax", x, [1], keepdims=0), np.array([np.inf, np.inf, 5], F))


# Positions


def test_of_equal_extremes_the_first_or_the_last():
    x = np.array([[1, 3, 3], [2, 0, 2]], F)
    assert position("ArgMax", x, 1).tolist() == [[1], [0]]
    assert position("ArgMax", x, 1, select_last_index=1, keepdims=0).tolist() == [2, 2]
    assert position("ArgMin", x, 0, 11, keepdims=0).tolist() == [0, 1, 1]
    for n in (5, 256, 257, 1000):
        assert position("ArgMax", np.ones(n, F)).tolist() == [0]
        assert position("ArgMin", np.ones(n, F), select_last_index=1).tolist() == [n - 1]
        assert position("ArgMax", np.ones((n, 3), F), select_last_index=1).tolist() == [[n - 1] * 3]


@pytest.mark.parametrize("dtype", REAL)
def test_nan_is_extreme_in_either_direction(dtype):
    x = np.array([5, np.nan, np.inf, -np.inf, np.nan, 1], dtype)
    for name in ("ArgMax", "ArgMin"):
        assert position(name, x, keepdims=0) == 1
        assert position(name, x, keepdims=0, select_last_index=1) == 4
        assert position(name, x[:, None].repeat(2, 1), keepdims=0).tolist() == [1, 1]


@pytest.mark.parametrize("dtype", [*REAL, np.int8, np.uint8, np.int16, np.uint16, *WHOLE])
def test_positions_are_those_of_numpy(dtype):
    random = np.random.default_rng(2)
    x = random.integers(0, 50, (3, 301, 5)).astype(dtype)
    if x.dtype.kind in "iu":
        x[0, 7], x[1, 9] = np.iinfo(dtype).min, np.iinfo(dtype).max
    for axis in range(3):
        for least, find in ((False, np.argmax), (True, np.argmin)):
            y = np.empty([n for i, n in enumerate(x.shape) if i != axis], "i8")
            order.position(x, axis, least, False, y)(2)
            assert np.array_equal(y, find(x if x.dtype.kind in "iu" else x.astype(float), axis))


def test_zeros_of_either_sign_are_equal():
    assert position("ArgMax", np.array([-0.0, 0.0], F)).tolist() == [0]
    assert position("ArgMin", np.array([0.0, -0.0], F)).tolist() == [0]


def test_an_empty_axis_has_no_extreme():
    with pytest.raises(interp.InterpError, match="no element is the largest"):
        position("ArgMax", np.zeros((2, 0), F), 1)
    assert position("ArgMax", np.zeros((0, 2), F), 1).shape == (0, 1)


# What is refused, and shapes


@pytest.mark.parametrize("axes, why", [([2], "outside"), ([-3], "outside"), ([0, 0], "twice"), ([1, -1], "twice"),
                                       ([2**62], "outside")])
def test_axes_that_do_not_exist_are_refused(axes, why):
    with pytest.raises(interp.InterpError, match=why):
        fold("ReduceSum", np.zeros((2, 3), F), axes)
    with pytest.raises(interp.InterpError, match="outside"):
        position("ArgMax", np.zeros((2, 3), F), 2)


def test_kernels_check_what_they_are_given():
    x = np.zeros((2, 3), F)
    for axes, y in [((1,), np.empty(3, F)), ((1,), np.empty(2, "f8")), ((2,), np.empty(2, F)), ((1, 1), np.empty(2, F))]:
        with pytest.raises((ValueError, TypeError)):
            reduce.fold(x, axes, "sum", y)
    for dtype in (np.int8, np.bool_, np.complex64):
        with pytest.raises(TypeError):
            reduce.fold(np.zeros(3, dtype), (0,), "sum", np.empty((), dtype))
    for y in (np.empty(2, "i4"), np.empty(3, "i8")):
        with pytest.raises(ValueError):
            order.position(x, 1, False, False, y)


def test_shapes_with_names():
    n, m = named("N"), named("M")
    x = Fact("tensor(float)", (n, 3, m))
    axes = Fact("tensor(int64)", (1,), np.array([-1]))
    assert reduced(x, axes, keepdims=0) == [(n, 3)] and reduced(x, axes) == [(n, 3, 1)]
    assert reduced(x, Fact("tensor(int64)", (1,))) == [None]


def test_results_do_not_depend_on_the_number_of_threads():
    x = drawn((64, 33, 300), F)
    for name, (kind, _) in FOLDS.items():
        for axes in ((0,), (1,), (2,), (0, 2), (0, 1, 2)):
            found = []
            for threads in (1, 2, 3):
                y = np.empty([n for i, n in enumerate(x.shape) if i not in axes], F)
                reduce.fold(x, axes, kind, y)(threads)
                found.append(y.tobytes())
            assert len(set(found)) == 1, (name, axes)
