"""Shapes asked for: 0, -1 and allowzero in Reshape, axes from either end, the ends of Slice, Expand to less, uneven parts."""
import ml_dtypes
import numpy as np
import onnx
import pytest

import interp
from interp.dims import Fact, named
from interp.ops import standard
from interp.schema import schema

from .every import one_node

LEAST, MOST = {"i4": -2**31, "i8": -2**63}, {"i4": 2**31 - 1, "i8": 2**63 - 1}


def run(name, opset, *arrays, outputs=("Y",), **attributes):
    """The results of a model of one node, its inputs fed."""
    feeds = {f"i{k}": a for k, a in enumerate(arrays)}
    given = {k: v for k, v in feeds.items() if v is not None}
    found = interp.load(one_node(name, opset, feeds, attributes, outputs), threads=2).run(None, given)
    return found if len(found) > 1 else found[0]


def ints(*values):
    return np.array(values, "i8")


# Reshape


@pytest.mark.parametrize("shape, wanted, allowzero, due", [
    ((2, 3, 4), [0, -1], 0, (2, 12)), ((2, 3, 4), [0, 0, 0], 0, (2, 3, 4)), ((2, 3, 4), [-1], 0, (24,)),
    ((2, 3, 4), [4, 0, -1], 0, (4, 3, 2)), ((1, 1), [], 0, ()), ((), [1, -1], 0, (1, 1)),
    ((0, 3, 4), [0, 12], 0, (0, 12)), ((0, 3, 4), [3, 0, 4], 1, (3, 0, 4)), ((0, 3), [0, 5, 7], 1, (0, 5, 7)),
    ((0, 3), [-1, 3], 0, (0, 3)), ((0, 3), [-1, 3], 1, (0, 3))])
def test_sizes_are_kept_taken_from_what_remains_or_zero(shape, wanted, allowzero, due):
    x = np.arange(np.prod(shape, dtype=int), dtype="f4").reshape(shape)
    y = run("Reshape", 14, x, np.array(wanted, "i8"), allowzero=allowzero)
    assert y.shape == due and np.array_equal(y.ravel(), x.ravel())


@pytest.mark.parametrize("shape, wanted, allowzero", [
    ((2, 3), [0, -1], 1), ((2, 3), [-1, -1], 0), ((2, 3), [2, 3, 0], 0), ((2, 3), [4, -1], 0), ((2, 3), [7], 0),
    ((2, 3), [-2, 3], 0), ((0, 3), [0, -1], 0), ((2, 3), [0, 3], 1)])
def test_shapes_that_cannot_be(shape, wanted, allowzero):
    with pytest.raises(interp.InterpError, match="Reshape"):
        run("Reshape", 14, np.zeros(shape, "f4"), np.array(wanted, "i8"), allowzero=allowzero)


@pytest.mark.parametrize("dtype", [ml_dtypes.int4, ml_dtypes.uint4])
@pytest.mark.parametrize("shape", [(3,), (1, 7), (3, 5)])
def test_odd_counts_of_four_bits(dtype, shape):
    x = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    assert np.array_equal(run("Transpose", 25, x), x.T)
    assert np.array_equal(run("Reshape", 25, x, ints(-1)), x.ravel())
    assert np.array_equal(run("Pad", 25, x, ints(*[1] * 2 * len(shape))), np.pad(x, 1))
    assert np.array_equal(run("Identity", 25, x), x)


@pytest.mark.parametrize("dtype", [ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.int2, ml_dtypes.uint2, ml_dtypes.float4_e2m1fn])
@pytest.mark.parametrize("count", [1, 3, 5, 7])
def test_odd_counts_that_a_model_holds(dtype, count):
    """Packed in the file, the last byte half empty; each of its elements comes out on its own."""
    x = np.arange(count).astype(dtype)
    node = onnx.helper.make_node("Constant", [], ["c"], value=onnx.numpy_helper.from_array(x))
    both = onnx.helper.make_node("Transpose", ["w"], ["t"]), onnx.helper.make_node("Reshape", ["c", "shape"], ["r"])
    kind = onnx.helper.np_dtype_to_tensor_dtype(x.dtype)
    graph = onnx.helper.make_graph(
        [node, *both], "g", [], [onnx.helper.make_tensor_value_info(n, kind, None) for n in "tr"],
        [onnx.numpy_helper.from_array(x, "w"), onnx.numpy_helper.from_array(ints(1, -1), "shape")])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 25)], ir_version=13)
    t, r = interp.load(model).run(None, {})
    assert t.dtype == r.dtype == np.dtype(dtype) and t.tolist() == x.tolist() and r.tolist() == [x.tolist()]


@pytest.mark.parametrize("axes, due", [
    (None, (3, 2)), (ints(0), (3, 1, 2)), (ints(-2), (1, 3, 2)), (ints(2, 0), (3, 2)), (ints(), (1, 3, 1, 2))])
def test_axes_of_size_one_go(axes, due):
    x = np.zeros((1, 3, 1, 2), "f4")
    assert run("Squeeze", 13, *((x,) if axes is None else (x, axes))).shape == due


@pytest.mark.parametrize("shape, due", [((1, 3), (3,)), ((3, 1), (3,)), ((1, 1), ()), ((2, 3), (2, 3)), ((1, 0), (0,))])
def test_which_sizes_are_one_only_a_run_tells(shape, due):
    text = '<ir_version: 10, opset_import: ["": 18]> g (float[a, b] x) => (float y) { s = Squeeze(x) y = Neg(s) }'
    session = interp.load(onnx.parser.parse_model(text))
    x = np.arange(np.prod(shape), dtype="f4").reshape(shape)
    y = session.run(None, {"x": x})[0]
    assert y.shape == due and np.array_equal(y, -x.reshape(due))
    assert session.run(None, {"x": np.ones((4, 1), "f4")})[0].shape == (4,)


@pytest.mark.parametrize("axes", [ints(1), ints(4), ints(-5), ints(0, 0), ints(0, -4)])
def test_axes_that_cannot_go(axes):
    with pytest.raises(interp.InterpError, match="Squeeze.*ax"):
        run("Squeeze", 13, np.zeros((1, 3, 1, 2), "f4"), axes)


@pytest.mark.parametrize("axes", [ints(3), ints(-4), ints(0, 0), ints(0, -3)])
def test_axes_that_cannot_come(axes):
    with pytest.raises(interp.InterpError, match="Unsqueeze.*ax"):
        run("Unsqueeze", 13, np.zeros((2, 3), "f4")[0], axes)


# Slice


@pytest.mark.parametrize("kind", ["i4", "i8"])
@pytest.mark.parametrize("size", [0, 1, 2, 5])
@pytest.mark.parametrize("step", [1, 2, 7, -1, -2, -7, "most", "least"])
@pytest.mark.parametrize("start", [0, 1, -1, 9, -9, "most", "least"])
def test_ends_beyond_the_axis(kind, size, step, start):
    """INT_MAX and INT_MIN as ends, starts and steps. A start before the axis is its first element, unlike in Python."""
    x = np.arange(size, dtype="f4")
    extremes = {"most": MOST[kind], "least": LEAST[kind]}
    start, step = extremes.get(start, start), extremes.get(step, step)
    for end in (0, 1, -1, 3, -9, *extremes.values()):
        given = [np.array([v], kind) for v in (start, end, 0, step)]
        assert run("Slice", 13, x, *given).tolist() == [float(i) for i in positions(size, start, end, step)], end


def positions(size, start, end, step):
    """As the text of version 13 adds and clamps."""
    start, end = (n + size if n < 0 else n for n in (start, end))
    if step > 0:
        return range(min(max(start, 0), size), min(max(end, 0), size), step)
    return range(min(max(start, 0), size - 1), min(max(end, -1), size - 1), step)


def test_a_slice_steps():
    with pytest.raises(interp.InterpError, match="Slice.*steps by 0"):
        run("Slice", 13, np.zeros(3, "f4"), ints(0), ints(3), ints(0), ints(0))


# Expand and its kin


@pytest.mark.parametrize("shape, wanted, due", [
    ((3, 2), [1], (3, 2)), ((3, 2), [1, 1], (3, 2)), ((3, 1), [4], (3, 4)), ((1,), [0], (0,)), ((3, 1), [2, 1, 5], (2, 3, 5)),
    ((), [2, 2], (2, 2)), ((2, 3), [], (2, 3)), ((0, 1), [1, 3], (0, 3))])
def test_expanding_to_less_keeps_what_is_there(shape, wanted, due):
    x = np.arange(np.prod(shape, dtype=int), dtype="f4").reshape(shape)
    y = run("Expand", 13, x, np.array(wanted, "i8"))
    assert y.shape == due and np.array_equal(y, np.broadcast_to(x, due))


@pytest.mark.parametrize("wanted", [[2], [3, 4], [-1, 3, 2]])
def test_what_does_not_broadcast(wanted):
    with pytest.raises(interp.InterpError, match="Expand"):
        run("Expand", 13, np.zeros((3, 3), "f4"), np.array(wanted, "i8"))


@pytest.mark.parametrize("size, count, due", [(7, 3, [3, 3, 1]), (6, 3, [2, 2, 2]), (4, 3, [2, 2, 0]), (1, 1, [1])])
def test_the_last_part_is_smaller(size, count, due):
    outputs = {f"o{k}": "f4" for k in range(count)}
    found = run("Split", 18, np.arange(size, dtype="f4"), outputs=outputs, num_outputs=count)
    assert [len(y) for y in (found if count > 1 else [found])] == due


@pytest.mark.parametrize("opset, attributes, split, message", [
    (18, {"num_outputs": 3}, None, "num_outputs 3 for 2 outputs"), (18, {"num_outputs": 2}, ints(3, 3), "sizes as well"),
    (13, {}, ints(1, 4), "do not make 6"), (13, {}, ints(2, 2, 2), "3 parts for 2 outputs"), (13, {}, ints(7, -1), "Split"),
    (11, {"split": [1, 2]}, None, "do not make 6"), (11, {"axis": 1}, None, "axis 1")])
def test_parts_that_cannot_be(opset, attributes, split, message):
    arrays = (np.zeros(6, "f4"),) if split is None else (np.zeros(6, "f4"), split)
    with pytest.raises(interp.InterpError, match=message):
        run("Split", opset, *arrays, outputs=dict.fromkeys("ab", "f4"), **attributes)


def test_the_first_split_takes_lengths_from_an_input_as_well():
    op = standard.find(schema("Split", 1))
    x, outs = np.arange(5, dtype="f4"), [np.zeros(2, "f4"), np.zeros(3, "f4")]
    op(x, np.array([2, 3], "f4"), split=None, axis=0, outputs=(True, True), out=outs)()
    assert [y.tolist() for y in outs] == [[0, 1], [2, 3, 4]]


@pytest.mark.parametrize("dtype", ["f4", object])
def test_the_first_tile_repeats_one_axis(dtype):
    x = np.array([[1, 2]], "f4")
    assert run("Tile", 1, x, np.array(2, "f4"), np.array(0, "f4")).tolist() == [[1, 2]] * 2


# Values made of sizes


def rule(name, opset, *facts, **attributes):
    s = schema(name, opset)
    return standard.find(s).shape(*facts, **{**s.defaults, **attributes})


def known(*values):
    array = np.array(values, "i8" if all(isinstance(v, int) for v in values) else object)
    return Fact("tensor(int64)", array.shape, array)


def test_sizes_pass_through_transposes_and_splits():
    """As exporters turn the pads of a framework, last axis first, into those of Pad."""
    n = named("N")
    pairs = Fact("tensor(int64)", (2, 2), np.array([[0, n], [1, 64]], object))
    [turned] = rule("Transpose", 13, pairs)
    assert turned.value.tolist() == [[0, 1], [n, 64]]
    parts = rule("Split", 13, known(n, 3, 4), known(1, 2), axis=0, outputs=2)
    assert [p.value.tolist() for p in parts] == [[n], [3, 4]]
    assert [p.value.tolist() for p in rule("Split", 18, known(n, 3, 4), axis=0, num_outputs=2, outputs=2)] == [[n, 3], [4]]


def test_positions_of_known_values_are_known():
    [found] = rule("NonZero", 13, known(1, 0, 5))
    assert found.shape == (1, 2) and found.value.tolist() == [[0, 2]]
    [found] = rule("NonZero", 13, known(named("N"), 0))
    assert found[0] == 1 and not isinstance(found[1], int)
