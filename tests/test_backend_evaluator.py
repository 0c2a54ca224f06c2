"""interp.backend as onnx.backend describes a backend, and interp.ReferenceEvaluator beside onnx.reference's."""
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper, parser
from onnx.backend.base import Backend
from onnx.reference import ReferenceEvaluator as Theirs
from onnx.reference.op_run import OpRun

import interp
from interp import backend

X = np.array([0, 1, 2], np.float32)
HEAD = '<ir_version: 10, opset_import: ["": 21, "custom": 1]> '
ADD = parser.parse_model(HEAD + "g (float[N] x, float[N] b) => (float[N] sum, float[N] difference) "
                                "{ sum = Add(x, b) difference = Sub(x, b) }")


class InvAlpha(OpRun):
    """1 / (x + alpha), where alpha is an attribute."""

    op_domain = "custom"

    def _run(self, x, alpha=None):
        return (1 / (x + np.float32(alpha)),)


class Parts(OpRun):
    """Results of other types and sizes than the inputs', and as many as are asked for."""

    op_domain = "custom"

    def _run(self, x, y=None):
        return (x.astype(np.int64), np.array([x.sum() if y is None else y.sum()], np.float64))[:len(self.output)]


class Settings(OpRun):
    """Attributes of every plain kind."""

    op_domain = "custom"

    def _run(self, x, whole=None, wholes=None, numbers=None, word=None, words=None, tensor=None, absent=None):
        assert absent is None
        return (np.array([whole, *wholes, *numbers, len(word), *map(len, words), *tensor], np.float32) + x[0],)


class Relu(OpRun):
    """An operator in the place of the standard's."""

    op_domain = ""

    def _run(self, x):
        return (np.maximum(x, 0) + 1,)


class Angry(OpRun):
    """Fails."""

    op_domain = "custom"

    def _run(self, x):
        raise KeyError("no such luck")


INVERSE = parser.parse_model(HEAD + "g (float[N] x) => (float[N] y) { a = custom.InvAlpha<alpha = 0.5>(x) y = Neg(a) }")
FUNCTION = parser.parse_function('<opset_import: ["": 21], domain: "f"> Scaled <k> (x) => (y) '
                                 "{ c = Constant<value_float: float = @k>() y = Mul(x, c) }")


def both(proto, feeds, names=None, run=None, **settings):
    """What the two evaluators give, which is the same."""
    due = Theirs(proto, **settings).run(names, feeds, **(run or {}))
    got = interp.ReferenceEvaluator(proto, **settings).run(names, feeds, **(run or {}))
    if isinstance(due, dict):
        due.pop("", None)
        assert set(got) == set(due)
        due, got = [due[k] for k in sorted(due)], [got[k] for k in sorted(due)]
    assert len(got) == len(due)
    for g, d in zip(got, due, strict=True):
        assert (g.dtype, g.shape) == (d.dtype, d.shape)
        np.testing.assert_allclose(g, d, rtol=1e-6)
    return got


def test_operators_are_classes_with_attributes():
    [y] = both(INVERSE, {"x": X}, new_ops=[InvAlpha])
    np.testing.assert_allclose(y, -1 / (X + 0.5), rtol=1e-6)


def test_their_results_have_any_types_and_numbers():
    for text in ("(float[N] x) => (int64[N] p, double[1] q) { p, q = custom.Parts(x) }",
                 "(float[N] x) => (int64[N] p, double[1] q) { v = Exp(x) p, q = custom.Parts(x, v) }",
                 "(float[N] x) => (int64[N] p) { r = custom.Parts(x) p = Add(r, r) }"):
        both(parser.parse_model(HEAD + "g " + text), {"x": X}, new_ops=[Parts])


def test_attributes_of_every_plain_kind_reach_them():
    node = helper.make_node("Settings", ["x"], ["y"], domain="custom", whole=3, wholes=[4, 5], numbers=[0.5, 1.5], word="word",
                            words=["a", "bc"], tensor=numpy_helper.from_array(np.array([7, 8], np.float32)))
    both(node, {"x": X}, new_ops=[Settings])


def test_they_replace_operators_of_the_standard_and_the_first_of_a_name_counts():
    class Other(Relu):
        def _run(self, x):
            return (x,)

    Other.__name__ = "Relu"
    model = parser.parse_model(HEAD + "g (float[N] x) => (float[N] y) { y = Relu(x) }")
    assert both(model, {"x": X}, new_ops=[Relu, Other])[0].tolist() == [1, 2, 3]


def test_they_run_inside_bodies_and_functions():
    text = ("g (float[N] x, bool c) => (float[N] y) { %s y = If(c) < then_branch = t () => (float[N] a) "
            "{ a = custom.InvAlpha<alpha = 1.0>(z) }, else_branch = e () => (float[N] b) { b = Neg(z) }> }")
    inner = parser.parse_model(HEAD + text % "z = Exp(x)")
    for c in (True, False):
        both(inner, {"x": X, "c": np.array(c)}, new_ops=[InvAlpha])
    model = parser.parse_model('<ir_version: 10, opset_import: ["": 21, "custom": 1, "f": 1]> '
                               + text % "z = f.Inverse<k = 2.0>(x)"
                               + '<opset_import: ["custom": 1], domain: "f"> Inverse <k> (x) => (y) '
                                 "{ y = custom.InvAlpha<alpha: float = @k>(x) }")  # where theirs does not know the class
    [y] = interp.ReferenceEvaluator(model, new_ops=[InvAlpha]).run(None, {"x": X, "c": np.array(True)})
    np.testing.assert_allclose(y, 1 / (1 / (X + 2) + 1), rtol=1e-6)


def test_an_operator_that_raises_names_its_node():
    node = helper.make_node("Angry", ["x"], ["y"], "my node", domain="custom")
    with pytest.raises(interp.RunError, match="my node.*no such luck"):
        interp.ReferenceEvaluator(node, new_ops=[Angry]).run(None, {"x": X})
    body = parser.parse_model(HEAD + "g (float[N] x) => (float[N] y) { y = custom.Angry<b = b (float[N] v) => (float[N] w) "
                                     "{ w = Neg(v) }>(x) }")
    with pytest.raises(interp.RunError, match="Angry_0.*attribute b: bodies"):
        interp.ReferenceEvaluator(body, new_ops=[Angry]).run(None, {"x": X})


def test_an_operator_of_the_command_lines_kind_that_raises_names_its_node():
    @interp.op("Angry", domain="custom", shape=lambda x: [x.shape])
    def angry(x):
        raise ZeroDivisionError("no such luck")

    model = parser.parse_model(HEAD + "g (float[N] x) => (float[N] y) { a = Neg(x) b = custom.Angry(a) y = Neg(b) }")
    session = interp.load(model, registry=interp.Registry(interp.standard).add(angry))
    for size in (3, 3, 4):
        with pytest.raises(interp.RunError, match="Angry_1.*no such luck"):
            session.run(None, {"x": np.zeros(size, np.float32)})


def test_what_is_no_operator_class_is_refused():
    for given, kind in ((int, AttributeError), (type("Bare", (), {"op_domain": "custom"}), TypeError)):
        for evaluator in (Theirs, interp.ReferenceEvaluator):
            with pytest.raises(kind):
                evaluator(INVERSE, new_ops=[given])


def test_intermediate_results_come_by_name():
    found = interp.ReferenceEvaluator(INVERSE, new_ops=[InvAlpha]).run(None, {"x": X}, intermediate=True)
    assert set(found) == {"x", "a", "y"}
    model = parser.parse_model(HEAD + "g (float[N] x) => (float[N] y) <float[1] w = {2}> "
                                      "{ v = Mul(x, w) u, t = Split<num_outputs = 2>(v) y = Neg(v) }")
    both(model, {"x": X[:2]}, run={"intermediate": True})


def test_inner_results_are_asked_for_by_name():
    model = parser.parse_model(HEAD + "g (float[N] x) => (float[N] y) { a = Exp(x) y = Neg(a) }")
    both(model, {"x": X}, names=["a"])
    both(model, {"x": X}, names=["y", "a", "y"])


def test_graphs_functions_nodes_paths_and_bytes_run(tmp_path):
    both(ADD.graph, {"x": X, "b": X}, opsets={"": 21})
    both(ADD, {"x": X, "b": X}, names=["difference"])
    onnx.save(ADD, tmp_path / "add.onnx")
    both(str(tmp_path / "add.onnx"), {"x": X, "b": X})
    both(ADD.SerializeToString(), {"x": X, "b": X})
    both(helper.make_node("Celu", ["x"], ["y"], alpha=0.3), {"x": -X})
    assert interp.ReferenceEvaluator(helper.make_node("SequenceAt", ["s", "i"], ["y"])).run(
        None, {"s": [X, X[1:]], "i": np.array(1)})[0].tolist() == [1, 2]
    both(FUNCTION, {"x": X}, run={"attributes": {"k": 3.0}})
    graph = parser.parse_graph("g (float[N] x) => (float[N] y) { y = f.Scaled<k = 2.0>(x) }")
    both(graph, {"x": X}, opsets={"": 21, "f": 1}, functions=[FUNCTION])
    made = interp.ReferenceEvaluator(graph, {"": 21, "f": 1}, [interp.ReferenceEvaluator(FUNCTION)])
    assert made.run(None, {"x": X})[0][1] == 2


def test_a_function_runs_with_other_attributes_each_time():
    evaluator = interp.ReferenceEvaluator(FUNCTION)
    assert [evaluator.run(None, {"x": X}, attributes={"k": k})[0][1] for k in (2.0, 3.0, 2.0)] == [2, 3, 2]


def test_arguments_that_do_not_go_together_are_refused():
    for evaluator in (Theirs, interp.ReferenceEvaluator):
        with pytest.raises(ValueError):
            evaluator(ADD, opsets={"": 21})
        with pytest.raises(TypeError):
            evaluator(ADD.graph)
        with pytest.raises(TypeError):
            evaluator(3)


@pytest.mark.parametrize("proto, settings", [(ADD, {}), (ADD.graph, {"opsets": {"": 21}}), (FUNCTION, {}),
                                             (helper.make_node("Celu", ["x"], ["y"]), {})],
                         ids="model graph function node".split())
def test_names_and_versions_are_told_the_same(proto, settings):
    mine, due = interp.ReferenceEvaluator(proto, **settings), Theirs(proto, **settings)
    for name in ("input_names", "output_names", "opsets", "input_types", "output_types"):
        assert getattr(mine, name) == getattr(due, name)
    assert str(mine) == str(due)


def test_a_verbose_evaluator_prints_nodes_then_results(capsys):
    interp.ReferenceEvaluator(INVERSE, new_ops=[InvAlpha], verbose=2).run(None, {"x": X})
    assert capsys.readouterr().out == "InvAlpha(x) -> a\nNeg(a) -> y\n"
    interp.ReferenceEvaluator(INVERSE, new_ops=[InvAlpha], verbose=3).run(None, {"x": X})
    assert "+ y: float32:(3,) in [-2.0, -0.4" in capsys.readouterr().out


def test_a_backend_prepares_models_and_names_their_outputs():
    assert issubclass(backend.InterpBackend, Backend)
    made = backend.prepare(ADD, "CPU", threads=1)
    for inputs in ([X, X], {"b": X, "x": X}, (X, X)):
        outputs = made.run(inputs)
        assert outputs["sum"].tolist() == outputs[0].tolist() == [0, 2, 4] and len(outputs) == 2
        assert outputs.difference.tolist() == outputs["difference"].tolist() == [0, 0, 0]
    assert backend.run_model(ADD, [X, X], optimize=0)[0].tolist() == [0, 2, 4]
    with pytest.raises(interp.InputError, match="3 inputs given"):
        made.run([X, X, X])


def test_a_backend_runs_nodes():
    add = helper.make_node("Add", ["x", "b"], ["y"])
    for inputs in ([X, X], {"b": X, "x": X}):
        assert backend.run_node(add, inputs, "CPU", outputs_info=[(X.dtype, X.shape)]).y.tolist() == [0, 2, 4]
    assert backend.run_node(helper.make_node("Add", ["x", "x"], ["y"]), [X, X])[0].tolist() == [0, 2, 4]
    clip = helper.make_node("Clip", ["x", "", "most"], ["y"])
    assert backend.run_node(clip, [X, np.array(1, np.float32)], opset_version=11)[0].tolist() == [0, 1, 1]
    at = helper.make_node("SequenceAt", ["s", "i"], ["y"])
    assert backend.run_node(at, [[X, X[:1]], np.array(1)])[0].tolist() == [0]
    binarizer = helper.make_node("Binarizer", ["x"], ["y"], domain="ai.onnx.ml", threshold=1.0)
    assert backend.run_node(binarizer, [X])[0].tolist() == [0, 0, 1]
    for inputs in ([X], [X, X, X], {"x": X}):
        with pytest.raises(interp.InputError, match="the node reads"):
            backend.run_node(add, inputs)


def test_a_backend_knows_its_devices_and_what_it_can_run():
    assert backend.supports_device("CPU") and backend.supports_device("CPU:0") and not backend.supports_device("CUDA:0")
    with pytest.raises(interp.Unsupported, match="CUDA"):
        backend.prepare(ADD, "CUDA")
    assert backend.is_compatible(ADD) and not backend.is_compatible(ADD, "CUDA") and not backend.is_compatible(INVERSE)


def test_the_evaluator_is_imported_when_it_is_asked_for():
    text = "import sys, interp\nbefore = 'onnx' in sys.modules\ninterp.ReferenceEvaluator\nprint(before, 'onnx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", text], capture_output=True, text=True).stdout == "False True\n"
