"""Gradient nodes against differences of the function itself, in double precision."""
import numpy as np
import onnx
import pytest
from onnx import helper

import interp
from interp import backend
from interp.gradient.tape import FLAT, RULES

from .test_official import collected, compare, model_and_sets

PREVIEW = "ai.onnx.preview.training"
RNG = np.random.default_rng(3)
STEP = 1e-6


def model(body, inputs, xs, y="y", zs=(), opset=22, given=None):
    """A graph in ONNX's text form with the gradient of y by xs as further outputs; all inputs are double unless they say."""
    named = ", ".join(i if " " in i else f"double[] {i}" for i in inputs)
    text = f'<ir_version: 10, opset_import: ["": {opset}, "{PREVIEW}": 1]> g ({named}) => (double[] {y}) {{ {body} }}'
    made = onnx.parser.parse_model(text)
    zs = list(zs)
    node = helper.make_node("Gradient", list(given or [*xs, *zs]), [f"d{x}" for x in xs], domain=PREVIEW, xs=list(xs), y=y,
                            **({"zs": zs} if zs else {}))
    made.graph.node.append(node)
    made.graph.output.extend(helper.make_tensor_value_info(f"d{x}", onnx.TensorProto.DOUBLE, None) for x in xs)
    for value in (*made.graph.input, *made.graph.output):
        value.type.tensor_type.ClearField("shape")
    return made


def differences(session, feeds, x):
    """The gradient of the sum of the first output by one input, by central differences."""
    found = np.zeros(feeds[x].shape)
    for at in np.ndindex(found.shape):
        moved = [feeds[x].copy(), feeds[x].copy()]
        moved[0][at] += STEP
        moved[1][at] -= STEP
        up, down = (session.run([session.outputs[0].name], {**feeds, x: m})[0].sum() for m in moved)
        found[at] = (up - down) / (2 * STEP)
    return found


def check(body, feeds, xs=None, **options):
    kinds = [k if v.dtype == np.float64 else f"{'int64' if v.dtype.kind == 'i' else 'bool'}[] {k}" for k, v in feeds.items()]
    xs = xs or [k for k, v in feeds.items() if v.dtype == np.float64]
    session = interp.load(model(body, kinds, xs, zs=[k for k in feeds if k not in xs], **options))
    _, *found = session.run(None, feeds)
    for x, dx in zip(xs, found, strict=True):
        assert dx.shape == feeds[x].shape and dx.dtype == np.float64
        np.testing.assert_allclose(dx, differences(session, feeds, x), rtol=1e-5, atol=1e-7, err_msg=x)


def data(*shape, low=-2.0, high=2.0):
    """Numbers no two of which are near each other, nor near 0: nothing has a corner there."""
    steps = np.linspace(low, high, 2 * int(np.prod(shape)) + 1)[1::2]
    return RNG.permutation(steps).reshape(shape)


UNARY = {"Neg": (), "Abs": (), "Exp": (), "Log": (0.2, 3), "Sqrt": (0.2, 3), "Reciprocal": (0.5, 3), "Sin": (), "Cos": (),
         "Tan": (-1, 1), "Asin": (-0.9, 0.9), "Acos": (-0.9, 0.9), "Atan": (), "Sinh": (), "Cosh": (), "Tanh": (), "Asinh": (),
         "Acosh": (1.2, 3), "Atanh": (-0.9, 0.9), "Sigmoid": (), "Softplus": (), "Softsign": (), "Erf": (), "Relu": (),
         "LeakyRelu": (), "Elu": (), "Selu": (), "Identity": ()}


@pytest.mark.parametrize("op", UNARY)
def test_unary(op):
    low, high = UNARY[op] or (-2, 2)
    check(f"t = {op}(x) y = Mul(t, w)", {"x": data(2, 4, low=low, high=high), "w": data(2, 4)})


@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Div", "Max", "Min", "Sum", "Mean"])
@pytest.mark.parametrize("a, b", [((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 1), (4, 1, 3)), ((), (2,))])
def test_operands_that_repeat(op, a, b):
    check(f"t = {op}(a, b) y = Mul(t, t)", {"a": data(*a), "b": data(*b, low=0.55, high=2.1)})


def test_pow():
    check("y = Pow(x, p)", {"x": data(3, 2, low=0.3, high=2), "p": data(2)})


def test_where_clip_and_cast():
    check("t = Where(c, a, b) y = Mul(t, t)", {"c": np.array([True, False, True]), "a": data(3), "b": data(2, 1)})
    check("l = Constant<value = double {-1.0}>() h = Constant<value = double {1.0}>() t = Clip(x, l, h) y = Mul(t, x)",
          {"x": data(7)})
    check("f = Cast<to = 11>(x) g = CastLike(f, x) y = Mul(f, g)", {"x": data(3)})


@pytest.mark.parametrize("body", [
    "y = Mul(t, t)", "f = Flatten<axis = 2>(t) y = Mul(f, f)", "u = Transpose(t) y = Mul(u, u)",
    "u = Transpose<perm = [1, 2, 0]>(t) y = Mul(u, u)",
    "s = Constant<value_ints = [4, -1]>() u = Reshape(t, s) y = Mul(u, u)",
    "s = Constant<value_ints = [2, 2, 3, 2]>() u = Expand(t, s) y = Mul(u, u)",
    "s = Constant<value_ints = [0]>() u = Unsqueeze(t, s) v = Squeeze(u, s) y = Mul(v, v)",
    "u = Concat<axis = 1>(t, x, t) y = Mul(u, u)",
    "u, v = Split<axis = 2, num_outputs = 2>(t) y = Mul(u, u)",
    "i = Constant<value_ints = [2, 0, 2, -1]>() u = Gather<axis = 1>(t, i) y = Mul(u, u)",
    "b = Constant<value_ints = [-1, 0]>() e = Constant<value_ints = [-4, 2]>() a = Constant<value_ints = [1, 2]>() "
    "s = Constant<value_ints = [-2, 1]>() u = Slice(t, b, e, a, s) y = Mul(u, u)"])
def test_layout(body):
    check(f"t = Mul(x, x) {body}", {"x": data(2, 3, 2)})


@pytest.mark.parametrize("a, b", [((2, 3), (3, 4)), ((2, 3), (5, 3, 4)), ((5, 1, 2, 3), (4, 3, 2)), ((3,), (3, 2)),
                                  ((2, 3), (3,)), ((3,), (3,)), ((4, 2, 3), (3,)), ((3,), (4, 3, 2))])
def test_matmul(a, b):
    check("t = MatMul(a, b) y = Mul(t, t)", {"a": data(*a), "b": data(*b)})


@pytest.mark.parametrize("left", [0, 1])
@pytest.mark.parametrize("right", [0, 1])
def test_gemm(left, right):
    feeds = {"a": data(*((3, 2) if left else (2, 3))), "b": data(*((4, 3) if right else (3, 4))), "c": data(4)}
    check(f"t = Gemm<transA = {left}, transB = {right}, alpha = 0.5, beta = 2.0>(a, b, c) y = Mul(t, t)", feeds)


@pytest.mark.parametrize("op", ["ReduceSum", "ReduceMean", "ReduceSumSquare", "ReduceMax", "ReduceMin"])
@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("axes", ["", "1", "-1, 0"])
def test_reductions(op, keepdims, axes):
    given = f"a = Constant<value_ints = [{axes}]>()" if axes else ""
    check(f"{given} t = {op}<keepdims = {keepdims}>(x{', a' if axes else ''}) y = Mul(t, t)", {"x": data(2, 3, 4)})


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax"])
@pytest.mark.parametrize("opset, axis", [(13, -1), (13, 1), (11, 1), (11, 2)])
def test_softmax(op, opset, axis):
    check(f"t = {op}<axis = {axis}>(x) y = Mul(t, w)", {"x": data(2, 3, 2), "w": data(2, 3, 2)}, opset=opset)


CONVOLUTIONS = ["", "<pads = [1, 0, 2, 1], strides = [2, 1]>", '<auto_pad = "SAME_UPPER", strides = [2, 2], dilations = [1, 2]>']


@pytest.mark.parametrize("attributes", CONVOLUTIONS)
@pytest.mark.parametrize("group", [1, 2])
def test_conv(attributes, group):
    attributes = f"<group = {group}, {attributes[1:]}" if attributes else f"<group = {group}>"
    check(f"t = Conv{attributes}(x, w, b) y = Mul(t, t)", {"x": data(2, 4, 5, 4), "w": data(2, 4 // group, 3, 2), "b": data(2)})


POOLS = ["kernel_shape = [2, 2]", "kernel_shape = [3, 2], pads = [1, 0, 1, 1], strides = [2, 1]",
         "kernel_shape = [2, 3], strides = [2, 2], ceil_mode = 1, dilations = [2, 1]"]


@pytest.mark.parametrize("pool", ["MaxPool", "AveragePool", "AveragePool<count_include_pad = 1>"])
@pytest.mark.parametrize("attributes", POOLS)
def test_pools(pool, attributes):
    name, _, more = pool.partition("<")
    check(f"t = {name}<{attributes}{', ' + more[:-1] if more else ''}>(x) y = Mul(t, t)", {"x": data(2, 2, 5, 6)})


def test_global_average_pool():
    check("t = GlobalAveragePool(x) y = Mul(t, t)", {"x": data(2, 2, 3, 3)})


@pytest.mark.parametrize("op", ["NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("weight", ["", ", w"])
def test_losses(op, reduction, weight):
    feeds = {"x": data(3, 4, 2), "t": np.array([[0, 3], [-1, 2], [2, 1]])} | ({"w": data(4, low=0.5, high=2)} if weight else {})
    check(f'y = {op}<reduction = "{reduction}", ignore_index = -1>(x, t{weight})', feeds, xs=["x"])


def test_the_logarithms_of_a_loss_have_a_gradient_too():
    feeds = {"x": data(3, 4), "t": np.array([0, 3, 1]), "w": data(3, 4)}
    check("l, p = SoftmaxCrossEntropyLoss(x, t) q = Mul(p, w) y = Add(q, l)", feeds, xs=["x"])


@pytest.mark.parametrize("training", [False, True])
def test_dropout_hands_back_what_it_kept(training):
    feeds = {"x": data(4, 5), "train": np.array(training)}
    check("r = Constant<value = double {0.5}>() t = Dropout<seed = 7>(x, r, train) y = Mul(t, t)", feeds)


def test_every_declared_derivative_of_the_standard_is_tested_here():
    source = open(__file__, encoding="utf-8").read()
    assert {name for domain, name in RULES if not domain and name not in source} == set()
    assert not FLAT & {name for _, name in RULES}


# Graphs


def test_a_small_network_learns():
    body = ("h = Gemm(x, w) a = Tanh(h) s = Gemm(a, v) y = SoftmaxCrossEntropyLoss(s, t)")
    session = interp.load(model(body, ["x", "w", "v", "int64[] t"], ["w", "v"], zs=["x", "t"]))
    x, t = data(20, 3), RNG.integers(0, 2, 20)
    w, v = data(3, 8), data(8, 2)
    losses = []
    for _ in range(200):
        loss, dw, dv = session.run(None, {"x": x, "w": w, "v": v, "t": t})
        losses.append(float(loss))
        w, v = w - 0.5 * dw, v - 0.5 * dv
    assert losses[-1] < 0.3 * losses[0]


def test_the_derivative_by_an_intermediate_value():
    made = model("h = Mul(x, x) y = Mul(h, h)", ["x"], ["h"])
    x = data(3)
    np.testing.assert_allclose(interp.load(made).run(["dh"], {"x": x})[0], 2 * x * x)


def test_other_values_in_the_place_of_those_named():
    made = model("h = Mul(x, x) y = Mul(h, w)", ["x", "w", "other"], ["x"], zs=["w"], given=["other", "w"])
    x, w, other = data(3), data(3), data(3)
    y, dx = interp.load(made).run(None, {"x": x, "w": w, "other": other})
    np.testing.assert_allclose(y, x * x * w)
    np.testing.assert_allclose(dx, 2 * other * w)


def test_a_gradient_of_a_gradient():
    made = model("t = Mul(x, x) y = Mul(x, t)", ["x"], ["x"])
    made.graph.node.append(helper.make_node("Gradient", ["x"], ["ddx"], domain=PREVIEW, xs=["x"], y="dx"))
    made.graph.output.append(helper.make_tensor_value_info("ddx", onnx.TensorProto.DOUBLE, None))
    x = data(4)
    _, dx, ddx = interp.load(made).run(None, {"x": x})
    np.testing.assert_allclose(dx, 3 * x * x)
    np.testing.assert_allclose(ddx, 6 * x)


def test_a_second_derivative_of_a_product():
    made = model("t = MatMul(a, b) y = Mul(t, t)", ["a", "b"], ["a"], zs=["b"])
    made.graph.node.append(helper.make_node("Gradient", ["b", "a"], ["dab"], domain=PREVIEW, xs=["b"], zs=["a"], y="da"))
    made.graph.output.append(helper.make_tensor_value_info("dab", onnx.TensorProto.DOUBLE, None))
    session = interp.load(made)
    feeds = {"a": data(2, 3), "b": data(3, 2)}
    _, da, dab = session.run(None, feeds)
    found = np.zeros(feeds["b"].shape)
    for at in np.ndindex(found.shape):
        sums = []
        for step in (STEP, -STEP):
            b = feeds["b"].copy()
            b[at] += step
            sums.append(session.run(["da"], {**feeds, "b": b})[0].sum())
        found[at] = (sums[0] - sums[1]) / (2 * STEP)
    np.testing.assert_allclose(dab, found, rtol=1e-5)


def test_what_y_does_not_depend_on_has_the_gradient_zero():
    made = model("y = Mul(x, x)", ["x", "w"], ["x", "w"])
    feeds = {"x": data(3), "w": data(2, 2)}
    assert interp.load(made).run(["dw"], feeds)[0].tolist() == [[0, 0], [0, 0]]


def test_steps_have_the_gradient_zero():
    made = model("t = Floor(x) y = Mul(t, x)", ["x"], ["x"])
    x = data(5)
    np.testing.assert_allclose(interp.load(made).run(["dx"], {"x": x})[0], np.floor(x))


def test_a_gradient_inside_a_body_and_without_optimisation():
    made = model("y = Mul(x, x)", ["x"], ["x"])
    body = helper.make_graph(list(made.graph.node), "body", [], list(made.graph.output)[1:])
    node = helper.make_node("If", ["c"], ["r"], then_branch=body, else_branch=body)
    inputs = [helper.make_tensor_value_info("c", onnx.TensorProto.BOOL, []),
              helper.make_tensor_value_info("x", onnx.TensorProto.DOUBLE, [3])]
    graph = helper.make_graph([node], "g", inputs, [helper.make_tensor_value_info("r", onnx.TensorProto.DOUBLE, None)])
    outer = helper.make_model(graph, opset_imports=made.opset_import, ir_version=10)
    for optimize in (0, 1):
        x = data(3)
        np.testing.assert_allclose(interp.load(outer, optimize=optimize).run(None, {"c": np.array(True), "x": x})[0], 2 * x)


def test_an_operator_without_a_derivative_is_refused_by_name():
    with pytest.raises(interp.Unsupported, match=r"^Det_0: Det-22 has no derivative here; Gradient knows those of .*MatMul"):
        interp.load(model("y = Det(x)", ["x"], ["x"]))


def test_broadcasting_of_before_version_7_is_refused():
    with pytest.raises(interp.Unsupported, match="Add-6 has no derivative"):
        interp.load(model("y = Add<broadcast = 1>(a, b)", ["a", "b"], ["a"], zs=["b"], opset=6))


def test_inputs_that_do_not_go_with_the_names_are_refused():
    with pytest.raises(interp.ModelError, match="2 values in xs and zs, and 1 inputs"):
        interp.load(model("y = Mul(a, b)", ["a", "b"], ["a"], zs=["b"], given=["a"]))


def test_a_name_that_nothing_defines_is_refused():
    made = model("y = Mul(a, a)", ["a"], ["a"])
    made.graph.node[-1].attribute[0].strings[:] = [b"q"]
    with pytest.raises(interp.ModelError, match="nothing defines the value"):
        interp.load(made)


@pytest.mark.parametrize("case", [c for c in collected() if "gradient" in c.name], ids=lambda c: c.name)
def test_official(case):
    model, sets = model_and_sets(case)
    for inputs, outputs in sets:
        for want, got in zip(outputs, backend.prepare(model).run(inputs), strict=True):
            compare(want, got, case.rtol, case.atol)
