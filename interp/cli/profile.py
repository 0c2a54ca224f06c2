"""`interp profile`: where the time of a run goes."""
from __future__ import annotations

import argparse
import sys

import interp
from interp.cli import profiles, show
from interp.cli.feeds import collect
from interp.cli.report import header
from interp.cli.run import layered

SCHEMA = 1


def main(args: argparse.Namespace) -> int:
    """Measure the nodes of a model, and print what they take."""
    session = interp.load(args.model, threads=args.threads, precision=args.precision, trusted=tuple(args.trusted),
                          optimize=args.optimize, registry=layered(args.kernels))
    feeds = {f.name: f.value for f in collect(session, args, lambda text: None if args.quiet else show.notice(text))}
    found = profiles.measured(session, feeds, args)
    if args.json:
        show.write_json({"schema": SCHEMA, "model": str(args.model), "about": session.metadata, "threads": session.threads,
                         **found.as_json(), "trace": args.trace}, args.json)
    if args.json != "-":
        printer = show.Printer(sys.stdout)
        printer.line(*header(session, args.model))
        for line in found.lines(args.by, session.threads):
            printer.line(*line)
    return 0
