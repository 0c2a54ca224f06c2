"""The rewriter: what it knows of a graph, and where nodes go that take the place of others."""
import ml_dtypes
import numpy as np
import pytest
from onnx import numpy_helper

import interp
from interp.infer import Scope, declared
from interp.loading import load
from interp.ops import standard
from interp.optimize.rewrite import Rewriter, Rules, rule
from interp.registry import Registry, op

from .fusing import floats, fused, model

TWICE = "m (float[2] x) => (float[2] y, float[2] z) { a = Neg(x) b = Neg(a) c = Abs(b) y = Exp(c) z = Relu(c) }"


@rule("Neg")
def double_negation(node, at):
    """Neg(Neg(x)) is x."""
    second = at.sole(node.outputs[0], "Neg")
    if second is None:
        return False
    at.replace([node, second], [at.make("Identity", node.inputs, second.outputs, like=node, domain="")])
    return True


def rewriter(text, registry=standard):
    graph = load(model(text), registry)
    scope = Scope(graph)
    scope.infer([declared(v) for v in graph.inputs])
    return Rewriter(scope)


def test_what_a_rule_puts_in_stands_where_the_last_of_the_others_stood():
    at = rewriter(TWICE)
    Rules(double_negation)(at)
    assert [n.schema.name for n in at.finished().nodes] == ["Identity", "Abs", "Exp", "Relu"]
    assert at.maker("b").schema.name == "Identity" and at.maker("a") is None and at.readers("a") == []
    assert at.shape("b") == (2,) and len(at.readers("c")) == 2 and at.sole("c") is None and at.sole("y") is None


def test_the_graph_that_was_given_stays_as_it_was():
    at = rewriter(TWICE)
    before = list(at.graph.nodes)
    Rules(double_negation)(at)
    assert at.graph.nodes == before


def test_what_a_user_registered_is_not_rewritten():
    @op("Neg", 13, 13, shape=lambda x: [x.shape])
    def neg(x):
        return -x

    at = rewriter(TWICE, Registry(standard).add(neg))
    Rules(double_negation)(at)
    assert [n.schema.name for n in at.finished().nodes][:2] == ["Neg", "Neg"]


def test_constants_are_known_by_their_arrays():
    at = rewriter("m (float[2] x) => (float[2] y) <float two = {2}> { y = Mul(x, two) }")
    assert at.number("two") == 2 and at.constant("x") is None and at.number("x") is None
    name = at.store("two", at.constant("two") + np.ones(1))
    assert name != "two" and at.number(name) == 3


def test_an_unknown_attribute_is_an_error():
    at = rewriter(TWICE)
    with pytest.raises(TypeError, match="Neg-13 has no attribute alpha"):
        at.make("Neg", ["x"], like=at.graph.nodes[0], domain="", alpha=1)


def test_optimised_and_as_written_agree():
    assert fused(model(TWICE), {"x": floats(2)})["Relu"] == 1


SAME = """m (float[2] x) => (float[2] y, float[2] z) <float one = {1}> {
    a = Relu(x) b = Relu(x) c = LeakyRelu<alpha = 0.5>(a) d = LeakyRelu<alpha = 0.25>(b)
    y = Add(c, d) e = Add(a, one) z = Add(b, one) }"""


def test_what_is_asked_for_twice_is_worked_out_once():
    left = fused(model(SAME), {"x": floats(2)})
    assert left == {"Relu": 1, "Chain": 1, "Add": 1}


def test_random_numbers_are_drawn_twice():
    text = "m (float[9] x) => (float[9] y) { a = RandomNormalLike(x) b = RandomNormalLike(x) y = Sub(a, b) }"
    [y] = interp.load(model(text)).run(None, {"x": floats(9)})
    assert y.any()


def test_outputs_that_are_equal_both_keep_their_names():
    assert fused(model("m (float[2] x) => (float[2] y, float[2] z) { y = Relu(x) z = Relu(x) }"), {"x": floats(2)}) == {"Relu": 2}


def test_constants_of_equal_bytes_and_other_types_are_not_the_same():
    text = """m (int64[1] n) => (float[k] y, float[k] z) { a = ConstantOfShape<value = int4[1] {-1}>(n)
        b = ConstantOfShape<value = uint4[1] {15}>(n) y = Cast<to = 1>(a) z = Cast<to = 1>(b) }"""
    made = model(text)
    for node, kind, number in zip(made.graph.node, (ml_dtypes.int4, ml_dtypes.uint4), (-1, 15), strict=False):
        node.attribute[0].t.CopyFrom(numpy_helper.from_array(np.array([number], kind)))
    y, z = interp.load(made).run(None, {"n": np.array([2])})
    assert y.tolist() == [-1, -1] and z.tolist() == [15, 15]
