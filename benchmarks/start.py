"""What a model costs before it is warm: import, load and first run, and the memory that they add, on several engines.

Run as ``python benchmarks/start.py [--rounds 5] MODEL.onnx …``. Every figure comes from a process of its own, engines in turn; a
worker has imported NumPy, which all engines need, before it begins to count. Times are CPU time at one thread, the least of
all rounds; memory is MiB beyond what the process had before: the peak, and what stays resident after the run (medians).
Feeds come from MODEL.npz beside the model, by name or as in_names, in0, in1, …, else they are random.
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
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
ENGINES = ("onnxruntime", "interp")


def status(field: str) -> float:
    """A line of what Linux tells of this process, in MiB."""
    [line] = [s for s in Path("/proc/self/status").read_text().splitlines() if s.startswith(field)]
    return int(line.split()[1]) / 1024


def work(engine: str, model: str, feeds: str) -> None:
    """Measure one start in this process and print what it took."""
    given = pickle.loads(Path(feeds).read_bytes())
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
    before, clock = status("VmRSS"), [time.process_time()]
    if engine == "onnxruntime":
        import onnxruntime

        clock.append(time.process_time())
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = 1, 1, 3
        session: Any = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    else:
        import interp

        clock.append(time.process_time())
        session = interp.load(model, threads=1)
    clock.append(time.process_time())
    session.run(None, given)
    clock.append(time.process_time())
    took = [1e3 * (b - a) for a, b in zip(clock, clock[1:], strict=False)]
    print(json.dumps([*took, sum(took), status("VmHWM") - before, status("VmRSS") - before]))


def measured(engine: str, model: str, feeds: str) -> list[float]:
    """Import, load, first run and all of them in ms; peak and resident MiB."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("OPENBLAS_") and k != "PYTHONDONTWRITEBYTECODE"}
    env["PYTHONPATH"] = os.pathsep.join([str(ROOT), env.get("PYTHONPATH", "")])
    done = subprocess.run([sys.executable, __file__, "--worker", engine, model, feeds], env=env, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{engine}, {model}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def feeds_of(model: Path) -> dict[str, np.ndarray]:
    """What lies beside a model, else random arrays."""
    beside = model.with_suffix(".npz")
    if not beside.exists():
        from engines import random_feeds

        return random_feeds(model)
    with np.load(beside) as stored:
        given = {str(n): stored[f"in{k}"] for k, n in enumerate(stored["in_names"])} if "in_names" in stored else dict(stored)
    return {k: a.astype(object) if a.dtype.kind == "U" else a for k, a in given.items()}


def compare(model: Path, rounds: int, fed: dict[str, np.ndarray] | None = None) -> dict[str, list[float]]:
    """For each engine the least times and the median memory of several starts, on what is fed or what lies beside the model."""
    found: dict[str, list[list[float]]] = {e: [] for e in ENGINES}
    with tempfile.TemporaryDirectory() as folder:
        feeds = Path(folder) / "feeds"
        feeds.write_bytes(pickle.dumps(fed or feeds_of(model)))
        for _ in range(rounds):
            for engine in ENGINES:
                found[engine].append(measured(engine, str(model), str(feeds)))
    return {e: [(min if k < 4 else statistics.median)(column) for k, column in enumerate(zip(*rows, strict=True))]
            for e, rows in found.items()}


def lines(models: list[Path], rounds: int) -> Iterator[str]:
    yield f"{'model':28s} engine       import    load     run     all ms   peak    rest MiB"
    ratios = []
    for model in models:
        found = compare(model, rounds)
        for engine, (*times, peak, rest) in found.items():
            yield f"{model.stem:28s} {engine:11s}{' '.join(f'{t:7.1f}' for t in times)}    {peak:7.1f} {rest:7.1f}"
        theirs, ours = (found[e] for e in ENGINES)
        ratios.append(ours[3] / theirs[3])
        yield f"{'':28s} interp / onnxruntime: time {ratios[-1]:.2f}, memory {ours[4] / theirs[4]:.2f}"
    yield f"time, geometric mean {math.exp(statistics.mean(map(math.log, ratios))):.2f}, most {max(ratios):.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    for line in lines(given.models, given.rounds):
        print(line, flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        work(*sys.argv[2:])
    else:
        sys.path.insert(0, str(ROOT))
        main()
