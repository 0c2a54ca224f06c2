"""`interp bench`: how long runs take, as percentiles, alone and beside another engine."""
from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import interp
from interp import engines
from interp.cli import contest, show, tables
from interp.cli.feeds import collect
from interp.cli.report import header
from interp.cli.run import layered
from interp.errors import UsageError
from interp.plots import Axis, Series, histogram, lines
from interp.timing import PERCENTILES, TICK, Latencies, measure

SCHEMA = 1
HEAD = ("engine", *(f"p{p}" for p in PERCENTILES), "mean", "min", "max", "runs/s", "runs", "load", "first run")


def main(args: argparse.Namespace) -> int:
    """Measure, tell, draw; 1 where the budget is exceeded."""
    if args.runs == 0:
        raise UsageError("-n 0: there is nothing to time; give 1 or more, or --duration")
    if args.compare_with:
        engines.check(args.compare_with)
    since = time.perf_counter()
    session = interp.load(args.model, threads=args.threads, precision=args.precision, trusted=tuple(args.trusted),
                          optimize=args.optimize, registry=layered(args.kernels))
    loaded = time.perf_counter() - since
    notices: list[str] = []
    feeds = {f.name: f.value for f in collect(session, args, notices.append)}
    for text in [] if args.quiet else notices:
        show.notice(text)
    found = beside(session, args, feeds) if args.compare_with else {contest.OURS: alone(session, args, feeds, loaded)}
    report = described(session, args, feeds, found, notices)
    if args.plot:
        Path(args.plot).write_text(plot(args, found), encoding="utf-8")
    if args.json:
        show.write_json(report, args.json)
    if args.json != "-":
        tell(session, args, report)
    sys.stdout.flush()
    if not report["ok"]:
        share, limit, spent = (report["budget"][k] for k in ("percentile", "ms", "spent_ms"))
        show.Printer(sys.stderr).line(("interp: check failed: ", "red"), f"p{share:g} is {spent:.4g} ms, more than {limit:g} ms")
    return 0 if report["ok"] else 1


def alone(session: Any, args: argparse.Namespace, feeds: Mapping[str, Any], loaded: float) -> dict[str, Any]:
    """The latencies of a session in this process."""
    since = time.perf_counter()
    session.run(None, feeds)
    first = time.perf_counter() - since
    measure(lambda: session.run(None, feeds), runs=args.warmup)
    total = first * args.runs if args.runs is not None else args.duration
    with show.Progress(int(total / TICK) if total > 1 and not args.quiet else 0) as bar:
        made = measure(lambda: session.run(None, feeds), runs=args.runs, seconds=None if args.runs is not None else args.duration,
                       concurrency=args.concurrency, tick=bar.step)
    return {"load": loaded, "first": first, "latencies": made}


def beside(session: Any, args: argparse.Namespace, feeds: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The latencies of both engines, each in a process of its own."""
    ours = contest.Job(contest.OURS, str(args.model), session.threads, args.optimize, args.precision, args.kernels, args.trusted)
    jobs = [ours, contest.Job(args.compare_with, str(args.model), session.threads)]
    with show.Progress(0 if args.quiet else len(jobs) * contest.ROUNDS) as bar, contest.contestants(jobs, feeds) as found:
        contest.contest(found, warmup=args.warmup, seconds=args.duration, runs=args.runs, concurrency=args.concurrency,
                        step=bar.step)
        return {e.name: {"load": e.load, "first": e.first, "latencies": e.latencies} for e in found}


def described(session: Any, args: argparse.Namespace, feeds: Mapping[str, Any], found: Mapping[str, dict[str, Any]],
              notices: list[str]) -> dict[str, Any]:
    """All of it, as `--json` has it; times in seconds."""
    measured = {name: {"load": e["load"], "first": e["first"], **e["latencies"].as_json()} for name, e in found.items()}
    report: dict[str, Any] = {
        "schema": SCHEMA, "model": {"path": str(args.model), **session.metadata}, "threads": session.threads,
        "concurrency": args.concurrency, "warmup": args.warmup, "seed": args.seed, "notices": notices,
        "inputs": [{"name": name, "type": show.described(value)} for name, value in feeds.items()],
        "engines": measured, "ratio": None, "budget": None, "ok": True}
    if args.compare_with:  # what the other takes for one of ours
        report["ratio"] = measured[args.compare_with]["p50"] / measured[contest.OURS]["p50"]
    if args.budget_ms:
        share, limit = args.budget_ms
        spent = 1e3 * found[contest.OURS]["latencies"].percentile(share)
        report["budget"] = {"percentile": share, "ms": limit, "spent_ms": spent}
        report["ok"] = spent <= limit
    return report


def tell(session: Any, args: argparse.Namespace, report: dict[str, Any]) -> None:
    """The header, a row an engine, and what that comes to."""
    printer = show.Printer(sys.stdout)
    printer.line(*header(session, args.model))
    for line in tables.table([HEAD, *rows(report["engines"])], right=range(1, len(HEAD))):
        printer.line(line)
    printer.line(f"{report['threads']} thread{'s' * (report['threads'] != 1)}   {args.concurrency} "
                 f"caller{'s' * (args.concurrency != 1)} at a time   {args.warmup} run{'s' * (args.warmup != 1)} of warm-up")
    if report["ratio"] is not None:
        printer.line((f"{args.compare_with} takes {show.number(report['ratio'])} times as long (p50)", "bold"))


def rows(measured: Mapping[str, dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    """The cells of each engine."""
    for name, e in measured.items():
        times = [e[k] for k in (*(f"p{p}" for p in PERCENTILES), "mean", "min", "max")]
        yield (name, *map(show.duration, times), show.number(e["throughput"]), str(e["runs"]), show.duration(e["load"]),
               show.duration(e["first"]))


def plot(args: argparse.Namespace, found: Mapping[str, dict[str, Any]]) -> str:
    """A picture: how often each latency came, or for two engines what share of the runs takes how long."""
    title, axis = Path(args.model).name, "milliseconds"
    if len(found) > 1:
        shares = range(1, 100)
        series = [Series(name, [(p, 1e3 * e["latencies"].percentile(p)) for p in shares]) for name, e in found.items()]
        return lines(series, title=title, x=Axis("percent of the runs", low=0, high=100), y=Axis(axis, log=True))
    made: Latencies = found[contest.OURS]["latencies"]
    marks = {f"p{p}": 1e3 * made.percentile(p) for p in PERCENTILES}
    return histogram([1e3 * s for s in made.seconds], title=title, x=Axis(axis), marks=marks)
