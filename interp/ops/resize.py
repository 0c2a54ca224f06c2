"""Resizing of tensors: Resize and Upsample."""
from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..dims import Fact, Size, fresh, larger, smaller
from ..kernels import resize as kernel
from ..kernels.step import copied
from ..record import record
from ..registry import op
from .layout import put_off
from .shapes import axes_of, shape_of

if TYPE_CHECKING:
    from fractions import Fraction

COORDINATES = ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn",
               "tf_crop_and_resize")
NEAREST = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
MODES = {"nearest": "nearest", "linear": "linear", "bilinear": "linear", "cubic": "cubic"}
POLICIES = ("stretch", "not_larger", "not_smaller")
DENOMINATORS = 4096  # of scales up to which a float32 is taken for the fraction that it stands for
LONGEST = 1 << 40  # sizes beyond this are no tensor's
KEPT = 1 << 14  # places of an axis, up to which its table is kept for the next one like it
MOST_PLACES = 1 << 27  # in the table of an axis: more take memory without end


# Sizes

def exactly(number: float) -> Fraction:
    """A number as a fraction, whose module takes long to import."""
    from fractions import Fraction

    return Fraction(number)


def fraction(scale: float) -> Fraction:
    """The simplest number that as a float32 is this scale: 0.7 means 7/10, though the float32 is a little less."""
    exact = exactly(float(scale))
    simple = exact.limit_denominator(DENOMINATORS)
    return simple if np.float32(simple) == np.float32(scale) else exact


def scaled(size: Size, scale: float) -> Size:
    """floor(size * scale), for sizes with names as well."""
    if not (np.isfinite(scale) and scale > 0):
        raise ValueError(f"a scale is {scale}; it must be above 0")
    times = fraction(scale)
    made = size * times.numerator // times.denominator
    if isinstance(made, int) and made > LONGEST:
        raise ValueError(f"an axis of {size}, {scale} times as long, is too long")
    return made


def given(fact: Fact | None) -> Fact | None:
    """An input, unless it is absent: an empty tensor stands for that."""
    return None if fact is None or fact.shape == (0,) else fact


def _axes(axes: Sequence[int] | None, rank: int) -> tuple[int, ...]:
    return tuple(range(rank)) if axes is None else axes_of(axes, rank)


def _counted(name: str, count: Size, axes: Sequence[int]) -> None:
    if isinstance(count, int) and count != len(axes):
        raise ValueError(f"{name} has {count} elements for {len(axes)} axes")


def resized_shape(X: Fact, roi: Fact | None = None, scales: Fact | None = None, sizes: Fact | None = None, *,
                  axes: Sequence[int] | None = None, keep_aspect_ratio_policy: str = "stretch", **_: Any) -> list[Any]:
    """The sizes that are asked for, or those that the scales make; the region does not enter them."""
    shape = shape_of(X)
    along = _axes(axes, len(shape))
    scales, sizes = given(scales), given(sizes)
    if (scales is None) == (sizes is None):
        raise ValueError("one of scales and sizes must be given, and not both")
    asked = scales if sizes is None else sizes
    assert asked is not None
    _counted("scales" if sizes is None else "sizes", shape_of(asked)[0] if asked.rank == 1 else asked.rank - 1, along)
    found = list(shape)
    if asked.value is None:
        made: list[Any] = [fresh() for _ in along]
    elif sizes is None:
        made = [scaled(shape[k], float(s)) for k, s in zip(along, np.ravel(asked.value), strict=True)]
    else:
        made = kept(keep_aspect_ratio_policy, asked.sizes or [], [shape[k] for k in along])
    for k, n in zip(along, made, strict=True):
        found[k] = n
    return [tuple(found)]


def kept(policy: str, sizes: Sequence[Size], shape: Sequence[Size]) -> list[Size]:
    """Sizes by a policy: the shape itself scaled by the least or the largest of the scales, halves rounded up."""
    if policy not in POLICIES:
        raise ValueError(f"keep_aspect_ratio_policy is {policy!r}; it must be one of {', '.join(POLICIES)}")
    for n in sizes:
        if isinstance(n, int) and not 0 <= n <= LONGEST:
            raise ValueError(f"a size is {n}")
    if policy == "stretch":
        return list(sizes)
    if any(n == 0 for n in shape):
        raise ValueError(f"axes of {tuple(shape)} have no aspect ratio")
    choose, made = smaller if policy == "not_larger" else larger, []
    for n in shape:
        choices = [(2 * s * n + m) // (2 * m) for s, m in zip(sizes, shape, strict=True)]
        best = choices[0]
        for c in choices[1:]:
            best = choose(best, c)
        made.append(best)
    return made


# Positions

@record(frozen=True)
class Filter:
    """How the places around a position count."""

    mode: str
    nearest: str = "round_prefer_floor"
    coefficient: float = -0.75
    antialias: bool = False
    exclude_outside: bool = False


def positions(n: int, m: int, scale: Fraction, transform: str, start: float = 0, end: float = 1) -> np.ndarray:
    """Where each of m places lies on an axis of n places."""
    o = np.arange(m, dtype=np.float64)
    up, down = float(scale.numerator), float(scale.denominator)
    if transform in ("half_pixel", "pytorch_half_pixel") and (m > 1 or transform == "half_pixel"):
        return ((2 * o + 1) * down - up) / (2 * up)  # one rounding: what lies halfway is exact
    if transform == "half_pixel_symmetric":
        return ((2 * o + 1 - m) * down + (n - 1) * up) / (2 * up)
    if transform == "asymmetric":
        return o * down / up
    if transform == "tf_half_pixel_for_nn":
        return (2 * o + 1) * down / (2 * up)
    if transform != "tf_crop_and_resize" and m == 1:
        return np.zeros(m)
    if transform == "align_corners":
        return o * (n - 1) * down / (n * up - down)
    if m > 1:
        with np.errstate(invalid="ignore"):  # a region without numbers lies outside
            return start * (n - 1) + o * (end - start) * (n - 1) / (m - 1)
    return np.full(m, 0.5 * (start + end) * (n - 1))


def nearest_of(x: np.ndarray, how: str, shrinks: bool) -> np.ndarray:
    """The place that a position is taken for."""
    if how == "simple":  # what versions without nearest_mode do
        how = "ceil" if shrinks else "floor"
    if how == "floor":
        return np.floor(x)
    if how == "ceil":
        return np.ceil(x)
    return np.ceil(x - 0.5) if how == "round_prefer_floor" else np.floor(x + 0.5)


def _cubic(x: np.ndarray, a: float) -> np.ndarray:
    x = np.abs(x)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0))


def _linear(x: np.ndarray, _: float) -> np.ndarray:
    return np.maximum(1 - np.abs(x), 0)


def weighted(x: np.ndarray, n: int, scale: Fraction, how: Filter) -> tuple[np.ndarray, np.ndarray]:
    """The places around each position and their weights: two arrays of (taps, positions)."""
    curve, reach = (_cubic, 2) if how.mode == "cubic" else (_linear, 1)
    stretch = max(1 / scale, exactly(1)) if how.antialias else exactly(1)
    taps = 2 * int(-(-reach * stretch // 1))
    if taps * len(x) > MOST_PLACES:
        raise ValueError(f"{taps} places for each of {len(x)} are too many")
    low = np.floor(x)
    place = low + np.arange(1 - taps // 2, taps // 2 + 1)[:, None]
    weight = curve((place - x) / float(stretch), how.coefficient)
    if stretch == 1:  # a curve's rounding must not reach what a whole position does not touch
        weight = np.where(low == x, np.where(place == x, 1.0, 0.0), weight)
    if how.exclude_outside:
        weight[(place < 0) | (place > n - 1)] = 0
    if how.exclude_outside or how.antialias:
        total = weight.sum(0)
        weight /= np.where(total == 0, 1, total)
    return np.clip(place, 0, n - 1).astype(np.intp), weight


def quiet(index: np.ndarray, weight: np.ndarray) -> None:
    """Let taps of weight 0 share the place and the weight of the heaviest, so that 0 times infinity makes no NaN."""
    for t in range(len(weight)):
        [at] = np.nonzero((weight[t] == 0) & weight.any(0))
        most = np.abs(weight[:, at]).argmax(0)
        index[t, at] = index[most, at]
        weight[most, at] /= 2
        weight[t, at] = weight[most, at]


def table(n: int, m: int, *how: Any) -> Any:
    """The table that makes an axis of m places of one of n; None where it stays as it is. Small ones are kept."""
    return (_table if m <= KEPT else _table.__wrapped__)(n, m, *how)


@lru_cache(256)
def _table(n: int, m: int, scale: Fraction, transform: str, how: Filter, start: float = 0, end: float = 1) -> Any:
    if m == 0:
        return None
    if n == 0:
        raise ValueError(f"an axis without places cannot become one of {m}")
    if m > MOST_PLACES:
        raise ValueError(f"an axis cannot be resized to {m}; there may be {MOST_PLACES} places")
    x = positions(n, m, scale, transform, start, end)
    outside = np.zeros(m, bool)
    if transform == "tf_crop_and_resize":
        outside = ~((x >= 0) & (x <= n - 1))
        x = np.where(outside, 0, x)
    x = np.clip(x, -4.0 * n - 4, 8.0 * n + 8)  # far out all places are the border
    if how.mode == "nearest":
        index = np.clip(nearest_of(x, how.nearest, scale < 1), 0, n - 1).astype(np.intp)[None]
        same, weight = n == m and bool(np.all(index == np.arange(n))), None
    else:
        index, weight = weighted(x, n, scale, how)
        quiet(index, weight)
        same = n == m and bool(np.all((index == np.arange(n)) | (weight == 0)))
    if same and not np.any(outside):
        return None
    return np.ascontiguousarray(index), weight, outside.astype(np.uint8) if np.any(outside) else None


# The operators

Floats = Sequence[float] | np.ndarray


def resized(x: np.ndarray, tables: Sequence[Any], mode: str, fill: float, out: np.ndarray | None) -> Any:
    """A tensor by the tables of its axes."""
    if out is None:
        if mode != "nearest":
            raise ValueError(f"mode {mode} has no meaning for strings")
        return put_off(lambda x: _picked(x, tables), x, out)
    if all(t is None for t in tables) or not out.size:
        return copied(x if out.size else out, out)
    if mode == "nearest":
        return kernel.nearest(x, out, tables, _element(fill, x.dtype))
    if x.dtype.kind == "c":
        part = np.float32 if x.itemsize == 8 else np.float64
        x, out = (a.view(part).reshape(*a.shape, 2) for a in (x, out))
        tables = [*tables, None]
    return kernel.weighted(x, out, tables, fill)


def _element(value: float, dtype: np.dtype) -> Any:
    """A number as an element, rounded and held to the type where that has whole numbers only."""
    if dtype.kind not in "iub":
        return value
    low, high = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    return 0 if np.isnan(value) else low if value <= low else high if value >= high else round(value)


def _picked(x: np.ndarray, tables: Sequence[Any]) -> np.ndarray:
    for axis, found in enumerate(tables):
        if found is not None:
            x = np.take(x, found[0][0], axis)
            if found[2] is not None:
                x[(slice(None),) * axis + (found[2] != 0,)] = ""
    return x


def _mode(mode: str) -> str:
    if mode not in MODES:
        raise ValueError(f"mode is {mode!r}; it must be one of {', '.join(MODES)}")
    return MODES[mode]


def _simply(x: np.ndarray, scales: Floats, mode: str, out: np.ndarray | None) -> Any:
    """What was there before coordinates were a choice: o / scale, and the place before it, or after it where an axis shrinks."""
    how = Filter(_mode(mode), "simple")
    if how.mode == "cubic":
        raise ValueError("mode is 'cubic'; it must be nearest or linear")
    sizes: list[Any] = [scaled(n, float(s)) for n, s in zip(x.shape, scales, strict=True)]
    tables = [table(n, m, fraction(s), "asymmetric", how) for n, m, s in zip(x.shape, sizes, scales, strict=True)]
    return resized(x, tables, how.mode, 0, out)


def _resized_10(X: Fact, scales: Fact, **_: Any) -> list[Any]:
    return resized_shape(X, None, scales)


@op("Resize", 10, 10, shape=_resized_10, known=("scales",))
def resize_10(X, scales, *, mode, out):
    """Every axis scaled: nearest by the place at or before o / scale, or after it where an axis shrinks; or linear.

    The text says nothing of the nearest place; this is what onnxruntime does and what the operator's first official tests had.
    """
    return _simply(X, np.ravel(scales), mode, out)


@op("Resize", 11, 19, shape=resized_shape, known=("roi", "scales", "sizes"))
def resize(X, roi=None, scales=None, sizes=None, *, antialias=0, axes=None, coordinate_transformation_mode, cubic_coeff_a,
           exclude_outside, extrapolation_value, keep_aspect_ratio_policy="stretch", mode, nearest_mode, out):
    """Every axis anew from places around where each of its new places lies: the nearest, or weighted ones.

    align_corners takes length_resized for the size before it is cut to a whole number, as the official node test has it. A
    region does not enter the size that scales make: so have it onnx's shape inference and every engine, against the text.
    tf_half_pixel_for_nn is served after version 11 as well, since converters still write it.
    """
    how = _filter(_mode(mode), nearest_mode, cubic_coeff_a, antialias, exclude_outside)
    if coordinate_transformation_mode not in COORDINATES:
        raise ValueError(f"coordinate_transformation_mode is {coordinate_transformation_mode!r}; "
                         f"it must be one of {', '.join(COORDINATES)}")
    along = _axes(axes, X.ndim)
    shape = [X.shape[k] for k in along]
    if scales is not None and scales.size:
        sizes = [scaled(n, float(s)) for n, s in zip(shape, np.ravel(scales), strict=True)]
        times = [fraction(s) for s in np.ravel(scales)]
    else:
        asked = [int(n) for n in np.ravel(sizes)]
        sizes, times = kept(keep_aspect_ratio_policy, asked, shape), _times(keep_aspect_ratio_policy, asked, shape)
    starts, ends = _region(roi, len(along)) if coordinate_transformation_mode == "tf_crop_and_resize" else (None, None)
    tables = [None] * X.ndim
    for i, k in enumerate(along):
        region = (starts[i], ends[i]) if starts else ()
        tables[k] = table(X.shape[k], sizes[i], times[i], coordinate_transformation_mode, how, *region)
    return resized(X, tables, how.mode, extrapolation_value, out)


def _filter(mode: str, nearest: str, coefficient: float, antialias: int, exclude_outside: int) -> Filter:
    if nearest not in NEAREST:
        raise ValueError(f"nearest_mode is {nearest!r}; it must be one of {', '.join(NEAREST)}")
    if mode == "nearest":
        if antialias:
            raise ValueError("antialias is for the modes linear and cubic, this is nearest")
        return Filter(mode, nearest)
    return Filter(mode, coefficient=coefficient, antialias=bool(antialias), exclude_outside=bool(exclude_outside))


def _times(policy: str, sizes: Sequence[int], shape: Sequence[int]) -> list[Fraction]:
    """The scale of every axis."""
    each = [exactly(m) / n if n else exactly(1) for m, n in zip(sizes, shape, strict=True)]
    if policy == "stretch" or not each:
        return each
    return [min(each) if policy == "not_larger" else max(each)] * len(each)


def _region(roi: np.ndarray | None, count: int) -> tuple[list[float], list[float]]:
    if roi is None or roi.size != 2 * count:
        raise ValueError(f"tf_crop_and_resize needs a roi of {2 * count} numbers, a start and an end for each axis")
    numbers = [float(v) for v in np.ravel(roi)]
    return numbers[:count], numbers[count:]


def _growing(scales: Any) -> Fact:
    """Scales of an Upsample, which never shrinks."""
    fact = scales if isinstance(scales, Fact) else Fact("tensor(float)", (len(scales),), np.asarray(scales, np.float32))
    if fact.value is not None and not all(s >= 1 for s in np.ravel(fact.value)):
        raise ValueError(f"scales are {np.ravel(fact.value).tolist()}; they must be at least 1")
    return fact


def _upsampled_1(X: Fact, *, height_scale: float, width_scale: float, **_: Any) -> list[Any]:
    if X.rank != 4:
        raise ValueError(f"the input has four dimensions, not {X.rank}")
    return resized_shape(X, None, _growing((1, 1, height_scale, width_scale)))


@op("Upsample", 1, 1, shape=_upsampled_1)
def upsample_1(X, *, height_scale, width_scale, mode, out):
    """The height and the width scaled."""
    return _simply(X, (1, 1, height_scale, width_scale), mode, out)


@op("Upsample", 7, 7, shape=lambda X, *, scales, **_: resized_shape(X, None, _growing(scales)))
def upsample_7(X, *, scales, mode, out):
    """Every axis scaled."""
    return _simply(X, scales, mode, out)


@op("Upsample", 9, 10, shape=lambda X, scales, **_: resized_shape(X, None, _growing(scales)), known=("scales",))
def upsample_9(X, scales, *, mode, out):
    """Every axis scaled."""
    return _simply(X, np.ravel(scales), mode, out)
