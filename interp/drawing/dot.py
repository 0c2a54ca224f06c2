"""A scene as DOT, the language of Graphviz."""
from __future__ import annotations

from collections.abc import Iterator

from .families import COLOURS
from .heat import Heat
from .scene import Box, Scene

ENDS = ("input", "output")
NODE = 'shape=box style="rounded,filled" fontname="Helvetica" fontsize=11 margin="0.12,0.06" penwidth=0 fontcolor=white'
EDGE = 'color="#7d8794" arrowsize=0.6'


def dot(scene: Scene, heat: Heat | None = None) -> str:
    """A digraph; sub-graphs are clusters, joined to their node by a dotted edge."""
    numbers = {id(box): f"n{k}" for k, box in enumerate(scene.walk())}
    return "\n".join([
        f"digraph {quoted(scene.name)} {{",
        f"  node [{NODE}];", f"  edge [{EDGE}];", *(f"  {line}" for line in members(scene, numbers, heat)), "}", ""])


def members(scene: Scene, numbers: dict[int, str], heat: Heat | None) -> Iterator[str]:
    """The nodes, clusters and edges of one scene."""
    for box in scene.boxes:
        yield f"{numbers[id(box)]} [{attributes(box, heat)}];"
        for label, inner in box.inner:
            yield f"subgraph cluster_{numbers[id(box)]}_{list(dict(box.inner)).index(label)} {{"
            yield f'  label={quoted(f"{label} of {box.name}")}; color="#aab2bd"; style=rounded;'
            yield from (f"  {line}" for line in members(inner, numbers, heat))
            yield "}"
            if inner.boxes:
                yield f"{numbers[id(box)]} -> {numbers[id(inner.boxes[0])]} [style=dotted arrowhead=none];"
    for s, t, value in scene.edges:
        yield f"{numbers[id(scene.boxes[s])]} -> {numbers[id(scene.boxes[t])]} [tooltip={quoted(value)}];"


def attributes(box: Box, heat: Heat | None) -> str:
    """Label, tooltip and colour of a node."""
    lines = [box.title, box.name if box.kind in ENDS else box.detail, box.shape]
    warm = heat.colour(box) if heat else None
    fill, ink = (warm[0], "black" if warm[1] else "white") if warm else (COLOURS[box.family].light, "white")
    return (f'label={quoted(chr(10).join(t for t in lines if t))} tooltip={quoted(box.name)} '
            f'fillcolor="{fill}"' + (f' fontcolor="{ink}"' if warm else ""))


def quoted(text: str) -> str:
    """A string for DOT. Backslashes are doubled, because Graphviz reads escapes such as \\N in labels, and so are no names."""
    kept = "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in text)
    return '"' + kept.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
