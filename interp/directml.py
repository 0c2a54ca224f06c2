"""DirectML's pooling descriptors over the kernels of this package: fill one in, `execute` it.

The names of descriptors and fields are those of directml.h. An InputTensor is an array of float32 or float16, with any
strides; an OutputTensor is an array to fill, or a DML_TENSOR_DESC to check against, and then a fresh array is made::

    out = DML_TENSOR_DESC("FLOAT32", (1, 8, 14, 14))
    y = execute(DML_MAX_POOLING_OPERATOR_DESC(x, out, 2, (2, 2), (2, 2), (0, 0), (0, 0)))
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from numbers import Real
from operator import index
from typing import Any

import numpy as np

from .errors import UsageError
from .kernels import pool, roi
from .kernels.step import KernelFailed
from .ops.window import Window

UINT_MAX = 2**32 - 1


class DescriptorError(UsageError, ValueError):
    """A field breaks one of DirectML's rules; the message begins with its name."""


class DML_TENSOR_DATA_TYPE(IntEnum):
    """The element types that pooling reads and writes."""

    FLOAT32 = 1
    FLOAT16 = 2
    UINT32 = 3
    UINT64 = 10
    INT64 = 11

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(self.name.lower())


FLOATS = (DML_TENSOR_DATA_TYPE.FLOAT32, DML_TENSOR_DATA_TYPE.FLOAT16)
INDICES = (DML_TENSOR_DATA_TYPE.UINT32, DML_TENSOR_DATA_TYPE.UINT64, DML_TENSOR_DATA_TYPE.INT64)


@dataclass(frozen=True)
class DML_TENSOR_DESC:
    """What a tensor is to be: its type, a DML_TENSOR_DATA_TYPE or the name of one, and its sizes."""

    DataType: DML_TENSOR_DATA_TYPE | str
    Sizes: Sequence[int]


@dataclass(frozen=True)
class DML_SIZE_2D:
    """A width and a height."""

    Width: int
    Height: int


Output = np.ndarray | DML_TENSOR_DESC


@dataclass(frozen=True, eq=False)
class _Windowed:
    InputTensor: np.ndarray
    OutputTensor: Output
    DimensionCount: int
    Strides: Sequence[int]
    WindowSize: Sequence[int]
    StartPadding: Sequence[int]
    EndPadding: Sequence[int]


@dataclass(frozen=True, eq=False)
class DML_AVERAGE_POOLING_OPERATOR_DESC(_Windowed):
    """The mean of every window; padding counts as zeros only with IncludePadding."""

    IncludePadding: bool


@dataclass(frozen=True, eq=False)
class DML_AVERAGE_POOLING1_OPERATOR_DESC(_Windowed):
    """The mean of every window, dilated."""

    Dilations: Sequence[int]
    IncludePadding: bool


@dataclass(frozen=True, eq=False)
class DML_LP_POOLING_OPERATOR_DESC(_Windowed):
    """The P-norm of every window."""

    P: int


@dataclass(frozen=True, eq=False)
class DML_LP_POOLING1_OPERATOR_DESC(_Windowed):
    """The P-norm of every window, dilated."""

    Dilations: Sequence[int]
    P: int


@dataclass(frozen=True, eq=False)
class DML_MAX_POOLING_OPERATOR_DESC(_Windowed):
    """The largest value of every window."""


@dataclass(frozen=True, eq=False)
class DML_MAX_POOLING1_OPERATOR_DESC:
    """The largest value of every window, and its place unless OutputIndicesTensor is None: an index into the contiguous input."""

    InputTensor: np.ndarray
    OutputTensor: Output
    OutputIndicesTensor: Output | None
    DimensionCount: int
    Strides: Sequence[int]
    WindowSize: Sequence[int]
    StartPadding: Sequence[int]
    EndPadding: Sequence[int]


@dataclass(frozen=True, eq=False)
class DML_MAX_POOLING2_OPERATOR_DESC(DML_MAX_POOLING1_OPERATOR_DESC):
    """The largest value of every window and its place, dilated."""

    Dilations: Sequence[int]


@dataclass(frozen=True, eq=False)
class DML_ROI_POOLING_OPERATOR_DESC:
    """The largest value of every bin of regions {1, 1, NumROIs, 5}: a batch id, then x1, y1, x2, y2, inclusive.

    PooledSize is a DML_SIZE_2D or (height, width).
    """

    InputTensor: np.ndarray
    ROITensor: np.ndarray
    OutputTensor: Output
    SpatialScale: float
    PooledSize: DML_SIZE_2D | Sequence[int]


def execute(desc: Any) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
    """Run a descriptor: the output, or (output, indices) where it has an indices tensor.

    Raises DescriptorError, before anything is written, where a field breaks a rule.
    """
    match desc:
        case DML_AVERAGE_POOLING_OPERATOR_DESC() | DML_AVERAGE_POOLING1_OPERATOR_DESC():
            padded = _flag("IncludePadding", desc.IncludePadding)
            return _windowed(desc, lambda x, y, window: pool.mean(x, y, window, padded))
        case DML_LP_POOLING_OPERATOR_DESC() | DML_LP_POOLING1_OPERATOR_DESC():
            p = _number("P", desc.P, 1)
            return _windowed(desc, lambda x, y, window: pool.norm(x, y, window, p))
        case DML_MAX_POOLING_OPERATOR_DESC():
            return _windowed(desc, pool.max)
        case DML_MAX_POOLING1_OPERATOR_DESC():
            return _windowed(desc, pool.max) if desc.OutputIndicesTensor is None else _with_indices(desc)
        case DML_ROI_POOLING_OPERATOR_DESC():
            return _regions(desc)
    raise DescriptorError(f"{type(desc).__name__} is not a pooling descriptor")


def _windowed(desc: Any, kernel: Any) -> np.ndarray:
    x, window, shape = _window(desc)
    y = _Target("OutputTensor", desc.OutputTensor, shape, (_type_of("InputTensor", x),))
    kernel(x, y.array, window)()
    return y.filled()


def _with_indices(desc: Any) -> tuple[np.ndarray, np.ndarray]:
    x, window, shape = _window(desc)
    y = _Target("OutputTensor", desc.OutputTensor, shape, (_type_of("InputTensor", x),))
    at = _Target("OutputIndicesTensor", desc.OutputIndicesTensor, shape, INDICES)
    places = np.empty(shape, np.int64)
    pool.max(x, y.array, window, places)()
    at.array[...] = places
    return y.filled(), at.filled()


def _regions(desc: DML_ROI_POOLING_OPERATOR_DESC) -> np.ndarray:
    x = _tensor("InputTensor", desc.InputTensor)
    if x.ndim != 4:
        raise DescriptorError(f"InputTensor has {x.ndim} dimensions; region pooling takes 4")
    kind = _type_of("InputTensor", x)
    rois = _tensor("ROITensor", desc.ROITensor)
    if rois.ndim != 4 or rois.shape[:2] != (1, 1) or rois.shape[3] != 5:
        raise DescriptorError(f"ROITensor has sizes {rois.shape}; it must be (1, 1, NumROIs, 5)")
    if _type_of("ROITensor", rois) != kind:
        raise DescriptorError(f"ROITensor is {rois.dtype}; the InputTensor is {x.dtype}")
    if isinstance(desc.SpatialScale, bool) or not isinstance(desc.SpatialScale, Real):
        raise DescriptorError(f"SpatialScale is {desc.SpatialScale!r}; it must be a number")
    size = desc.PooledSize
    high, wide = _numbers("PooledSize", (size.Height, size.Width) if isinstance(size, DML_SIZE_2D) else size, 2, 1)
    y = _Target("OutputTensor", desc.OutputTensor, (rois.shape[2], x.shape[1], high, wide), (kind,))
    try:
        roi.max_roi(x, rois.reshape(-1, 5), y.array, float(desc.SpatialScale))()
    except KernelFailed as failed:
        raise DescriptorError(f"ROITensor: a batch id is not from 0 to {x.shape[0] - 1}") from failed
    return y.filled()


def _window(desc: Any) -> tuple[np.ndarray, Window, tuple[int, ...]]:
    """The input, contiguous; the window that slides over it; the sizes of the result."""
    x = _tensor("InputTensor", desc.InputTensor)
    n = _number("DimensionCount", desc.DimensionCount, 2)
    if n > 3:
        raise DescriptorError(f"DimensionCount is {n}; it must be 2 or 3")
    if x.ndim != n + 2:
        raise DescriptorError(f"InputTensor has {x.ndim} dimensions; with DimensionCount {n} it must have {n + 2}")
    strides, size = _numbers("Strides", desc.Strides, n, 1), _numbers("WindowSize", desc.WindowSize, n, 1)
    start, end = _numbers("StartPadding", desc.StartPadding, n, 0), _numbers("EndPadding", desc.EndPadding, n, 0)
    dilations = _numbers("Dilations", desc.Dilations, n, 1) if hasattr(desc, "Dilations") else (1,) * n
    for d, (have, w, dilation, a, b) in enumerate(zip(x.shape[2:], size, dilations, start, end, strict=True)):
        if (w - 1) * dilation + 1 > have + a + b:
            raise DescriptorError(f"WindowSize[{d}] spans {(w - 1) * dilation + 1}; the padded input has {have + a + b}")
    window = Window.of(x.shape, size, pads=(*start, *end), strides=strides, dilations=dilations)
    return x, window, (*x.shape[:2], *window.out)


class _Target:
    """Where a result goes: a contiguous buffer, and the caller's array behind it where that is another one."""

    def __init__(self, field: str, given: Any, shape: tuple[int, ...], types: Sequence[DML_TENSOR_DATA_TYPE]):
        self.asked: np.ndarray | None = None
        if isinstance(given, DML_TENSOR_DESC):
            kind, sizes = _named(field, given.DataType), tuple(given.Sizes)
        elif isinstance(given, np.ndarray):
            kind, sizes, self.asked = _type_of(field, given), given.shape, given
        else:
            raise DescriptorError(f"{field} is a {type(given).__name__}; it must be an array or a DML_TENSOR_DESC")
        if kind not in types:
            raise DescriptorError(f"{field} is {kind.name}; it must be {' or '.join(t.name for t in types)}")
        _match(field, sizes, shape)
        if self.asked is not None and not self.asked.flags.writeable:
            raise DescriptorError(f"{field} is read-only")
        # Always a buffer of its own: the caller's array may have any strides, or overlap the input.
        self.array = np.empty(shape, kind.dtype)

    def filled(self) -> np.ndarray:
        if self.asked is None:
            return self.array
        self.asked[...] = self.array
        return self.asked


def _match(field: str, given: tuple[int, ...], expected: tuple[int, ...]) -> None:
    if len(given) != len(expected):
        raise DescriptorError(f"{field} has {len(given)} dimensions; expected {len(expected)}")
    for d, (a, b) in enumerate(zip(given, expected, strict=True)):
        if a != b:
            raise DescriptorError(f"{field}: dimension {d} is {a}; expected {b}")


def _tensor(field: str, given: Any) -> np.ndarray:
    """An input as the kernels read it."""
    if not isinstance(given, np.ndarray):
        raise DescriptorError(f"{field} is a {type(given).__name__}; it must be an array")
    kind = _type_of(field, given)
    if kind not in FLOATS:
        raise DescriptorError(f"{field} is {kind.name}; it must be FLOAT32 or FLOAT16")
    return np.ascontiguousarray(given, kind.dtype)


def _type_of(field: str, array: np.ndarray) -> DML_TENSOR_DATA_TYPE:
    return _named(field, array.dtype.name)


def _named(field: str, given: Any) -> DML_TENSOR_DATA_TYPE:
    name = getattr(given, "name", None) or str(given)
    try:
        return DML_TENSOR_DATA_TYPE[name.upper().removeprefix("DML_TENSOR_DATA_TYPE_")]
    except KeyError:
        raise DescriptorError(f"{field} is {name}; it must be one of {', '.join(DML_TENSOR_DATA_TYPE.__members__)}") from None


def _flag(field: str, value: Any) -> bool:
    if value not in (True, False):
        raise DescriptorError(f"{field} is {value!r}; it must be true or false")
    return bool(value)


def _number(field: str, value: Any, least: int) -> int:
    """A UINT that is at least `least`."""
    try:
        number = index(value)
    except TypeError:
        raise DescriptorError(f"{field} is {value!r}; it must be a whole number") from None
    if not least <= number <= UINT_MAX:
        raise DescriptorError(f"{field} is {number}; it must be from {least} to {UINT_MAX}")
    return number


def _numbers(field: str, values: Any, count: int, least: int) -> tuple[int, ...]:
    """An array of UINTs, one a spatial dimension."""
    if not isinstance(values, Sequence | np.ndarray) or isinstance(values, str) or len(values) != count:
        raise DescriptorError(f"{field} is {values!r}; it must have {count} numbers")
    return tuple(_number(f"{field}[{d}]", v, least) for d, v in enumerate(values))
