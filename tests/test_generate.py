"""Arrays made of a few numbers: ranges of every type, and one value all over."""
import ml_dtypes
import numpy as np
import onnx
import pytest

import interp
from interp.kernels import generate

from .every import run_node


def counted(start, limit, delta, dtype, opset=27):
    feeds = {k: np.array(v, dtype) for k, v in (("start", start), ("limit", limit), ("delta", delta))}
    return run_node("Range", opset, feeds, {}, ("output",))[0]


@pytest.mark.parametrize("dtype", [np.int16, np.int32, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("start, limit, delta", [(0, 5, 1), (10, 4, -2), (3, 3, 1), (5, 3, 1), (-7, 1000, 3), (1, 2, 100)])
def test_ranges_are_those_of_python(start, limit, delta, dtype):
    found = counted(start, limit, delta, dtype, 11)
    assert found.dtype == dtype and found.tolist() == list(range(start, limit, delta))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_ranges_of_sixteen_bits_are_rounded_once(dtype):
    step = float(dtype(0.1))
    due = np.array([i * step for i in range(10)]).astype(np.float32).astype(dtype)
    assert np.array_equal(counted(0, 10 * step - step / 2, step, dtype), due)


def test_ranges_of_large_integers_are_exact():
    assert counted(2**62 + 1, 2**62 + 4, 1, np.int64).tolist() == [2**62 + 1, 2**62 + 2, 2**62 + 3]
    assert counted(2**63 - 1, -(2**63), -(2**63), np.int64).tolist() == [2**63 - 1, -1]


def test_a_range_without_a_step_is_refused():
    with pytest.raises(interp.InterpError, match="steps by 0"):
        counted(0, 3, 0, np.int64)


@pytest.mark.parametrize("dtype", [np.uint8, np.bool_, np.float16, ml_dtypes.bfloat16, np.float32, np.int64,
                                   ml_dtypes.float8_e4m3fn])
def test_one_value_all_over(dtype):
    value = onnx.helper.make_tensor("value", onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), [1], [1])
    for shape in [(2, 3), (), (0, 4), (1000,)]:
        [found] = run_node("ConstantOfShape", 24, {"input": np.array(shape, "i8")}, {"value": value}, {"output": dtype})
        assert found.dtype == dtype and found.shape == shape and (found.astype(float) == 1).all()


def test_kernels_refuse_what_they_cannot_make():
    with pytest.raises(ValueError):
        generate.repeat(np.zeros(2, "f4"), np.empty(3, "f4"))
    with pytest.raises(ValueError):
        generate.repeat(np.zeros(1, "f4"), np.empty(3, "f8"))
    with pytest.raises(TypeError):
        generate.count(0, 1, np.empty(3, "u1"))
    wide = np.empty(3, "c16")
    generate.repeat(np.array(1 + 2j), wide)()
    assert wide.tolist() == [1 + 2j] * 3
