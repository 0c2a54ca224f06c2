"""`interp optimize`: writes a model that does less and gives the same, and tells what the passes did."""
from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from copy import copy
from typing import Any

import interp
from interp import rewriting, writing
from interp.cli import checks, show
from interp.cli.feeds import collect
from interp.cli.ops import walk
from interp.cli.run import layered
from interp.errors import UsageError
from interp.functions import domain_of
from interp.loading import parsed

SCHEMA = 1


def main(args: argparse.Namespace) -> int:
    """Write the optimised model, if it gives the same; 1 where --verify finds that it does not."""
    if args.list:
        return told_passes(args)
    if not args.model:
        raise UsageError("name a model, or --list the passes")
    if args.output:
        refuse_itself(args)
    limit = {} if args.limit is None else {"limit": args.limit}
    found = rewriting.optimised(args.model, registry=layered(args.kernels),
                                trusted=tuple(args.trusted), skip=args.skip, **limit)
    large = writing.weight(found.after) > writing.MOST_INSIDE
    verdicts: list[checks.Verdict] = []
    if args.verify and not (large and args.output):
        verdicts = list(verified(args, writing.model_of(found.after)))
    kept = bool(args.output) and all(v.ok for v in verdicts)
    if kept:
        writing.save(found.after, args.output, external=True if args.external else None)
        if args.verify and large:
            verdicts = list(verified(args, args.output))
    tell(args, found, verdicts, kept)
    return 0 if all(v.ok for v in verdicts) else 1


def refuse_itself(args: argparse.Namespace) -> None:
    """Do not write over the model that is read, unless that is meant."""
    there = os.path.exists(args.output) and os.path.exists(args.model)
    if there and not args.force and os.path.samefile(args.output, args.model):
        raise UsageError(f"{args.output} is the model itself; give another name, or --force to write over it")


def told_passes(args: argparse.Namespace) -> int:
    """Every pass, in order."""
    from interp.optimize.portable import PASSES

    if args.json:
        show.write_json({"schema": SCHEMA, "passes": [{"name": p.name, "said": p.said} for p in PASSES]}, args.json)
    if args.json != "-":
        width = max(len(p.name) for p in PASSES)
        for p in PASSES:
            print(f"{p.name:{width}}  {p.said}")
    return 0


def verified(args: argparse.Namespace, made: Any) -> Iterator[checks.Verdict]:
    """For each output the worst of what runs of both models came to, as they are written, on inputs from several seeds."""
    trusted = {"trusted": tuple(args.trusted), "threads": args.threads, "optimize": 0,
               "registry": layered(args.kernels)}
    first, other = interp.load(args.model, **trusted), interp.load(made, **trusted)
    worst: dict[str, checks.Verdict] = {}
    for run in range(args.verify):
        seeded = copy(args)
        seeded.seed = args.seed + run
        feeds = {f.name: f.value for f in collect(first, seeded, (lambda _: None) if run or args.quiet else show.notice)}
        for value, due, got in zip(first.outputs, first.run(None, feeds), other.run(None, feeds), strict=True):
            verdict = checks.compare(value.name, got, due, args.rtol, args.atol)
            old = worst.get(value.name)
            if old is None or (old.ok, -old.largest) > (verdict.ok, -verdict.largest):
                worst[value.name] = verdict
    yield from worst.values()


def tell(args: argparse.Namespace, found: rewriting.Optimised, verdicts: list[checks.Verdict], kept: bool) -> None:
    """What became of the operators, parameters and bytes."""
    report = as_json(args, found, verdicts, kept)
    if args.json:
        show.write_json(report, args.json)
    if args.json != "-":
        printer = show.Printer(sys.stdout)
        for line in lines(report):
            printer.line(*line)
    sys.stdout.flush()
    errors = show.Printer(sys.stderr)
    for v in verdicts:
        if not v.ok:
            errors.line(("interp: check failed: ", "red"), f"{v.name}: {v.text}")
    if found.settled and not args.quiet:
        show.notice(f"{len(found.settled)} initializers that were inputs too, as old files have them, are constants alone now")
    if not kept and not args.quiet:
        show.notice(f"{args.output} is not written, because the outputs differ" if args.output else
                    "nothing is written; -o OUT writes the model")


def as_json(args: argparse.Namespace, found: rewriting.Optimised, verdicts: list[checks.Verdict], kept: bool) -> dict[str, Any]:
    """Everything that was found out, in the form that `schema` numbers."""
    model, _ = parsed(args.model)
    graphs = found.before, found.after
    before, after = ({(n.schema.domain, n.schema.name): 0 for n in g.walk()} for g in graphs)
    for counted, g in zip((before, after), graphs, strict=True):
        for n in g.walk():
            counted[n.schema.domain, n.schema.name] += 1
    constants = sum(n.op_type == "Constant" and not domain_of(n) for n in walk(model.graph.node))
    before |= {("", "Constant"): constants} if constants else {}
    verified = {"runs": args.verify, "outputs": [vars(v) for v in verdicts]} if args.verify else None
    return {"schema": SCHEMA, "model": args.model, "output": args.output if kept else None,
            "operators": [{"domain": d, "name": n, "before": before.get((d, n), 0), "after": after.get((d, n), 0)}
                          for d, n in sorted(before | after)],
            "nodes": [sum(counted.values()) for counted in (before, after)],
            "parameters": [sum(a.size for a in writing.constants(g)) for g in graphs],
            "weight_bytes": [writing.weight(g) for g in graphs],
            "file_bytes": [file_size(args.model, model), file_size(args.output, parsed(args.output)[0])] if kept else None,
            "no_longer_inputs": list(found.settled), "verified": verified}


def file_size(path: str, model: Any) -> int:
    """The bytes of a model's file and of those beside it that its main graph names."""
    beside = {e.value for t in model.graph.initializer for e in t.external_data if e.key == "location"}
    folder = os.path.dirname(path)
    return os.path.getsize(path) + sum(os.path.getsize(os.path.join(folder, name)) for name in beside)


def lines(report: dict[str, Any]) -> Iterator[list[Any]]:
    """A table of operators, the most frequent first, and of sizes; then what --verify found."""
    rows = [(f"{o['domain']}:{o['name']}" if o["domain"] else o["name"], str(o["before"]), str(o["after"]))
            for o in sorted(report["operators"], key=lambda o: (-o["before"], -o["after"]))]
    sizes = [("nodes", [str(n) for n in report["nodes"]]),
             ("parameters", [show.scaled(n, show.COUNTS, "") for n in report["parameters"]]),
             ("weights", [show.scaled(n, show.BYTES, "bytes") for n in report["weight_bytes"]]),
             ("file", [show.scaled(n, show.BYTES, "bytes") for n in report["file_bytes"] or ()])]
    rows = [("operator", "before", "after"), *rows, *((name, pair[0], pair[1]) for name, pair in sizes if pair)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, before, after in rows:
        style = "bold" if name == "operator" else "" if before == after else "green"
        yield [f"{name:{widths[0]}}  {before:>{widths[1]}}  ", (f"{after:>{widths[2]}}", style)]
    verified = report["verified"]
    for v in verified["outputs"] if verified else ():
        if v["ok"]:
            yield [("verified", "bold"), f"  {v['name']}: {v['text']} in {verified['runs']} runs"]
