"""Unique, OneHot, Compress and their kin: NaN, negative indices, empty axes and what is refused."""
import ml_dtypes
import numpy as np
import pytest

import interp

from .every import one_node


def run(name, opset, *arrays, outputs=("Y",), **attributes):
    """The results of a model of one node, its inputs fed."""
    feeds = {f"i{k}": a for k, a in enumerate(arrays)}
    found = interp.load(one_node(name, opset, feeds, attributes, outputs), threads=2).run(None, feeds)
    return found if len(found) > 1 else found[0]


def ints(*values):
    return np.array(values, "i8")


# Unique

ALL = ("Y", "indices", "inverse", "counts")


@pytest.mark.parametrize("sorted_", [0, 1])
@pytest.mark.parametrize("dtype", ["f4", "f2", ml_dtypes.bfloat16, "i4", "u1", object])
def test_distinct_elements(dtype, sorted_):
    x = np.array([2, 1, 1, 3, 4, 3]).astype(dtype)
    y, first, inverse, counts = run("Unique", 28, x, outputs=ALL, sorted=sorted_)
    due = [1, 2, 3, 4] if sorted_ else [2, 1, 3, 4]
    assert y.tolist() == np.array(due).astype(dtype).tolist() and y.dtype == np.dtype(dtype)
    assert first.tolist() == [x.tolist().index(v) for v in y.tolist()]
    assert y[inverse].tolist() == x.tolist() and counts.tolist() == [x.tolist().count(v) for v in y.tolist()]


@pytest.mark.parametrize("axis, x, due", [
    (0, [[1, 0, 0], [1, 0, 0], [2, 3, 4]], ([[1, 0, 0], [2, 3, 4]], [0, 2], [0, 0, 1], [2, 1])),
    (1, [[[1, 1], [0, 1], [2, 1], [0, 1]]] * 2, ([[[0, 1], [1, 1], [2, 1]]] * 2, [1, 0, 2], [1, 0, 2, 0], [2, 1, 1])),
    (-1, [[3, 3, 1]], ([[1, 3]], [2, 0], [1, 1, 0], [1, 2]))])
def test_distinct_slices(axis, x, due):
    """The examples of the operator's text, and one counted from the end."""
    assert tuple(a.tolist() for a in run("Unique", 11, np.array(x, "f4"), outputs=ALL, axis=axis)) == due


@pytest.mark.parametrize("axis", [None, 0])
def test_nan_are_one_element_and_the_largest(axis):
    x = np.array([np.nan, 1, np.nan, np.inf, -np.inf], "f4")
    y, first, inverse, counts = run("Unique", 11, x, outputs=ALL, **({} if axis is None else {"axis": axis}))
    assert np.array_equal(y, np.array([-np.inf, 1, np.inf, np.nan], "f4"), equal_nan=True)
    assert (first.tolist(), inverse.tolist(), counts.tolist()) == ([4, 1, 3, 0], [3, 1, 3, 2, 0], [1, 1, 1, 2])


@pytest.mark.parametrize("shape, axis, due, count", [((0,), None, (0,), 0), ((0, 3), 0, (0, 3), 0), ((3, 0), 0, (1, 0), 1),
                                                     ((), None, (1,), 1), ((0, 3), 1, (0, 1), 1)])
def test_distinct_of_nothing(shape, axis, due, count):
    y, first, inverse, counts = run("Unique", 11, np.zeros(shape, "f4"), outputs=ALL, **({} if axis is None else {"axis": axis}))
    assert y.shape == due and first.shape == counts.shape == (count,)
    assert inverse.shape == (int(np.prod(shape)) if axis is None else shape[axis],)


def test_only_some_outputs():
    y, inverse = run("Unique", 11, np.array([5, 5, 1], "f4"), outputs={"Y": "f4", "": None, "inverse": "i8"})
    assert y.tolist() == [1, 5] and inverse.tolist() == [1, 1, 0]


# OneHot


@pytest.mark.parametrize("opset, negative", [(9, [0, 0, 0]), (11, [0, 0, 1])])
def test_negative_classes_count_from_the_end_since_version_11(opset, negative):
    y = run("OneHot", opset, ints(-1, 1, 3, -4), np.array(3, "i8"), np.array([0, 1], "f4"), outputs={"Y": "f4"})
    assert y.tolist() == [negative, [0, 1, 0], [0, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
def test_classes_along_every_axis(axis):
    at = np.array([[0, 2, 1], [1, 1, 0]])
    y = run("OneHot", 11, at, ints(3), np.array([5, 7], "i4"), outputs={"Y": "i4"}, axis=axis)
    assert np.array_equal(np.moveaxis(y, axis, -1), np.where(np.eye(3, dtype=bool)[at], 7, 5))


def test_indices_that_are_no_whole_numbers():
    at = np.array([0.9, 1.0, np.nan, np.inf, -1.0, 1e30], "f4")
    y = run("OneHot", 11, at, np.array(2.0, "f4"), np.array([0, 1], "f4"), outputs={"Y": "f4"})
    assert y.tolist() == [[1, 0], [0, 1], [0, 0], [0, 0], [0, 1], [0, 0]]
    y = run("OneHot", 11, np.array([2**64 - 1, 1], "u8"), ints(2), np.array([0, 1], "f4"), outputs={"Y": "f4"})
    assert y.tolist() == [[0, 0], [0, 1]]


@pytest.mark.parametrize("depth, values", [
    (ints(-1), np.zeros(2, "f4")), (ints(2), np.zeros(3, "f4")), (ints(2, 2), np.zeros(2, "f4"))])
def test_no_depth_or_values(depth, values):
    with pytest.raises(interp.InterpError, match="OneHot.*(depth|values)"):
        run("OneHot", 11, ints(0), depth, values, outputs={"Y": "f4"})


# Others


@pytest.mark.parametrize("condition, axis, due", [
    ([False, True], None, [1]), ([True, False, True], 1, [[0, 2], [3, 5]]), ([False, True], -2, [[3, 4, 5]]), ([False], 0, None),
    ([], 0, None)])
def test_slices_where_a_condition_holds(condition, axis, due):
    x = np.arange(6, dtype="f4").reshape(2, 3)
    y = run("Compress", 11, x, np.array(condition, bool), **({} if axis is None else {"axis": axis}))
    assert y.tolist() == due if due else y.shape == (0, 3)


def test_a_condition_that_is_too_long():
    with pytest.raises(interp.RunError, match="Compress.*condition"):
        run("Compress", 11, np.zeros(2, "f4"), np.zeros(3, bool))


@pytest.mark.parametrize("lens", [[5], [-1], [1, 1]])
def test_lengths_beyond_the_sequences(lens):
    with pytest.raises(interp.RunError, match="ReverseSequence.*lengths"):
        run("ReverseSequence", 10, np.zeros((4, 1), "f4"), ints(*lens))


def test_sequences_of_no_or_one_element_stay():
    x = np.arange(6, dtype="f4").reshape(3, 2)
    assert run("ReverseSequence", 10, x, ints(0, 1)).tolist() == x.tolist()
    assert run("ReverseSequence", 10, x[:, :0], np.zeros(0, "i8")).shape == (3, 0)


def test_axes_that_are_not_the_first_two():
    with pytest.raises(interp.ModelError, match="ReverseSequence.*batch_axis 2"):
        run("ReverseSequence", 10, np.zeros((2, 2, 2), "f4"), ints(1, 1), batch_axis=2, time_axis=0)
