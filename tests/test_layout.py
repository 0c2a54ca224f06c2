"""Operators that move, pick and make elements against NumPy, with the sizes, types and old versions that break loops."""
import itertools

import ml_dtypes
import numpy as np
import onnx.reference
import pytest

import interp
from interp.dims import Fact, named, number
from interp.kernels import layout
from interp.ops import standard
from interp.schema import schema

from .every import one_node

DTYPES = ["f4", "f8", "f2", ml_dtypes.bfloat16, "i1", "u2", "i4", "i8", "?", "c16"]
ENDLESS = 2**63 - 1


def run(name, opset, feeds, outputs=("Y",), **attributes):
    """The results of a model of one node."""
    given = {k: v for k, v in feeds.items() if v is not None}
    found = interp.load(one_node(name, opset, feeds, attributes, outputs)).run(None, given)
    return found if len(found) > 1 else found[0]


def rule(name, opset, *facts, **attributes):
    """What the shape rule of an operator says."""
    s = schema(name, opset)
    return standard.find(s).shape(*facts, **{**s.defaults, **attributes})


def numbered(shape, dtype="i4"):
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


def known(*values):
    return Fact("tensor(int64)", (len(values),), np.array(values, "i8" if all(isinstance(v, int) for v in values) else object))


def ints(*values):
    return np.array(values, "i8")


# Kernels


@pytest.mark.parametrize("dtype", DTYPES)
def test_transpositions_in_every_order(dtype):
    x = np.random.default_rng(0).integers(0, 100, (3, 5, 17, 18)).astype(dtype)
    for perm in itertools.permutations(range(4)):
        wanted = np.ascontiguousarray(x.transpose(perm))
        y = np.zeros_like(wanted)
        layout.transpose(x, perm, y)(2)
        assert np.array_equal(y, wanted), perm


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("axis", range(3))
def test_parts_join_and_split_again(dtype, axis):
    x = numbered((4, 5, 6), dtype)
    parts = [x, np.take(x, [1], axis), np.take(x, [], axis), np.take(x, [0, 2], axis)]
    wanted = np.concatenate(parts, axis)
    y = np.zeros_like(wanted)
    layout.concat(parts, axis, y)(2)
    assert np.array_equal(y, wanted)
    starts = np.cumsum([0] + [p.shape[axis] for p in parts])[:-1]
    outs = [(int(s), np.zeros_like(p)) for s, p in zip(starts, parts, strict=True)]
    layout.split(y, axis, outs)()
    assert all(np.array_equal(o, p) for (_, o), p in zip(outs, parts, strict=True))


def test_long_runs_are_copied_whole():
    for size in (0, 1, 127, 128, 129, 32768, 100003):
        x = np.random.default_rng(size).integers(0, 255, size).astype("u1")
        y = np.zeros_like(x)
        layout.copy(x, y)(2)
        assert np.array_equal(x, y)


def test_blocks_beyond_their_arrays_are_refused():
    x, y = np.zeros((3, 4), "f4"), np.zeros((3, 2), "f4")
    with pytest.raises(ValueError):
        layout.slice(x, [0, 3], [1, 1], y)
    with pytest.raises(ValueError):
        layout.slice(x, [0, 1], [1, -2], y)
    with pytest.raises(ValueError):
        layout.concat([x], 1, y)
    with pytest.raises(ValueError):
        layout.split(y, 1, [(1, np.zeros((3, 2), "f4"))])
    with pytest.raises(ValueError):
        layout.transpose(x, (0, 0), np.zeros((3, 3), "f4"))
    with pytest.raises(ValueError):
        layout.repeat(x, (3, 4), (2, 1), y)
    with pytest.raises(TypeError):
        layout.copy(x, x.astype("f8"))
    with pytest.raises(ValueError):
        layout.gather(x, ints(0), 0, y)


# Slices


@pytest.mark.parametrize("start, end, step", [(0, 3, 1), (1, ENDLESS, 2), (-3, -1, 1), (ENDLESS, -ENDLESS, -1), (-1, -6, -2),
                                              (5, 2, 1), (2, 2, 1), (3, 0, -1), (-100, 100, 3), (4, -100, -3), (0, 0, -1)])
@pytest.mark.parametrize("size", [0, 1, 5])
def test_slices_of_one_axis(start, end, step, size):
    x = numbered((2, size, 3))
    wanted = x[:, slice(start, end if end > -6 else None, step)]
    found = run("Slice", 13, {"data": x, "starts": ints(start), "ends": ints(end), "axes": ints(1), "steps": ints(step)})
    assert np.array_equal(found, wanted)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_second_element_of_rows_of_every_length(dtype):
    for size in [1, 2, 3, 15, 16, 17, 31, 33, 64, 127]:
        x = numbered((2, 3, size)).astype(dtype)
        for start in range(min(2, size)):
            y = np.empty(x[..., start::2].shape, x.dtype)
            layout.slice(x, (0, 0, start), (1, 1, 2), y)(1)
            np.testing.assert_array_equal(y, x[..., start::2])


def test_slices_take_their_settings_from_attributes_or_inputs():
    x = numbered((4, 5))
    wanted = x[1:3, :-1]
    assert np.array_equal(run("Slice", 1, {"data": x}, starts=[1, 0], ends=[3, -1]), wanted)
    assert np.array_equal(run("Slice", 10, {"data": x, "starts": ints(1, 0), "ends": ints(3, -1)}), wanted)
    assert np.array_equal(run("Slice", 13, {"data": x, "starts": np.array([0], "i4"), "ends": np.array([-1], "i4"),
                                            "axes": np.array([-1], "i4")}), x[:, :-1])


def test_slices_of_named_sizes():
    n, x = named("N"), Fact("tensor(float)", (named("N"), 8))
    assert rule("Slice", 13, x, known(0), known(ENDLESS), known(0)) == [(n, 8)]
    assert rule("Slice", 13, x, known(-1), known(-ENDLESS), known(0), known(-1)) == [(n, 8)]
    assert rule("Slice", 13, x, known(0), known(n), known(0)) == [(n, 8)]
    [(rest, _)] = rule("Slice", 13, x, known(1), known(ENDLESS), known(0))
    assert str(rest) == str(rule("Slice", 13, x, known(1), known(2**31 - 1), known(0))[0][0]) and "N" in str(rest)


@pytest.mark.parametrize("step", [1, 2, -1, -3])
@pytest.mark.parametrize("start, end", [(-1, ENDLESS), (-2, 1), (0, -1), (ENDLESS, -3), (-3, -1), (-1, -ENDLESS), (2, -4)])
def test_slices_from_sizes_that_may_be_negative(start, end, step):
    """`x[n - 1:]` starts in front where n is 0: a position is what it comes to, whatever its sign."""
    n = named("N")
    given = [v if abs(v) == ENDLESS else n + v for v in (start, end)]
    [(count,)] = rule("Slice", 13, Fact("tensor(float)", (n,)), known(given[0]), known(given[1]), known(0), known(step))
    for size in range(7):
        at = [v if abs(v) == ENDLESS else size + v for v in (start, end)]
        [(due,)] = rule("Slice", 13, Fact("tensor(float)", (size,)), known(at[0]), known(at[1]), known(0), known(step))
        assert number(count, {"N": size}) == due, size


# Views


def test_reshape_keeps_sizes_and_works_one_out():
    n, x = named("N"), Fact("tensor(float)", (named("N"), 4, 6))
    assert rule("Reshape", 14, x, known(0, -1)) == [(n, 24)]
    assert rule("Reshape", 14, x, known(-1, 24)) == [(n, 24)]
    assert rule("Reshape", 14, x, known(n, 2, 12)) == [(n, 2, 12)]
    assert rule("Reshape", 1, x, shape=(0, -1)) == [(n, 24)]
    assert rule("Reshape", 14, Fact("tensor(float)", (0, 3)), known(3, 0), allowzero=1) == [(3, 0)]
    for shape in [(5, -1), (-1, -1), (7, 7), (0, 0, 0)]:
        with pytest.raises(ValueError):
            rule("Reshape", 14, Fact("tensor(float)", (2, 6)), known(*shape))


def test_axes_of_size_one_come_and_go():
    x = Fact("tensor(float)", (1, named("N"), 1))
    assert rule("Squeeze", 13, x, known(-1)) == [(1, named("N"))]
    assert rule("Squeeze", 11, Fact("tensor(float)", (1, 3, 1)), axes=None) == [(3,)]
    assert rule("Unsqueeze", 13, x, known(0, -1)) == [(1, 1, named("N"), 1, 1)]
    assert rule("Flatten", 13, x, axis=-1) == [(named("N"), 1)]
    with pytest.raises(ValueError):
        rule("Squeeze", 13, Fact("tensor(float)", (2, 1)), known(0))


@pytest.mark.parametrize("dtype", ["f4", "f2", "i8", "?"])
def test_views_in_a_model(dtype):
    x = numbered((2, 3, 4), dtype)
    assert np.array_equal(run("Reshape", 13, {"data": x, "shape": ints(0, -1)}), x.reshape(2, 12))
    assert np.array_equal(run("Flatten", 13, {"input": x}, axis=2), x.reshape(6, 4))
    assert np.array_equal(run("Unsqueeze", 13, {"data": x, "axes": ints(1)}), x[:, None])
    assert np.array_equal(run("Identity", 13, {"input": x}), x)


# Repeats, parts, padding


@pytest.mark.parametrize("dtype", ["f4", "i8", "u1"])
def test_repeats(dtype):
    x = numbered((3, 1, 2), dtype)
    assert np.array_equal(run("Expand", 13, {"input": x, "shape": ints(2, 1, 4, 1)}), np.broadcast_to(x, (2, 3, 4, 2)))
    assert np.array_equal(run("Tile", 13, {"input": x, "repeats": ints(2, 3, 2)}), np.tile(x, (2, 3, 2)))


def test_splits_in_every_version():
    x = numbered((2, 5))
    sizes = {"split": ints(2, 3)}
    for opset, feeds, attributes in [(2, {}, {"split": [2, 3]}), (13, sizes, {}), (18, sizes, {})]:
        a, b = run("Split", opset, {"input": x, **feeds}, dict.fromkeys("ab", "i4"), axis=1, **attributes)
        assert np.array_equal(a, x[:, :2]) and np.array_equal(b, x[:, 2:])
    a, b, c = run("Split", 18, {"input": x}, dict.fromkeys("abc", "i4"), axis=1, num_outputs=3)
    assert (a.shape, b.shape, c.shape) == ((2, 2), (2, 2), (2, 1))
    a, b = run("Split", 11, {"input": x}, dict.fromkeys("ab", "i4"), axis=0)
    assert np.array_equal(a, x[:1]) and np.array_equal(b, x[1:])
    with pytest.raises(interp.InterpError, match="equal parts"):
        run("Split", 11, {"input": x}, dict.fromkeys("ab", "i4"), axis=1)


@pytest.mark.parametrize("mode", ["constant", "reflect", "edge", "wrap"])
def test_pads(mode):
    x = numbered((3, 4), "f4")
    value = np.array(7, "f4") if mode == "constant" else None
    found = run("Pad", 19, {"data": x, "pads": ints(1, 2, 0, 1), "constant_value": value}, mode=mode)
    extra = {"constant_values": 7} if mode == "constant" else {}
    assert np.array_equal(found, np.pad(x, [(1, 0), (2, 1)], mode, **extra))


def test_pads_take_away_and_name_axes():
    x = numbered((3, 4), "f4")
    assert np.array_equal(run("Pad", 18, {"data": x, "pads": ints(-1, 2), "constant_value": None, "axes": ints(1)}),
                          np.pad(x[:, 1:], [(0, 0), (0, 2)]))
    wanted = np.pad(x, [(0, 0), (1, 0)], constant_values=2)
    assert np.array_equal(run("Pad", 2, {"data": x}, pads=[0, 1, 0, 0], value=2.0), wanted)


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_depth_becomes_space(mode):
    x = numbered((2, 12, 3, 2), "f4")
    reference = onnx.reference.ReferenceEvaluator(one_node("DepthToSpace", 13, {"input": x}, {"blocksize": 2, "mode": mode}))
    assert np.array_equal(run("DepthToSpace", 13, {"input": x}, blocksize=2, mode=mode), reference.run(None, {"input": x})[0])
    y = numbered((1, 2, 4, 6), "f4")
    reference = onnx.reference.ReferenceEvaluator(one_node("SpaceToDepth", 13, {"input": y}, {"blocksize": 2}))
    assert np.array_equal(run("SpaceToDepth", 13, {"input": y}, blocksize=2), reference.run(None, {"input": y})[0])


# Strings, which have no buffers


@pytest.mark.parametrize("name", ["SpaceToDepth", "DepthToSpace"])
def test_blocks_of_nothing_are_refused(name):
    with pytest.raises(interp.ModelError, match=f"{name}.*blocks of 0"):
        run(name, 13, {"x": numbered((1, 4, 2, 2), "f4")}, blocksize=0)


def test_strings_move():
    x = np.array([["a", "b"], ["c", "d"]], object)
    assert run("Transpose", 13, {"data": x}).tolist() == [["a", "c"], ["b", "d"]]
    assert run("Concat", 13, {"x": x, "z": x}, axis=1).tolist() == [["a", "b", "a", "b"], ["c", "d", "c", "d"]]
    assert run("Slice", 13, {"data": x, "starts": ints(1), "ends": ints(2)}).tolist() == [["c", "d"]]
    assert run("Gather", 13, {"data": x, "indices": ints(-1)}, axis=1).tolist() == [["b"], ["d"]]
    assert run("Expand", 13, {"input": x[:1], "shape": ints(2, 2)}).tolist() == [["a", "b"]] * 2
    assert run("Reshape", 13, {"data": x, "shape": ints(-1)}).tolist() == ["a", "b", "c", "d"]
    assert run("Identity", 13, {"input": x}).tolist() == x.tolist()


# Indices


@pytest.mark.parametrize("dtype", DTYPES[:-1])
@pytest.mark.parametrize("index", ["i4", "i8"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_gathered_rows(dtype, index, axis):
    x, indices = numbered((4, 5, 3), dtype), np.array([[0, -1], [2, 1]], index)
    assert np.array_equal(run("Gather", 13, {"data": x, "indices": indices}, axis=axis), np.take(x, indices, axis))


@pytest.mark.parametrize("index", [5, -6])
def test_an_index_out_of_range_names_the_node(index):
    with pytest.raises(interp.RunError, match="Gather.*out of range"):
        run("Gather", 13, {"data": numbered((5, 2)), "indices": ints(0, index)})


def test_elements_are_gathered_at_their_own_places():
    x, i = numbered((3, 4)), np.array([[2, 0], [-1, 1]])
    assert np.array_equal(run("GatherElements", 13, {"data": x, "indices": i}, axis=0), np.take_along_axis(x[:, :2], i, 0))


@pytest.mark.parametrize("dtype", ["f4", "f2", ml_dtypes.bfloat16, "i8", "?", "u1"])
def test_positions_that_are_not_zero(dtype):
    x = np.array([[0, 1, 0], [2, 0, 3]]).astype(dtype)
    assert run("NonZero", 13, {"X": x}).tolist() == [[0, 1, 1], [1, 0, 2]]


def test_a_scalar_that_is_not_zero_has_no_axes():
    op = standard.find(schema("NonZero", 13))
    assert op(np.array(3.0)).shape == (0, 1) and op(np.array(0.0)).shape == (0, 0)


# Made values


def test_shapes_and_sizes():
    x = numbered((2, 3, 4), "f4")
    assert run("Shape", 13, {"data": x}).tolist() == [2, 3, 4]
    assert run("Shape", 15, {"data": x}, start=-2).tolist() == [3, 4]
    assert run("Shape", 15, {"data": x}, start=1, end=-1).tolist() == [3]
    assert run("Shape", 15, {"data": x}, start=5, end=-9).tolist() == []
    assert run("Size", 13, {"data": x}) == 24


def test_filled_arrays():
    assert np.array_equal(run("ConstantOfShape", 20, {"input": ints(2, 3)}, {"Y": "f4"}), np.zeros((2, 3), "f4"))
    seven = onnx.numpy_helper.from_array(np.array([7], "i8"))
    assert run("ConstantOfShape", 20, {"input": ints(2)}, {"Y": "i8"}, value=seven).tolist() == [7, 7]


@pytest.mark.parametrize("start, limit, delta", [(0, 10, 3), (10, 0, -4), (5, 5, 1), (0, -3, 1), (1, 2, 5)])
@pytest.mark.parametrize("dtype", ["i2", "i4", "i8", "f4", "f8"])
def test_ranges(start, limit, delta, dtype):
    feeds = {"start": np.array(start, dtype), "limit": np.array(limit, dtype), "delta": np.array(delta, dtype)}
    assert run("Range", 11, feeds).tolist() == list(range(start, limit, delta))


def test_sizes_are_carried_through_chains():
    n = named("N")
    [sizes] = rule("Shape", 15, Fact("tensor(float)", (n, 3, 4)))
    assert sizes.sizes == [n, 3, 4]
    [first] = rule("Gather", 13, sizes, Fact("tensor(int64)", (1,), np.array([0])))
    [tail] = rule("Slice", 13, sizes, known(1), known(ENDLESS))
    assert first.sizes == [n] and tail.sizes == [3, 4]
    [both] = rule("Concat", 13, first, known(-1), axis=0)
    assert both.sizes == [n, -1]
    assert rule("Reshape", 14, Fact("tensor(float)", (n, 3, 4)), both) == [(n, 12)]
    [filled] = rule("ConstantOfShape", 20, known(2), value=np.array([5], "i8"))
    assert filled.sizes == [5, 5]
    [counted] = rule("Range", 11, *(Fact("tensor(int64)", (), np.array(v)) for v in (0, 4, 1)))
    assert counted.sizes == [0, 1, 2, 3]
    [cast] = rule("Cast", 13, sizes, to=6)
    assert cast.type == "tensor(int32)" and cast.sizes == [n, 3, 4]
