"""What classifiers and regressors share: rows, labels, and steps that write both labels and scores."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...dims import Fact, Size
from ...kernels.step import Step
from ...kernels.strings import labelled
from ..shapes import shape_of


def rows(x: Fact) -> Size:
    """How many rows of features: a shape of one axis is one row."""
    shape = shape_of(x)
    if len(shape) not in (1, 2):
        raise ValueError(f"rows of features have one axis or two, not the shape {shape}")
    return shape[0] if len(shape) == 2 else 1


def one_of(what: str, *given: Any) -> Any:
    """The one of several attributes that is there."""
    there = [g for g in given if g is not None and len(g)]
    if len(there) != 1:
        raise ValueError(f"{len(there)} of the attributes {what} are given, one is due")
    return there[0]


def labels_of(ints: Sequence[int] | None, strings: Sequence[str] | None) -> np.ndarray:
    """The labels of the classes; of one class also that of everything else, 0 or the empty string, before it."""
    given = one_of("classlabels_*", ints, strings)
    listed = list(given) if len(given) > 1 else [0 if given is ints else "", *given]
    return np.array(listed, np.int64 if given is ints else object)


def label_type(ints: Any, strings: Any) -> str:
    return "tensor(int64)" if ints else "tensor(string)"


def array_of(floats: Sequence[float] | None, tensor: np.ndarray | None, name: str) -> np.ndarray | None:
    """Numbers that come as floats or as a tensor; None where they do not come."""
    if floats and tensor is not None:
        raise ValueError(f"{name} and {name}_as_tensor are both given")
    given = floats if tensor is None else tensor
    return None if given is None else np.ravel(np.asarray(given, np.float64))


def classified(bind: Callable[[Any, Any], Step], x: np.ndarray, labels: np.ndarray, out: list[Any]) -> Any:
    """A step for labels and scores, where ``bind(y, z)`` makes it for integers; strings stand in a Cell.

    Bound with the labels themselves where they are integers, else with the numbers of the classes.
    """
    y, z = out
    if labels.dtype != object or y is None:
        return bind(y, z)
    numbers = np.empty(x.shape[0] if x.ndim == 2 else 1, np.int64)
    return labelled(bind(numbers, z), x, numbers, labels.tolist(), y, z)


def numbered(labels: np.ndarray) -> np.ndarray:
    """What a kernel writes as labels: integers themselves, or the numbers of the classes."""
    return np.arange(len(labels)) if labels.dtype == object else labels
