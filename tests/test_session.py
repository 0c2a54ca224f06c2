"""Sessions: what may be fed and asked for, and what is said of anything else; observers, options, threads."""
import numpy as np
import onnx
import pytest

import interp

from .toys import IF, LOOP, NESTED, TAIL, agree, floats, model, registry, session

TWO = """m (float[N,3] x, float[N,3] y, int64[2] k) => (float[N,3] s, float[N,3] d, int64[2] m) {
    s = Add(x, y) d = Sub(x, y) m = Neg(k) }"""


def feeds(n=2, **others):
    return {"x": floats(0, n, 3), "y": floats(1, n, 3), "k": np.array([1, 2])} | others


def test_a_session_says_what_it_takes_and_gives():
    s = session(TWO)
    assert [(v.name, v.type, v.shape) for v in s.inputs] == [("x", "tensor(float)", ("N", 3)), ("y", "tensor(float)", ("N", 3)),
                                                             ("k", "tensor(int64)", (2,))]
    assert [v.name for v in s.outputs] == ["s", "d", "m"]
    assert s.metadata["nodes"] == 3 and s.metadata["opset"][""] == 21


# Feeds


@pytest.mark.parametrize("others, told", [
    ({"x": floats(0, 2, 3).astype("f8")}, r"x: double\[2,3\] came, float\[N,3\] is due; convert it with .astype"),
    ({"x": floats(0, 2, 3).astype("i8")}, r"x: int64\[2,3\] came, float\[N,3\] is due"),
    ({"k": np.array([1, 2], np.int32)}, r"k: int32\[2\] came, int64\[2\] is due"),
    ({"x": floats(0, 2, 3, 1)}, r"x: float\[2,3,1\] came, float\[N,3\] is due; the number of axes differs"),
    ({"x": np.float32(3)}, r"x: float\[\] came, float\[N,3\] is due; the number of axes differs"),
    ({"x": floats(0, 2, 4)}, r"x: float\[2,4\] came, float\[N,3\] is due; axis 1 has 4, not 3"),
    ({"y": floats(0, 5, 3)}, r"y: float\[5,3\] came, float\[N,3\] is due; axis 0 has 5, not 2, which is N in x"),
    ({"k": np.array([1, 2, 3])}, r"k: int64\[3\] came, int64\[2\] is due; axis 0 has 3, not 2"),
    ({"x": floats(0, 2, 3).astype(">f4")}, r"x: float\[2,3\] came.*byte order"),
    ({"x": [[1.0, 2, 3], [1, 2, 3]]}, r"x: .* came, float\[N,3\] is due; give a NumPy array"),
    ({"x": None}, r"x: nothing came, float\[N,3\] is due; give a NumPy array"),
    ({"x": 3.0}, r"x: float came.* give a NumPy array"),
    ({"x": np.array([["a", "b", "c"]] * 2)}, r"x: string\[2,3\] came, float\[N,3\] is due"),
    ({"x": np.zeros((2, 3), [("a", "f4")])}, r"x: .* came, float\[N,3\] is due"),
    ({"x": np.zeros((2, 3), "M8[s]")}, r"x: .* came, float\[N,3\] is due"),
    ({"x": np.zeros((2, 3), "c8")}, r"x: complex64\[2,3\] came, float\[N,3\] is due"),
], ids=lambda v: "" if isinstance(v, str) else None)
def test_a_feed_that_does_not_fit_is_told_what_came_and_what_was_due(others, told):
    s = session(TWO)
    for _ in range(2):
        with pytest.raises(interp.InputError, match=told):
            s.run(None, feeds(**others))
        assert len(s.run(None, feeds())) == 3  # the same answer with a program on the shelf


@pytest.mark.parametrize("given, told", [
    ({"x": 1, "k": 1}, "no feed for input y; the model takes x float"),
    ({}, "no feed for input x, y, k"),
    ({"X": 1, "y": 1, "k": 1}, "the model has no input X; did you mean x?"),
    ({"x": 1, "y": 1, "k": 1, "kk": 1}, "the model has no input kk; did you mean k?"),
    ({"x": 1, "y": 1, "k": 1, "elsewhere": 1}, "the model has no input elsewhere; it takes x float"),
])
def test_names_of_feeds_are_checked(given, told):
    given = {k: feeds().get(k, np.ones(1, "f4")) for k in given}
    with pytest.raises(interp.InputError) as caught:
        session(TWO).run(None, given)
    assert str(caught.value).startswith(told)


def test_a_mapping_of_any_kind_is_fed_in_any_order():
    import collections
    given = collections.OrderedDict(reversed(feeds().items()))
    agree(session(TWO).run(None, given), session(TWO).run(None, feeds()))


@pytest.mark.parametrize("given", [None, [floats(0, 2)], "x"])
def test_feeds_are_a_mapping(given):
    with pytest.raises(interp.InputError, match="feeds are given as {name: array}, not as"):
        session(TWO).run(None, given)


@pytest.mark.parametrize("given", ["s", 5])
def test_names_are_a_list(given):
    with pytest.raises(interp.UsageError, match=rf"given as a list: \[{given!r}\]"):
        session(TWO).run(given, feeds())


def test_names_may_come_one_by_one():
    s = session(TWO)
    names = [v.name for v in s.outputs][::-1]
    agree(s.run(iter(names), feeds()), s.run(names, feeds()))


def test_one_name_is_one_size_inside_a_feed():
    s = session("m (float[N,N] x) => (float[N,N] y) { y = Relu(x) }")
    with pytest.raises(interp.InputError, match=r"axis 1 has 3, not 2, which is N in x"):
        s.run(None, {"x": floats(0, 2, 3)})
    assert s.run(None, {"x": floats(0, 3, 3)})[0].shape == (3, 3)


def test_inputs_whose_rank_is_not_declared_take_any():
    s = session("m (float[] x, float[] y) => (float[] z) { a = Add(x, y) z = Relu(a) }")
    for a, b in [((2, 3), (3,)), ((), ()), ((2, 1, 3), (4, 1)), ((2, 3), (3,)), ((0, 2), (2,))]:
        x, y = floats(0, *a), floats(1, *b)
        for _ in range(2):
            agree(s.run(None, {"x": x, "y": y}), [np.asarray(np.maximum(x + y, 0))])


def test_inputs_without_any_type_take_any():
    proto = model("m (float[N] x) => (float[N] y) { y = Neg(x) }")
    proto.graph.input[0].ClearField("type")
    proto.graph.output[0].ClearField("type")
    s = interp.load(proto)
    for x in (floats(0, 3), floats(0, 2, 2).astype("f8"), np.array([1, -2])):
        [y] = s.run(None, {"x": x})
        np.testing.assert_array_equal(y, -x)
        assert y.dtype == x.dtype
    with pytest.raises(interp.Unsupported, match="Neg-13 does not allow tensor"):
        s.run(None, {"x": np.array([True])})


def test_declared_outputs_never_size_a_buffer():
    s = session("m (float[N] x) => (float[7,9] y) { y = Neg(x) }")
    assert s.run(None, {"x": floats(0, 3)})[0].shape == (3,)


# Outputs by name


@pytest.mark.parametrize("names", [["s"], ["m", "s"], ["s", "d", "m"], ["d", "d"], [], ("m",)])
def test_outputs_are_chosen_by_name(names):
    s = session(TWO)
    every = dict(zip(["s", "d", "m"], s.run(None, feeds()), strict=True))
    for _ in range(2):
        agree(s.run(names, feeds()), [every[n] for n in names])


def test_all_outputs_by_name_need_no_second_model():
    s = session(TWO)
    s.run(["s", "d", "m"], feeds())
    assert not s._bodies


def test_an_unknown_output_is_told_with_the_nearest():
    s = session("m (float[N] x) => (float[N] probabilities) { probabilities = Relu(x) }")
    with pytest.raises(interp.UsageError, match="no output probability; it gives prob.*; did you mean probabilities?"):
        s.run(["probability"], {"x": floats(0, 2)})


def test_only_what_the_asked_outputs_need_is_run():
    text = "m (int64[N] x, int64[N] y) => (int64[N] a, int64[N] b) { a = Neg(x) b = Div(x, y) }"
    s = session(text)
    zero = {"x": np.array([1]), "y": np.array([0])}
    with pytest.raises(interp.RunError):
        s.run(None, zero)
    assert s.run(["a"], zero)[0] == [-1]


def test_initializers_that_are_inputs_may_be_fed():
    proto = model("m (float[2] x) => (float[2] y) <float[2] w = {10, 20}> { k = Neg(w) y = Add(x, k) }")
    proto.graph.input.append(onnx.helper.make_tensor_value_info("w", 1, [2]))
    s = interp.load(proto, registry=registry())
    assert [v.name for v in s.inputs] == ["x"] and [v.name for v in s.overridable] == ["w"]
    x = np.array([1, 1], "f4")
    for _ in range(2):
        assert s.run(None, {"x": x})[0].tolist() == [-9, -19]
        assert s.run(None, {"x": x, "w": np.array([5, 6], "f4")})[0].tolist() == [-4, -5]
        assert s.run(["y"], {"x": x, "w": np.array([0, 0], "f4")})[0].tolist() == [1, 1]
    with pytest.raises(interp.InputError, match=r"w: float\[3\] came, float\[2\] is due"):
        s.run(None, {"x": x, "w": np.ones(3, "f4")})


def test_a_feed_for_a_plain_initializer_is_refused():
    s = session("m (float[2] x) => (float[2] y) <float[2] w = {10, 20}> { y = Add(x, w) }")
    with pytest.raises(interp.InputError, match="no input w"):
        s.run(None, {"x": np.ones(2, "f4"), "w": np.ones(2, "f4")})


# Observers


def test_observers_see_every_node_and_change_nothing():
    s = session(TWO, optimize=0)
    due, seen = s.run(None, feeds()), []
    s.observers.append(lambda e: seen.append((e.op_type, list(e.outputs), e.seconds >= 0)))
    for a, b in zip(s.run(None, feeds()), due, strict=True):
        np.testing.assert_array_equal(a, b)
    assert seen == [("Add", ["s"], True), ("Sub", ["d"], True), ("Neg", ["m"], True)]
    s.observers.clear()
    s.run(None, feeds())
    assert len(seen) == 3


@pytest.mark.parametrize("text", [IF, NESTED, TAIL, LOOP])
def test_observed_runs_give_the_same_bits(text):
    s = session(text)
    given = {"x": floats(0, 4, *[2 if text is LOOP else 3] * (text in (IF, LOOP)))}
    given |= {"c": np.array(True)} if text in (IF, NESTED) else {"M": np.array(3)} if text is LOOP else {}
    due = s.run(None, given)
    s.observers.append(lambda *_: None)
    for a, b in zip(s.run(None, given), due, strict=True):
        np.testing.assert_array_equal(a, b)


def test_outputs_of_observed_runs_are_the_callers():
    s = session("m (float[2] x) => (float[2] same, float[2] y, float[2] k, float[2] twice) <float[2] w = {1, 2}> "
                "{ same = Identity(x) y = Relu(x) k = Identity(w) twice = Identity(y) }")
    s.observers.append(lambda *_: None)
    x = np.ones(2, "f4")
    made = s.run(None, {"x": x})
    for i, a in enumerate(made):
        assert not any(np.shares_memory(a, b) for b in [x, *made[:i]])
        a[...] = 9
    assert s.run(None, {"x": x})[2].tolist() == [1, 2]


def test_an_observed_run_tells_what_fails_and_checks_feeds():
    s = session("m (int64[N] x, int64[N] y) => (int64[N] z) { [mine] z = Div(x, y) }")
    s.observers.append(lambda *_: None)
    with pytest.raises(interp.RunError, match="mine.*divided by zero"):
        s.run(None, {"x": np.array([1]), "y": np.array([0])})
    with pytest.raises(interp.InputError, match="y: .* came"):
        s.run(None, {"x": np.array([1]), "y": np.array([0.0])})


# Options


@pytest.mark.parametrize("text", [IF, NESTED, TAIL, TWO])
def test_levels_give_the_same_answers(text):
    given = {"x": floats(0, 4, 3), "c": np.array(True)} if text is IF else {"x": floats(0, 4)} | (
        {"c": np.array(False)} if text is NESTED else {}) if text is not TWO else feeds()
    due = session(text, optimize=2).run(None, given)
    for level in (0, 1, False, True):
        for a, b in zip(session(text, optimize=level).run(None, given), due, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("options, told", [
    ({"optimize": 3}, "optimize=3"), ({"optimize": -1}, "optimize=-1"), ({"optimize": "fast"}, "optimize='fast'"),
    ({"optimize": None}, "optimize=None"), ({"optimize": 1.5}, "optimize=1.5"),
    ({"precision": "high"}, "precision='high'"), ({"threads": 0}, "threads=0"), ({"threads": -2}, "threads=-2"),
    ({"threads": 2**31}, "threads=2147483648: .* to 1024"), ({"threads": "2"}, "threads='2'"),
    ({"threads": 1.0}, "threads=1.0"), ({"threads": True}, "threads=True")])
def test_options_that_make_no_sense_are_refused(options, told):
    with pytest.raises(interp.UsageError, match=told):
        interp.load(model(TWO), **options)


@pytest.mark.parametrize("source", [None, 3, ["model.onnx"], {}])
def test_what_is_no_model_is_refused(source):
    with pytest.raises(interp.UsageError, match="given as a path, bytes or a ModelProto"):
        interp.load(source)


def test_precision_and_threads_are_taken():
    for options in ({"precision": "exact"}, {"threads": 2}, {"threads": 16}, {}):
        s = interp.load(model(TWO), **options)
        agree(s.run(None, feeds()), session(TWO).run(None, feeds()))
        assert s.threads == options.get("threads", s.threads) >= 1


def test_the_same_bits_at_any_number_of_threads():
    text = "m (float[N,3] x) => (float[N,3] y) { a = Exp(x) b = Tanh(a) y = Mul(a, b) }"
    x = floats(0, 20000, 3)
    due = session(text, threads=1).run(None, {"x": x})[0]
    for threads in (2, 3, 5):
        np.testing.assert_array_equal(session(text, threads=threads).run(None, {"x": x})[0], due)


def test_a_model_may_be_bytes_or_a_path(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(model(TWO).SerializeToString())
    for source in (path, str(path), path.read_bytes(), bytearray(path.read_bytes())):
        assert len(interp.load(source).run(["s"], feeds())) == 1


def test_text_is_told_from_numbers_in_every_run():
    session = interp.load(onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["": 21]> g (string[N] x) => (string[N] y) { y = Identity(x) }'))
    assert session.run(None, {"x": np.array(["a", "b"], object)})[0].tolist() == ["a", "b"]
    with pytest.raises(interp.InputError, match="int64"):
        session.run(None, {"x": np.array([1, 2])})
