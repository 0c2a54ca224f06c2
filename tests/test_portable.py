"""Passes whose results are standard ONNX: what each leaves, and that onnxruntime gives the same before and after."""
import random
from collections import Counter

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import interp
from interp import optimize_model
from interp.errors import UsageError
from interp.optimize.portable import PASSES

from .test_random_graphs import feeds, graph
from .toys import floats, independent, model

LARGE = 40_000  # bytes; more than a node's results may take


def same(proto, tolerance=0.0, **given):
    """The model after the passes, found valid and equal in onnxruntime, as a count of its operators."""
    made = optimize_model(proto)
    onnx.checker.check_model(made, full_check=True)
    assert {n.domain for n in made.graph.node} <= {n.domain for n in proto.graph.node}
    for got, due in zip(independent(made, given), independent(proto, given), strict=True):
        assert got.dtype == due.dtype and got.shape == due.shape
        np.testing.assert_allclose(got, due, tolerance, tolerance)
    return Counter(n.op_type for n in made.graph.node)


def kinds(text, tolerance=0.0, shape=(2, 4), **given):
    return same(model(text), tolerance, **(given or {"x": floats(1, *shape)}))


def with_weights(text, **arrays):
    """A model in words, and its initializers."""
    made = model(text)
    made.graph.initializer.extend(numpy_helper.from_array(a, name) for name, a in arrays.items())
    return made


@pytest.mark.parametrize("seed", range(60))
def test_random_graphs_give_the_same(seed):
    rng = random.Random(seed)
    proto = model(graph(rng))
    for n in (1, 3):
        same(proto, 1e-5, **feeds(rng, n))


def test_what_no_output_needs_goes():
    assert kinds("g (float[2,4] x) => (float[2,4] y) <float[1] w = {1}> { y = Abs(x)  z = Neg(x)  u = Add(w, w) }") == {"Abs": 1}
    made = optimize_model(model("g (float[2] x) => (float[2] y) <float[1] w = {1}> { y = Abs(x)  z = Add(w, w) }"))
    assert not made.graph.initializer


def test_constants_are_worked_out_where_the_file_does_not_grow():
    assert kinds("g (float[2,4] x) => (float[2,4] y) <float[4] w = {1,2,3,4}> { a = Mul(w, w)  b = Neg(a)  y = Add(x, b) }") == {
        "Add": 1}
    big = """g (float[n,4] x) => (float[n,4] y) {
        s = Constant<value = int64[2] {%d, 4}>()  z = ConstantOfShape(s)  m = Sum(z, z) y = Add(x, m) }"""
    assert kinds(big % 3, x=floats(1, 3, 4)) == {"Add": 1}
    assert kinds(big % LARGE, x=floats(1, LARGE, 4)) == {"Add": 1, "Sum": 1, "ConstantOfShape": 1}


def test_a_large_weight_is_worked_out_where_nobody_else_reads_it():
    w = floats(3, 200, 200)
    once = "g (float[2,200] x) => (float[2,200] y) { t = Transpose(w)  y = MatMul(x, t) }"
    twice = "g (float[2,200] x) => (float[2,200] y) { t = Transpose(w)  a = MatMul(x, t)  y = MatMul(a, w) }"
    assert same(with_weights(once, w=w), 1e-4, x=floats(1, 2, 200)) == {"MatMul": 1}
    assert same(with_weights(twice, w=w), 1e-3, x=floats(1, 2, 200)) == {"MatMul": 2, "Transpose": 1}


def test_quantized_weights_stay_small():
    text = """g (float[2,4] x) => (float[2,4] y) <int8[4] w = {1,2,3,4}, float s = {0.5}, int8 z = {0}> {
        d = DequantizeLinear(w, s, z)  y = Add(x, d) }"""
    assert kinds(text) == {"DequantizeLinear": 1, "Add": 1}


def test_an_optional_stays_one():
    text = """<ir_version: 8, opset_import: ["" : 15]> g () => (float[2] y) <float[2] w = {1, 2}> {
        o = Optional(w)  y = OptionalGetElement(o) }"""
    assert same(onnx.parser.parse_model(text)) == {"Optional": 1, "OptionalGetElement": 1}


def test_random_numbers_are_never_worked_out():
    made = optimize_model(model("g (float[4] x) => (float[4] y) { r = RandomNormal<shape = [4]>()  y = Add(x, r) }"))
    assert [n.op_type for n in made.graph.node] == ["RandomNormal", "Add"]


def test_shapes_that_are_declared_are_constants_and_others_are_not():
    text = "g (float[%s] x) => (int64[2] s2) { s = Shape(x)  s2 = Mul(s, two) }"
    assert kinds(text.replace("(int64[2] s2)", "(int64[2] s2) <int64[1] two = {2}>") % "2,4") == {}
    assert kinds(text.replace("(int64[2] s2)", "(int64[2] s2) <int64[1] two = {2}>") % "N,4") == {"Shape": 1, "Mul": 1}


@pytest.mark.parametrize("nodes, left", [
    ("a = Identity(x)  y = Abs(a)", "Abs"),
    ("a = Abs(x)  y = Identity(a)", "Abs"),
    ("y = Identity(x)", "Identity"),  # an input cannot be the output too
    ("a = Dropout(x)  y = Abs(a)", "Abs"),
    ("a = Cast<to = 1>(x)  y = Abs(a)", "Abs"),
    ("a = Cast<to = 11>(x)  b = Cast<to = 1>(a)  y = Abs(b)", "Cast Cast Abs"),
    ("a = Concat<axis = 0>(x)  y = Abs(a)", "Abs"),
    ("a = Transpose<perm = [0, 1]>(x)  y = Abs(a)", "Abs"),
    ("a = Transpose(x)  b = Abs(a)  c = Transpose(b)  y = Neg(c)", "Transpose Abs Transpose Neg"),
    ("a = Transpose(x)  b = Transpose(a)  y = Neg(b)", "Neg"),
    ("a = Reshape(x, whole)  y = Abs(a)", "Abs"),
    ("a = Reshape(x, flat)  b = Reshape(a, whole)  y = Abs(b)", "Abs"),
    ("a = Unsqueeze(x, zero)  b = Squeeze(a, zero)  y = Abs(b)", "Abs"),
    ("a = Slice(x, zero, many, zero)  y = Abs(a)", "Abs"),
    ("a = Slice(x, last, before, zero, last)  y = Abs(a)", "Slice Abs"),  # all there is, backwards
    ("a = Pad(x, none)  y = Abs(a)", "Abs"),
    ("a = Pad(x, shifted)  y = Abs(a)", "Pad Abs"),  # as large as before, but not the same
    ("a = Mul(x, one)  b = Div(a, one)  y = Abs(b)", "Abs"),
    ("a = Mul(one, x)  y = Abs(a)", "Abs"),
    ("a = Sub(x, nought)  y = Abs(a)", "Abs"),
    ("a = Sub(nought, x)  y = Abs(a)", "Sub Abs"),
    ("a = Div(one, x)  y = Abs(a)", "Div Abs"),
    ("a = Expand(x, unit)  y = Abs(a)", "Abs"),
    ("a = Abs(x)  b = Abs(x)  y = Add(a, b)", "Abs Add"),
])
def test_what_changes_nothing_goes(nodes, left):
    text = f"""g (float[2,4] x) => (float[2,4] y) <int64[2] whole = {{-1, 4}}, int64[1] flat = {{8}},
        int64[1] unit = {{1}}, int64[1] zero = {{0}}, int64[1] many = {{99}}, int64[1] last = {{-1}},
        int64[1] before = {{-99}}, int64[4] none = {{0,0,0,0}},
        int64[4] shifted = {{1,0,-1,0}}, float one = {{1}}, float nought = {{0}}> {{ {nodes} }}"""
    assert kinds(text) == Counter(left.split())


def test_two_transposes_are_one():
    text = "g (float[2,3,4] x) => (float[4,2,3] y) { a = Transpose<perm=[1,2,0]>(x)  b = Transpose<perm=[1,2,0]>(a)  y = Abs(b) }"
    assert kinds(text, shape=(2, 3, 4)) == {"Transpose": 1, "Abs": 1}


def test_dropout_of_old_models_goes_in_tests_only():
    text = '<ir_version: 4, opset_import: ["" : 6]> g (float[4] x) => (float[4] y) { a = Dropout<is_test = %d>(x)  y = Abs(a) }'
    left = [[n.op_type for n in optimize_model(onnx.parser.parse_model(text % tests)).graph.node] for tests in (1, 0)]
    assert left == [["Abs"], ["Dropout", "Abs"]]


def test_a_broadcast_by_one_stays():
    assert kinds("g (float[2,4] x) => (float[3,2,4] y) <float[3,1,1] w = {1,1,1}> { y = Mul(x, w) }") == {"Mul": 1}


def test_a_reshape_that_keeps_sizes_of_the_one_before_stays():
    text = """g (float[2,4] x) => (float[4,2] y) <int64[2] turned = {4, 2}, int64[2] kept = {0, 0}> {
        a = Reshape(x, turned)  b = Abs(a)  c = Reshape(b, kept)  y = Neg(c) }"""
    assert kinds(text) == {"Reshape": 1, "Abs": 1, "Neg": 1}


NORMALIZED = """g (float[1,3,6,6] x) => (float[1,4,m,m] y) {
    c = Conv<pads = [1,1,1,1]>(x, w%s)  n = BatchNormalization(c, scale, shift, mean, var)
    m2 = Mul(n, k)  a = Add(m2, k)  y = Relu(a) }"""


@pytest.mark.parametrize("bias", ["", ", b"])
def test_batch_normalization_goes_into_the_weights(bias):
    arrays = dict(w=floats(1, 4, 3, 3, 3), scale=floats(3, 4) + 1, shift=floats(4, 4), mean=floats(5, 4),
                  var=np.abs(floats(6, 4)) + .5, k=floats(7, 4, 1, 1))
    if bias:
        arrays["b"] = floats(2, 4)
    proto = with_weights(NORMALIZED % bias, **arrays)
    assert same(proto, 1e-5, x=floats(8, 1, 3, 6, 6)) == {"Conv": 1, "Relu": 1}


def test_a_result_that_is_read_twice_is_not_folded_away():
    proto = with_weights("""g (float[1,3,6,6] x) => (float[1,4,4,4] y) {
        c = Conv(x, w)  n = BatchNormalization(c, k, k, k, k)  y = Add(n, c) }""",
                         w=floats(1, 4, 3, 3, 3), k=np.ones(4, np.float32))
    assert same(proto, 1e-5, x=floats(8, 1, 3, 6, 6)) == {"Conv": 1, "BatchNormalization": 1, "Add": 1}


def test_zeros_around_go_into_the_convolution():
    text = """g (float[1,3,6,6] x) => (float[1,4,7,9] y) <int64[8] p = {0,0,1,2, 0,0,2,3}, float v = {%s}> {
        a = Pad(x, p, v)  b = Conv(a, w)  y = %s }"""
    arrays, x = dict(w=floats(1, 4, 3, 3, 3)), floats(2, 1, 3, 6, 6)
    assert same(with_weights(text % ("0", "Relu(b)"), **arrays), 1e-5, x=x) == {"Conv": 1, "Relu": 1}
    assert same(with_weights(text % ("1", "Relu(b)"), **arrays), 1e-5, x=x) == {"Pad": 1, "Conv": 1, "Relu": 1}


def test_a_product_and_a_vector_make_a_gemm():
    text = "g (float[n,3] x) => (float[n,4] y) { m = MatMul(x, w)  y = Add(b, m) }"
    x = floats(3, 2, 3)
    assert same(with_weights(text, w=floats(1, 3, 4), b=floats(2, 4)), 1e-5, x=x) == {"Gemm": 1}
    assert same(with_weights(text, w=floats(1, 3, 4), b=floats(2, 2, 4)), 1e-5, x=x) == {"MatMul": 1, "Add": 1}


def test_equal_weights_are_kept_once():
    proto = with_weights("g (float[4] x) => (float[4] y) { a = Add(x, v)  y = Mul(a, w) }", v=floats(1, 4), w=floats(1, 4))
    assert same(proto, x=floats(2, 4)) and len(optimize_model(proto).graph.initializer) == 1


def test_an_initializer_that_a_run_may_replace_is_no_constant():
    proto = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["" : 21]>
        g (float[4] x, float[1] w = {2}) => (float[4] y) { a = Mul(w, w)  y = Add(x, a) }""")
    made = optimize_model(proto)
    assert [v.name for v in made.graph.input] == ["x", "w"] and len(made.graph.node) == 2
    for given in ({"x": floats(1, 4)}, {"x": floats(1, 4), "w": np.float32([5])}):
        np.testing.assert_array_equal(independent(made, given)[0], independent(proto, given)[0])
    proto.ir_version = 3  # had no other initializers
    assert [v.name for v in optimize_model(proto).graph.input] == ["x"]


def test_an_operator_of_a_user_is_left_alone():
    @interp.op("Identity", 1, 25, shape=lambda x: [x.shape])
    def shouted(input):
        return input + 1

    made = optimize_model(model("g (float[4] x) => (float[4] y) { a = Identity(x)  y = Abs(a) }"),
                          registry=interp.Registry(interp.standard).add(shouted))
    assert [n.op_type for n in made.graph.node] == ["Identity", "Abs"]


def test_operators_that_nobody_knows_stay_as_they_are():
    proto = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["" : 21, "mine" : 3]>
        g (float[n] x) => (float[n] y) <float[n] b> { a = Identity(x)
        t, u = mine.Hat<k = 3, s = "a", f = [1.5, 2.0], g = z () => (float[n] r) { q = Neg(a)  r = Identity(q) }>(a)
        b = Abs(u)  y = Identity(b) }""")
    made = optimize_model(proto)
    assert [(n.op_type, list(n.input), list(n.output)) for n in made.graph.node] == [
        ("Hat", ["x"], ["t", "u"]), ("Abs", ["u"], ["y"])]
    attributes = {a.name: onnx.helper.get_attribute_value(a) for a in made.graph.node[0].attribute}
    assert [n.op_type for n in attributes.pop("g").node] == ["Neg", "Identity"]
    assert attributes == {"k": 3, "s": b"a", "f": [1.5, 2.0]}
    assert {o.domain: o.version for o in made.opset_import} == {"": 21, "mine": 3}
    part = interp.extract_model(proto, ["b"], ["y"])
    assert [v.name for v in part.graph.input] == ["b"] and part.graph.input[0].type == proto.graph.value_info[0].type


def test_attributes_that_nobody_knows_may_have_any_name():
    proto = model("g (float[4] x) => (float[4] y) { y = Neg(x) }")
    names = {"class": 1, "my-attribute": 2, "a.b": 3, "outputs": 4, "out": 5, "self": 6}
    proto.opset_import.add(domain="mine", version=1)
    proto.graph.node[0].op_type, proto.graph.node[0].domain = "Odd", "mine"
    proto.graph.node[0].attribute.extend(onnx.helper.make_attribute(name, i) for name, i in names.items())
    assert {a.name: a.i for a in optimize_model(proto).graph.node[0].attribute} == names


def test_a_constant_condition_leaves_its_branch():
    text = """g (float[4] x) => (float[4] y) <bool c = {1}> { b = Neg(x)
        y = If(c) <then_branch = t () => (float[4] p) { q = Abs(b)  p = Exp(q) },
                  else_branch = e () => (float[4] r) { r = Neg(b) }> }"""
    assert kinds(text, shape=(4,)) == {"Neg": 1, "Abs": 1, "Exp": 1}


def test_passes_can_be_left_out_and_are_named():
    proto = model("g (float[4] x) => (float[4] y) { a = Identity(x)  y = Abs(a) }")
    assert [n.op_type for n in optimize_model(proto, skip=["no-ops"]).graph.node] == ["Identity", "Abs"]
    with pytest.raises(UsageError, match="there is no pass nops; there are clean, "):
        optimize_model(proto, skip=["nops"])
    assert len({p.name for p in PASSES}) == len(PASSES)
