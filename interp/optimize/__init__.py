"""Passes, Graph to Graph: level 0 runs a graph as it is written, 1 cleans it, 2 also folds constants and fuses operators."""
from importlib import import_module

from ..graph import Graph
from .clean import clean
from .fold import fold
from .fuse import Pass, fuse

LEVELS = (0, 1, 2)
# In this order: where a pass stands, and the operators of which it needs one; only those are imported that may find something.
PASSES: tuple[tuple[str, str, frozenset[str]], ...] = (
    ("duplicates", "drop_duplicates", frozenset()),
    ("table", "one_hot_products", frozenset(("MatMul",))),
    ("spellings", "spelled_out", frozenset(("Mul", "Div"))),
    ("rotary", "rotations", frozenset(("Neg",))),
    ("attention", "attentions", frozenset(("Softmax",))),
    ("norms", "norms", frozenset(("Sqrt",))),
    ("convolution", "fuse_convolutions", frozenset(("Conv",))),
    ("transpose", "fuse_transposed_convolutions", frozenset(("ConvTranspose",))),
    ("affine", "fuse_affine_maps", frozenset(("BatchNormalization", "Mul", "Add", "Sub", "Div"))),
    ("layout", "choose_layouts", frozenset(("Conv", "ConvTranspose"))),
    ("line", "lines", frozenset(("Conv",))),
    ("products", "products", frozenset(("MatMul", "Gemm"))),
    ("chains", "chains", frozenset()),
)
QUANTIZED = (("quantized", "quantized", frozenset(("QuantizeLinear", "MatMulInteger"))),)


def optimized(graph: Graph, level: int, most: int | None = None, exact: bool = False) -> Graph:
    """The graph after the passes of a level; what folding works out takes at most so many bytes.

    ``exact``: convolutions sum directly.
    """
    if level > 0:
        graph = clean(graph)
    if level > 1:
        if whole := useful(QUANTIZED, graph):  # before constants are folded: weights are still bytes
            graph = clean(fuse(graph, whole, exact))
        graph = clean(fold(graph, most))
        graph = clean(fuse(graph, useful(PASSES, graph), exact))
    return graph


def useful(passes: tuple[tuple[str, str, frozenset[str]], ...], graph: Graph) -> tuple[Pass, ...]:
    """The passes that may find something in a graph."""
    there = {n.schema.name for n in graph.walk()}
    return tuple(getattr(import_module(f".{module}", __name__), name) for module, name, needed in passes
                 if not needed or needed & there)
