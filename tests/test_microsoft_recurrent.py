"""DynamicQuantizeLSTM against onnxruntime, whose quantiser makes it."""
import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import interp

ORDER = ["X", "W", "R", "B", "sequence_lens", "initial_h", "initial_c", "P", "W_scale", "W_zero_point", "R_scale", "R_zero_point"]


def arrays(steps, batch, inputs, hidden, directions=1, kind=np.uint8, by_unit=False, absent=()):
    """Float inputs, and weights whose products do not saturate onnxruntime's 16-bit sums."""
    rng = np.random.default_rng(steps + hidden)
    state, low, high = (directions, batch, hidden), np.iinfo(kind).min // 2, np.iinfo(kind).max // 2
    shapes = {"X": (steps, batch, inputs), "B": (directions, 8 * hidden), "initial_h": state, "initial_c": state,
              "P": (directions, 3 * hidden)}
    given = {k: rng.standard_normal(s).astype(np.float32) / 2 for k, s in shapes.items()}
    points = (directions, 4 * hidden) if by_unit else (directions,)
    for k, n in (("W", inputs), ("R", hidden)):
        given[k] = rng.integers(low, high, (directions, n, 4 * hidden), kind)
        given[f"{k}_scale"] = rng.uniform(0.004, 0.008, points).astype(np.float32)
        given[f"{k}_zero_point"] = np.full(points, 0 if kind == np.int8 or by_unit else 60, kind)
    return {k: a for k, a in given.items() if k not in absent}


def model(given, constants, **attributes):
    kinds = {k: helper.np_dtype_to_tensor_dtype(a.dtype) for k, a in given.items()}
    graph = helper.make_graph(
        [helper.make_node("DynamicQuantizeLSTM", [n if n in given else "" for n in ORDER], ["Y", "Y_h", "Y_c"],
                          domain="com.microsoft", hidden_size=given["R"].shape[1], **attributes)], "m",
        [helper.make_tensor_value_info(k, kinds[k], a.shape) for k, a in given.items() if k not in constants],
        [helper.make_tensor_value_info(o, TensorProto.FLOAT, None) for o in ("Y", "Y_h", "Y_c")],
        [numpy_helper.from_array(given[k], k) for k in constants])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14), helper.make_opsetid("com.microsoft", 1)],
                             ir_version=8)


def agree(given, tolerance=1e-6, **attributes):
    """Ours with all inputs fed, and with the weights constant, against onnxruntime's."""
    constants = [k for k in given if k[0] in "WR"]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    proto = model(given, constants, **attributes)
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    feeds = {k: a for k, a in given.items() if k not in constants}
    due = session.run(None, feeds)
    for made in (interp.load(proto).run(None, feeds), interp.load(model(given, [], **attributes)).run(None, given)):
        for got, want in zip(made, due, strict=True):
            assert got.shape == want.shape and got.dtype == want.dtype
            np.testing.assert_allclose(got, want, 0, tolerance)


@pytest.mark.parametrize("kind", [np.uint8, np.int8])
@pytest.mark.parametrize("by_unit", [False, True])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_types_scales_and_directions(kind, by_unit, direction):
    agree(arrays(5, 1, 7, 12, 2 if direction == "bidirectional" else 1, kind, by_unit, ("P",)), direction=direction)


@pytest.mark.parametrize("absent", [("B", "P"), ("initial_h", "P"), ("initial_c",), ()])
@pytest.mark.parametrize("attributes", [{}, {"input_forget": 1}])
def test_optional_inputs(absent, attributes):
    agree(arrays(4, 1, 7, 12, absent=absent), **attributes)


def test_a_batch_is_quantized_as_a_whole():
    agree(arrays(5, 3, 7, 12, absent=("P",)))


def test_sequences_of_their_own_lengths():
    given = arrays(5, 2, 7, 12, 2, absent=("P",)) | {"sequence_lens": np.array([5, 3], np.int32)}
    agree(given, 1e-3, direction="bidirectional")  # backward, onnxruntime quantizes by the range of what is not padding


def test_other_activations():
    agree(arrays(4, 1, 7, 12, absent=("P",)), activations=["HardSigmoid", "Softsign", "LeakyRelu"], activation_alpha=[0.3, 0.1],
          activation_beta=[0.4])


@pytest.mark.parametrize("name", ["W_scale", "R_zero_point", "B", "W"])
def test_inputs_of_other_sizes_are_refused_by_name(name):
    given = arrays(4, 1, 7, 12)
    given[name] = np.concatenate([given[name]] * 2)
    with pytest.raises(interp.InterpError, match="DynamicQuantizeLSTM"):
        interp.load(model(given, [])).run(None, given)
