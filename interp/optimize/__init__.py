"""Passes, Graph to Graph: level 0 runs a graph as it is written, 1 cleans it, 2 also folds what is constant."""
from ..graph import Graph
from .clean import clean
from .fold import fold

LEVELS = {0: (), 1: (clean,), 2: (clean, fold, clean)}


def optimized(graph: Graph, level: int) -> Graph:
    """The graph after the passes of a level."""
    for apply in LEVELS[level]:
        graph = apply(graph)
    return graph
