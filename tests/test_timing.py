"""How runs are timed: how many there are, who makes them, and what their percentiles are."""
import threading

import numpy as np
import pytest

from interp.timing import Latencies, measure


def test_as_many_runs_as_asked_for_are_timed_whoever_makes_them():
    for callers in (1, 3, 8):
        seen = []
        found = measure(lambda: seen.append(threading.get_ident()), runs=20, concurrency=callers)  # noqa: B023
        assert len(seen) == len(found.seconds) == 20 and 1 <= len(set(seen)) <= callers


def test_callers_run_at_once():
    together = threading.Barrier(3, timeout=20)
    found = measure(together.wait, runs=9, concurrency=3)  # alone, a caller would wait in vain
    assert len(found.seconds) == 9


def test_time_ends_a_measurement_after_one_run_at_least():
    ticks = []
    found = measure(lambda: threading.Event().wait(0.15), seconds=1e-9, tick=lambda: ticks.append(0))
    assert len(found.seconds) == 1 and found.seconds[0] >= 0.15 and found.wall >= found.seconds[0] and ticks
    assert len(measure(lambda: None, seconds=0.05).seconds) > 1


def test_what_a_run_raises_is_raised_and_ends_the_others():
    calls = []

    def run():
        calls.append(0)
        if len(calls) == 5:
            raise ValueError("the fifth")

    with pytest.raises(ValueError, match="the fifth"):
        measure(run, seconds=60, concurrency=4)


def test_percentiles_and_throughput():
    found = Latencies([4.0, 1.0, 3.0, 2.0, 5.0], wall=10.0)
    assert found.percentile(50) == 3 and found.percentile(0) == 1 and found.percentile(100) == 5
    assert found.percentile(90) == pytest.approx(4.6)  # six tenths of the way from the fourth to the last
    assert found.throughput == 0.5
    found.add(Latencies([6.0], wall=2.0))
    told = found.as_json()
    assert told["runs"] == 6 and told["wall"] == 12 and told["mean"] == np.mean([1, 2, 3, 4, 5, 6]) and told["max"] == 6
