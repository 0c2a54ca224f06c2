"""A scene as one HTML file that needs nothing else: it pans, zooms, searches, and shows what a node is made of.

All text of the model is escaped, as markup in the picture and as JSON in the data; the page's policy lets its own script
run and nothing else, and lets it load nothing.
"""
from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

from .families import COLOURS
from .heat import STOPS, Heat, time
from .numbers import statistics
from .scene import Box, Port, Scene
from .svg import Placed, clean, drawing, sheet_of, size_of, slug, style


def html(scene: Scene, heat: Heat | None = None) -> str:
    """The whole page."""
    sheet = sheet_of(scene)
    width, height = size_of(sheet)
    weights: dict[int, int] = {}
    arrays: list[Any] = []
    placed = list(sheet.walk())
    data = {"name": scene.name, "facts": list(scene.facts.values()), "width": width, "height": height,
            "boxes": [entry(p, weights, arrays) for p in placed], "weights": [statistics(a) for a in arrays]}
    script, look = part("page.js"), part("page.css")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    name = clean(scene.name)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{name}</title>
<style>{style(heat is not None)}
{look}</style>
</head>
<body>
<header>
<h1>{name}</h1> <span class="facts">{clean(' · '.join(scene.facts.values()))}</span>
<div class="tools" role="toolbar" aria-label="View">
<input id="search" type="search" placeholder="operator, node or tensor" aria-label="Search">
<span id="found" aria-live="polite"></span>
<button id="out" aria-label="Zoom out">−</button><button id="in" aria-label="Zoom in">+</button>
<button id="fit">Fit</button><button id="theme" aria-label="Light or dark">◐</button>
</div>
</header>
<main id="view" tabindex="0" role="application" aria-label="The graph. Arrow keys move, plus and minus zoom, Enter picks a node.">
<svg xmlns="http://www.w3.org/2000/svg"><g id="world">
{chr(10).join(drawing(sheet, heat))}
</g></svg>
</main>
<aside id="panel" aria-label="Details" tabindex="0"></aside>
<footer>{"".join(legend(placed, heat))}<span class="keys"><kbd>/</kbd> search <kbd>+</kbd> <kbd>−</kbd> zoom <kbd>0</kbd> fit
<kbd>Enter</kbd> pick <kbd>↑</kbd><kbd>↓</kbd> follow edges <kbd>Esc</kbd> let go</span></footer>
<div id="said" class="quiet" aria-live="polite"></div>
<script id="data" type="application/json">{harmless(data)}</script>
<script>{script}</script>
</body>
</html>
"""


def part(name: str) -> str:
    """A file of the page that lies beside this one."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def harmless(data: Any) -> str:
    """JSON that no text in it can end."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def entry(placed: Placed, weights: dict[int, int], arrays: list[Any]) -> dict[str, Any]:
    """What the page knows of a box. ``weights`` has where the statistics of an array stand, by its identity."""
    box = placed.box

    def port(p: Port) -> dict[str, Any]:
        found: dict[str, Any] = {"role": p.role, "value": p.value, "kind": p.kind}
        if p.weight is not None:
            if id(p.weight) not in weights:
                weights[id(p.weight)] = len(arrays)
                arrays.append(p.weight)
            found["weight"] = weights[id(p.weight)]
        return found

    return {"t": box.title, "n": box.name, "k": box.kind, "f": box.family, "v": box.version, "p": list(box.sources),
            "a": box.attributes, "i": [port(p) for p in box.inputs], "o": [port(p) for p in box.outputs],
            "with": list(box.together), "sec": box.seconds or 0, "s": "" if box.seconds is None else time(box.seconds),
            "x": round(placed.x, 1), "y": round(placed.y, 1), "w": round(placed.width, 1), "h": round(placed.height, 1)}


def legend(placed: list[Placed], heat: Heat | None) -> Iterator[str]:
    """What the colours say: the scale of times, or the families that there are."""
    if heat is not None:
        stops = ",".join(f"rgb({r},{g},{b}) {(100 * (i / (len(STOPS) - 1)) ** 2):.0f}%" for i, (r, g, b) in enumerate(STOPS))
        yield (f'<span>0</span> <span class="scale" style="background:linear-gradient(to right,{stops})"></span> '
               f"<span>{time(heat.most)} of {time(heat.total)}</span>")
        return
    boxes: list[Box] = [p.box for p in placed if p.box.kind == "node"]
    for family, count in sorted(Counter(b.family for b in boxes).items(), key=lambda fc: list(COLOURS).index(fc[0])):
        yield (f'<button data-family="{family}" aria-pressed="false"><span class="chip" style="background:var(--{slug(family)})">'
               f"</span>{family} {count}</button>")
