"""Functions of the model and of the standard, written out where they are called."""
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, parser

from interp.errors import ModelError, UnsupportedOperator
from interp.loading import load
from interp.registry import Registry, op

from .toy import registry, run

HEAD = '<ir_version: 10, opset_import: ["": 18, "own": 1, "f": 1]> '
X = np.array([-1.0, 0.5, 2.0], np.float32)


def same_as_onnx(text, *feeds):
    """Load a model, and hold its outputs against onnxruntime's."""
    model = parser.parse_model(HEAD + text)
    graph = load(model, registry)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    want = session.run(None, dict(zip((i.name for i in session.get_inputs()), feeds, strict=True)))
    for got, due in zip(run(graph, feeds), want, strict=True):
        np.testing.assert_allclose(got, due, rtol=1e-6)
    names = [o for node in graph.walk() for o in node.outputs]
    assert len(set(names)) == len(names)
    return graph


def refusal(text, error=ModelError, registry=registry):
    with pytest.raises(error) as caught:
        load(parser.parse_model(HEAD + text), registry)
    return str(caught.value)


TWICE = '<domain: "f", opset_import: ["": 18]> twice (v) => (r) {r = Add(v, v)}'


def test_a_function_is_written_out_under_the_name_of_its_call():
    graph = same_as_onnx("g (float[N] x) => (float[N] y) {a = Abs(x) [here] y = f.square(a)}"
                         '<domain: "f", opset_import: ["": 18]> square (v) => (r) {t = Identity(v) [times] r = Mul(t, v)}', X)
    assert [n.name for n in graph.nodes] == ["Abs_0", "here/Identity_0", "here/times"]
    assert [n.outputs for n in graph.nodes] == [["a"], ["here/t"], ["y"]]


def test_calls_of_one_function_do_not_share_values():
    same_as_onnx("g (float[N] x) => (float[N] y, float[N] z) {a = f.twice(x) y = f.twice(a) z = f.twice(x)}" + TWICE, X)


def test_functions_call_functions_that_stand_further_down():
    graph = same_as_onnx("g (float[N] x) => (float[N] y) {[a] y = f.four(x)}"
                         '<domain: "f", opset_import: ["": 18, "f": 1]> four (v) => (r) {[b] t = f.twice(v) [c] r = f.twice(t)}'
                         + TWICE, X)
    assert [n.name for n in graph.nodes] == ["a/b/Add_0", "a/c/Add_0"]


SCALED = """<domain: "f", opset_import: ["": 18]> scaled <by: float = 2.0> (v) => (r) {
    k = Constant <value_float: float = @by> ()
    r = Mul(v, k)}"""


def test_attributes_are_handed_down_and_have_defaults():
    graph = same_as_onnx("g (float[N] x) => (float[N] y) {a = f.scaled(x) y = f.scaled <by = 0.5> (a)}" + SCALED, X)
    assert sorted(graph.constants.values()) == [0.5, 2.0]


def test_an_attribute_goes_through_two_functions():
    same_as_onnx("g (float[N] x) => (float[N] y) {y = f.outer <by = 3.0> (x)}"
                 '<domain: "f", opset_import: ["": 18, "f": 1]> outer <by> (v) => (r) {r = f.scaled <by: float = @by> (v)}'
                 + SCALED, X)


def test_an_attribute_that_the_call_lacks_leaves_the_operators_default():
    text = """g (float[N,M] x) => (y) {a = f.soft <axis = 0> (x) y = f.soft(a)}
              <domain: "f", opset_import: ["": 18]> soft <axis> (v) => (r) {r = Softmax <axis: int = @axis> (v)}"""
    graph = load(parser.parse_model(HEAD + text), registry)
    assert [n.attributes["axis"] for n in graph.nodes] == [0, -1]


def test_a_functions_own_versions_rule_its_nodes():
    text = ('g (float[N,M] x) => (y) {a = Softmax(x) y = f.soft(a)}'
            '<domain: "f", opset_import: ["": 11]> soft (v) => (r) {r = Softmax(v)}')
    graph = load(parser.parse_model(HEAD + text), registry)
    assert [(str(n.schema), n.attributes["axis"]) for n in graph.nodes] == [("Softmax-13", -1), ("Softmax-11", 1)]


def test_absent_inputs_and_unwanted_outputs():
    text = """g (float[N] x) => (y) {y, = f.both(x)  }
              <domain: "f", opset_import: ["": 18]> both (v, sizes) => (p, q) {p, q = Split<num_outputs=2>(v, sizes)}"""
    model = parser.parse_model(HEAD + text.replace("y, =", "y ="))
    graph = load(model, registry)
    assert graph.nodes[0].inputs == ["x"] and graph.nodes[0].outputs == ["y", "Op/q".replace("Op", "both_0")]


def test_an_output_that_is_an_input():
    text = """g (float[N] x) => (float[N] y, float[N] z) {y, z = f.pass(x)}
              <domain: "f", opset_import: ["": 18]> pass (v) => (v, w) {w = Abs(v)}"""
    y, z = run(load(parser.parse_model(HEAD + text), registry), [X])
    np.testing.assert_array_equal(y, X)
    np.testing.assert_array_equal(z, np.abs(X))


def test_sub_graphs_of_a_function_read_its_inputs_and_attributes():
    text = """g (bool c, float[N] v) => (float[N] o) {a = Abs(v) o = f.choose <by = 3.0> (c, a)}
        <domain: "f", opset_import: ["": 18]> choose <by: float = 2.0> (c, x) => (y) {
            k = Constant <value_float: float = @by> ()
            y = If(c) <then_branch = t () => (o) {a = Exp(x) o = Mul(a, k)},
                       else_branch = e () => (o) {l = Constant <value_float: float = @by> () o = Add(x, l)}>}"""
    for c in (True, False):
        graph = same_as_onnx(text, np.array(c), X)
    assert graph.nodes[1].inputs == ["c", "a"]


def test_a_function_called_in_a_body():
    text = """g (bool c, float[N] x) => (float[N] y) {
        a = Abs(x)
        y = If(c) <then_branch = t () => (o) {o = f.twice(a)},
                   else_branch = e () => (p) {o = f.twice(x) p = f.twice(o)}>}""" + TWICE
    for c in (True, False):
        graph = same_as_onnx(text, np.array(c), X)
    assert graph.nodes[1].inputs == ["c", "a", "x"]


def test_a_body_handed_to_a_function_still_reads_what_its_writer_saw():
    body = parser.parse_graph("t () => (o) {o = Mul(a, a)}")
    model = parser.parse_model(HEAD + "g (bool c, float[N] x) => (y) {a = Abs(x)}")
    model.graph.node.append(helper.make_node("choose", ["c", "x"], ["y"], domain="f", then=body))
    other = parser.parse_graph("e () => (o) {o = Exp(a)}")
    inside = helper.make_node("If", ["c"], ["r"], else_branch=other)
    inside.attribute.append(onnx.AttributeProto(name="then_branch", type=onnx.AttributeProto.GRAPH, ref_attr_name="then"))
    model.functions.append(helper.make_function("f", "choose", ["c", "a"], ["r"], [inside], [helper.make_opsetid("", 18)],
                                                ["then"]))
    graph = load(model, registry)
    np.testing.assert_array_equal(run(graph, [np.array(True), X])[0], X * X)
    np.testing.assert_array_equal(run(graph, [np.array(False), X])[0], np.exp(X))


def test_overloads_are_told_apart():
    model = parser.parse_model(HEAD + "g (float[N] x) => (y) {}")
    for overload, operator in (("a", "Abs"), ("b", "Exp")):
        model.functions.append(helper.make_function("f", "fn", ["v"], ["r"], [helper.make_node(operator, ["v"], ["r"])],
                                                    [helper.make_opsetid("", 18)], overload=overload))
    model.graph.node.append(helper.make_node("fn", ["x"], ["y"], domain="f", overload="b"))
    assert [n.schema.name for n in load(model, registry).nodes] == ["Exp"]


def test_a_kernel_in_the_registry_comes_before_a_function_of_the_same_name():
    text = "g (float[N] x) => (y) {y = own.Scale(x)}" + TWICE.replace('"f"', '"own"').replace("twice", "Scale")
    assert [n.schema.name for n in load(parser.parse_model(HEAD + text), registry).nodes] == ["Scale"]


def test_a_function_may_replace_an_operator_of_the_standard():
    text = "g (float[N] x) => (y) {y = Abs(x)}" + '<domain: "", opset_import: ["": 18]> Abs (v) => (r) {r = Exp(v)}'
    assert [n.schema.name for n in load(parser.parse_model(HEAD + text), registry).nodes] == ["Exp"]


@pytest.mark.parametrize("text, says", [
    ("g (float[N] x) => (y) {y = f.a(x)}"
     '<domain: "f", opset_import: ["": 18, "f": 1]> a (v) => (r) {r = f.b(v)}'
     '<domain: "f", opset_import: ["": 18, "f": 1]> b (v) => (r) {r = f.a(v)}', "a function calls itself: a calls b calls a"),
    ("g (float[N] x) => (y) {y = f.twice(x, x)}" + TWICE, "function twice has 1 inputs, the node 2"),
    ("g (float[N] x) => (y) {y, z = f.twice(x)}" + TWICE, "function twice has 1 outputs, the node 2"),
    ("g (float[N] x) => (y) {y = f.twice <by = 1> (x)}" + TWICE, "function twice has no attribute by; it has none"),
    ("g (float[N] x) => (y) {y = f.one(x)}" '<domain: "f", opset_import: ["": 18]> one (v) => (r) {r = Abs(x)}',
     "nothing defines the value 'x'"),
    ("g (float[N] x) => (y) {y = f.one(x)}" '<domain: "f", opset_import: ["": 18]> one (v) => (r) {}',
     "nothing defines the value 'r'"),
    ("g (float[N] x) => (y) {y = f.one(x)}" '<domain: "f", opset_import: ["": 18]> one (v) => (r) {v = Abs(v) r = Abs(v)}',
     "the value v is defined twice"),
    ("g (float[N] x) => (y) {y = f.one(x)}" '<domain: "f", opset_import: ["own": 18]> one (v) => (r) {r = Abs(v)}',
     "does not say which version of ai.onnx it uses"),
    ("g (float[N] x) => (y) {y = f.twice(x)}" + TWICE + TWICE, "two functions twice"),
    ("g (float[N] x) => (y) {y = Softmax <axis: int = @a> (x)}", "refers to a, outside of a function"),
])
def test_calls_that_make_no_sense_are_refused(text, says):
    assert says in refusal(text)


def tower(height, calls):
    """Functions, each of which calls the next so many times."""
    functions = []
    for i in range(height):
        nodes = [helper.make_node(f"f{i + 1}", ["v"], [f"r{k}"], domain="f") for k in range(calls)]
        if i == height - 1:
            nodes = [helper.make_node("Abs", ["v"], ["r0"])]
        functions.append(helper.make_function("f", f"f{i}", ["v"], ["r0"], nodes,
                                              [helper.make_opsetid("", 18), helper.make_opsetid("f", 1)]))
    model = parser.parse_model(HEAD + "g (float[N] x) => (y) {y = f.f0(x)}")
    model.functions.extend(functions)
    return model


def test_functions_may_be_nested_a_hundred_deep():
    name = "".join(f"f{i}_0/" for i in range(100)) + "Abs_0"
    assert [n.name for n in load(tower(100, 1), registry).nodes] == [name]
    with pytest.raises(ModelError, match="nested more than 100 deep"):
        load(tower(101, 1), registry)


def test_functions_that_multiply_without_end_are_refused(monkeypatch):
    monkeypatch.setattr("interp.reader.MOST_INLINED", 1000)
    with pytest.raises(ModelError, match="make more than 1000 nodes"):
        load(tower(90, 2), registry)


@pytest.mark.parametrize("opset", [13, 18, onnx.defs.onnx_opset_version()])
def test_an_operator_that_the_standard_writes_as_a_function_runs_without_a_kernel(opset):
    """Expected values: the operator's own formula in float64."""
    model = parser.parse_model(f'<ir_version: 10, opset_import: ["": {opset}]> '
                               "g (float[N] x) => (float[N] y) {y = Elu <alpha = 0.5> (x)}")
    graph = load(model, Registry(registry).add(op("Sub", 7)(np.subtract)))
    assert {n.name.split("/")[0] for n in graph.nodes} == {"Elu_0"}
    wide = X.astype(np.float64)
    got, = run(graph, [X])
    np.testing.assert_allclose(got, np.where(wide < 0, 0.5 * (np.exp(wide) - 1), wide), rtol=1e-6)


def test_attributes_of_such_an_operator_are_checked():
    assert "Elu-6 has no attribute beta; it has alpha" in refusal("g (float[N] x) => (y) {y = Elu <beta = 1.0> (x)}")


def test_what_such_a_function_needs_and_lacks_is_named():
    bare = Registry().add(op("Abs")(np.abs))
    says = refusal("g (float[N] x) => (y) {y = Elu(x)}", UnsupportedOperator, bare)
    assert "Elu_0/CastLike_1 and 2 more: no kernel for CastLike-15" in says


def test_functions_that_depend_on_types_are_refused_by_name():
    assert "no kernel for LayerNormalization-17" in refusal(
        "g (float[N] x, float[N] s) => (y) {y = LayerNormalization(x, s)}", UnsupportedOperator)


def test_data_of_constants_is_where_the_function_says():
    weight = helper.make_tensor("w", TensorProto.FLOAT, [1], [3.0])
    model = parser.parse_model(HEAD + "g (float[N] x) => (y) {y = f.fn(x)}")
    nodes = [helper.make_node("Constant", [], ["k"], value=weight), helper.make_node("Mul", ["v", "k"], ["r"])]
    model.functions.append(helper.make_function("f", "fn", ["v"], ["r"], nodes, [helper.make_opsetid("", 18)]))
    graph = load(model, registry)
    assert list(graph.constants) == ["fn_0/k"]
    np.testing.assert_array_equal(run(graph, [X])[0], X * 3)
