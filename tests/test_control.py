"""If and Loop over sequences and optionals, values that change size, names from outside, functions around and inside."""
import os
import signal
import subprocess
import sys
import time

import numpy as np
import onnx
import pytest
from onnx import helper

import interp

from .toys import agree, floats, independent, model, session

HEAD = '<ir_version: 10, opset_import: ["": 18, "f": 1, "g": 3]> '


def as_onnxruntime(text, *feeds, head=HEAD, **options):
    """Several runs of one session, against onnxruntime's."""
    proto = model(text, head)
    s = session(text, head=head, **options)
    for given in feeds:
        made, due = s.run(None, given), independent(proto, given)
        for got, want in zip(made, due, strict=True):
            agree(*((got, want) if isinstance(want, list) else ([got], [want])))
    return s


def test_a_sequence_is_carried_and_grows():
    text = """m (float[N] x, int64 M) => (seq(float[K]) z, int64 n) {
        go = Constant<value = bool {1}>()  s = SequenceConstruct(x)
        z = Loop (M, go, s) <body = b (int64 i, bool c, seq(float[P]) v) => (bool d, seq(float[Q]) w) {
            d = Identity(c)  n = SequenceLength(v)  f = Cast<to = 1>(n)  y = Mul(x, f)  w = SequenceInsert(v, y) }>
        n = SequenceLength(z) }"""
    as_onnxruntime(text, *({"x": floats(m, 3), "M": np.array(m)} for m in (0, 1, 4)))


def test_a_sequence_that_shrinks_beside_a_tensor_that_grows():
    text = """m (float[N] x, float[L] y) => (float[K] z, int64 n) {
        s = SequenceConstruct(x, y, x)  go = Constant<value = bool {1}>()
        t, z = Loop ("", go, s, x) <body = b (int64 i, bool c, seq(float[P]) v, float[A] u) =>
            (bool d, seq(float[Q]) w, float[B] q) {
            one = Constant<value = int64 {1}>()  last = Constant<value = int64 {-1}>()
            a = SequenceAt(v, last)  q = Concat<axis = 0>(u, a)  w = SequenceErase(v)
            k = SequenceLength(w)  d = Less(one, k) }>
        n = SequenceLength(t) }"""
    as_onnxruntime(text, {"x": floats(0, 2), "y": floats(1, 3)}, {"x": floats(2, 1), "y": floats(3, 5)})


@pytest.mark.parametrize("c", [True, False])
def test_branches_give_sequences(c):
    text = """m (bool c, float[N] x, float[N] y) => (seq(float[K]) s, float[L] z) {
        s = If (c) <then_branch = t () => (seq(float[K]) p) { p = SequenceConstruct(x, y) },
                    else_branch = e () => (seq(float[K]) q) { a = Add(x, y) q = SequenceConstruct(a, x, a) }>
        z = ConcatFromSequence <axis = 0> (s) }"""
    as_onnxruntime(text, {"c": np.array(c), "x": floats(0, 3), "y": floats(1, 3)})


@pytest.mark.parametrize("c", [True, False])
def test_branches_give_optionals_one_of_them_empty(c):
    text = """m (bool c, float[N] x) => (bool there, float[N] z) {
        o = If (c) <then_branch = t () => (optional(float[N]) p) { a = Add(x, x) p = Optional(a) },
                    else_branch = e () => (optional(float[N]) q) { q = Optional <type: type_proto = float[N]> () }>
        there = OptionalHasElement(o)
        z = If (there) <then_branch = u () => (float[N] r) { r = OptionalGetElement(o) },
                        else_branch = v () => (float[N] w) { w = Neg(x) }> }"""
    x = floats(0, 3)
    there, z = session(text, head=HEAD).run(None, {"c": np.array(c), "x": x})
    assert there == c
    np.testing.assert_array_equal(z, x + x if c else -x)


def test_an_optional_is_carried_from_empty_to_full():
    text = """m (float[N] x, int64 M) => (bool there, float[N] z) {
        go = Constant<value = bool {1}>()  none = Optional <type: type_proto = float[N]> ()
        o = Loop (M, go, none) <body = b (int64 i, bool c, optional(float[N]) v) => (bool d, optional(float[N]) w) {
            d = Identity(c)  h = OptionalHasElement(v)
            w = If (h) <then_branch = t () => (optional(float[N]) p) { g = OptionalGetElement(v) a = Add(g, x) p = Optional(a) },
                        else_branch = e () => (optional(float[N]) q) { q = Optional(x) }> }>
        there = OptionalHasElement(o)
        z = If (there) <then_branch = u () => (float[N] r) { r = OptionalGetElement(o) },
                        else_branch = y () => (float[N] s) { s = Neg(x) }> }"""
    x = floats(0, 3)
    for m in (0, 1, 3):
        there, z = session(text, head=HEAD).run(None, {"x": x, "M": np.array(m)})
        assert there == (m > 0)
        np.testing.assert_allclose(z, m * x if m else -x, 1e-6)


def test_a_loop_without_a_count_or_a_condition_ends_by_its_body_alone():
    text = """m (int64 n) => (int64 k) {
        k = Loop ("", "", n) <body = b (int64 i, bool c, int64 v) => (bool d, int64 w) {
            two = Constant<value = int64 {2}>()  zero = Constant<value = int64 {0}>()
            w = Div(v, two)  d = Greater(w, zero) }> }"""
    s = session(text, head=HEAD)
    for n, due in ((1, 0), (9, 0), (-1, 0)):
        np.testing.assert_array_equal(s.run(None, {"n": np.array(n)}), [due])


@pytest.mark.parametrize("count", [-1, 0, -2**63])
def test_a_count_below_one_runs_nothing(count):
    text = """m (float[N] x, int64 M) => (float[N] z, float[A,B] s) {
        z, s = Loop (M, "", x) <body = b (int64 i, bool c, float[N] v) => (bool d, float[N] w, float[N] t) {
            d = Identity(c) w = Add(v, x) t = Neg(v) }> }"""
    z, s = session(text, head=HEAD).run(None, {"x": (x := floats(0, 3)), "M": np.array(count)})
    np.testing.assert_array_equal(z, x)
    assert s.shape == (0, 3)


@pytest.mark.parametrize("count", [2**62, 2**40])
def test_a_count_that_no_memory_holds_is_refused_by_name(count):
    text = """m (float[1024] x, int64 M) => (float[1024] z, float[A,B] s) {
        [around] z, s = Loop (M, "", x) <body = b (int64 i, bool c, float[1024] v) => (bool d, float[1024] w, float[1024] t) {
            d = Identity(c) w = Add(v, x) t = Neg(v) }> }"""
    with pytest.raises(interp.RunError, match="around"):
        session(text, head=HEAD).run(None, {"x": floats(0, 1024), "M": np.array(count)})


@pytest.mark.parametrize("row", ["t = Neg(v)", "q = SequenceConstruct(v) t = ConcatFromSequence<axis = 0>(q)"])
@pytest.mark.parametrize("on", ["d = Identity(c)", "none = Constant<value = int64 {-1}>() d = Greater(i, none)"])
def test_what_a_loop_collects_beyond_the_limit_of_the_session_is_refused_by_name(row, on):
    text = """m (float[1024] x, int64 M) => (float[1024] z, float[A,B] s) {
        [around] z, s = Loop (M, "", x) <body = b (int64 i, bool c, float[1024] v) => (bool d, float[1024] w, float[1024] t) {
            ON w = Add(v, x) ROW }> }""".replace("ON", on).replace("ROW", row)
    s = session(text, head=HEAD, most_bytes=2**20)
    assert s.run(None, {"x": floats(0, 1024), "M": np.array(100)})[1].shape == (100, 1024)
    for count in (300, 2**40):
        with pytest.raises(interp.RunError, match="around.*bytes"):
            s.run(None, {"x": floats(0, 1024), "M": np.array(count)})


NESTED = """m (float[N] x, int64 M, bool c) => (float[N] y) { a = Abs(x) y = f.around <by = 3.0> (a, M, c) }
<domain: "f", opset_import: ["": 18, "f": 1, "g": 3]> around <by: float = 2.0, less: float = 0.5> (v, M, c) => (r) {
    k = Constant <value_float: float = @by> ()
    s = f.square(v)
    r = Loop (M, "", v) <body = b (int64 i, bool go, float[N] u) => (bool on, float[N] w) {
        on = Identity(go)
        q = f.square(u)
        l = Constant <value_float: float = @less> ()
        w = If (c) <then_branch = t () => (p) { h = g.scaled(u) p = Sub(h, s) },
                    else_branch = e () => (o) { z = g.scaled <by: float = @by> (q) e1 = Mul(z, l) o = Add(e1, k) }> }>
}
<domain: "f", opset_import: ["": 18]> square (v) => (r) { s = Identity(v) r = Mul(v, s) }
<domain: "g", opset_import: ["": 13]> scaled <by: float = 0.25> (s) => (r) {
    k = Constant <value_float: float = @by> ()
    r = Mul(s, k)
}"""


@pytest.mark.parametrize("c", [True, False])
@pytest.mark.parametrize("level", [0, 2])
def test_functions_in_bodies_of_a_function_read_its_names_and_attributes(c, level):
    """Names of a function that bodies two deep read, attributes with defaults in them, functions of other opsets called there."""
    x, m = floats(0, 4) / 4, np.array(3)
    as_onnxruntime(NESTED, {"x": x, "M": m, "c": np.array(c)}, optimize=level)
    a = np.abs(x.astype(float))
    u = a
    for _ in range(3):
        u = u * 0.25 - a * a if c else u * u * 3 * 0.5 + 3
    got, = session(NESTED, head=HEAD, optimize=level).run(None, {"x": x, "M": m, "c": np.array(c)})
    np.testing.assert_allclose(got, u, 1e-5)


def test_overloads_with_bodies():
    """Two functions of one name: each call gets the one whose overload it names."""
    proto = onnx.parser.parse_model(HEAD + "m (float[N] x, bool c) => (float[N] y, float[N] z) {}")
    for overload, operator in (("up", "Add"), ("down", "Sub")):
        branches = {name: onnx.parser.parse_graph(f"{name} () => (o) {{ o = {operator}(v, {k}) }}")
                    for name, k in (("then_branch", "v"), ("else_branch", "w"))}
        nodes = [helper.make_node("Neg", ["v"], ["w"]), helper.make_node("If", ["c"], ["r"], **branches)]
        proto.functions.append(helper.make_function("f", "fn", ["v", "c"], ["r"], nodes, [helper.make_opsetid("", 18)],
                                                    overload=overload))
    for o, overload in (("y", "up"), ("z", "down")):
        proto.graph.node.append(helper.make_node("fn", ["x", "c"], [o], domain="f", overload=overload))
    x = floats(0, 3)
    for c, up, down in ((True, x + x, x - x), (False, x - x, x + x)):
        agree(interp.load(proto).run(None, {"x": x, "c": np.array(c)}), [up, down])


def test_absent_inputs_and_outputs_of_functions_reach_the_operators_inside():
    text = """m (float[N] x, float low) => (float[N] a, float[N] b, int64[N] i) {
        a = f.cut(x, low)  b = f.cut(x, "", low)
        , i = f.top(x) }
    <domain: "f", opset_import: ["": 18]> cut (v, low, high) => (r) { r = Clip(v, low, high) }
    <domain: "f", opset_import: ["": 18]> top (v) => (w, i) { k = Shape(v) w, i = TopK(v, k) }"""
    proto = model(text.replace(", i = f.top(x)", "w, i = f.top(x)"), HEAD)
    proto.graph.node[2].output[0] = ""
    x, low = floats(0, 5), np.array(0.1, "f4")
    a, b, i = interp.load(proto).run(None, {"x": x, "low": low})
    agree([a, b, i], [np.maximum(x, low), np.minimum(x, low), np.argsort(-x, kind="stable")])


ENDLESS = """
import sys, numpy as np, onnx.parser, interp
text = sys.argv[1]
s = interp.load(onnx.parser.parse_model(text))
print("begun", flush=True)
try:
    s.run(None, {"x": np.zeros(3, "f4")})
except KeyboardInterrupt:
    print("interrupted")
"""
SPIN = """m (float[3] x) => (float[3] y) { y = Loop ("", "", x) <body = b (int64 i, bool c, float[3] v) => (bool d, float[3] w) {
    d = Identity(c) BODY }> }"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of this system are other ones")
@pytest.mark.parametrize("inner", [
    "w = Add(v, x)", "s = SequenceConstruct(v) w = ConcatFromSequence<axis = 0>(s)",
    'w = Scan <num_scan_inputs = 1, body = e (float t, float a) => (float u) { u = Add(t, a) }> (z, x)'],
    ids=["compiled", "python", "scan"])
def test_ctrl_c_ends_an_endless_loop(inner):
    text = SPIN.replace("BODY", inner)
    if "Scan" in inner:
        text = text.replace("w = Scan", "z = ReduceSum<keepdims = 0>(v) q = Scan").replace("(z, x) }>", "(z, x) w = Add(v, q) }>")
    child = subprocess.Popen([sys.executable, "-c", ENDLESS, HEAD + text], stdout=subprocess.PIPE, text=True,
                             env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    try:
        assert child.stdout.readline() == "begun\n"
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        assert child.communicate(timeout=20)[0] == "interrupted\n"
    finally:
        child.kill()
