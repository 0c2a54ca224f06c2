"""Elements and slices that indices name: from either end, out of range, twice, in every type, on one thread or two."""
import ml_dtypes
import numpy as np
import onnx
import pytest

import interp
from interp.dims import Fact, named
from interp.kernels import layout, scatter
from interp.kernels.step import KernelFailed
from interp.ops import standard
from interp.schema import schema

from .every import one_node

TYPES = ["f4", "f8", "f2", ml_dtypes.bfloat16, "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
FOLDS = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


def run(name, opset, *arrays, **attributes):
    """The result of a model of one node, its inputs fed."""
    feeds = {f"i{k}": a for k, a in enumerate(arrays)}
    return interp.load(one_node(name, opset, feeds, attributes), threads=2).run(None, feeds)[0]


def ints(*values):
    return np.array(values, "i8")


# Indices


@pytest.mark.parametrize("name, data, indices, attributes, due", [
    ("Gather", np.arange(6.0), ints(-1, 0, -6, 5), {}, [5, 0, 0, 5]),
    ("GatherElements", np.arange(6.0).reshape(2, 3), ints([-1, 0, 1, -3]), {"axis": 1}, [[2, 0, 1, 0]]),
    ("GatherND", np.arange(6.0).reshape(2, 3), ints([-1, -3], [0, 2]), {}, [3, 2])])
def test_negative_indices_count_from_the_end(name, data, indices, attributes, due):
    assert run(name, 13, data.astype("f4"), indices, **attributes).tolist() == due


@pytest.mark.parametrize("index", [3, -4, 2**40, -2**62, 2**63 - 1, -2**63])
@pytest.mark.parametrize("name, opset, inputs, size", [
    ("Gather", 13, lambda k: (np.zeros((3, 2), "f4"), ints(0, k, 1)), 3),
    ("GatherElements", 13, lambda k: (np.zeros((3, 2), "f4"), ints([0, 0], [k, 1])), 3),
    ("GatherND", 13, lambda k: (np.zeros((2, 3), "f4"), ints([1, 2], [1, k])), 3),
    ("Scatter", 9, lambda k: (np.zeros((3, 2), "f4"), ints([0, 0], [k, 1]), np.ones((2, 2), "f4")), 3),
    ("ScatterElements", 18, lambda k: (np.zeros((3, 2), "f4"), ints([0, 0], [k, 1]), np.ones((2, 2), "f4")), 3),
    ("ScatterND", 18, lambda k: (np.zeros((2, 3), "f4"), ints([1, 2], [1, k]), np.ones(2, "f4")), 3)])
def test_an_index_out_of_range_is_an_error_that_names_it(name, opset, inputs, size, index):
    with pytest.raises(interp.RunError, match=f"{name}.*out of range: {index}, where the size is {size}"):
        run(name, opset, *inputs(index))


@pytest.mark.parametrize("name", ["Gather", "GatherElements", "GatherND"])
def test_strings_are_checked_likewise(name):
    indices = {"Gather": ints(1, 7), "GatherElements": ints(1, 7), "GatherND": ints([1], [7])}[name]
    with pytest.raises(interp.RunError, match="out of range: 7, where the size is 3"):
        run(name, 13, np.array(["a", "b", "c"], object), indices)


def test_what_failed_before_is_not_told_again():
    x = np.zeros(3, "f4")
    with pytest.raises(KernelFailed, match="7, where the size is 3"):
        layout.gather(x, ints(7), 0, np.zeros(1, "f4"))()
    with pytest.raises(KernelFailed, match="-4, where the size is 3"):
        layout.gather(x, ints(-4), 0, np.zeros(1, "f4"))()


def test_nothing_is_written_outside():
    around = np.zeros(300, "f4")
    y = around[100:200]
    for k in (100, -101, 10**12):
        with pytest.raises(KernelFailed):
            scatter.scatter_elements(y, ints(0, k), np.ones(2, "f4"), 0, "none", y)()
        with pytest.raises(KernelFailed):
            scatter.scatter_nd(y, ints([0], [k]), np.ones(2, "f4"), "add", y)()
    assert not around[:100].any() and not around[200:].any()


# Updates


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("fold", FOLDS)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_duplicates_are_folded_one_after_the_other(dtype, fold, axis):
    rng = np.random.default_rng(axis)
    x, at = rng.integers(0, 4, (7, 5, 9)).astype(dtype), rng.integers(0, 5, (5, 5, 5))
    u = rng.integers(1, 3, at.shape).astype(dtype)
    due = x.astype("f8")
    for i in np.ndindex(at.shape):
        place = tuple(at[i] if k == axis else i[k] for k in range(3))
        due[place] = FOLDS[fold](due[place], float(u[i]))
    if np.dtype(dtype).kind in "iu":
        due = (due.astype("u8") & (2**(8 * np.dtype(dtype).itemsize) - 1)).astype(dtype)  # whole numbers wrap around
    for inplace in (False, True):
        y = x.copy() if inplace else np.full_like(x, 3)
        scatter.scatter_elements(y if inplace else x, at, u, axis, fold, y)(2)
        assert np.array_equal(y, due.astype(dtype)), inplace


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("fold", FOLDS)
@pytest.mark.parametrize("shape, axes", [((6,), 1), ((3, 5), 1), ((3, 5), 2), ((3, 2, 5000), 2), ((2, 3), 0)])
def test_slices_are_folded_one_after_the_other(dtype, fold, shape, axes):
    rng = np.random.default_rng(axes)
    x = rng.integers(0, 4, shape).astype(dtype)
    at = np.stack([rng.integers(-n, n, 4) for n in shape[:axes]], -1) if axes else np.zeros((4, 0), "i8")
    u = rng.integers(1, 3, (4, *shape[axes:])).astype(dtype)
    due = x.astype("f8")
    for place, update in zip(at, u, strict=True):
        due[tuple(place)] = FOLDS[fold](due[tuple(place)], update.astype("f8"))
    y = np.zeros_like(x)
    scatter.scatter_nd(x, at, u, fold, y)(2)
    assert np.array_equal(y, due.astype(dtype))


@pytest.mark.parametrize("opset, fold", [(16, "add"), (16, "mul"), *((18, f) for f in FOLDS)])
@pytest.mark.parametrize("dtype", TYPES)
def test_duplicates_from_either_end_in_a_model(opset, fold, dtype):
    x = np.array([[1, 2, 3], [4, 5, 6]], dtype)
    due = x.astype("f8")
    for i, u in ((2, 2), (0, 3), (2, 4), (2, 1)):  # -1, 0, 2, -1 of three columns
        due[1, i] = FOLDS[fold](due[1, i], u)
    tuples, u = ints([1, -1], [-1, 0], [-1, 2], [1, -1]), np.array([2, 3, 4, 1], dtype)
    assert np.array_equal(run("ScatterND", opset, x, tuples, u, reduction=fold), due.astype(dtype))
    assert np.array_equal(run("ScatterElements", opset, x[1], ints(-1, 0, 2, -1), u, reduction=fold), due[1].astype(dtype))


@pytest.mark.parametrize("name", ["ScatterElements", "ScatterND"])
@pytest.mark.parametrize("dtype", ["f2", ml_dtypes.bfloat16])
def test_sums_in_sixteen_bits_are_rounded_once(name, dtype):
    """4096 halves of one on 2048: rounded after each they would all be lost."""
    x, u = np.array([2048], dtype), np.full(4096, 0.5, dtype)
    at = np.zeros(4096, "i8") if name == "ScatterElements" else np.zeros((4096, 1), "i8")
    assert run(name, 18, x, at, u, reduction="add").tolist() == [4096]


@pytest.mark.parametrize("fold", ["max", "min"])
def test_nan_wins(fold):
    x, u = np.array([np.nan, 1, 2], "f4"), np.array([5, np.nan, 3], "f4")
    y = run("ScatterElements", 18, x, ints(0, 1, 2), u, reduction=fold)
    assert np.isnan(y).tolist() == [True, True, False]


@pytest.mark.parametrize("fold, due", [("add", [True, True, False]), ("mul", [False, True, False]), ("max", [True, True, False]),
                                       ("min", [False, True, False])])
def test_truths_are_joined(fold, due):
    x, u = np.array([True, True, False]), np.array([False, True, False])
    assert run("ScatterElements", 18, x, ints(0, 1, 2), u, reduction=fold).tolist() == due


@pytest.mark.parametrize("dtype, fold", [(object, "add"), (object, "max"), ("c8", "min")])
def test_what_has_no_meaning_is_refused(dtype, fold):
    with pytest.raises(interp.InterpError, match=f"reduction {fold} has no meaning"):
        run("ScatterND", 18, np.array(["1"]).astype(dtype), ints([0]), np.array(["1"]).astype(dtype), reduction=fold)


def test_an_unknown_reduction_is_refused():
    with pytest.raises(interp.InterpError, match="no reduction is called mean"):
        run("ScatterElements", 18, np.zeros(2, "f4"), ints(0), np.zeros(1, "f4"), reduction="mean")


@pytest.mark.parametrize("name, shapes", [
    ("ScatterElements", [(3, 4), (2, 5), (2, 5)]), ("ScatterElements", [(3, 4), (2, 4), (2, 3)]),
    ("ScatterElements", [(3,), (1, 1), (1, 1)]),
    ("ScatterND", [(3, 4), (2, 3), (2,)]), ("ScatterND", [(3, 4), (2, 1), (2, 5)])])
def test_shapes_that_do_not_fit_are_refused(name, shapes):
    data, indices, updates = (np.zeros(s, t) for s, t in zip(shapes, ("f4", "i8", "f4"), strict=True))
    with pytest.raises(interp.InterpError, match="fit|tuples"):
        run(name, 18, data, indices, updates)


@pytest.mark.parametrize("shape, indices", [((0, 3), (0, 3)), ((2, 3), (0, 3)), ((2, 3), (2, 0)), ((2, 0), (1, 0))])
def test_empty_ones_stay_as_they_are(shape, indices):
    x = np.ones(shape, "f4")
    assert np.array_equal(run("ScatterElements", 18, x, np.zeros(indices, "i8"), np.zeros(indices, "f4")), x)
    assert run("GatherElements", 13, x, np.zeros(indices, "i8")).shape == indices


def test_the_input_of_a_model_is_not_written():
    x = np.zeros(3, "f4")
    assert run("ScatterND", 18, x, ints([1]), np.ones(1, "f4")).tolist() == [0, 1, 0] and not x.any()


@pytest.mark.parametrize("call", ["ScatterElements<reduction=\"add\">(y, at, y)", "ScatterND<reduction=\"add\">(y, tuples, y)"])
def test_updates_that_are_the_data_as_well_are_not_written_over(call):
    text = '<ir_version: 10, opset_import: ["": 18]> g (int64[3] x, int64[3] at, int64[3, 1] tuples) => (int64[3] z) ' \
           '{ one = Constant<value_ints=[1]>() y = Mul(x, one) w = CALL z = Mul(w, one) }'
    feeds = {"x": ints(1, 2, 3), "at": ints(1, 0, 0), "tuples": ints([1], [0], [0])}
    session = interp.load(onnx.parser.parse_model(text.replace("CALL", call)), optimize=0)
    assert session.run(None, feeds)[0].tolist() == [1 + 2 + 3, 2 + 1, 3]


@pytest.mark.parametrize("shape, axis", [((700, 300), 0), ((700, 300), 1), ((40, 30, 200), 1)])
def test_many_are_shared_among_threads(shape, axis):
    rng = np.random.default_rng(0)
    x, at = rng.normal(size=shape).astype("f4"), rng.integers(-shape[axis], shape[axis], shape)
    y = np.zeros_like(x)
    scatter.gather_elements(x, at, axis, y)(2)
    assert np.array_equal(y, np.take_along_axis(x, at, axis))
    order = np.ascontiguousarray(np.argsort(rng.normal(size=shape), axis))
    scatter.scatter_elements(x, order, x, axis, "none", y)(2)
    due = np.empty_like(x)
    np.put_along_axis(due, order, x, axis)
    assert np.array_equal(y, due)


# Caches


@pytest.mark.parametrize("starts, due", [([0, 2], [[1, 1, 0, 0], [0, 0, 1, 1]]), (None, [[1, 1, 0, 0]] * 2)])
def test_rows_are_written_behind_each_other(starts, due):
    cache, update = np.zeros((2, 4, 1), "f4"), np.ones((2, 2, 1), "f4")
    arrays = (cache, update) if starts is None else (cache, update, ints(*starts))
    assert run("TensorScatter", 24, *arrays)[..., 0].tolist() == due


@pytest.mark.parametrize("start, due", [(3, [2, 0, 0, 1]), (7, [2, 0, 0, 1]), (-1, [2, 0, 0, 1]), (-4, [1, 2, 0, 0])])
def test_circular_caches_go_on_in_front(start, due):
    cache, update = np.zeros((1, 4, 1), "f4"), np.array([1, 2], "f4").reshape(1, 2, 1)
    assert run("TensorScatter", 24, cache, update, ints(start), mode="circular").ravel().tolist() == due


@pytest.mark.parametrize("dtype", ["f4", object])
@pytest.mark.parametrize("start", [3, -1, 2**63 - 1, -2**63])
def test_linear_caches_end(start, dtype):
    cache, update = np.zeros((1, 4, 1), "f4").astype(dtype), np.zeros((1, 2, 1), "f4").astype(dtype)
    with pytest.raises(interp.RunError, match="out of range"):
        run("TensorScatter", 24, cache, update, ints(start))


# Shape rules


def rule(name, opset, *facts, **attributes):
    s = schema(name, opset)
    return standard.find(s).shape(*facts, **{**s.defaults, **attributes})


def test_rules_know_named_sizes():
    n, m = named("N"), named("M")
    x, at = Fact("tensor(float)", (n, 3, m)), Fact("tensor(int64)", (n, 5, 1))
    assert rule("GatherND", 13, x, at) == [(n, 5, 3, m)]
    assert rule("GatherND", 13, x, at, batch_dims=1) == [(n, 5, m)]
    assert rule("GatherElements", 13, x, Fact("tensor(int64)", (n, 3, 7)), axis=2) == [(n, 3, 7)]
    assert rule("ScatterND", 18, x, at, Fact("tensor(float)", (n, 5, 3, m))) == [(n, 3, m)]


def test_sizes_pass_through_scatter_nd():
    """As exporters write `shape[1] = n`."""
    n = named("N")
    sizes = Fact("tensor(int64)", (3,), np.array([1, 2, 3]))
    at, update = Fact("tensor(int64)", (1, 1), ints([1])), Fact("tensor(int64)", (1,), np.array([n], object))
    assert rule("ScatterND", 18, sizes, at, update)[0].value.tolist() == [1, n, 3]
    assert rule("GatherND", 13, Fact("tensor(int64)", (2,), np.array([n, 4], object)), at)[0].value.tolist() == [4]
