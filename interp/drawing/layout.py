"""Where boxes go: layers by longest path, orders by barycentres, columns by blocks. The same answer every time.

Sugiyama, Tagawa and Toda, "Methods for Visual Understanding of Hierarchical System Structures", 1981. An edge over several
layers runs through a bend in each; edges of one box share their bends, so that what is read often is one trunk.
"""
from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass, field

from .columns import columns

GAP, LEVEL = 22.0, 34.0  # between boxes of a layer, and between layers
THIN = 10.0  # the room of a bend
SWEEPS = 8  # of ordering
BENDS = 12  # bends for each box that are worth routing; what would need more runs straight


@dataclass
class Layout:
    """The middle of every box, the points of every edge from bottom to top of its boxes, and how large it all is."""

    centres: list[tuple[float, float]]
    routes: list[list[tuple[float, float]]]
    width: float
    height: float


@dataclass
class Web:
    """Boxes and bends in layers. Boxes come first, in their order; ``above`` and ``below`` are neighbours a layer away."""

    widths: list[float]
    layer: list[int]
    above: list[list[int]] = field(default_factory=list)
    below: list[list[int]] = field(default_factory=list)
    rows: list[list[int]] = field(default_factory=list)
    x: list[float] = field(default_factory=list)


def arrange(boxes: Sequence[tuple[float, float]], edges: Sequence[tuple[int, int]],
            fixed: frozenset[int] = frozenset()) -> Layout:
    """A layout for boxes of these widths and heights; an edge goes from a box to one after it in their order.

    ``fixed`` are the inputs of the graph: what does not depend on them stands where it is read.
    """
    if not boxes:
        return Layout([], [], 0, 0)
    layer = layered(len(boxes), edges, fixed)
    web, trunks = woven(boxes, edges, layer)
    ordered(web)
    web.x = columns(web.rows, web.above, web.below, web.widths, GAP, len(boxes))
    heights = [0.0] * (max(layer) + 1)
    for k, (_, height) in enumerate(boxes):
        heights[layer[k]] = max(heights[layer[k]], height)
    tops, y = [], 0.0
    for height in heights:
        tops.append(y)
        y += height + LEVEL
    left = min(web.x[k] - web.widths[k] / 2 for k in range(len(web.x)))
    x = [v - left for v in web.x]
    centres = [(x[k], tops[layer[k]] + heights[layer[k]] / 2) for k in range(len(boxes))]
    routes = []
    for s, t in edges:
        points = [(x[s], centres[s][1] + boxes[s][1] / 2)]
        for bend in trunks.get(s, [])[:layer[t] - layer[s] - 1]:
            top = tops[web.layer[bend]]
            points += [(x[bend], top), (x[bend], top + heights[web.layer[bend]])]
        routes.append(straightened([*points, (x[t], centres[t][1] - boxes[t][1] / 2)]))
    return Layout(centres, routes, max(v + w / 2 for v, w in zip(x, web.widths, strict=True)), y - LEVEL)


def layered(count: int, edges: Sequence[tuple[int, int]], fixed: frozenset[int] = frozenset()) -> list[int]:
    """A layer for each box: one below the lowest that it reads. Then what needs no input of the graph (``fixed``), and what is
    read as often as it reads, sinks towards its readers."""
    reads: list[set[int]] = [set() for _ in range(count)]
    readers: list[set[int]] = [set() for _ in range(count)]
    for s, t in edges:
        reads[t].add(s)
        readers[s].add(t)
    layer, loose = [0] * count, [True] * count
    for t in range(count):
        layer[t] = max((layer[s] + 1 for s in reads[t]), default=0)
        loose[t] = t not in fixed and all(loose[s] for s in reads[t])
    for s in reversed(range(count)):
        if readers[s] and (loose[s] or len(readers[s]) >= len(reads[s])):
            layer[s] = min(layer[t] for t in readers[s]) - 1
    return layer


def woven(boxes: Sequence[tuple[float, float]], edges: Sequence[tuple[int, int]],
          layer: list[int]) -> tuple[Web, dict[int, list[int]]]:
    """The web of boxes and bends, and the bends of each box's long edges from its own layer down."""
    web = Web([w for w, _ in boxes], list(layer))
    reach: dict[int, int] = {}
    for s, t in edges:
        reach[s] = max(reach.get(s, 0), layer[t] - layer[s] - 1)
    room = BENDS * len(boxes) + 1000
    trunks: dict[int, list[int]] = {}
    for s in sorted(reach, key=lambda s: (reach[s], s)):
        room -= reach[s]
        if room < 0:
            break
        trunks[s] = list(range(len(web.layer), len(web.layer) + reach[s]))
        web.layer += range(layer[s] + 1, layer[s] + 1 + reach[s])
        web.widths += [THIN] * reach[s]
    web.above, web.below = [[] for _ in web.layer], [[] for _ in web.layer]
    links = {(a, b): None for s, trunk in trunks.items() for a, b in zip([s, *trunk], trunk, strict=False)}
    for s, t in edges:
        span = layer[t] - layer[s]
        if span == 1 or s in trunks:
            links[([s, *trunks.get(s, [])][span - 1], t)] = None
    for a, b in links:
        web.below[a].append(b)
        web.above[b].append(a)
    web.rows = [[] for _ in range(max(layer) + 1)]
    for k, n in enumerate(web.layer):
        web.rows[n].append(k)
    return web, trunks


def ordered(web: Web) -> None:
    """Order every row by where its neighbours stand, from above and from below in turn; the order with fewest crossings stays."""
    place = [0] * len(web.layer)

    def settle(row: list[int]) -> None:
        for i, k in enumerate(row):
            place[k] = i

    def sort(row: list[int], near: list[list[int]]) -> None:
        weight = {k: sum(place[n] for n in near[k]) / len(near[k]) if near[k] else float(place[k]) for k in row}
        row.sort(key=lambda k: (weight[k], place[k]))
        settle(row)

    for row in web.rows:
        settle(row)
    best, fewest = [list(row) for row in web.rows], crossings(web, place)
    for sweep in range(SWEEPS):
        if not fewest:
            break
        down = sweep % 2 == 0
        for row in web.rows if down else reversed(web.rows):
            sort(row, web.above if down else web.below)
        crossed = crossings(web, place)
        if crossed < fewest:
            best, fewest = [list(row) for row in web.rows], crossed
    web.rows = best


def crossings(web: Web, place: list[int]) -> int:
    """How many links cross."""
    found = 0
    for row in web.rows:
        ends: list[int] = []
        for k in sorted(row, key=lambda k: place[k]):
            targets = sorted(place[b] for b in web.below[k])
            for t in targets:
                found += len(ends) - bisect_left(ends, t + 1)
            for t in targets:
                insort(ends, t)
    return found


def straightened(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """A route without the points that a straight way down passes anyhow."""
    kept = points[:1]
    for before, point, after in zip(points, points[1:], points[2:], strict=False):
        if not (abs(before[0] - point[0]) < 0.5 and abs(point[0] - after[0]) < 0.5):
            kept.append(point)
    return [*kept, points[-1]] if len(points) > 1 else kept
