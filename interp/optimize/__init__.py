"""Passes, Graph to Graph: level 0 runs a graph as it is written, 1 cleans it, 2 also folds constants and fuses operators."""
from ..graph import Graph
from .activations import activations
from .affine import fuse_affine_maps
from .attention import attentions
from .chains import chains
from .clean import clean
from .convolution import fuse_convolutions
from .duplicates import drop_duplicates
from .fold import fold
from .fuse import Pass, fuse
from .layout import choose_layouts
from .line import lines
from .norms import norms
from .products import products
from .quantized import is_quantized, quantized
from .table import one_hot_products
from .transpose import fuse_transposed_convolutions

LEVELS = (0, 1, 2)
PASSES: tuple[Pass, ...] = (  # in this order
    drop_duplicates, one_hot_products, activations, attentions, norms, fuse_convolutions, fuse_transposed_convolutions,
    fuse_affine_maps, choose_layouts, lines, products, chains)


def optimized(graph: Graph, level: int, most: int | None = None, exact: bool = False) -> Graph:
    """The graph after the passes of a level; what folding works out takes at most so many bytes.

    ``exact``: convolutions sum directly.
    """
    if level > 0:
        graph = clean(graph)
    if level > 1:
        if is_quantized(graph):  # before constants are folded: weights are still bytes
            graph = clean(fuse(graph, (quantized,), exact))
        graph = clean(fuse(clean(fold(graph, most)), PASSES, exact))
    return graph
