"""Reductions along axes."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..dims import Fact
from ..kernels.step import Later
from ..registry import Op, op
from .layout import plain
from .shapes import axes_of, reduced


def _wide(x: np.ndarray) -> np.ndarray:
    """16-bit numbers are summed as 32-bit ones."""
    return x.astype("f4") if x.dtype.itemsize == 2 and x.dtype.kind not in "iu" else x


def _logarithm_of_exponentials(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    most = np.max(x, axes, keepdims=True, initial=-np.inf)
    most = np.where(np.isfinite(most), most, 0)
    return np.log(np.sum(np.exp(x - most), axes, keepdims=True)) + most


FOLDS: dict[str, Callable[[np.ndarray, tuple[int, ...]], Any]] = {
    "ReduceSum": lambda x, a: np.sum(x, a, keepdims=True, dtype=x.dtype),
    "ReduceMean": lambda x, a: (np.mean(x, a, keepdims=True) if x.dtype.kind not in "iu"
                                else np.trunc(np.mean(x, a, keepdims=True))),
    "ReduceProd": lambda x, a: np.prod(x, a, keepdims=True, dtype=x.dtype),
    "ReduceMax": lambda x, a: np.max(x, a, keepdims=True, initial=_least(x.dtype)),
    "ReduceMin": lambda x, a: np.min(x, a, keepdims=True, initial=_most(x.dtype)),
    "ReduceL1": lambda x, a: np.sum(np.abs(x), a, keepdims=True, dtype=x.dtype),
    "ReduceL2": lambda x, a: np.sqrt(np.sum(np.square(x), a, keepdims=True, dtype=x.dtype)),
    "ReduceSumSquare": lambda x, a: np.sum(np.square(x), a, keepdims=True, dtype=x.dtype),
    "ReduceLogSum": lambda x, a: np.log(np.sum(x, a, keepdims=True, dtype=x.dtype)),
    "ReduceLogSumExp": lambda x, a: _logarithm_of_exponentials(x, a),
}


def _least(dtype: np.dtype) -> Any:
    """What the maximum of nothing is."""
    return False if dtype.kind == "b" else np.iinfo(dtype).min if dtype.kind in "iu" else -np.inf


def _most(dtype: np.dtype) -> Any:
    """What the minimum of nothing is."""
    return True if dtype.kind == "b" else np.iinfo(dtype).max if dtype.kind in "iu" else np.inf


def _reduction(name: str, attribute_through: int, input_since: int, through: int) -> Op:
    """A reduction: the axes are an attribute in old versions and an input in new ones."""
    fold = FOLDS[name]

    def run(data, axes=None, *, keepdims, noop_with_empty_axes=0, out):
        named = [] if axes is None else plain(axes)
        if not named and noop_with_empty_axes:
            along: tuple[int, ...] = ()
        else:
            along = axes_of(named, data.ndim) if named else tuple(range(data.ndim))

        def reduce(x, out):
            with np.errstate(all="ignore"):
                out[...] = np.asarray(fold(_wide(x), along)).reshape(out.shape)
        return Later(reduce, data, out)
    old = op(name, 1, attribute_through, shape=reduced)(run)
    return op(name, input_since, through, shape=reduced, known=("axes",))(old)


reduce_sum = _reduction("ReduceSum", 11, 13, 13)
reduce_mean = _reduction("ReduceMean", 13, 18, 18)
reduce_prod = _reduction("ReduceProd", 13, 18, 18)
reduce_max = _reduction("ReduceMax", 13, 18, 20)
reduce_min = _reduction("ReduceMin", 13, 18, 20)
reduce_l1 = _reduction("ReduceL1", 13, 18, 18)
reduce_l2 = _reduction("ReduceL2", 13, 18, 18)
reduce_sum_square = _reduction("ReduceSumSquare", 13, 18, 18)
reduce_log_sum = _reduction("ReduceLogSum", 13, 18, 28)
reduce_log_sum_exp = _reduction("ReduceLogSumExp", 13, 18, 28)


def _chosen(x: Fact, *, axis: int, keepdims: int, **_: Any) -> list[Any]:
    return reduced(x, (axis,), keepdims=keepdims)


def _position(name: str, find: Callable) -> Op:
    """The position of an extreme element along an axis; of several the first, or the last where asked for."""
    @op(name, 1, 13, shape=_chosen)
    def position(data, *, axis, keepdims, select_last_index=0, out):
        at = axes_of((axis,), data.ndim)[0]

        def chosen(x, out):
            found = x.shape[at] - 1 - find(np.flip(x, at), at) if select_last_index else find(x, at)
            out[...] = found.reshape(out.shape)
        return Later(chosen, data, out)
    return position


arg_max = _position("ArgMax", np.argmax)
arg_min = _position("ArgMin", np.argmin)
