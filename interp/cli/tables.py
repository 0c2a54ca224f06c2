"""Tables as text: whole in a pipe, on a terminal no wider than it."""
from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Collection, Iterator, Sequence
from itertools import zip_longest

from interp.cli.arguments import visible

NARROW, LEGIBLE = 8, 24  # characters that a column keeps on a narrow terminal, and those that make a name easy to read


def without(rows: Sequence[Sequence[str]], spare: Sequence[str]) -> list[tuple[str, ...]]:
    """Rows, under a head, less those columns for which a terminal has no room, the first of ``spare`` first."""
    widths = {head: min(max(map(len, column)), LEGIBLE) for head, *column in zip(*rows, strict=True)}
    widths = {head: max(width, len(head)) for head, width in widths.items()}
    for head in spare:
        if sum(widths.values()) + 2 * len(widths) > room():
            widths.pop(head, None)
    kept = [k for k, head in enumerate(rows[0]) if head in widths]
    return [tuple(row[k] for k in kept) for row in rows]


def room() -> int:
    """How many characters a line holds."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize


def table(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> Iterator[str]:
    """Lines of columns, those whose positions are in ``right`` to the right; on a terminal the cells wrapped."""
    lines = [tuple(map(visible, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    most = room()
    while sum(widths) + 2 * len(widths) > most and max(widths) > NARROW:
        widths[widths.index(max(widths))] -= 1
    for line in lines:
        wrapped = [textwrap.wrap(cell, width) if width else [] for cell, width in zip(line, widths, strict=True)]
        for parts in zip_longest(*wrapped, fillvalue=""):
            sides = [part.rjust if k in right else part.ljust for k, part in enumerate(parts)]
            yield "  ".join(side(width) for side, width in zip(sides, widths, strict=True)).rstrip()
