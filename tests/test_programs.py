"""Programs, end to end: bodies, cuts and outputs of toy models, against onnxruntime and against formulas."""
import numpy as np
import pytest

import interp

from .toys import IF, LOOP, NESTED, TAIL, agree, floats, independent, model, registry, session
from .unbound import unbound


def as_onnxruntime(text, *all_feeds, **options):
    """Run feeds twice each, in turn; bound and unbound give what onnxruntime gives."""
    s = session(text, **options)
    for feeds in [*all_feeds, *all_feeds]:
        before = {k: v.copy() for k, v in feeds.items()}
        made, due = s.run(None, feeds), independent(text, feeds)
        agree(made, due)
        for bound, slow in zip(made, unbound(s, feeds), strict=True):
            np.testing.assert_array_equal(bound, slow)
        for k, v in feeds.items():
            np.testing.assert_array_equal(v, before[k])
    return s


def program(s, feeds):
    """The one program that runs these feeds, or None where the model is cut or needs Python."""
    return s._body.program([feeds[i] for i in s._body.inputs])


# Bodies


@pytest.mark.parametrize("condition", [True, False])
def test_if_with_captures(condition):
    s = as_onnxruntime(IF, *({"x": floats(n, n, 3), "c": np.array(condition)} for n in (2, 5, 1, 0)))
    assert program(s, {"x": floats(0, 2, 3), "c": np.array(condition)}).compiled


@pytest.mark.parametrize("rounds", [1, 2, 3, 8])
def test_loop_with_captures_and_scan_outputs(rounds):
    as_onnxruntime(LOOP, *({"x": floats(n, n, 2), "M": np.array(rounds)} for n in (3, 1)))


def test_a_loop_that_never_runs_has_scan_outputs_of_the_sizes_that_are_known():
    for text in (LOOP, LOOP.replace(", int64 M)", ")").replace("go =", "M = Constant<value = int64 {0}>() go =")):
        x = floats(0, 3, 2)
        z, rows = session(text).run(None, {"x": x} | ({"M": np.array(0)} if text is LOOP else {}))
        np.testing.assert_array_equal(z, x + x)
        assert rows.shape == (0, 3, 2)


@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_a_loop_of_constant_length_is_compiled(rounds):
    text = LOOP.replace(", int64 M)", ")").replace("go =", f"M = Constant<value = int64 {{{rounds}}}>() go =")
    text = text.replace("float[M,N,2] s)", f"float[{rounds},N,2] s)")
    s = as_onnxruntime(text, {"x": floats(0, 3, 2)}, {"x": floats(0, 4, 2)})
    assert program(s, {"x": floats(0, 3, 2)}).compiled


@pytest.mark.parametrize("condition", [True, False])
def test_loops_and_branches_nest(condition):
    feeds = [{"x": floats(n, n), "c": np.array(condition)} for n in (4, 1, 9)]
    s = as_onnxruntime(NESTED, *feeds)
    assert program(s, feeds[0]).compiled


def test_a_loop_ends_by_its_condition():
    text = """m (float[N] x, float limit) => (float[N] z, int64 n) {
        go = Constant<value = bool {1}>()  zero = Constant<value = int64 {0}>()  one = Constant<value = int64 {1}>()
        z, n = Loop ("", go, x, zero) <body = b (int64 i, bool c, float[N] v, int64 k) => (bool d, float[N] w, int64 m) {
            w = Add(v, v)  m = Add(k, one)
            d = Less(m, top) }> }""".replace("top", "limit")
    text = text.replace("float limit", "int64 limit")
    for limit in (1, 2, 7):
        as_onnxruntime(text, {"x": floats(0, 3), "limit": np.array(limit)})


def test_a_loop_with_a_condition_and_scan_outputs_has_as_many_rows_as_rounds():
    text = """m (float[N] x, int64 M, int64 stop) => (float[N] z, float[R,N] s) {
        go = Constant<value = bool {1}>()
        z, s = Loop (M, go, x) <body = b (int64 i, bool c, float[N] v) => (bool d, float[N] w, float[N] t) {
            w = Add(v, x)  t = Neg(w)  d = Less(i, stop) }> }"""
    ends = [(5, 2), (2, 5), (5, -1), (4, 3)]
    as_onnxruntime(text, *({"x": floats(0, 2), "M": np.array(m), "stop": np.array(k)} for m, k in ends))


def test_a_condition_that_is_false_at_once_runs_nothing():
    text = """m (float[N] x, bool go) => (float[N] z) {
        M = Constant<value = int64 {4}>()
        z = Loop (M, go, x) <body = b (int64 i, bool c, float[N] v) => (bool d, float[N] w) {
            w = Add(v, x) d = Identity(c) }> }"""
    as_onnxruntime(text, {"x": floats(0, 3), "go": np.array(False)}, {"x": floats(0, 3), "go": np.array(True)})


def test_a_loop_whose_carried_value_grows():
    text = """m (float[N] x, int64 M) => (float[K] z) {
        go = Constant<value = bool {1}>()
        z = Loop (M, go, x) <body = b (int64 i, bool c, float[P] v) => (bool d, float[Q] w) {
            w = Concat<axis=0>(v, x) d = Identity(c) }> }"""
    as_onnxruntime(text, *({"x": floats(0, n), "M": np.array(m)} for n, m in [(2, 3), (1, 0), (3, 1)]))


def test_carried_values_that_swap_places():
    text = """m (float[N] x, float[N] y, int64 M) => (float[N] p, float[N] q) {
        go = Constant<value = bool {1}>()
        p, q = Loop (M, go, x, y) <body = b (int64 i, bool c, float[N] v, float[N] w) => (bool d, float[N] t, float[N] u) {
            t = Identity(w) u = Identity(v) d = Identity(c) }> }"""
    as_onnxruntime(text, *({"x": floats(1, 3), "y": floats(2, 3), "M": np.array(m)} for m in range(5)))


def test_a_body_that_returns_what_it_captured():
    text = IF.replace("r = Sub(a, x)", "r = Identity(x)").replace("q = Mul(a, x) p = Relu(q)", "p = Identity(a)")
    as_onnxruntime(text, *({"x": floats(0, 2, 3), "c": np.array(c)} for c in (True, False)))


def test_a_body_with_a_python_step_runs_from_python():
    text = IF.replace("p = Relu(q)", "p = toys.Doubled(q)")
    s = session(text)
    x = floats(0, 2, 3)
    np.testing.assert_allclose(s.run(None, {"x": x, "c": np.array(True)})[0], np.maximum(4 * x * x, 0), 1e-6)
    np.testing.assert_allclose(s.run(None, {"x": x, "c": np.array(False)})[0], np.maximum(x, 0), 1e-6)
    assert program(s, {"x": x, "c": np.array(True)}) is None


def test_branches_of_different_sizes():
    text = """m (float[N,3] x, bool c) => (float[R,K] y) {
        b = If (c) <then_branch = t () => (float[N,3] p) { p = Relu(x) },
                    else_branch = e () => (float[P,Q] r) { r = Flatten<axis=0>(x) }>
        y = Add(b, b) }"""
    as_onnxruntime(text, *({"x": floats(n, n, 3), "c": np.array(c)} for n in (2, 4) for c in (True, False)))


def test_branches_of_different_ranks():
    text = """m (float[N,3] x, bool c) => (float[] y) <int64[1] s = {-1}> {
        b = If (c) <then_branch = t () => (float[N,3] p) { p = Relu(x) },
                    else_branch = e () => (float[K] r) { r = Reshape(x, s) }>
        y = Add(b, b) }"""
    s = session(text)
    x = floats(0, 2, 3)
    for _ in range(2):
        np.testing.assert_array_equal(s.run(None, {"x": x, "c": np.array(True)})[0], 2 * np.maximum(x, 0))
        np.testing.assert_array_equal(s.run(None, {"x": x, "c": np.array(False)})[0], 2 * x.ravel())


# Cuts, lengths, outputs


def test_sizes_that_only_data_tell_cut_the_program():
    s = as_onnxruntime(TAIL, *({"x": floats(n, n)} for n in (5, 9, 1, 0)))
    assert s._body.whole is None
    assert len(s._body.general.parts) == 3


def test_new_lengths_every_run():
    s = session(IF)
    for n in range(40):
        x = floats(n, n, 3)
        [y] = s.run(None, {"x": x, "c": np.array(n % 2 == 1)})
        np.testing.assert_allclose(y, np.maximum(2 * x * x if n % 2 else x, 0), 1e-5)


def test_sizes_travel_through_values_into_shapes():
    text = """m (float[N,M,2] x) => (float[A,B] y) <int64[1] zero = {0}, int64[1] rest = {-1}> {
        s = Shape(x) n = Gather(s, zero) t = Concat<axis=0>(n, rest) f = Reshape(x, t) y = Relu(f) }"""
    s = as_onnxruntime(text, {"x": floats(0, 2, 3, 2)}, {"x": floats(0, 5, 1, 2)})
    assert program(s, {"x": floats(0, 2, 3, 2)}).compiled


def test_sizes_travel_past_a_cut():
    text = """m (float[N,2] x) => (float[P,Q] y, int64[2,K] z) <int64[1] zero = {0}, int64[1] rest = {-1}> {
        s = Shape(x) n = Gather(s, zero) t = Concat<axis=0>(rest, n)
        z = NonZero(x) k = Shape(z) r = Relu(x) f = Reshape(r, t) y = Add(f, f) }"""
    as_onnxruntime(text, {"x": floats(0, 3, 2)}, {"x": floats(1, 4, 2)})


def test_a_size_that_only_data_tell_becomes_a_shape():
    text = """m (float[N] x) => (float[K] y, int64[K] i) <int64[1] one = {1}> {
        a = Relu(x) z = NonZero(a) s = Shape(z) k = Gather(s, one) i = Reshape(z, k) f = Cast<to=1>(i) y = Add(f, f) }"""
    as_onnxruntime(text, *({"x": floats(n, n)} for n in (6, 11, 3)))


def test_a_view_that_only_data_settle_is_not_the_feed():
    s = session("m (float[N] x, int64[R] s) => (float[A,B] y) { y = Reshape(x, s) }")
    x = floats(0, 6)
    [y] = s.run(None, {"x": x, "s": np.array([2, 3])})
    assert not np.shares_memory(x, y)


def test_a_shape_that_is_fed():
    text = "m (float[N] x, int64[R] s) => (float[A,B] y) { a = Relu(x) b = Reshape(a, s) y = Add(b, b) }"
    s = session(text)
    for x, shape in [(floats(0, 6), [2, 3]), (floats(1, 6), [3, 2]), (floats(1, 4), [-1, 1])]:
        np.testing.assert_array_equal(s.run(None, {"x": x, "s": np.array(shape)})[0], 2 * np.maximum(x, 0).reshape(shape))


def test_sizes_that_agree_only_before_a_cut():
    """Behind the cut, 2*N in an array and 2*N in a body are no longer known to be one size."""
    text = """m (float[N] x, bool c) => (float[K] y, int64[1,J] i) {
        a = Concat<axis=0>(x, x) i = NonZero(a)
        y = If (c) <then_branch = t () => (float[P] p) { p = Concat<axis=0>(x, x) },
                    else_branch = e () => (float[Q] q) { q = Neg(a) }> }"""
    as_onnxruntime(text, *({"x": floats(0, n), "c": np.array(c)} for n in (3, 2) for c in (True, False)))


def test_broadcast_sizes_after_a_cut():
    """Sizes that were sums and products before a cut are names of their own behind it."""
    text = """m (float[N] x, float[M] w) => (float[K] y, int64[1,J] i) {
        i = NonZero(x) a = Concat<axis=0>(x, x) b = Add(w, x) c = Concat<axis=0>(b, b) y = Add(a, c) }"""
    as_onnxruntime(text, {"x": floats(0, 3), "w": floats(1, 3)}, {"x": floats(0, 3), "w": floats(1, 1)})


def test_outputs_that_are_views_feeds_constants_or_wanted_twice_are_the_callers():
    text = """m (float[N,2] x) => (float[N,2] same, float[K] flat, float[N,2] r, float[K] again, float[2] k, float[2] k2)
        <float[2] w = {1, 2}, int64[1] s = {-1}> {
        same = Identity(x) r = Relu(x) flat = Reshape(r, s) again = Reshape(r, s) k = Identity(w) k2 = Add(w, w) }"""
    s = session(text)
    x = floats(0, 3, 2)
    made = s.run(None, {"x": x})
    agree(made, independent(text, {"x": x}))
    for i, a in enumerate(made):
        assert a.flags.writeable and not np.shares_memory(a, x)
        assert not any(np.shares_memory(a, b) for b in made[:i])
        a[...] = 77
    agree(s.run(None, {"x": x}), independent(text, {"x": x}))


def test_an_output_that_is_an_input_or_an_initializer():
    proto = model("m (float[N] x) => (float[N] y) <float[2] w = {1, 2}> { y = Relu(x) }")
    proto.graph.output.add().CopyFrom(proto.graph.input[0])
    proto.graph.output.add().name = "w"
    proto.graph.output.add().CopyFrom(proto.graph.output[0])
    s = interp.load(proto, registry=registry())
    x = floats(0, 3)
    y, same, w, again = s.run(None, {"x": x})
    np.testing.assert_array_equal(same, x)
    np.testing.assert_array_equal(w, [1, 2])
    np.testing.assert_array_equal(y, again)
    assert not np.shares_memory(same, x) and not np.shares_memory(y, again)
    w[...] = 5
    np.testing.assert_array_equal(s.run(None, {"x": x})[2], [1, 2])


def test_a_model_without_nodes():
    proto = model("m (float[N] x) => (float[N] y) { y = Relu(x) }")
    del proto.graph.node[:]
    proto.graph.output[0].name = "x"
    s = interp.load(proto)
    x = floats(0, 3)
    [y] = s.run(None, {"x": x})
    np.testing.assert_array_equal(y, x)
    assert not np.shares_memory(x, y)


def test_a_model_without_inputs():
    [y] = session("m () => (float[2] y) <float[2] w = {1, -2}> { y = Relu(w) }", optimize=0).run(None, {})
    np.testing.assert_array_equal(y, [1, 0])
    [y] = session("m () => (float[2] y) <float[2] w = {1, -2}> { y = Relu(w) }").run(None, {})
    np.testing.assert_array_equal(y, [1, 0])


def test_optional_inputs_that_are_absent():
    text = 'm (float[N] x, float hi) => (float[N] y) { y = Clip(x, "", hi) }'
    as_onnxruntime(text, {"x": floats(0, 5), "hi": np.array(0.25, "f4")})


def test_variadic_inputs_and_several_outputs():
    text = """m (float[N] x, float[N] y) => (float[N] s, float[K] h, float[K] k) {
        s = Sum(x, y, x, y) h, k = toys.TwoHalves(s) }"""
    s = session(text)
    x, y = floats(0, 6), floats(1, 6)
    total, first, second = s.run(None, {"x": x, "y": y})
    np.testing.assert_allclose(total, 2 * x + 2 * y, 1e-5)
    np.testing.assert_array_equal(np.concatenate([first, second]), total)


def test_outputs_that_nobody_wants():
    text = "m (float[N] x) => (float[K] k) { s = Relu(x) h, k = toys.TwoHalves(s) }"
    for level in (0, 1, 2):
        s = session(text, optimize=level)
        np.testing.assert_array_equal(s.run(None, {"x": np.arange(5, dtype="f4")})[0], [2, 3])


def test_strings_pass_through():
    text = """m (string[N] a, string[N] b, float[N] x) => (string[N] c, float[N] y, string[N] d) {
        c = StringConcat(a, b) y = Relu(x) d = Identity(a) }"""
    s = session(text)
    for n in (3, 1, 0, 3):
        a, b = np.array(["é"] * n, object), np.array(["b"] * n, object)
        c, y, d = s.run(None, {"a": a, "b": b, "x": -np.ones(n, "f4")})
        assert c.tolist() == ["éb"] * n and y.tolist() == [0] * n and d.tolist() == ["é"] * n
        assert not np.shares_memory(d, a)


def test_a_sequence_passes_through():
    text = """m (float[N] x, float[M] y, int64 i) => (float[K] z, seq(float[K]) t) {
        a = Relu(x) s = SequenceConstruct(a, y) t = SequenceInsert(s, x) u = SequenceAt(t, i) z = Add(u, u) }"""
    s = session(text)
    x, y = floats(0, 3), floats(1, 5)
    for i, want in enumerate([np.maximum(x, 0), y, x]):
        z, t = s.run(None, {"x": x, "y": y, "i": np.array(i)})
        np.testing.assert_array_equal(z, 2 * want)
        assert [a.shape for a in t] == [(3,), (5,), (3,)]


def test_a_python_step_between_compiled_ones():
    text = "m (float[N] x) => (float[N] y) { a = Relu(x) b = toys.Doubled(a) c = Neg(b) d = toys.Doubled(c) y = Add(d, x) }"
    s = session(text)
    for n in (3, 5, 0, 3):
        x = floats(n, n)
        np.testing.assert_allclose(s.run(None, {"x": x})[0], -4 * np.maximum(x, 0) + x, 1e-6)


def test_a_python_step_reads_and_fills_the_arrays_of_the_run():
    text = "m (float[N] x) => (float[N] y) { y = toys.Doubled(x) }"
    s = session(text)
    kept = [(x, s.run(None, {"x": x})[0]) for x in (floats(i, 4) for i in range(5))]
    for x, y in kept:
        np.testing.assert_array_equal(y, 2 * x)


@pytest.mark.parametrize("rows", ["N", "2"])
def test_a_body_knows_the_shapes_that_it_captures(rows):
    """A shape made outside of a loop is there when its body is bound."""
    s = session(f"""m (float[{rows},3] x, int64 n, bool c) => (float[A,B] y) <int64 zero = {{0}}> {{
        s = Shape(x) first = Gather(x, zero)
        y = Loop(n, c, x) <body = b (int64 i, bool go, float[{rows},3] v) => (bool go, float[{rows},3] w) {{
            wide = Expand(first, s) w = Add(v, wide) }}> }}""")
    for size in (2, 5, 2) if rows == "N" else (2, 2):
        x = np.arange(3 * size, dtype=np.float32).reshape(size, 3)
        [y] = s.run(None, {"x": x, "n": np.array(4), "c": np.array(True)})
        np.testing.assert_array_equal(y, x + 4 * x[0])
