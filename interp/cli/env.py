"""`interp env`: what this package runs on, for reports of bugs."""
from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Any

from interp.cli import show
from interp.environment import environment

SCHEMA = 1
BYTES = "memory"  # the part whose numbers are bytes


def main(args: argparse.Namespace) -> int:
    """Print what there is."""
    found = environment()
    if args.json:
        show.write_json({"schema": SCHEMA, **found}, args.json)
    if args.json != "-":
        printer = show.Printer(sys.stdout)
        for line in lines(found):
            printer.line(*line)
    sys.stdout.flush()
    return 0


def lines(found: dict[str, dict[str, Any]]) -> Iterator[list[Any]]:
    """A line a fact; the name of a part stands before its first."""
    width = max(len(key) for part in found.values() for key in part)
    for part, facts in found.items():
        for k, (key, value) in enumerate((facts or {"none": ""}).items()):
            yield [(f"{part if not k else '':11}", "bold"), f"{key:{width}}  ", told(value, part == BYTES)]


def told(value: Any, bytes_: bool) -> str:
    """A fact in words."""
    if value is None:
        return "no limit" if bytes_ else "none"
    if bytes_:
        return show.scaled(value, show.BYTES, "bytes")
    return ", ".join(value) or "none" if isinstance(value, list) else str(value)
