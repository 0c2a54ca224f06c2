"""What is written is standard ONNX: the checker takes it, onnx reads the same from it, and onnxruntime gives the same answers."""
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import interp
from interp import standard, writing
from interp.cutting import cut, extracted
from interp.errors import Unsupported, UsageError
from interp.loading import load
from interp.optimize import optimized
from interp.writing import model_of, save

DIGITS = str(Path(__file__).parent.parent / "examples/digits/digits.onnx")
HEAD = '<ir_version: 10, opset_import: ["" : 21]>\n'
FLOAT = TensorProto.FLOAT


def written(source):
    """A model read and written again, and found valid."""
    made = model_of(load(source if isinstance(source, str | onnx.ModelProto) else str(source), standard))
    onnx.checker.check_model(made, full_check=True)
    return made


def answers(model, feeds):
    """What onnxruntime gives."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    content = model if isinstance(model, str) else model.SerializeToString()
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"]).run(None, feeds)


def stays(text, **feeds):
    """A model in words gives the same after it was written."""
    model = onnx.parser.parse_model(HEAD + text)
    made = written(model)
    for mine, theirs in zip(answers(made, feeds), answers(model, feeds), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    return made


def holding(tensor):
    """A model that gives out one initializer."""
    graph = helper.make_graph([], "g", [], [helper.make_tensor_value_info("w", tensor.data_type, list(tensor.dims))], [tensor])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=13)


@pytest.mark.parametrize("code", [c for n, c in TensorProto.DataType.items() if n not in ("UNDEFINED", "STRING")],
                         ids=lambda c: TensorProto.DataType.Name(c))
@pytest.mark.parametrize("count", [0, 1, 3, 8])
def test_elements_of_every_type_are_what_onnx_packs(code, count):
    dtype = helper.tensor_dtype_to_np_dtype(code)
    array = (np.arange(count) % 2 == 1 if dtype.kind == "b" else np.arange(count).astype(np.int8)).astype(dtype)
    tensor = numpy_helper.from_array(array, "w")
    [found] = written(holding(tensor)).graph.initializer
    assert found.data_type == code and found.raw_data == tensor.raw_data
    np.testing.assert_array_equal(numpy_helper.to_array(found).view("u1"), array.view("u1"))


def test_strings_keep_bytes_that_are_no_text():
    tensor = helper.make_tensor("w", TensorProto.STRING, [3], [b"a", "é".encode(), b"\xff\x01"])
    [found] = written(holding(tensor)).graph.initializer
    assert list(found.string_data) == [b"a", "é".encode(), b"\xff\x01"]


def test_negative_numbers_of_few_bits_share_bytes():
    array = np.array([-8, -1, 7], ml_dtypes.int4)
    [found] = written(holding(numpy_helper.from_array(array, "w"))).graph.initializer
    assert found.raw_data == bytes([0xF8, 0x07])  # two's complement, the first element in the lower half


def test_attributes_of_every_kind_come_back():
    given = {"i": 3, "f": 0.5, "s": "text", "ints": [1, 2], "floats": [0.5, 2.0], "strings": ["a", "b"],
             "t": numpy_helper.from_array(np.arange(3.0)), "tensors": [numpy_helper.from_array(np.int8([1])),
                                                                         numpy_helper.from_array(np.float32([[2]]))]}
    @interp.op("Everything", domain="mine", shape=lambda x: [x.shape])
    def everything(x, *, i, f, s, ints, floats, strings, t, tensors):
        return x

    node = helper.make_node("Everything", ["x"], ["y"], "all", domain="mine", **given)
    ends = [helper.make_tensor_value_info(n, FLOAT, ["n"]) for n in "xy"]
    model = helper.make_model(helper.make_graph([node], "g", ends[:1], ends[1:]),
                              opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("mine", 3)], ir_version=10)
    made = model_of(load(model, interp.Registry(standard).add(everything)))
    assert {o.domain: o.version for o in made.opset_import} == {"": 21, "mine": 3}
    [found] = made.graph.node
    assert {a.name: helper.get_attribute_value(a) for a in found.attribute if a.name[0] != "t"} == {
        "i": 3, "f": 0.5, "s": b"text", "ints": [1, 2], "floats": [0.5, 2.0], "strings": [b"a", b"b"]}
    arrays = {a.name: [numpy_helper.to_array(t) for t in (a.tensors or [a.t])] for a in found.attribute if a.name[0] == "t"}
    np.testing.assert_array_equal(arrays["t"][0], np.arange(3.0))
    assert [a.dtype for a in arrays["tensors"]] == [np.int8, np.float32] and arrays["tensors"][1].shape == (1, 1)


def test_a_type_as_an_attribute_and_optionals_come_back():
    made = written(optional())
    [attribute] = made.graph.node[0].attribute
    assert attribute.tp.sequence_type.elem_type.tensor_type.elem_type == FLOAT


def optional():
    """A model with an Optional that is made from a type alone."""
    kind = helper.make_sequence_type_proto(helper.make_tensor_type_proto(FLOAT, None))
    nodes = [helper.make_node("Optional", [], ["o"], "o", type=kind), helper.make_node("OptionalHasElement", ["o"], ["y"], "has")]
    graph = helper.make_graph(nodes, "g", [], [helper.make_tensor_value_info("y", TensorProto.BOOL, [])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def test_types_of_inputs_and_outputs_stay_as_they_were():
    original = onnx.load(DIGITS)
    made = written(DIGITS)
    assert list(made.graph.input) == list(original.graph.input) and list(made.graph.output) == list(original.graph.output)
    text = """g (seq(float[n]) s, optional(float[2, ?]) o, float[N, 3, ?] x) => (seq(float[n]) t, float z) {
        t = Identity(s)  z = ReduceSum <keepdims = 0> (x)  u = Identity(o) }"""
    model = onnx.parser.parse_model(HEAD + text)
    kinds = [v.type.WhichOneof("value") for v in written(model).graph.input]
    assert kinds == ["sequence_type", "optional_type", "tensor_type"]
    assert written(model).graph.input[2].type == model.graph.input[2].type


def test_metadata_names_and_notes_are_kept():
    model = onnx.load(DIGITS)
    model.producer_name, model.producer_version, model.domain, model.model_version = "maker", "1.2", "org.example", 7
    model.doc_string, model.graph.doc_string = "of the model", "of the graph"
    helper.set_model_props(model, {"labels": "a,b"})
    made = written(model)
    for name in ("producer_name", "producer_version", "domain", "model_version", "doc_string", "ir_version"):
        assert getattr(made, name) == getattr(model, name), name
    assert made.graph.name == model.graph.name and made.graph.doc_string == "of the graph"
    assert {p.key: p.value for p in made.metadata_props} == {"labels": "a,b"}
    assert [(n.name, n.op_type, list(n.output)) for n in made.graph.node] == [
        (n.name, n.op_type, list(n.output)) for n in model.graph.node]


def test_declared_shapes_inside_are_kept():
    model = onnx.parser.parse_model(HEAD + "g (float[N] x) => (float[N] y) <float[N] t> { t = Abs(x)  y = Neg(t) }")
    assert list(written(model).graph.value_info) == list(model.graph.value_info) != []


def test_initializers_that_are_inputs_too_stay_so():
    made = stays("g (float[2] x, float[2] w = {1, 2}) => (float[2] y) { y = Add(x, w) }", x=np.float32([1, 1]))
    assert [v.name for v in made.graph.input] == ["x", "w"] and [t.name for t in made.graph.initializer] == ["w"]
    [y] = answers(made, {"x": np.float32([1, 1]), "w": np.float32([5, 5])})
    np.testing.assert_array_equal(y, [6, 6])


BRANCHES = """g (bool c, float[n] x) => (float[n] y) {
    one = Constant <value = float {1.0}> ()
    two = Constant <value = float {2.0}> ()
    b = Add(x, one)
    y = If(c) <then_branch = a () => (float[n] t) { t = Mul(b, two) },
               else_branch = a () => (float[n] t) { u = If(c) <then_branch = z () => (float[n] t2) { t2 = Neg(b) },
                                                             else_branch = z () => (float[n] t2) { t2 = Identity(b) }>
                                                 t = Add(u, two) }>
}"""


@pytest.mark.parametrize("condition", [True, False])
def test_branches_read_what_lies_around_them(condition):
    made = stays(BRANCHES, c=np.array(condition), x=np.float32([1, 2]))
    assert [t.name for t in made.graph.initializer] == ["one", "two"]  # the shared one is written once


def test_a_body_that_gives_an_outer_value_makes_it_itself():
    made = stays("""g (bool c, float[n] x, float[n] z) => (float[n] y) {
        y = If(c) <then_branch = a () => (float[n] t) { t = Identity(x) },
                  else_branch = b () => (float[n] s) { s = Neg(z) }> }""",
                 c=np.array(True), x=np.float32([1]), z=np.float32([2]))
    graph = load(made, standard)
    [node] = graph.nodes
    body = node.attributes["then_branch"]
    body.outputs, body.nodes = [type(body.outputs[0])("x", "tensor(float)", None)], []
    again = model_of(graph)
    onnx.checker.check_model(again, full_check=True)
    [y] = answers(again, {"c": np.array(True), "x": np.float32([1]), "z": np.float32([2])})
    assert y == [1]


def test_loops_and_scans_come_back():
    stays("""g (int64 m, float[n] x) => (float[n] last, float[k, n] all) {
        go = Constant <value = bool {1}> ()
        last, all = Loop(m, go, x) <body = b (int64 i, bool c, float[n] v) => (bool c2, float[n] w, float[n] s) {
            c2 = Identity(c)  w = Add(v, x)  s = Mul(w, w) }> }""", m=np.array(3), x=np.float32([1, 2]))
    stays("""g (float[n] init, float[t, n] xs) => (float[n] last, float[t, n] all) {
        last, all = Scan <num_scan_inputs = 1, body = b (float[n] s, float[n] x) => (float[n] s2, float[n] y) {
            s2 = Add(s, x)  y = Neg(s2) }> (init, xs) }""", init=np.float32([0, 1]), xs=np.float32([[1, 2], [3, 4], [5, 6]]))


def test_functions_are_written_as_the_nodes_that_they_stand_for():
    model = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["" : 21, "f" : 1]>
        g (float[n] x) => (float[n] y, float[n] z) { y = f.twice <k = 2.0> (x)  z = f.twice <k = 3.0> (y) }
        <domain: "f", opset_import: ["" : 21]> twice <k> (a) => (b) {
            c = Constant <value_float: float = @k> ()  b = Mul(a, c) }""")
    made = written(model)
    assert [n.op_type for n in made.graph.node] == ["Mul", "Mul"] and not made.functions
    assert len({n.name for n in made.graph.node}) == 2 and [o.domain for o in made.opset_import] == [""]
    for mine, theirs in zip(answers(made, {"x": np.float32([1.5])}), answers(model, {"x": np.float32([1.5])}), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def two_versions(name, other):
    return onnx.parser.parse_model(f"""<ir_version: 10, opset_import: ["" : 21, "f" : 1]>
        g (float[n, m] x) => (float[n, m] y) {{ a = {name}(x)  y = f.old(a) }}
        <domain: "f", opset_import: ["" : {other}]> old (a) => (b) {{ b = {name}(a) }}""")


def test_versions_of_functions_are_made_one_where_they_mean_the_same():
    assert [(o.domain, o.version) for o in written(two_versions("Relu", 13)).opset_import] == [("", 21)]
    with pytest.raises(Unsupported, match="Softmax-13 and Softmax-11|Softmax-11 and Softmax-13"):
        model_of(load(two_versions("Softmax", 11), standard))


def test_what_the_standard_lacks_is_refused_by_name():
    fused = optimized(load(DIGITS, standard), 2)
    assert "interp" in {n.schema.domain for n in fused.nodes}
    with pytest.raises(Unsupported, match=r"interp:\w+-1 is an operator of this package.*optimize=0"):
        model_of(fused)


def big(tmp_path):
    """A model with one large and one small initializer."""
    weights = np.arange(4096, dtype=np.float32).reshape(64, 64)
    tensors = [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(np.float32([1, 2, 3, 4] * 16), "b")]
    ends = [helper.make_tensor_value_info(n, FLOAT, ["n", 64]) for n in "xy"]
    graph = helper.make_graph([helper.make_node("Gemm", ["x", "w", "b"], ["y"])], "g", ends[:1], ends[1:], tensors)
    path = tmp_path / "big.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)
    return path


@pytest.mark.parametrize("asked", [True, None])
def test_weights_go_to_a_file_beside_on_request_or_when_there_are_too_many(tmp_path, monkeypatch, asked):
    path, out = big(tmp_path), tmp_path / "out.onnx"
    if asked is None:
        monkeypatch.setattr(writing, "MOST_INSIDE", 10_000)
    save(load(path, standard), out, external=asked)
    assert sorted(f.name for f in tmp_path.iterdir()) == ["big.onnx", "out.onnx", "out.onnx.data"]
    assert out.stat().st_size < 1000 and (tmp_path / "out.onnx.data").stat().st_size == 64 * 64 * 4
    onnx.checker.check_model(str(out), full_check=True)
    x = np.eye(2, 64, dtype=np.float32)
    np.testing.assert_array_equal(*(answers(str(p), {"x": x})[0] for p in (path, out)))


def test_a_model_may_be_written_over_the_file_that_it_is_read_from(tmp_path):
    path = big(tmp_path)
    save(load(path, standard), path, external=True)
    graph = load(path, standard)  # its weights are mapped, or read
    save(graph, path, external=True)
    x = np.eye(1, 64, dtype=np.float32)
    np.testing.assert_array_equal(answers(str(path), {"x": x})[0][0, :3], [1, 3, 5])


def test_a_file_is_whole_or_not_there(tmp_path):
    out = tmp_path / "out.onnx"
    out.write_bytes(b"old")
    graph = optimized(load(DIGITS, standard), 2)
    with pytest.raises(Unsupported):
        save(graph, out)
    assert out.read_bytes() == b"old" and list(tmp_path.iterdir()) == [out]


def test_one_node_is_a_model_with_the_types_that_inference_finds():
    graph = load(onnx.parser.parse_model(HEAD + """g (float[N, 3] x) => (float y) {
        t = Transpose(x)  m = MatMul(x, t)  w = Constant <value = float {2.0}> ()  s = Mul(m, w)
        y = ReduceSum <keepdims=0> (s) }"""), standard)
    part = model_of(cut(graph, [n for n in graph.nodes if n.schema.name in ("MatMul", "Mul")]))
    onnx.checker.check_model(part, full_check=True)
    assert [(v.name, [d.dim_param or d.dim_value for d in v.type.tensor_type.shape.dim]) for v in
            (*part.graph.input, *part.graph.output)] == [("x", ["N", 3]), ("t", [3, "N"]), ("s", ["N", "N"])]
    x = np.float32([[1, 2, 3]])
    np.testing.assert_array_equal(answers(part, {"x": x, "t": x.T})[0], [[28]])


def test_a_cut_node_takes_types_and_shapes_of_arrays():
    graph = load(onnx.parser.parse_model(HEAD + "g (float[N, ?] x) => (float[N, ?] y) { t = Abs(x)  y = Neg(t) }"), standard)
    part = cut(graph, graph.nodes[1:], known={"t": np.zeros((4, 5), np.float32), "y": np.zeros((4, 5), np.float32)})
    assert [(v.name, v.type, v.shape) for v in (*part.inputs, *part.outputs)] == [
        ("t", "tensor(float)", (4, 5)), ("y", "tensor(float)", (4, 5))]


def test_a_cut_node_keeps_its_sub_graphs_and_what_they_read():
    graph = load(onnx.parser.parse_model(HEAD + BRANCHES), standard)
    part = model_of(cut(graph, graph.nodes[1:]))
    onnx.checker.check_model(part, full_check=True)
    assert [v.name for v in part.graph.input] == ["c", "b"]
    np.testing.assert_array_equal(answers(part, {"c": np.array(False), "b": np.float32([3])})[0], [5])


CHAIN = """g (float[N, 4] x, float[N, 4] z, float[4] w = {1, 2, 3, 4}) => (float[N, 4] y, float[N, 4] other) {
    a = Abs(x)  b = Add(a, z)  q = Neg(z)  c = Mul(b, w)  d = Add(c, q)  y = Relu(d)  other = Exp(z) }"""


@pytest.fixture
def chain():
    return load(onnx.parser.parse_model(HEAD + CHAIN), standard)


def test_what_lies_between_tensors_is_a_model(chain):
    part = extracted(chain, ["b"], ["c"])
    assert [n.schema.name for n in part.nodes] == ["Mul"] and [v.shape for v in part.inputs] == [("N", 4)]
    made = model_of(part)
    onnx.checker.check_model(made, full_check=True)
    np.testing.assert_array_equal(answers(made, {"b": np.ones((1, 4), np.float32)})[0], [[1, 2, 3, 4]])


def test_without_inputs_a_part_begins_where_the_model_does(chain):
    assert [v.name for v in extracted(chain, outputs=["other"]).inputs] == ["z"]
    assert [v.name for v in extracted(chain, ["z", "b"], ["d"]).inputs] == ["z", "b"]  # in the order that was asked for


def test_a_weight_may_become_an_input(chain):
    part = extracted(chain, ["b", "w"], ["c"])
    assert [v.name for v in part.inputs] == ["b", "w"] and not part.constants


@pytest.mark.parametrize("inputs, outputs, message", [
    (["b"], ["d"], "d needs more than b: also the model's z; add it to --inputs, or what is made of it: q"),
    (["b", "x"], ["c"], "c does not need x; leave it out"),
    (["bb"], ["c"], "the model has no tensor bb; did you mean b"),
    (["b", "b"], ["c"], "b is given twice as an input"),
    (["zzzz"], ["c"], "the model has no tensor zzzz; it takes x, z and gives y, other"),
], ids=lambda v: "-".join(v) if isinstance(v, list) else "")
def test_a_part_that_cannot_be_is_refused_with_a_way_out(chain, inputs, outputs, message):
    with pytest.raises(UsageError) as refused:
        extracted(chain, inputs, outputs)
    assert message in str(refused.value)
