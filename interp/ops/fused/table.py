"""Rows of a table by number, as products of one-hot rows and a matrix are."""
from __future__ import annotations

from typing import Any

import numpy as np

from ...dims import Fact
from ...kernels import table as kernel
from ...kernels.step import Step
from ...registry import op
from ...types import FLOATS, tensors
from ..shapes import shape_of
from .blocked import DOMAIN


def looked_up(numbers: Fact, table: Fact) -> list[Any]:
    """A row for every number; the numbers have a last axis of size 1, in the place of the one-hot rows'."""
    at, rows = shape_of(numbers), shape_of(table)
    if len(rows) != 2 or not at or at[-1] != 1:
        raise ValueError(f"numbers of shape {at} and a table of shape {rows}")
    return [(*at[:-1], rows[1])]


@op("Rows", domain=DOMAIN, signature="numbers: I, table: T -> Y: T", types={"I": tensors("int32", "int64"), "T": FLOATS},
    shape=looked_up)
def rows(numbers: np.ndarray, table: np.ndarray, *, out: np.ndarray) -> Step:
    """The row of the table that each number names; zeros for a number that it lacks."""
    return kernel.rows(table, numbers.reshape(numbers.shape[:-1]), out)
