"""TopK in every order, with ties and NaN, and sums and products up to each element."""
import ml_dtypes
import numpy as np
import pytest

import interp
from interp.dims import Fact, named
from interp.kernels import order
from interp.ops import order as ops

from .every import run_node

F = np.float32
REAL = [F, np.float64, np.float16, ml_dtypes.bfloat16]
WHOLE = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]


def top(x, k, opset=24, outputs=("Values", "Indices"), **attributes):
    return run_node("TopK", opset, {"X": x, "K": np.array([k])}, attributes, outputs)


def ranked(line, least):
    """The positions of a line's elements, the best first; NaN is larger than any number, equals stay in order."""
    nan = line != line
    plain = np.where(nan, 0, line).tolist()
    sign = 1 if least else -1
    return sorted(range(len(plain)), key=lambda i: (sign * bool(nan[i]), sign * plain[i], i))


def sample(n, dtype, seed=0):
    random = np.random.default_rng(seed)
    if np.dtype(dtype).kind in "iu":
        ends = np.iinfo(dtype)
        x = random.integers(max(ends.min, -20), 20, n).astype(dtype)
        x[::7], x[3::11] = ends.max, ends.min
        return x
    x = np.rint(random.uniform(-20, 20, n)).astype(dtype)
    x[::31], x[3::29], x[5::37], x[1::5] = np.nan, np.inf, -np.inf, -0.0
    return x


@pytest.mark.parametrize("dtype", REAL + WHOLE)
def test_the_best_of_lines_short_and_long(dtype):
    for n in (1, 2, 7, 255, 256, 257, 700):
        x = sample(n, dtype, n)
        for least in (False, True):
            due = np.array(ranked(x if x.dtype.kind in "iu" else x.astype(float), least))
            for k in {0, 1, min(n, 5), n // 2, n}:
                values, at = np.empty(k, dtype), np.empty(k, "i8")
                order.top(x, k, 0, least, values, at)()
                assert np.array_equal(at, due[:k]), (n, k, least)
                assert values.tobytes() == x[due[:k]].tobytes()


@pytest.mark.parametrize("way", [1, -1])
def test_lines_that_rise_or_fall_all_the_way(way):
    x = np.arange(3000, dtype=F)[::way].copy()
    for k in (3, 100, 1000):
        values, at = top(x, k)
        assert values.tolist() == list(range(2999, 2999 - k, -1))
        assert np.array_equal(x[at], values)


def test_lines_along_any_axis():
    x = np.random.default_rng(1).standard_normal((3, 40, 5)).astype(F)
    for axis in (0, 1, 2, -1, -3):
        k = min(x.shape[axis], 4)
        for largest in (0, 1):
            values, at = top(x, k, axis=axis, largest=largest)
            due = np.take(np.argsort(-x if largest else x, axis, kind="stable"), range(k), axis)
            assert np.array_equal(at, due) and np.array_equal(values, np.take_along_axis(x, due, axis))


def test_of_equals_the_lower_index_comes_first():
    x = np.array([2, 1, 2, 0, 2, 1], F)
    assert [a.tolist() for a in top(x, 4)] == [[2, 2, 2, 1], [0, 2, 4, 1]]
    assert [a.tolist() for a in top(x, 3, largest=0)] == [[0, 1, 1], [3, 1, 5]]
    for n in (300, 5000):
        assert top(np.zeros(n, F), 3)[1].tolist() == [0, 1, 2]
        assert top(np.zeros(n, F), n // 2)[1].tolist() == list(range(n // 2))
    assert top(np.array([-0.0, 0.0, -1], F), 2)[1].tolist() == [0, 1]


def test_unsorted_means_any_order_of_the_same_elements():
    x = np.random.default_rng(4).permutation(100).astype(F)
    values, at = top(x, 7, sorted=0)
    assert sorted(values.tolist()) == list(range(93, 100)) and np.array_equal(x[at], values)
    values, at = top(x, 7, sorted=0, largest=0)
    assert sorted(values.tolist()) == list(range(7)) and np.array_equal(x[at], values)


def test_nan_is_larger_than_any_number():
    x = np.array([1, np.nan, np.inf, -np.inf, np.nan], F)
    assert top(x, 3)[1].tolist() == [1, 4, 2]
    assert top(x, 5, largest=0)[1].tolist() == [3, 0, 2, 1, 4]


def test_either_result_alone():
    x, values, at = np.array([[3, 1, 2]], np.int32), np.empty((1, 2), np.int32), np.empty((1, 2), "i8")
    order.top(x, 2, 1, False, values, None)()
    order.top(x, 2, 1, False, None, at)()
    assert values.tolist() == [[3, 2]] and at.tolist() == [[0, 2]]


def test_none_of_them_and_all_of_nothing():
    assert [a.shape for a in top(np.zeros((2, 3), F), 0)] == [(2, 0)] * 2
    assert [a.shape for a in top(np.zeros((0, 3), F), 2)] == [(0, 2)] * 2
    assert [a.shape for a in top(np.zeros((2, 0), F), 0)] == [(2, 0)] * 2


def test_k_is_an_attribute_in_the_first_version():
    values, at = run_node("TopK", 1, {"X": np.array([[1, 5, 3]], F)}, {"k": 2}, ("Values", "Indices"))
    assert values.tolist() == [[5, 3]] and at.tolist() == [[1, 2]]


@pytest.mark.parametrize("k", [-1, 4, 2**62, -(2**63)])
def test_more_than_there_are_or_fewer_than_none_are_refused(k):
    with pytest.raises(interp.InterpError, match="largest of 3"):
        top(np.zeros((2, 3), F), k)


def test_hostile_axes_and_counts_are_refused():
    with pytest.raises(interp.InterpError, match="outside"):
        top(np.zeros(3, F), 1, axis=1)
    with pytest.raises(interp.InterpError, match="K is one number"):
        run_node("TopK", 11, {"X": np.zeros(3, F), "K": np.array([1, 2])}, {}, ("Values", "Indices"))
    x = np.zeros((2, 3), F)
    for k, axis, shape in [(4, 1, (2, 4)), (-1, 1, (2, 0)), (2, 2, (2, 2)), (2, 1, (2, 3))]:
        with pytest.raises(ValueError):
            order.top(x, k, axis, False, np.empty(shape, F), None)


def test_shapes_of_the_best_with_names():
    n = named("N")
    x = Fact("tensor(float)", (n, named("M")))
    K = Fact("tensor(int64)", (1,), np.array([3]))
    assert ops.top_k.shape(x, K, axis=-1) == [(n, 3)] * 2
    assert ops.top_k.shape(x, Fact("tensor(int64)", (1,), np.array([n], object)), axis=1) == [(n, n)] * 2
    [(size, *_), _] = ops.top_k.shape(x, Fact("tensor(int64)", (1,)), axis=0)
    assert size not in (n, 3)


# Sums and products up to each element


def accumulated(name, x, axis=0, opset=None, **attributes):
    return run_node(name, opset or {"CumSum": 14, "CumProd": 26}[name], {"x": x, "axis": np.array(axis)}, attributes, ("y",))[0]


@pytest.mark.parametrize("exclusive, reverse, sums, products", [  # as in the operators' texts
    (0, 0, [1, 3, 6], [1, 2, 6]), (1, 0, [0, 1, 3], [1, 1, 2]), (0, 1, [6, 5, 3], [6, 6, 3]), (1, 1, [5, 3, 0], [6, 3, 1])])
def test_sums_and_products_with_or_without_the_element_itself(exclusive, reverse, sums, products):
    x = np.array([1, 2, 3], F)
    assert accumulated("CumSum", x, exclusive=exclusive, reverse=reverse).tolist() == sums
    assert accumulated("CumSum", x, opset=11, exclusive=exclusive, reverse=reverse).tolist() == sums
    assert accumulated("CumProd", x, exclusive=exclusive, reverse=reverse).tolist() == products
    wide = np.stack([x, 2 * x], 1)
    assert accumulated("CumSum", wide, 0, exclusive=exclusive, reverse=reverse)[:, 1].tolist() == [2 * n for n in sums]


def test_sums_of_nothing_and_of_one():
    for exclusive in (0, 1):
        assert accumulated("CumSum", np.zeros((2, 0), F), 1, exclusive=exclusive).shape == (2, 0)
        assert accumulated("CumProd", np.array([[5]], np.int32), -1, exclusive=exclusive).tolist() == [[1 if exclusive else 5]]


def test_exclusive_sums_never_see_the_element_itself():
    assert accumulated("CumSum", np.array([1, np.inf, 2], F), exclusive=1).tolist() == [0, 1, np.inf]


def test_sixteen_bits_are_added_up_in_thirty_two():
    x = np.full(4000, 1, np.float16)  # in float16 the sum would stop at 2048
    assert accumulated("CumSum", x)[-1] == 4000
    assert accumulated("CumSum", x.astype(ml_dtypes.bfloat16))[-1] == ml_dtypes.bfloat16(4000)


def test_integers_wrap_around():
    assert accumulated("CumSum", np.array([2**31 - 1, 1], np.int32)).tolist() == [2**31 - 1, -(2**31)]
    assert accumulated("CumProd", np.array([2**31, 4], np.uint32)).tolist() == [2**31, 0]


@pytest.mark.parametrize("axis, why", [(2, "outside"), (-3, "outside"), ([0, 1], "one number"), ([], "one number")])
def test_axes_of_sums_that_do_not_exist_are_refused(axis, why):
    with pytest.raises(interp.InterpError, match=why):
        run_node("CumSum", 14, {"x": np.zeros((2, 3), F), "axis": np.array(axis, "i8")}, {}, ("y",))
    with pytest.raises(interp.InterpError, match="outside"):
        accumulated("CumSum", np.array(1, F))
