"""Engines in processes of their own, which take turns, for `interp bench --compare-with`; and what each such process does."""
from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import interp
from interp import engines
from interp.cli.run import layered
from interp.errors import RunError
from interp.timing import Latencies, measure

OURS = "interp"
ROUNDS = 5  # turns of each engine: what slows the machine for a while slows both


@dataclass
class Job:
    """What a worker is to run: an engine, a model, and how."""

    engine: str
    model: str
    threads: int
    optimize: int = 2
    precision: Literal["exact"] | None = None
    kernels: list[str] = field(default_factory=list)
    trusted: list[str] = field(default_factory=list)


def opened(job: Job) -> Callable[[Mapping[str, Any]], Any]:
    """A call that runs the model once."""
    if job.engine != OURS:
        return engines.opened(job.engine, job.model, job.threads)
    session = interp.load(job.model, threads=job.threads, optimize=job.optimize, trusted=job.trusted, precision=job.precision,
                          registry=layered(job.kernels))
    return lambda feeds: session.run(None, feeds)


@dataclass
class Engine:
    """An engine at work in a process of its own."""

    name: str
    process: subprocess.Popen[str]
    load: float = 0.0
    first: float = 0.0
    latencies: Latencies = field(default_factory=Latencies)

    def ask(self, **what: Any) -> dict[str, Any]:
        """Its answer to a question; a problem is raised here as it was there."""
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps(what) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # its last words say why
        answer = self.process.stdout.readline()
        if not answer:
            raise RunError(f"{self.name} ended by itself, with exit code {self.process.wait()}")
        found = json.loads(answer)
        if "error" in found:
            kind = getattr(interp, found["kind"], RunError)
            raise kind(found["error"])
        return found


@contextmanager
def contestants(jobs: list[Job], feeds: Mapping[str, Any]) -> Iterator[list[Engine]]:
    """The engines of some jobs, loaded and fed; their processes end with the block."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        (folder / "feeds").write_bytes(pickle.dumps(dict(feeds)))
        found = []
        for job in jobs:
            words = [sys.executable, "-m", "interp.cli.contest", str(folder / "feeds")]
            process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            stack.callback(process.wait)
            stack.callback(process.kill)
            found.append(Engine(job.engine, process))
            answer = found[-1].ask(**asdict(job))
            found[-1].load, found[-1].first = answer["load"], answer["first"]
        yield found


def contest(found: list[Engine], *, warmup: int, seconds: float, runs: int | None, concurrency: int,
            step: Callable[[], Any]) -> None:
    """Let the engines take turns, and gather what they answer. ``step`` is called after every turn."""
    for engine in found:
        engine.ask(runs=warmup, seconds=None, concurrency=1)
    for turn in range(ROUNDS):
        some = None if runs is None else runs // ROUNDS + (turn < runs % ROUNDS)
        for engine in found:
            if some != 0:
                answer = engine.ask(runs=some, seconds=None if runs is not None else seconds / ROUNDS, concurrency=concurrency)
                engine.latencies.add(Latencies(answer["seconds"], answer["wall"]))
            step()


def work(place: str) -> None:
    """The worker: the first line of input is a job, each further one asks for runs; every answer is a line."""
    feeds = pickle.loads(Path(place).read_bytes())  # written by the process that began this one
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who asked is interrupted as well, and ends this process
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what an engine prints is no answer
    try:
        since = time.perf_counter()
        run = opened(Job(**json.loads(sys.stdin.readline())))
        loaded = time.perf_counter()
        run(feeds)
        print(json.dumps({"load": loaded - since, "first": time.perf_counter() - loaded}), file=answers, flush=True)
        for line in sys.stdin:
            found = measure(lambda: run(feeds), **json.loads(line))
            print(json.dumps({"seconds": found.seconds, "wall": found.wall}), file=answers, flush=True)
    except interp.InterpError as problem:
        print(json.dumps({"error": str(problem), "kind": type(problem).__name__}), file=answers, flush=True)


if __name__ == "__main__":
    work(sys.argv[1])
