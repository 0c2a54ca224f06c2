"""Observers: what they are told of a run, on the bound program as it runs without them."""
import threading
import time

import ml_dtypes
import numpy as np
import pytest

import interp

from .test_official import collected, model_and_sets
from .toys import IF, LOOP, NESTED, TAIL, floats, session
from .unbound import values_of

CHAIN = ("m (float[N, 4] x) => (float[N, 4] y) <float[4] w = {1, -2, 3, 4}> "
         "{ [a] a = Add(x, w) [b] b = Relu(a) [c] c = Neg(b) [d] y = Sub(c, x) }")


def watched(s, feeds):
    """The outputs of a run, and what was told of it with copies of the arrays."""
    told = []

    def keep(event):
        told.append((event, copies(event.inputs), copies(event.outputs)))

    s.observers.append(keep)
    try:
        return s.run(None, feeds), told
    finally:
        s.observers.remove(keep)


def copies(values):
    return {k: np.copy(v) if isinstance(v, np.ndarray) else v for k, v in values.items()}


@pytest.mark.parametrize("text, inner", [(CHAIN, 0), (TAIL, 0), (IF, None), (NESTED, None), (LOOP, None)])
@pytest.mark.parametrize("optimize", [0, 2])
def test_events_have_the_values_of_a_run_called_node_by_node(text, inner, optimize):
    """Inputs too, where an operator has written over them since."""
    s = session(text, optimize=optimize)
    shape = (3, 4) if text is CHAIN else (4, *[2 if text is LOOP else 3] * (text in (IF, LOOP)))
    feeds = {"x": floats(0, *shape)}
    feeds |= {"c": np.array(True)} if text in (IF, NESTED) else {"M": np.array(3)} if text is LOOP else {}
    due = values_of(s, feeds)
    for _ in range(3):
        made, told = watched(s, feeds)
        for value, got in zip(s.outputs, made, strict=True):
            np.testing.assert_array_equal(got, due[value.name])
        outer = [t for t in told if not t[0].within]
        assert [e.index for e, _, _ in outer] == list(range(len(outer)))
        for event, inputs, outputs in outer:
            for name, value in {**inputs, **outputs}.items():
                np.testing.assert_array_equal(value, due[name], err_msg=f"{event.node} {name}")
        assert {o for _, _, outputs in outer for o in outputs} >= {v.name for v in s.outputs}


def test_an_event_says_which_node_this_is():
    s = session(CHAIN, optimize=0)
    x = floats(0, 2, 4)
    before = time.perf_counter()
    _, told = watched(s, {"x": x})
    after = time.perf_counter()
    assert [(e.node, e.op_type, e.domain, e.index, e.sources) for e, _, _ in told] == [
        ("a", "Add", "", 0, ("a",)), ("b", "Relu", "", 1, ("b",)), ("c", "Neg", "", 2, ("c",)), ("d", "Sub", "", 3, ("d",))]
    assert all(before <= e.started and 0 < e.seconds and e.started + e.seconds <= after for e, _, _ in told)
    assert [list(i) for _, i, _ in told] == [["x", "w"], ["a"], ["b"], ["c", "x"]]
    assert len({e.run for e, _, _ in told}) == 1


def test_a_fused_node_names_those_that_it_stands_for():
    s = session(CHAIN)
    _, told = watched(s, {"x": floats(0, 2, 4)})
    assert [e.sources for e, _, _ in told] == [("a", "b", "c", "d")]
    s = session("m (float[N] x) => (float[N] y) { [p] a = Relu(x) [q] b = Relu(x) [r] y = Add(a, b) }", optimize=2)
    _, told = watched(s, {"x": floats(0, 3)})
    assert sorted(name for e, _, _ in told for name in e.sources) == ["p", "q", "r"]


def test_views_and_sizes_are_told_of_and_take_no_time():
    s = session("m (float[N, 2, 3] x) => (float[N, 6] y, int64[3] n) "
                "{ [r] a = Relu(x) [f] b = Flatten(a) [g] y = Neg(b) [s] n = Shape(x) }", optimize=0)
    x = floats(1, 2, 2, 3)
    (y, n), told = watched(s, {"x": x})
    assert [(e.node, e.seconds == 0) for e, _, _ in told] == [("r", False), ("f", True), ("g", False), ("s", True)]
    np.testing.assert_array_equal(told[1][2]["b"], np.maximum(x, 0).reshape(2, 6))
    np.testing.assert_array_equal(told[3][2]["n"], [2, 2, 3])


def test_what_a_body_in_python_runs_is_told_of_before_its_node():
    text = ("m (float[N] x, bool c) => (float[K] y) { [outer] y = If(c) <then_branch = t () => (float[K] p) "
            "{ [hit] q = NonZero(x) [row] r = Cast <to = 1> (q) [flat] s = Flatten <axis = 0> (r) "
            "k = Constant <value = int64[1] {0}> () [last] p = Squeeze(s, k) }, "
            "else_branch = e () => (float[K] u) { [other] u = Relu(x) }> }")
    s = session(text, optimize=0)
    for c, names in ((True, ["hit", "row", "flat", "last"]), (False, ["other"])):
        _, told = watched(s, {"x": np.array([1, 0, 2], "f4"), "c": np.array(c)})
        inner, outer = told[:-1], told[-1][0]
        assert [e.node for e, _, _ in inner if e.op_type != "Constant"] == names and outer.node == "outer" and outer.within == ()
        assert all(e.within == ("outer",) for e, _, _ in inner)
        assert sum(e.seconds for e, _, _ in inner) <= outer.seconds


def test_strings_and_sequences_are_told_of():
    s = session('m (string[N] x) => (string[N] y, seq(string[N]) l) '
                '{ [a] y = StringConcat(x, x) [b] l = SequenceConstruct(x, y) }')
    _, told = watched(s, {"x": np.array(["p", "q"], object)})
    assert told[0][1]["x"].tolist() == ["p", "q"] and told[0][2]["y"].tolist() == ["pp", "qq"]
    assert [a.tolist() for a in told[1][2]["l"]] == [["p", "q"], ["pp", "qq"]]


def test_what_is_written_to_outputs_later_nodes_read_and_inputs_refuse_it():
    s = session(CHAIN, optimize=0)
    x = floats(0, 2, 4)

    def change(event):
        if event.node == "b":
            event.outputs["b"][...] = 5
        with pytest.raises(ValueError, match="read-only"):
            next(iter(event.inputs.values()))[...] = 0

    s.observers.append(change)
    np.testing.assert_array_equal(s.run(None, {"x": x})[0], -5 - x)


def test_outputs_that_are_the_callers_or_the_models_are_read_only():
    s = session("m (float[2] x) => (float[2] y, float[1,2] z) <float[2] w = {1, 2}, int64[2] n = {1, 2}> "
                "{ [v] a = Reshape(x, n) [k] b = Reshape(w, n) [s] z = Add(a, b) [t] y = Relu(x) }", optimize=0)

    def spoil(event):
        for array in event.outputs.values():
            if array.flags.writeable:
                array[...] = 7

    s.observers.append(spoil)
    x = np.array([1, 2], "f4")
    assert [a.ravel().tolist() for a in s.run(None, {"x": x})] == [[7, 7], [7, 7]]
    s.observers.clear()
    assert x.tolist() == [1, 2] and s.run(None, {"x": x})[1].tolist() == [[2, 4]]


class Stop(Exception):
    pass


@pytest.mark.parametrize("text", [CHAIN, IF, TAIL])
def test_what_an_observer_raises_reaches_the_caller_and_the_session_goes_on(text):
    s = session(text, optimize=0)
    feeds = {"x": floats(0, *{CHAIN: (3, 4), IF: (4, 3), TAIL: (4,)}[text])}
    feeds |= {"c": np.array(True)} if text is IF else {}
    due = s.run(None, feeds)

    def stop(event):
        raise Stop(event.node)

    s.observers.append(stop)
    for _ in range(2):
        with pytest.raises(Stop):
            s.run(None, feeds)
    s.observers.clear()
    for got, want in zip(s.run(None, feeds), due, strict=True):
        np.testing.assert_array_equal(got, want)


def test_an_observer_in_a_body_that_runs_from_python_raises_as_it_is():
    s = session("m (float[N] x, bool c) => (float[K] y) { [outer] y = If(c) <then_branch = t () => (float[K] p) "
                "{ [hit] q = Unique(x) p = Relu(q) }, else_branch = e () => (float[K] u) { u = Relu(x) }> }", optimize=0)

    def stop(event):
        raise Stop(event.node)

    s.observers.append(stop)
    with pytest.raises(Stop, match="^hit$"):
        s.run(None, {"x": np.ones(3, "f4"), "c": np.array(True)})


def test_threads_on_one_session_do_not_mix():
    s = session(CHAIN, optimize=0)
    told, wrong = {}, []

    def keep(event):
        told.setdefault(event.run, []).append((threading.get_ident(), event.node, float(event.outputs.popitem()[1].ravel()[0])))

    s.observers.append(keep)

    def work(value):
        for _ in range(50):
            y = s.run(None, {"x": np.full((2, 4), value, "f4")})[0]
            if y[0, 0] != -max(value + 1, 0) - value:
                wrong.append(value)

    workers = [threading.Thread(target=work, args=(v,)) for v in (1, 2, 3, 4)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert not wrong and len(told) == 200
    for events in told.values():
        assert len({thread for thread, _, _ in events}) == 1 and [n for _, n, _ in events] == ["a", "b", "c", "d"]
        value = events[0][2] - 1
        assert [v for _, _, v in events] == [value + 1, value + 1, -(value + 1), -(value + 1) - value]


def test_sessions_that_an_observer_runs_are_not_told_of():
    s, other, names = session(CHAIN, optimize=0), session(TAIL, optimize=0), []

    def look(event):
        names.append(event.node)
        other.run(None, {"x": np.ones(4, "f4")})
        watchers, s.observers = s.observers, []
        s.run(None, {"x": np.ones((1, 4), "f4")})
        s.observers = watchers

    s.observers.append(look)
    s.run(None, {"x": np.ones((2, 4), "f4")})
    assert names == ["a", "b", "c", "d"]


def test_an_observer_that_reads_no_inputs_spares_their_copies():
    s = session(CHAIN, optimize=0)

    class Blind:
        reads_inputs = False
        seen = None

        def __call__(self, event):
            if event.node == "b":
                self.seen = event.inputs["a"].copy(), event.outputs["b"].copy()

    blind = Blind()
    s.observers.append(blind)
    s.run(None, {"x": floats(0, 2, 4)})
    np.testing.assert_array_equal(*blind.seen)  # written over in place, which is what this is about
    assert s.run(None, {"x": floats(0, 2, 4)})[0].shape == (2, 4)


def test_feeds_in_strides_and_narrow_types_are_seen_as_they_are():
    s = session("m (bfloat16[3, 2] x) => (bfloat16[6] y) <int64[1] n = {6}> { [a] a = Neg(x) [b] y = Reshape(a, n) }", optimize=0)
    x = np.arange(12, dtype=np.float32).reshape(3, 4).astype(ml_dtypes.bfloat16)[:, ::2]
    _, told = watched(s, {"x": x})
    assert [a.dtype for _, inputs, _ in told for a in inputs.values()] == [x.dtype, x.dtype, np.int64]
    np.testing.assert_array_equal(told[0][1]["x"].astype("f4"), x.astype("f4"))
    np.testing.assert_array_equal(told[1][2]["y"].astype("f4"), -x.astype("f4").reshape(-1))


def same(a, b):
    """Whether two values are alike to the bit."""
    if isinstance(a, np.ndarray):
        return (a.dtype, a.shape) == (b.dtype, b.shape) and (a.tolist() == b.tolist() if a.dtype.hasobject
                                                             else a.tobytes() == b.tobytes())
    return all(map(same, a, b)) and len(a) == len(b) if isinstance(a, list) else a == b


@pytest.mark.slow
@pytest.mark.parametrize("optimize", [0, 2])
def test_all_official_cases_are_told_of_as_they_are(optimize):
    """Every value that is told of is that of a run called node by node, and nodes come in order."""
    seen = 0
    for case in collected():
        if case.kind != "node" or not case.model.graph.node or case.model.ByteSize() > 300_000:
            continue
        model, [(inputs, _), *_] = model_and_sets(case)
        s = interp.load(model, optimize=optimize, threads=1)
        if any(n.schema.random for n in s._body.graph.walk()):
            continue
        feeds = {v.name: x if isinstance(x, list) else np.asarray(x) for v, x in zip(s.inputs, inputs, strict=False)}
        due, outputs = values_of(s, feeds), s.run(None, feeds)
        made, told = watched(s, feeds)
        assert all(map(same, made, outputs)), case.name
        outer = [t for t in told if not t[0].within]
        assert [e.index for e, _, _ in outer] == sorted({e.index for e, _, _ in outer}), case.name
        for event, *values in outer:
            assert all(same(a, due[k]) for each in values for k, a in each.items()), (case.name, event.node)
        seen += 1
    assert seen > 1000
