"""Tables as text: whole in a pipe, on a terminal no wider than it."""
from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Collection, Iterator, Sequence
from itertools import zip_longest

from interp.cli.arguments import visible

NARROW = 8  # characters that a column keeps on a narrow terminal


def table(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> Iterator[str]:
    """Lines of columns, those whose positions are in ``right`` to the right; on a terminal the cells wrapped."""
    lines = [tuple(map(visible, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    room = shutil.get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize
    while sum(widths) + 2 * len(widths) > room and max(widths) > NARROW:
        widths[widths.index(max(widths))] -= 1
    for line in lines:
        wrapped = [textwrap.wrap(cell, width) if width else [] for cell, width in zip(line, widths, strict=True)]
        for parts in zip_longest(*wrapped, fillvalue=""):
            sides = [part.rjust if k in right else part.ljust for k, part in enumerate(parts)]
            yield "  ".join(side(width) for side, width in zip(sides, widths, strict=True)).rstrip()
