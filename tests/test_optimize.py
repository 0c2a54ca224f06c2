"""Passes: what is dropped, what is worked out at load, and what must stay."""
from importlib import import_module

import numpy as np
import onnx
import pytest

import interp
from interp.loading import load
from interp.ops import standard
from interp.optimize import LEVELS, optimized
from interp.optimize.clean import clean
from interp.optimize.fold import fold

from .toys import floats, model, registry, session


def graph(text, *ops):
    return load(model(text), registry(*ops))


def folded(g):
    return clean(fold(g))


def kinds(g):
    return [n.schema.name for n in g.nodes]


DEAD = "m (float[N] x) => (float[N] y) <float[2] w = {1, 2}> { a = Neg(x) b = Relu(a) y = Abs(x) c = Add(w, w) }"
CONSTANT = """m (float[2] x) => (float[2] y) <float[2] w = {1, -2}> {
    a = Neg(w) b = Exp(a) c = Add(x, b) d = Mul(w, w) y = Add(c, d) }"""


def test_what_no_output_needs_goes():
    g = clean(graph(DEAD))
    assert kinds(g) == ["Abs"] and not g.constants


def test_outputs_and_inputs_stay():
    g = clean(graph("m (float[N] x, float[N] z) => (float[N] y, float[2] w) <float[2] w = {1, 2}> { y = Neg(x) }"))
    assert [v.name for v in g.inputs] == ["x", "z"] and list(g.constants) == ["w"]


def test_level_0_runs_the_graph_as_it_is():
    g = graph(DEAD)
    assert optimized(g, 0) is g and LEVELS == (0, 1, 2)


def test_bodies_are_cleaned():
    g = clean(graph("""m (float[N] x, bool c) => (float[N] y) {
        y = If (c) <then_branch = t () => (float[N] p) { dead = Neg(x) p = Relu(x) },
                    else_branch = e () => (float[N] q) { q = Abs(x) }> }"""))
    assert kinds(g.nodes[0].attributes["then_branch"]) == ["Relu"]


def test_a_chain_of_constants_becomes_one():
    g = folded(graph(CONSTANT))
    assert kinds(g) == ["Add", "Add"]
    x = floats(0, 2)
    np.testing.assert_allclose(session(CONSTANT).run(None, {"x": x})[0], x + np.exp([-1, 2]) + [1, 4], 1e-6)


def test_passes_leave_the_graph_given_as_it_was():
    g = graph(CONSTANT)
    before = kinds(g), sorted(g.constants)
    optimized(g, 2)
    assert (kinds(g), sorted(g.constants)) == before


def test_an_output_may_be_constant():
    [y] = session("m () => (float[2] y) <float[2] w = {1, -2}> { y = Neg(w) }").run(None, {})
    np.testing.assert_array_equal(y, [-1, 2])


def test_constants_fold_inside_bodies_and_through_captures():
    text = """m (float[N] x, bool c) => (float[2] y) <float[2] w = {1, 2}> {
        k = Neg(w)
        y = If (c) <then_branch = t () => (float[2] p) { m = Abs(k) n = Neg(m) p = Add(x, n) },
                    else_branch = e () => (float[2] q) {
                        q = If (c) <then_branch = t2 () => (float[2] r) { r = Identity(k) },
                                    else_branch = e2 () => (float[2] s) { u = Neg(k) s = Mul(x, u) }> }> }"""
    g = folded(graph(text))
    [node] = g.nodes
    assert kinds(node.attributes["then_branch"]) == ["Add"]
    [inner] = node.attributes["else_branch"].nodes
    assert kinds(inner.attributes["else_branch"]) == ["Mul"]
    assert "k" not in node.inputs
    x = floats(0, 2)
    for c, due in ((True, x - [1, 2]), (False, x * [1, 2])):
        for level in (0, 1, 2):
            np.testing.assert_allclose(session(text, optimize=level).run(None, {"x": x, "c": np.array(c)})[0], due, 1e-6)


def test_a_constant_condition_is_no_trouble():
    text = """m (float[N] x) => (float[N] y) { c = Constant<value = bool {1}>()
        y = If (c) <then_branch = t () => (float[N] p) { p = Relu(x) },
                    else_branch = e () => (float[N] q) { q = Abs(x) }> }"""
    x = floats(0, 3)
    for level in (0, 1, 2):
        np.testing.assert_array_equal(session(text, optimize=level).run(None, {"x": x})[0], np.maximum(x, 0))


def test_random_nodes_are_never_folded():
    @interp.op("RandomUniform", 1, 22, shape=lambda *, shape, **_: [shape])
    def random_uniform(*, dtype, high, low, seed, shape):
        return np.random.default_rng().random(shape).astype("f4")
    text = "m () => (float[3] y) { r = RandomUniform<shape=[3]>() y = Neg(r) }"
    assert kinds(folded(graph(text, random_uniform))) == ["RandomUniform", "Neg"]
    s = session(text, random_uniform)
    assert not np.array_equal(s.run(None, {})[0], s.run(None, {})[0])


def test_huge_results_are_not_folded(monkeypatch):
    monkeypatch.setattr(import_module("interp.optimize.fold"), "MOST", 100)
    ones = "{1, 1, 1, 1, 1, 1, 1, 1}"
    wide = f"""m () => (float[J,K] y) <float[8,1] a = {ones}, float[1,8] b = {ones}> {{
        c = Neg(a) d = Add(c, b) y = Abs(d) }}"""
    g = folded(graph(wide))
    assert kinds(g) == ["Add", "Abs"]
    assert (session(wide).run(None, {})[0] == 0).all()


def test_what_fails_is_left_to_the_run_that_reports_it():
    text = "m (int64[2] x) => (int64[2] y) <int64[2] a = {1, 2}, int64[2] z = {0, 1}> { [mine] b = Div(a, z) y = Add(x, b) }"
    s = session(text)
    with pytest.raises(interp.RunError, match="mine.*zero"):
        s.run(None, {"x": np.array([1, 2])})


def test_overridable_initializers_fold_until_they_are_fed():
    proto = model("m (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { k = Neg(w) y = Add(x, k) }")
    proto.graph.input.append(onnx.helper.make_tensor_value_info("w", 1, [2]))
    assert kinds(folded(load(proto, standard))) == ["Add"]
    assert kinds(folded(load(proto, standard, fed=frozenset("w")))) == ["Neg", "Add"]


def test_nodes_keep_their_names():
    g = folded(graph("m (float[N] x) => (float[N] y) { [one] a = Neg(x) [two] y = Abs(a) }"))
    assert [n.name for n in g.nodes] == ["one", "two"]


def test_a_fold_does_not_keep_a_view_of_more_than_it_needs():
    """Half of a constant, kept as a view, would keep all of it."""
    @interp.op("First", domain="toys", shape=lambda x: [(1,)])
    def first(x):
        return x[:1]
    text = "m (float[1] x) => (float[1] y) <float[4] w = {1, 2, 3, 4}> { k = toys.First(w) y = Add(x, k) }"
    g = folded(graph(text, first))
    assert list(g.constants) == ["k"] and (g.constants["k"] == [1]).all()


@pytest.mark.parametrize("opset, mode, more", [
    (6, "<is_test = 0>", ", e, f"), (9, "", ", e, f"), (15, "<training_mode = 1>", "")])
def test_a_normalization_in_training_keeps_its_outputs(opset, mode, more):
    text = f"""<ir_version: 4, opset_import: ["": {opset}]> m (float[2,1,3] x) => (float[2,1,3] z)
        <float[1] s = {{1}}, float[1] b = {{0}}, float[1] mean = {{5}}, float[1] var = {{7}}> {{
        y, c, d{more} = BatchNormalization{mode}(x, s, b, mean, var) z = Neg(y) }}"""
    x = np.arange(6, dtype="f4").reshape(2, 1, 3)
    due = -(x - x.mean()) / np.sqrt(x.var() + 1e-5)  # by the batch's mean and variance, not by those given
    for source in (onnx.parser.parse_model(text), interp.optimize_model(onnx.parser.parse_model(text))):
        assert len(source.graph.node[0].output) == 3 + 2 * bool(more)
        for level in LEVELS:
            np.testing.assert_allclose(interp.load(source, optimize=level).run(None, {"x": x})[0], due, 1e-5)
