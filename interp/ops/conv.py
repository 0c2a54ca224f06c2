"""Convolutions: plain, transposed, deformable, causal; and columns put back into images."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from ..dims import Fact, Size, larger, size_of
from ..kernels import conv, deform, transpose
from ..record import record
from ..registry import op
from .shapes import shape_of
from .window import AUTO_PADS, Window


def convolved(X: Fact, W: Fact, B: Fact | None = None, *, group: int, **attributes: Any) -> list[tuple[Size, ...]]:
    """The shape rule of Conv."""
    x, w = shape_of(X), shape_of(W)
    check(x, w, None if B is None else B.shape, group)
    return [(x[0], w[0], *window_of(x, w, **attributes).out)]


def check(x: Sequence[Size], w: Sequence[Size], b: Sequence[Size] | None, group: int) -> None:
    if len(x) < 3 or len(w) != len(x):
        raise ValueError(f"weights of shape {w} do not fit an input of shape {x}")
    if group < 1 or isinstance(w[0], int) and (w[0] % group or group > max(w[0], 1)):
        raise ValueError(f"{w[0]} output channels in {group} groups")
    if isinstance(x[1], int) and isinstance(w[1], int) and x[1] != w[1] * group:
        raise ValueError(f"the input has {x[1]} channels, weights of shape {w} in {group} groups take {w[1] * group}")
    if b is not None and (len(b) != 1 or isinstance(b[0], int) and isinstance(w[0], int) and b[0] != w[0]):
        raise ValueError(f"a bias of shape {b} for {w[0]} output channels")


def window_of(x: Sequence[Size], w: Sequence[Size], *, auto_pad: str, dilations: Any, kernel_shape: Any, pads: Any,
            strides: Any) -> Window:
    if kernel_shape is not None and any(isinstance(n, int) and n != k for n, k in zip(w[2:], kernel_shape, strict=True)):
        raise ValueError(f"kernel_shape {tuple(kernel_shape)} and weights of shape {w} disagree")
    return Window.of(x, w[2:] if kernel_shape is None else kernel_shape, auto_pad, pads, strides, dilations)


@op("Conv", 1, 22, shape=convolved)
def convolution(X: np.ndarray, W: np.ndarray, B: np.ndarray | None = None, *, auto_pad: str, dilations: Any, group: int,
                kernel_shape: Any, pads: Any, strides: Any, constant: Callable, out: np.ndarray) -> Any:
    """Sums of the weights over windows of the input, with one to three spatial axes; constant weights are packed once.

    SAME_UPPER and SAME_LOWER give ceil(size / stride) outputs in every version, as the text says from 11 on.
    """
    check(X.shape, W.shape, None if B is None else B.shape, group)
    window: Any = window_of(X.shape, W.shape, auto_pad=auto_pad, dilations=dilations, kernel_shape=kernel_shape, pads=pads,
                          strides=strides)
    weights = W if conv.depthwise(W.shape, group) else constant(conv.Packed, W, group)
    return conv.convolution(X, weights, B, out, group, window.stride, window.dilation, window.before)


def agree(name: str, found: Sequence[Size] | None, due: Sequence[Size]) -> None:
    """Refuse a shape that is not the one that is due, as far as both are known; None is no shape."""
    if found is not None and (len(found) != len(due) or any(isinstance(m, int) and isinstance(n, int) and m != n
                                                            for m, n in zip(found, due, strict=True))):
        raise ValueError(f"{name} has the shape {tuple(found)} where {tuple(due)} is due")


# Transposed

@record(frozen=True)
class Spread:
    """Where the taps of a transposed convolution lie: one entry a spatial axis."""

    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    before: tuple[Any, ...]
    out: tuple[Any, ...]


def _spread(x: Sequence[Size], w: Sequence[Size], *, auto_pad: str, dilations: Any, kernel_shape: Any, output_padding: Any,
            output_shape: Any, pads: Any, strides: Any, **_: Any) -> Spread:
    """The sizes of a transposed convolution, those that are asked for or those that follow, and what is cut off before each."""
    axes = len(x) - 2
    kernel = tuple(w[2:]) if kernel_shape is None else tuple(kernel_shape)
    if any(isinstance(n, int) and n != k for n, k in zip(w[2:], kernel, strict=True)):
        raise ValueError(f"kernel_shape {kernel} and weights of shape {tuple(w)} disagree")
    if auto_pad not in AUTO_PADS:
        raise ValueError(f"auto_pad is {auto_pad!r}; it must be one of {', '.join(AUTO_PADS)}")
    stride, dilation = _each("strides", strides, 1, axes), _each("dilations", dilations, 1, axes)
    more, cut = _each("output_padding", output_padding, 0, axes), _each("pads", pads, 0, 2 * axes)
    whole = [s * (n - 1) + a + (k - 1) * d + 1 for s, n, a, k, d in zip(stride, x[2:], more, kernel, dilation, strict=True)]
    if output_shape:
        if len(output_shape) not in (axes, axes + 2):
            raise ValueError(f"output_shape {tuple(output_shape)} for {axes} spatial axes")
        out = list(output_shape[-axes:])
    elif auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        out = [n * s for n, s in zip(x[2:], stride, strict=True)]
    else:
        before, after = (cut[:axes], cut[axes:]) if auto_pad == "NOTSET" else ((0,) * axes,) * 2
        return Spread(stride, dilation, before, tuple(_positive(n - b - a) for n, b, a in zip(whole, before, after, strict=True)))
    spare = [n - m for n, m in zip(whole, out, strict=True)]
    return Spread(stride, dilation, tuple(_before(n, auto_pad) for n in spare), tuple(map(_positive, out)))


def _before(spare: Size, auto_pad: str) -> Size:
    """The part of what is too much that is cut off before."""
    spare = larger(spare, 0)
    return spare // 2 if auto_pad == "SAME_UPPER" else spare - spare // 2


def _positive(size: Size) -> Size:
    if isinstance(size, int) and size < 0:
        raise ValueError(f"the padding leaves {size} of an axis")
    return size


def _each(name: str, values: Any, least: int, count: int) -> tuple[int, ...]:
    values = tuple(values) if values else (least,) * count
    if len(values) != count or min(values, default=least) < least:
        raise ValueError(f"{name} is {values}; it has {count} entries of at least {least}")
    return values


def _transposed(X: Fact, W: Fact, B: Fact | None = None, *, group: int, **attributes: Any) -> list[tuple[Size, ...]]:
    x, w = shape_of(X), shape_of(W)
    if len(x) < 3 or len(w) != len(x) or isinstance(x[1], int) and isinstance(w[0], int) and x[1] != w[0]:
        raise ValueError(f"weights of shape {w} do not fit an input of shape {x}")
    if group < 1 or isinstance(w[0], int) and w[0] % group:
        raise ValueError(f"{w[0]} input channels in {group} groups")
    agree("B", None if B is None else B.shape, (w[1] * group,))
    return [(x[0], w[1] * group, *_spread(x, w, **attributes).out)]


@op("ConvTranspose", 1, 22, shape=_transposed)
def conv_transpose(X, W, B=None, *, auto_pad, dilations, group, kernel_shape, output_padding, output_shape, pads, strides, out):
    """Every input times the weights, added up where their taps lie, with one to three spatial axes.

    Padding that follows from output_shape or auto_pad puts the odd one after with SAME_UPPER, else before, in every version, as
    the text says from 11 on (version 1 contradicts itself). Where more is asked for than there is, bias follows: padding is
    never less than nothing, as PyTorch and onnxruntime have it.
    """
    at = _spread(X.shape, W.shape, auto_pad=auto_pad, dilations=dilations, kernel_shape=kernel_shape,
                 output_padding=output_padding, output_shape=output_shape, pads=pads, strides=strides)
    return transpose.transposed(X, W, B, out, group, at.stride, at.dilation, at.before)


# Deformable

def _deformed(X: Fact, W: Fact, offset: Fact, B: Fact | None = None, mask: Fact | None = None, *, group: int,
              offset_group: int, **attributes: Any) -> list[tuple[Size, ...]]:
    x, w, o = shape_of(X), shape_of(W), shape_of(offset)
    check(x, w, None if B is None else B.shape, group)
    out = window_of(x, w, auto_pad="NOTSET", **attributes).out
    if offset_group < 1 or isinstance(x[1], int) and x[1] % offset_group:
        raise ValueError(f"{x[1]} channels in {offset_group} groups of offsets")
    for name, found, each in (("offset", o, len(w) - 2), ("mask", None if mask is None else shape_of(mask), 1)):
        agree(name, found, (x[0], offset_group * each * size_of(tuple(w[2:])), *out))
    return [(x[0], w[0], *out)]


@op("DeformConv", 19, 22, shape=_deformed)
def deform_conv(X, W, offset, B=None, mask=None, *, dilations, group, kernel_shape, offset_group, pads, strides, out):
    """Sums of the weights over windows of the input of which each tap is moved by an offset, and weighted by a mask.

    Between elements values are linear, beyond them 0. A mask has one number a tap, whatever the number of axes. An offset that
    is no number gives NaN.
    """
    check(X.shape, W.shape, None if B is None else B.shape, group)
    window: Any = window_of(X.shape, W.shape, auto_pad="NOTSET", dilations=dilations, kernel_shape=kernel_shape, pads=pads,
                            strides=strides)
    return deform.deformed(X, W, offset, B, mask, out, group, offset_group, window.stride, window.dilation, window.before)


# Columns

def _blocks(shape: Sequence[Size], block: Sequence[Size], dilations: Any, pads: Any, strides: Any) -> Window:
    if len(shape) != len(block):
        raise ValueError(f"an image of {tuple(shape)} and blocks of {tuple(block)}")
    return Window.of((1, 1, *shape), block, "NOTSET", pads, strides, dilations)


def _image(input: Fact, image_shape: Fact, block_shape: Fact, *, dilations: Any, pads: Any,
           strides: Any) -> list[tuple[Size, ...] | None]:
    columns, image, block = shape_of(input), image_shape.sizes, block_shape.sizes
    if len(columns) != 3:
        raise ValueError(f"columns are (batch, channels * block, blocks), not {columns}")
    if image is None or block is None:
        return [None]
    size, count = size_of(tuple(block)), size_of(_blocks(image, block, dilations, pads, strides).out)
    if isinstance(columns[1], int) and isinstance(size, int) and (size < 1 or columns[1] % size):
        raise ValueError(f"{columns[1]} rows do not make blocks of {tuple(block)}")
    if isinstance(columns[2], int) and isinstance(count, int) and columns[2] != count:
        raise ValueError(f"{columns[2]} blocks, where the image has {count}")
    return [(columns[0], columns[1] // size, *image)]


@op("Col2Im", 18, 18, shape=_image, known=("image_shape", "block_shape"))
def col2im(input, image_shape, block_shape, *, dilations, pads, strides):
    """Every column put back as the block of an image that it stands for, what meets added up: truths by or, strings joined."""
    block, image = [int(n) for n in block_shape], [int(n) for n in image_shape]
    window: Any = _blocks(image, block, dilations, pads, strides)
    sums = np.float32 if input.dtype.kind == "V" or input.dtype == np.float16 else input.dtype
    room = [n + b + a for n, b, a in zip(image, window.before, window.after, strict=True)]
    rows = input.shape[1] // prod(block)
    y = np.full((len(input), rows, *room), "", object) if input.dtype.hasobject else np.zeros((len(input), rows, *room), sums)
    columns = input.reshape(len(input), rows, prod(block), *window.out)
    for k, tap in enumerate(np.ndindex(*block)):
        axes = zip(tap, window.dilation, window.stride, window.out, strict=True)
        y[(..., *(slice(t * d, t * d + s * (n - 1) + 1, s) for t, d, s, n in axes))] += columns[:, :, k]
    inner = tuple(slice(b, b + n) for b, n in zip(window.before, image, strict=True))
    return y[(..., *inner)].astype(input.dtype)


# Causal

def _caused(input: Fact, weight: Fact, bias: Fact | None = None, past_state: Fact | None = None, **_: Any) -> list[Any]:
    x, w = shape_of(input), shape_of(weight)
    if len(x) != 3 or len(w) != 3 or isinstance(w[1], int) and w[1] != 1:
        raise ValueError(f"an input of (batch, channels, length) and weights of (channels, 1, k), not {x} and {w}")
    state = (x[0], x[1], w[2] - 1)
    agree("weight", w[:1], x[1:2])
    agree("bias", None if bias is None else bias.shape, x[1:2])
    agree("past_state", None if past_state is None else past_state.shape, state)
    if isinstance(w[2], int) and w[2] < 1:
        raise ValueError("weights have at least one tap")
    return [x, state]


@op("CausalConvWithState", 27, 27, shape=_caused)
def causal_conv_with_state(input, weight, bias=None, past_state=None, *, activation):
    """Each channel's sums over its present and its last elements, and the last ones of it all for the next call."""
    if activation not in ("none", "silu", "swish"):
        raise ValueError(f"activation is {activation!r}; it must be none, silu or swish")
    if weight.shape[1] != 1 or weight.shape[2] < 1:
        raise ValueError(f"weights of (channels, 1, k) with at least one tap, not {weight.shape}")
    taps, length = weight.shape[2], input.shape[2]
    before = np.zeros((*input.shape[:2], taps - 1), input.dtype) if past_state is None else past_state
    padded = np.concatenate([before, input], 2)
    wide, w = padded.astype(np.float32), weight.astype(np.float32)
    y = sum((wide[:, :, t:t + length] * w[:, 0, t, None] for t in range(taps)), np.float32(0))
    if bias is not None:
        y = y + bias.astype(np.float32)[:, None]
    if activation != "none":
        with np.errstate(over="ignore"):
            y = y / (1 + np.exp(-y))
    return y.astype(input.dtype), padded[:, :, length:]
