"""`interp plugins`: the plug-ins that are installed, what is in them, and why one cannot be loaded."""
from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Any

from interp import plugins
from interp.cli import show

SCHEMA = 1
HEAD = ("domain", "distribution", "version", "state", "operators")
STYLES = {"loaded": "green", "failed": "red", "off": "dim"}


def main(args: argparse.Namespace) -> int:
    """Load all plug-ins that are on, and print what became of each; 1 where one fails."""
    found = plugins.installed().found()
    for each in found:
        plugins.installed().load(each)
    if args.json:
        keys = ("domain", "distribution", "version", "value", "state", "operators", "error")
        show.write_json({"schema": SCHEMA, "plugins": [{k: getattr(p, k) for k in keys} for p in found]}, args.json)
    if args.json != "-":
        printer = show.Printer(sys.stdout)
        for line in lines(found):
            printer.line(*line)
    if not found:
        show.notice(f"no plug-ins are installed; one is a distribution with an entry point of the group {plugins.GROUP}")
    return int(any(p.state == "failed" for p in found))


def lines(found: list[plugins.Plugin]) -> Iterator[list[Any]]:
    """A line each, in columns, with the error of one that failed below it."""
    rows = [HEAD, *((p.domain, p.distribution, p.version, p.state, ", ".join(p.operators)) for p in found)] if found else []
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row, each in zip(rows, [None, *found], strict=False):
        style = "bold" if each is None else STYLES.get(each.state, "")
        yield [(f"{cell:{width}}  ", style if each is None or cell == each.state else "")
               for cell, width in zip(row, widths, strict=True)]
        if each is not None and each.error:
            yield [f"{'':{widths[0]}}  {each.value}: ", (each.error, "red")]
