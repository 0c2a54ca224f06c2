"""Profile, Trace and Memory as programs use them: what nodes take, runs as a trace, when values take most memory."""
import json
import threading
import time

import numpy as np
import pytest

import interp
from interp.observe import Ended, Event

from .toys import floats, session

WIDE = (f"m (float[N, 8] x) => (float[N, 2] y) <float[8, 4] w = {{{', '.join('1' * 32)}}}, float[4, 2] v = "
        f"{{{', '.join('1' * 8)}}}> {{ [first] a = MatMul(x, w) [bend] b = Relu(a) [second] y = MatMul(b, v) }}")


def told(node, seconds, run=1, within=(), op_type="Relu", index=0):
    """An event of an array of 24 bytes."""
    a = np.zeros((2, 3), np.float32)
    return Event(node, op_type, "", index, (node,), {"x": a}, {"y": a}, 0.0, seconds, within, run, ("x",), ("y",), {})


def test_seconds_are_medians_over_runs_and_shares_add_up():
    profile = interp.Profile()
    for run, (a, b) in enumerate([(1.0, 2.0), (3.0, 2.5), (2.0, 9.0)]):
        profile(told("a", a, run))
        profile(told("b", b, run, index=1))
        profile.finished(Ended(run, 0.0, a + b, 100 + run))
    assert [(n.name, n.seconds) for n in profile.nodes] == [("a", 2.0), ("b", 2.5)]
    report = profile.report()
    assert report["runs"] == 3 and report["seconds"] == 4.5 and report["memory"] == {"programs": 102}
    assert [n["share"] for n in report["nodes"]] == [2 / 4.5, 2.5 / 4.5]
    assert report["wall"] == {"plain": None, "observed": 5.5}
    [operator] = report["operators"]
    assert (operator["nodes"], operator["seconds"], operator["bytes"]) == (2, 4.5, 48)


def test_a_node_takes_what_the_nodes_within_it_do_not():
    profile = interp.Profile()
    for _ in range(2):
        profile(told("inner", 1.0, within=("outer",)))
    profile(told("outer", 5.0, op_type="If"))
    assert {n.name: (n.seconds, n.calls) for n in profile.nodes} == {"inner": (2.0, 2), "outer": (3.0, 1)}


def test_nodes_of_several_runs_at_once_are_told_apart():
    s, profile = session(WIDE), interp.Profile()
    s.observers.append(profile)
    workers = [threading.Thread(target=lambda: [s.run(None, {"x": floats(0, 3, 8)}) for _ in range(20)]) for _ in range(4)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert len(profile.walls) == 80 and all(len(n.runs) == 80 and n.calls == 1 for n in profile.nodes)


def test_a_profile_measures_beside_unobserved_runs_and_leaves_observers_alone():
    s, seen = session(WIDE, optimize=0), []
    s.observers.append(seen.append)
    profile = interp.profile(s, {"x": floats(0, 3, 8)}, runs=4)
    assert seen == [] and s.observers == [seen.append]
    assert len(profile.plain) == len(profile.walls) == 4
    assert [(n.name, n.macs, n.bytes) for n in profile.nodes] == [
        ("first", 3 * 4 * 8, 48), ("bend", 0, 48), ("second", 3 * 2 * 4, 24)]
    assert all(0 < n.seconds for n in profile.nodes) and profile.seconds < sum(profile.walls)
    assert [(g.op_type, g.nodes, g.macs) for g in sorted(profile.grouped("op"), key=lambda g: g.op_type)] == [
        ("MatMul", 2, 120), ("Relu", 1, 0)]
    assert sorted(g.inputs for g in profile.grouped("shape")) == [
        ("float32[3,4]",), ("float32[3,4]", "float32[4,2]"), ("float32[3,8]", "float32[8,4]")]


def test_a_failing_run_leaves_the_observers_of_a_profiled_session():
    s = session("m (int64[N] x, int64[N] y) => (int64[N] z) { z = Div(x, y) }")
    s.observers.append(print)
    with pytest.raises(interp.RunError):
        interp.profile(s, {"x": np.array([1]), "y": np.array([0])})
    assert s.observers == [print]


def test_a_trace_has_complete_events_that_lie_within_their_run(tmp_path):
    s, trace = session(WIDE, optimize=0), interp.Trace("wide")
    s.observers.append(trace)
    for _ in range(2):
        s.run(None, {"x": floats(0, 3, 8)})
    trace.save(tmp_path / "t.json")
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    about, complete = [e for e in events if e["ph"] == "M"], [e for e in events if e["ph"] == "X"]
    assert [e["args"]["name"] for e in about] == ["interp wide"] and len(events) == len(about) + len(complete)
    assert min(e["ts"] for e in complete) == 0
    for run in [e for e in complete if e["cat"] == "run"]:
        inside = [e for e in complete if e["cat"] != "run" and run["ts"] <= e["ts"] < run["ts"] + run["dur"]]
        assert [e["name"] for e in inside] == ["first", "bend", "second"]
        assert all(e["ts"] + e["dur"] <= run["ts"] + run["dur"] + 0.002 and (e["pid"], e["tid"]) == (run["pid"], run["tid"])
                   for e in inside)
        assert all(a["ts"] + a["dur"] <= b["ts"] + 0.002 for a, b in zip(inside, inside[1:], strict=False))
        assert inside[0]["args"]["outputs"] == {"a": "float32[3,4]"}


def test_times_of_a_trace_are_microseconds():
    trace = interp.Trace()
    trace(Event("a", "Relu", "", 0, ("a",), {}, {}, time.perf_counter(), 0.25, (), 1, (), (), {}))
    assert trace.as_json()["traceEvents"][1]["dur"] == 250_000


PEAK = ("m (float[1000] x) => (float[1000] y) { [p] a = Exp(x) [q] b = Exp(x) [r] c = Exp(x) [s] ab = Add(a, b) "
        "[t] abc = Add(ab, c) [u] y = Neg(abc) }")


def test_memory_is_at_its_most_where_most_is_alive():
    """Three values of 4,000 bytes before the first sum; it writes over one of them, so that no fourth is alive."""
    s = session(PEAK, optimize=0)
    memory = interp.Memory(["y"])
    s.observers.append(memory)
    s.run(None, {"x": floats(0, 1000)})
    [peak] = memory.peaks.values()
    assert (peak.bytes, peak.node) == (12000, "r")
    assert sorted((a.name, a.bytes, a.maker, a.reader) for a in peak.alive) == [
        ("a", 4000, "p", "s"), ("b", 4000, "q", "s"), ("c", 4000, "r", "t")]


def test_views_share_memory_and_outputs_live_to_the_end():
    s = session("m (float[100] x) => (float[100] y, float[10, 10] z) <int64[2] n = {10, 10}> "
                "{ [p] a = Exp(x) [v] b = Reshape(a, n) [q] z = Neg(b) [r] y = Exp(x) }", optimize=0)
    memory = interp.Memory(["y", "z"])
    s.observers.append(memory)
    s.run(None, {"x": floats(0, 100)})
    [peak] = memory.peaks.values()
    assert peak.bytes == 800
