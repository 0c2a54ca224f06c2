"""Measures this package beside onnxruntime and openvino, and writes the tables and the plot of docs/performance.md.

Run as ``python benchmarks/report.py [--models FOLDER] [--rounds N] [--output docs/performance.md]``, on a machine that does
nothing else; it takes about a quarter of an hour. FOLDER holds models of others, with their feeds beside them where random ones
make no sense; the models that this folder makes, and the scaling, are measured in any case.
"""
from __future__ import annotations

import argparse
import math
import os
import platform
import statistics
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np
from onnx import ModelProto

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import made  # noqa: E402
import start  # noqa: E402
from engines import compare  # noqa: E402

EXPLANATION = """
Written by `python benchmarks/report.py`. Every engine runs in a process of its own, in turn; times are the least of all
rounds, in milliseconds, of CPU time at one thread and of wall time at two. "x" is onnxruntime's time by ours: above 1, this
package is faster. "differs by" is the largest distance of an output from onnxruntime's, relative to its largest number.
"start" is the CPU time of import, load and first run, and "memory" the peak that they add, ours by onnxruntime's.
""".strip()
ENGINES = ("onnxruntime", "openvino", "interp")
THREADS = (1, 2)


@dataclass
class Row:
    """A model: seconds by threads and engine (the least of all rounds), the difference of results, and the start."""

    name: str
    seconds: dict[int, dict[str, float]]
    difference: float
    start: dict[str, list[float]]

    def ratio(self, threads: int, engine: str = "onnxruntime") -> float:
        """An engine's time by ours; NaN where one of them failed."""
        found = self.seconds[threads]
        return found.get(engine, math.nan) / found.get("interp", math.nan)


def measured(name: str, path: Path, feeds: list[dict[str, np.ndarray]], rounds: int, changing: bool = False) -> Row:
    """A row of a table, told while it is being made."""
    seconds: dict[int, dict[str, float]] = {}
    worst = 0.0
    engines = [e for e in ENGINES if not changing or e != "openvino"]  # which takes minutes where shapes change
    for threads in THREADS:
        found = compare(path, feeds, threads, engines, rounds, 0.25, changing)
        seconds[threads] = {e: found[e][1] for e in engines if len(found[e]) == 2}
        worst = max(worst, found.get("difference", math.nan))
    begun = start.compare(path, 2, feeds[0])
    made_row = Row(name, seconds, worst, begun)
    print(f"{name:36} " + "  ".join(f"{t}T x{made_row.ratio(t):.2f}" for t in THREADS), file=sys.stderr, flush=True)
    return made_row


def others(folder: Path, rounds: int) -> Iterator[Row]:
    for path in sorted(folder.glob("*.onnx")):
        yield measured(path.stem, path, [start.feeds_of(path)], rounds)


def ours(rounds: int) -> Iterator[Row]:
    for case in made.cases():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model.onnx")
            path.write_bytes(case.model.SerializeToString())
            yield measured(case.name, path, case.feeds, rounds, case.changing)


# Tables

def table(rows: list[Row]) -> Iterator[str]:
    """Milliseconds and ratios; the memory and time that a start adds."""
    titles = [f"{e} {t}T" for t in THREADS for e in ENGINES]
    yield f"| model | {' | '.join(titles)} | x 1T | x 2T | differs by | start x | memory x |"
    yield "|---|" + "---:|" * (len(ENGINES) * len(THREADS) + 5)
    for row in rows:
        times = [f"{1e3 * row.seconds[t][e]:.3g}" if e in row.seconds[t] else "" for t in THREADS for e in ENGINES]
        ratios = [f"**{row.ratio(t):.2f}**" for t in THREADS]
        theirs, mine = row.start["onnxruntime"], row.start["interp"]
        cells = [row.name, *times, *ratios, f"{row.difference:.0e}", f"{mine[3] / theirs[3]:.2f}", f"{mine[4] / theirs[4]:.2f}"]
        yield f"| {' | '.join(cells)} |"
    for t in THREADS:
        yield f"\n{t} thread{'s'[:t - 1]}: {summary(rows, t)}"


def summary(rows: list[Row], threads: int) -> str:
    """Geometric means, and the worst of all."""
    ratios = [r.ratio(threads) for r in rows]
    known = [(r.ratio(threads), r.ratio(threads, "openvino")) for r in rows]
    faster = [min(n for n in pair if not math.isnan(n)) for pair in known]
    return (f"{mean(ratios):.2f} times as fast as onnxruntime in the geometric mean, {min(ratios):.2f} times at the least; "
            f"{mean(faster):.2f} times as fast as the faster of onnxruntime and openvino.")


def mean(ratios: Iterable[float]) -> float:
    return math.exp(statistics.mean(map(math.log, ratios)))


def plot(rows: list[Row]) -> str:
    """A picture of the ratios to onnxruntime; a line stands where both are as fast."""
    from interp.plots import bars

    return bars({row.name: [row.ratio(t) for t in THREADS] for row in rows}, mark=1,
                title="times as fast as onnxruntime, at one (first) and two threads")


# Scaling: what a unit of work costs as there is more of it

def scaling(rounds: int) -> Iterator[str]:
    yield "| what grows | " + " | ".join(["", *("" for _ in range(3))]) + " |"
    yield "|---|" + "---:|" * 4
    for title, unit, cases in made.growing():
        cells = []
        for size, model, feeds in cases:
            cells.append(f"{size}: {1e6 * seconds_of(model, feeds, rounds) / size:.3g} µs")
        yield f"| {title}, time a {unit} | {' | '.join(cells)} |"
    title, model, feeds = made.shared()
    alone, both = (seconds_of(model, feeds, rounds, t) for t in THREADS)
    yield f"| {title}, threads | 1: {1e3 * alone:.3g} ms | 2: {1e3 * both:.3g} ms | | |"


def seconds_of(model: ModelProto, feeds: dict[str, np.ndarray], rounds: int, threads: int = 1) -> float:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.onnx")
        path.write_bytes(model.SerializeToString())
        return compare(path, [feeds], threads, ("interp",), rounds, 0.15)["interp"][1]


def page(models: Path | None, rounds: int, picture: str) -> tuple[list[str], str]:
    """The lines of the page, and the picture."""
    from interp.kernels.step import isa

    found = list(others(models, rounds)) if models else []
    own = list(ours(rounds))
    versions = ", ".join(f"{e} {version(e)}" for e in ("onnxruntime", "openvino"))
    lines = ["# Performance", "",
f"On {os.cpu_count()} cores ({platform.machine()}, {isa()}), beside {versions}. {EXPLANATION}",
             "", f"![ratios]({picture})", ""]
    if found:
        lines += ["## Models of others", "", *table(found), ""]
    lines += ["## Models made here", "", "With random weights, by the files of [benchmarks](../benchmarks).", "", *table(own), "",
              "## Scaling", "", "What a unit of work takes as there is more of it, at one thread.", "", *scaling(rounds), ""]
    return lines, plot(found + own)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, help="a folder of models, with NAME.npz beside those that need certain feeds")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--output", type=Path, default=Path("docs/performance.md"))
    given = parser.parse_args()
    picture = given.output.with_suffix(".svg")
    lines, drawn = page(given.models, given.rounds, picture.name)
    given.output.write_text("\n".join(lines), encoding="utf-8")
    picture.write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    main()
