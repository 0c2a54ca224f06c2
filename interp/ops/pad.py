"""Operators that put elements around others, or take them away."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dims import Fact, Size, fresh
from ..kernels import pad as padding
from ..registry import op
from .layout import plain, put_off
from .shapes import axes_of, numbers, shape_of, sizes


def _padded(x: Fact, pads: Any = None, constant_value: Any = None, axes: Any = None, *, mode: str, paddings: Any = None,
            **_: Any) -> list[Any]:
    shape, around, named = shape_of(x), sizes(pads if paddings is None else paddings), numbers(axes)
    if mode not in padding.MODES:
        raise ValueError(f"Pad has no mode {mode}; it has {', '.join(padding.MODES)}")
    if axes is not None and named is None:
        return [tuple(fresh() for _ in shape)]
    at = axes_of(range(len(shape)) if named is None else named, len(shape))
    if around is None:
        return [tuple(fresh() if i in at else n for i, n in enumerate(shape))]
    if len(around) != 2 * len(at):
        raise ValueError(f"{len(around)} pads for {len(at)} axes")
    grown = dict(zip(at, zip(around[:len(at)], around[len(at):], strict=True), strict=True))
    found = tuple(n + sum(grown.get(i, (0, 0))) for i, n in enumerate(shape))
    if any(isinstance(n, int) and n < 0 for n in found):
        raise ValueError(f"pads {around} take more than {shape} has")
    return [found]


@op("Pad", 1, 25, shape=_padded, known=("pads", "axes"))
def pad(data, pads=None, constant_value=None, axes=None, *, mode, value=0.0, paddings=None, out):
    """Elements put around, or taken away where a pad is negative: a constant, or what the mode makes of those that are left.

    The pads are an attribute `paddings` in version 1, and one with the constant `value` in version 2.
    """
    around = plain(pads if paddings is None else paddings)
    at = axes_of(range(data.ndim) if axes is None else plain(axes), data.ndim)
    before, after = [0] * data.ndim, [0] * data.ndim
    for i, a in enumerate(at):
        before[a], after[a] = around[i], around[i + len(at)]
    fill = nothing(data, value) if constant_value is None else constant_value
    return _around(data, before, after, mode, fill, constant_value is not None, out)


def nothing(data: np.ndarray, value: float = 0.0) -> np.ndarray:
    """What stands for no element: zero, False or the empty string."""
    return np.array("" if data.dtype.hasobject else value, data.dtype)


def _around(x: np.ndarray, before: Sequence[int], after: Sequence[int], mode: str, fill: np.ndarray, given: bool,
            out: np.ndarray | None) -> Any:
    if mode == "constant" and given:
        made = None if out is None else padding.pad(x, before, after, mode, fill, out)
        return made or put_off(lambda x, fill: _filled(x, before, after, fill), x, fill, out)
    made = None if out is None else padding.pad(x, before, after, mode, fill.tobytes(), out)
    if mode == "constant":
        return made or put_off(lambda x: _filled(x, before, after, fill), x, out)
    return made or put_off(lambda x: _continued(x, before, after, mode), x, out)


def _filled(x: np.ndarray, before: Sequence[int], after: Sequence[int], fill: np.ndarray) -> np.ndarray:
    made = np.full([n + b + a for n, b, a in zip(x.shape, before, after, strict=True)], fill.reshape(())[()], x.dtype)
    sides = [(max(b, 0), min(m, m - a), max(-b, 0), min(n, n + a))
             for n, m, b, a in zip(x.shape, made.shape, before, after, strict=True)]
    if all(last > first for *_, first, last in sides):
        made[tuple(slice(s[0], s[1]) for s in sides)] = x[tuple(slice(s[2], s[3]) for s in sides)]
    return made


def _continued(x: np.ndarray, before: Sequence[int], after: Sequence[int], mode: str) -> np.ndarray:
    left = x[tuple(slice(max(-b, 0), n + min(a, 0)) for n, b, a in zip(x.shape, before, after, strict=True))]
    return np.pad(left, [(max(b, 0), max(a, 0)) for b, a in zip(before, after, strict=True)], mode)  # type: ignore[call-overload]


def _centred(x: Fact, shape: Fact, *, axes: Sequence[int] | None) -> list[Any]:
    own, wanted = list(shape_of(x)), sizes(shape)
    at = axes_of(range(len(own)) if axes is None else axes, len(own))
    if wanted is not None and (len(wanted) != len(at) or any(isinstance(n, int) and n < 0 for n in wanted)):
        raise ValueError(f"the sizes {wanted} for axes {list(at)}")
    given: Sequence[Size] = [fresh() for _ in at] if wanted is None else wanted
    for a, n in zip(at, given, strict=True):
        own[a] = n
    return [tuple(own)]


@op("CenterCropPad", 18, 18, shape=_centred, known=("shape",))
def center_crop_pad(input_data, shape, *, axes, out):
    """The middle of the input, or zeros around it, along every axis that is given another size; the odd one is cut, or put,
    at the end."""
    before, after = [0] * input_data.ndim, [0] * input_data.ndim
    for a, n in zip(axes_of(range(input_data.ndim) if axes is None else axes, input_data.ndim), plain(shape), strict=True):
        size = input_data.shape[a]
        before[a] = (n - size) // 2 if n >= size else -((size - n) // 2)
        after[a] = n - size - before[a]
    return _around(input_data, before, after, "constant", nothing(input_data), False, out)
