"""Quantisation and back: rounding, ranges, granularity, what is refused; and DynamicQuantizeLinear of constants."""
import ml_dtypes
import numpy as np
import onnx
import pytest

import interp
from interp.dims import Fact, named
from interp.ops import quantize


def run(op, inputs, version, outputs=1, **attributes):
    """One node through the whole package, once with its inputs fed and once with all but the first constant."""
    names = ["" if x is None else f"i{k}" for k, x in enumerate(inputs)]
    found = []
    for constant in (False, True):
        fed = {n: x for k, (n, x) in enumerate(zip(names, inputs, strict=True)) if n and not (constant and k)}
        node = onnx.helper.make_node(op, names, [f"o{k}" for k in range(outputs)], **attributes)
        infos = [onnx.helper.make_tensor_value_info(n, onnx.helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
                 for n, x in fed.items()]
        graph = onnx.helper.make_graph(
            [node], "g", infos, [onnx.helper.make_empty_tensor_value_info(n) for n in node.output],
            [onnx.numpy_helper.from_array(x, n) for n, x in zip(names, inputs, strict=True) if n and n not in fed])
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", version)], ir_version=10)
        found.append(interp.load(model, threads=2).run(None, fed))
    for a, b in zip(*found, strict=True):
        assert a.dtype == b.dtype
        assert a.tobytes() == b.tobytes()
    return found[0] if outputs > 1 else found[0][0]


def f(*values):
    return np.array(values, np.float32)


def scalar(value, dtype=np.float32):
    return np.array(value, dtype)


@pytest.mark.parametrize("version", [10, 13, 19, 21, 28])
def test_halves_go_to_the_even_neighbour_before_the_zero_point_is_added(version):
    x = f(0.5, 1.5, 2.5, -0.5, -1.5, -2.5)
    y = run("QuantizeLinear", [x, scalar(1), scalar(1, np.int8)], version)
    assert y.tolist() == [1, 3, 3, 1, -1, -1] and y.dtype == np.int8


@pytest.mark.parametrize("length", [0, 1, 7, 64, 1003])
@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_out_of_range_values_take_the_nearest_end_and_nan_the_lowest(dtype, length):
    special = f(np.inf, -np.inf, np.nan, 1e30, -1e30, 3e38, 0.0, -0.0, 126.5, -127.5, 254.5, 1e-40)
    x = np.resize(special, length)
    ends = np.iinfo(dtype)
    due = np.clip(np.rint(np.nan_to_num(x.astype(float), nan=-np.inf) / 1.0) + 3, ends.min, ends.max).astype(dtype)
    np.testing.assert_array_equal(run("QuantizeLinear", [x, scalar(1), scalar(3, dtype)], 13), due)


def test_without_a_zero_point_the_result_is_uint8_or_what_output_dtype_says():
    assert run("QuantizeLinear", [f(-1, 3, 999), scalar(2)], 10).tolist() == [0, 2, 255]
    y = run("QuantizeLinear", [f(-1.5, 3, 999), scalar(1)], 21, output_dtype=onnx.TensorProto.INT16)
    assert y.dtype == np.int16 and y.tolist() == [-2, 3, 999]


@pytest.mark.parametrize("dtype, least, most", [(ml_dtypes.int4, -8, 7), (ml_dtypes.uint4, 0, 15), (ml_dtypes.int2, -2, 1),
                                                (ml_dtypes.uint2, 0, 3)])
def test_odd_counts_of_small_integers_go_there_and_back(dtype, least, most):
    x = np.linspace(-20, 20, 15, dtype=np.float32).reshape(3, 5)
    version = 25 if "2" in np.dtype(dtype).name else 21
    y = run("QuantizeLinear", [x, scalar(1), scalar(1, dtype)], version)
    due = np.clip(np.rint(x) + 1, least, most)
    np.testing.assert_array_equal(y.astype(int), due)
    back = run("DequantizeLinear", [y, scalar(0.5), scalar(1, dtype)], version)
    np.testing.assert_array_equal(back, (due - 1) * 0.5)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int16])
def test_each_index_of_an_axis_may_have_a_scale(axis, dtype):
    rng = np.random.default_rng(0)
    x = rng.uniform(-300, 300, (3, 5, 37)).astype(np.float32)
    n = x.shape[axis]
    scale, zero = rng.uniform(0.5, 2, n).astype(np.float32), rng.integers(0, 9, n).astype(dtype)
    along = [-1 if i == axis % 3 else 1 for i in range(3)]
    ends = np.iinfo(dtype)
    due = np.clip(np.rint(x / scale.reshape(along)) + zero.reshape(along), ends.min, ends.max).astype(dtype)
    np.testing.assert_array_equal(run("QuantizeLinear", [x, scale, zero], 21, axis=axis), due)
    back = (due.astype(np.float32) - zero.reshape(along)) * scale.reshape(along)
    np.testing.assert_array_equal(run("DequantizeLinear", [due, scale, zero], 21, axis=axis), back)


@pytest.mark.parametrize("axis, block", [(0, 2), (1, 3), (2, 4), (-1, 8), (1, 5)])
def test_blocks_along_an_axis_may_have_scales_and_the_last_may_be_short(axis, block):
    rng = np.random.default_rng(1)
    x = rng.uniform(-30, 30, (3, 5, 7)).astype(np.float32)
    shape = tuple(-(-n // block) if i == axis % 3 else n for i, n in enumerate(x.shape))
    scale, zero = rng.uniform(0.5, 2, shape).astype(np.float32), rng.integers(-4, 4, shape).astype(np.int8)
    wide = [np.repeat(a, block, axis).take(range(x.shape[axis]), axis) for a in (scale, zero)]
    y = run("QuantizeLinear", [x, scale, zero], 21, axis=axis, block_size=block)
    np.testing.assert_array_equal(y, np.clip(np.rint(x / wide[0]) + wide[1], -128, 127).astype(np.int8))
    back = run("DequantizeLinear", [y, scale, zero], 21, axis=axis, block_size=block)
    np.testing.assert_array_equal(back, (y.astype(np.float32) - wide[1]) * wide[0])


def test_a_vector_has_but_one_axis():
    x, scale = f(1, 2, 3), f(1, 2, 3)
    assert run("QuantizeLinear", [x, scale, np.zeros(3, np.uint8)], 13).tolist() == [1, 1, 1]
    assert run("DequantizeLinear", [np.array([1, 2, 3], np.int8), f(2), None], 13).tolist() == [2, 4, 6]


def test_the_scale_s_type_or_precision_rounds_the_quotient():
    x, scale = f(1001), np.array(3, np.float16)  # 333.67: in float16 333.75, in bfloat16 334; neither tells
    assert run("QuantizeLinear", [f(2051), np.array(1, np.float16), scalar(0, np.int16)], 23).tolist() == [2052]
    y = run("QuantizeLinear", [f(2051), np.array(1, np.float16), scalar(0, np.int16)], 23, precision=onnx.TensorProto.FLOAT)
    assert y.tolist() == [2051]
    assert run("QuantizeLinear", [x, scale, scalar(0, np.int16)], 23).tolist() == [334]


def test_saturation_of_8_bit_floats_is_as_asked():
    x = f(1e6, -1e6, np.nan, np.inf)
    zero = scalar(0, ml_dtypes.float8_e4m3fn)
    bounded = run("QuantizeLinear", [x, scalar(1), zero], 19).astype(np.float32)
    np.testing.assert_array_equal(bounded, f(448, -448, np.nan, 448))
    free = run("QuantizeLinear", [x, scalar(1), zero], 19, saturate=0).astype(np.float32)
    np.testing.assert_array_equal(free, f(np.nan, np.nan, np.nan, np.nan))


def test_int32_keeps_its_digits_until_the_product():
    x = np.array([2**31 - 1, -2**31, 16777217], np.int32)
    y = run("DequantizeLinear", [x, scalar(2.0 ** -20), None], 10)
    np.testing.assert_array_equal(y, x.astype(np.float32) * np.float32(2.0 ** -20))


@pytest.mark.parametrize("x, scale, zero, y", [
    ([0, 0, 0], 1, 0, [0, 0, 0]), ([], 1, 0, []), ([-0.0], 1, 0, [0]),
    ([3, 3], 3 / 255, 0, [255, 255]), ([-3, -3], 3 / 255, 255, [0, 0]),
    ([1, 2], 2 / 255, 0, [127, 255]), ([-1, -2], 2 / 255, 255, [128, 0]), ([-1, 0, 3], 4 / 255, 64, [0, 64, 255]),
    ([np.nan, 1, -1], 2 / 255, 127, [0, 254, 0])])
def test_dynamic_quantisation_of_constants(x, scale, zero, y):
    found = run("DynamicQuantizeLinear", [np.array(x, np.float32)], 11, outputs=3)
    # 1 / (2 / 255) is just below 127.5 in float; so is 255 - 127.5
    assert found[0].tolist() == y and found[1] == np.float32(scale) and found[2] == zero
    assert [a.dtype for a in found] == [np.uint8, np.float32, np.uint8]


def test_dynamic_quantisation_may_leave_out_what_nobody_wants():
    node = onnx.helper.make_node("DynamicQuantizeLinear", ["x"], ["y", "", "z"])
    infos = [onnx.helper.make_empty_tensor_value_info(n) for n in "yz"]
    x = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, (3,))
    model = onnx.helper.make_model(onnx.helper.make_graph([node], "g", [x], infos), ir_version=10,
                                   opset_imports=[onnx.helper.make_opsetid("", 21)])
    y, z = interp.load(model).run(None, {"x": f(-1, 0, 4)})
    assert y.tolist() == [0, 51, 255] and z == 51


@pytest.mark.parametrize("shape", [(), (1,), (17,), (3, 0, 2), (5, 1001)])
def test_dynamic_quantisation_fits_the_range(shape):
    x = np.random.default_rng(2).normal(0.3, 2, shape).astype(np.float32)
    y, scale, zero = run("DynamicQuantizeLinear", [x], 11, outputs=3)
    least, most = min(0, x.min(initial=0)), max(0, x.max(initial=0))
    assert scale == (np.float32(1) if least == most else (most - least) / np.float32(255))
    assert zero == np.clip(np.rint(-np.float32(least) / scale), 0, 255)
    np.testing.assert_array_equal(y, np.clip(np.rint(x / scale) + zero, 0, 255))


@pytest.mark.parametrize("shape, scale, zero, attributes, message", [
    ((2, 3), (2,), (2,), {}, "needs"), ((2, 3), (3,), (), {}, "beside"), ((2, 3), (2, 3), (2, 3), {}, "needs a block_size"),
    ((2, 3), (2, 2), (2, 2), {"block_size": 3}, "needs"), ((2, 3), (2, 1), (2, 1), {"block_size": -1}, "block_size is -1"),
    ((2, 3), (3,), (3,), {"axis": 2}, "axis 2")])
def test_scales_that_do_not_fit_are_refused(shape, scale, zero, attributes, message):
    facts = Fact("tensor(float)", shape), Fact("tensor(float)", scale), Fact("tensor(uint8)", zero)
    with pytest.raises(ValueError, match=message):
        quantize.quantised(*facts, **{"axis": 1, **attributes})
    with pytest.raises(ValueError, match=message):
        quantize.dequantised(Fact("tensor(uint8)", shape), facts[1], facts[2], **{"axis": 1, **attributes})


def test_types_that_contradict_are_refused():
    x = Fact("tensor(float)", (2,))
    with pytest.raises(interp.InterpError, match="the zero point is"):
        quantize.quantised(x, Fact("tensor(float)", ()), Fact("tensor(int8)", ()), output_dtype=onnx.TensorProto.UINT8)
    with pytest.raises(interp.InterpError, match="output_dtype must be"):
        quantize.dequantised(Fact("tensor(int8)", (2,)), Fact("tensor(float8e8m0)", ()))
    with pytest.raises(interp.InterpError, match="precision is"):
        run("QuantizeLinear", [f(1), scalar(1), scalar(0, np.int8)], 23, precision=onnx.TensorProto.INT32)
    with pytest.raises(interp.InterpError, match="version 10 has one"):
        run("QuantizeLinear", [f(1, 2), f(1, 2), np.zeros(2, np.uint8)], 10)


def test_named_sizes_pass_through_the_rules():
    x, scale = Fact("tensor(float)", (named("N"), 4)), Fact("tensor(float)", (4,))
    assert quantize.quantised(x, scale) == [Fact("tensor(uint8)", (named("N"), 4))]
    assert quantize.dynamic(x) == [(named("N"), 4), (), ()]
