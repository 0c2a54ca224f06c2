"""RNN, GRU and LSTM: what their tables do not show. Held against the equations in float64 and against onnxruntime."""
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

import interp
from interp.kernels import recurrent as kernel

from .standard.recurrent import FUNCTIONS, GATES, function, layer

ORDER = ["X", "W", "R", "B", "sequence_lens", "initial_h", "initial_c", "P"]
CELLS = list(GATES)
SCALE = 2e-6  # of float32 results that lie between -2 and 2


def arrays(cell, steps, batch, inputs, hidden, directions=1, layout=0, dtype=np.float32, absent=()):
    """Random inputs, small enough that no state saturates."""
    rng, g = np.random.default_rng(hash((steps, batch, hidden)) % 1000), GATES[cell]
    state = (batch, directions, hidden) if layout else (directions, batch, hidden)
    shapes = {"X": (batch, steps, inputs) if layout else (steps, batch, inputs), "W": (directions, g * hidden, inputs),
              "R": (directions, g * hidden, hidden), "B": (directions, 2 * g * hidden), "initial_h": state}
    if cell == "LSTM":
        shapes |= {"initial_c": state, "P": (directions, 3 * hidden)}
    return {k: (rng.standard_normal(s) * (1 if k == "X" else 0.3 if hidden < 50 else 0.08)).astype(dtype)
            for k, s in shapes.items() if k not in absent}


def model(cell, given, constants=(), outputs=None, opset=22, **attributes):
    """One node; `constants` names the inputs that are initializers."""
    names = [n if n in given else "" for n in ORDER[:8 if cell == "LSTM" else 6]]
    outputs = ["Y", "Y_h", "Y_c"][:3 if cell == "LSTM" else 2] if outputs is None else outputs
    kind = helper.np_dtype_to_tensor_dtype(given["X"].dtype)
    graph = helper.make_graph(
        [helper.make_node(cell, names, outputs, hidden_size=given["R"].shape[2], **attributes)], "m",
        [helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for k, a in given.items()
         if k not in constants],
        [helper.make_tensor_value_info(o, kind, None) for o in outputs if o],
        [numpy_helper.from_array(given[k], k) for k in constants if k in given])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def run(cell, given, constants=("W", "R", "B", "P"), threads=1, **attributes):
    feeds = {k: a for k, a in given.items() if k not in constants}
    return interp.load(model(cell, given, constants, **attributes), threads=threads).run(None, feeds)


def due(cell, given, **attributes):
    return layer(cell, *(given.get(n) for n in ORDER), **attributes)


def close(made, expected, tolerance=SCALE):
    for got, want in zip(made, expected, strict=True):
        assert got.shape == want.shape
        np.testing.assert_allclose(got, want, 0, tolerance)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("sizes", [(1, 1, 3, 1), (5, 1, 7, 13), (3, 4, 2, 16), (50, 3, 1, 17), (7, 1, 300, 130), (2, 70, 5, 64),
                                   (1, 1, 128, 128),
                                   (2, 520, 3, 5)])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_sizes(cell, sizes, direction):
    given = arrays(cell, *sizes, 2 if direction == "bidirectional" else 1)
    close(run(cell, given, direction=direction), due(cell, given, direction=direction), 1e-5)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("constants", [(), ("W",), ("R", "B"), ("W", "R")])
def test_weights_that_a_run_brings(cell, constants):
    given = arrays(cell, 5, 2, 7, 19, 2)
    close(run(cell, given, constants, direction="bidirectional"), due(cell, given, direction="bidirectional"))


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("lens", [[5, 5, 5], [1, 5, 3], [2, 1, 4], [0, 3, 0]])
@pytest.mark.parametrize("layout", [0, 1])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_sequences_of_their_own_lengths(cell, lens, layout, direction):
    """Y is 0 beyond a sequence's end, Y_h and Y_c are its last states; a sequence of no steps keeps the initial ones."""
    given = arrays(cell, 5, 3, 4, 6, 2 if direction == "bidirectional" else 1, layout)
    given["sequence_lens"] = np.array(lens, np.int32)
    close(run(cell, given, direction=direction, layout=layout), due(cell, given, direction=direction, layout=layout))


@pytest.mark.parametrize("cell", CELLS)
def test_the_batch_first(cell):
    """layout 1 is the same with two axes swapped, of everything but the weights."""
    given = arrays(cell, 6, 4, 3, 5, 2, 1, absent=("P",))
    y, *states = run(cell, given, layout=1, direction="bidirectional")
    for k in ("X", "initial_h", "initial_c"):
        if k in given:
            given[k] = given[k].swapaxes(0, 1)
    y0, *states0 = run(cell, given, direction="bidirectional")
    np.testing.assert_array_equal(y, y0.transpose(2, 0, 1, 3))
    for a, b in zip(states, states0, strict=True):
        np.testing.assert_array_equal(a, b.swapaxes(0, 1))


@pytest.mark.parametrize("linear", [0, 1, 2])
@pytest.mark.parametrize("absent", [(), ("B",), ("initial_h",)])
def test_the_reset_gate_before_or_after_the_product(linear, absent):
    """Any number but 0 puts it after."""
    given = arrays("GRU", 5, 2, 4, 6, absent=absent)
    made = run("GRU", given, linear_before_reset=linear)
    close(made, due("GRU", given, linear_before_reset=linear))
    close(made, engine("GRU", given, linear_before_reset=linear))


@pytest.mark.parametrize("attributes", [{}, {"input_forget": 1}, {"clip": 0.2}, {"clip": 0.2, "input_forget": 1}])
@pytest.mark.parametrize("absent", [(), ("P",), ("initial_c", "B")])
def test_peepholes(attributes, absent):
    given = arrays("LSTM", 5, 2, 4, 6, absent=absent)
    close(run("LSTM", given, **attributes), due("LSTM", given, **attributes))
    if "clip" not in attributes:  # the text clips the input of every activation, onnxruntime not that of h(Ct)
        close(run("LSTM", given, **attributes), engine("LSTM", given, **attributes))


def engine(cell, given, **attributes):
    content = model(cell, given, ("W", "R", "B", "P"), opset=14, **attributes).SerializeToString()
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    return session.run(None, {i.name: given[i.name] for i in session.get_inputs()})


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("direction", ["reverse", "bidirectional"])
def test_onnxruntime_agrees(cell, direction):
    given = arrays(cell, 12, 3, 20, 70, 2 if direction == "bidirectional" else 1)
    given["sequence_lens"] = np.array([12, 4, 7], np.int32)
    close(run(cell, given, direction=direction), engine(cell, given, direction=direction), 1e-5)


NAMES = "Relu Tanh Sigmoid Affine LeakyRelu ThresholdedRelu ScaledTanh HardSigmoid Elu Softsign Softplus".split()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("parameters", [(), (0.75, 0.25)])
def test_activations(name, dtype, parameters):
    given = arrays("RNN", 4, 2, 5, 9, dtype=dtype)
    lists = dict(zip(("activation_alpha", "activation_beta"), ([p] for p in parameters), strict=False))
    made = run("RNN", given, activations=[name], **lists)
    expected = due("RNN", given, functions=[function(name, *parameters)])
    for got, want in zip(made, expected, strict=True):
        np.testing.assert_allclose(got, want, 1e-5 if dtype == np.float32 else 1e-12, 2e-6 if dtype == np.float32 else 1e-13)


def test_parameters_are_consumed_by_the_activations_that_have_them():
    given = arrays("LSTM", 4, 2, 5, 9)
    names = ["HardSigmoid", "Tanh", "Affine"]
    expected = due("LSTM", given, functions=[function("HardSigmoid", 0.3, 0.4), function("Tanh"), function("Affine", 0.6, 0.1)])
    for alpha, beta in [([0.3, 0.6], [0.4, 0.1]), ([0.3, 0.0, 0.6], [0.4, 0.0, 0.1])]:  # or there is one for each activation
        close(run("LSTM", given, activations=names, activation_alpha=alpha, activation_beta=beta), expected)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_narrow_floats_are_rounded_once(cell, kind):
    dtype = interp.types.DTYPE[f"tensor({kind})"]
    given = arrays(cell, 4, 2, 5, 9, 2, dtype=dtype)
    wide = run(cell, {k: a.astype(np.float32) for k, a in given.items()}, direction="bidirectional")
    for constants in ((), ("W", "R", "B", "P")):
        made = run(cell, given, constants, direction="bidirectional")
        for got, want in zip(made, wide, strict=True):
            assert got.dtype == dtype
            np.testing.assert_array_equal(got, want.astype(dtype))


@pytest.mark.parametrize("wanted", [["Y"], ["", "Y_h"], ["", "", "Y_c"], ["Y", "", "Y_c"]])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_outputs_that_nobody_wants(wanted, dtype):
    given = arrays("LSTM", 4, 2, 5, 9, dtype=dtype)
    everything = dict(zip(("Y", "Y_h", "Y_c"), run("LSTM", given), strict=True))
    for name, got in zip([w for w in wanted if w], run("LSTM", given, outputs=wanted), strict=True):
        np.testing.assert_array_equal(got, everything[name])


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("threads", [2, 3, 8])
def test_the_same_bits_on_any_number_of_threads(cell, threads):
    given = arrays(cell, 30, 5, 20, 70, 2)
    one = run(cell, given, direction="bidirectional")
    for a, b in zip(one, run(cell, given, threads=threads, direction="bidirectional"), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("steps, batch, inputs", [(0, 2, 3), (3, 0, 3), (3, 2, 0)])
def test_nothing_of_something(cell, steps, batch, inputs):
    given = arrays(cell, steps, batch, inputs, 4)
    close(run(cell, given), due(cell, given))


@pytest.mark.parametrize("steps, inputs, hidden", [(0, 3, 4), (5, 0, 0)])
def test_a_gigantic_batch_of_nothing_takes_neither_time_nor_memory(steps, inputs, hidden):
    given = arrays("LSTM", 0, 1, inputs, hidden, absent=("initial_h", "initial_c", "P"))
    given["X"] = np.zeros((steps, 2**40, inputs), np.float32)
    y, = run("LSTM", given, outputs=["Y"])
    assert y.shape == (steps, 1, 2**40, hidden)


def test_nan_stays_in_its_item():
    given = arrays("LSTM", 4, 2, 5, 9)
    clean = run("LSTM", given)
    given["X"][1, 0, 2] = np.nan
    y, h, c = run("LSTM", given)
    assert np.isnan(y[1:, :, 0]).all() and np.isnan(h[:, 0]).all() and np.isnan(c[:, 0]).all()
    np.testing.assert_array_equal(y[:, :, 1], clean[0][:, :, 1])


@pytest.mark.parametrize("lens", [[5, 4], [4, -1], [2**31 - 1, 0]])
def test_lengths_beyond_the_steps_are_refused(lens):
    given = arrays("GRU", 4, 2, 5, 9) | {"sequence_lens": np.array(lens, np.int32)}
    with pytest.raises(interp.RunError, match="GRU.*out of range"):
        run("GRU", given)


@pytest.mark.parametrize("attributes, says", [
    ({"direction": "sideways"}, "sideways"), ({"activations": ["Tanh"]}, "activations"), ({"layout": 2}, "layout 2"),
    ({"activations": ["Sigmoid", "Tanh", "Gelu"]}, "activations"), ({"direction": "bidirectional"}, "W is"),
    ({"activation_alpha": [0.1, 0.2]}, "2 values of alpha"),
])
def test_what_cannot_be_is_refused_by_name(attributes, says):
    given = arrays("LSTM", 4, 2, 5, 9)
    with pytest.raises(interp.InterpError, match=f"LSTM.*{says}"):
        run("LSTM", given, **attributes)


@pytest.mark.parametrize("name", ["W", "R", "B", "initial_h", "initial_c", "P", "sequence_lens"])
def test_inputs_of_other_sizes_are_refused_by_name(name):
    given = arrays("LSTM", 4, 2, 5, 9) | {"sequence_lens": np.array([4, 4], np.int32)}
    given[name] = np.concatenate([given[name], given[name]], -1)
    with pytest.raises(interp.InterpError, match="LSTM"):
        run("LSTM", given)


def test_a_hidden_size_that_contradicts_the_weights_is_refused():
    proto = model("GRU", given := arrays("GRU", 4, 2, 5, 9))
    proto.graph.node[0].attribute[0].i = 8
    with pytest.raises(interp.InterpError, match="hidden_size is 8"):
        interp.load(proto).run(None, given)


def test_version_1_takes_its_misspelt_default():
    given = arrays("GRU", 4, 2, 5, 9)
    proto = model("GRU", given, opset=1)
    close(interp.load(proto).run(None, given), due("GRU", given))


def test_the_kernel_checks_what_it_is_given():
    x, w, r = np.zeros((3, 2, 4), "f4"), np.zeros((1, 8, 4), "f4"), np.zeros((1, 8, 2), "f4")
    activations = [("sigmoid", 0, 0), ("tanh", 0, 0), ("tanh", 0, 0)]

    def bound(x=x, w=w, r=r, y=None, backward=(False,), activations=activations):
        y = np.empty((3, 1, 2, 2), "f4") if y is None else y
        return kernel.layer("LSTM", x, w, r, None, None, None, None, None, y, None, None, activations=activations,
                            backward=list(backward))
    bound()()
    for wrong in ({"w": w[:, :7]}, {"r": kernel.Packed.gated(np.zeros((1, 6, 2), "f4"))}, {"y": np.empty((3, 1, 2, 3), "f4")},
                  {"x": x.astype("f8")}, {"backward": (False, True)}, {"activations": activations[:2]},
                  {"x": x.astype("f2"), "w": w.astype("f2"), "r": r.astype("f2"), "y": np.empty((3, 1, 2, 2), "f2")}):
        with pytest.raises((ValueError, TypeError)):
            bound(**wrong)


def test_the_functions_of_the_tests_are_those_of_the_standard():
    assert {f.lower() for f in NAMES} == set(kernel.ACTIVATION) and FUNCTIONS.keys() == kernel.CELLS.keys()
    assert all(n in onnx.defs.get_schema("LSTM", 22).doc for n in NAMES)
