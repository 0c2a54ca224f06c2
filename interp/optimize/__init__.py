"""Passes, Graph to Graph: level 0 runs a graph as it is written, 1 cleans it, 2 also folds constants and fuses operators."""
from ..graph import Graph
from .clean import clean
from .fold import fold
from .fuse import Pass, fuse
from .line import lines

LEVELS = (0, 1, 2)
PASSES: tuple[Pass, ...] = (lines,)  # in this order


def optimized(graph: Graph, level: int, most: int | None = None) -> Graph:
    """The graph after the passes of a level; what folding works out takes at most so many bytes."""
    if level > 0:
        graph = clean(graph)
    if level > 1:
        graph = clean(fuse(clean(fold(graph, most)), PASSES))
    return graph
