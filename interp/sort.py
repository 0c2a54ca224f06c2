"""The order in which nodes can run."""
from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from .errors import ModelError
from .graph import Node


def in_order(nodes: Sequence[Node]) -> list[Node]:
    """The nodes, each after those whose outputs it reads, otherwise as they stood."""
    writer = {o: at for at, node in enumerate(nodes) for o in node.outputs if o}
    needs = [{writer[i] for i in node.inputs if i in writer} for node in nodes]
    if all(need < at for at, need in ((at, n) for at, all_ in enumerate(needs) for n in all_)):
        return list(nodes)
    readers: list[list[int]] = [[] for _ in nodes]
    for at, before in enumerate(needs):
        for b in before:
            readers[b].append(at)
    waits = [len(before) for before in needs]
    ready = [at for at, count in enumerate(waits) if not count]
    heapify(ready)
    order = []
    while ready:
        order.append(heappop(ready))
        for r in readers[order[-1]]:
            waits[r] -= 1
            if not waits[r]:
                heappush(ready, r)
    if len(order) < len(nodes):
        raise ModelError(f"nodes wait for each other: {' → '.join(nodes[at].name for at in _cycle(needs, waits))}")
    return [nodes[at] for at in order]


def _cycle(needs: list[set[int]], waits: list[int]) -> list[int]:
    """One of the cycles among the nodes that still wait, in the order of its data, its first node also at the end."""
    at = next(i for i, count in enumerate(waits) if count)
    path: dict[int, None] = {}
    while at not in path:
        path[at] = None
        at = min(n for n in needs[at] if waits[n])
    found = list(path)[list(path).index(at):]
    return [at, *reversed(found)]
