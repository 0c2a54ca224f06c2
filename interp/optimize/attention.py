"""Attention spelled out as two products around a softmax becomes one operator, with the transposes around it."""
from __future__ import annotations

from ..graph import Node
from ..record import field, record
from .rewrite import Rewriter, Rules, rule
from .terms import product_of

TYPES = ("tensor(float)", "tensor(double)")
SWAP, TURN = (0, 2, 1, 3), (0, 1, 3, 2)


@record
class Found:
    """What leads to the softmax of scores."""

    nodes: list[Node] = field(default_factory=list)
    swapped: str = ""
    mask: str = ""
    lost: str = "nan"


@rule("Softmax")
def attention(node: Node, at: Rewriter) -> bool:
    """softmax(Q K^T scale + mask) V."""
    shape = at.shape(node.outputs[0])
    if (shape is None or len(shape) != 4 or at.type(node.outputs[0]) not in TYPES or node.schema.since < 13
            or node.attributes["axis"] not in (-1, 3)):
        return False
    found = Found([node])
    shares = _forgiven(node, at, found)
    last = at.sole(shares, "MatMul")
    scores = _unmasked(node.inputs[0], at, found)
    if last is None or last.inputs[0] != shares or scores is None or at.shape(scores) != shape:
        return False
    scaled = product_of(at, scores)
    found.nodes += scaled.nodes
    first = at.maker(scaled.factors[0], "MatMul") if len(scaled.factors) == 1 and at.sole(scaled.factors[0]) else None
    if first is None:
        return False
    found.nodes += [first, last]
    q, of_q = _scaled(first.inputs[0], at, found)
    k, of_k = _scaled(first.inputs[1], at, found)
    keys = _turned(k, at, found)
    if keys is None or not _fit(at, q, k, last):
        return False
    inputs = [_swapped("q", q, at, found), _swapped("k", keys, at, found), _swapped("v", last.inputs[1], at, found), found.mask]
    y = last.outputs[0]
    out = at.sole(y, "Transpose")
    if out is not None and out.attributes["perm"] == SWAP:
        found.swapped += "y"
        found.nodes.append(out)
        y = out.outputs[0]
    at.replace(found.nodes, [at.make("FusedAttention", inputs, [y], like=node, scale=scaled.number * of_q * of_k,
                                     swapped=found.swapped, lost=found.lost)])
    return True


def _forgiven(softmax: Node, at: Rewriter, found: Found) -> str:
    """The shares of a softmax, through the Where that puts zeros in the place of NaN."""
    shares = softmax.outputs[0]
    readers = at.readers(shares)
    test = next((n for n in readers if at.is_a(n, "IsNaN")), None)
    where = at.sole(test.outputs[0], "Where") if test is not None else None
    if (test is None or where is None or len(readers) != 2 or shares in at.outputs or where not in readers
            or at.number(where.inputs[1]) != 0 or where.inputs[2] != shares):
        return shares
    found.nodes += [test, where]
    found.lost = "forgiven"
    return where.outputs[0]


def _unmasked(value: str, at: Rewriter, found: Found) -> str | None:
    """The scores before a mask is added."""
    add = at.maker(value, "Add") if at.sole(value) else None
    if add is None:
        return value if at.sole(value) else None
    if add.attributes.get("broadcast") is not None:
        return None
    for scores, mask in (add.inputs, add.inputs[::-1]):
        if at.sole(scores) is add and at.maker(scores, "MatMul", "Mul", "Div") and at.shape(scores) == at.shape(value):
            found.nodes.append(add)
            found.mask = mask
            return scores
    return None


def _scaled(value: str, at: Rewriter, found: Found) -> tuple[str, float]:
    """A factor of the first product, and the number that it was multiplied by."""
    part = product_of(at, value)
    if len(part.factors) != 1 or at.shape(part.factors[0]) != at.shape(value):
        return value, 1.0
    found.nodes += part.nodes
    return part.factors[0], part.number


def _transpose(value: str, at: Rewriter) -> tuple[str, tuple[int, ...]] | None:
    """What a transpose that nothing else reads turns, and how."""
    node = at.maker(value, "Transpose") if at.sole(value) else None
    return None if node is None or node.attributes["perm"] is None else (node.inputs[0], tuple(node.attributes["perm"]))


def _drop(value: str, at: Rewriter, found: Found) -> None:
    maker = at.maker(value)
    if maker is not None:
        found.nodes.append(maker)


def _turned(value: str, at: Rewriter, found: Found) -> str | None:
    """The keys, of which the product reads the transpose."""
    turn = _transpose(value, at)
    if turn is None:
        return _turned_flat(value, at, found)
    if turn[1] == TURN:
        _drop(value, at, found)
        return turn[0]
    if turn[1] == (0, 2, 3, 1):
        _drop(value, at, found)
        found.swapped += "k"
        return turn[0]
    return None


def _turned_flat(value: str, at: Rewriter, found: Found) -> str | None:
    """The same where batch and heads are one axis meanwhile."""
    back = at.maker(value, "Reshape") if at.sole(value) else None
    turn = _transpose(back.inputs[0], at) if back is not None else None
    flat = at.maker(turn[0], "Reshape") if turn is not None and at.sole(turn[0]) else None
    if back is None or turn is None or flat is None or turn[1] != (0, 2, 1):
        return None
    keys, merged, made = at.shape(flat.inputs[0]), at.shape(flat.outputs[0]), at.shape(value)
    if keys is None or merged is None or made is None or len(keys) != 4 or len(merged) != 3 or len(made) != 4:
        return None
    if merged[1:] != keys[2:] or made != (*keys[:2], keys[3], keys[2]):
        return None
    found.nodes.append(back)
    _drop(back.inputs[0], at, found)
    found.nodes.append(flat)
    return flat.inputs[0]


def _swapped(name: str, value: str, at: Rewriter, found: Found) -> str:
    """A factor, before the transpose that puts its heads before its rows."""
    turn = _transpose(value, at) if name not in found.swapped else None
    readers = at.readers(value)
    if turn is None and len(readers) and name not in found.swapped:
        node = at.maker(value, "Transpose")
        if node is not None and node.attributes["perm"] == SWAP and at.shape(node.inputs[0]) is not None:
            found.swapped += name  # others read the transpose too: it stays for them
            return node.inputs[0]
        return value
    if turn is None or turn[1] != SWAP:
        return value
    _drop(value, at, found)
    found.swapped += name
    return turn[0]


def _fit(at: Rewriter, q: str, k: str, last: Node) -> bool:
    """Whether queries, turned keys and values have the same batches and heads."""
    shapes = [at.shape(v) for v in (q, k, last.inputs[1])]
    return all(s is not None and len(s) == 4 and s[:2] == (shapes[0] or ())[:2] for s in shapes)


attentions = Rules(attention)
