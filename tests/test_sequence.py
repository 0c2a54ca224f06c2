"""Sequences and optionals: positions from either end, parts, and what is not there."""
import numpy as np
import onnx
import pytest

import interp
from interp.dims import Fact
from interp.ops import standard
from interp.schema import schema

from .standard.case import Spec, one_node, type_proto


def run(name, opset, inputs, outputs=(...,), types=None, **attributes):
    """The first result of a model of one node."""
    kinds = {"T": "tensor(float)", "S": "seq(tensor(float))", "I": "tensor(int64)", "B": "tensor(bool)", **(types or {})}
    node = one_node(Spec("", name, opset, kinds), list(inputs), list(outputs), attributes)
    return interp.load(node.model).run(None, node.feeds)[0]


def numbered(*shape):
    return np.arange(np.prod(shape, dtype=int), dtype="f4").reshape(shape)


THREE = [numbered(1), numbered(2), numbered(3)]


def lengths(sequence):
    return [len(x) for x in sequence]


def at(position):
    return np.array(position, "i8")


@pytest.mark.parametrize("position, due", [(0, 1), (2, 3), (-1, 3), (-3, 1)])
def test_tensors_at_positions(position, due):
    assert len(run("SequenceAt", 11, [THREE, at(position)])) == due


@pytest.mark.parametrize("position, due", [(0, [4, 1, 2, 3]), (3, [1, 2, 3, 4]), (-1, [1, 2, 4, 3]), (-3, [4, 1, 2, 3]),
                                           (None, [1, 2, 3, 4])])
def test_tensors_put_in(position, due):
    inputs = [THREE, numbered(4)] + ([] if position is None else [at(position)])
    assert lengths(run("SequenceInsert", 11, inputs)) == due


@pytest.mark.parametrize("position, due", [(0, [2, 3]), (-1, [1, 2]), (-3, [2, 3]), (None, [1, 2])])
def test_tensors_taken_out(position, due):
    assert lengths(run("SequenceErase", 11, [THREE] + ([] if position is None else [at(position)]))) == due


@pytest.mark.parametrize("name, position", [("SequenceAt", 3), ("SequenceAt", -4), ("SequenceErase", 3), ("SequenceInsert", 4),
                                            ("SequenceInsert", -4)])
def test_positions_outside(name, position):
    inputs = [THREE, numbered(4), at(position)] if name == "SequenceInsert" else [THREE, at(position)]
    with pytest.raises(interp.RunError, match=f"{name}.*position {position} is outside of a sequence of 3"):
        run(name, 11, inputs)


@pytest.mark.parametrize("split, keepdims, due", [
    (None, 1, [(2, 1)] * 5), (None, 0, [(2,)] * 5), (2, 0, [(2, 2), (2, 2), (2, 1)]), (9, 1, [(2, 5)]),
    ([1, 0, 4], 0, [(2, 1), (2, 0), (2, 4)])])
@pytest.mark.parametrize("axis", [1, -1])
def test_parts_of_a_tensor(split, keepdims, due, axis):
    """Where sizes are given keepdims is ignored, as the text asks."""
    x = numbered(2, 5)
    found = run("SplitToSequence", 11, [x] if split is None else [x, at(split)], axis=axis, keepdims=keepdims)
    assert [y.shape for y in found] == due
    assert np.array_equal(np.concatenate(found, 1) if len(due[0]) == 2 else np.stack(found, 1), x)


@pytest.mark.parametrize("split", [0, -1, [2, 2], [6, -1], [[5]]])
def test_parts_that_do_not_make_the_whole(split):
    with pytest.raises(interp.RunError, match="SplitToSequence.*parts of"):
        run("SplitToSequence", 11, [numbered(2, 5), at(split)], axis=1)


def test_nothing_to_split():
    assert run("SplitToSequence", 11, [numbered(0, 5)]) == []


@pytest.mark.parametrize("new_axis, axis, due", [
    (0, 0, (4, 3)), (0, -1, (2, 6)), (1, 0, (2, 2, 3)), (1, -1, (2, 3, 2)), (1, 2, (2, 3, 2))])
def test_tensors_joined(new_axis, axis, due):
    assert run("ConcatFromSequence", 11, [[numbered(2, 3)] * 2], axis=axis, new_axis=new_axis).shape == due


@pytest.mark.parametrize("sequence, axis", [([], 0), (THREE, 1), ([numbered(2, 3), numbered(2, 4)], 0)])
def test_tensors_that_do_not_join(sequence, axis):
    with pytest.raises(interp.RunError, match="ConcatFromSequence"):
        run("ConcatFromSequence", 11, [sequence], axis=axis)


def test_an_empty_sequence_has_a_type():
    found = standard.find(schema("SequenceEmpty", 11)).shape(dtype=8)
    assert found == [Fact("seq(tensor(string))")]
    assert standard.find(schema("SequenceEmpty", 11)).shape(dtype=None) == [Fact("seq(tensor(float))")]


def test_tensors_of_another_type_are_no_elements():
    with pytest.raises(ValueError, match=r"a tensor\(int64\) is no element of a seq\(tensor\(float\)\)"):
        standard.find(schema("SequenceInsert", 11)).shape(Fact("seq(tensor(float))"), Fact("tensor(int64)", (2,)))


@pytest.mark.parametrize("opset, value, due", [
    (18, None, False), (28, None, False), *((v, x, True) for v in (15, 18, 28) for x in (numbered(2), [numbered(2)]))])
def test_whether_there_is_a_value(opset, value, due):
    kind = "seq(tensor(float))" if isinstance(value, list) else "tensor(float)"
    assert run("OptionalHasElement", opset, [value], types={"O": f"optional({kind})"}) == due


def test_an_optional_without_a_value_or_a_type():
    with pytest.raises(ValueError, match="needs the type"):
        standard.find(schema("Optional", 15)).shape(type=None)
    assert standard.find(schema("Optional", 15)).shape(type="tensor(float)") == [Fact("optional(tensor(float))")]


@pytest.mark.parametrize("kind", ["tensor(float)", "seq(tensor(string))"])
def test_an_empty_optional_of_a_type(kind):
    text = '<ir_version: 10, opset_import: ["": 18]> g () => (bool y) { o = Optional() y = OptionalHasElement(o) }'
    model = onnx.parser.parse_model(text)
    model.graph.node[0].attribute.append(onnx.helper.make_attribute("type", type_proto(kind)))
    assert not interp.load(model).run(None, {})[0]


def test_a_sequence_in_the_place_of_an_optional_stays_one():
    made = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 18]> m (seq(int32[4]) x, int64 i) => (int32[4] z) {
        y = OptionalGetElement(x) z = SequenceAt(y, i) }""")
    x = np.arange(4, dtype="i4")
    assert interp.load(made).run(None, {"x": [x], "i": np.array(0)})[0].tolist() == [0, 1, 2, 3]
    [y] = interp.extract_model(made, outputs=["y"]).graph.output
    assert y.type.WhichOneof("value") == "sequence_type"
