"""A product of one-hot rows and a constant matrix becomes rows of that matrix."""
from __future__ import annotations

import numpy as np

from ..graph import Node
from .rewrite import Rewriter, Rules, rule


@rule("MatMul")
def one_hot_product(node: Node, at: Rewriter) -> bool:
    """MatMul(Cast(Equal(x, [0, 1, 2, …])), table): every row has a one where its number is, or none."""
    ones, table = node.inputs
    matrix, cast = at.constant(table), at.maker(ones, "Cast")
    if matrix is None or matrix.ndim != 2 or cast is None or matrix.dtype.kind == "V" or not np.isfinite(matrix).all():
        return False
    equal = at.maker(cast.inputs[0], "Equal")
    if equal is None or equal.schema.since < 7:
        return False
    for numbers, counted in (equal.inputs, equal.inputs[::-1]):
        if is_counted(at.constant(counted), matrix.shape[0]) and is_column(numbers, counted, at):
            at.replace([node], [at.make("Rows", [numbers, table], node.outputs, like=node)])
            return True
    return False


def is_counted(array: np.ndarray | None, count: int) -> bool:
    """Whether an array is a row of the numbers from 0 on."""
    return array is not None and array.size == count == array.shape[-1] and np.array_equal(array.reshape(-1), np.arange(count))


def is_column(numbers: str, counted: str, at: Rewriter) -> bool:
    """Whether numbers are a last axis of size 1, and as many axes as the row that they are compared with, or more."""
    shape, row = at.shape(numbers), at.constant(counted)
    return (shape is not None and row is not None and len(shape) >= row.ndim and shape[-1:] == (1,)
            and at.type(numbers) in ("tensor(int32)", "tensor(int64)"))


one_hot_products = Rules(one_hot_product)
