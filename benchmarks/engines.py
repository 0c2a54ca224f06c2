"""Models on several engines, each in a process of its own, in turn: A B A B …; medians, and ratios to the first engine.

Run as ``python benchmarks/engines.py [--threads 1,2] MODEL.onnx …``; other files here call `compare` with models they make.
One thread is timed in CPU time of the process, so that another job's work does not count; more threads in wall time.
"""
from __future__ import annotations

import argparse
import json
import math
import os
import pickle
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
ENGINES = ("onnxruntime", "interp")
LEAST = 8  # runs of a round, however long one takes: a neighbour on a shared machine spoils several in a row


def session(engine: str, model: str, threads: int, feeds: dict[str, np.ndarray]) -> Callable[[], list[Any]]:
    """A call that runs a model once."""
    if engine == "onnxruntime":
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = threads, 1, 3
        made = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        return lambda: made.run(None, feeds)
    if engine == "openvino":
        import openvino

        core = openvino.Core()
        settings = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": "f32"}
        compiled = core.compile_model(core.read_model(model), "CPU", settings)
        request = compiled.create_infer_request()
        return lambda: [request.infer(feeds)[o].copy() for o in compiled.outputs]
    import interp

    ours = interp.load(model, threads=threads)
    return lambda: ours.run(None, feeds)


def work(engine: str, model: str, threads: int, feeds: str, changing: bool) -> None:
    """A worker: for each line of input, a round of so many seconds; answers with the seconds of one run, median and least."""
    turns = pickle.loads(Path(feeds).read_bytes())
    current: dict[str, np.ndarray] = dict(turns[0])
    run = session(engine, model, threads, current)
    clock = time.process_time if threads == 1 else time.perf_counter

    def timed(times: int) -> float:
        begun = clock()
        for k in range(times):
            if changing:
                current.update(turns[k % len(turns)])
            run()
        return (clock() - begun) / times

    Path(f"{feeds}.results").write_bytes(pickle.dumps(run()))
    timed(len(turns))
    most = 2e-4 / max(timed(len(turns)), 1e-7)  # runs that take less than the clock can tell are timed several at once
    times = max(int(most), 1, len(turns) if changing else 1)
    print("ready", flush=True)
    for line in sys.stdin:
        spent, end = [], time.perf_counter() + float(line)
        while time.perf_counter() < end or len(spent) < LEAST:
            spent.append(timed(times))
        print(json.dumps([statistics.median(spent), min(spent)]), flush=True)


def started(engine: str, model: str, threads: int, feeds: str, changing: bool) -> subprocess.Popen:
    """A worker's process, ready to be asked."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("OPENBLAS_") and k != "PYTHONDONTWRITEBYTECODE"}
    env["PYTHONPATH"] = os.pathsep.join([str(ROOT), env.get("PYTHONPATH", "")])
    words = [sys.executable, __file__, "--worker", engine, model, str(threads), feeds, str(int(changing))]
    return subprocess.Popen(words, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True)


def compare(model: Any, feeds: Any, threads: int = 1, engines: Sequence[str] = ENGINES, rounds: int = 9, seconds: float = 0.2,
            changing: bool = False) -> dict[str, Any]:
    """Seconds a run for each engine: [median, least], or what made it fail. With ``changing``, each run has the next feeds.

    ``model`` is a path and ``feeds`` are a list of dictionaries, or each is a dictionary with one for every engine.
    "difference" is that of the first engine's and the last one's results for the first feeds.
    """
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        workers = {}
        for engine in engines:
            path = Path(folder) / engine
            path.write_bytes(pickle.dumps(list(feeds[engine] if isinstance(feeds, dict) else feeds)))
            own = model[engine] if isinstance(model, dict) else model
            worker = stack.enter_context(started(engine, str(own), threads, str(path), changing))
            if worker.stdout is not None and worker.stdout.readline().strip() == "ready":
                workers[engine] = worker
            else:
                found[engine] = (worker.stderr.read().strip().splitlines() if worker.stderr else [])[-1:]
        times: dict[str, list[list[float]]] = {e: [] for e in workers}
        for _ in range(rounds):
            for engine, worker in workers.items():
                times[engine].append(asked(worker, seconds))
        for engine, worker in workers.items():
            worker.stdin.close()  # type: ignore[union-attr]
            found[engine] = [statistics.median(m for m, _ in times[engine]), min(least for _, least in times[engine])]
        if {engines[0], engines[-1]} <= workers.keys() and not isinstance(model, dict):  # else results lie otherwise
            found["difference"] = difference(*(pickle.loads(Path(folder, f"{e}.results").read_bytes())
                                               for e in (engines[0], engines[-1])))
    return found


def difference(theirs: Sequence[Any], ours: Sequence[Any]) -> float:
    """The largest distance of two lists of outputs, relative to the largest number of each; of what is no float, the share."""
    worst = 0.0
    for pair in zip(theirs, ours, strict=True):
        x, y = (np.asarray([list(e.values()) for e in o] if isinstance(o, list) and o and isinstance(o[0], dict) else o)
                for o in pair)
        if x.dtype.kind == "f" and x.size:
            x, y = x.astype(np.float64), y.astype(np.float64)
            worst = max(worst, float(np.abs(x - y).max() / (np.abs(x).max() or 1)))
        elif x.size:
            worst = max(worst, float(np.mean(x != y)))
    return worst


def asked(worker: subprocess.Popen, seconds: float) -> list[float]:
    worker.stdin.write(f"{seconds}\n")  # type: ignore[union-attr]
    worker.stdin.flush()  # type: ignore[union-attr]
    return json.loads(worker.stdout.readline())  # type: ignore[union-attr]


def ratio(found: dict[str, Any], engines: Sequence[str] = ENGINES) -> float | None:
    """The first engine's time by the second's: above 1, the second is faster. None where one failed."""
    first, second = (found[e] for e in engines[:2])
    return first[1] / second[1] if len(first) == len(second) == 2 and not isinstance(first[0], str) else None


def mean(ratios: Sequence[float]) -> float:
    """The geometric mean."""
    return math.exp(statistics.mean(map(math.log, ratios)))


def random_feeds(model: str | Path, sizes: dict[str, int] | None = None, seed: int = 0) -> dict[str, np.ndarray]:
    """Standard normal floats and zeros for integers; a named size is 1 where ``sizes`` has no number for it."""
    import interp
    from interp.types import DTYPE

    rng = np.random.default_rng(seed)
    feeds = {}
    for value in interp.load(model).inputs:
        shape = [d if isinstance(d, int) else (sizes or {}).get(str(d), 1) for d in value.shape or ()]
        dtype = DTYPE[value.type or "tensor(float)"]
        real = dtype.kind in "fV"
        feeds[value.name] = rng.standard_normal(shape).astype(dtype) if real else np.zeros(shape, dtype)
    return feeds


def rows(models: Sequence[str | Path], threads: Sequence[int], **options: Any) -> Iterator[str]:
    """A line a model and number of threads, and the geometric means."""
    ratios: dict[int, list[float]] = {t: [] for t in threads}
    yield f"{'model':36s} threads  {'onnxruntime':>12s} {'interp':>10s}  ratio"
    for model in models:
        for t in threads:
            found = compare(model, [random_feeds(model)], t, **options)
            times = [f"{1e3 * found[e][1]:10.3f} ms" if isinstance(found[e][0], float) else f"fails: {found[e]}" for e in ENGINES]
            better = ratio(found)
            ratios[t] += [better] if better else []
            yield f"{Path(model).name:36s} {t:7d}  {'  '.join(times)}  {better and f'{better:.2f}'}"
    for t, each in ratios.items():
        if each:
            yield f"{t} threads: geometric mean {mean(each):.2f}, worst {min(each):.2f}, of {len(each)} models"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--threads", default="1,2")
    given = parser.parse_args()
    for row in rows(given.models, [int(t) for t in given.threads.split(",")]):
        print(row, flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        work(sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5], sys.argv[6] == "1")
    else:
        sys.path.insert(0, str(ROOT))
        main()
