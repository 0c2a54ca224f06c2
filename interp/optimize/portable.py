"""Passes whose results are standard ONNX, so that the graph can be written: each Graph to Graph, in an order."""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from hashlib import sha256
from typing import Any

import numpy as np

from ..branches import chosen
from ..graph import Graph, Node
from ..infer import declared
from ..record import record, replace
from ..schema import schema
from .affine import affine_of
from .clean import clean
from .convolution import WIDE, Fused, padded
from .duplicates import drop_duplicates
from .fold import fold
from .fuse import fuse
from .noops import drop_noops
from .rewrite import Rewriter, Rules, rule
from .transpose import transposed

LIMIT = 1 << 14  # bytes that the results of a folded node may take, if they take more than what they are made of
ROUNDS = 8  # after which passes that still find something are left
# What the first makes is larger than what it reads, which engines want to see; what the second makes is no tensor.
SPARED = ("DequantizeLinear", "Optional")


@record(frozen=True)
class Portable:
    """A pass, and what it does in a sentence: over a whole graph, with the limit of what is worked out, or by rewriting."""

    name: str
    said: str
    run: Callable[[Graph, int], Graph] | None = None
    rewrites: tuple[Callable[[Rewriter], None], ...] = ()


def chosen_branches(graph: Graph, _: int) -> Graph:
    """The branch that a constant condition names in the place of each If."""
    return chosen(graph, [declared(v) for v in graph.inputs])


def folded(graph: Graph, limit: int) -> Graph:
    """The results of nodes that depend on constants alone, where they are small or take no more than what is then not needed."""
    readers = Counter(i for n in graph.walk() for i in {*n.inputs, *(k for b in n.bodies.values() for k in b.constants)})

    def fits(node: Node, found: Iterable[Any], constants: dict[str, Any]) -> bool:
        if not all(isinstance(a, np.ndarray) for a in found):
            return False
        freed = sum(constants[i].nbytes for i in set(node.inputs) if i and readers[i] == 1)
        return sum(a.nbytes for a in found) <= max(limit, freed)
    return fold(graph, fits=fits, spared=SPARED)


def settle_shapes(at: Rewriter) -> None:
    """Values that follow from the declared shapes, as a Shape of fixed sizes, become constants."""
    for node in at.nodes():
        if node.bodies or not at.is_standard(node) or any(o in at.outputs for o in node.outputs):
            continue
        facts = [at.fact(o) for o in node.outputs if o]
        values = [f.value for f in facts if f is not None and isinstance(f.value, np.ndarray) and f.value.dtype == f.dtype]
        if len(values) == len(facts):
            at.constants.update(zip(filter(None, node.outputs), values, strict=True))
            at.replace([node], [])


def merge_constants(at: Rewriter) -> None:
    """Let those who read a constant read an equal one before it."""
    alike: dict[Hashable, list[str]] = {}
    for name, array in at.constants.items():
        if isinstance(array, np.ndarray) and name not in at.outputs and name not in at.graph.overridable:
            alike.setdefault((array.dtype, array.shape), []).append(name)
    for names in alike.values():
        first: dict[bytes, str] = {}
        for name in names if len(names) > 1 else ():
            other = first.setdefault(digest(at.constants[name]), name)
            if other != name:
                at.rename(name, other)


def digest(array: np.ndarray) -> bytes:
    """What arrays of one type and shape share that hold the same."""
    content = repr(array.tolist()).encode() if array.dtype == object else np.ascontiguousarray(array).reshape(-1).view("u1").data
    return sha256(content).digest()


@rule("Conv")
def take_padding(node: Node, at: Rewriter) -> bool:
    """A convolution of what is only padded with zeros pads itself."""
    grown = Fused(node, node.outputs[0], None, None)
    source = padded(grown, at)
    if not grown.pads:
        return False
    at.replace([*grown.gone, node], [replace(node, inputs=[source, *node.inputs[1:]], attributes={
        **node.attributes, "auto_pad": "NOTSET", "pads": grown.pads})])
    return True


@rule("Conv")
def take_scale(node: Node, at: Rewriter) -> bool:
    """A convolution by constants takes up the batch normalization, or other map of channels, after it."""
    weights = at.constant(node.inputs[1])
    bias = at.constant(node.inputs[2]) if len(node.inputs) > 2 else None
    if weights is None or bias is None and len(node.inputs) > 2 or at.type(node.inputs[0]) not in WIDE:
        return False
    grown = Fused(node, node.outputs[0], weights.astype(np.float64), None if bias is None else bias.astype(np.float64), [node])
    while (after := at.sole(grown.output)) is not None and (affine := affine_of(after, grown.output, at)) is not None:
        grown.fold(affine)
        grown.gone.append(after)
        grown.output = after.outputs[0]
    if not grown.folded or grown.weights is None or grown.bias is None:
        return False
    stored = [at.store(name, a.astype(weights.dtype)) for name, a in
              ((node.inputs[1], grown.weights), (f"{node.inputs[1]}/bias", grown.bias))]
    at.replace(grown.gone, [replace(node, inputs=[node.inputs[0], *stored], outputs=[grown.output])])
    return True


@rule("MatMul")
def take_bias(node: Node, at: Rewriter) -> bool:
    """A product of matrices and the vector that is added to it become one Gemm."""
    after = at.sole(node.outputs[0], "Add")
    shapes = [at.shape(i) for i in node.inputs]
    opset = at.graph.opsets.get("", 0)
    if after is None or at.type(node.outputs[0]) not in WIDE or any(s is None or len(s) != 2 for s in shapes) or opset < 7:
        return False
    other = after.inputs[after.inputs[0] == node.outputs[0]]
    bias, shape = at.constant(other), at.shape(node.outputs[0])
    if bias is None or shape is None or shape != at.shape(after.outputs[0]) or bias.shape not in ((shape[1],), (1, shape[1])):
        return False
    gemm = schema("Gemm", opset)
    at.replace([node, after], [replace(node, schema=gemm, op=at.registry.find(gemm), inputs=[*node.inputs, other],
                                       outputs=after.outputs, attributes=dict(gemm.defaults))])
    return True


PASSES = (
    Portable("clean", "drops nodes that no output needs, outputs that nobody reads and weights without a reader",
             lambda graph, _: clean(graph)),
    Portable("branches", "puts the branch of an If in its place, where the condition is constant", chosen_branches),
    Portable("constants", "works out what depends on constants alone, where that does not make the file much larger", folded),
    Portable("shapes", "works out what follows from declared sizes, as the Shape of an input of fixed sizes",
             rewrites=(settle_shapes,)),
    Portable("no-ops", "drops Identity, Dropout, Cast, Reshape, Transpose, Slice, Pad and others that change nothing, "
             "and joins transposes and reshapes in a row", rewrites=(drop_noops,)),
    Portable("duplicates", "works out once what is asked for twice, and keeps one of equal weights",
             rewrites=(drop_duplicates, merge_constants)),
    Portable("padding", "lets convolutions pad what a Pad before them pads with zeros", rewrites=(Rules(take_padding),)),
    Portable("normalization", "folds BatchNormalization, and products and sums by channel, into the weights of the "
             "Conv or ConvTranspose before them", rewrites=(Rules(take_scale, transposed),)),
    Portable("gemm", "makes a Gemm of a MatMul of matrices and the Add of a vector", rewrites=(Rules(take_bias),)),
)


def portable(graph: Graph, skip: Iterable[str] = (), limit: int = LIMIT) -> Graph:
    """The graph after the passes, but those to ``skip``, again and again until none finds anything.

    ``limit``: the bytes that what is worked out for one node may take where it takes more than what it is made of.
    """
    wanted = [p for p in PASSES if p.name not in set(skip)]
    for _ in range(ROUNDS):
        before = size_of(graph)
        for each in wanted:
            graph = each.run(graph, limit) if each.run else graph
        graph = fuse(graph, tuple(r for p in wanted for r in p.rewrites), exact=False)
        if size_of(graph) == before:
            break
    return clean(graph) if "clean" not in skip else graph


def size_of(graph: Graph) -> tuple[int, int]:
    """The nodes and constants of a graph, counted."""
    return sum(1 for _ in graph.walk()), len(graph.constants)
