"""How far right each member of a layered drawing stands, so that chains and long edges are straight.

Brandes and Köpf, "Fast and Simple Horizontal Coordinate Assignment", 2001: members are joined with a median neighbour into
blocks that stand upright, blocks are packed as far to a side as they go, and of the four ways to do so the middle is taken.
"""
from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

Rows = Sequence[Sequence[int]]


def columns(rows: Rows, above: Rows, below: Rows, widths: Sequence[float], gap: float, boxes: int) -> list[float]:
    """The middle of each member, numbered as in ``rows``; members from ``boxes`` on are bends of long edges."""
    banned = conflicts(rows, above, boxes)
    found: list[list[float]] = []
    for turned in (False, True):
        order, near = (rows[::-1], below) if turned else (rows, above)
        for mirrored in (False, True):
            seen = [list(row)[::-1] if mirrored else list(row) for row in order]
            x = packed(seen, blocks(seen, near, banned), widths, gap)
            found.append([-v for v in x] if mirrored else x)
    spans = [(max(x) - min(x), k) for k, x in enumerate(found)]
    narrow = found[min(spans)[1]]
    for k, x in enumerate(found):
        shift = max(narrow) - max(x) if k % 2 else min(narrow) - min(x)
        found[k] = [v + shift for v in x]
    return [(a + b) / 2 for _, a, b, _ in map(sorted, zip(*found, strict=True))]


def conflicts(rows: Rows, above: Rows, boxes: int) -> set[tuple[int, int]]:
    """Links that cross one between two bends, which has to stay straight; as (upper, lower)."""
    found = set()
    for upper, lower in zip(rows, rows[1:], strict=False):
        place = {k: i for i, k in enumerate(upper)}
        inner = sorted((i, place[above[k][0]]) for i, k in enumerate(lower)
                       if k >= boxes and above[k] and above[k][0] >= boxes)
        at = [i for i, _ in inner]
        for i, k in enumerate(lower):
            b = bisect_left(at, i)
            low = inner[b - 1][1] if b else -1
            over = b + 1 if b < len(inner) and inner[b][0] == i else b
            high = inner[over][1] if over < len(inner) else len(upper)
            found |= {(u, k) for u in above[k] if not (k >= boxes and u >= boxes) and not low < place[u] < high}
    return found


def blocks(rows: Rows, near: Rows, banned: set[tuple[int, int]]) -> list[int]:
    """For each member the first of its block: where it can, a member joins a median of its neighbours in the row before."""
    count = sum(map(len, rows))
    place = [0] * count
    for row in rows:
        for i, k in enumerate(row):
            place[k] = i
    root = list(range(count))
    for row in rows:
        last = -1
        for k in row:
            around = sorted(near[k], key=lambda n: place[n])
            for m in dict.fromkeys(((len(around) - 1) // 2, len(around) // 2)) if around else ():
                other = around[m]
                if last < place[other] and (other, k) not in banned and (k, other) not in banned:
                    root[k], last = root[other], place[other]
                    break
    return root


def packed(rows: Rows, root: list[int], widths: Sequence[float], gap: float) -> list[float]:
    """Every block as far left as those beside it let it, then as near to what stands right of it as it can."""
    after: dict[int, dict[int, float]] = {r: {} for r in root}
    waits = dict.fromkeys(after, 0)
    for row in rows:
        for a, b in zip(row, row[1:], strict=False):
            u, v = root[a], root[b]
            if v not in after[u]:
                waits[v] += 1
            after[u][v] = max(after[u].get(v, 0.0), (widths[a] + widths[b]) / 2 + gap)
    x = dict.fromkeys(after, 0.0)
    order = [r for r in after if not waits[r]]
    for u in order:
        for v, room in after[u].items():
            x[v] = max(x[v], x[u] + room)
            waits[v] -= 1
            if not waits[v]:
                order.append(v)
    for u in reversed(order):
        if after[u]:
            x[u] = max(x[u], min(x[v] - room for v, room in after[u].items()))
    return [x[r] for r in root]
