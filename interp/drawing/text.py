"""A scene as lines of text, a line a box, with its edges in lanes to the left: git's log --graph for models."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .heat import Heat, time
from .scene import Box, Scene

WIDEST = 24  # lanes; what needs more is named in words
INDENT = "  "


@dataclass(frozen=True)
class Signs:
    """What lanes are drawn with; ``turns`` are a crossing's arms: from above, to below, to the left, to the right."""

    node: str
    ends: str
    down: str
    across: str
    tee: dict[str, str]


LINES = Signs("●", "○", "│", "─", {"udr": "├", "udl": "┤", "udlr": "┼", "ul": "╯", "ur": "╰", "ulr": "┴", "dl": "╮", "dr": "╭",
                                   "dlr": "┬"})
ASCII = Signs("*", "o", "|", "-", {"udr": "|", "udl": "|", "udlr": "+", "ul": "'", "ur": "`", "ulr": "'", "dl": ".", "dr": ".",
                                   "dlr": "."})


@dataclass(frozen=True)
class Row:
    """One line: the lanes, then the operator, its output's shape, its attributes, its name."""

    lanes: str
    box: Box | None
    title: str
    shape: str = ""
    detail: str = ""
    name: str = ""


def text(scene: Scene, heat: Heat | None = None, ascii: bool = False) -> str:
    """The whole tree, a title first, in columns."""
    return "\n".join([heading(scene), *("".join(cells).rstrip() for _, cells in lines(scene, heat, ascii)), ""])


def heading(scene: Scene) -> str:
    return "   ".join(map(shown, [scene.name, *scene.facts.values()]))


def shown(text: str) -> str:
    """A text on one line, in which nothing drives a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


def lines(scene: Scene, heat: Heat | None = None, ascii: bool = False) -> Iterator[tuple[Box | None, tuple[str, ...]]]:
    """Each line as cells that are padded to columns: lanes, operator, shape, attributes, name."""
    rows = [Row(r.lanes, r.box, *map(shown, (r.title, r.shape, r.detail, r.name)))
            for r in drawn(scene, ASCII if ascii else LINES)]
    lane = max((len(r.lanes) for r in rows), default=0)
    title = max((len(r.title) for r in rows), default=0)
    shape = min(max((len(r.shape) for r in rows), default=0), 40)
    for r in rows:
        spent = (f"{time(r.box.seconds):>9}  " if r.box is not None and r.box.seconds is not None else " " * 11) if heat else ""
        detail = f"{r.detail}  " if r.detail else ""
        yield r.box, (r.lanes.ljust(lane) + " ", f"{r.title:{title}}  ", spent, f"{r.shape:{shape}}  ", detail, r.name)


def drawn(scene: Scene, signs: Signs) -> Iterator[Row]:
    """The rows of a scene; a sub-graph's are indented below their node's, between the lanes that go on."""
    lanes = Lanes(scene, signs)
    for k, box in enumerate(scene.boxes):
        drawing, words = lanes.through(k)
        yield Row(drawing, box, box.title, box.shape, "  ".join(filter(None, (box.detail, words))), box.name)
        before = lanes.passing()
        for label, inner in box.inner:
            yield Row(f"{before}{INDENT}", None, f"{label}:")
            for row in drawn(inner, signs):
                yield Row(f"{before}{INDENT}{row.lanes}", row.box, row.title, row.shape, row.detail, row.name)


class Lanes:
    """The boxes whose outputs are still to be read, each in a lane of its own."""

    def __init__(self, scene: Scene, signs: Signs):
        self.signs, self.scene = signs, scene
        self.reads: list[dict[int, None]] = [{} for _ in scene.boxes]
        self.last: dict[int, int] = {}
        for s, t, _ in scene.edges:
            self.reads[t][s] = None
            self.last[s] = max(self.last.get(s, 0), t)
        self.lanes: list[int | None] = []
        self.at: dict[int, int] = {}

    def through(self, k: int) -> tuple[str, str]:
        """The lanes on a box's line, with the box and its edges in them; and in words what has no lane."""
        above = list(self.lanes)
        there = [self.at[s] for s in self.reads[k] if s in self.at]
        far = [self.scene.boxes[s].name for s in self.reads[k] if s not in self.at]
        ending = sorted(self.at.pop(s) for s in self.reads[k] if s in self.at and self.last[s] == k)
        for lane in ending:
            self.lanes[lane] = None
        own = ending[0] if ending else self.free(max(there, default=-1) + 1 if there else 0)
        if k in self.last and own < WIDEST:
            while len(self.lanes) <= own:
                self.lanes.append(None)
            self.lanes[own], self.at[k] = k, own
        while self.lanes and self.lanes[-1] is None:
            self.lanes.pop()
        words = f"← {', '.join(far)}" if far else ""
        return self.line(above, own, there, self.scene.boxes[k]), words

    def free(self, start: int) -> int:
        """The first lane from ``start`` on that nothing is in."""
        return next(i for i in range(start, len(self.lanes) + start + 1) if i >= len(self.lanes) or self.lanes[i] is None)

    def line(self, above: list[int | None], own: int, there: list[int], box: Box) -> str:
        low, high = min([own, *there]), max([own, *there])
        found = []
        for i in range(max(len(above), len(self.lanes), own + 1)):
            up = i < len(above) and above[i] is not None
            down = i < len(self.lanes) and self.lanes[i] is not None
            sides = ("l" if low < i <= high else "") + ("r" if low <= i < high else "")
            if i == own:
                sign = self.signs.node if box.kind == "node" else self.signs.ends
            elif i in there:
                sign = self.signs.tee.get(("u" if up else "") + ("d" if down else "") + sides, self.signs.down)
            elif up and down:
                sign = self.signs.down
            else:
                sign = self.signs.across if low < i < high else " "
            found.append(sign + (self.signs.across if low <= i < high else " "))
        return "".join(found)

    def passing(self) -> str:
        """The lanes below the line of a box."""
        return "".join((self.signs.down if lane is not None else " ") + " " for lane in self.lanes)
