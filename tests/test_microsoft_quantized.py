"""Quantised operators of com.microsoft against onnxruntime.

Scales that are powers of two leave nothing to the order of operations, so that ties are decided as onnxruntime decides them;
others may move a result near a tie by one, because onnxruntime multiplies in float and this package in double.
"""
import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import helper

import interp
from interp.ops.microsoft import quantized, quantized_matmul, quantized_pool
from interp.registry import misfits, ops_of

BYTES = [np.uint8, np.int8]


def model(op, inputs, constants, **attributes):
    """One node, and what is fed: the inputs whose positions are not in `constants`."""
    names = ["" if x is None else f"i{k}" for k, x in enumerate(inputs)]
    fed = {n: x for k, (n, x) in enumerate(zip(names, inputs, strict=True)) if n and k not in constants}
    node = helper.make_node(op, names, ["y"], domain="com.microsoft", **attributes)
    graph = helper.make_graph(
        [node], "g",
        [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for n, x in fed.items()],
        [helper.make_empty_tensor_value_info("y")],
        [onnx.numpy_helper.from_array(inputs[k], names[k]) for k in constants if names[k]])
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10), fed


def ours(op, inputs, **attributes):
    """This package's result, which is the same with inputs fed and constant, on one thread and several."""
    found = []
    for constants, threads in [((), 1), (range(1, len(inputs)), 2)]:
        made, fed = model(op, inputs, constants, **attributes)
        found += interp.load(made, threads=threads).run(None, fed)
    assert found[0].dtype == found[1].dtype and found[0].tobytes() == found[1].tobytes()
    return found[0]


def theirs(op, inputs, **attributes):
    """onnxruntime's."""
    import onnxruntime

    made, fed = model(op, inputs, range(1, len(inputs)), **attributes)
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    return onnxruntime.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, fed)[0]


def same(op, inputs, within=0, **attributes):
    """Whether both agree, to so many units."""
    due, found = theirs(op, inputs, **attributes), ours(op, inputs, **attributes)
    assert found.dtype == due.dtype and found.shape == due.shape
    apart = np.abs(found.astype(np.int64) - due.astype(np.int64))
    assert apart.max(initial=0) <= within and np.count_nonzero(apart) <= 2 + apart.size // 50, f"{found}\n{due}"


def without_zero_points(op, inputs, **attributes):
    """Whether what has no zero points means zeros; onnxruntime refuses such nodes, or aborts."""
    zero = np.array(0, inputs[0].dtype)
    due = ours(op, [zero if x is None else x for x in inputs], **attributes)
    np.testing.assert_array_equal(ours(op, inputs, **attributes), due)


def near(op, inputs, tolerance=1e-5, **attributes):
    due, found = theirs(op, inputs, **attributes), ours(op, inputs, **attributes)
    assert found.dtype == due.dtype and found.shape == due.shape
    due = due.astype(float)
    np.testing.assert_allclose(found.astype(float), due, tolerance, tolerance * np.abs(due).max(initial=0))


def drawn(shape, dtype=np.uint8, seed=0, low=None, high=None):
    ends = np.iinfo(dtype)
    rng = np.random.default_rng(seed)
    return rng.integers(ends.min if low is None else low, (ends.max if high is None else high) + 1, shape).astype(dtype)


def f(value):
    return np.array(value, np.float32)


SCALES = [((0.5, 0.25, 1.0), 0), ((0.037, 0.11, 0.29), 1)]


@pytest.mark.parametrize("scales, within", SCALES)
@pytest.mark.parametrize("dtype", BYTES)
@pytest.mark.parametrize("op", ["QLinearAdd", "QLinearMul"])
@pytest.mark.parametrize("a, b", [((3, 5), (3, 5)), ((4, 3, 5), (5,)), ((2, 1, 7), (3, 1)), ((40,), ()), ((0, 3), (3,))])
def test_pairs(op, a, b, dtype, scales, within):
    sa, sb, sc = map(f, scales)
    sc = sc * f(40 if op == "QLinearMul" else 1)
    zeros = [np.array(z, dtype) for z in (3, 120, 7)]
    same(op, [drawn(a, dtype), sa, zeros[0], drawn(b, dtype, 1), sb, zeros[1], sc, zeros[2]], within)


@pytest.mark.parametrize("op", ["QLinearAdd", "QLinearMul"])
@pytest.mark.parametrize("zeros", [(-5, 0, 3), (0, -128, 3), (3, 0, -7), (-1, -2, -128)])
def test_pairs_whose_zero_points_are_negative(op, zeros):
    scale = f(0.5 if op == "QLinearAdd" else 16)
    za, zb, zc = (np.array(z, np.int8) for z in zeros)
    same(op, [drawn((3, 5), np.int8), f(0.5), za, drawn((3, 5), np.int8, 1), f(0.25), zb, scale, zc])


@pytest.mark.parametrize("op", ["QLinearAdd", "QLinearMul"])
def test_pairs_without_zero_points(op):
    without_zero_points(op, [drawn((4, 5)), f(0.5), None, drawn((4, 5), seed=1), f(0.5), None, f(4)])


@pytest.mark.parametrize("scales, within", SCALES)
@pytest.mark.parametrize("dtype", BYTES)
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_concat(axis, dtype, scales, within):
    parts = []
    for k, scale in enumerate(scales):
        shape = [2, 3, 4]
        shape[axis] += k
        parts += [drawn(shape, dtype, k), f(scale), np.array(k + 1, dtype)]
    same("QLinearConcat", [f(0.5), np.array(5, dtype), *parts], within, axis=axis)
    assert ours("QLinearConcat", [f(0.5), np.array(5, np.int8), *parts], axis=axis).dtype == np.int8


@pytest.mark.parametrize("dtype", BYTES)
@pytest.mark.parametrize("op, attributes, scale, within", [
    ("QLinearSigmoid", {}, 1 / 256, 1), ("QLinearSigmoid", {}, 0.0039, 1), ("QLinearLeakyRelu", {"alpha": 0.5}, 0.5, 0),
    ("QLinearLeakyRelu", {"alpha": 0.01}, 0.09, 1), ("QLinearLeakyRelu", {}, 0.09, 1)])
def test_functions_of_every_byte(op, attributes, scale, within, dtype):
    every = np.arange(256, dtype=np.uint8).view(dtype).reshape(4, 64)
    same(op, [every, f(0.125), np.array(100, dtype), f(scale), np.array(3, dtype)], within, **attributes)
    without_zero_points(op, [every, f(0.125), None, f(scale)], **attributes)


@pytest.mark.parametrize("dtype", BYTES)
@pytest.mark.parametrize("opset, axis", [(13, -1), (13, 1), (13, None), (12, 1), (12, 2), (12, None)])
def test_softmax(opset, axis, dtype):
    attributes = {"opset": opset} | ({} if axis is None else {"axis": axis})
    x, zero = drawn((2, 3, 8), dtype), np.array(np.iinfo(dtype).min, dtype)
    due = theirs("QLinearSoftmax", [x, f(0.02), np.array(3, dtype), f(1 / 256), zero], **attributes)
    found = ours("QLinearSoftmax", [x, f(0.02), np.array(3, dtype), f(1 / 256), zero], **attributes)
    assert found.dtype == due.dtype and np.abs(found.astype(int) - due).max() <= 1  # theirs sums table entries of 32 bits


@pytest.mark.parametrize("scales, within", SCALES)
@pytest.mark.parametrize("dtype", BYTES)
@pytest.mark.parametrize("shape, attributes", [
    ((2, 3, 7, 8), dict(kernel_shape=[3, 2], pads=[1, 0, 1, 1], strides=[2, 1])),
    ((2, 3, 7, 8), dict(kernel_shape=[3, 2], pads=[1, 0, 1, 1], strides=[2, 2], count_include_pad=1, ceil_mode=1)),
    ((1, 2, 9), dict(kernel_shape=[3], auto_pad="SAME_UPPER", strides=[2])),
    ((2, 5, 6, 3), dict(kernel_shape=[2, 3], pads=[1, 1, 0, 1], channels_last=1)),
    ((1, 2, 4, 5, 6), dict(kernel_shape=[2, 2, 2]))])
def test_means_of_windows(shape, attributes, dtype, scales, within):
    x_scale, y_scale, _ = map(f, scales)
    same("QLinearAveragePool", [drawn(shape, dtype), x_scale, np.array(7, dtype), y_scale, np.array(5, dtype)], 1, **attributes)
    without_zero_points("QLinearAveragePool", [drawn(shape, dtype, 1), x_scale, None, y_scale], **attributes)


@pytest.mark.parametrize("zero", [0, 1])
def test_means_are_rounded_as_theirs(zero):
    x = drawn((1, 4, 6, 8))
    same("QLinearAveragePool", [x, f(1), np.array(3, np.uint8), f(2), np.array(zero, np.uint8)], kernel_shape=[2, 2])
    same("QLinearGlobalAveragePool", [x[..., :1, :2].copy(), f(1), np.array(3, np.uint8), f(1), np.array(zero, np.uint8)])


@pytest.mark.parametrize("channels_last", [0, 1])
@pytest.mark.parametrize("dtype", BYTES)
@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (1, 16, 7, 7), (3, 2, 4, 1)])
def test_means_of_channels(shape, dtype, channels_last):
    same("QLinearGlobalAveragePool", [drawn(shape, dtype), f(0.05), np.array(9, dtype), f(0.03), np.array(4, dtype)], 1,
         channels_last=channels_last)


@pytest.mark.parametrize("dtype", BYTES)
@pytest.mark.parametrize("attributes", [
    dict(kernel_shape=[2, 3]), dict(kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2], ceil_mode=1),
    dict(kernel_shape=[2, 2], dilations=[2, 1], strides=[1, 2]), dict(kernel_shape=[3, 2], auto_pad="SAME_LOWER")])
def test_maximum_with_channels_last(attributes, dtype):
    same("NhwcMaxPool", [drawn((2, 6, 7, 5), dtype)], **attributes)


@pytest.mark.parametrize("zero, dtype", [(3, np.uint8), (-3, np.int8), (300, np.uint16), (-300, np.int16), (3, ml_dtypes.uint4),
                                         (-3, ml_dtypes.int4)])
def test_quantisation_and_back(zero, dtype):
    zero = np.array(zero, dtype)
    x = np.random.default_rng(0).uniform(-40, 40, (3, 5)).astype(np.float32)
    if zero.dtype.itemsize == 1 and "4" in zero.dtype.name:
        y = ours("QuantizeLinear", [x, f(4), zero])
        ends = ml_dtypes.iinfo(zero.dtype)
        np.testing.assert_array_equal(y.astype(int), np.clip(np.rint(x / 4) + int(zero), ends.min, ends.max))
        np.testing.assert_array_equal(ours("DequantizeLinear", [y, f(4), zero]), (y.astype(np.float32) - int(zero)) * 4)
        return
    for scale, point, attributes in [(f(0.3), zero, {}), (f([0.3, 0.5, 2, 1, 0.1]), np.full(5, zero, zero.dtype), {}),
                                     (f([0.3, 0.5, 2]), np.full(3, zero, zero.dtype), {"axis": 0})]:
        same("QuantizeLinear", [x, scale, point], **attributes)
        y = theirs("QuantizeLinear", [x, scale, point], **attributes)
        near("DequantizeLinear", [y, scale, point], **attributes)
    same("QuantizeLinear", [x.astype(np.float16), np.array(0.5, np.float16), zero])
    near("DequantizeLinear", [y, np.array(0.5, np.float16), zero], 1e-3)


@pytest.mark.parametrize("b_type", BYTES)
@pytest.mark.parametrize("a, b, columns, point, bias", [
    ((4, 37), (37, 19), False, False, False), ((4, 37), (37, 19), True, True, True), ((2, 3, 8), (8, 5), True, False, True),
    ((2, 3, 8), (2, 8, 5), False, True, False), ((1, 64), (64, 33), True, True, True)])
def test_products_of_what_is_quantised_on_the_way(a, b, columns, point, bias, b_type):
    x, n = np.random.default_rng(0).normal(0, 1, a).astype(np.float32), b[-1]
    # 7 bits, with which onnxruntime's products of bytes of different signs are exact
    weights = drawn(b, b_type, 1, 0 if b_type == np.uint8 else -64, 64)
    scale = f(np.linspace(0.01, 0.1, n) if columns else 0.02)
    zero = drawn(n if columns else (), b_type, 2, 0, 9) if point else None
    near("DynamicQuantizeMatMul", [x, weights, scale, zero, f(np.arange(n)) if bias else None])


@pytest.mark.parametrize("b_type", BYTES)
@pytest.mark.parametrize("a_type", BYTES)
@pytest.mark.parametrize("columns, points, bias", [(False, False, False), (True, True, True), (False, True, False)])
def test_products_of_integers_to_float(a_type, b_type, columns, points, bias):
    a, b, n = drawn((2, 5, 23), a_type), drawn((23, 18), b_type, 1, 0 if b_type == np.uint8 else -64, 64), 18
    scale = f(np.linspace(0.01, 0.1, n) if columns else 0.02)
    zeros = [np.array(4, a_type), drawn(n if columns else (), b_type, 2, 0, 9)] if points else [None, None]
    inputs = [a, b, f(0.3), scale, *zeros, f(np.arange(n)) if bias else None]
    due = (a.astype(float) - float(zeros[0] or 0)) @ (b - 0.0 - (0 if zeros[1] is None else zeros[1])) * (0.3 * scale)
    np.testing.assert_allclose(ours("MatMulIntegerToFloat", inputs), due + (np.arange(n) if bias else 0), 1e-5, 1e-2)
    if a_type == np.uint8:  # there is no kernel for signed bytes
        near("MatMulIntegerToFloat", inputs)
    short = [x.astype(np.float16) if x is not None and x.dtype == np.float32 else x for x in inputs]
    wide = [x.astype(np.float32) if x is not None and x.dtype == np.float16 else x for x in short]
    np.testing.assert_array_equal(ours("MatMulIntegerToFloat", short), ours("MatMulIntegerToFloat", wide).astype(np.float16))


@pytest.mark.parametrize("quantised", [False, True])
@pytest.mark.parametrize("a_type, b_type", [(np.uint8, np.uint8), (np.uint8, np.int8), (np.int8, np.int8)])
@pytest.mark.parametrize("attributes, c, columns", [
    ({}, None, False), ({"transB": 1}, (9,), True), ({"transA": 1, "alpha": 0.5}, (4, 9), False),
    ({"transA": 1, "transB": 1}, (4, 1), True), ({"alpha": 2.0}, (1, 9), False)])
def test_gemm(attributes, c, columns, a_type, b_type, quantised):
    a = drawn((12, 4) if attributes.get("transA") else (4, 12), a_type)
    b = drawn((9, 12) if attributes.get("transB") else (12, 9), b_type, 1, 0 if b_type == np.uint8 else -64, 64)
    scale = f(2.0 ** -np.arange(1, 10) if columns else 0.25)
    zero = drawn(9 if columns else (), b_type, 2, 0, 5)
    bias = None if c is None else drawn(c, np.int32, 3, -500, 500)
    inputs = [a, f(0.5), np.array(3, a_type), b, scale, zero, bias]
    if quantised:
        same("QGemm", [*inputs, f(4), np.array(5, a_type)], **attributes)
    else:
        near("QGemm", inputs, **attributes)


def packed(q, bits):
    """Rows of numbers of a few bits as bytes, the lowest bits first."""
    per = 8 // bits
    padded = np.pad(q, [(0, 0), (0, -q.shape[1] % per)]).reshape(len(q), -1, per).astype(np.uint8)
    return np.bitwise_or.reduce(padded << (np.arange(per, dtype=np.uint8) * bits), axis=-1)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("points", ["none", "packed", "floats"])
@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("n, k, block, bias", [(7, 64, 16, False), (5, 100, 32, True), (16, 128, 128, True)])
def test_products_with_weights_of_a_few_bits(n, k, block, bias, bits, points, dtype):
    rng = np.random.default_rng(0)
    blocks = -(-k // block)
    q = rng.integers(0, 1 << bits, (n, blocks * block))
    a, scales = rng.normal(0, 1, (2, 3, k)).astype(dtype), rng.uniform(0.01, 0.1, (n, blocks)).astype(dtype)
    whole = rng.integers(0, 1 << bits, (n, blocks))
    zero = {"none": None, "packed": packed(whole, bits), "floats": (whole + 0.5).astype(dtype)}[points]
    offset = {"none": np.full((n, blocks), 1 << (bits - 1)), "packed": whole, "floats": whole + 0.5}[points]
    extra = rng.normal(0, 1, n).astype(dtype) if bias else None
    inputs = [a, packed(q, bits).reshape(n, blocks, -1), scales, zero, None, extra]
    attributes = dict(K=k, N=n, block_size=block, bits=bits)
    weights = ((q.reshape(n, blocks, block) - offset[..., None]) * scales.astype(float)[..., None]).reshape(n, -1)[:, :k]
    due = a.astype(float) @ weights.T + (0 if extra is None else extra.astype(float))
    found = ours("MatMulNBits", inputs, **attributes)
    assert found.dtype == dtype
    np.testing.assert_allclose(found.astype(float), due, *((2e-3, 1e-3) if dtype == np.float16 else (1e-5, 1e-5)))
    if bits == 4 and dtype == np.float32:
        near("MatMulNBits", inputs, 1e-4, **attributes)


@pytest.mark.parametrize("m, k, n, block", [(1, 16, 1, 16), (1, 600, 35, 32), (2, 300, 16, 128), (7, 1000, 50, 64),
                                            (40, 96, 130, 32)])
def test_constant_weights_of_four_bits_stay_so(m, k, n, block):
    rng = np.random.default_rng(m)
    blocks = -(-k // block)
    q, zero = rng.integers(0, 16, (n, blocks * block)), rng.integers(0, 16, (n, blocks))
    a, scales = rng.normal(0, 1, (m, k)).astype(np.float32), rng.uniform(0.01, 0.1, (n, blocks)).astype(np.float32)
    made, feeds = model("MatMulNBits", [a, packed(q, 4).reshape(n, blocks, -1), scales, packed(zero, 4)], (1, 2, 3), K=k, N=n,
                        block_size=block)
    weights = ((q.reshape(n, blocks, block) - zero[..., None]) * scales.astype(float)[..., None]).reshape(n, -1)[:, :k]
    found = {interp.load(made, threads=t).run(None, feeds)[0].tobytes() for t in (1, 2, 3)}
    [bits] = found
    y = np.frombuffer(bits, np.float32).reshape(m, n)
    assert np.all(np.abs(y - a.astype(float) @ weights.T) <= 2e-6 * (np.abs(a).astype(float) @ np.abs(weights).T))


def test_groups_of_weights_may_be_named():
    rng = np.random.default_rng(1)
    q, scales = rng.integers(0, 16, (6, 64)), rng.uniform(0.01, 0.1, (6, 4)).astype(np.float32)
    a, which = rng.normal(0, 1, (3, 64)).astype(np.float32), rng.integers(0, 4, 64).astype(np.int32)
    due = a @ ((q - 8) * scales.astype(float)[:, which]).T
    inputs = [a, packed(q, 4).reshape(6, 4, -1), scales, None, which]
    np.testing.assert_allclose(ours("MatMulNBits", inputs, K=64, N=6, block_size=16, bits=4), due, 1e-4, 1e-4)
    with pytest.raises(interp.InterpError, match="g_idx"):
        ours("MatMulNBits", [*inputs[:4], which + 1], K=64, N=6, block_size=16, bits=4)


@pytest.mark.parametrize("at, shape", [(1, (2, 1, 9)), (1, (2, 1, 7)), (1, (2, 2, 8)), (1, (32,)), (3, (4,)),
                                       (0, (0, 32)), (0, (1, 32))])
def test_weights_of_a_few_bits_fit_where_sizes_come_late(at, shape):
    inputs = [f([[1] * 16]), drawn((2, 1, 8)), f([[1], [1]]), drawn((2, 1))]
    inputs[at] = np.zeros(shape, inputs[at].dtype)
    made, feeds = model("MatMulNBits", inputs, (), K=16, N=2, block_size=16)
    for k, d in enumerate(made.graph.input[at].type.tensor_type.shape.dim):
        d.dim_param = f"b{k}"
    with pytest.raises(interp.InterpError, match="shape"):
        interp.load(made).run(None, feeds)


@pytest.mark.parametrize("op, inputs, attributes, message", [
    ("QLinearAdd", [drawn((2,)), f([1, 2]), None, drawn((2,)), f(1), None, f(1)], {}, "one number"),
    ("QLinearConcat", [f(1), np.array(0, np.uint8), drawn((2,)), f(1)], {"axis": 0}, "threes"),
    ("MatMulIntegerToFloat", [drawn((2, 3)), drawn((3, 4)), f([1, 2]), f(1)], {}, "A has one scale"),
    ("MatMulIntegerToFloat", [drawn((2, 3)), drawn((3, 4)), f(1), f(1), None, None, f([1, 2])], {}, "a bias of shape"),
    ("MatMulNBits", [f([[1] * 16]), drawn((2, 1, 8)), f([[1], [1]])], dict(K=16, N=2, block_size=16, bits=3), "3 bits"),
    ("MatMulNBits", [f([[1] * 16]), drawn((2, 1, 7)), f([[1], [1]])], dict(K=16, N=2, block_size=16), "B of shape"),
    ("QGemm", [drawn((2, 3)), f(1), drawn(()), drawn((3, 4)), f(1), drawn(()), None, f(1)], {}, "or neither")])
def test_what_does_not_fit_is_refused(op, inputs, attributes, message):
    with pytest.raises(interp.InterpError, match=message):
        ours(op, inputs, **attributes)


OPERATORS = [o for m in (quantized, quantized_matmul, quantized_pool) for o in ops_of(m)]


@pytest.mark.parametrize("op", OPERATORS, ids=lambda o: o.name)
def test_operators_fit_what_they_declare(op):
    assert not list(misfits(op))
