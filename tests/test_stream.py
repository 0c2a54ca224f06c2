"""Streams: state carried between runs gives what a loop gives that carries it by hand."""
import copy
import os
import pickle
import threading
import wave
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import interp

from .toys import agree, engine, floats, session

FOLDER = os.environ.get("INTERP_MODELS")
CACHE = """m (float[N,1,4] x, float[N,past,4] keys) => (float[N,1,4] y, float[N,total,4] new_keys) {
    new_keys = Concat<axis = 1>(keys, x)
    turned = Transpose<perm = [0, 2, 1]>(new_keys)
    scores = MatMul(x, turned)
    weights = Softmax<axis = -1>(scores)
    y = MatMul(weights, new_keys) }"""
COUNTER = "m (int64[N] x, int64[N] n) => (int64[N] m, int64[N] y) { m = Add(n, x) y = Div(m, x) }"


def recurrent(hidden=5, inputs=3):
    """An LSTM whose state goes in and out, as exporters write it."""
    rng = np.random.default_rng(0)
    weights = {"W": (1, 4 * hidden, inputs), "R": (1, 4 * hidden, hidden), "B": (1, 8 * hidden)}
    state = [1, "batch", hidden]
    graph = helper.make_graph(
        [helper.make_node("LSTM", ["x", "W", "R", "B", "", "h", "c"], ["y", "h_out", "c_out"], hidden_size=hidden)], "lstm",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["steps", "batch", inputs]),
         *(helper.make_tensor_value_info(n, TensorProto.FLOAT, state) for n in "hc")],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["steps", 1, "batch", hidden]),
         *(helper.make_tensor_value_info(n, TensorProto.FLOAT, state) for n in ("h_out", "c_out"))],
        [numpy_helper.from_array((rng.standard_normal(shape) / 4).astype("f4"), name) for name, shape in weights.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


LSTM = {"h_out": "h", "c_out": "c"}


def windows(path, size):
    """A file's samples between -1 and 1, some at a time."""
    with wave.open(str(path)) as file:
        while len(data := file.readframes(size)) == 2 * size:
            yield np.frombuffer(data, "<i2").astype(np.float32) / 2**15


@pytest.fixture
def sound(tmp_path):
    """A second of silence, a tone and noise each, at 16 kHz."""
    t = np.arange(16000) / 16000
    noise = np.random.default_rng(0).standard_normal(16000)
    samples = np.concatenate([0 * t, 0.5 * np.sin(2 * np.pi * 220 * t), 0.2 * noise])
    with wave.open(str(tmp_path / "sound.wav"), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16000)
        file.writeframes((samples.clip(-1, 1) * 32767).astype("<i2").tobytes())
    return tmp_path / "sound.wav"


def test_a_stream_carries_the_state_of_an_lstm(sound):
    proto = recurrent()
    stream, s, theirs = interp.load(proto).stream(LSTM), interp.load(proto), engine(proto.SerializeToString())
    h = c = np.zeros((1, 1, 5), "f4")
    for x in windows(sound, 1500):
        x = x.reshape(500, 1, 3)
        [y] = stream.run({"x": x})
        [due] = theirs.run(["y"], {"x": x, "h": h, "c": c})
        mine, h, c = s.run(None, {"x": x, "h": h, "c": c})
        np.testing.assert_array_equal(y, mine)
        np.testing.assert_allclose(y, due, 1e-4, 1e-5)
    assert np.abs(h).max() > 0.01
    np.testing.assert_array_equal(stream.state["h"], h)
    np.testing.assert_array_equal(stream.state["c"], c)


def test_a_stream_of_steps_is_the_sequence_at_once():
    proto = recurrent()
    x = floats(0, 12, 2, 3)
    stream = interp.load(proto).stream(LSTM)
    made = np.concatenate([stream({"x": x[k:k + 4]})[0] for k in (0, 4, 8)])
    zeros = np.zeros((1, 2, 5), "f4")
    [due] = engine(proto.SerializeToString()).run(["y"], {"x": x, "h": zeros, "c": zeros})
    np.testing.assert_allclose(made, due, 1e-4, 1e-5)


def test_a_cache_grows_with_every_run():
    stream = session(CACHE).stream({"new_keys": "keys"}, sizes={"past": 0})
    xs = floats(0, 6, 2, 1, 4)
    for k, x in enumerate(xs):
        [y] = stream.run({"x": x})
        keys = np.concatenate(xs[:k + 1], axis=1)
        scores = np.exp(np.einsum("nld,nkd->nlk", x, keys))
        np.testing.assert_allclose(y, np.einsum("nlk,nkd->nld", scores / scores.sum(-1, keepdims=True), keys), 1e-5, 1e-6)
        np.testing.assert_array_equal(stream.state["keys"], keys)


def test_outputs_are_chosen_by_name_and_those_that_are_state_are_copies():
    stream = session(COUNTER).stream({"m": "n"})
    x = np.array([2, 3])
    m, y, again = stream.run({"x": x}, ["m", "y", "m"])
    m[...] = again[...] = 99
    agree([y, *stream.run({"x": x}, ["m"])], [np.array([1, 1]), np.array([4, 6])])
    assert stream.run({"x": x}, []) == []
    agree(stream.run({"x": x}), [np.array([4, 4])])


def test_an_output_that_does_not_exist_changes_nothing():
    stream = session(COUNTER).stream({"m": "n"})
    with pytest.raises(interp.UsageError, match="no output z"):
        stream.run({"x": np.array([1])}, ["z"])
    agree(stream.run({"x": np.array([1])}), [np.array([1])])


def test_a_run_that_fails_leaves_the_state_as_it_was():
    stream = session(COUNTER).stream({"m": "n"}, {"n": np.array([5])})
    agree(stream.run({"x": np.array([1])}), [np.array([6])])
    for bad in ({"x": np.array([0])}, {"x": np.array([1, 2])}, {"x": np.array([1.0])}, {}, {"x": np.array([1]), "z": 1}):
        with pytest.raises((interp.RunError, interp.InputError)):
            stream.run(bad)
        assert stream.state["n"].tolist() == [6]
    agree(stream.run({"x": np.array([1])}), [np.array([7])])


def test_reset_begins_anew_and_may_take_a_state_that_was_kept():
    initial = np.array([5])
    stream = session(COUNTER).stream({"m": "n"}, {"n": initial})
    initial[...] = 0
    one = {"x": np.array([1])}
    stream.run(one)
    kept = stream.state
    stream.run(one)
    stream.reset()
    assert stream.run(one)[0] == [6]
    stream.reset(kept)
    assert stream.run(one)[0] == [7]
    with pytest.raises(ValueError, match="read-only"):
        stream.state["n"][...] = 1


def test_a_size_that_only_feeds_tell_may_change_with_a_reset():
    stream = session(COUNTER).stream({"m": "n"})
    assert stream.state == {}
    for n in (3, 1, 0):
        assert stream.run({"x": np.ones(n, "i8")})[0].tolist() == [1] * n
        assert stream.state["n"].shape == (n,)
        stream.reset()
        assert stream.state == {}


def test_sizes_that_are_given_make_the_state_at_once():
    assert session(COUNTER).stream({"m": "n"}, sizes={"N": 2}).state["n"].tolist() == [0, 0]


def test_a_state_whose_size_nothing_tells_is_asked_for():
    with pytest.raises(interp.InputError, match=r"keys: float\[N,past,4\] has no known size.* give sizes={'past': …} or"):
        session(CACHE).stream({"new_keys": "keys"}).run({"x": floats(0, 1, 1, 4)})
    unnamed = session("m (float[] x, float[] n) => (float[] m) { m = Add(n, x) }").stream({"m": "n"})
    with pytest.raises(interp.InputError, match="n: float.* has no known size to begin with; give initial="):
        unnamed.run({"x": floats(0, 1)})


@pytest.mark.parametrize("state, more, told", [
    ({"mm": "n"}, {}, "no output mm; did you mean m?"), ({"m": "nn"}, {}, "no input nn; did you mean n?"),
    ({"m": "n", "y": "n"}, {}, "the input n would come from several outputs"),
    ({"m": "n"}, {"sizes": {"n": 1}}, "no size n; did you mean N?"), ({"m": "n"}, {"initial": {"x": 1}}, "no state x"),
])
def test_names_of_states_are_checked(state, more, told):
    with pytest.raises(interp.UsageError, match=told.replace("?", r"\?")):
        session(COUNTER).stream(state, **more)


@pytest.mark.parametrize("given, told", [
    ({"state": ["m"]}, "state is given as {output: input}, not as list"), ({"state": None}, "not as NoneType"),
    ({"initial": [1]}, "a state is given as {input: array}, not as list"),
    ({"sizes": {"N": -1}}, "sizes: N is -1; give a whole number from 0 on"), ({"sizes": {"N": "1"}}, "N is '1'; give"),
    ({"sizes": {"N": 2**62}}, "for n has no room"),
])
def test_what_is_given_otherwise_than_by_name_is_refused(given, told):
    with pytest.raises(interp.UsageError, match=told):
        session(COUNTER).stream(**{"state": {"m": "n"}, **given})
    with pytest.raises(interp.InputError, match="feeds are given as"):
        session(COUNTER).stream({"m": "n"}).run(None)


def test_types_of_states_are_checked():
    s = session("m (int64[N] x, float[N] n) => (int64[N] m) { m = Add(x, x) }")
    with pytest.raises(interp.UsageError, match=r"m is int64\[N\], n takes float\[N\]"):
        s.stream({"m": "n"})
    with pytest.raises(interp.InputError, match=r"n: double\[1\] came, int64\[N\] is due"):
        session(COUNTER).stream({"m": "n"}, {"n": np.array([1.0])})


def test_a_state_is_not_fed_beside_the_stream():
    with pytest.raises(interp.InputError, match="n is state, which the stream feeds"):
        session(COUNTER).stream({"m": "n"}).run({"x": np.array([1]), "n": np.array([1])})


def test_a_sequence_is_a_state_that_begins_empty():
    text = """m (float[N] x, seq(float[N]) s) => (seq(float[N]) t, int64 n) { t = SequenceInsert(s, x) n = SequenceLength(t) }"""
    stream = interp.load(onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> {text}')).stream({"t": "s"})
    assert [int(stream.run({"x": floats(i, 2)})[0]) for i in range(3)] == [1, 2, 3]
    agree(stream.state["s"], [floats(i, 2) for i in range(3)])


def test_a_copy_goes_on_by_itself_and_a_pickle_is_refused():
    stream = session("m (float[2] x, float[2] n) => (float[2] m) { m = Add(n, x) }").stream({"m": "n"})
    one = {"x": np.ones(2, "f4")}
    stream.run(one)
    other = copy.copy(stream)
    stream.run(one)
    assert other.run(one, ["m"])[0].tolist() == [2, 2] and other.run(one, ["m"])[0].tolist() == [3, 3]
    assert stream.state["n"].tolist() == [2, 2]
    with pytest.raises(interp.UsageError, match="a stream cannot be pickled; pickle its session and its state"):
        pickle.dumps(stream)


def test_threads_take_turns():
    stream = session(COUNTER).stream({"m": "n"}, sizes={"N": 1})
    one = {"x": np.array([1])}
    threads = [threading.Thread(target=lambda: [stream.run(one) for _ in range(100)]) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert stream.state["n"] == [800]


@pytest.mark.skipif(not FOLDER, reason="INTERP_MODELS names no folder of models")
@pytest.mark.parametrize("name", ["silero_vad", "silero_vad_16k_op15"])
def test_voice_is_looked_for_in_a_stream_as_in_a_loop(name, sound):
    path = Path(FOLDER) / f"{name}.onnx"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    s, theirs = interp.load(path), engine(path.read_bytes())
    zeros = np.zeros((2, 1, 128), np.float32)
    stream = s.stream({"stateN": "state"}, {"state": zeros})
    state, context, rate, probabilities = zeros, np.zeros(64, np.float32), np.array(16000), []
    for window in windows(sound, 512):
        fed, context = np.concatenate([context, window])[None], window[-64:]
        [probability] = stream.run({"input": fed, "sr": rate})
        [due] = theirs.run(["output"], {"input": fed, "sr": rate, "state": state})
        mine, state = s.run(["output", "stateN"], {"input": fed, "sr": rate, "state": state})
        np.testing.assert_array_equal(probability, mine)
        np.testing.assert_allclose(probability, due, 1e-3, 1e-4)
        probabilities.append(probability.item())
    assert len(probabilities) == 93 and max(probabilities) > 2 * min(probabilities)
