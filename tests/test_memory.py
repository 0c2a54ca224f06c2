"""Whose memory is whose: feeds of any layout, outputs of their own, constants packed once, nothing kept alive."""
import gc
import subprocess
import sys
import weakref
from collections import Counter

import numpy as np
import onnx.parser
import pytest

import interp
from interp.kernels.step import Later

from .toys import IF, agree, floats, session


@pytest.mark.parametrize("twist", [
    lambda x: x[::2], np.asfortranarray, lambda x: x[:, ::-1], lambda x: x[:0], lambda x: np.broadcast_to(x[:1], x.shape),
    lambda x: (x.setflags(write=False), x)[1],
    lambda x: np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view("f4").reshape(x.shape),
], ids=["strided", "fortran", "reversed", "empty", "broadcast", "read-only", "unaligned"])
def test_feeds_of_any_layout(twist):
    s = session("m (float[N,6] x) => (float[N,6] y, float[N,6] z) { a = Add(x, x) y = Relu(a) z = Identity(x) }")
    for _ in range(2):
        x = twist(floats(0, 4, 6))
        y, z = s.run(None, {"x": x})
        np.testing.assert_array_equal(y, np.maximum(x + x, 0))
        np.testing.assert_array_equal(z, x)


def test_feeds_without_axes():
    s = session("m (float x) => (float y) { y = Add(x, x) }")
    [y] = s.run(None, {"x": np.array(3, "f4")})
    assert y.shape == () and y == 6
    [y] = s.run(None, {"x": np.float32(4)})
    assert isinstance(y, np.ndarray) and y == 8


def test_one_array_fed_twice():
    s = session("m (float[N] x, float[N] y) => (float[N] z) { a = Relu(x) z = Add(a, y) }")
    x = floats(0, 5)
    kept = x.copy()
    np.testing.assert_array_equal(s.run(None, {"x": x, "y": x})[0], np.maximum(x, 0) + x)
    np.testing.assert_array_equal(x, kept)


def test_outputs_are_never_written_by_later_runs():
    s = session(IF)
    kept = []
    for n in (2, 3, 2, 2, 3):
        [y] = s.run(None, {"x": floats(len(kept), n, 3), "c": np.array(True)})
        kept.append((y, y.copy()))
    for y, copy in kept:
        np.testing.assert_array_equal(y, copy)


@pytest.mark.parametrize("text", [
    "m (float[N] x) => (float[N] y) { a = Relu(x) y = Add(a, x) }",
    "m (float[N] x) => (float[N] y, int64[1,K] i) { a = Relu(x) i = NonZero(a) y = Add(a, x) }",
    "m (float[N] x) => (float[N] y) { a = toys.Doubled(x) y = Add(a, x) }",
    "m (float[N] x) => (float[N] y) { a = toys.Doubled(x) y = toys.Doubled(a) }",
    "m (float[N] x) => (seq(float[N]) y) { a = Relu(x) y = SequenceConstruct(a, x) }",
], ids=["compiled", "cut", "python", "all python", "sequence"])
def test_arrays_are_not_kept_alive_after_a_run(text):
    s = session(text)
    for _ in range(2):
        x = floats(0, 1000)
        made = s.run(None, {"x": x})
        arrays = [x, *(b for a in made for b in (a if isinstance(a, list) else [a]))]
        gone = [weakref.ref(a) for a in arrays]
        del x, made, arrays
        gc.collect()
        assert not any(r() is not None for r in gone)


def test_a_sequence_holds_arrays_of_its_own():
    text = "m (float[N] x) => (seq(float[N]) y) { a = Relu(x) b = Neg(a) y = SequenceConstruct(b, x, x) }"
    s = session(text)
    kept = []
    for i in range(3):
        x = floats(i, 5)
        [y] = s.run(None, {"x": x})
        due = [-np.maximum(x, 0), x.copy(), x.copy()]
        x[...] = 99
        kept.append((y, due))
    for y, due in kept:
        agree(y, due)


def test_a_copy_made_while_binding_is_refused():
    relu = next(o for o in interp.standard if o.name == "Relu")

    @interp.op("Relu", 1, 14, shape=relu.shape)
    def copying(X, *, consumed_inputs=None, out):
        return relu.run(X.copy(), out=out)

    s = session("m (float[N] x) => (float[N] y) { a = Neg(x) [mine] y = Relu(a) }", copying)
    with pytest.raises(interp.RunError, match="mine.*memory that is not the program's"):
        s.run(None, {"x": floats(0, 3)})


def test_constants_are_packed_once_for_all_signatures():
    packed = Counter()

    def pack(w):
        packed["times"] += 1
        return w * 2

    @interp.op("Scaled", domain="toys", shape=lambda x, w: [x.shape])
    def scaled(x, w, *, constant, out):
        packed = constant(pack, w)
        return Later(lambda x, out: np.multiply(x, packed, out=out), x, out)

    text = """m (float[N,2] x, bool c) => (float[N,2] y) <float[2] w = {1, 2}> {
        a = toys.Scaled(x, w)
        y = If (c) <then_branch = t () => (float[N,2] p) { p = toys.Scaled(a, w) },
                    else_branch = e () => (float[N,2] q) { q = Neg(a) }> }"""
    s = session(text, scaled)
    for n in (1, 2, 3, 1):
        x = floats(n, n, 2)
        np.testing.assert_allclose(s.run(None, {"x": x, "c": np.array(True)})[0], x * [4, 16], 1e-6)
    assert packed["times"] == 1


def test_what_is_fed_is_not_packed():
    @interp.op("Scaled", domain="toys", shape=lambda x, w: [x.shape])
    def scaled(x, w, *, constant, out):
        return Later(lambda x, w, out: np.multiply(x, constant(lambda w: w * 0, w), out=out), x, w, out)

    s = session("m (float[N] x, float[N] w) => (float[N] y) { y = toys.Scaled(x, w) }", scaled)
    for i in range(3):
        x, w = floats(i, 4), floats(i + 9, 4)
        np.testing.assert_array_equal(s.run(None, {"x": x, "w": w})[0], x * w)


STARVED = """
import resource, numpy as np, onnx.parser, interp
model = onnx.parser.parse_model(
    '<ir_version: 10, opset_import: ["": 22]> g (float[n] x, float[m, 1] z) => (float[m, n] y) { y = Add(x, z) }')
s = interp.load(model, threads=1)
feeds = {"x": np.zeros(1 << 15, np.float32), "z": np.zeros((1 << 15, 1), np.float32)}
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
s.run(None, {k: v[:2] for k, v in feeds.items()})
resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 30),) * 2)  # the result takes four times as much
try:
    s.run(None, feeds)
except interp.RunError as e:
    print("refused:", e)
print(s.run(None, {k: v[:2] for k, v in feeds.items()})[0].shape)
"""


def test_a_run_that_memory_does_not_suffice_for_is_an_error_and_the_session_lives_on():
    ran = subprocess.run([sys.executable, "-c", STARVED], capture_output=True, text=True, timeout=120)
    assert ran.stdout.startswith("refused:") and "(2, 2)" in ran.stdout, ran.stdout + ran.stderr


def test_a_weight_that_a_file_has_out_of_line_is_packed_though_its_bias_is_out_of_line_too():
    """A bias that has to be copied to be read must not keep the weight beside it from being packed."""
    weights, bias = floats(0, 8, 70_000), floats(1, 70_000)
    for pad in range(4):  # with one of these at least, both lie where no float may
        proto = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["": 22]> m (float[2,8] x) => (float[2,70000] y)
            { p = MatMul(x, w) y = Add(p, b) }""")
        proto.doc_string = "-" * pad
        proto.graph.initializer.extend([onnx.numpy_helper.from_array(weights, "w"), onnx.numpy_helper.from_array(bias, "b")])
        session = interp.load(proto.SerializeToString())
        x = np.ones((2, 8), np.float32)
        np.testing.assert_allclose(session.run(None, {"x": x})[0], weights.sum(0) + bias + 0 * x[:, :1], rtol=1e-5, atol=1e-5)
        [step] = session._body.whole.plan.bind([x]).steps
        assert [a.shape for a in step.arrays] == [(2, 8), (70_000,), (2, 70_000)]  # the weight is in the step, as panels
