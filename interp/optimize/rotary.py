"""Rotary embeddings as exporters spell them: x * cos + rotate_half(x) * sin becomes the operator that the standard has for it."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..graph import Node
from .rewrite import Rewriter, Rules, rule

TYPES = ("tensor(float)", "tensor(float16)", "tensor(bfloat16)")
SAME = frozenset(("Cos", "Sin", "Cast", "Identity"))  # what leaves two halves that are alike alike, whatever it is given
LEFT_ALONE = {"Unsqueeze": 1, "Squeeze": 1, "Gather": 1, "Mul": 1}  # likewise, if not along the last axis or by a row of numbers


def _axes(node: Node, at: Rewriter) -> list[int] | None:
    """What an Unsqueeze, a Squeeze or a Slice has for axes, where that is known."""
    known = node.attributes.get("axes")
    k = 3 if node.schema.name == "Slice" else 1
    if known is None and len(node.inputs) > k and node.inputs[k]:
        given = at.constant(node.inputs[k])
        known = None if given is None else given.ravel().tolist()
    return None if known is None else list(known)


def _twice(value: str, at: Rewriter) -> bool:
    """Whether the two halves of the last axis of a value hold the same, as far as its makers tell."""
    array, shape, node = at.constant(value), at.shape(value), at.maker(value)
    if array is not None:
        a, b = np.split(array, 2, -1) if array.ndim and array.shape[-1] % 2 == 0 else (array, None)
        return b is not None and np.array_equal(a, b)
    if node is None or shape is None or not at.is_a(node, *SAME, *LEFT_ALONE, "Concat"):
        return False
    last, name = len(shape) - 1, node.schema.name
    if name == "Concat":
        return node.attributes["axis"] in (last, -1) and len(node.inputs) == 2 and node.inputs[0] == node.inputs[1]
    if name == "Mul":
        return any(at.number(b) is not None and _twice(a, at) for a, b in (node.inputs, node.inputs[::-1]))
    if name == "Gather":
        inner = at.shape(node.inputs[0])
        return inner is not None and node.attributes["axis"] % len(inner) < len(inner) - 1 and _twice(node.inputs[0], at)
    if name in ("Unsqueeze", "Squeeze"):
        axes, rank = _axes(node, at), len(shape) + (len(_axes(node, at) or ()) if name == "Squeeze" else 0)
        return axes is not None and all(a % rank < rank - 1 for a in axes) and _twice(node.inputs[0], at)
    return _twice(node.inputs[0], at)


def _half(value: str, at: Rewriter, upper: bool) -> tuple[str, Node] | None:
    """Of what a value is the upper or the lower half of the last axis, and the node that takes it."""
    node = at.maker(value, "Slice", "Split")
    whole = at.shape(node.inputs[0]) if node is not None else None
    if node is None or whole is None or not isinstance(n := whole[-1], int) or n % 2 or at.shape(value) != (*whole[:-1], n // 2):
        return None
    if node.schema.name == "Split":
        right = node.attributes["axis"] in (-1, len(whole) - 1) and len(node.outputs) == 2 and node.outputs[upper] == value
        return (node.inputs[0], node) if right else None
    if len(node.inputs) < 3:
        return None
    numbers = [at.number(i) for i in (*node.inputs[1:3], *node.inputs[4:5])]
    start, _, *step = numbers
    right = _axes(node, at) in ([-1], [len(whole) - 1]) and step in ([], [1])
    return (node.inputs[0], node) if right and start in ((n // 2, -n // 2) if upper else (0, -n)) else None


def _turned(value: str, at: Rewriter) -> tuple[str, list[Node]] | None:
    """Of (-upper half, lower half): what the halves are of, and the nodes that only this takes."""
    whole = at.maker(value, "Concat") if at.sole(value) else None
    shape = at.shape(value)
    if whole is None or shape is None or len(whole.inputs) != 2 or whole.attributes["axis"] not in (-1, len(shape) - 1):
        return None
    minus = at.maker(whole.inputs[0], "Neg") if at.sole(whole.inputs[0]) else None
    upper = _half(minus.inputs[0], at, True) if minus is not None else None
    lower = _half(whole.inputs[1], at, False)
    if minus is None or upper is None or lower is None or upper[0] != lower[0]:
        return None
    halves = {id(n): n for n in (upper[1], lower[1])}
    gone = [n for n in halves.values() if all(_only(o, (minus, whole), at) for o in n.outputs)]
    return upper[0], [whole, minus, *gone]


def _only(value: str, readers: Sequence[Node], at: Rewriter) -> bool:
    return value not in at.outputs and all(any(r is n for n in readers) for r in at.readers(value))


def _cache(value: str, x: str, node: Node, at: Rewriter, rows: dict[str, str]) -> str | None:
    """Half of the cosines or sines of every position, which all heads share: (batch, 1, rows, size) as (batch, rows, half).

    ``rows`` remembers those that were made, for other heads and layers.
    """
    shape, due = at.shape(value), at.shape(x)
    if shape is None or due is None or len(shape) != 4 or len(due) != 4 or shape[1] != 1 or not _twice(value, at):
        return None
    if (shape[0], *shape[2:]) != (due[0], *due[2:]) or not isinstance(due[3], int):
        return None
    if value not in rows:
        begin, end, axis, one = (at.store(node.name, np.array([k], np.int64)) for k in (0, due[3] // 2, 3, 1))
        half = at.make("Slice", [value, begin, end, axis], like=node, domain="")
        row = at.make("Squeeze", [half.outputs[0], one], like=node, domain="")
        at.insert(half, node)
        at.insert(row, node)
        rows[value] = row.outputs[0]
    return rows[value]


def _rotation(node: Node, at: Rewriter, rows: dict[str, str]) -> bool:
    """x * cos + (-upper half of x, lower half of x) * sin, where the halves of cos and of sin are alike."""
    products = [at.maker(i, "Mul") if at.sole(i) else None for i in node.inputs]
    for plain, other in (products, products[::-1]):
        for k in range(2 if plain is not None and other is not None else 0):
            found = _turned(other.inputs[k], at)  # type: ignore[union-attr]
            if found is not None and found[0] in plain.inputs:  # type: ignore[union-attr]
                return _rotated(node, at, rows, found, plain, other, k)  # type: ignore[arg-type]
    return False


def _rotated(node: Node, at: Rewriter, rows: dict[str, str], found: tuple[str, list[Node]], plain: Node, turned: Node,
             k: int) -> bool:
    """The one operator, if cosines and sines are as it takes them."""
    x, gone = found
    if at.type(x) not in TYPES or at.shape(x) != at.shape(node.outputs[0]):
        return False
    cos, sin = (_cache(c, x, node, at, rows) for c in (plain.inputs[1 - plain.inputs.index(x)], turned.inputs[1 - k]))
    if cos is None or sin is None:
        return False
    made = at.make("RotaryEmbedding", [x, cos, sin], [node.outputs[0]], like=node, domain="")
    at.replace([node, plain, turned, *gone], [made])
    return True


def rotations(at: Rewriter) -> None:
    """The pass."""
    rows: dict[str, str] = {}

    @rule("Add")
    def rotation(node: Node, at: Rewriter) -> bool:
        return _rotation(node, at, rows)

    Rules(rotation)(at)
