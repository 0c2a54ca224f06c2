"""A scene as SVG: a picture of its own, and what the page of html.py moves about."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np

from .families import COLOURS
from .heat import Heat
from .layout import Layout, arrange
from .scene import Box, Scene

HEAD, LINE, PAD, EDGE = 24.0, 15.0, 9.0, 14.0  # heights of a title and of a line below it, room at the sides and inside a box
WIDE, THIN = 7.8, 6.4  # how wide a character of a title is, and of a line
MOST, FEW = 38, 6  # characters of a line, and whole numbers that are shown one by one
MARGIN = 24.0
BROAD, CENTRED = 1600.0, 700.0  # widths from which sub-graphs stand below each other, and a title in the middle


@dataclass(eq=False)
class Placed:
    """A box of a scene with its text, how large it is, and where it ends up; ``number`` counts the boxes of the whole drawing."""

    box: Box
    lines: list[str]
    width: float
    height: float
    number: int = 0
    x: float = 0.0
    y: float = 0.0
    inner: list[Sheet] = field(default_factory=list)

    @property
    def head(self) -> float:
        """The height of the title and the lines, without sub-graphs."""
        return HEAD + LINE * len(self.lines) + (6 if self.lines else 0)


@dataclass(eq=False)
class Sheet:
    """A scene laid out: its boxes, and each edge's ends and points; ``label`` is the attribute of a sub-graph."""

    scene: Scene
    label: str
    boxes: list[Placed]
    layout: Layout
    x: float = 0.0
    y: float = 0.0

    def walk(self) -> Iterator[Placed]:
        for placed in self.boxes:
            yield placed
            for sheet in placed.inner:
                yield from sheet.walk()


def sheet_of(scene: Scene, label: str = "") -> Sheet:
    """Lay a scene out, its sub-graphs first."""
    boxes = [placed_of(box) for box in scene.boxes]
    fixed = frozenset(k for k, box in enumerate(scene.boxes) if box.kind == "input")
    layout = arrange([(b.width, b.height) for b in boxes], [(s, t) for s, t, _ in scene.edges], fixed)
    for placed, (x, y) in zip(boxes, layout.centres, strict=True):
        placed.x, placed.y = x - placed.width / 2, y - placed.height / 2
    sheet = Sheet(scene, label, boxes, layout)
    if not label:
        shifted(sheet, MARGIN, MARGIN)
        for number, placed in enumerate(sheet.walk()):
            placed.number = number
    return sheet


def placed_of(box: Box) -> Placed:
    lines = [cut(t) for t in (box.name if box.kind != "node" else box.detail, weights(box), box.shape) if t]
    width = max([len(cut(box.title)) * WIDE, *(len(t) * THIN for t in lines)]) + 2 * PAD
    placed = Placed(box, lines, max(width, 64.0), 0.0)
    placed.height = placed.head
    placed.inner = [sheet_of(scene, label) for label, scene in box.inner]
    if placed.inner:
        ends = [(x + s.layout.width, y + s.layout.height) for s, (x, y) in zip(placed.inner, places(placed), strict=True)]
        placed.width = max(placed.width, max(x for x, _ in ends) + 1.5 * EDGE)
        placed.height = max(y for _, y in ends) + 2 * EDGE
    return placed


def places(placed: Placed) -> list[tuple[float, float]]:
    """Where the sub-graphs of a box begin, from its upper left corner: side by side, or below each other where that is wide."""
    beside = sum(s.layout.width for s in placed.inner) <= BROAD
    found, x, y = [], 1.5 * EDGE, placed.head + LINE + EDGE
    for sheet in placed.inner:
        found.append((x, y))
        x, y = (x + sheet.layout.width + 2 * EDGE, y) if beside else (x, y + sheet.layout.height + LINE + 2 * EDGE)
    return found


def shifted(sheet: Sheet, dx: float, dy: float) -> None:
    """Move all of a sheet; sub-graphs go where their box is."""
    sheet.layout.routes = [[(x + dx, y + dy) for x, y in points] for points in sheet.layout.routes]
    for placed in sheet.boxes:
        placed.x, placed.y = placed.x + dx, placed.y + dy
        for inner, (x, y) in zip(placed.inner, places(placed), strict=True):
            inner.x, inner.y = placed.x + x, placed.y + y
            shifted(inner, inner.x, inner.y)


def weights(box: Box) -> str:
    """The weights of a node, small ones with their values: "W 64×3×7×7  B 64", "axes 0,2"."""
    found = []
    for p in box.inputs:
        if p.weight is not None:
            few = p.weight.size == 1 or p.weight.ndim == 1 and p.weight.size <= FEW and p.weight.dtype.kind in "iu"
            size = "×".join(map(str, p.weight.shape))
            found.append(f"{p.role or p.value} {','.join(map(short, p.weight.reshape(-1))) if few else size}")
    return "  ".join(found)


def short(number: Any) -> str:
    """A number in few characters; what stands for "to the end" in Slice is an infinity."""
    if isinstance(number, np.integer):
        return "∞" if number > 2**60 else "-∞" if number < -(2**60) else str(number)
    return f"{number:.4g}" if isinstance(number, np.floating) else str(number)


def cut(text: str) -> str:
    return text if len(text) <= MOST else f"{text[:MOST - 1]}…"


def clean(text: str) -> str:
    """A text for XML: escaped, without the characters that XML cannot have."""
    return escape("".join(c if c.isprintable() or c == " " else "\ufffd" for c in text))


def size_of(sheet: Sheet) -> tuple[float, float]:
    return sheet.layout.width + 2 * MARGIN, sheet.layout.height + 2 * MARGIN


def svg(scene: Scene, heat: Heat | None = None) -> str:
    """A whole SVG file, which follows light and dark where it is looked at."""
    sheet = sheet_of(scene)
    width, height = size_of(sheet)
    legend = list(heat.legend(MARGIN, height) if heat else ())
    height += 56 if legend else 0
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" font-family="system-ui, sans-serif" role="img">',
        f"<title>{clean(scene.name)}</title>", f"<style>{style(heat is not None)}</style>",
        '<rect class="paper" width="100%" height="100%"/>', *drawing(sheet, heat), *legend, "</svg>", ""])


def style(heated: bool, root: str = ":root") -> str:
    """The colours of paper, text, edges and families."""
    light = "--paper:#fbfaf7;--card:#ffffff;--ink:#20242b;--soft:#5c6470;--line:#98a1ad;--rim:#cfd4da;"
    dark = "--paper:#15181d;--card:#20252c;--ink:#e6e9ee;--soft:#a3acb8;--line:#6b7684;--rim:#3a424d;"
    light += "".join(f"--{slug(f)}:{c.light};" for f, c in COLOURS.items())
    dark += "".join(f"--{slug(f)}:{c.dark};" for f, c in COLOURS.items())
    rules = "".join(f".f-{slug(f)} .head{{fill:var(--{slug(f)})}}" for f in COLOURS)
    return (f"{root}{{{light}}}@media (prefers-color-scheme:dark){{{root}{{{dark}}}}}"
            f'{root}[data-theme="light"]{{{light}}}{root}[data-theme="dark"]{{{dark}}}{rules}'
            ".paper{fill:var(--paper)}.card{fill:var(--card);stroke:var(--rim)}.t{fill:#fff;font-size:12.5px;font-weight:600}"
            ".d{fill:var(--soft);font-size:11px}.s{fill:var(--ink);font-size:11px}.e{fill:none;stroke:var(--line);stroke-width:1.3}"
            ".tip{fill:var(--line)}.frame{fill:none;stroke:var(--rim);stroke-dasharray:4 3}"
            + (".none .head{fill:var(--soft)}" if heated else ""))


def slug(family: str) -> str:
    return family.replace(" ", "-")


def drawing(sheet: Sheet, heat: Heat | None = None) -> Iterator[str]:
    """The elements of a sheet: its edges, its boxes, and in each box its sub-graphs."""
    for s, t, points in ((sheet.boxes[s].number, sheet.boxes[t].number, points)
                         for (s, t, _), points in zip(sheet.scene.edges, sheet.layout.routes, strict=True)):
        yield f'<g class="w" data-s="{s}" data-t="{t}"><path class="e" d="{path(points)}"/>{tip(*points[-1])}</g>'
    for placed in sheet.boxes:
        yield from card(placed, heat)
        for inner in placed.inner:
            left, top = inner.x - EDGE / 2, inner.y - LINE - 6
            yield (f'<rect class="frame" x="{left:.1f}" y="{top:.1f}" width="{inner.layout.width + EDGE:.1f}" '
                   f'height="{inner.layout.height + LINE + 6 + EDGE / 2:.1f}" rx="6"/>')
            yield f'<text class="d" x="{left + 6:.1f}" y="{top + 12:.1f}">{clean(inner.label)}</text>'
            yield from drawing(inner, heat)


def card(placed: Placed, heat: Heat | None) -> Iterator[str]:
    """One box: a coloured head with the operator, the lines below it, a stripe of time where there was a profile."""
    x, y, w, box = placed.x, placed.y, placed.width, placed.box
    colour = heat.colour(box) if heat else None
    kind = f"f-{slug(box.family)}" if heat is None or box.kind != "node" else "hot" if colour else "none"
    fill, dark = (f' style="fill:{colour[0]}"', colour[1]) if colour else ("", False)
    bottom = "" if placed.lines or placed.inner else " "
    yield f'<g class="n {kind}" data-n="{placed.number}"><title>{clean(f"{box.title} {box.name}")}</title>'
    yield f'<rect class="card" x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{placed.height:.1f}" rx="6"/>'
    head = (f"M{x:.1f} {y + HEAD:.1f}v{-HEAD + 6}q0 -6 6 -6h{w - 12:.1f}q6 0 6 6v{HEAD - 6}z" if not bottom else
            f"M{x + 6:.1f} {y:.1f}h{w - 12:.1f}q6 0 6 6v{HEAD - 12}q0 6 -6 6h{12 - w:.1f}q-6 0 -6 -6v{12 - HEAD}q0 -6 6 -6z")
    yield f'<path class="head" d="{head}"{fill}/>'
    ink = ' style="fill:#000"' if dark else ""
    middle = f'x="{x + w / 2:.1f}" text-anchor="middle"' if w > CENTRED else f'x="{x + PAD:.1f}"'
    yield f'<text class="t" {middle} y="{y + 16.5:.1f}"{ink}>{clean(cut(box.title))}</text>'
    for i, text in enumerate(placed.lines):
        last = i == len(placed.lines) - 1 and text == cut(box.shape)
        down = y + HEAD + LINE * (i + 1) - 1
        yield f'<text class="{"s" if last else "d"}" x="{x + PAD:.1f}" y="{down:.1f}">{clean(text)}</text>'
    yield "</g>"


def path(points: list[tuple[float, float]]) -> str:
    """A curve through points, upright in each of them, that ends just above the last."""
    (x, y), rest = points[0], points[1:]
    found = [f"M{x:.1f} {y:.1f}"]
    for k, (to, down) in enumerate(rest):
        down -= 5 if k == len(rest) - 1 else 0
        bend = (down - y) / 2 if down - y < 120 else 60
        found.append(f"V{down:.1f}" if abs(to - x) < 0.5 else
                     f"C{x:.1f} {y + bend:.1f} {to:.1f} {down - bend:.1f} {to:.1f} {down:.1f}")
        x, y = to, down
    return "".join(found)


def tip(x: float, y: float) -> str:
    return f'<path class="tip" d="M{x:.1f} {y:.1f}l-3.4 -6.5h6.8z"/>'
