"""Small plots as SVG: lines and points, histograms, and bars by name; readable on light and on dark pages."""
from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 760, 360  # pixels
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 44, 46  # what lies around the plot
LETTER = 6.2  # pixels that a letter takes, about
BAR, GAP, NAMES = 9, 6, 190  # of bars by name: thickness, what lies between groups, and room for names
STYLE = """<style>
svg { color: #1f2328; --page: #ffffff; --s0: #1f4e79; --s1: #7fb0de; --s2: #b35900; --s3: #3d7d3d; --mark: #c0392b; }
@media (prefers-color-scheme: dark) {
svg { color: #d6dce2; --page: #15191e; --s0: #6fb1ee; --s1: #33597d; --s2: #f0a050; --s3: #7cc77c; --mark: #ff7b6b; } }
.page { fill: var(--page); } text { fill: currentColor; } .grid { stroke: currentColor; stroke-opacity: 0.15; }
.mark { stroke: var(--mark); stroke-dasharray: 4 3; } .marked { fill: var(--mark); } .line { fill: none; stroke-width: 1.5; }
</style>"""
COLOURS = ("var(--s0)", "var(--s1)", "var(--s2)", "var(--s3)")


@dataclass(frozen=True)
class Scale:
    """Maps numbers from ``low`` to ``high`` to pixels from ``start`` to ``end``, evenly or by their logarithms."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Where a number lies; what is beyond the ends lies on them."""
        if math.isnan(value):
            value = self.high
        value = min(max(value, self.low), self.high)
        share = (self._of(value) - self._of(self.low)) / ((self._of(self.high) - self._of(self.low)) or 1)
        return self.start + share * (self.end - self.start)

    def _of(self, value: float) -> float:
        return math.log10(value) if self.log else value

    def ticks(self, most: int = 8) -> list[float]:
        """Round numbers between the ends: powers of ten, or steps of 1, 2 or 5 times one."""
        if self.log:
            first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
            return [10.0**e for e in range(first, last + 1, max(1, -(-(last - first + 1) // most)))]
        span = (self.high - self.low) or 1
        power = 10.0 ** math.floor(math.log10(span / most))
        step = next(power * k for k in (1, 2, 5, 10, 20) if span / (power * k) <= most)
        first = math.ceil(self.low / step - 1e-9)
        return [k * step for k in range(first, math.floor(self.high / step + 1e-9) + 1)]


@dataclass(frozen=True)
class Axis:
    """What an axis shows: its label, its ends (None: as the data have it), and whether by logarithms."""

    label: str = ""
    low: float | None = None
    high: float | None = None
    log: bool = False

    def scale(self, values: Iterable[float], start: float, end: float) -> Scale:
        """The scale for some data; on a logarithmic one what is not positive lies at the lower end."""
        known = [v for v in values if math.isfinite(v) and (v > 0 or not self.log)]
        low = self.low if self.low is not None else min(known, default=1.0 if self.log else 0.0)
        high = self.high if self.high is not None else max(known, default=10.0 if self.log else 1.0)
        if self.log:
            low = 10.0 ** math.floor(math.log10(low) + 1e-9) if self.low is None else low
            high = 10.0 ** math.ceil(math.log10(high) - 1e-9) if self.high is None else high
        if not high > low:
            high = low * 10 if self.log else low + 1
        return Scale(low, high, start, end, self.log)


@dataclass(frozen=True)
class Series:
    """Points (x, y), joined by a line or each on its own; ``titles`` are shown where a pointer rests on a point."""

    name: str
    points: Sequence[tuple[float, float]]
    titles: Sequence[str] = ()
    joined: bool = True


def lines(series: Sequence[Series], *, title: str, x: Axis, y: Axis, marks: Mapping[str, float] | None = None) -> str:
    """An SVG picture of some series; ``marks`` are values of x at which a named line stands."""
    across = x.scale([*(p[0] for s in series for p in s.points), *(marks or {}).values()], LEFT, WIDTH - RIGHT)
    up = y.scale([p[1] for s in series for p in s.points], HEIGHT - BOTTOM, TOP)
    drawn = (part for k, s in enumerate(series) for part in _drawn(s, COLOURS[k % len(COLOURS)], across, up))
    return _picture([*_axes(across, up, x, y), *drawn, *_marks(marks or {}, across)], title,
                    [s.name for s in series] if len(series) > 1 else [])


def _drawn(series: Series, colour: str, across: Scale, up: Scale) -> Iterator[str]:
    places = [(across(a), up(b)) for a, b in series.points]
    if series.joined and len(places) > 1:
        yield f'<polyline class="line" stroke="{colour}" points="{" ".join(f"{a:.2f},{b:.2f}" for a, b in places)}"/>'
    for k, (a, b) in enumerate(places if series.titles or not series.joined or len(places) == 1 else ()):
        said = f"<title>{text(series.titles[k])}</title>" if k < len(series.titles) else ""
        yield f'<circle cx="{a:.2f}" cy="{b:.2f}" r="2.5" fill="{colour}">{said}</circle>'


def histogram(values: Sequence[float], *, title: str, x: Axis, bins: int = 40, marks: Mapping[str, float] | None = None) -> str:
    """An SVG picture of how often values come, in ``bins`` of equal width; ``marks`` are values at which a named line stands."""
    across = x.scale([*values, *(marks or {}).values()], LEFT, WIDTH - RIGHT)
    counts = [0] * bins
    for v in values:
        share = (across(v) - across.start) / (across.end - across.start)
        counts[min(int(share * bins), bins - 1)] += 1
    y = Axis("runs", low=0)
    up = y.scale(counts, HEIGHT - BOTTOM, TOP)
    wide = (across.end - across.start) / bins
    drawn = [f'<rect x="{across.start + k * wide:.2f}" y="{up(n):.2f}" width="{max(wide - 1, 1):.2f}" '
             f'height="{up.start - up(n):.2f}" fill="{COLOURS[0]}"><title>{n}</title></rect>' for k, n in enumerate(counts) if n]
    return _picture([*_axes(across, up, x, y), *drawn, *_marks(marks or {}, across)], title, [])


def bars(rows: Mapping[str, Sequence[float]], *, title: str, mark: float | None = None) -> str:
    """An SVG picture of groups of bars by name, from 0 to the right, each with its number; a line stands at ``mark``."""
    thick = max(map(len, rows.values()), default=1) * BAR
    known = [v for values in rows.values() for v in values if math.isfinite(v)]
    across = Scale(0, max(map(math.ceil, known), default=1) or 1, NAMES, NAMES + 420)
    height = len(rows) * (thick + GAP) + 40
    parts = []
    for k, (name, values) in enumerate(rows.items()):
        y = 26 + k * (thick + GAP)
        parts.append(f'<text x="{NAMES - 6}" y="{y + thick / 2 + 4:.1f}" text-anchor="end">{text(name)}</text>')
        for n, v in enumerate(values):
            if math.isfinite(v):
                end, top = across(v), y + n * BAR
                parts.append(f'<rect x="{NAMES}" y="{top}" width="{end - NAMES:.1f}" height="{BAR - 1}" '
                             f'fill="{COLOURS[n % len(COLOURS)]}"/>')
                parts.append(f'<text x="{end + 4:.1f}" y="{top + BAR - 2}" font-size="8">{v:.2f}</text>')
    if mark is not None:
        x = f"{across(mark):.1f}"
        parts.append(f'<line class="mark" x1="{x}" x2="{x}" y1="20" y2="{height - 12}"/>')
    return _picture(parts, title, [], (NAMES + 500, height), (NAMES, 14))


def text(given: str) -> str:
    """A text as SVG holds it: escaped, and without the control characters that XML has no words for."""
    return escape("".join(c if c.isprintable() or c == " " else "\ufffd" for c in given), {'"': "&quot;"})


def _axes(across: Scale, up: Scale, x: Axis, y: Axis) -> Iterator[str]:
    for v in across.ticks():
        at = f"{across(v):.2f}"
        yield f'<line class="grid" x1="{at}" x2="{at}" y1="{up.start}" y2="{up.end}"/>'
        yield f'<text x="{at}" y="{up.start + 16}" text-anchor="middle">{v:.6g}</text>'
    for v in up.ticks():
        at = f"{up(v):.2f}"
        yield f'<line class="grid" x1="{across.start}" x2="{across.end}" y1="{at}" y2="{at}"/>'
        yield f'<text x="{across.start - 6}" y="{float(at) + 4:.2f}" text-anchor="end">{v:.6g}</text>'
    middle, center = (up.start + up.end) / 2, (across.start + across.end) / 2
    yield f'<text x="{center}" y="{up.start + 36}" text-anchor="middle">{text(x.label)}</text>'
    yield f'<text x="14" y="{middle}" text-anchor="middle" transform="rotate(-90 14 {middle})">{text(y.label)}</text>'


def _marks(marks: Mapping[str, float], across: Scale) -> Iterator[str]:
    for k, (name, value) in enumerate(marks.items()):
        at, y = across(value), TOP + 10 + 12 * (k % 4)
        yield f'<line class="mark" x1="{at:.2f}" x2="{at:.2f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>'
        near_end = at + len(name) * LETTER > WIDTH - RIGHT
        side = f'x="{at - 3:.2f}" text-anchor="end"' if near_end else f'x="{at + 3:.2f}"'
        yield f'<text class="marked" {side} y="{y}">{text(name)}</text>'


def _picture(parts: Sequence[str], title: str, names: Sequence[str], size: tuple[int, int] = (WIDTH, HEIGHT),
             at: tuple[int, int] = (LEFT, 18)) -> str:
    """The parts under a title, and the names of series beside their colours."""
    width, height = size
    legend, x = [], float(LEFT)
    for k, name in enumerate(names):
        legend.append(f'<rect x="{x:.1f}" y="28" width="9" height="9" fill="{COLOURS[k % len(COLOURS)]}"/>'
                      f'<text x="{x + 13:.1f}" y="37">{text(name)}</text>')
        x += 30 + LETTER * len(name)
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
                      f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11" role="img">', STYLE,
                      '<rect class="page" width="100%" height="100%"/>',
                      f'<text x="{at[0]}" y="{at[1]}" font-weight="bold">{text(title)}</text>', *legend, *parts, "</svg>", ""])
