"""Passes, Graph to Graph: level 0 runs a graph as it is written, 1 cleans it, 2 also folds what is constant."""
from ..graph import Graph
from .clean import clean
from .fold import fold

LEVELS = {0: (), 1: (clean,), 2: (clean, fold, clean)}


def optimized(graph: Graph, level: int, most: int | None = None) -> Graph:
    """The graph after the passes of a level; what they work out takes at most so many bytes."""
    for apply in LEVELS[level]:
        graph = fold(graph, most) if apply is fold else apply(graph)
    return graph
