"""`interp draw`: a model's graph as a tree of text, or as DOT, SVG or HTML in a file."""
from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path
from typing import Any

from interp import drawing
from interp.cli import show
from interp.cli.run import layered
from interp.drawing.families import COLOURS
from interp.drawing.text import heading, lines
from interp.errors import InputError, UsageError
from interp.survey import Survey, survey

ENDS = {".html": "html", ".htm": "html", ".svg": "svg", ".dot": "dot", ".gv": "dot", ".txt": "text"}


def main(args: argparse.Namespace) -> int:
    """Draw what the arguments say."""
    form = form_of(args)
    found = survey(args.model, sizes=dict(args.dim), shapes=dict(args.shape), optimize=args.optimize, trusted=args.trusted,
                   registry=layered(args.kernels))
    if not args.quiet:
        noticed(found)
    scene = drawing.scene_of(found, Path(args.model).name)
    heat = drawing.heated(scene, profile(args.profile)) if args.profile else None
    if form == "text" and not args.output:
        printed(scene, heat)
        return 0
    text = drawing.rendered(scene, form, heat)
    if args.output:
        Path(args.output).write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return 0


def form_of(args: argparse.Namespace) -> str:
    """What to write: as --format or the file's name says."""
    if args.format or not args.output:
        return args.format or "text"
    form = ENDS.get(Path(args.output).suffix.lower())
    if form is None:
        raise UsageError(f"-o {args.output}: name a file that ends in {', '.join(ENDS)}, or say --format")
    return form


def noticed(found: Survey) -> None:
    """What nothing runs, and where shapes do not follow."""
    for name, nodes in found.missing.items():
        show.notice(f"nothing runs {name} ({nodes} node{'s' * (nodes != 1)}); shapes after it are those that the model declares")
    for problem in found.problems[:3]:
        show.notice(problem)
    if len(found.problems) > 3:
        show.notice(f"and {len(found.problems) - 3} more nodes whose shapes do not follow")


def profile(place: str) -> Any:
    """The content of a profile."""
    try:
        return json.loads(Path(place).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as problem:
        raise InputError(f"{place}: is not JSON: {problem}") from problem


def printed(scene: drawing.Scene, heat: drawing.Heat | None) -> None:
    """The tree, in colour and cut to the width on a terminal."""
    printer = show.Printer(sys.stdout)
    room = shutil.get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize
    printer.line((heading(scene), "bold"))
    for box, cells in lines(scene, heat, ascii=not drawable()):
        kind = COLOURS[box.family].terminal if box is not None else "dim"
        left, parts = room, []
        for cell, style in zip(cells, ("dim", kind, "yellow", "cyan", "", "dim"), strict=True):
            parts.append((cell if len(cell) <= left else f"{cell[:max(left - 1, 0)]}{'…' * (left > 0)}", style))
            left = max(left - len(cell), 0)
        printer.line(*parts)
    sys.stdout.flush()


def drawable() -> bool:
    """Whether standard output can hold the lines and circles of a tree."""
    try:
        "●○│─├┼╯←…".encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
