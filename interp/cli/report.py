"""The report of a run: as lines, and as JSON whose keys stay what they are as long as `schema` is 1."""
from __future__ import annotations

import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from interp.cli import show
from interp.cli.checks import parts

if TYPE_CHECKING:
    from interp.cli.run import Run

SCHEMA = 1


def tell(run: Run) -> None:
    """Print the report in the form that was asked for; failed checks go to stderr as well."""
    if run.args.json:
        show.write_json(as_json(run), run.args.json)
    if run.args.json != "-":
        printer = show.Printer(sys.stdout)
        for line in lines(run):
            printer.line(*line)
    sys.stdout.flush()  # results come before complaints where both go to one place
    errors = show.Printer(sys.stderr)
    for text in failures(run):
        errors.line(("interp: check failed: ", "red"), text)


def failures(run: Run) -> Iterator[str]:
    """What the exit code is 1 for."""
    for verdict in run.verdicts:
        if not verdict.ok:
            yield f"{verdict.name}: {verdict.text}"
    if run.nans:
        what = "NaN or infinity" if run.args.check_finite else "NaN"
        yield f"{what} in {', '.join(run.nans)}{'; ' if run.blame else ''}{run.blame}"


def lines(run: Run) -> Iterator[list[Any]]:
    """Header, inputs, outputs, times, checks."""
    args = run.args
    if args.print != "none":
        yield header(run.session, run.args.model)
        yield from values(run)
    if args.print != "none" or args.runs is not None:
        yield times(run)
    if args.verbose and run.later:
        yield ["runs     ", "  ".join(show.duration(t) for t in run.later)]
    if args.profile:
        yield []
        yield from run.measured.lines(None, run.session.threads)
    for verdict in run.verdicts:
        if verdict.ok:
            yield [("expect", "bold"), "   ", f"{verdict.name}: {verdict.text}"]


def header(session: Any, path: str) -> list[Any]:
    """Which model this is, and how large."""
    about = session.metadata
    opsets = ", ".join(f"{domain or 'opset'} {version}" for domain, version in about["opset"].items())
    size = show.scaled(about["parameters"], show.COUNTS, "")
    nodes = f"{about['nodes']} node{'s' * (about['nodes'] != 1)}"
    return [(Path(path).name, "bold"), f"   {opsets}   {nodes}   {size} parameters "
            f"({show.scaled(about['bytes'], show.BYTES, 'bytes')})"]


def values(run: Run) -> Iterator[list[Any]]:
    """Inputs, then outputs, in columns."""
    names = [f.name for f in run.feeds] + list(run.outputs)
    kinds = [show.described(v) for v in [*(f.value for f in run.feeds), *run.outputs.values()]]
    width, kind_width = max(map(len, names), default=0), max(map(len, kinds), default=0)
    for feed in run.feeds:
        said = f"  {show.facts(feed.value)}" if run.args.verbose else ""
        kind = (f"{show.described(feed.value):{kind_width}}", "cyan")
        yield [("input", "bold"), f"    {feed.name:{width}}  ", kind, f"  {feed.source}{said}"]
    for name, value in run.outputs.items():
        kind = (f"{show.described(value):{kind_width}}", "cyan")
        best = run.best(value)
        said = show.facts(value) if isinstance(value, np.ndarray) or not best else ""  # of maps the best entries say it all
        yield [("output", "bold"), f"   {name:{width}}  ", kind, f"  {said}"]
        for row, classes in enumerate(best):
            listed = " ".join(f"{c['label']} ({show.number(c['value'])})" for c in classes)
            which = f"row {row}  " if len(best) > 1 else ""
            yield [" " * (11 + width), which, (f"top {len(classes)}: ", "dim"), (listed, "green")]
        if run.args.print == "full":
            yield from ([line] for line in show.whole(value).splitlines())


def times(run: Run) -> list[Any]:
    """How long loading and running took; of many runs the median, and the best and the worst."""
    text = f"load {show.duration(run.load)}   first run {show.duration(run.first)}"
    if run.later:
        text += f"   run {show.duration(statistics.median(run.later))}"
    if len(run.later) > 1:
        text += f" (median of {len(run.later)}; {show.duration(min(run.later))} to {show.duration(max(run.later))})"
    return [text]


def as_json(run: Run) -> dict[str, Any]:
    """All of it; values of outputs with --print full."""
    about = run.session.metadata
    return {
        "schema": SCHEMA,
        "model": {"path": str(run.args.model), **about},
        "inputs": [{"name": f.name, **tensor(f.value), "source": f.source, **show.statistics(f.value)} for f in run.feeds],
        "outputs": [output(run, name, value) for name, value in run.outputs.items()],
        "seconds": {"load": run.load, "first": run.first, "runs": run.later},
        "expect": [{"output": v.name, "ok": v.ok, "text": v.text, "wrong": v.wrong, "largest": v.largest} for v in run.verdicts],
        "nan": {"checked": run.args.check_nan, "outputs": run.nans, "blame": run.blame},
        "images": run.images,
        **({"profile": run.measured.as_json()} if run.args.profile else {}),
        "notices": run.notices,
        "seed": run.args.seed,
        "ok": run.ok,
    }


def tensor(value: Any) -> dict[str, Any]:
    """Type and shape; of a sequence or a map those of its parts."""
    if hasattr(value, "dtype"):
        return {"type": show.described(value).partition("[")[0], "shape": list(value.shape)}
    return {"type": show.described(value), "parts": [tensor(array) for _, array in parts("", value)]}


def output(run: Run, name: str, value: Any) -> dict[str, Any]:
    best = run.best(value)
    said = {"name": name, **tensor(value), **show.statistics(value)}
    if best:
        said["top"] = best
    if run.args.print == "full":
        said["values"] = value
    return said
