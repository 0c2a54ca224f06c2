"""`interp debug`: which node of a model makes the first NaN or infinity, from what, and a model of it alone."""
from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import interp
from interp import nonfinite
from interp.cli import checks, show
from interp.cli.feeds import Feed, collect
from interp.cli.report import header, tensor
from interp.cli.run import layered
from interp.errors import UsageError
from interp.nonfinite import Found, Spoilt
from interp.source import Source

SCHEMA = 1


def main(args: argparse.Namespace) -> int:
    """Look for the first node that makes what is not finite; 1 where there is one."""
    if args.output and Path(args.output).suffix != ".onnx":
        raise UsageError(f"-o {args.output}: name a file that ends in .onnx")
    registry = layered(args.kernels)
    load = partial(interp.load, args.model, threads=args.threads, precision=args.precision, trusted=tuple(args.trusted),
                   registry=registry)
    # Fused, nodes have lost their names; what only a fused node does is looked for afterwards.
    levels = [0, 2] if args.optimize == 2 else [args.optimize]
    session = load(optimize=min(levels))
    feeds = collect(session, args, lambda text: None if args.quiet else show.notice(text))
    given = {f.name: f.value for f in feeds}
    found, level = None, 0
    for level in levels:
        session = session if level == min(levels) else load(optimize=level)
        session.open_bodies()
        found = nonfinite.search(session, given, infinite=args.only != "nan")
        if found is not None:
            break
    graph = Source(args.model, registry, tuple(args.trusted)).read()
    held = [*(("input", s) for f in feeds if (s := nonfinite.spoilt(f.name, f.value)) is not None),
            *(("initializer", s) for s in nonfinite.stored(graph))]
    cut = write(args, graph, found, load, given) if found is not None and args.output else None
    if args.json:
        show.write_json(as_json(args, feeds, found, level, held, cut), args.json)
    if args.json != "-":
        printer = show.Printer(sys.stdout)
        printer.line(*header(session, args.model))
        for line in lines(found, level, held, cut):
            printer.line(*line)
    return 0 if found is None else 1


def write(args: argparse.Namespace, graph: Any, found: Found, load: Any, feeds: dict[str, Any]) -> dict[str, Any]:
    """Write a model of what was found and its inputs, run it, and say how to."""
    values = found.inputs
    if found.event.sources not in ((), (found.event.node,)):  # fused: the nodes as written read other values
        values = {**feeds, **inner(load(optimize=0), feeds)}
    model, data = Path(args.output), Path(args.output).with_name("inputs.npz")
    fed = nonfinite.write_alone(graph, found, model, values)
    checks.save_archive(data, {k: checks.storable(a) for name, value in fed.items() for k, a in checks.parts(name, value)})
    check = "--check-nan" if any(s.nan for s in found.spoilt) else "--check-finite"
    session = interp.load(str(model), registry=layered(args.kernels))
    again = nonfinite.search(session, {v.name: fed[v.name] for v in session.inputs})
    return {"model": str(model), "data": str(data), "command": f"interp {model} --data {data} {check}", "same": again is not None}


def inner(session: Any, feeds: dict[str, Any]) -> dict[str, Any]:
    """Every value of a run of the model as it is written."""
    seen: dict[str, Any] = {}
    keep = lambda event: seen.update(nonfinite.copied(event.outputs))  # noqa: E731
    session.observers.append(keep)
    session.run(None, feeds)
    return seen


def lines(found: Found | None, level: int, held: list[tuple[str, Spoilt]], cut: dict[str, Any] | None) -> Iterator[list[Any]]:
    """What was found, what the node read and made, and where it was written."""
    for kind, s in held:
        yield [("holds    ", "yellow"), f"the {kind} {s.name}: {said(s)}"]
    if found is None:
        yield [("nothing  ", "green"), "no node makes NaN or infinity, nor passes NaN on"]
        return
    event = found.event
    what = " and ".join(name for name, any_ in (("NaN", any(s.nan for s in found.spoilt)),
                                                ("infinity", any(s.inf for s in found.spoilt))) if any_)
    yield [("found    ", "red"), f"{event.node} ({operator(event)}) {'makes' if found.made else 'passes on'} {what}"]
    for s in found.spoilt:
        yield [("         ", ""), f"{s.name}: {said(s)}"]
    if event.within:
        yield [("within   ", "bold"), " / ".join(event.within)]
    if level == 2 and event.sources:
        yield [("fused    ", "bold"), f"from {', '.join(event.sources)}, which do not, as they are written"]
    for title, values in (("reads    ", found.inputs), ("makes    ", found.outputs)):
        width = max(map(len, values), default=0)
        for name, value in values.items():
            yield [(title, "bold"), f"{name:{width}}  ", (show.described(value), "cyan"), f"  {show.facts(value)}"]
    if cut is not None:
        yield [("written  ", "bold"), f"{cut['model']} and {cut['data']}; {cut['command']}"
               + ("" if cut["same"] else "   (which does not give it by itself)")]


def said(s: Spoilt) -> str:
    """3 of 12 are NaN, 1 infinite, the first at [0,2]."""
    parts = [f"{n} of {s.size} {'is' if n == 1 else 'are'} {what}" for n, what in ((s.nan, "NaN"), (s.inf, "infinite")) if n]
    return f"{', '.join(parts)}, the first at [{','.join(map(str, s.first))}]"


def operator(event: interp.Event) -> str:
    return f"{event.domain}:{event.op_type}" if event.domain else event.op_type


def as_json(args: argparse.Namespace, feeds: list[Feed], found: Found | None, level: int, held: list[tuple[str, Spoilt]],
            cut: dict[str, Any] | None) -> dict[str, Any]:
    """All of it."""
    def value(name: str, given: Any) -> dict[str, Any]:
        return {"name": name, **tensor(given), **show.statistics(given)}

    def amount(s: Spoilt) -> dict[str, Any]:
        return {"name": s.name, "nan": s.nan, "inf": s.inf, "size": s.size, "first": list(s.first)}

    report: dict[str, Any] = {"schema": SCHEMA, "model": str(args.model), "seed": args.seed, "found": None,
                              "fed": [{**value(f.name, f.value), "source": f.source} for f in feeds],
                              "held": [{"kind": kind, **amount(s)} for kind, s in held], "written": cut}
    if found is not None:
        event = found.event
        report["found"] = {"name": event.node, "op_type": event.op_type, "domain": event.domain, "index": event.index,
                           "within": list(event.within), "sources": list(event.sources), "optimize": level, "made": found.made,
                           "spoilt": [amount(s) for s in found.spoilt],
                           "inputs": [value(*item) for item in found.inputs.items()],
                           "outputs": [value(*item) for item in found.outputs.items()]}
    return report
