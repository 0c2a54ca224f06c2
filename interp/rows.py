"""What holding tensors against each other came to, a row a tensor."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from .distance import Distance, distance, tensors
from .types import type_of


@dataclass(frozen=True)
class Row:
    """What holding one tensor against another came to.

    ``status`` is "ok", "differs" or, with the reason in ``text``, "failed" (this package could not make it) and "left out" (there
    is nothing to hold it against). ``node`` made the tensor; it is "" where outputs of whole models are compared. ``index`` is
    the node's position, ``sources`` are the nodes as written of which it gives the result: with it those of nodes before it
    whose results are nowhere in the other graph, and ``inner`` counts nodes in bodies, which are compared by what they give
    together. ``distance`` is None where shapes or types differ.
    """

    tensor: str
    status: str
    type: str = ""
    shape: tuple[int, ...] | None = None
    node: str = ""
    op_type: str = ""
    domain: str = ""
    index: int | None = None
    text: str = ""
    sources: tuple[str, ...] = ()
    inner: int = 0
    distance: Distance | None = None

    @property
    def ok(self) -> bool:
        return self.status in ("ok", "left out")

    @property
    def excess(self) -> float:
        """By how many tolerances it is off at the worst place; infinite where it is something else altogether."""
        return self.distance.excess if self.distance is not None else 0.0 if self.ok else float("inf")

    def as_dict(self) -> dict[str, Any]:
        """All of it, the distance's parts beside the others."""
        return {**{k: v for k, v in vars(self).items() if k != "distance"}, **(asdict(self.distance) if self.distance else {})}


def held(name: str, got: Any, due: Any, rtol: float | None, atol: float | None, **facts: Any) -> Iterator[Row]:
    """A row for each tensor of two values: a sequence's items are name.0, name.1 …, a map's name.key."""
    ours, theirs = dict(tensors(name, got)), dict(tensors(name, due))
    if not ours and not theirs:
        yield Row(name, "ok", type_of(got), **facts)
    for key in {**ours, **theirs}:
        mine, other = ours.get(key), theirs.get(key)
        row = Row(key, "differs", type_of(mine), getattr(mine, "shape", None), **facts)
        if mine is None or other is None or mine.shape != other.shape or type_of(mine) != type_of(other):
            yield replace(row, text=f"{shown(mine)} here, {shown(other)} there")
            continue
        found = distance(mine, other, rtol, atol)
        yield replace(row, status="differs" if found.wrong else "ok", distance=found)


def shown(value: Any) -> str:
    """A type and shape, as rows tell them."""
    if value is None:
        return "nothing"
    return f"{type_of(value).removeprefix('tensor(').removesuffix(')')}[{','.join(map(str, value.shape))}]"
