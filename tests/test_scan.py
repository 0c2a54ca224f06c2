"""Scan over axes in either direction, Scan of a batch, SequenceMap: compiled and from Python, against onnxruntime."""
import numpy as np
import onnx
import pytest

import interp

from .toys import agree, floats, independent, model, session

HEAD8 = '<ir_version: 4, opset_import: ["": 8]> '
SUMS = """m (float[3] s, float[2,5,3] x, float[3,5] y) => (float[3] z, float[A,B,C] t, float[D,E] u) {
    k = Add(s, s)
    z, t, u = Scan <num_scan_inputs = 2, OPTIONS, body = b (float[3] v, float[2,3] a, float[3] c) =>
        (float[3] w, float[2,3] d, float[3] e) { w = Add(v, c) d = Mul(a, k) e = Sub(w, c) }> (s, x, y) }"""
OPTIONS = [
    "scan_input_axes = [1, 1]",
    "scan_input_axes = [-2, -1], scan_output_axes = [-1, -2], scan_input_directions = [0, 1]",
    "scan_input_axes = [1, 1], scan_output_axes = [2, 1], scan_input_directions = [1, 0], scan_output_directions = [1, 1]",
    "scan_input_axes = [1, 1], scan_output_axes = [1, 0], scan_input_directions = [1, 1], scan_output_directions = [0, 1]",
]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("where", ["compiled", "python"])
def test_axes_and_directions(options, where):
    text = SUMS.replace("OPTIONS", options)
    feeds = {"s": floats(0, 3), "x": floats(1, 2, 5, 3), "y": floats(2, 3, 5)}
    agree(session(in_python(text, where)).run(None, feeds), independent(text, feeds))


def in_python(text, where):
    """The same model with a step that needs the interpreter."""
    return text if where == "compiled" else text.replace("d = Mul(a, k)", "h = Mul(a, k) g = toys.Doubled(h) d = Sub(g, h)")


def test_a_scan_without_python_steps_is_compiled():
    s = session(SUMS.replace("OPTIONS", OPTIONS[2]))
    feeds = {"s": floats(0, 3), "x": floats(1, 2, 5, 3), "y": floats(2, 3, 5)}
    s.run(None, feeds)
    assert s._body.whole.bind([feeds[n] for n in ("s", "x", "y")]).compiled


@pytest.mark.parametrize("where", ["compiled", "python"])
def test_a_scan_over_nothing_gives_its_states_back(where):
    text = SUMS.replace("OPTIONS", OPTIONS[0]).replace("5", "0")
    feeds = {"s": floats(0, 3), "x": floats(1, 2, 0, 3), "y": floats(2, 3, 0)}
    z, t, u = session(in_python(text, where)).run(None, feeds)
    np.testing.assert_array_equal(z, feeds["s"])
    assert t.shape == (0, 2, 3) and u.shape == (0, 3)


BATCH = """m (int64[2] n, float[2,3] s, float[2,4,3] x) => (float[2,3] z, float[2,4,3] t) {
    z, t = Scan <num_scan_inputs = 1, directions = [WAY], body = b (float[3] v, float[3] a) => (float[3] w, float[3] d) {
        w = Add(v, a) d = Mul(w, a) }> (n, s, x) }"""


@pytest.mark.parametrize("way", [0, 1])
@pytest.mark.parametrize("lengths", [[4, 4], [2, 3], [0, 1], None])
def test_a_batch_of_sequences_of_their_own_lengths(way, lengths):
    """The pseudo-code of Scan-8; what it leaves undefined is 0. A sequence is reversed within its length."""
    text = BATCH.replace("WAY", str(way))
    s, x = floats(0, 2, 3), floats(1, 2, 4, 3)
    feeds = {"s": s, "x": x}
    if lengths is None:
        text = text.replace("int64[2] n, ", "").replace("(n, s, x)", '("", s, x)')
    else:
        feeds["n"] = np.array(lengths)
    z, t = s.copy(), np.zeros_like(x)
    for b, n in enumerate(lengths or [4, 4]):
        for k in range(n):
            a = x[b, n - 1 - k if way else k]
            z[b] += a
            t[b, k] = z[b] * a
    for body in (text, text.replace("w = Add(v, a)", "h = Add(v, a) w = Reshape(h, k) ")):
        if "Reshape" in body:  # a shape that the data tell makes a step of Python
            body = body.replace("m (", "m (int64[1] k, ")
            feeds["k"] = np.array([3])
        agree(session(body, head=HEAD8).run(None, feeds), [z, t])


@pytest.mark.parametrize("lengths", [[5, 1], [-1, 2]])
def test_lengths_beyond_the_sequence_are_refused(lengths):
    feeds = {"s": floats(0, 2, 3), "x": floats(1, 2, 4, 3), "n": np.array(lengths)}
    with pytest.raises(interp.RunError, match="Scan"):
        session(BATCH.replace("WAY", "0"), head=HEAD8).run(None, feeds)


@pytest.mark.parametrize("old, new", [
    ("num_scan_inputs = 2", "num_scan_inputs = 4"), ("num_scan_inputs = 2", "num_scan_inputs = 0"),
    ("scan_input_axes = [1, 1]", "scan_input_axes = [1]"), ("scan_input_axes = [1, 1]", "scan_input_axes = [1, 2]"),
    ("scan_input_axes = [1, 1]", "scan_input_axes = [0, 1]"), ("scan_output_axes = [2, 1]", "scan_output_axes = [3, 1]"),
    ("scan_input_directions = [1, 0]", "scan_input_directions = [1, 2]"),
])
def test_a_scan_that_cannot_be_is_refused_by_name(old, new):
    with pytest.raises(interp.InterpError, match="Scan"):
        session(SUMS.replace("OPTIONS", OPTIONS[2]).replace(old, new)).run(
            None, {"s": floats(0, 3), "x": floats(1, 2, 5, 3), "y": floats(2, 3, 5)})


MAP = """m (float[N] x, float[M] y, float k) => (seq(float[P]) a, seq(int64[1]) c) {
    s = SequenceConstruct(x, y) t = SequenceConstruct(y, x) h = Add(k, k)
    a, c = SequenceMap <body = b (float[N] u, float[M] v, float w) => (float[P] e, int64[1] f) {
        g = Mul(u, w) d = Mul(g, h) e = Concat<axis = 0>(d, v) f = Shape(v) }> (s, t, k) }"""


def test_a_map_over_two_sequences_a_tensor_and_an_outer_value():
    x, y, k = floats(0, 2), floats(1, 3), np.array(1.5, "f4")
    a, c = session(MAP).run(None, {"x": x, "y": y, "k": k})
    agree(a, [np.concatenate([p * k * np.float32(3), q]) for p, q in ((x, y), (y, x))])
    agree(c, [np.array([3]), np.array([2])])


def test_a_map_reads_a_sequence_from_outside_whole():
    text = """m (float[N] x, float[M] y) => (seq(float[P]) a) {
        s = SequenceConstruct(x, y)
        a = SequenceMap <body = b (float[N] u) => (float[P] e) {
            first = Constant<value = int64 {0}>() h = SequenceAt(s, first) e = Concat<axis = 0>(u, h) }> (s) }"""
    x, y = floats(0, 2), floats(1, 3)
    agree(session(text).run(None, {"x": x, "y": y})[0], [np.concatenate([x, x]), np.concatenate([y, x])])


def test_sequences_of_different_lengths_are_refused():
    text = MAP.replace("t = SequenceConstruct(y, x)", "t = SequenceConstruct(y)")
    with pytest.raises(interp.RunError, match="SequenceMap.*2 and 1"):
        session(text).run(None, {"x": floats(0, 2), "y": floats(1, 3), "k": np.array(1.5, "f4")})


ENDLESS = """m (float[N] x) => (float[N] y) {
    go = Constant<value = bool {1}>()
    [around] y = Loop ("", go, x) <body = b (int64 i, bool c, float[N] v) => (bool d, float[N] w) {
        d = Identity(c) w = Add(v, x) }> }"""


@pytest.mark.parametrize("where", ["compiled", "python"])
def test_an_endless_loop_ends_at_the_limit_and_says_where(where):
    text = ENDLESS if where == "compiled" else ENDLESS.replace("Add(v, x)", "toys.Doubled(v)")
    s = session(text, most_iterations=1000)
    with pytest.raises(interp.RunError, match="around.*most_iterations"):
        s.run(None, {"x": np.zeros(3, "f4")})
    counted = text.replace('""', "M").replace("float[N] x)", "float[N] x, int64 M)", 1)
    session(counted, most_iterations=1000).run(None, {"x": np.zeros(3, "f4"), "M": np.array(1000)})
    with pytest.raises(interp.RunError, match="around.*most_iterations"):
        session(counted, most_iterations=1000).run(None, {"x": np.zeros(3, "f4"), "M": np.array(1001)})


@pytest.mark.parametrize("limit", [0, -1, 1.5, True, 2**63])
def test_a_limit_of_iterations_is_a_positive_number(limit):
    with pytest.raises(interp.UsageError, match="most_iterations"):
        interp.load(model(ENDLESS), most_iterations=limit)


def test_scans_and_maps_pass_the_checker():
    for text in (SUMS.replace("OPTIONS", OPTIONS[0]), MAP):
        onnx.checker.check_model(model(text))
