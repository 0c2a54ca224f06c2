"""What backward nodes need beside the standard's operators, in the private domain `interp`; and Gradient itself, by name."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..dims import Fact
from ..registry import op
from ..types import FLOATS
from .cast import wide
from .loss import picked_weights
from .shapes import axis_of, unknown
from .window import Window

DOMAIN = "interp"


@op("Gradient", 1, 1, domain="ai.onnx.preview.training", shape=unknown, refers=("xs", "zs", "y"))
def gradient(*Inputs, xs, y, zs):
    """The partial derivatives of one value by others: replaced by backward nodes when a model is read."""
    raise RuntimeError("Gradient runs as the backward nodes that replace it in a model")


def _like_second(dy: Fact, x: Fact, *_: Any, **__: Any) -> list[Any]:
    return [x.shape]


@op("SumTo", domain=DOMAIN, signature="dy: T, x: U -> dx: T", types={"T": FLOATS}, shape=_like_second)
def sum_to(dy, x):
    """A gradient summed over the axes along which its value was repeated."""
    extra = dy.ndim - x.ndim
    axes = (*range(extra), *(i + extra for i, n in enumerate(x.shape) if n == 1 and dy.shape[i + extra] != 1))
    return wide(dy).sum(axes, keepdims=True).reshape(x.shape).astype(dy.dtype)


@op("GatherGradient", domain=DOMAIN, signature="dy: T, x: T, indices: I -> dx: T", types={"T": FLOATS}, shape=_like_second)
def gather_gradient(dy, x, indices, *, axis=0):
    """What was gathered goes back to where it was taken from; what was taken twice adds up."""
    at = axis_of(axis, x.ndim)
    due = np.zeros(x.shape, wide(x).dtype)
    np.add.at(np.moveaxis(due, at, 0), indices, np.moveaxis(wide(dy), range(at, at + indices.ndim), range(indices.ndim)))
    return due.astype(x.dtype)


@op("MaxPoolGradient", domain=DOMAIN, signature="dy: T, x: T, indices: tensor(int64) -> dx: T", types={"T": FLOATS},
    shape=_like_second)
def max_pool_gradient(dy, x, indices):
    """Each window's gradient goes to its maximum; windows without one have index -1."""
    due = np.zeros(x.size, wide(x).dtype)
    there = indices >= 0
    np.add.at(due, indices[there], wide(dy)[there])
    return due.reshape(x.shape).astype(x.dtype)


@op("MatMulGradient", domain=DOMAIN, signature="dy: T, x: T, other: T -> dx: T", types={"T": FLOATS}, shape=_like_second)
def matmul_gradient(dy, x, other, *, left):
    """The gradient of a product by its left or its right factor; vectors are matrices of one row or column."""
    row, column = (x, other) if left else (other, x)
    due = wide(dy)
    due = due[..., None] if column.ndim == 1 else due
    due = due[..., None, :] if row.ndim == 1 else due
    factor = as_matrix(wide(other), not left).swapaxes(-1, -2)
    found = due @ factor if left else factor @ due
    return sum_to(found, as_matrix(x, left)).reshape(x.shape).astype(dy.dtype)


def as_matrix(x: np.ndarray, left: bool) -> np.ndarray:
    """A factor of a product, a vector as a row on the left, as a column on the right."""
    return x if x.ndim > 1 else x[None] if left else x[:, None]


# Windows: what one tap of the kernel meets in all windows at once


def taps(window: Any, padded: np.ndarray) -> Iterator[tuple[tuple[int, ...], np.ndarray]]:
    """Every position in the kernel, and the elements of the padded input that meet it, one a window: a view."""
    for at in np.ndindex(window.kernel):
        steps = zip(at, window.dilation, window.stride, window.out, strict=True)
        place: tuple[Any, ...] = tuple(slice(k * d, k * d + s * (n - 1) + 1, s) for k, d, s, n in steps)
        yield at, padded[(..., *place)]


def padded(window: Any, shape: tuple[int, ...], x: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Zeros wide enough for every window, and the view of them that is the input."""
    reach = [max(b + n + a, (o - 1) * s + (k - 1) * d + 1) for b, n, a, o, s, k, d in zip(
        window.before, window.size, window.after, window.out, window.stride, window.kernel, window.dilation, strict=True)]
    whole = np.zeros((*shape[:2], *reach), np.float64)
    place: tuple[Any, ...] = tuple(slice(b, b + n) for b, n in zip(window.before, window.size, strict=True))
    inner = whole[(..., *place)]
    if x is not None:
        inner[...] = x
    return whole, inner


@op("AveragePoolGradient", domain=DOMAIN, signature="dy: T, x: T -> dx: T", types={"T": FLOATS}, shape=_like_second)
def average_pool_gradient(dy, x, *, kernel_shape, auto_pad="NOTSET", ceil_mode=0, count_include_pad=0, dilations=None, pads=None,
                          strides=None):
    """Each window's gradient, divided by how many elements it averages, goes to each of them."""
    window = Window.of(x.shape, kernel_shape, auto_pad, pads, strides, dilations, ceil_mode)
    counted, inside = padded(window, (1, 1))
    declared = tuple(slice(0, b + n + a) for b, n, a in zip(window.before, window.size, window.after, strict=True))
    (counted[(..., *declared)] if count_include_pad else inside)[...] = 1
    counts = sum(tap for _, tap in taps(window, counted))
    share = dy.astype(np.float64) / counts
    whole, inner = padded(window, x.shape)
    for _, tap in taps(window, whole):
        tap += share
    return inner.astype(x.dtype)


def _grouped(x: np.ndarray, group: int) -> np.ndarray:
    return x.reshape(x.shape[0], group, x.shape[1] // group, *x.shape[2:])


@op("ConvInputGradient", domain=DOMAIN, signature="dy: T, x: T, w: T -> dx: T", types={"T": FLOATS}, shape=_like_second)
def conv_input_gradient(dy, x, w, *, group=1, auto_pad="NOTSET", dilations=None, kernel_shape=None, pads=None, strides=None):
    """Each output's gradient goes, by the weights, to the inputs that made it."""
    window = Window.of(x.shape, kernel_shape or w.shape[2:], auto_pad, pads, strides, dilations)
    whole, inner = padded(window, x.shape)
    out = _grouped(dy.astype(np.float64), group)
    weights = w.reshape(group, w.shape[0] // group, *w.shape[1:]).astype(np.float64)
    for at, tap in taps(window, whole):
        tap += np.einsum("ngo...,goi->ngi...", out, weights[(..., *at)]).reshape(tap.shape)
    return inner.astype(x.dtype)


@op("ConvWeightGradient", domain=DOMAIN, signature="dy: T, w: T, x: T -> dw: T", types={"T": FLOATS}, shape=_like_second)
def conv_weight_gradient(dy, w, x, *, group=1, auto_pad="NOTSET", dilations=None, kernel_shape=None, pads=None, strides=None):
    """Each weight's gradient is the sum, over all windows, of the gradient times the input that it met."""
    window = Window.of(x.shape, kernel_shape or w.shape[2:], auto_pad, pads, strides, dilations)
    whole, _ = padded(window, x.shape, x)
    out = _grouped(dy.astype(np.float64), group).reshape(x.shape[0], group, w.shape[0] // group, -1)
    due = np.empty(w.shape, np.float64)
    for at, tap in taps(window, whole):
        met = _grouped(tap, group).reshape(x.shape[0], group, w.shape[1], -1)
        due[(..., *at)] = np.einsum("ngos,ngis->goi", out, met).reshape(w.shape[:2])
    return due.astype(w.dtype)


# Losses


@op("LossGradient", domain=DOMAIN, signature="dy: T, x: T, target: I, weight?: T -> dx: T", types={"T": FLOATS},
    shape=_like_second)
def loss_gradient(dy, x, target, weight=None, *, ignore_index=None, reduction="mean", softmax=0):
    """The gradient of a loss by its scores: the weights at the right classes, and after a softmax less their probabilities."""
    each, right = picked_weights(x, target, weight, ignore_index)
    share = each / each.sum() if reduction == "mean" else each
    share = (share * dy.astype(np.float64))[:, None]
    classes = np.arange(x.shape[1]).reshape(-1, *(1,) * (x.ndim - 2))
    due = -share * (classes == right[:, None])
    if softmax:
        shifted = np.exp(x.astype(np.float64) - x.astype(np.float64).max(1, keepdims=True))
        due += share * shifted / shifted.sum(1, keepdims=True)
    return due.astype(x.dtype)
