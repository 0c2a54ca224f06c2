"""Normalizations of each item by its own statistics: layer, RMS, group, instance, Lp, and mean and variance along axes."""
from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from ..dims import Fact, Size
from ..kernels import standardize
from ..kernels.step import Later
from ..registry import op
from ..types import FLOATS, OF_CODE
from .shapes import Shape, axes_of, axis_of, shape_of, widest


def standardized(x: np.ndarray, axes: tuple[int, ...], epsilon: float, centered: bool = True) -> tuple[np.ndarray, ...]:
    """A wide array less its mean, over its standard deviation (or its root mean square): that, the mean, and the inverse."""
    x = x.astype(np.float64)  # so that not even the mean of a million elements loses a digit
    mean = x.mean(axes, keepdims=True) if centered else np.zeros(())
    apart = x - mean
    inverse = 1 / np.sqrt(np.square(apart).mean(axes, keepdims=True) + epsilon)
    return apart * inverse, mean, inverse


def fill(out: np.ndarray | None, value: np.ndarray) -> None:
    """Round a result into its buffer, where it is wanted."""
    if out is not None:
        with np.errstate(over="ignore", invalid="ignore"):
            out[...] = value.reshape(out.shape)


def _scaled(scale: np.ndarray, shift: np.ndarray | None, normal: np.ndarray) -> np.ndarray:
    made = normal * scale.astype(np.float64)
    return made if shift is None else made + shift.astype(np.float64)


def _repeats_to(shape: Shape, part: Fact | None, name: str) -> None:
    """Refuse what does not broadcast to a shape."""
    if part is None or part.shape is None:
        return
    if len(part.shape) > len(shape) or _differs(widest([shape, part.shape]), shape):
        raise ValueError(f"{name} of shape {part.shape} does not broadcast to {shape}")


def _differs(a: Sequence[Size], b: Sequence[Size]) -> bool:
    return any(isinstance(m, int) and isinstance(n, int) and m != n for m, n in zip(a, b, strict=True))


def floating(code: int) -> str:
    """The type that a stash_type or a softmax_precision names."""
    kind = OF_CODE.get(code, "")
    if kind not in FLOATS:
        raise ValueError(f"{code} is no floating type")
    return kind


# Layer and root mean square: rows of all the axes from one on


def _layered(x: Fact, scale: Fact, b: Fact | None = None, *, axis: int, stash_type: int, **_: Any) -> list[Any]:
    shape = shape_of(x)
    _repeats_to(shape, scale, "Scale")
    _repeats_to(shape, b, "B")
    at = axis_of(axis, len(shape))
    rows = Fact(floating(stash_type), (*shape[:at], *(1,) * (len(shape) - at)))
    return [shape, rows, rows]


@op("LayerNormalization", 17, 17, shape=_layered, types=FLOATS, inplace=(0,))
def layer_normalization(X, Scale, B=None, *, axis, epsilon, stash_type, out):
    """(X - mean) / sqrt(variance + epsilon) * Scale + B over all axes from one on.

    `stash_type` is the type of Mean and InvStdDev; what is calculated is never less exact than X, and rounded once.
    """
    y, mean, spread = [*out, None, None][:3]
    at = axis_of(axis, X.ndim)
    if y is None or not all(_by_element(a, X.shape[at:]) for a in (Scale, B)):
        return Later(partial(_layer, at, epsilon), X, Scale, B, y, mean, spread)
    return standardize.rows(X, Scale, B, y, mean, spread, n=prod(X.shape[at:]), epsilon=epsilon)


def _by_element(factors: np.ndarray | None, row: tuple[int, ...]) -> bool:
    """Whether there is a factor for each element of a row, the same ones for all rows."""
    n = prod(row)
    return n > 0 and (factors is None or factors.size == n and factors.shape[max(factors.ndim - len(row), 0):] == row)


def _layer(axis: int, epsilon: float, x: np.ndarray, scale: np.ndarray, b: np.ndarray | None, y: np.ndarray | None,
           mean: np.ndarray | None, inverse: np.ndarray | None) -> None:
    normal, *statistics = standardized(x, tuple(range(axis, x.ndim)), epsilon)
    fill(y, _scaled(scale, b, normal))
    fill(mean, statistics[0])
    fill(inverse, statistics[1])


def _root_mean(x: Fact, scale: Fact, *, axis: int, stash_type: int, **_: Any) -> list[Any]:
    return _layered(x, scale, axis=axis, stash_type=stash_type)[:1]


@op("RMSNormalization", 23, 23, shape=_root_mean, types=FLOATS)
def rms_normalization(X, scale, *, axis, epsilon, stash_type, out):
    """X / sqrt(the mean of its squares + epsilon) * scale over all axes from one on; the result has scale's type."""
    at = axis_of(axis, X.ndim)
    if scale.dtype != X.dtype or not _by_element(scale, X.shape[at:]):
        return Later(partial(_rms, at, epsilon), X, scale, out)
    return standardize.rows(X, scale, None, out, None, None, n=prod(X.shape[at:]), epsilon=epsilon, centered=False)


def _rms(axis: int, epsilon: float, x: np.ndarray, scale: np.ndarray, out: np.ndarray) -> None:
    fill(out, _scaled(scale, None, standardized(x, tuple(range(axis, x.ndim)), epsilon, centered=False)[0]))


# Groups of channels


def _grouped(per_channel: bool, x: Fact, scale: Fact, bias: Fact, *, num_groups: int = 0, **_: Any) -> list[Any]:
    """One factor for each channel, or for each group."""
    shape = shape_of(x)
    if len(shape) < 2:
        raise ValueError(f"{shape} has no channels")
    channels = shape[1]
    if num_groups < 1 or isinstance(channels, int) and channels % num_groups:
        raise ValueError(f"{channels} channels cannot be parted in {num_groups} groups")
    due = channels if per_channel else num_groups
    for f in (scale, bias):
        if f.shape is not None and (len(f.shape) != 1 or _differs(f.shape, (due,))):
            raise ValueError(f"{f.shape} is not one number for each of {due}")
    return [shape]


def _instances(x: Fact, scale: Fact, bias: Fact, **_: Any) -> list[Any]:
    channels = shape_of(x)[1:2]
    for f in (scale, bias):
        if not channels or f.shape is not None and (len(f.shape) != 1 or _differs(f.shape, channels)):
            raise ValueError(f"{f.shape} is not one number for each channel of {x.shape}")
    return [x.shape]


def _groups(x: np.ndarray, scale: np.ndarray, bias: np.ndarray, groups: int, epsilon: float, out: np.ndarray) -> Any:
    """Normalize groups of channels, then scale by what there is: a factor for each channel or for each group."""
    if not x.size:
        return Later(_nothing)
    n = x.size // (len(x) * groups)
    return standardize.rows(x, scale, bias, out, None, None, n=n, groups=groups, plane=n * groups // len(scale), epsilon=epsilon)


def _nothing() -> None:
    """There are no elements."""


@op("InstanceNormalization", 1, 22, shape=_instances, types=FLOATS, inplace=(0,))
def instance_normalization(input, scale, B, *, epsilon, consumed_inputs=None, out):
    """(x - mean) / sqrt(variance + epsilon) * scale + B for each channel of each item."""
    return _groups(input, scale, B, input.shape[1], epsilon, out)


@op("GroupNormalization", 18, 18, shape=partial(_grouped, False), types=FLOATS, inplace=(0,))
def group_normalization_by_group(X, scale, bias, *, num_groups, epsilon, out):
    """(x - mean) / sqrt(variance + epsilon) * scale + bias for each group of channels, scale and bias a number for each."""
    return _groups(X, scale, bias, num_groups, epsilon, out)


@op("GroupNormalization", 21, 21, shape=partial(_grouped, True), types=FLOATS, inplace=(0,))
def group_normalization(X, scale, bias, *, num_groups, epsilon, stash_type, out):
    """The same with a scale and a bias for each channel; what is calculated is never less exact than X."""
    floating(stash_type)
    return _groups(X, scale, bias, num_groups, epsilon, out)


# Along any axes


def _along(x: Fact, *, axes: Sequence[int]) -> list[Any]:
    axes_of(axes, len(shape_of(x)))
    return [x.shape]


@op("MeanVarianceNormalization", 9, 13, shape=_along, types=FLOATS, inplace=(0,))
def mean_variance_normalization(X, *, axes, out):
    """(X - mean) / (the standard deviation + 1e-9) along some axes: the last number is that of the standard's function."""
    return Later(partial(_mean_variance, axes_of(axes, X.ndim)), X, out)


def _mean_variance(axes: tuple[int, ...], x: np.ndarray, out: np.ndarray) -> None:
    x = x.astype(np.float64)
    apart = x - x.mean(axes, keepdims=True)
    fill(out, apart / (np.sqrt(np.square(apart).mean(axes, keepdims=True)) + 1e-9))


def _norm_along(x: Fact, *, axis: int, p: int) -> list[Any]:
    axis_of(axis, len(shape_of(x)))
    if p not in (1, 2):
        raise ValueError(f"p is 1 or 2, not {p}")
    return [x.shape]


@op("LpNormalization", 1, 22, shape=_norm_along, types=FLOATS, inplace=(0,))
def lp_normalization(input, *, axis, p, out):
    """The input over its p-norm along one axis; zeros stay zeros."""
    return Later(partial(_by_norm, axis_of(axis, input.ndim), p), input, out)


def _by_norm(axis: int, p: int, x: np.ndarray, out: np.ndarray) -> None:
    x = x.astype(np.float64)
    norm = np.linalg.norm(x, p, axis, keepdims=True) if x.size else np.ones(())
    fill(out, x / np.where(norm == 0, 1, norm))
