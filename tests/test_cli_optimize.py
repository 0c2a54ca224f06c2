"""`interp optimize` and `interp extract` as processes: what they write, tell and refuse."""
import json

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from .test_cli import DIGITS, model, refused, succeeds
from .test_cli import interp as run

FLOAT = TensorProto.FLOAT


def answers(path, **feeds):
    return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(None, feeds)


@pytest.fixture
def noisy(tmp_path):
    """y = softmax(-|x|), with two nodes that change nothing; and a named size."""
    nodes = [helper.make_node("Identity", ["x"], ["a"], "copy"), helper.make_node("Abs", ["a"], ["b"], "size"),
             helper.make_node("Dropout", ["b"], ["c"], "drop"), helper.make_node("Neg", ["c"], ["d"], "turn"),
             helper.make_node("Softmax", ["d"], ["y"], "end")]
    return model(tmp_path / "noisy.onnx", nodes, [("x", FLOAT, ["rows", 3])], [("y", FLOAT, ["rows", 3])])


def test_what_is_written_gives_the_same_and_the_table_says_what_went(noisy, tmp_path):
    out = tmp_path / "out.onnx"
    text = succeeds("optimize", noisy, "-o", out, "--verify", 2, "-d", "rows=4")
    rows = {line.split()[0]: line.split()[1:] for line in text.splitlines()}
    assert rows["operator"] == ["before", "after"] and rows["Identity"] == ["1", "0"] and rows["Dropout"] == ["1", "0"]
    assert rows["Abs"] == ["1", "1"] and rows["nodes"] == ["5", "3"]
    assert "verified  y: matches, largest difference 0 in 2 runs" in text
    onnx.checker.check_model(str(out), full_check=True)
    x = np.random.default_rng(0).standard_normal((2, 3), np.float32)
    np.testing.assert_array_equal(answers(out, x=x)[0], answers(noisy, x=x)[0])


def test_json_has_all_of_it(noisy, tmp_path):
    report = json.loads(succeeds("optimize", noisy, "-o", tmp_path / "out.onnx", "--verify", 1, "-q", "--json"))
    assert report["schema"] == 1 and report["nodes"] == [5, 3] and report["output"] == str(tmp_path / "out.onnx")
    assert {"domain": "", "name": "Identity", "before": 1, "after": 0} in report["operators"]
    assert report["file_bytes"] == [noisy.stat().st_size, (tmp_path / "out.onnx").stat().st_size]
    [verdict] = report["verified"]["outputs"]
    assert verdict["ok"] and verdict["largest"] == 0


def test_without_a_place_nothing_is_written(noisy, tmp_path):
    done = run("optimize", noisy)
    assert done.returncode == 0 and "nothing is written; -o OUT writes the model" in done.stderr
    assert list(tmp_path.iterdir()) == [noisy]


def test_outputs_that_differ_are_told_and_nothing_is_written(noisy, tmp_path):
    """An operator that gives other numbers in every run stands for a pass that is wrong."""
    (tmp_path / "other.py").write_text("""
import numpy as np
from interp import op
count = 0
@op("Neg", 1, 13, shape=lambda x: [x.shape])
def neg(x):
    global count
    count += 1
    return np.full(x.shape, float(count) * np.arange(3), np.float32)
""")
    out = tmp_path / "out.onnx"
    done = run("optimize", noisy, "-o", out, "--verify", 1, "--kernels", tmp_path / "other.py")
    assert done.returncode == 1 and not out.exists()
    assert "interp: check failed: y: " in done.stderr and "is not written, because the outputs differ" in done.stderr


def test_the_model_itself_is_written_over_only_by_force(noisy):
    before = noisy.read_bytes()
    assert "is the model itself; give another name, or --force" in refused(2, "optimize", noisy, "-o", noisy)
    assert noisy.read_bytes() == before
    succeeds("optimize", noisy, "-o", noisy, "--force")
    assert [n.op_type for n in onnx.load(noisy).graph.node] == ["Abs", "Neg", "Softmax"]


def test_passes_are_listed_and_left_out(noisy, tmp_path):
    names = [line.split()[0] for line in succeeds("optimize", "--list").splitlines()]
    assert names[0] == "clean" and "no-ops" in names
    assert "there is no pass nops" in refused(2, "optimize", noisy, "--skip", "nops")
    succeeds("optimize", noisy, "-o", tmp_path / "out.onnx", "--skip", "no-ops", "gemm")
    assert len(onnx.load(tmp_path / "out.onnx").graph.node) == 5


def test_weights_beside_the_model(tmp_path):
    weights = np.arange(4096, dtype=np.float32).reshape(64, 64)
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g",
                              [helper.make_tensor_value_info("x", FLOAT, [1, 64])],
                              [helper.make_tensor_value_info("y", FLOAT, [1, 64])], [numpy_helper.from_array(weights, "w")])
    source, out = tmp_path / "m.onnx", tmp_path / "out.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), source)
    report = json.loads(succeeds("optimize", source, "-o", out, "--external", "--verify", 1, "--json"))
    assert report["file_bytes"][1] == out.stat().st_size + (tmp_path / "out.onnx.data").stat().st_size
    x = np.eye(1, 64, dtype=np.float32)
    np.testing.assert_array_equal(answers(out, x=x)[0], weights[:1])


def test_a_part_is_a_model_and_its_ends_are_told(tmp_path):
    made = onnx.shape_inference.infer_shapes(onnx.load(DIGITS))
    inner = {v.name: v for v in made.graph.value_info}
    begin, end = made.graph.node[1].output[0], made.graph.node[4].output[0]
    text = succeeds("extract", DIGITS, "--inputs", begin, "--outputs", end, "-o", tmp_path / "part.onnx")
    assert "3 of 10 nodes" in text and f"input    {begin}" in text and f"output   {end}" in text
    part = onnx.load(tmp_path / "part.onnx")
    onnx.checker.check_model(part, full_check=True)
    assert [n.op_type for n in part.graph.node] == [n.op_type for n in made.graph.node[2:5]]
    [value] = part.graph.input
    assert [d.dim_value for d in value.type.tensor_type.shape.dim[1:]] == [
        d.dim_value for d in inner[begin].type.tensor_type.shape.dim[1:]]


def test_parts_one_after_the_other_give_what_the_whole_gives(noisy, tmp_path):
    succeeds("extract", noisy, "--outputs", "c", "-o", tmp_path / "first.onnx")
    report = json.loads(succeeds("extract", noisy, "--inputs", "c", "-o", tmp_path / "second.onnx", "--json"))
    assert report["inputs"] == [{"name": "c", "type": "tensor(float)", "shape": ["rows", 3]}] and report["nodes"] == [5, 2]
    x = np.random.default_rng(0).standard_normal((2, 3), np.float32)
    [c] = answers(tmp_path / "first.onnx", x=x)
    np.testing.assert_array_equal(answers(tmp_path / "second.onnx", c=c)[0], answers(noisy, x=x)[0])


@pytest.mark.parametrize("words, message", [
    (["--outputs", "bb"], "the model has no tensor bb; did you mean b?"),
    (["--outputs", "drop"], "drop is a node; name a tensor: it reads b and makes c"),
    (["--inputs", "c", "--outputs", "b"], "b needs more than c: also the model's x"),
    ([], "say where the part begins (--inputs NAME…), where it ends (--outputs NAME…), or both"),
])
def test_a_part_that_cannot_be_is_refused(noisy, tmp_path, words, message):
    assert message in refused(2, "extract", noisy, *words, "-o", tmp_path / "part.onnx")
    assert not (tmp_path / "part.onnx").exists()


def test_what_the_standard_has_no_words_for_is_refused_by_name(tmp_path):
    """Gradient becomes nodes that only this package has."""
    nodes = [helper.make_node("Mul", ["x", "x"], ["s"], "square"),
             helper.make_node("Gradient", ["x"], ["y"], "slope", domain="ai.onnx.preview.training", xs=["x"], y="s")]
    ends = [helper.make_tensor_value_info(n, FLOAT, [3]) for n in "xy"]
    path = tmp_path / "slope.onnx"
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", ends[:1], ends[1:]), ir_version=8, opset_imports=[
        helper.make_opsetid("", 13), helper.make_opsetid("ai.onnx.preview.training", 1)]), path)
    line = refused(4, "optimize", path, "-o", tmp_path / "out.onnx")
    assert "slope" in line and not (tmp_path / "out.onnx").exists()
