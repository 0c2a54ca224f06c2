"""Runs that fail, that are many at once, forked, cancelled and interrupted."""
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import interp
from interp.kernels.step import Later

from .toys import IF, NESTED, TAIL, agree, floats, session

# Failures


FAILS = """m (int64[N] x, int64[N] d, bool c) => (int64[N] y) {
    a = Add(x, x)
    [outer] b = If (c) <then_branch = t () => (int64[N] p) { [inner] p = Div(a, d) },
                        else_branch = e () => (int64[N] r) { [other] r = Div(x, d) }>
    y = Add(b, b) }"""


def test_a_failing_step_is_named_after_those_it_lies_in():
    s = session(FAILS)
    x, good, bad = np.array([4, 6]), np.array([2, 3]), np.array([1, 0])
    for c, name in ((True, "inner"), (False, "other"), (True, "inner")):
        with pytest.raises(interp.RunError, match=rf"(?s)outer.*{name}.*divided by zero"):
            s.run(None, {"x": x, "d": bad, "c": np.array(c)})
        np.testing.assert_array_equal(s.run(None, {"x": x, "d": good, "c": np.array(c)})[0], [8, 8] if c else [4, 4])


@pytest.mark.parametrize("kernel", [2**38, 2**58])
def test_a_node_that_needs_more_scratch_than_there_is_is_named(kernel):
    text = f"""m (double[N,C,W] x) => (double[N,C,V] y) {{
        a = Relu(x) [huge] y = AveragePool<kernel_shape = [{kernel}], auto_pad = "SAME_UPPER">(a) }}"""
    with pytest.raises(interp.RunError, match="huge.*bytes of scratch"):
        session(text, threads=8).run(None, {"x": np.ones((1, 1, 3))})


@pytest.mark.parametrize("text", [
    "m (float[N] x) => (float[N] y) { a = Relu(x) [mine] y = toys.Picky(a) }",
    "m (float[N] x) => (float[N] y, int64[1,K] i) { a = Relu(x) i = NonZero(a) [mine] y = toys.Picky(a) }",
    """m (float[N] x) => (float[N] y) { go = Constant<value = bool {1}>() M = Constant<value = int64 {2}>()
       [outer] y = Loop(M, go, x) <body = b (int64 i, bool c, float[N] v) => (bool d, float[N] w) {
           d = Identity(c) [mine] w = toys.Picky(v) }> }""",
], ids=["program", "part", "body"])
def test_a_failed_run_leaves_the_session_usable(text):
    @interp.op("Picky", domain="toys", shape=lambda x: [x.shape])
    def picky(x, *, out):
        def fill(x, out):
            if x.sum() > 100:
                raise ValueError("too much")
            out[...] = x
        return Later(fill, x, out)

    s = session(text, picky)
    for _ in range(12):
        with pytest.raises(interp.RunError, match="mine.*: too much") as caught:
            s.run(None, {"x": np.full(3, 99, "f4")})
        assert isinstance(caught.value.__cause__, Exception)
        np.testing.assert_array_equal(s.run(None, {"x": np.ones(3, "f4")})[0], [1, 1, 1])


def test_a_result_other_than_announced_is_refused():
    @interp.op("Liar", domain="toys", shape=lambda x: [x.shape])
    def liar(x):
        return x[:-1]

    s = session("m (float[N] x) => (float[N] y) { [mine] y = toys.Liar(x) }", liar)
    with pytest.raises(interp.RunError, match="mine.*announced"):
        s.run(None, {"x": floats(0, 3)})


def test_fewer_results_than_outputs_are_an_error():
    text = """m (float[N] x, bool c) => (float[N] y, float[N] z) {
        [mine] y, z = If (c) <then_branch = t () => (float[N] p) { p = Neg(x) },
                              else_branch = e () => (float[N] q) { q = Abs(x) }> }"""
    with pytest.raises(interp.RunError, match="mine.*gave 1 results where the node has 2"):
        session(text).run(None, {"x": floats(0, 3), "c": np.array(True)})


@pytest.mark.parametrize("rule", [lambda x: [x.shape], lambda x: [None]], ids=["known", "unknown"])
@pytest.mark.parametrize("function, told", [(lambda x: (), "gave 0 results"), (lambda x: None, "Relu|announced")])
def test_a_function_without_results_is_an_error(rule, function, told):
    nothing = interp.op("Nothing", domain="toys", shape=rule)(function)
    s = session("m (float[N] x) => (float[N] y) { a = toys.Nothing(x) y = Relu(a) }", nothing)
    with pytest.raises(interp.InterpError, match=told):
        s.run(None, {"x": floats(0, 3)})


@pytest.mark.parametrize("rule", [lambda x: [x.shape], lambda x: [None]], ids=["known", "unknown"])
def test_results_in_another_byte_order_are_turned(rule):
    turned = interp.op("Turned", domain="toys", shape=rule)(lambda x: x.astype(x.dtype.newbyteorder()))
    s = session("m (float[N] x) => (float[N] y) { a = toys.Turned(x) y = Relu(a) }", turned)
    np.testing.assert_array_equal(s.run(None, {"x": floats(1, 3)})[0], floats(1, 3))


@pytest.mark.parametrize("given", [None, 7, lambda threads: None])
def test_a_function_that_returns_no_step_is_named(given):
    @interp.op("Stepless", domain="toys", shape=lambda x: [x.shape])
    def stepless(x, *, out):
        return given
    with pytest.raises(interp.RunError, match="mine.*returned no step but"):
        session("m (float[N] x) => (float[N] y) { [mine] y = toys.Stepless(x) }", stepless).run(None, {"x": floats(0, 3)})


def test_a_size_below_zero_names_the_node():
    @interp.op("Shorter", domain="toys", shape=lambda x: [(x.shape[0] - 3,)])
    def shorter(x):
        return x[3:]
    for text in ("y = toys.Shorter(x)", "[mine] a = toys.Shorter(x) y = Neg(a)"):
        s = session(f"m (float[N] x) => (float[K] y) {{ {text.replace('y = toys', '[mine] y = toys')} }}", shorter)
        with pytest.raises(interp.RunError, match=r"mine.*\[-1\]"):
            s.run(None, {"x": floats(0, 2)})
        assert s.run(None, {"x": floats(0, 4)})[0].shape == (1,)


def test_huge_sizes_are_an_error_and_no_crash():
    text = "m (float[N,1] x, float[1,M] y) => (float[N,M] z) { a = Add(x, y) b = Neg(a) z = Relu(b) }"
    s = session(text)
    one = np.zeros(1, "f4")
    wide = {"x": np.broadcast_to(one, (2**23, 1)), "y": np.broadcast_to(one, (1, 2**23))}
    with pytest.raises(interp.RunError):
        s.run(None, {"x": wide["x"].reshape(-1, 1)[:2**23], "y": wide["y"]})
    assert s.run(None, {"x": floats(0, 2, 1), "y": floats(0, 1, 3)})[0].shape == (2, 3)


# Several at once


def test_eight_threads_on_one_session():
    s = session(NESTED)
    feeds = [{"x": floats(i, 3 + i % 3), "c": np.array(i % 2 == 0)} for i in range(8)]
    due, bad = [s.run(None, f) for f in feeds], []

    def work(f, want):
        for _ in range(200):
            if not all(map(np.array_equal, s.run(None, f), want)):
                bad.append(f)
    threads = [threading.Thread(target=work, args=a) for a in zip(feeds, due, strict=True)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not bad


@pytest.mark.parametrize("text", [TAIL, "m (float[N] x) => (float[N] y) { a = toys.Doubled(x) y = toys.Doubled(a) }",
                                  "m (float x) => (float y) { a = Relu(x) y = Add(a, x) }"], ids=["cut", "python", "no axes"])
def test_threads_that_start_together(text):
    """The first runs of all meet while nothing is planned yet."""
    text = text.replace("(float x)", "(float[] x)")
    for _ in range(5):
        s = session(text, threads=2)
        made, gate = {}, threading.Barrier(8)

        def work(i, s=s, made=made, gate=gate):
            x = floats(i, 4 + i if "[N]" in text else 3)
            gate.wait()
            made[i] = x, [s.run(None, {"x": x}) for _ in range(10)]
        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert len(made) == 8
        for x, results in made.values():
            for r in results:
                agree(r, results[0])
            last = results[0][-1]
            want = 4 * x if "Doubled" in text else 2 * np.maximum(x, 0) if "NonZero" in text else np.maximum(x, 0) + x
            np.testing.assert_allclose(last, want, 1e-6)


def test_a_session_runs_inside_its_own_run():
    """A Python step may use the session that it is a step of."""
    inner = {}

    @interp.op("Deeper", domain="toys", shape=lambda x: [x.shape])
    def deeper(x):
        return inner["s"].run(None, {"x": x - 1})[0] if x[0] > 0 else x
    s = inner["s"] = session("m (float[N] x) => (float[N] y) { a = Identity(x) b = toys.Deeper(a) y = Add(b, x) }", deeper)
    np.testing.assert_array_equal(s.run(None, {"x": np.array([3], "f4")})[0], [3 + 2 + 1 + 0 + 0])


def doubled_in_child(x):
    return SHARED.run(None, {"x": x, "c": np.array(True)})[0]


SHARED = None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_runs_after_fork():
    global SHARED
    SHARED = session(IF, threads=2)
    xs = [floats(i, 40, 3) for i in range(4)]
    due = [doubled_in_child(x) for x in xs]
    pid = os.fork()
    if pid == 0:
        os._exit(0 if all(np.array_equal(doubled_in_child(x), w) for x, w in zip(xs, due, strict=True)) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    with multiprocessing.get_context("fork").Pool(2) as pool:
        for made, want in zip(pool.map(doubled_in_child, xs), due, strict=True):
            np.testing.assert_array_equal(made, want)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_neither_waits_for_the_runs_of_its_parent_nor_cancels_its_own_with_them():
    s, x, begun, go_on = session(TAIL), floats(0, 5), threading.Event(), threading.Event()
    [*due] = s.run(None, {"x": x})

    def wait(event):
        begun.set()
        assert go_on.wait(60)
    s.observers.append(wait)
    t = threading.Thread(target=s.run, args=(None, {"x": x}))
    t.start()
    assert begun.wait(60)
    pid = os.fork()
    if pid == 0:
        signal.alarm(20)
        s.observers.clear()
        s.cancel()
        same = all(np.array_equal(y, w) for y, w in zip(s.run(None, {"x": x}), due, strict=True))
        s.close()
        os._exit(0 if same else 1)
    go_on.set()
    t.join(60)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


FOREVER = """m (float[N] x) => (float[N] y) {
    go = Constant<value = bool {1}>()
    y = Loop ("", go, x) <body = b (int64 i, bool c, float[N] v) => (bool d, float[N] w) { d = Identity(c) w = Add(v, x) }> }"""


@pytest.mark.parametrize("text", [FOREVER, FOREVER.replace("Add(v, x)", "toys.Doubled(v)")], ids=["compiled", "python"])
def test_a_run_is_cancelled_from_another_thread(text):
    s = session(text)
    failed = []

    def work():
        with pytest.raises(interp.RunError, match="cancelled"):
            s.run(None, {"x": np.zeros(3, "f4")})
        failed.append(True)
    threads = [threading.Thread(target=work) for _ in range(2)]
    for t in threads:
        t.start()
    for _ in range(100):
        time.sleep(0.02)
        s.cancel()
        if not any(t.is_alive() for t in threads):
            break
    for t in threads:
        t.join(5)
    assert failed == [True, True]


def test_a_cancelled_session_runs_again():
    s = session(FOREVER.replace('("", go', "(M, go").replace("(float[N] x)", "(float[N] x, int64 M)"))
    long = {"x": np.zeros(3, "f4"), "M": np.array(2**60)}
    t = threading.Thread(target=lambda: pytest.raises(interp.RunError, s.run, None, long))
    t.start()
    while t.is_alive():
        time.sleep(0.01)
        s.cancel()
    np.testing.assert_array_equal(s.run(None, {"x": np.ones(2, "f4"), "M": np.array(3)})[0], [4, 4])


@pytest.mark.parametrize("python", [False, True], ids=["compiled", "python"])
def test_control_c_ends_a_long_loop(python):
    text = FOREVER.replace("Add(v, x)", "toys.Doubled(v)") if python else FOREVER
    code = f"""
        import numpy as np
        from tests.toys import session
        s = session({text!r})
        print("running", flush=True)
        try:
            s.run(None, {{"x": np.zeros(3, "f4")}})
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    """
    child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "running\n"
    time.sleep(0.3)
    begun = time.perf_counter()
    child.send_signal(signal.SIGINT)
    assert child.communicate(timeout=20)[0] == "interrupted\n"
    assert time.perf_counter() - begun < 5
