"""`interp info`: what it counts, held against numbers worked out by hand, and against what a run really takes."""
import json
from math import prod

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import interp
from interp.arena import LINE
from interp.footprint import footprint
from interp.inventory import inventory
from interp.survey import survey

from .test_cli import DIGITS, refused, succeeds
from .test_cli import interp as run
from .test_drawing import FLOAT, branching, hostile, made


def layered():
    """A convolution and a product of matrices, with a batch that has a name."""
    weight = np.ones((8, 3, 3, 3), np.float32)
    dense = np.ones((8 * 4 * 4, 10), np.float16)
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], "conv"), helper.make_node("Cast", ["c"], ["h"], "cast", to=10),
             helper.make_node("Flatten", ["h"], ["f"], "flat"), helper.make_node("MatMul", ["f", "d"], ["y"], "dense")]
    return made(nodes, [("x", FLOAT, ["batch", 3, 6, 6])], [("y", TensorProto.FLOAT16, None)],
                [numpy_helper.from_array(weight, "w"), numpy_helper.from_array(dense, "d")], producer_name="by hand")


@pytest.fixture
def path(tmp_path):
    onnx.save(layered(), tmp_path / "m.onnx")
    return tmp_path / "m.onnx"


def told(*words):
    return json.loads(succeeds("info", *words, "--json"))


def test_parameters_are_counted_by_type(path):
    found = told(path)["parameters"]
    assert found["types"] == {"float16": {"tensors": 1, "count": 1280, "bytes": 2560},
                              "float32": {"tensors": 1, "count": 216, "bytes": 864}}
    assert (found["count"], found["bytes"]) == (1496, 3424)


def test_macs_are_those_of_the_formula(path):
    each = 4 * 4 * 8 * 27 + 128 * 10
    assert told(path, "-d", "batch=5")["macs"] == {"total": 5 * each, "unknown": {}}
    open_ = told(path)
    assert open_["macs"]["total"] == each and open_["assumed"] == {"batch": 1}
    layers = {one["name"]: one for one in open_["layers"]}
    assert layers["conv"]["macs"] == 4 * 4 * 8 * 27 and layers["conv"]["parameters"] == 216 and layers["flat"]["macs"] == 0


def test_shapes_follow_the_sizes_that_are_said(path):
    shapes = {t["name"]: t["shape"] for t in told(path)["tensors"]}
    assert shapes["c"] == ["batch", 8, 4, 4] and shapes["f"] == ["batch", 128] and shapes["w"] == [8, 3, 3, 3]
    assert {t["name"]: t["shape"] for t in told(path, "-d", "batch=7")["tensors"]}["f"] == [7, 128]
    assert told(path, "--shape", "x=2,3,6,6")["outputs"] == [{"name": "y", "type": "tensor(float16)", "shape": [2, 10]}]
    assert "did you mean batch?" in refused(2, "info", path, "-d", "bach=1")
    assert "due" in refused(2, "info", path, "--shape", "x=2,4,6,6")


def test_memory_is_what_a_bound_program_takes():
    for source in (layered(), str(DIGITS)):
        sizes = {d: 3 for v in survey(source).graph.inputs for d in v.shape if isinstance(d, str)}
        found = survey(source, sizes=sizes, optimize=2)
        said = footprint(found.graph)
        session = interp.load(source if isinstance(source, str) else source.SerializeToString())
        feeds = {v.name: np.zeros([sizes.get(d, d) for d in v.shape], np.float32) for v in session.inputs}
        outputs = session.run(None, feeds)
        body = session._body
        program = body.model(list(feeds.values())).whole.bind(list(feeds.values()))
        assert said.exact and said.between == program.laid.room.block.nbytes - LINE
        assert said.inputs == sum(f.nbytes for f in feeds.values()) and said.outputs == sum(o.nbytes for o in outputs)


def test_sizes_that_only_the_data_tell_make_memory_a_lower_bound():
    source = made([helper.make_node("NonZero", ["x"], ["i"], "where"), helper.make_node("Cast", ["i"], ["y"], to=1)])
    found = inventory(survey(source), source.SerializeToString())
    assert not found.memory.exact and found.memory.inputs == 24
    done = {t.name: t.shape for t in found.tensors}
    assert done["i"][0] == 2 and not isinstance(done["i"][1], int)


def test_models_that_nobody_can_run_are_told_of(tmp_path):
    onnx.save(hostile(), tmp_path / "h.onnx")
    done = run("info", tmp_path / "h.onnx")
    assert done.returncode == 0 and "missing" in done.stdout and "\x1b" not in done.stdout + done.stderr
    assert len(succeeds("info", tmp_path / "h.onnx", "--shapes", "-q").splitlines()) == 4  # a head and three tensors
    found = told(tmp_path / "h.onnx")
    assert found["memory"] is None and found["memory_unknown"] and found["operators"][0]["missing"]


def test_sub_graphs_functions_metadata_and_files_beside(tmp_path):
    onnx.save(branching(), tmp_path / "b.onnx")
    found = told(tmp_path / "b.onnx")
    assert found["subgraphs"] == 2 and {one["name"]: one["within"] for one in found["layers"]} == {
        "choice": [], "Abs": ["choice"], "Relu": ["choice"]}
    model = made([helper.make_node("twice", ["x"], ["y"], domain="mine")])
    body = helper.make_function("mine", "twice", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])],
                                [helper.make_opsetid("", 17)])
    model.functions.append(body)
    helper.set_model_props(model, {"author": "someone"})
    onnx.save(model, tmp_path / "f.onnx")
    found = told(tmp_path / "f.onnx")
    assert found["functions"] == [{"name": "mine:twice", "nodes": 1}] and found["model"]["props"] == {"author": "someone"}
    assert found["operators"] == [{"name": "Add", "nodes": 1, "missing": False}]
    onnx.save(layered(), tmp_path / "e.onnx", save_as_external_data=True, location="e.bin", size_threshold=0)
    assert told(tmp_path / "e.onnx")["external"] == [{"location": "e.bin", "tensors": 2, "count": 1496, "bytes": 3424}]


def test_the_summary_says_what_the_json_has(path):
    lines = succeeds("info", path).splitlines()
    assert lines[0].startswith("m.onnx   ") and "IR 8" in lines[0] and "by by hand" in lines[0]
    about = {line.split()[0]: line for line in lines}
    assert "float32[batch,3,6,6]" in about["input"] and "float16[batch,10]" in about["output"]
    assert "1.5 k parameters" in about["weights"] and "with 1 for batch" in about["MACs"]


def test_rows_of_nodes_and_tensors(path):
    rows = [line.split() for line in succeeds("info", path, "--layers").splitlines()]
    assert rows[0] == ["node", "operator", "output", "parameters", "MACs"]
    assert rows[1] == ["conv", "Conv", "float32[batch,8,4,4]", "216", str(4 * 4 * 8 * 27)]
    rows = [line.split() for line in succeeds("info", path, "--shapes").splitlines()]
    assert ["f", "float16", "[batch,128]"] in rows and prod(map(len, rows)) > 0


def test_what_is_no_model_is_refused(tmp_path):
    (tmp_path / "no.onnx").write_bytes(b"PK\x03\x04")
    assert "zip" in refused(3, "info", tmp_path / "no.onnx")
    assert "no such file" in refused(3, "info", tmp_path / "nowhere.onnx")


def test_a_size_that_1_is_too_small_for_is_tried_or_asked_for(tmp_path):
    pool = helper.make_node("AveragePool", ["x"], ["y"], "pool", kernel_shape=[3, 3])
    onnx.save(made([pool], [("x", FLOAT, [1, 2, "height", "width"])]), tmp_path / "p.onnx")
    [line] = [text for text in succeeds("info", tmp_path / "p.onnx").splitlines() if text.startswith("memory")]
    assert "unknown" not in line and "with 4 for height, width; -d" in line
    [line] = [text for text in succeeds("info", tmp_path / "p.onnx", "-d", "height=2").splitlines() if text.startswith("memory")]
    assert "unknown" in line and "with 1 for width; -d" in line
    [line] = [text for text in succeeds("info", tmp_path / "p.onnx", "-d", "height=9", "-d", "width=9").splitlines()
              if text.startswith("memory")]
    assert "unknown" not in line
