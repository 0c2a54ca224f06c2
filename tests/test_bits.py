"""Bits: shifts by as many bits as there are, and bits read as other types."""
import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto

from interp.dims import Fact
from interp.kernels import elementwise
from interp.ops import standard
from interp.schema import schema

from .every import run_node

SIGNED = ["i1", "i2", "i4", "i8"]


def shifted(x, y, direction, version=28):
    out = np.empty(np.broadcast_shapes(x.shape, y.shape), x.dtype)
    standard.find(schema("BitShift", version)).run(x, y, direction=direction, out=out)()
    return out


@pytest.mark.parametrize("dtype", SIGNED)
def test_shifts_past_the_width_leave_the_sign(dtype):
    bits = np.dtype(dtype).itemsize * 8
    x = np.array([[-5], [5]], dtype)
    y = np.array([bits, -1, bits - 1, 127], dtype)
    assert shifted(x, y, "RIGHT").tolist() == [[-1] * 4, [0] * 4]
    assert shifted(x, y[[0, 1, 3]], "LEFT").tolist() == [[0] * 3] * 2
    assert shifted(x, y[2:3], "LEFT").tolist() == [[np.iinfo(dtype).min]] * 2


@pytest.mark.parametrize("dtype", ["u1", "u2", "u4", "u8"])
@pytest.mark.parametrize("version", [11, 28])
def test_unsigned_numbers_shift_out_to_zero(dtype, version):
    top, bits = np.iinfo(dtype).max, np.dtype(dtype).itemsize * 8
    x, y = np.array([top], dtype), np.array([0, 1, bits - 1, bits, 200], dtype)
    assert shifted(x, y, "RIGHT", version).tolist() == [top, top >> 1, 1, 0, 0]
    assert shifted(x, y, "LEFT", version).tolist() == [top, top - 1, (top >> 1) + 1, 0, 0]


def test_another_direction_is_refused():
    with pytest.raises(ValueError, match="UP"):
        shifted(np.ones(1, "u1"), np.ones(1, "u1"), "UP")


@pytest.mark.parametrize("size", [0, 1, 17, 8193])
@pytest.mark.parametrize("dtype", [*SIGNED, "u1", "u2", "u4", "u8"])
def test_bitwise_operations(dtype, size):
    rng, info = np.random.default_rng(size), np.iinfo(dtype)
    a, b = (rng.integers(info.min, info.max, size, dtype, endpoint=True) for _ in range(2))
    for loop, due in (("and", a & b), ("or", a | b), ("xor", a ^ b)):
        out = np.empty_like(a)
        elementwise.binary(loop, a, b, out)()
        assert np.array_equal(out, due)
    [found] = run_node("BitwiseNot", 18, {"X": a})
    assert np.array_equal(found, ~a)


def test_bits_read_as_another_type():
    x = np.array([1.0, -2.5, np.nan], "f4")
    [found] = run_node("BitCast", 26, {"input": x}, {"to": TensorProto.INT32}, {"output": np.int32})
    assert found.tolist() == x.view("i4").tolist()
    half = np.array([[1, 2]], ml_dtypes.bfloat16)
    [found] = run_node("BitCast", 26, {"input": half}, {"to": TensorProto.FLOAT16}, {"output": np.float16})
    assert found.tobytes() == half.tobytes()


@pytest.mark.parametrize("source, to", [("tensor(float)", TensorProto.DOUBLE), ("tensor(int8)", TensorProto.INT4),
                                        ("tensor(float)", TensorProto.STRING), ("tensor(uint4)", TensorProto.INT2)])
def test_bits_of_another_width_are_refused(source, to):
    with pytest.raises(ValueError, match="bits"):
        standard.find(schema("BitCast", 26)).shape(Fact(source, (2,)), to=to)
