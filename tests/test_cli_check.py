"""`interp check`: each thing that it finds, in a model that has it, and nothing where a model has none of it."""
import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import interp
from interp import check_model
from interp.checking import runs
from interp.errors import ModelError

from .test_cli import DIGITS, refused
from .test_cli import interp as run

HEAD = '<ir_version: 10, opset_import: ["" : 21]>\n'


def words(text, **weights):
    """A model in words."""
    made = onnx.parser.parse_model(text if text.startswith("<") else HEAD + text)
    for i, node in enumerate(made.graph.node):
        node.name = node.name or f"n{i}"
    made.graph.initializer.extend(numpy_helper.from_array(np.asarray(a), name) for name, a in weights.items())
    return made


def found(model, **keywords):
    """Severity, kind and node of each finding."""
    return [(f.severity, f.kind, f.node) for f in check_model(model, **keywords)]


PLAIN = "g (float[2] x) => (float[2] y) { y = Abs(x) }"


def test_nothing_is_said_of_a_good_model():
    assert found(words(PLAIN)) == [] and found(str(DIGITS)) == [] and found(words(PLAIN).SerializeToString()) == []


@pytest.mark.parametrize("text, weights, expected", [
    ("g (float[2] x) => (float[2] y) { y = Abs(x)  z = Neg(x)  u = Exp(z) }", {},
     [("warning", "dead-node", "n1"), ("warning", "dead-node", "n2")]),
    ("g (float[2] x, float[2] z) => (float[2] y) { y = Abs(x) }", {}, [("warning", "unused-input", "")]),
    (PLAIN, {"w": np.float32([1])}, [("warning", "unused-weight", "")]),
    ("g (float[2] x, float[2] w = {1, 2}) => (float[2] y) { y = Add(x, w) }", {}, [("warning", "initializer-input", "")]),
    ('<ir_version: 10, opset_import: ["" : 6]>' + PLAIN, {}, [("warning", "old-opset", "")]),
    ('<ir_version: 10, opset_import: ["" : 21, "ai.onnx.ml" : 3]>' + PLAIN, {}, [("note", "opset-unused", "")]),
    ("g (float[2] x) => (float[2] y) { y = Add(x, w) }", {"w": np.float32([1, np.nan])}, [("warning", "nan-weight", "n0")]),
    ("g (float[2] x) => (float[2] y) { y = Add(x, w) }", {"w": np.float32([2, np.inf])}, [("warning", "inf-weight", "n0")]),
    ("g (float[2] x) => (float[2] y) { y = Add(x, w) }", {"w": np.float32([0, -np.inf])}, []),  # a mask
    ("g (float[2] x) => (float[2] y) { y = Add(x, w) }", {"w": np.float32([1, 1e-40])}, [("warning", "denormal-weight", "n0")]),
    ("g (float[2] x) => (float[2] y) { a = Cast<to = 11>(x)  b = Mul(a, w)  y = Cast<to = 1>(b) }", {"w": np.float64([3, 4])},
     [("warning", "double", "n1")]),
    ("g (float[2] x) => (uint8[2] y) { y = QuantizeLinear(x, s) }", {"s": np.float32(0)}, [("warning", "zero-scale", "n0")]),
    ("g (float[2] x) => (float[2] y) { y = Dropout(x, r, t) }", {"r": np.float32(.5), "t": np.array(True)},
     [("warning", "training-mode", "n0")]),
    ("g (float[2] x) => (float[N] y) { y = Expand(x, s) }", {"s": np.int64([2])}, []),
    ("g (float[40000, 1] x) => (float[N, M] y) { t = Transpose(x) a = MatMul(x, t) b = Concat<axis = 0>(a, a) y = Abs(b) }", {},
     [("warning", "huge-value", "n2"), ("warning", "huge-value", "n3")]),
], ids=lambda v: "" if isinstance(v, dict) else None)
def test_what_is_odd_is_found_with_the_node_and_what_to_do(text, weights, expected):
    model = words(text, **weights)
    assert found(model) == expected
    assert all(f.text and f.advice for f in check_model(model)) and runs(check_model(model))


def test_weights_that_only_a_branch_reads_are_not_unused():
    assert found(words("""g (bool c, float[2] x) => (float[2] y) <float[1] w = {1}> {
        y = If(c) <then_branch = t () => (float[2] p) { p = Add(x, w) },
                  else_branch = e () => (float[2] q) { q = Neg(x) }> }""")) == []


def test_names_that_are_shared_or_missing_are_told():
    model = words("g (float[2] x) => (float[2] y) { a = Abs(x)  b = Neg(a)  y = Exp(b) }")
    for node, name in zip(model.graph.node, ("one", "one", ""), strict=True):
        node.name = name
    assert found(model) == [("warning", "duplicate-name", "one"), ("note", "unnamed-node", "")]


def test_declared_shapes_that_cannot_be_are_told_with_the_node():
    model = words("g (float[2, 3] x) => (float[n, m] y) { t = Transpose(x)  y = Abs(t) }")
    model.graph.value_info.append(helper.make_tensor_value_info("t", TensorProto.FLOAT, [3, 5]))
    [checker, shape] = check_model(model)
    assert (checker.severity, checker.kind) == ("error", "checker")
    assert (shape.kind, shape.node, shape.text) == ("declared-shape", "n0", "t is declared as [3,5], it is [3,2]")


def test_all_operators_that_are_missing_are_listed_and_the_rest_is_looked_at():
    model = words("""<ir_version: 10, opset_import: ["" : 21, "mine" : 1]>
        g (float[2] x) => (float[2] y) { a = mine.Hat(x)  b = mine.Coat(a)  c = Neg(x)  y = mine.Hat(b) }""")
    assert found(model) == [("unsupported", "operator", "n0 and 1 more"), ("unsupported", "operator", "n1"),
                            ("warning", "dead-node", "n2")]

    @interp.op("Hat", domain="mine", shape=lambda x: [x.shape])
    def hat(x):
        return x

    mine = interp.Registry(interp.standard).add(hat)
    assert found(model, registry=mine)[0] == ("unsupported", "operator", "n1") and not runs(check_model(model, registry=mine))


def test_types_that_an_operator_does_not_take_are_told_with_the_node():
    model = words("g (string[2] x) => (string[2] y) { y = Abs(x) }")
    kinds = found(model)
    assert ("unsupported", "type", "n0") in kinds and kinds[0][1] == "checker"


def test_weights_in_a_file_that_is_not_there(tmp_path):
    model = words("g (float[64] x) => (float[64] y) { y = Add(x, w) }", w=np.zeros(64, np.float32))
    path = tmp_path / "m.onnx"
    onnx.save(model, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    assert found(str(path)) == []
    (tmp_path / "w.bin").unlink()
    assert found(str(path)) == [("error", "external-data", "")]


def test_what_is_no_model_is_an_error():
    with pytest.raises(ModelError):
        check_model(b"\x08\x08no model")


@pytest.fixture
def files(tmp_path):
    """Models for each exit code."""
    def written(name, model):
        onnx.save(model, tmp_path / name)
        return tmp_path / name
    broken = words("g (float[2, 3] x) => (float[2, 3] y) { y = MatMul(x, x) }")
    return {"odd": written("odd.onnx", words("g (float[2] x, float[2] z) => (float[2] y) { y = Abs(x) }")),
            "broken": written("broken.onnx", broken),
            "missing": written("missing.onnx", words('<ir_version: 10, opset_import: ["" : 21, "m" : 1]>'
                                                     "g (float[2] x) => (float[2] y) { y = m.Hat(x) }"))}


def test_exit_codes_and_the_verdict(files, tmp_path):
    done = run("check", files["odd"])
    assert done.returncode == 0 and "1 warning; this package can run the model" in done.stdout
    assert "warning  unused-input: no node reads the input z" in done.stdout and "→ export the model without it" in done.stdout
    assert run("check", files["odd"], "--strict").returncode == 1
    done = run("check", files["broken"])
    assert done.returncode == 1 and "this package cannot run the model" in done.stdout
    assert "no kernel" not in done.stdout and "error" in done.stdout
    done = run("check", files["missing"])
    assert done.returncode == 4 and "unsupported  operator: n0: there is no operator Hat in domain m" in done.stdout
    (tmp_path / "text.onnx").write_bytes(b"not a model at all")
    assert "not an ONNX model" in refused(3, "check", tmp_path / "text.onnx")


def test_json_lists_every_finding(files):
    report = json.loads(run("check", files["missing"], "--json").stdout)
    assert report["schema"] == 1 and report["runs"] is False and report["ok"] is False and report["valid"] is True
    assert report["counts"]["unsupported"] == 1 and report["findings"][0]["node"] == "n0"
