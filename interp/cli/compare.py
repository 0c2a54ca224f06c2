"""`interp compare`: the outputs of a model, or every tensor of it, against another engine, another model, or as it is written."""
from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import interp
from interp import engines
from interp.cli import show, tables
from interp.cli.feeds import Feed, collect
from interp.cli.run import layered
from interp.comparing import AS_WRITTEN, compare
from interp.errors import UsageError
from interp.plots import Axis, Series, lines
from interp.rows import Row

SCHEMA = 1
PLACE = ("node", "operator")
NUMBERS = ("max abs", "max rel", "mean abs", "cosine", "ulp", "of allowed")
SPARE = ("ulp", "mean abs", "cosine", "max rel", "type")  # left out where there is no room, in this order
HEAD = (*PLACE, "tensor", "type", *NUMBERS, "result")
FEW = 3  # nodes that are named one by one
FLOOR = 1e-12  # the relative error at which a plot begins: what is equal lies there


def main(args: argparse.Namespace) -> int:
    """Compare, tell, and draw; 1 where something differs."""
    for option in ("cumulative", "plot"):
        if getattr(args, option) and not args.layers:
            raise UsageError(f"--{option} goes with --layers")
    if args.optimize == 0 and args.other is None and args.against in (None, AS_WRITTEN):
        args.against, args.optimize = AS_WRITTEN, None  # -O0 alone says what to hold the model against
    session = interp.load(args.model, optimize=0, trusted=tuple(args.trusted), threads=args.threads,
                          registry=layered(args.kernels))
    notices: list[str] = []
    feeds = collect(session, args, notices.append)
    for text in [] if args.quiet else notices:
        show.notice(text)
    total = session.metadata["nodes"] if args.layers and not args.quiet else 0
    del session
    inputs = [{"name": f.name, "type": show.described(f.value), "source": f.source} for f in feeds]
    rows = compared(args, feeds, total)
    if args.plot:
        Path(args.plot).write_text(plot(args, rows), encoding="utf-8")
    ok = all(r.ok for r in rows)
    if args.json:
        show.write_json(report(args, inputs, rows, notices), args.json)
    if args.json != "-":
        tell(args, rows)
    return 0 if ok else 1


def compared(args: argparse.Namespace, feeds: list[Feed], total: int) -> list[Row]:
    """All rows, under a bar that shows how far it is."""
    given = {f.name: f.value for f in feeds}
    feeds.clear()  # so that inputs are let go once they are read
    with show.Progress(total) as bar:
        rows = compare(args.model, given, args.other, against=args.against, layers=args.layers,
                       cumulative=args.cumulative, rtol=args.rtol, atol=args.atol, optimize=args.optimize, threads=args.threads,
                       registry=layered(args.kernels), trusted=args.trusted,
                       progress=lambda done, of: bar.step(of))
        given.clear()
        return list(rows)


def against(args: argparse.Namespace) -> str:
    """What the model is held against, in words."""
    engine = args.against or (engines.default() if args.other is None else "")
    how = {"": "", "O0": "the graph as written", "reference": "onnx's reference evaluator"}.get(engine, engine)
    return " in ".join(filter(None, [args.other and Path(args.other).name, how]))


def worst_first(rows: list[Row]) -> list[Row]:
    """Rows by how far they are beyond what is allowed; those that nothing was held against last."""
    return sorted(rows, key=lambda r: (r.status == "left out", -r.excess))


def tell(args: argparse.Namespace, rows: list[Row]) -> None:
    """The table, and below it what it came to; why nodes were left out once a reason."""
    printer = show.Printer(sys.stdout)
    held = [r for r in worst_first(rows) if r.status != "left out"]
    shown = held[:args.top or len(held)]
    if shown:
        first = 0 if args.layers else len(PLACE)
        table = tables.without([HEAD[first:], *(cells(r)[first:] for r in shown)], SPARE)
        for k, line in enumerate(tables.table(table, [k for k, head in enumerate(table[0]) if head in NUMBERS])):
            printer.line((line, "bold" if k == 0 else ""))
        if gone := [head for head in HEAD[first:] if head not in table[0]]:
            printer.line((f"a wider terminal, or a pipe, shows {', '.join(gone)}, too", "dim"))
    if len(held) > len(shown):
        printer.line((f"… and {len(held) - len(shown)} more that are no worse; --top 0 lists all", "dim"))
    for reason, found in reasons(rows):
        names = list(dict.fromkeys(map(place, found)))
        some = names[:FEW] if sys.stdout.isatty() else names
        rest = f" and {len(names) - len(some)} more" if len(names) > len(some) else ""
        printer.line(("left out  ", "yellow"), f"{', '.join(some)}{rest}: {reason}")
    whole = dict.fromkeys(f"{place(r)} with {r.inner} node{'s' * (r.inner != 1)}" for r in rows if r.inner)
    if whole:
        printer.line(("as one    ", "yellow"), f"{', '.join(whole)}: bodies are compared by what they give together")
    counts = Counter(r.status for r in rows)
    said = ", ".join(f"{n} {status}" for status, n in sorted(counts.items(), key=lambda item: item[0] != "ok"))
    printer.line((f"{said}", "green" if all(r.ok for r in rows) else "red"), f" against {against(args)}")
    sys.stdout.flush()
    errors = show.Printer(sys.stderr)
    for text in blamed(rows):
        errors.line(("interp: check failed: ", "red"), text)
    if args.against == "reference" and not args.layers and not args.quiet and not all(r.ok for r in rows):
        show.notice("onnx's evaluator runs a few operators of old opsets otherwise than their text; --layers leaves those out")


def cells(row: Row) -> tuple[str, ...]:
    """A row of the table, as HEAD names its cells."""
    d = row.distance
    kind = row.type.removeprefix("tensor(").removesuffix(")")
    shape = f"[{','.join(map(str, row.shape))}]" if row.shape is not None else ""
    numbers = ("",) * len(NUMBERS) if d is None else (
        show.number(d.max_abs), show.number(d.max_rel), show.number(d.mean_abs), "" if d.cosine is None else f"{d.cosine:.6f}",
        "" if d.max_ulp is None else show.number(d.max_ulp), share(d.excess))
    operator = f"{row.domain}:{row.op_type}" if row.domain else row.op_type
    return (made_by(row), operator, row.tensor, f"{kind}{shape}", *numbers, result(row))


def made_by(row: Row) -> str:
    """The node that made a tensor; after fusing, the nodes as written whose work it does."""
    names = row.sources or (row.node,)
    if len(names) <= FEW:
        return " + ".join(names)
    return f"{names[0]} … {names[-1]} ({len(names)} nodes)"


def place(row: Row) -> str:
    """What is to blame: the nodes, or the output where whole models are compared."""
    return f"{made_by(row)} ({row.op_type})" if row.node else row.tensor


def share(excess: float) -> str:
    """How much of what is allowed a difference takes."""
    return "∞" if math.isinf(excess) else f"{100 * excess:.3g} %"


def result(row: Row) -> str:
    """What it came to, in words."""
    d = row.distance
    if d is None:
        return f"{row.status}: {row.text}" if row.text else row.status
    if row.ok:
        return "equal" if not d.different else "ok"
    return f"{d.wrong} of {d.size} differ, first at [{','.join(map(str, d.first or ()))}]"


def reasons(rows: list[Row]) -> Iterator[tuple[str, list[Row]]]:
    """What was left out, by reason."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        if row.status == "left out":
            found.setdefault(row.text, []).append(row)
    yield from found.items()


def blamed(rows: list[Row]) -> Iterator[str]:
    """A line for each node, or output, that differs, in the order in which they run; of many the first ones."""
    by_place: dict[str, Row] = {}
    for row in rows:
        if not row.ok:
            by_place.setdefault(place(row), row)
    for where, row in list(by_place.items())[:10]:
        yield f"{where}: {row.tensor}: {result(row)}" if row.node else f"{where}: {result(row)}"
    if len(by_place) > 10:
        yield f"and {len(by_place) - 10} more"


def report(args: argparse.Namespace, inputs: list[dict[str, str]], rows: list[Row], notices: list[str]) -> dict[str, Any]:
    """All of it, rows in the order in which the nodes run."""
    return {
        "schema": SCHEMA, "model": str(args.model), "other": args.other,
        "against": args.against or (engines.default() if args.other is None else None), "layers": args.layers,
        "cumulative": args.cumulative, "rtol": args.rtol, "atol": args.atol,
        "inputs": inputs,
        "rows": [{**r.as_dict(), "ok": r.ok} for r in rows], "notices": notices, "seed": args.seed, "ok": all(r.ok for r in rows),
    }


def plot(args: argparse.Namespace, rows: list[Row]) -> str:
    """The error by layer: the largest difference of each tensor, relative to its largest number."""
    held = [(k, r) for k, r in enumerate(rows) if r.status != "left out"]
    series = []
    for name, wanted in (("within what is allowed", True), ("beyond", False)):
        some = [(k, r) for k, r in held if r.ok == wanted]
        series.append(Series(name, [(k, error(r)) for k, r in some], [f"{place(r)} {r.tensor}: {result(r)}, "
                             f"{show.number(error(r))}" for k, r in some], joined=False))
    how = "errors add up" if args.cumulative else "each node on the other side's inputs"
    return lines(series,
                 title=f"{Path(args.model).name} against {against(args)}: {how}",
                 x=Axis("tensor, in the order of the nodes", low=0, high=max(len(rows) - 1, 1)),
                 y=Axis("largest error, relative to the largest number", low=FLOOR, log=True))


def error(row: Row) -> float:
    """The relative error of a tensor; of what is something else altogether 1."""
    d = row.distance
    if d is None or math.isinf(d.excess) and not d.max_abs:
        return 1.0
    return d.max_abs / (d.largest or 1.0)
