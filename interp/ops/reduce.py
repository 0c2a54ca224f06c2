"""Reductions along axes, and the positions of extreme elements."""
from __future__ import annotations

from typing import Any

from ..dims import Fact
from ..kernels import order, reduce
from ..registry import Op, op
from .layout import plain
from .shapes import axes_of, axis_of, reduced

KINDS = {"ReduceSum": "sum", "ReduceMean": "mean", "ReduceProd": "product", "ReduceMax": "largest", "ReduceMin": "least",
         "ReduceL1": "sizes", "ReduceL2": "norm", "ReduceSumSquare": "squares", "ReduceLogSum": "logarithm",
         "ReduceLogSumExp": "exponentials"}


def _reduction(name: str, attribute_through: int, input_since: int, through: int) -> Op:
    """A reduction: the axes are an attribute in old versions and an input in new ones.

    NaN wins over any number. Of nothing the sum is 0, the product 1, the maximum the least number that there is, the mean NaN.
    Integers wrap around in sums and products; means, roots and logarithms of them are computed exactly or in double, and cut
    off towards zero; what no integer is becomes 0, and what is out of range its end.
    """
    kind = KINDS[name]

    def run(data, axes=None, *, keepdims, noop_with_empty_axes=0, out):
        named = [] if axes is None else plain(axes)
        if not named and noop_with_empty_axes:
            along: tuple[int, ...] = ()
        else:
            along = axes_of(named, data.ndim) if named else tuple(range(data.ndim))
        return reduce.fold(data, along, kind, out)
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


def _chosen(x: Fact, *, axis: int, keepdims: int, select_last_index: int = 0) -> list[Any]:
    return reduced(x, (axis,), keepdims=keepdims)


def _position(name: str, least: bool) -> Op:
    """The position of an extreme element along an axis; of several the first, or the last where asked for.

    NaN wins over any number, as in ReduceMax and in NumPy. An empty axis has no such element, which is an error.
    """
    @op(name, 1, 13, shape=_chosen)
    def position(data, *, axis, keepdims, select_last_index=0, out):
        return order.position(data, axis_of(axis, data.ndim), least, bool(select_last_index), out)
    return position


arg_max = _position("ArgMax", least=False)
arg_min = _position("ArgMin", least=True)
