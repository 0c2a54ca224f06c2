"""Comparing models: the one node that is wrong is blamed, engines and models are paired rightly, and memory stays flat."""
import re
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import interp
from interp.distance import distance, tensors
from interp.errors import InputError, UsageError
from interp.rows import Row
from interp.walking import in_blocks, plain

ROOT = Path(__file__).parent.parent
pytest.importorskip("onnxruntime", reason="onnxruntime is part of the test extra")
FLOAT = TensorProto.FLOAT


def model(nodes, inputs=(("x", FLOAT, [2, 3]),), outputs=(("y", FLOAT, [2, 3]),), constants=(), opset=17, **more):
    sides = [[helper.make_tensor_value_info(*v) for v in side] for side in (inputs, outputs)]
    graph = helper.make_graph(nodes, "made", *sides, [onnx.numpy_helper.from_array(a, n) for n, a in constants])
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(d, 1) for d in more.get("domains", ()))]
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


def leaky(*alphas):
    """A chain of LeakyRelu with these slopes, nodes n0, n1 …, that ends in y."""
    names = ["x", *(f"t{k}" for k in range(len(alphas) - 1)), "y"]
    return model([helper.make_node("LeakyRelu", [names[k]], [names[k + 1]], f"n{k}", alpha=a) for k, a in enumerate(alphas)])


@interp.op("LeakyRelu", 6, 16, shape=lambda x, **_: [x.shape])
def wrong_at_one_slope(x, *, alpha):
    """LeakyRelu, but 1 % too large where the slope is 1/4."""
    y = np.where(x < 0, x * np.float32(alpha), x)
    return y * np.float32(1.01) if alpha == 0.25 else y


X = np.array([[-3, -2, -1], [1, 2, 3]], np.float32)
WRONG = interp.Registry(interp.standard).add(wrong_at_one_slope)


@pytest.mark.parametrize("against", ["onnxruntime", "reference"])
def test_a_node_that_is_wrong_is_blamed_alone(against):
    rows = list(interp.compare(leaky(0.5, 0.25, 0.75, 0.875), {"x": X}, against=against, layers=True, registry=WRONG))
    assert [(r.node, r.index) for r in rows] == [("n0", 0), ("n1", 1), ("n2", 2), ("n3", 3)]
    assert [r.status for r in rows] == ["ok", "differs", "ok", "ok"]
    assert {r.op_type for r in rows} == {"LeakyRelu"}
    assert rows[1].distance.wrong == 6 and rows[1].distance.first == (0, 0)
    assert rows[1].distance.max_rel == pytest.approx(0.01, rel=1e-4)
    assert rows[1].distance.max_abs == pytest.approx(0.03, rel=1e-4)


def test_errors_that_add_up_show_in_the_nodes_that_follow():
    rows = list(interp.compare(leaky(0.5, 0.25, 0.75), {"x": X}, layers=True, cumulative=True, registry=WRONG))
    assert [r.status for r in rows] == ["ok", "differs", "differs"]
    assert rows[2].distance.max_rel == pytest.approx(0.01, rel=1e-4)


def test_outputs_tell_that_something_is_wrong():
    [row] = interp.compare(leaky(0.5, 0.25), {"x": X}, registry=WRONG)
    assert (row.tensor, row.status, row.node, row.index) == ("y", "differs", "", None)
    assert [r.status for r in interp.compare(leaky(0.5, 0.25), {"x": X})] == ["ok"]


def choice(condition, *before):
    """Neg of what one of two branches gives, each a LeakyRelu, of which WRONG has the first wrong."""
    branches = {name: helper.make_graph([helper.make_node("LeakyRelu", ["x"], [f"{name}_y"], name, alpha=alpha)], name, [],
                                        [helper.make_tensor_value_info(f"{name}_y", FLOAT, [2, 3])])
                for name, alpha in (("then_branch", 0.25), ("else_branch", 0.5))}
    return [*before, helper.make_node("If", [condition], ["t"], "choose", **branches),
            helper.make_node("Neg", ["t"], ["y"], "neg")]


@pytest.mark.parametrize("taken, due", [(True, "differs"), (False, "ok")])
def test_a_wrong_operator_inside_the_branch_that_the_inputs_choose_is_blamed(taken, due):
    made = model(choice("c"), inputs=[("x", FLOAT, [2, 3]), ("c", TensorProto.BOOL, [])])
    rows = list(interp.compare(made, {"x": X, "c": np.array(taken)}, layers=True, registry=WRONG))
    name = "then_branch" if taken else "else_branch"
    assert [(r.node, r.op_type, r.tensor, r.status, r.inner) for r in rows] == [
        (name, "LeakyRelu", "t", due, 0), ("neg", "Neg", "y", "ok", 0)]


@pytest.mark.parametrize("taken, due", [(True, "differs"), (False, "ok")])
def test_a_wrong_operator_inside_a_branch_that_the_data_choose_is_blamed_on_the_node_that_holds_it(taken, due):
    before = [helper.make_node("ReduceMin", ["x"], ["least"], "min", keepdims=0),
              helper.make_node("Less", ["least", "k"], ["c"], "less")]
    made = model(choice("c", *before), constants=[("k", np.float32(0 if taken else -9))])
    rows = list(interp.compare(made, {"x": X}, layers=True, registry=WRONG))
    assert [(r.node, r.status, r.inner) for r in rows] == [
        ("min", "ok", 0), ("less", "ok", 0), ("choose", due, 2), ("neg", "ok", 0)]


def test_a_node_that_cannot_run_here_is_blamed_and_the_walk_goes_on():
    @interp.op("Abs", 13, shape=lambda x: [x.shape])
    def broken(x):
        raise ValueError("no such thing")

    made = model([helper.make_node("Abs", ["x"], ["a"], "first"), helper.make_node("Neg", ["a"], ["y"], "second")])
    rows = list(interp.compare(made, {"x": X}, layers=True, registry=interp.Registry(interp.standard).add(broken)))
    assert [(r.node, r.status) for r in rows] == [("first", "failed"), ("second", "ok")]
    assert "no such thing" in rows[0].text


def test_a_shape_or_type_that_is_another_is_a_difference():
    @interp.op("Neg", 13, shape=lambda x: [(2, 2)])
    def cut(x):
        return -x[:, :2]

    made = model([helper.make_node("Neg", ["x"], ["y"], "neg")])
    [row] = interp.compare(made, {"x": X}, layers=True, registry=interp.Registry(interp.standard).add(cut))
    assert (row.status, row.text, row.distance, row.excess) == (
        "differs", "float[2,2] here, float[2,3] there", None, float("inf"))


def test_random_nodes_are_left_out_by_name():
    made = model([helper.make_node("RandomUniformLike", ["x"], ["r"], "dice"), helper.make_node("Add", ["x", "r"], ["y"], "sum")])
    rows = list(interp.compare(made, {"x": X}, layers=True))
    assert [(r.node, r.status) for r in rows] == [("dice", "left out"), ("sum", "ok")]
    assert rows[0].text == "draws random numbers" and rows[0].ok
    [row] = interp.compare(made, {"x": X})
    assert (row.status, row.text) == ("left out", "made of random numbers")


@pytest.mark.parametrize("training", [True, False])
def test_dropout_is_random_in_training_only(training):
    made = model([helper.make_node("Dropout", ["x", "ratio", "training"], ["y"], "drop")],
                 constants=[("ratio", np.float32(0.5)), ("training", np.bool_(training))])
    [row] = interp.compare(made, {"x": X}, layers=True)
    assert row.status == ("left out" if training else "ok")


def test_nodes_that_the_other_side_lacks_are_left_out():
    @interp.op("Twice", domain="mine", shape=lambda x: [x.shape])
    def twice(x):
        return 2 * x

    made = model([helper.make_node("Twice", ["x"], ["t"], "twice", domain="mine"), helper.make_node("Neg", ["t"], ["y"], "neg")],
                 domains=["mine"])
    rows = list(interp.compare(made, {"x": X}, layers=True, registry=interp.Registry(interp.standard).add(twice)))
    assert [(r.node, r.domain, r.status) for r in rows] == [("twice", "mine", "left out"), ("neg", "", "ok")]
    assert rows[0].text.startswith("onnxruntime cannot load the model")


ONE = np.ones(3, np.float32)


@pytest.mark.parametrize("opset, node, left_out", [
    (11, helper.make_node("Softmax", ["x"], ["y"], axis=1), "Softmax-11 over one axis"),
    (11, helper.make_node("Softmax", ["x"], ["y"], axis=2), ""),
    (12, helper.make_node("Hardmax", ["x"], ["y"], axis=-2), "Hardmax-11 over one axis"),
    (13, helper.make_node("Softmax", ["x"], ["y"], axis=1), ""),
    (9, helper.make_node("BatchNormalization", ["x", "k", "k", "k", "k"], ["y"]), "BatchNormalization-9 as in training"),
    (15, helper.make_node("BatchNormalization", ["x", "k", "k", "k", "k"], ["y"]), "")])
def test_what_the_reference_is_known_to_run_wrongly_is_no_measure(opset, node, left_out):
    made = model([node], [("x", FLOAT, [2, 3, 4])], [("y", FLOAT, [2, 3, 4])], [("k", ONE)], opset=opset)
    x = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)
    [ours] = interp.compare(made, {"x": x}, layers=True, against="reference")
    assert left_out in ours.text and ours.status == ("left out" if left_out else "ok")
    [row] = interp.compare(made, {"x": x}, layers=True, against="onnxruntime")
    assert row.status == "ok"
    [whole] = interp.compare(made, {"x": x}, against="reference")
    assert whole.ok == (not left_out)  # where this fails, onnx has been mended


def test_large_and_small_constants_reach_the_other_engine():
    rng = np.random.default_rng(0)
    made = model([helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Reshape", ["m", "s"], ["y"])],
                 outputs=[("y", FLOAT, [400, 2])], constants=[("w", rng.standard_normal((3, 400)).astype("f4")),
                                                              ("s", np.array([400, 2]))])
    for against in ("onnxruntime", "reference", "O0"):
        assert [r.status for r in interp.compare(made, {"x": X}, layers=True, against=against)][-1] == "ok"


def test_another_model_is_paired_by_name_or_by_order():
    first = leaky(0.5, 0.25, 0.75)
    second, renamed = leaky(0.5, 0.125, 0.75), leaky(0.5, 0.125, 0.75)
    assert [r.status for r in interp.compare(first, {"x": X}, second, layers=True)] == ["ok", "differs", "ok"]
    elsewhere = interp.compare(first, {"x": X}, second, layers=True, against="onnxruntime")
    assert [r.status for r in elsewhere] == ["ok", "differs", "ok"]
    assert [r.status for r in interp.compare(first, {"x": X}, first)] == ["ok"]
    for node in renamed.graph.node:
        node.input[0], node.output[0] = f"other_{node.input[0]}", f"other_{node.output[0]}"
    renamed.graph.input[0].name, renamed.graph.output[0].name = "other_x", "other_y"
    [row] = interp.compare(first, {"x": X}, renamed)
    assert row.tensor == "y" and row.distance.largest == 3
    assert list(interp.compare(first, {"x": X}, renamed, layers=True)) == []


def test_a_model_with_fewer_nodes_is_held_where_both_have_a_tensor():
    longer = model([helper.make_node("Neg", ["x"], ["a"]), helper.make_node("Neg", ["a"], ["b"]),
                    helper.make_node("Relu", ["b"], ["y"], "last")])
    shorter = model([helper.make_node("Relu", ["x"], ["y"], "only")])
    [row] = interp.compare(longer, {"x": X}, shorter, layers=True)
    assert (row.tensor, row.node, row.status) == ("y", "last", "ok")


def test_fused_operators_are_held_against_the_graph_as_written():
    made = model([helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Add", ["m", "b"], ["a"]),
                  helper.make_node("Relu", ["a"], ["y"])],
                 outputs=[("y", FLOAT, [2, 4])], constants=[("w", np.ones((3, 4), "f4")), ("b", np.ones(4, "f4"))])
    rows = list(interp.compare(made, {"x": X}, layers=True, against="O0"))
    assert [(r.tensor, r.status, r.sources) for r in rows] == [("y", "ok", ("MatMul_0", "Add_1", "Relu_2"))]


def test_images_in_blocks_of_channels_are_held_against_those_as_written():
    """Each tensor that a blocked node makes is one of the model's; what is blamed are the nodes that it stands for."""
    rng = np.random.default_rng(0)
    weights = [(f"w{k}", rng.standard_normal(shape).astype("f4")) for k, shape in enumerate([(20, 3, 3, 3), (12, 20, 1, 1)])]
    made = model([helper.make_node("Conv", ["x", "w0"], ["c0"], "conv0"), helper.make_node("Relu", ["c0"], ["r0"], "relu0"),
                  helper.make_node("MaxPool", ["r0"], ["p"], "pool", kernel_shape=[2, 2]),
                  helper.make_node("Conv", ["p", "w1"], ["c1"], "conv1"), helper.make_node("Relu", ["c1"], ["y"], "relu1")],
                 inputs=[("x", FLOAT, [2, 3, 9, 8])], outputs=[("y", FLOAT, [2, 12, 6, 5])], constants=weights)
    feeds = {"x": rng.random((2, 3, 9, 8), np.float32)}
    for cumulative in (False, True):
        rows = list(interp.compare(made, feeds, layers=True, against="O0", cumulative=cumulative))
        found = [(r.tensor, r.sources, r.shape) for r in rows]
        assert found == [("r0", ("conv0", "relu0"), (2, 20, 7, 6)), ("p", ("pool",), (2, 20, 6, 5)),
                         ("y", ("conv1", "relu1"), (2, 12, 6, 5)), ("y", (), (2, 12, 6, 5))]
        assert all(r.ok and r.distance is not None for r in rows)


@pytest.mark.parametrize("channels", [1, 7, 8, 17])
def test_blocks_of_channels_hold_an_image_with_zeros_beyond(channels):
    image = np.arange(1, 1 + 2 * channels * 3 * 5, dtype=np.float32).reshape(2, channels, 3, 5)
    blocked = in_blocks(image)
    due = np.zeros((2, -(-channels // 8), 3, 5, 8), np.float32)
    for c in range(channels):
        due[:, c // 8, :, :, c % 8] = image[:, c]
    np.testing.assert_array_equal(blocked, due)
    np.testing.assert_array_equal(plain(blocked, channels), image)


def test_what_the_other_side_lacks_is_told_of_the_next_tensor_that_it_has():
    longer = model([helper.make_node("Neg", ["x"], ["a"], "first"), helper.make_node("Neg", ["a"], ["b"], "second"),
                    helper.make_node("Relu", ["b"], ["y"], "last")])
    shorter = model([helper.make_node("Relu", ["x"], ["y"], "only")])
    assert [r.sources for r in interp.compare(longer, {"x": X}, shorter, layers=True)] == [("first", "second", "last")]


def test_sequences_are_compared_item_by_item():
    made = model([helper.make_node("SplitToSequence", ["x"], ["s"], "split", axis=0),
                  helper.make_node("SequenceAt", ["s", "i"], ["y"], "at")],
                 outputs=[("y", FLOAT, [1, 3])], constants=[("i", np.array(1))])
    rows = list(interp.compare(made, {"x": X}, layers=True))
    assert [(r.tensor, r.status) for r in rows] == [("s.0", "ok"), ("s.1", "ok"), ("y", "ok")]


def test_initializers_that_are_fed_are_inputs():
    made = model([helper.make_node("Add", ["x", "b"], ["y"], "add")], inputs=[("x", FLOAT, [2, 3]), ("b", FLOAT, [3])],
                 constants=[("b", np.zeros(3, "f4"))])
    [row] = interp.compare(made, {"x": X, "b": np.full(3, 100, "f4")}, layers=True)
    assert row.ok and row.distance.largest == 103


def test_mistakes_are_told():
    with pytest.raises(UsageError, match="did you mean onnxruntime"):
        interp.compare(leaky(0.5), {"x": X}, against="onnxruntim")
    with pytest.raises(UsageError, match="layers"):
        interp.compare(leaky(0.5), {"x": X}, cumulative=True)
    with pytest.raises(InputError, match="no feed for input x"):
        list(interp.compare(leaky(0.5), {}))
    with pytest.raises(InputError, match="no feed for input x"):
        list(interp.compare(leaky(0.5), {}, layers=True))


def test_rows_tell_all_they_know():
    row = Row("y", "differs", "tensor(float)", (2,), distance=distance(np.float32([1, 2]), np.float32([1, 4])))
    told = row.as_dict()
    assert told["tensor"] == "y" and told["max_abs"] == 2 and "distance" not in told


# Distances


def test_a_distance_is_what_the_formulas_say():
    due = np.array([1, 2, 4, -8, 0], np.float32)
    got = np.array([1, 2.5, 4, -7, 0.25], np.float32)
    d = distance(got, due, rtol=0.125, atol=0.25)
    assert (d.size, d.different, d.wrong, d.first) == (5, 3, 0, None)
    assert (d.max_abs, d.max_rel, d.mean_abs, d.largest) == (1, 0.25, 1.75 / 5, 8)
    assert d.excess == 0.5 / (0.25 + 0.125 * 2) == 1
    assert d.cosine == pytest.approx((got @ due) / np.sqrt((got @ got) * (due @ due)), rel=1e-6)
    assert distance(got, due, rtol=0.1, atol=0.25).first == (1,)


def test_spacings_are_counted_across_zero():
    for dtype, bits in ((np.float16, np.int16), (np.float32, np.int32), (np.float64, np.int64), (ml_dtypes.bfloat16, np.int16)):
        some = np.array([3, 1000, 0, 2], bits)  # in spacings from 0; the first two to either side of it
        got, due = some.view(dtype), np.array([3, 1007, 2, 2], bits).view(dtype)
        assert distance(got, due).max_ulp == 7
        assert distance(np.array([2], bits).view(dtype), -np.array([5], bits).view(dtype)).max_ulp == 7


def test_integers_strings_and_truths_have_to_be_equal():
    for dtype in (np.int8, np.uint64, np.int64, ml_dtypes.int4):
        d = distance(np.array([1, 2, 3], dtype), np.array([1, 2, 4], dtype))
        assert (d.different, d.wrong, d.first, d.excess, d.max_ulp, d.cosine) == (1, 1, (2,), np.inf, None, None)
    assert distance(np.array([2**62 + 1]), np.array([2**62])).wrong == 1
    assert distance(np.array([5]), np.array([6]), atol=1).wrong == 0
    assert distance(np.array(["a", "b"], object), np.array(["a", "c"], object)).first == (1,)
    assert distance(np.array([[True], [False]]), np.array([[True], [True]])).first == (1, 0)


def test_nan_equals_nan_and_infinity_itself_alone():
    inf, nan = np.inf, np.nan
    same = distance(np.float32([nan, inf, -inf, 1]), np.float32([nan, inf, -inf, 1]))
    assert (same.different, same.wrong, same.excess, same.max_abs, same.cosine) == (0, 0, 0, 0, 1)
    for got, due in ((nan, 1), (1, nan), (inf, 1), (1, inf), (inf, -inf), (inf, nan)):
        d = distance(np.float32([got, 1]), np.float32([due, 1]))
        assert (d.wrong, d.first, d.excess) == (1, (0,), inf), (got, due)


def test_coarse_types_may_be_a_few_spacings_off():
    one = np.ones(3, ml_dtypes.bfloat16)
    assert distance(one * ml_dtypes.bfloat16(1 + 2 * 2**-7), one).wrong == 0
    assert distance(one * ml_dtypes.bfloat16(1 + 8 * 2**-7), one).wrong == 3


@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (7,), (3, 5, 70001)], ids=str)
def test_any_shape_has_a_distance_and_the_first_place_is_told(shape):
    due = np.zeros(shape, np.float32)
    assert distance(due, due).wrong == 0
    if due.size:
        got = due.copy()
        got.reshape(-1)[-1] = 1
        assert distance(got, due).first == tuple(n - 1 for n in shape)


def test_tensors_of_a_value_have_names():
    value = [{"a": 1.5}, np.arange(2), None, [3]]
    assert [(k, v.tolist()) for k, v in tensors("y", value)] == [("y.0.a", 1.5), ("y.1", [0, 1]), ("y.3.0", 3)]


# Memory

PEAK = """
import re, sys
import numpy as np
import interp
def feeds():
    return {"x": np.full((16, 1024, 1024), 0.5, np.float32)}
%s
print(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
"""


def peak(code, path):
    done = subprocess.run([sys.executable, "-c", PEAK % code, path], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
def test_memory_stays_under_twice_what_the_model_takes(tmp_path):
    chain = ["Relu", "Neg", "Abs", "Sqrt", "Floor", "Neg", "Relu", "Abs"]
    names = ["x", *(f"t{k}" for k in range(len(chain) - 1)), "y"]
    shape = [16, 1024, 1024]
    path = str(tmp_path / "chain.onnx")
    onnx.save(model([helper.make_node(op, [names[k]], [names[k + 1]]) for k, op in enumerate(chain)],
                    [("x", FLOAT, shape)], [("y", FLOAT, shape)]), path)
    own = peak("interp.load(sys.argv[1]).run(None, feeds())", path)
    compared = peak("assert [r.ok for r in interp.compare(sys.argv[1], feeds(), layers=True)] == [True] * 8", path)
    assert own > 128 << 10, re.sub(r"\s+", " ", f"in KiB: {own}")  # the input and the output alone
    assert compared < 2 * own
