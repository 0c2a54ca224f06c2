"""Tables of models beside onnxruntime: a row a model, or the layers of a network, a row each, and their sums."""
from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from engines import ENGINES, compare
from onnx import ModelProto

WIDTH = 46  # of titles


class Case(NamedTuple):
    """A row: a model, and what it is fed run after run."""

    title: str
    model: ModelProto
    turns: list[dict[str, np.ndarray]]


def table(doc: str | None, names: Iterable[str], cases: Callable[[str], Iterable[Case]], *, width: int = WIDTH,
          seconds: float = 0.15, changing: bool = False) -> None:
    """The command line of a benchmark whose rows stand alone: the least milliseconds of each engine, and the ratio."""
    known = list(names)
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", choices=[*known, []], metavar="NAME", help=", ".join(known))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    print(f"{str(asked.threads) + ' thread(s)':{width}}{'onnxruntime':>13}{'interp':>9}{'ratio':>7}")
    with tempfile.TemporaryDirectory() as folder:
        for number, case in enumerate(case for name in asked.models or known for case in cases(name)):
            path = Path(folder) / f"{number:02}.onnx"
            path.write_bytes(case.model.SerializeToString())
            found = compare(path, case.turns, asked.threads, rounds=asked.rounds, seconds=seconds, changing=changing)
            theirs, ours = (1000 * found[e][1] for e in ENGINES)
            print(f"{case.title:{width}}{theirs:13.4f}{ours:9.4f}{theirs / ours:7.2f}", flush=True)


def main(doc: str | None, networks: dict[str, Sequence[Any]], model: Callable[[Any], ModelProto],
         fed: Callable[[Any], np.ndarray]) -> None:
    """The command line of a benchmark; layers have a ``title`` and ``times``, how often the network has one."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", default=list(networks))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    for network in asked.networks:
        sums = [0.0, 0.0]
        title = f"{network}, {asked.threads} thread(s)"
        print(f"{title:{WIDTH}}{'times':>6}{'onnxruntime':>13}{'interp':>9}{'ratio':>7}")
        with tempfile.TemporaryDirectory() as folder:
            for number, layer in enumerate(networks[network]):
                path = Path(folder) / f"{number:02}.onnx"
                path.write_bytes(model(layer).SerializeToString())
                found = compare(path, [{"x": fed(layer)}], asked.threads, rounds=asked.rounds, seconds=0.15)
                least = [1000 * found[e][1] for e in ENGINES]
                sums = [s + layer.times * spent for s, spent in zip(sums, least, strict=True)]
                print(row(layer.title, layer.times, least), flush=True)
        print(row("all", "", sums))


def row(title: str, times: object, spent: list[float]) -> str:
    theirs, ours = spent
    return f"{title:{WIDTH}}{times:>6}{theirs:13.3f}{ours:9.3f}{theirs / ours:7.2f}"
