"""Pooling over windows, for any number of spatial axes: AveragePool, MaxPool, LpPool and their global forms."""

import itertools
import math
from dataclasses import dataclass

import numpy as np

from tests.oracle.rounding import rounded


@dataclass(frozen=True)
class Axis:
    """Where the windows lie along one spatial axis; positions in the padding before the input are negative."""

    size: int
    kernel: int
    stride: int
    dilation: int
    before: int
    after: int
    count: int

    def taps(self, window):
        """The positions that a window looks at, those in the padding and beyond it included."""
        start = window * self.stride - self.before
        return [start + k * self.dilation for k in range(self.kernel)]

    def inside(self, window):
        return [p for p in self.taps(window) if 0 <= p < self.size]

    def declared(self, window):
        """The taps inside the input or its padding; what ceil_mode reaches beyond them never counts."""
        return [p for p in self.taps(window) if -self.before <= p < self.size + self.after]


def axis(size, kernel, stride, dilation, before, after, auto_pad, ceil_mode):
    """One axis by the text of AveragePool-22: `auto_pad` and `ceil_mode` become a count of windows and two paddings."""
    reach = (kernel - 1) * dilation + 1
    if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        count = math.ceil(size / stride)
        total = max((count - 1) * stride + reach - size, 0)
        less, more = total // 2, total - total // 2
        before, after = (less, more) if auto_pad == "SAME_UPPER" else (more, less)
        return Axis(size, kernel, stride, dilation, before, after, count)
    if auto_pad == "VALID":
        before = after = ceil_mode = 0
    room = size + before + after - reach
    if room < 0:
        raise ValueError(f"a kernel that reaches over {reach} in an input of {size + before + after}, padding included")
    count = (math.ceil if ceil_mode else math.floor)(room / stride) + 1
    while ceil_mode and count and (count - 1) * stride >= before + size:
        count -= 1  # "Sliding windows that would start in the right padded region are ignored."
    return Axis(size, kernel, stride, dilation, before, after, count)


def axes(shape, kernel_shape, *, auto_pad="NOTSET", pads=None, strides=None, dilations=None, ceil_mode=0):
    n = len(shape) - 2
    strides, dilations, pads = strides or [1] * n, dilations or [1] * n, pads or [0] * 2 * n
    return [
        axis(shape[2 + i], kernel_shape[i], strides[i], dilations[i], pads[i], pads[n + i], auto_pad, ceil_mode)
        for i in range(n)
    ]


def windows(x, along):
    """Of every window its place in the output, the positions inside the input, their values, its declared size."""
    for place in itertools.product(*(range(a.count) for a in along)):
        inside = list(itertools.product(*(a.inside(o) for a, o in zip(along, place, strict=True))))
        planes = np.array([x[(..., *p)] for p in inside], np.float64).reshape(len(inside), *x.shape[:2])
        yield place, inside, planes, math.prod(len(a.declared(o)) for a, o in zip(along, place, strict=True))


def blank(x, along, dtype=np.float64):
    return np.zeros((*x.shape[:2], *(a.count for a in along)), dtype)


def average_pool(x, *, kernel_shape, count_include_pad=0, **where):
    """The sum of a window by the number of its elements, those in declared padding counted if `count_include_pad`.

    A window without any, wholly in padding that does not count, is 0 / 0: NaN.
    """
    along = axes(x.shape, kernel_shape, **where)
    y = blank(x, along)
    for place, inside, planes, declared in windows(x, along):
        with np.errstate(invalid="ignore"):
            y[(..., *place)] = planes.sum(0) / np.float64(declared if count_include_pad else len(inside))
    return rounded(y, x.dtype)


def lp_pool(x, *, kernel_shape, p=2, **where):
    """The p-norm of a window, p above 0; padding is 0 and adds nothing."""
    along = axes(x.shape, kernel_shape, **where)
    y = blank(x, along)
    for place, _, planes, _ in windows(x, along):
        y[(..., *place)] = (np.abs(planes) ** p).sum(0) ** (1 / p)
    return rounded(y, x.dtype)


def max_pool(x, *, kernel_shape, storage_order=0, **where):
    """The maximum of a window, and where it stands: the first of equals, or the first NaN where there is one.

    A place is counted over the whole tensor, batch and channels included; within a plane the last axis runs fastest,
    with storage_order 1 the first one. A window wholly in padding has the lowest value of the type and the place −1.
    """
    along = axes(x.shape, kernel_shape, **where)
    y, indices = blank(x, along), blank(x, along, np.int64)
    size = x.shape[2:]
    first_of_plane = (np.arange(math.prod(x.shape[:2])) * math.prod(size)).reshape(x.shape[:2])
    for place, inside, planes, _ in windows(x, along):
        if not inside:
            y[(..., *place)], indices[(..., *place)] = lowest(x.dtype), -1
            continue
        first = planes.argmax(0)  # numpy's argmax: the first of equals, a NaN above all
        in_plane = np.array([number(p, size, storage_order) for p in inside])
        y[(..., *place)] = np.take_along_axis(planes, first[None], 0)[0]
        indices[(..., *place)] = first_of_plane + in_plane[first]
    return rounded(y, x.dtype), indices


def number(position, size, storage_order):
    """The number of a position in its plane, row major or (1) column major."""
    steps = [math.prod(size[:i]) if storage_order else math.prod(size[i + 1 :]) for i in range(len(size))]
    return sum(p * step for p, step in zip(position, steps, strict=True))


def lowest(dtype):
    return np.iinfo(dtype).min if dtype.kind in "iu" else -np.inf


def global_average_pool(x):
    return average_pool(x, kernel_shape=x.shape[2:]) if 0 not in x.shape[2:] else whole(x, np.nan)


def global_lp_pool(x, *, p=2):
    return lp_pool(x, kernel_shape=x.shape[2:], p=p) if 0 not in x.shape[2:] else whole(x, 0)


def global_max_pool(x):
    return max_pool(x, kernel_shape=x.shape[2:])[0] if 0 not in x.shape[2:] else whole(x, lowest(x.dtype))


def whole(x, value):
    """What a plane without elements gives: the value of a window without elements."""
    return np.full((*x.shape[:2], *(1 for _ in x.shape[2:])), value, x.dtype)
