"""Latencies: how long runs take one by one, a few at a time, and what share of them is how fast."""
from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import Any

import numpy as np

PERCENTILES = (50, 90, 95, 99)
TICK = 0.1  # seconds between two calls of whoever shows how far it is


@dataclass
class Latencies:
    """Seconds of runs, in the order in which they ended, and seconds of wall time that all of them took together."""

    seconds: list[float] = field(default_factory=list)
    wall: float = 0.0

    def add(self, other: Latencies) -> None:
        """Take in the runs of another stretch of time."""
        self.seconds += other.seconds
        self.wall += other.wall

    def percentile(self, share: float) -> float:
        """The seconds that ``share`` percent of the runs do not exceed, between two runs in proportion."""
        return float(np.percentile(self.seconds, share))

    @property
    def throughput(self) -> float:
        """Runs a second."""
        return len(self.seconds) / self.wall

    def as_json(self) -> dict[str, Any]:
        """Everything, in seconds."""
        return {"runs": len(self.seconds), "wall": self.wall, "throughput": self.throughput,
                "mean": float(np.mean(self.seconds)), "min": min(self.seconds), "max": max(self.seconds),
                **{f"p{p}": self.percentile(p) for p in PERCENTILES}, "latencies": self.seconds}


def measure(run: Callable[[], Any], *, seconds: float | None = None, runs: int | None = None, concurrency: int = 1,
            tick: Callable[[], Any] = lambda: None) -> Latencies:
    """Time runs for so many seconds, or so many of them, ``concurrency`` at a time, each caller in a thread of its own.

    A caller begins its next run when its last one has ended; one at least is timed. ``tick`` is called ten times a second.
    What a run raises ends the others, and is raised here.
    """
    spent: list[float] = []
    problems: list[BaseException] = []
    stop = Event()
    left: Iterable[int] = iter(range(runs)) if runs is not None else iter(int, 1)
    begun = time.perf_counter()
    end = None if seconds is None else begun + seconds

    def call() -> None:
        try:
            for _ in left:  # callers share it: each number is one run
                since = time.perf_counter()
                run()
                now = time.perf_counter()
                spent.append(now - since)
                if stop.is_set() or end is not None and now >= end:
                    return
        except BaseException as problem:
            problems.append(problem)
            stop.set()

    callers = [Thread(target=call, daemon=True) for _ in range(concurrency)]
    for caller in callers:
        caller.start()
    try:
        for caller in callers:
            while caller.is_alive():
                caller.join(TICK)
                tick()
    finally:
        stop.set()  # also where this thread is interrupted
    if problems:
        raise problems[0]
    return Latencies(spent, time.perf_counter() - begun)
