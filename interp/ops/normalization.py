"""Normalizations: batch, local response, softmax; and dropout, which the inference of them all leaves alone."""
from __future__ import annotations

from functools import partial
from math import prod
from typing import Any

import numpy as np

from ..dims import Fact
from ..kernels import layout, normalization
from ..kernels.step import Later
from ..registry import op
from ..types import FLOATS
from .shapes import axis_of, same, shape_of


def _batch_shapes(x: Fact, scale: Fact, b: Fact, mean: Fact, var: Fact, **_: Any) -> list[Any]:
    if len(shape_of(x)) < 1:
        raise ValueError("BatchNormalization of a scalar")
    return [x.shape, *[f.shape for f in (mean, var, mean, var)]]


def _trained(spatial: bool, momentum: float, epsilon: float, x: np.ndarray, scale: np.ndarray, b: np.ndarray, mean: np.ndarray,
             var: np.ndarray, *outs: np.ndarray | None) -> None:
    """Normalize by the batch's own mean and variance, and move the running ones towards them.

    The outputs are Y, the running mean and variance, and where the version has them the batch's.
    """
    axes = (0, *range(2, x.ndim)) if spatial else (0,)
    along = (1, -1, *(1,) * (x.ndim - 2)) if spatial else (1, *x.shape[1:])
    values = x.astype(np.float64)
    own_mean, own_var = values.mean(axes), values.var(axes)
    normal = (values - own_mean.reshape(along)) / np.sqrt(own_var.reshape(along) + epsilon)
    found = [normal * scale.astype(np.float64).reshape(along) + b.astype(np.float64).reshape(along)]
    for old, new in ((mean, own_mean), (var, own_var)):
        found.append(old.astype(np.float64) * momentum + new.reshape(old.shape) * (1 - momentum))
    for value, out in zip([*found, own_mean, own_var], outs, strict=False):
        if out is not None:
            out[...] = value.reshape(out.shape)


def _batch(spatial: int, training: bool, momentum: float, epsilon: float, arrays: tuple[np.ndarray, ...], out: list) -> Any:
    """Statistics of the batch while training, else the given ones."""
    x, scale, b, mean, var = arrays if spatial else (arrays[0], *(a.reshape(arrays[0].shape[1:]) for a in arrays[1:]))
    if training:
        return Later(partial(_trained, bool(spatial), momentum, epsilon), x, scale, b, mean, var, *out)
    return normalization.batch(x, scale, b, mean, var, epsilon, out[0])


@op("BatchNormalization", 1, 6, shape=_batch_shapes, types=FLOATS, inplace=(0,))
def batch_normalization_by_mode(X, scale, B, mean, var, *, is_test, spatial, momentum, epsilon, consumed_inputs=None, outputs,
                                out):
    """(x - mean) / sqrt(var + epsilon) * scale + B, by channel or, where `spatial` is 0, by element of a batch item.

    With `is_test` the mean and variance are the given ones, else the batch's; a node with one output, which the text
    reserves for tests, is one in either case.
    """
    return _batch(spatial, not is_test and any(outputs[1:]), momentum, epsilon, (X, scale, B, mean, var), out)


@op("BatchNormalization", 7, 9, shape=_batch_shapes, types=FLOATS, inplace=(0,))
def batch_normalization_by_outputs(X, scale, B, mean, var, *, spatial=1, momentum, epsilon, outputs, out):
    """As before, and the number of outputs alone tells training, with more than one, from inference."""
    return _batch(spatial, any(outputs[1:]), momentum, epsilon, (X, scale, B, mean, var), out)


@op("BatchNormalization", 14, 15, shape=_batch_shapes, types=FLOATS, inplace=(0,))
def batch_normalization(X, scale, B, input_mean, input_var, *, training_mode, momentum, epsilon, outputs, out):
    """(x - mean) / sqrt(var + epsilon) * scale + B by channel; in training mode by the batch's own mean and variance."""
    return _batch(1, bool(training_mode), momentum, epsilon, (X, scale, B, input_mean, input_var), out)


@op("LRN", 1, 13, shape=same, types=FLOATS)
def lrn(X, *, size, alpha, beta, bias, out):
    """x / (bias + alpha / size * the sum of squares in `size` channels around it) ^ beta."""
    return normalization.response(X, size, alpha, beta, bias, out)


def _from_axis(x: Fact, *, axis: int) -> list[Any]:
    rank = len(shape_of(x))
    if not -rank <= axis <= rank:
        raise ValueError(f"axis {axis} is outside of {rank} dimensions")
    return [x.shape]


def _along_axis(x: Fact, *, axis: int) -> list[Any]:
    axis_of(axis, len(shape_of(x)))
    return [x.shape]


@op("Softmax", 1, 11, shape=_from_axis, types=FLOATS, inplace=(0,))
def softmax_of_rows(input, *, axis, out):
    """Exponentials over their sum, of all the axes from one on taken together."""
    return normalization.softmax(input, axis + input.ndim if axis < 0 else axis, input.ndim, False, out)


@op("LogSoftmax", 1, 11, shape=_from_axis, types=FLOATS, inplace=(0,))
def log_softmax_of_rows(input, *, axis, out):
    """The logarithm of the softmax of all the axes from one on taken together."""
    return normalization.softmax(input, axis + input.ndim if axis < 0 else axis, input.ndim, True, out)


@op("Softmax", 13, 13, shape=_along_axis, types=FLOATS, inplace=(0,))
def softmax(input, *, axis, out):
    """Exponentials over their sum along one axis."""
    at = axis_of(axis, input.ndim)
    return normalization.softmax(input, at, at + 1, False, out)


@op("LogSoftmax", 13, 13, shape=_along_axis, types=FLOATS, inplace=(0,))
def log_softmax(input, *, axis, out):
    """The logarithm of the softmax along one axis."""
    at = axis_of(axis, input.ndim)
    return normalization.softmax(input, at, at + 1, True, out)


@op("Hardmax", 1, 11, shape=_from_axis, types=FLOATS)
def hardmax_of_rows(input, *, axis, out):
    """1 for the first maximum of all the axes from one on taken together, 0 for the others."""
    at = axis + input.ndim if axis < 0 else axis
    rows = (prod(input.shape[:at]), prod(input.shape[at:]))
    return Later(lambda x, out: _hardmax(x.reshape(rows), 1, out.reshape(rows)), input, out)


@op("Hardmax", 13, 13, shape=_along_axis, types=FLOATS)
def hardmax(input, *, axis, out):
    """1 for the first maximum along one axis, 0 for the others."""
    at = axis_of(axis, input.ndim)
    return Later(lambda x, out: _hardmax(x, at, out), input, out)


def _hardmax(x: np.ndarray, axis: int, out: np.ndarray) -> None:
    out[...] = 0
    if x.size:
        np.put_along_axis(out, np.expand_dims(x.astype("f8").argmax(axis), axis), 1, axis)


# Dropout


def _dropped(x: Fact, *_: Any, **__: Any) -> list[Any]:
    return [x.shape, x.shape]


def _kept(x: np.ndarray, out: list) -> Any:
    """Everything, and a mask that is all true."""
    y, mask = [*out, None][:2]
    copied = layout.copy(x, y) if mask is None and y is not None else None
    return copied or Later(_keep, x, y, mask)


def _keep(x: np.ndarray, y: np.ndarray | None, mask: np.ndarray | None) -> None:
    if y is not None:
        y[...] = x
    if mask is not None:
        mask[...] = 1


def _drop(seed: int | None, x: np.ndarray, ratio: float, y: np.ndarray | None, mask: np.ndarray | None) -> None:
    """Elements left out with a probability; what stays grows by as much as is lost on average."""
    if not 0 <= ratio <= 1:
        raise ValueError(f"the ratio {ratio} is no probability")
    stays = np.random.RandomState(_state(seed)).uniform(0, 1, x.shape) >= ratio
    if mask is not None:
        mask[...] = stays
    if y is not None:
        scale = 0 if ratio == 1 else 1 / (1 - ratio)
        y[...] = np.where(stays, x.astype("f8") * scale, 0)


def _state(seed: int | None) -> int | list[int] | None:
    """A seed as NumPy takes it: one of 32 bits, or the two halves of one of 64."""
    return seed if seed is None or 0 <= seed < 2**32 else [seed % 2**32, (seed >> 32) % 2**32]


@op("Dropout", 1, 6, shape=_dropped, types=FLOATS)
def dropout_by_mode(data, *, ratio, is_test, consumed_inputs=None, out):
    """The input itself in tests, else with elements left out at random."""
    if is_test:
        return _kept(data, out)
    y, mask = [*out, None][:2]
    return Later(lambda x, y, mask: _drop(None, x, ratio, y, mask), data, y, mask)


@op("Dropout", 7, 10, shape=_dropped, types=FLOATS, inplace=(0,))
def dropout_in_inference(data, *, ratio, out):
    """The input itself: these versions have no training mode."""
    return _kept(data, out)


@op("Dropout", 12, 22, shape=_dropped)
def dropout(data, ratio=None, training_mode=None, *, seed, out):
    """The input itself, or in training mode with elements left out at random: the same ones for the same seed.

    Which ones the text leaves open; the official test wants those of NumPy's `RandomState`.
    """
    if training_mode is None:
        return _kept(data, out)

    def dropped(x, training, *rest):
        *given, y, mask = rest
        _drop(seed, x, float(np.ravel(given[0])[0]) if given else 0.5, y, mask) if np.ravel(training)[0] else _keep(x, y, mask)
    return Later(dropped, data, training_mode, *(() if ratio is None else (ratio,)), *[*out, None][:2])
