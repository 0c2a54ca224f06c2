"""What a run tells: lines for people, on a terminal in colour, and one JSON object for programs."""
from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

import numpy as np

from interp.cli.arguments import visible

BYTES = (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))
ROOM = 60  # characters for the first strings or entries of a value
COUNTS = (("G", 10**9), ("M", 10**6), ("k", 10**3))


class Printer:
    """Prints lines whose parts have a style; plain and uncut unless it writes to a terminal."""

    def __init__(self, stream: TextIO):
        self.stream = stream
        self.console = None
        if colourful(stream):
            from rich.console import Console

            self.console = Console(file=stream, soft_wrap=True, highlight=False, force_terminal=True)

    def line(self, *parts: str | tuple[str, str]) -> None:
        """One line; a part is a text, or a text and its style."""
        pairs = [(visible(text), style) for text, style in ((p, "") if isinstance(p, str) else p for p in parts)]
        if self.console is None:
            print("".join(text for text, _ in pairs).rstrip(), file=self.stream)
            return
        from rich.text import Text

        self.console.print(Text.assemble(*pairs))


def colourful(stream: TextIO) -> bool:
    """Whether to colour: as NO_COLOR, TERM and FORCE_COLOR say, else on terminals."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") in ("dumb", "unknown"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or stream.isatty()


class Progress:
    """A bar on stderr, on a terminal only; ``total`` 0 shows none. It is redrawn between steps, never by a thread beside them."""

    def __init__(self, total: int):
        self.bar = None
        if total and sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
            from rich import progress
            from rich.console import Console

            self.bar = progress.Progress(console=Console(stderr=True), transient=True, auto_refresh=False)
            self.task = self.bar.add_task("runs", total=total)
            self.drawn = 0.0

    def __enter__(self) -> Progress:
        if self.bar is not None:
            self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def step(self, total: int | None = None) -> None:
        """One more is done; of how many, where that is known better by now."""
        if self.bar is not None:
            self.bar.update(self.task, advance=1, total=total)
            if time.monotonic() - self.drawn > 0.1:
                self.bar.refresh()
                self.drawn = time.monotonic()


def notice(text: str) -> None:
    """A line beside the results."""
    Printer(sys.stderr).line(("interp: notice: ", "yellow"), text)


def number(x: float) -> str:
    return f"{x:.3g}"


def duration(seconds: float) -> str:
    """12 s, 3.4 ms, 56 µs."""
    unit, scale = next(u for u in (("s", 1.0), ("ms", 1e-3), ("µs", 0.0)) if seconds >= u[1])
    return f"{seconds / (scale or 1e-6):.3g} {unit}" if seconds < 1000 else f"{seconds:.0f} s"


def scaled(n: int, units: Sequence[tuple[str, int]], plain: str) -> str:
    """1.2 M, 4.7 MiB, 12."""
    for unit, scale in units:
        if n >= scale:
            return f"{n / scale:.3g} {unit}" if n < 1000 * scale else f"{n / scale:.0f} {unit}"
    return f"{n} {plain}".rstrip()


def described(value: Any) -> str:
    """Type and shape: float32[1,3,224,224]; for a sequence its length and its first item."""
    if isinstance(value, np.ndarray):
        name = "string" if value.dtype.kind in "OUS" else value.dtype.name
        return f"{name}[{','.join(map(str, value.shape))}]"
    if isinstance(value, list | tuple):
        return f"{len(value)} × {described(value[0])}" if value else "sequence of 0"
    if isinstance(value, dict):
        return f"map of {len(value)}"
    return "nothing" if value is None else type(value).__name__


def statistics(value: Any) -> dict[str, float | int]:
    """The smallest, mean and largest number, NaN set aside and counted; nothing for what has no numbers."""
    if not isinstance(value, np.ndarray) or value.dtype.kind in "OUSc" or not value.size:
        return {}
    inexact = value.dtype.kind not in "biu"
    numbers = value.astype(np.float64).ravel() if inexact else value.ravel()
    present = numbers[~np.isnan(numbers)] if inexact else numbers
    found: dict[str, float | int] = {}
    if present.size:
        with np.errstate(all="ignore"):  # the mean of inf and -inf is NaN, which is what to say
            found = {"min": present.min().item(), "mean": present.mean(dtype=np.float64).item(), "max": present.max().item()}
    if inexact:
        found["nan"] = int(numbers.size - present.size)
        if infinite := int(np.isinf(present).sum()):
            found["inf"] = infinite
    return found


def labels(props: dict[str, str]) -> list[str]:
    """The classes' names that a model carries under `labels`: a JSON list, or names between commas."""
    text = props.get("labels", "")
    if text.startswith("["):
        try:
            return [str(name) for name in json.loads(text)]
        except ValueError:
            return []
    return [name.strip() for name in text.split(",")] if text else []


def score_rows(value: Any, names: list[str]) -> list[tuple[np.ndarray, Sequence[Any]]]:
    """An output seen as rows of scores and the names of their classes, a row for each item; none where it looks otherwise."""
    if isinstance(value, list | tuple) and value and all(map(of_numbers, value)):
        return [(np.array([*row.values()], np.float64), [*row]) for row in value]
    if not isinstance(value, np.ndarray) or value.dtype.kind in "OUSbiuc" or not value.size:
        return []
    rows = value.reshape(value.shape[0], -1) if value.ndim > 1 else value.reshape(1, -1)
    wide = [n for n in value.shape[1:] if n > 1] if value.ndim > 1 else [value.size]
    if len(wide) != 1 or wide[0] < 2:
        return []
    return [(row, names if len(names) == len(row) else range(len(row))) for row in rows.astype(np.float64)]


def of_numbers(value: Any) -> bool:
    """Whether this is a map from classes to scores."""
    return isinstance(value, dict) and bool(value) and all(isinstance(v, float | np.floating) for v in value.values())


def top(value: Any, k: int | None, names: list[str]) -> list[list[dict[str, Any]]]:
    """The k largest scores of each row: index, label, value; 5 of a single row unless k is said."""
    if k == 0 or k is None and not single(value):
        return []
    return [[{"index": int(i), "label": str(called[i]), "value": float(row[i])} for i in np.argsort(-row, kind="stable")[:k or 5]]
            for row, called in score_rows(value, names)]


def single(value: Any) -> bool:
    """Whether an output holds one item of a batch."""
    if isinstance(value, np.ndarray):
        return value.ndim > 1 and value.shape[0] == 1
    return isinstance(value, list | tuple) and len(value) == 1


def facts(value: Any) -> str:
    """The statistics in words; of strings and maps the first entries, of a sequence what its first item has."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "OUS":
        return few(json.dumps(plain(item), ensure_ascii=False) for item in value.ravel()[:ROOM].tolist())
    if isinstance(value, dict):
        return few(f"{key} {brief(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return f"first: {facts(value[0])}" if value else ""
    return "  ".join(f"{key} {number(x)}" for key, x in statistics(value).items())


def few(texts: Iterable[str]) -> str:
    """As many as fit into some part of a line, then an ellipsis; of one that is too long the beginning."""
    said = ""
    for text in texts:
        longer = f"{said}  {text}" if said else text
        if len(longer) > ROOM:
            return f"{said}  …" if said else f"{text[:ROOM]}…"
        said = longer
    return said


def brief(item: Any) -> str:
    return number(float(item)) if isinstance(item, float | np.floating) else str(item)


def whole(value: Any) -> str:
    """All values, none left out; each item of a sequence and each entry of a map on lines of its own."""
    if isinstance(value, np.ndarray):
        with np.printoptions(threshold=sys.maxsize, linewidth=120):
            return str(value)
    if isinstance(value, list | tuple):
        return "\n".join(f"{i}: {repr(item) if isinstance(item, dict) else whole(item)}" for i, item in enumerate(value))
    if isinstance(value, dict):
        return "\n".join(f"{key!r}: {whole(item)}" for key, item in value.items())
    return repr(value)


def plain(value: Any) -> Any:
    """A value as JSON has it; numbers that JSON lacks become the strings NaN, Infinity and -Infinity."""
    if isinstance(value, np.ndarray):
        return plain(value.astype(np.float64).tolist() if value.dtype.kind not in "biufOUS" else value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, complex):
        return [plain(value.real), plain(value.imag)]
    return value.decode() if isinstance(value, bytes) else value


def write_json(report: dict[str, Any], place: str) -> None:
    """Print a report, or write it to a file."""
    text = json.dumps(plain(report), ensure_ascii=False, separators=(",", ":"))
    if place == "-":
        print(text)
    else:
        with open(place, "w", encoding="utf-8") as file:
            print(text, file=file)
