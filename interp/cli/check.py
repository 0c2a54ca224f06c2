"""`interp check`: whether a model is valid, what is odd in it, and whether this package can run it."""
from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

from interp.checking import SEVERITIES, check_model, runs
from interp.cli import show
from interp.cli.run import layered
from interp.errors import Unsupported
from interp.lints import Finding

SCHEMA = 1
STYLES = {"error": "red", "unsupported": "red", "warning": "yellow", "note": ""}
FEW = 8  # findings of one kind that a terminal shows


def main(args: argparse.Namespace) -> int:
    """Print what was found; 1 for errors (with --strict for warnings too), 4 where this package cannot run the model."""
    found = check_model(args.model, registry=layered(args.kernels),
                        trusted=tuple(args.trusted))
    counts = Counter(f.severity for f in found)
    code = exit_code(counts, args.strict)
    if args.json:
        show.write_json({"schema": SCHEMA, "model": args.model, "valid": not counts["error"], "runs": runs(found),
                         "ok": code == 0, "counts": {s: counts[s] for s in SEVERITIES},
                         "findings": [vars(f) for f in found]}, args.json)
    if args.json != "-":
        printer = show.Printer(sys.stdout)
        for line in lines([f for f in found if not args.quiet or f.severity != "note"], sys.stdout.isatty() and not args.verbose):
            printer.line(*line)
        printer.line((verdict(counts, runs(found)), "bold green" if code == 0 else "bold red"))
    return code


def exit_code(counts: Counter[str], strict: bool) -> int:
    if counts["unsupported"]:
        return Unsupported.exit_code
    return int(bool(counts["error"] or strict and counts["warning"]))


def lines(found: list[Finding], short: bool) -> Iterator[list[Any]]:
    """A line a finding, what to do below it; ``short`` counts what is one too many of a kind."""
    width = max((len(f.severity) for f in found), default=0)
    told: Counter[str] = Counter()
    for f in found:
        told[f.kind] += 1
        if short and told[f.kind] > FEW:
            continue
        yield [(f"{f.severity:{width}}", STYLES[f.severity]), f"  {f.kind}: ", (f.node, "bold"), ": " if f.node else "", f.text]
        if f.advice:
            yield [" " * width, f"  → {f.advice}"]
    for kind, n in told.items():
        if short and n > FEW:
            yield [f"{'':{width}}  {kind}: {n - FEW} more; -v shows them"]


def verdict(counts: Counter[str], able: bool) -> str:
    """The whole in a sentence."""
    said = ", ".join(f"{n} {s}{'s' * (n != 1 and s != 'unsupported')}" for s in SEVERITIES if (n := counts[s]))
    return f"{said or 'nothing to say'}; this package {'can' if able else 'cannot'} run the model"
