"""Regions of interest and unpooling: MaxRoiPool, RoiAlign, MaxUnpool."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..dims import Fact, Size
from ..kernels import roi, unpool
from ..registry import op
from ..types import FLOATS
from .shapes import shape_of, sizes

MODES = ("avg", "max")
SHIFTS = ("half_pixel", "output_half_pixel")


def _regions(x: Fact, rois: Fact, row: int, high: int, wide: int) -> list[tuple[Size, ...]]:
    """One map of bins for every region and channel."""
    shape, regions = shape_of(x), shape_of(rois)
    if len(shape) != 4 or len(regions) != 2:
        raise ValueError(f"X and rois have 4 and 2 dimensions, not {len(shape)} and {len(regions)}")
    if isinstance(regions[1], int) and regions[1] != row:
        raise ValueError(f"a region of rois has {row} numbers, not {regions[1]}")
    if high < 1 or wide < 1:
        raise ValueError(f"{high} by {wide} bins: there must be at least one along each axis")
    return [(regions[0], shape[1], high, wide)]


def _max_bins(x: Fact, rois: Fact, *, pooled_shape: Sequence[int], **_: Any) -> list[tuple[Size, ...]]:
    if len(pooled_shape) != 2:
        raise ValueError(f"pooled_shape is (height, width), not {tuple(pooled_shape)}")
    return _regions(x, rois, 5, *pooled_shape)


def _aligned_bins(x: Fact, rois: Fact, batch_indices: Fact, *, output_height: int, output_width: int,
                  **_: Any) -> list[tuple[Size, ...]]:
    [shape] = _regions(x, rois, 4, output_height, output_width)
    batch = shape_of(batch_indices)
    if len(batch) != 1 or all(isinstance(n, int) for n in (batch[0], shape[0])) and batch[0] != shape[0]:
        raise ValueError(f"batch_indices of shape {batch} do not match {shape[0]} regions")
    return [(shape[0] if isinstance(shape[0], int) else batch[0], *shape[1:])]


@op("MaxRoiPool", 1, 22, shape=_max_bins, types=FLOATS)
def max_roi_pool(x, rois, *, pooled_shape, spatial_scale, out):
    """The largest value in every bin of every region; 0 in a bin that holds no cell.

    Scaled corners are rounded half away from zero, and held to ±2**30; a region has at least one row and one column. One with
    a corner that is NaN gives NaN. A batch index that names no image is an error.
    """
    return roi.max_roi(x, rois, out, spatial_scale)


@op("RoiAlign", 10, 22, shape=_aligned_bins, types=FLOATS)
def roi_align(x, rois, batch_indices, *, mode, output_height, output_width, sampling_ratio, spatial_scale, out,
              coordinate_transformation_mode="output_half_pixel"):
    """The mean of interpolated samples in every bin of every region; a sample off the map, and a bin without samples, count 0.

    Mode max is what the official node test asks for, against the text: the largest of the weighted corners of all samples,
    not the largest sample. A region with a corner or a size that is not finite gives NaN. Samples off the map are counted,
    not visited, so that an adaptive grid over a huge region ends soon. A batch index that names no image is an error.
    """
    if mode not in MODES:
        raise ValueError(f"mode is {mode!r}; it must be one of {', '.join(MODES)}")
    if coordinate_transformation_mode not in SHIFTS:
        raise ValueError(f"coordinate_transformation_mode is {coordinate_transformation_mode!r}; "
                         f"it must be one of {', '.join(SHIFTS)}")
    return roi.roi_align(x, rois, batch_indices, out, spatial_scale, sampling_ratio,
                         coordinate_transformation_mode == "half_pixel", mode == "max")


def unpooled(shape: Sequence[Size], output_shape: Any, kernel_shape: Sequence[int], strides: Sequence[int] | None,
             pads: Sequence[int] | None) -> tuple[Size, ...]:
    """The least shape of which a pool with these attributes makes `shape`; an output_shape makes up for the padding."""
    n = len(shape) - 2
    strides, pads = strides or (1,) * n, pads if pads and output_shape is None else (0,) * 2 * n
    if n < 1 or len(kernel_shape) != n or len(strides) != n or len(pads) != 2 * n:
        raise ValueError(f"kernel_shape {tuple(kernel_shape)}, strides {tuple(strides)} and pads {tuple(pads)} "
                         f"do not match the {len(shape)} dimensions of X")
    axes = zip(shape[2:], kernel_shape, strides, pads[:n], pads[n:], strict=True)
    out = (*shape[:2], *((size - 1) * stride + kernel - before - after for size, kernel, stride, before, after in axes))
    if any(isinstance(size, int) and size < 0 for size in out):
        raise ValueError(f"{tuple(shape)} is not what a pool makes of {out}")
    return out


def _unpooled(x: Fact, indices: Fact, output_shape: Fact | None = None, *, kernel_shape: Sequence[int],
              strides: Sequence[int] | None, pads: Sequence[int] | None) -> list[tuple[Size, ...] | None]:
    least = unpooled(shape_of(x), output_shape, kernel_shape, strides, pads)
    if output_shape is None:
        return [least]
    given = sizes(output_shape)
    if given is None:
        return [None]
    if len(given) != len(least) or any(isinstance(g, int) and isinstance(n, int) and g < n
                                       for g, n in zip(given, least, strict=True)):
        raise ValueError(f"output_shape {tuple(given)} has no room for the {least} that is unpooled")
    return [tuple(given)]


@op("MaxUnpool", 9, 22, shape=_unpooled, types=FLOATS, known=("output_shape",))
def max_unpool(x, indices, output_shape=None, *, kernel_shape, strides, pads, out):
    """Every element at its index, zeros between; of several at one index the last stays. An index outside is an error.

    With output_shape this follows the official node test, against the text: indices still count over the shape that follows
    from kernel_shape and strides (padding is then ignored), and that is the first corner of the result.
    """
    return unpool.unpool(x, indices, out, unpooled(x.shape, output_shape, kernel_shape, strides, pads))
