"""Tensors: every element type in every form that a file may have it in; sizes that do not add up are refused."""
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from interp.errors import ModelError
from interp.tensors import Folder, array, dense
from interp.types import ELEMENTS

NOWHERE = Folder(None)
NUMBERS = sorted(ELEMENTS.keys() - {"string"})


def of(element, shape, **fields):
    return TensorProto(name="w", data_type=ELEMENTS[element].code, dims=shape, **fields)


def values(element, count):
    """Some values that the type has: small numbers, the last of them negative where there are such."""
    numbers = np.arange(count) % 2 + (element == "float8e8m0")  # which has no zero
    if not element.startswith(("uint", "bool", "float8e8m0")):
        numbers[-1:] = -1
    return numbers.astype(ELEMENTS[element].dtype)


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 5), (7, 1, 3)], ids=str)
@pytest.mark.parametrize("element", NUMBERS)
def test_raw_data(element, shape):
    want = values(element, int(np.prod(shape))).reshape(shape)
    proto = numpy_helper.from_array(want, "w")
    assert proto.data_type == ELEMENTS[element].code
    got = array(proto, NOWHERE)
    assert got.dtype == want.dtype and got.shape == shape and got.tobytes() == numpy_helper.to_array(proto).tobytes()
    assert got.flags.aligned and not got.flags.writeable
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("element", NUMBERS)
def test_data_in_typed_fields(element):
    want = values(element, 5)
    proto = helper.make_tensor("w", ELEMENTS[element].code, [5], want)
    assert not proto.HasField("raw_data")
    got = array(proto, NOWHERE)
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, numpy_helper.to_array(proto))
    np.testing.assert_array_equal(got, want)


def test_strings():
    proto = of("string", [2], string_data=[b"a", "é".encode()])
    assert array(proto, NOWHERE).tolist() == ["a", "é"]


def test_a_bool_is_0_or_1_whatever_its_byte():
    assert array(of("bool", [3], raw_data=b"\0\1\2"), NOWHERE).view(np.uint8).tolist() == [0, 1, 1]


@pytest.mark.parametrize("proto, says", [
    (of("float", [2], raw_data=bytes(7)), "has 7 bytes, its shape and type need 8"),
    (of("float", [2], float_data=[1]), "has 1 values in float_data, its shape and type need 2"),
    (of("float", []), "has 0 values in float_data, its shape and type need 1"),
    (of("int4", [3], raw_data=b"\0"), "has 1 bytes, its shape and type need 2"),
    (of("complex64", [2], float_data=[1, 2]), "has 2 values in float_data, its shape and type need 4"),
    (of("string", [2], string_data=[b"a"]), "has 1 strings in string_data, its shape needs 2"),
    (of("float", [-1]), "has a negative size"),
    (of("float", [2 ** 62]), "is too large"),
    (of("float", [2 ** 40, 2 ** 40]), "is too large"),
    (of("float", [0, 2 ** 62]), "is too large"),
    (of("float", [1] * 65, float_data=[1]), "is too large"),
    (of("string", [2 ** 58]), "has 0 strings"),
    (TensorProto(name="w", data_type=99), "there is no element type 99"),
    (TensorProto(name="w"), "there is no element type 0"),
    (of("float", [1], segment=TensorProto.Segment(begin=0, end=1)), "is stored in segments"),
])
def test_a_tensor_whose_parts_do_not_agree_is_refused(proto, says):
    with pytest.raises(ModelError) as caught:
        array(proto, NOWHERE)
    assert str(caught.value).startswith("tensor 'w': ") and says in str(caught.value)


def sparse(entries, indices, shape):
    return helper.make_sparse_tensor(helper.make_tensor("w", TensorProto.FLOAT, [len(entries)], entries),
                                     numpy_helper.from_array(np.array(indices, np.int64)), shape)


@pytest.mark.parametrize("indices", [[1, 5], [[0, 1], [1, 2]]], ids=["flat", "by axis"])
def test_sparse_tensors_become_dense(indices):
    assert dense(sparse([3.0, 4.0], indices, [2, 3]), NOWHERE).tolist() == [[0, 3, 0], [0, 0, 4]]


@pytest.mark.parametrize("indices, shape, says", [
    ([6], [2, 3], "lies outside"), ([-1], [2, 3], "lies outside"),
    ([[2, 0]], [2, 3], "lies outside"), ([[0, -1]], [2, 3], "lies outside"),
    ([0, 1], [2, 3], "do not go with"), ([[0]], [2, 3], "do not go with"), ([0], [2 ** 40], "too large to be made dense"),
    ([0], [-2], "negative"), ([0], [2 ** 62, 2 ** 62], "too large"),
])
def test_sparse_tensors_that_make_no_sense_are_refused(indices, shape, says):
    with pytest.raises(ModelError, match=says):
        dense(sparse([3.0], indices, shape), NOWHERE)
