"""Nodes coloured by the time that they take, read from a profile."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import InputError
from .scene import Box, Scene

SCHEMA = 1
# From pale yellow over orange and red to purple: lighter is less, also without colours (after ColorBrewer's YlOrRd).
STOPS = ((255, 246, 197), (254, 217, 118), (253, 157, 60), (226, 60, 34), (128, 4, 60))
STRIPS = 40  # of the legend
MIDDLE = 0.179  # of light: from here on black is read better than white (WCAG 2)


@dataclass
class Heat:
    """The longest time of a node, and what all take together, in seconds."""

    most: float
    total: float

    def colour(self, box: Box) -> tuple[str, bool] | None:
        """A box's colour, and whether text on it has to be dark; None where no time is known."""
        if box.seconds is None:
            return None
        return ramp(box.seconds / self.most if self.most else 0.0)

    def legend(self, x: float, y: float) -> Iterator[str]:
        """A scale from nothing to the longest time, for the picture."""
        for i in range(STRIPS):
            yield f'<rect x="{x + 5 * i:.0f}" y="{y:.0f}" width="5.5" height="12" fill="{ramp(i / (STRIPS - 1))[0]}"/>'
        end = x + 5 * STRIPS
        yield f'<text class="d" x="{x:.0f}" y="{y + 26:.0f}">0</text>'
        yield f'<text class="d" x="{end:.0f}" y="{y + 26:.0f}" text-anchor="end">{time(self.most)}</text>'
        yield f'<text class="d" x="{end + 14:.0f}" y="{y + 10:.0f}">time of a node; all nodes {time(self.total)}</text>'


def ramp(share: float) -> tuple[str, bool]:
    """A colour of the scale; the root spreads out the many nodes that take little."""
    at = min(max(share, 0.0), 1.0) ** 0.5 * (len(STOPS) - 1)
    low = min(int(at), len(STOPS) - 2)
    red, green, blue = (round(a + (b - a) * (at - low)) for a, b in zip(STOPS[low], STOPS[low + 1], strict=True))
    bright = 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
    return f"#{red:02x}{green:02x}{blue:02x}", bright > MIDDLE


def linear(part: int) -> float:
    """A part of a colour as light (sRGB)."""
    share = part / 255
    return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4


def time(seconds: float) -> str:
    """12 s, 3.4 ms, 56 µs."""
    unit, scale = next(u for u in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)) if seconds >= u[1] or u[0] == "µs")
    return f"{seconds / scale:.3g} {unit}"


def heated(scene: Scene, profile: Any) -> Heat:
    """Write a profile's times into the boxes of a scene; InputError where it is none, or of another model.

    ``profile`` is what `interp profile --json` writes. A node that ran for several of the graph as written gives its time
    to each of them, so that what runs as one has one colour.
    """
    if not isinstance(profile, Mapping) or profile.get("schema") != SCHEMA or not isinstance(profile.get("nodes"), list):
        raise InputError('this is no profile: make one with "interp profile MODEL --json=p.json"')
    boxes: dict[str, list[Box]] = {}
    for box in scene.walk():
        if box.kind == "node":
            boxes.setdefault(box.name, []).append(box)
    total, met = 0.0, 0
    for entry in profile["nodes"]:
        seconds, name, sources = read(entry)
        total += seconds
        found = [b for n in dict.fromkeys((name, *sources)) for b in boxes.get(n, ())]
        for box in found:
            box.seconds = (box.seconds or 0.0) + seconds
            box.together = tuple(dict.fromkeys((*box.together, *(b.name for b in found if b is not box))))
        met += len(found)
    if not met:
        raise InputError("the profile has no node of this graph: is it of another model, or of one rewritten otherwise (-O)?")
    return Heat(max(b.seconds or 0.0 for found in boxes.values() for b in found), total)


def read(entry: Any) -> tuple[float, str, Sequence[str]]:
    """Seconds, name and sources of one node of a profile."""
    try:
        seconds = float(entry["seconds"])
        name, sources = entry["name"], tuple(entry.get("sources") or ())
    except (TypeError, KeyError, ValueError, AttributeError) as problem:
        raise InputError(f"a node of the profile lacks its name or seconds: {entry!r:.80}") from problem
    if not isinstance(name, str) or not seconds >= 0 or not all(isinstance(s, str) for s in sources):
        raise InputError(f"a node of the profile has no usable name, sources or seconds: {entry!r:.80}")
    return seconds, name, sources
