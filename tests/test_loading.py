"""Loading: nodes bound to schemas, names, constants, sub-graphs; what is wrong with a model is refused by name."""
import io
import os
import zipfile

import numpy as np
import onnx
import onnx.reference
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, parser

from interp.errors import InterpError, ModelError, UnsupportedOperator, UnsupportedVersion, UsageError
from interp.loading import load
from interp.registry import Registry, op

from .toy import registry, run

HEAD = '<ir_version: 8, opset_import: ["": 18, "own": 1]> '


def read(text, **how):
    return load(parser.parse_model(HEAD + text), registry, **how)


def refusal(model, error=ModelError):
    """What loading says against a model."""
    with pytest.raises(error) as caught:
        load(parser.parse_model(HEAD + model) if isinstance(model, str) else model, registry)
    return str(caught.value)


def model_of(nodes, inputs=("x",), outputs=("y",), **how):
    """A model over float vectors."""
    vectors = [[helper.make_tensor_value_info(n, TensorProto.FLOAT, ["N"]) for n in names] for names in (inputs, outputs)]
    opsets = [helper.make_opsetid(d, v) for d, v in how.pop("opsets", {"": 18}).items()]
    return helper.make_model(helper.make_graph(nodes, "g", *vectors, **how), opset_imports=opsets)


def test_attributes_are_bound_with_the_defaults_of_the_schema():
    graph = read("g (float[1,N,4] x) => (y) {y = Softmax(x)}")
    assert graph.nodes[0].attributes == {"axis": -1}
    assert str(graph.nodes[0].schema) == "Softmax-13"


def test_every_kind_of_attribute_arrives_as_python_has_it():
    kinds = {"i": 3, "f": 0.5, "s": "text", "is_": [1, 2], "fs": [0.5], "ss": ["a", "b"],
             "t": helper.make_tensor("t", TensorProto.FLOAT, [2], [1.0, 2.0]),
             "type": helper.make_tensor_type_proto(TensorProto.FLOAT, [1])}

    @op("Takes", domain="own")
    def takes(x, *, i, f, s, is_, fs, ss, t, type, absent=None):
        return x
    graph = load(model_of([helper.make_node("Takes", ["x"], ["y"], domain="own", **kinds)], opsets={"own": 1}),
                 Registry(registry).add(takes))
    bound = graph.nodes[0].attributes
    assert bound.pop("t").tolist() == [1.0, 2.0]
    assert bound == {"i": 3, "f": 0.5, "s": "text", "is_": (1, 2), "fs": (0.5,), "ss": ("a", "b"), "type": "tensor(float)",
                     "absent": None}


@pytest.mark.parametrize("node, says", [
    ("y = Softmax<axes = 1>(x)", "no attribute axes; it has axis"),
    ("y = Softmax<axis = 1.0>(x)", "attribute axis of Softmax-13 must be INT, it is FLOAT"),
    ("y = MaxPool(x)", "MaxPool-12 needs the attribute kernel_shape"),
    ("y = Add(x)", "needs its inputs A, B, the node has 1"),
    ("y = Add(x, x, x)", "has at most 2 inputs, the node has 3"),
    ("y = Add(x, )", "needs its inputs A, B, the node has 1"),
    ("y = Where(x, , x)", "Where-16 needs its input X"),
    ("y, z = Abs(x)", "has at most 1 outputs, the node has 2"),
    ("y = Abs(xx)", "nothing defines the value 'xx'; did you mean 'x'?"),
    ("y = Abs(x) y = Exp(x)", "the value y is defined twice, by node Abs_0 and by node Exp_1"),
    ("x = Abs(x) y = Exp(x)", "the value x is defined twice, by input x and by node Abs_0"),
    ("a = Abs(b) b = Exp(a) y = Add(a, x)", "nodes wait for each other: Abs_0 → Exp_1 → Abs_0"),
    ("y = Upsample(x, x)", "Upsample is deprecated since version 10"),
])
def test_a_node_that_does_not_fit_its_schema_is_refused(node, says):
    extra = Registry(registry).add(op("MaxPool")(lambda x: x))
    with pytest.raises(ModelError) as caught:
        load(parser.parse_model(HEAD + f"g (float[N] x) => (y) {{{node}}}"), extra)
    assert says in str(caught.value)


def test_attributes_with_two_underscores_are_nobodys_business():
    node = helper.make_node("Abs", ["x"], ["y"], __note="mine")
    assert load(model_of([node]), registry).nodes[0].attributes == {}


def test_an_attribute_given_twice_is_refused():
    node = helper.make_node("Softmax", ["x"], ["y"], axis=0)
    node.attribute.append(helper.make_attribute("axis", 1))
    assert "attribute axis is there twice" in refusal(model_of([node]))


def test_all_missing_operators_are_named_once_with_their_nodes():
    says = refusal("g (float[N] x) => (y) {[first] a = Nope(x) b = Nope(a) c = own.Gone(b) y = Det(c)}", UnsupportedOperator)
    assert says.splitlines() == [
        "first and 1 more: there is no operator Nope in ONNX; add one with --kernels FILE.py or registry.add(op(...))",
        "Gone_2: there is no operator Gone in domain own; add one with --kernels FILE.py or registry.add(op(...))",
        "Det_3: no kernel for Det-11; add one with --kernels FILE.py or registry.add(op(...))"]


def test_a_version_that_the_package_lacks_is_told_from_a_missing_operator():
    old = Registry().add(op("Softmax", 1, 11)(lambda x, *, axis: x))
    with pytest.raises(UnsupportedVersion, match="Softmax-13: this package has 1-11"):
        load(model_of([helper.make_node("Softmax", ["x"], ["y"])]), old)


def test_an_operator_of_the_users_own_needs_no_version_of_its_domain():
    graph = load(model_of([helper.make_node("Scale", ["x"], ["y"], domain="own", by=3.0)]), registry)
    assert graph.nodes[0].attributes == {"by": 3.0}


@pytest.mark.parametrize("opsets, error, says", [
    ({}, ModelError, "does not say which operator versions it uses"),
    ({"own": 1}, ModelError, "does not say which version of ai.onnx it uses"),
    ({"": 9999}, UnsupportedVersion, f"newer than the newest known, {onnx.defs.onnx_opset_version()}"),
    ({"": 0}, ModelError, "there is no version 0 of ai.onnx"),
    ({"": -2 ** 40}, ModelError, "there is no version -1099511627776 of ai.onnx"),
])
def test_opsets_that_are_missing_or_unknown_are_refused(opsets, error, says):
    model = model_of([helper.make_node("Abs", ["x"], ["y"])], opsets=opsets or {"": 1})
    if not opsets:
        model.ClearField("opset_import")
    assert says in refusal(model, error)


def test_both_names_of_the_default_domain_are_one():
    graph = load(model_of([helper.make_node("Abs", ["x"], ["y"], domain="ai.onnx")], opsets={"ai.onnx": 13}), registry)
    assert graph.opsets == {"": 13} and str(graph.nodes[0].schema) == "Abs-13"


def test_a_newer_file_format_is_no_reason_to_refuse():
    model = model_of([helper.make_node("Abs", ["x"], ["y"])])
    model.ir_version = 1000
    assert load(model, registry).nodes


def test_nodes_without_a_name_get_one_and_shared_names_are_told_apart():
    graph = read("g (float[N] x) => (y) {a = Abs(x) [n] b = Abs(a) [n] c = Abs(b) [Abs_0] y = Abs(c)}")
    assert [n.name for n in graph.nodes] == ["Abs_0_2", "n", "n_2", "Abs_0"]


def test_nodes_are_sorted_and_otherwise_stay_as_they_stood():
    graph = read("g (float[N] x) => (y) {[last] y = Add(b, c) [c] c = Abs(x) [b] b = Abs(a) [a] a = Abs(x)}")
    assert [n.name for n in graph.nodes] == ["c", "a", "b", "last"]


@pytest.mark.parametrize("order", [1, -1])
def test_a_long_chain_loads(order):
    chain = [helper.make_node("Abs", [f"v{i}"], [f"v{i + 1}"]) for i in range(50_000)]
    graph = load(model_of(chain[::order], ["v0"], ["v50000"]), registry)
    assert [n.outputs[0] for n in graph.nodes] == [f"v{i + 1}" for i in range(50_000)]


def test_declared_types_and_sizes():
    graph = read("""g (float[0,N,3] x, seq(float) s, optional(seq(int64)) o) => (float[0,M] y)
        <float[N,0] a> {a = Abs(x) y = Abs(a)}""")
    assert [(v.name, v.type, v.shape) for v in graph.inputs] == [
        ("x", "tensor(float)", (0, "N", 3)), ("s", "seq(tensor(float))", None), ("o", "optional(seq(tensor(int64)))", None)]
    assert graph.outputs[0].shape == (None, "M")
    assert graph.hints["a"].shape == ("N", None)


def test_the_type_of_a_map():
    model = model_of([helper.make_node("Identity", ["x"], ["y"])])
    model.graph.output[0].type.map_type.key_type = TensorProto.INT64
    model.graph.output[0].type.map_type.value_type.tensor_type.elem_type = TensorProto.FLOAT
    assert load(model, registry).outputs[0].type == "map(int64, float)"


def test_a_negative_size_is_an_unknown_one():
    model = model_of([helper.make_node("Abs", ["x"], ["y"])])
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = -1
    assert load(model, registry).inputs[0].shape == (None,)


@pytest.mark.parametrize("attribute, want", [
    ({"value": helper.make_tensor("", TensorProto.INT8, [2], [1, -1])}, np.array([1, -1], np.int8)),
    ({"value_float": 0.1}, np.array(0.1, np.float32)), ({"value_floats": [0.1, 2.0]}, np.array([0.1, 2.0], np.float32)),
    ({"value_int": 2 ** 40}, np.array(2 ** 40)), ({"value_ints": [1, 2]}, np.array([1, 2])),
    ({"value_string": "a"}, np.array("a", object)), ({"value_strings": ["a", "bc"]}, np.array(["a", "bc"], object)),
    ({"sparse_value": helper.make_sparse_tensor(helper.make_tensor("", TensorProto.FLOAT, [1], [5.0]),
                                                helper.make_tensor("", TensorProto.INT64, [1], [2]), [2, 2])},
     np.array([[0, 0], [5, 0]], np.float32)),
])
def test_a_constant_node_becomes_an_array(attribute, want):
    graph = load(model_of([helper.make_node("Constant", [], ["y"], **attribute)]), registry)
    assert not graph.nodes
    got = graph.constants["y"]
    assert got.dtype == want.dtype and got.shape == want.shape and (got == want).all() and not got.flags.writeable


def test_a_constant_without_a_value_or_with_two_is_refused():
    assert "needs exactly one value" in refusal(model_of([helper.make_node("Constant", [], ["y"])]))
    assert "needs exactly one value" in refusal(model_of([helper.make_node("Constant", [], ["y"], value_int=1, value_float=2.0)]))


def initialized():
    """A model with an initializer w, and one b that is an input, too."""
    ones = [helper.make_tensor(n, TensorProto.FLOAT, [1], [1.0]) for n in "wb"]
    nodes = [helper.make_node("Add", ["x", "w"], ["a"]), helper.make_node("Add", ["a", "b"], ["y"])]
    return model_of(nodes, ["x", "b"], initializer=ones)


def test_an_initializer_that_is_an_input_can_be_overridden():
    graph = load(initialized(), registry)
    assert [v.name for v in graph.inputs] == ["x"] and list(graph.overridable) == ["b"] and set(graph.constants) == {"w", "b"}
    assert graph.overridable["b"].shape == ("N",)


def test_a_fed_initializer_is_an_ordinary_input():
    graph = load(initialized(), registry, fed=frozenset("b"))
    assert [v.name for v in graph.inputs] == ["x", "b"] and not graph.overridable and set(graph.constants) == {"w"}


def test_a_sparse_initializer_is_made_dense():
    sparse = helper.make_sparse_tensor(helper.make_tensor("w", TensorProto.FLOAT, [2], [1.0, 2.0]),
                                       helper.make_tensor("", TensorProto.INT64, [2, 2], [0, 1, 1, 0]), [2, 2])
    graph = load(model_of([helper.make_node("Add", ["x", "w"], ["y"])], sparse_initializer=[sparse]), registry)
    assert graph.constants["w"].tolist() == [[0, 1], [2, 0]]


def test_initializers_that_share_a_name_are_refused():
    model = initialized()
    model.graph.initializer.append(model.graph.initializer[0])
    assert "w is defined twice" in refusal(model)
    del model.graph.initializer[2]
    model.graph.initializer.append(model.graph.initializer[1])
    assert "b is defined twice" in refusal(model)


BRANCHES = """g (bool c, float[N] x, float[N] z) => (y) <float[1] w = {2}> {
    a = Abs(x)
    y = If(c) <then_branch = t () => (o) {o = Add(a, w)}, else_branch = e () => (o) {p = Mul(z, w) o = Add(p, x)}>
}"""


def test_bodies_capture_what_they_read_and_share_constants():
    graph = read(BRANCHES)
    node = graph.nodes[1]
    then, other = node.attributes["then_branch"], node.attributes["else_branch"]
    assert node.inputs == ["c", "a", "x", "z"] and node.captured == 3
    assert [v.name for v in then.inputs] == [v.name for v in other.inputs] == ["a", "x", "z"]
    assert then.captured == other.captured == 3
    assert then.constants["w"] is other.constants["w"] is graph.constants["w"]


@pytest.mark.parametrize("c", [True, False])
def test_branches_give_what_onnx_says(c):
    model = parser.parse_model(HEAD + BRANCHES)
    feeds = {"c": np.array(c), "x": np.array([-1, 2], np.float32), "z": np.array([3, 4], np.float32)}
    want = onnx.reference.ReferenceEvaluator(model).run(None, feeds)
    np.testing.assert_array_equal(run(load(model, registry), list(feeds.values())), want)


def test_an_overridable_initializer_is_captured_not_shared():
    model = parser.parse_model(HEAD + """g (bool c, float[N] x, float[1] w) => (y) {
        y = If(c) <then_branch = t () => (o) {o = Add(x, w)}, else_branch = e () => (o) {o = Abs(x)}>}""")
    model.graph.initializer.append(helper.make_tensor("w", TensorProto.FLOAT, [1], [2.0]))
    node = load(model, registry).nodes[0]
    assert node.inputs == ["c", "w", "x"] and not node.attributes["then_branch"].constants


def test_inner_names_win_inside_only_and_every_value_has_its_own():
    model = parser.parse_model(HEAD + """g (bool c, float[N] x) => (y) {
        a = Abs(x)
        b = If(c) <then_branch = t () => (a) {a = Add(x, x)}, else_branch = e () => (q) {q = Mul(a, x)}>
        y = Add(a, b)}""")
    graph = load(model, registry)
    names = [o for node in graph.walk() for o in node.outputs]
    assert len(set(names)) == len(names)
    x = np.array([-1, 2], np.float32)
    for c, want in ((True, np.abs(x) + x + x), (False, np.abs(x) + np.abs(x) * x)):
        np.testing.assert_array_equal(run(graph, [np.array(c), x])[0], want)


def test_a_nested_body_hands_its_captures_through():
    model = parser.parse_model(HEAD + """g (int64 n, bool c, float[N] x, float[N] z) => (y) {
        y = Loop(n, c, x) <body = b (int64 i, bool go, float[N] v) => (go, w) {
            w = If(c) <then_branch = t () => (o) {o = Add(v, z)}, else_branch = e () => (o) {o = Mul(v, z)}>}>}""")
    graph = load(model, registry)
    assert graph.nodes[0].inputs == ["n", "c", "x", "c", "z"] and graph.nodes[0].captured == 2
    x, z = np.array([1, 2], np.float32), np.array([3, 4], np.float32)
    assert run(graph, [np.array(3), np.array(True), x, z])[0].tolist() == [10, 14]
    assert run(graph, [np.array(2), np.array(False), x, z])[0].tolist() == [9, 32]


def test_a_body_may_read_what_is_defined_further_down():
    graph = read("""g (bool c, float[N] x) => (y) {
        y = If(c) <then_branch = t () => (o) {o = Abs(late)}, else_branch = e () => (late) {}>
        late = Exp(x)}""")
    assert [n.schema.name for n in graph.nodes] == ["Exp", "If"]


def nested(depth):
    """An If in an If in an If …"""
    graph = helper.make_graph([helper.make_node("Abs", ["x"], ["o"])], "g", [], [helper.make_empty_tensor_value_info("o")])
    for _ in range(depth):
        node = helper.make_node("If", ["c"], ["o"], then_branch=graph, else_branch=graph)
        graph = helper.make_graph([node], "g", [], [helper.make_empty_tensor_value_info("o")])
        node.attribute[1].g.CopyFrom(helper.make_graph([helper.make_node("Abs", ["x"], ["o"])], "e", [], graph.output))
        graph = helper.make_graph([node], "g", [], graph.output)
    graph.input.extend([helper.make_tensor_value_info("c", TensorProto.BOOL, []),
                        helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


def test_bodies_may_be_nested_as_deeply_as_a_file_can_hold_them():
    assert len(list(load(nested(30), registry).walk())) == 61


@pytest.mark.filterwarnings("ignore:The onnxtxt format is experimental")
def test_a_path_bytes_and_a_model_give_the_same(tmp_path):
    model = model_of([helper.make_node("Abs", ["x"], ["y"])])
    for suffix in ("onnx", "textproto", "json", "onnxtxt"):
        onnx.save(model, tmp_path / f"m.{suffix}")
    sources = [model, model.SerializeToString(), str(tmp_path / "m.onnx"), *tmp_path.iterdir()]
    assert [load(s, registry).nodes[0].schema.name for s in sources] == ["Abs"] * 7


def test_a_missing_file_is_answered_with_one_of_a_similar_name(tmp_path):
    (tmp_path / "model.onnx").write_bytes(b"x")
    assert f"did you mean {tmp_path / 'model.onnx'}?" in refusal(tmp_path / "modle.onnx")
    assert "nor a folder" in refusal(tmp_path / "nowhere" / "model.onnx")
    assert "is a folder, it holds model.onnx" in refusal(tmp_path)


def zipped():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as z:
        z.writestr("data.pkl", b"")
    return buffer.getvalue()


@pytest.mark.parametrize("content, says", [
    (b"", "is empty"), (zipped(), "zip archive"), (b"<!DOCTYPE html>", "of tags"), (b"\x08", "cannot be parsed as protobuf"),
    (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS"), (b"\x08\x07", "it has no graph"),
])
def test_what_is_no_model_is_refused(tmp_path, content, says):
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    assert says in refusal(path) and says in refusal(content)


@pytest.mark.filterwarnings("ignore:The onnxtxt format is experimental")
@pytest.mark.parametrize("suffix", ["json", "textproto", "onnxtxt"])
def test_damaged_text_is_refused(tmp_path, suffix):
    path = tmp_path / f"model.{suffix}"
    path.write_text("{ nonsense")
    assert "cannot be parsed" in refusal(path)


def test_an_unreadable_path_is_refused():
    with pytest.raises(ModelError, match="cannot be read"):
        load("a\0b", registry)
    with pytest.raises(UsageError, match="not as int"):
        load(3, registry)


def test_names_that_are_not_text_are_refused():
    content = model_of([helper.make_node("Abs", ["x"], ["QQQ"])], outputs=["QQQ"]).SerializeToString()
    assert "not UTF-8" in refusal(content.replace(b"QQQ", b"\xff\xfeQ"))


def specimen():
    """A small model with some of everything."""
    model = parser.parse_model(HEAD + """g (bool c, float[N,2] x) => (float[N,M] y)
        <float[2] w = {1.5, 2.5}, float[N,2] a> {
            k = Constant <value_floats = [1.0, 2.0]> ()
            a = own.twice <by = 3.0> (x)
            s = Softmax <axis = 1> (a)
            y = If(c) <then_branch = t () => (o) {o = Add(s, w)}, else_branch = e () => (o) {o = Mul(a, k)}>
        } <domain: "own", opset_import: ["": 18]> twice <by: float = 2.0> (v) => (r) {
            f = Constant <value_float: float = @by> ()
            r = Mul(v, f)
        }""")
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(
        helper.make_tensor("p", TensorProto.FLOAT, [1], [1.0]), helper.make_tensor("", TensorProto.INT64, [1], [2]), [2, 2]))
    outside = helper.make_tensor("e", TensorProto.FLOAT, [1], [1.0])
    outside.ClearField("float_data")
    outside.data_location = TensorProto.EXTERNAL
    outside.external_data.add(key="location", value="data.bin")
    outside.external_data.add(key="offset", value="8")
    model.graph.initializer.append(outside)
    return model.SerializeToString()


SPECIMEN = specimen()


@given(data=st.data())
def test_a_damaged_model_loads_or_is_refused_and_nothing_else(data, tmp_path_factory):
    content = bytearray(SPECIMEN)
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at:at + data.draw(st.integers(0, 8))] = data.draw(st.binary(max_size=8))
    path = tmp_path_factory.getbasetemp() / "damaged.onnx"
    path.write_bytes(content)
    (path.parent / "data.bin").write_bytes(bytes(12))
    try:
        load(path, registry)
    except InterpError:
        pass


def test_the_specimen_itself_loads(tmp_path):
    (tmp_path / "data.bin").write_bytes(bytes(12))
    (tmp_path / "model.onnx").write_bytes(SPECIMEN)
    assert load(os.fspath(tmp_path / "model.onnx"), registry).constants["e"].tolist() == [0.0]
