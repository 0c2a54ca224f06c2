"""What `interp profile` and `run -p` print: a run as a whole, and tables of its nodes, operators or shapes."""
from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import interp
from interp.cli import show
from interp.cli.arguments import visible
from interp.errors import UsageError
from interp.profiling import Group, Measured, Peak

LONGEST = 15  # nodes that a terminal gets to see where nobody asks for all
HEADS = {"op": ("nodes", "operator"), "shape": ("nodes", "operator", "reads"), "node": ("operator", "result", "node")}
NUMBERS = ("time", "share", "result bytes", "MACs", "MAC/s")
Line = list[Any]


@dataclass(frozen=True)
class Found:
    """What was measured: the nodes, and when memory is at its most."""

    profile: interp.Profile
    peak: Peak

    def as_json(self) -> dict[str, Any]:
        """A profile as JSON has it, whose keys stay what they are as long as `schema` is 1."""
        report = self.profile.report()
        report["memory"]["peak"] = asdict(self.peak)
        return report

    def lines(self, by: str | None, threads: int) -> Iterator[Line]:
        """What a run takes as a whole, then the tables."""
        found = self.profile
        yield from whole(found, self.peak, threads)
        if by != "node":
            yield []
            yield from table(found, HEADS[by or "op"], [(g, group_cells(g, by or "op")) for g in found.grouped(by or "op")])
        if by in (None, "node"):
            nodes = found.nodes if by else sorted(found.nodes, key=lambda n: -n.seconds)
            shown = nodes if by or not sys.stdout.isatty() else nodes[:LONGEST]
            yield []
            yield from table(found, HEADS["node"], [(n, node_cells(n)) for n in shown])
            if len(shown) < len(nodes):
                yield [(f"{len(nodes) - len(shown)} more take less; --by node lists all, in order", "dim")]


def measured(session: Any, feeds: dict[str, Any], args: argparse.Namespace) -> Found:
    """The profile of a session; on the way the trace that the arguments ask for is written."""
    if args.runs == 0:
        raise UsageError("-n 0: there is nothing to measure in no runs")
    trace, memory = interp.Trace(Path(args.model).name), interp.Memory(v.name for v in session.outputs)
    with show.Progress(0 if args.quiet else args.runs or 0) as progress:
        found = interp.profile(session, feeds, runs=args.runs, warmup=args.warmup, also=[trace] if args.trace else [],
                               progress=progress.step)
    session.observers.append(memory)
    try:
        session.run(None, feeds)
    finally:
        session.observers.remove(memory)
    if args.trace:
        trace.save(args.trace)
    return Found(found, next(iter(memory.peaks.values())))


def whole(found: interp.Profile, peak: Peak, threads: int) -> Iterator[Line]:
    """Runs, memory and products."""
    plain, total = median(found.plain), found.seconds
    n = len(found.plain)
    yield [("run      ", "bold"), f"{show.duration(plain)} unobserved, {show.duration(median(found.walls))} observed "
           f"(medians of {n} run{'s' * (n != 1)} each, {threads} thread{'s' * (threads != 1)})"]
    yield [("nodes    ", "bold"), f"{show.duration(total)} in {sum(n.seconds > 0 for n in found.nodes)} of {len(found.nodes)} "
           f"nodes, {100 * total / plain if plain else 0:.0f} % of an unobserved run; the others take no step"]
    yield [("memory   ", "bold"), f"{show.scaled(found.memory, show.BYTES, 'bytes')} for values and scratch; values take most, "
           f"{show.scaled(peak.bytes, show.BYTES, 'bytes')}, at {peak.node} ({peak.op_type})"]
    largest = sorted(peak.alive, key=lambda a: -a.bytes)
    if largest:
        said = "  ".join(f"{a.name} {show.scaled(a.bytes, show.BYTES, 'bytes')}" for a in largest[:5])
        yield [f"         alive then: {said}{f'  and {len(largest) - 5} more' if len(largest) > 5 else ''}"]
    known = [n.macs for n in found.nodes if n.macs is not None]
    unknown = len(found.nodes) - len(known)
    if any(known):
        yield [("MACs     ", "bold"), f"{show.scaled(sum(known), show.COUNTS, '')} a run, {rate(sum(known), plain)}"
               + (f"; of {unknown} node{'s' * (unknown != 1)} they cannot be told" if unknown else "")]


def rate(macs: int, seconds: float) -> str:
    """Multiply-accumulates a second."""
    return f"{show.scaled(int(macs / seconds), show.COUNTS, '')}/s" if seconds else ""


def node_cells(node: Measured) -> tuple[str, ...]:
    others = [s for s in node.sources if s != node.name]
    name = "/".join((*node.within, node.name)) + (f" (with {', '.join(others)})" if others else "")
    calls = f" x {node.calls}" if node.calls > 1 else ""
    return operator(node) + calls, "  ".join(node.outputs.values()), name


def group_cells(group: Group, by: str) -> tuple[str, ...]:
    cells = str(group.nodes), operator(group)
    return (*cells, "  ".join(group.inputs)) if by == "shape" else cells


def operator(of: Measured | Group) -> str:
    return f"{of.domain}:{of.op_type}" if of.domain else of.op_type


def table(found: interp.Profile, heads: Sequence[str],
          rows: Sequence[tuple[Measured | Group, tuple[str, ...]]]) -> Iterator[Line]:
    """A head and a line for each; numbers to the right."""
    total = found.seconds
    cells = [(*NUMBERS, *heads)]
    for row, last in rows:
        macs = "" if row.macs is None else show.scaled(row.macs, show.COUNTS, "") if row.macs else "-"
        cells.append((show.duration(row.seconds) if row.seconds else "-", f"{100 * row.seconds / total if total else 0:.1f} %",
                      show.scaled(row.bytes, show.BYTES, "bytes"), macs, rate(row.macs, row.seconds) if row.macs else "", *last))
    cells = [tuple(map(visible, line)) for line in cells]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    right = len(NUMBERS) + (heads[0] == "nodes")
    for k, line in enumerate(cells):
        padded = (c.rjust(w) if i < right else c.ljust(w) for i, (c, w) in enumerate(zip(line, widths, strict=True)))
        text = "  ".join(padded).rstrip()
        yield [(text, "bold") if k == 0 else text]
