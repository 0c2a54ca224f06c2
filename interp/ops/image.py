"""Images: sampling at a grid, grids of affine maps, boxes without overlap, decoding."""
from __future__ import annotations

from io import BytesIO
from typing import Any

import numpy as np

from ..dims import Fact, Size, fresh
from ..kernels import nms, sample
from ..kernels.step import Later
from ..registry import op
from .layout import put_off
from .shapes import shape_of

PADDINGS = ("zeros", "border", "reflection")
OLD_MODES = {"nearest": "nearest", "bilinear": "linear", "bicubic": "cubic"}  # of version 16
GRID_MODES = {"nearest": "nearest", "linear": "linear", "cubic": "cubic"}
PIXELS = {"RGB": "RGB", "BGR": "RGB", "Grayscale": "L"}  # and what pillow calls them


# Sampling

def _sampled(X: Fact, grid: Fact, **_: Any) -> list[Any]:
    x, at = shape_of(X), shape_of(grid)
    if len(x) < 3 or len(at) != len(x) or isinstance(at[-1], int) and at[-1] != len(x) - 2:
        raise ValueError(f"a grid of shape {at} has no positions in an input of shape {x}")
    if isinstance(x[0], int) and isinstance(at[0], int) and x[0] != at[0]:
        raise ValueError(f"{at[0]} grids for {x[0]} images")
    return [(x[0] if isinstance(x[0], int) else at[0], x[1], *at[1:-1])]


def _sampled_image(X: Fact, grid: Fact, **_: Any) -> list[Any]:
    if X.rank != 4:
        raise ValueError(f"the input has four dimensions, not {X.rank}")
    return _sampled(X, grid)


def sampled(x: np.ndarray, grid: np.ndarray, mode: str, padding: str, aligned: int, out: np.ndarray | None) -> Any:
    """The values of x at a grid's positions."""
    if padding not in PADDINGS:
        raise ValueError(f"padding_mode is {padding!r}; it must be one of {', '.join(PADDINGS)}")

    def between(x: np.ndarray, grid: np.ndarray) -> np.ndarray:
        made = np.empty((*x.shape[:2], *grid.shape[1:-1]), x.dtype)
        sample.grid_sample(x, grid, made, mode, padding, bool(aligned))()
        return made

    if out is None:
        if mode != "nearest":
            raise ValueError(f"mode {mode} has no meaning for strings")
        return put_off(lambda x, grid: _words(x, between(np.arange(1, x.size + 1).reshape(x.shape), grid)), x, grid, None)
    if mode == "nearest" or x.dtype.kind in "fV":
        return sample.grid_sample(x, grid, out, mode, padding, bool(aligned))
    if x.dtype.kind == "c":
        return put_off(lambda x, grid: between(x.real.copy(), grid) + 1j * between(x.imag.copy(), grid), x, grid, out)
    return Later(lambda x, grid, out: _cut(between(x.astype(np.float64), grid), out), x, grid, out)


def _words(x: np.ndarray, number: np.ndarray) -> np.ndarray:
    """Strings by their numbers from 1 on; 0 is an empty one."""
    return np.concatenate([np.array([""], object), x.ravel()])[number]


def _cut(values: np.ndarray, out: np.ndarray) -> None:
    """Floats as a cast takes them: towards zero, and held to the type; what is not zero is true; NaN is 0.

    Equal neighbours must not lose one to the rounding of their weights, so what falls short of a whole number by that is one.
    """
    values = np.nan_to_num(values, nan=0) * (1 + 2.0 ** -40)
    if out.dtype.kind == "b":
        out[...] = values != 0
        return
    least, most = np.iinfo(out.dtype).min, np.iinfo(out.dtype).max
    with np.errstate(invalid="ignore"):
        out[...] = np.where(values >= most, most, np.where(values <= least, least, np.trunc(values)).astype(out.dtype))


def _known(mode: str, modes: dict[str, str]) -> str:
    if mode not in modes:
        raise ValueError(f"mode is {mode!r}; it must be one of {', '.join(modes)}")
    return modes[mode]


@op("GridSample", 16, 16, shape=_sampled_image)
def grid_sample_16(X, grid, *, align_corners, mode, padding_mode, out):
    """An image at the positions of a grid: the nearest pixel, or two or four along each axis weighted."""
    return sampled(X, grid, _known(mode, OLD_MODES), padding_mode, align_corners, out)


@op("GridSample", 20, 22, shape=_sampled)
def grid_sample(X, grid, *, align_corners, mode, padding_mode, out):
    """A tensor at the positions of a grid: the nearest element, or two or four along each spatial axis weighted.

    A place around a position that lies beyond the border is moved to it, or mirrored; so it is in PyTorch and onnxruntime, while
    the reference evaluator moves the position. One that is no number gives NaN; a cubic curve's coefficient is -0.75.
    """
    return sampled(X, grid, _known(mode, GRID_MODES), padding_mode, align_corners, out)


def _grid(theta: Fact, size: Fact, **_: Any) -> list[Any]:
    t = shape_of(theta)
    n = size.sizes
    axes: Size = t[1] if len(t) == 3 else 0
    if len(t) != 3 or isinstance(axes, int) and (axes not in (2, 3) or t[2] != axes + 1):
        raise ValueError(f"theta is (N, 2, 3) or (N, 3, 4), not {t}")
    if n is None:
        count = size.shape[0] if size.shape else None
        return [(t[0], *(fresh() for _ in range(count - 2)), count - 2) if isinstance(count, int) else None]
    if isinstance(axes, int) and len(n) != axes + 2 or len(n) not in (4, 5):
        raise ValueError(f"a size of {len(n)} numbers for matrices of {t}")
    if any(isinstance(m, int) and m < 0 for m in n):
        raise ValueError(f"a size of {n}")
    if isinstance(t[0], int) and isinstance(n[0], int) and t[0] != n[0]:
        raise ValueError(f"{t[0]} matrices for {n[0]} images")
    return [(t[0] if isinstance(t[0], int) else n[0], *n[2:], len(n) - 2)]


@op("AffineGrid", 20, 20, shape=_grid, known=("size",))
def affine_grid(theta, size, *, align_corners):
    """The positions to which affine matrices take evenly spaced ones, of which the last axis comes first.

    With aligned corners one place along an axis is in the middle, as in PyTorch.
    """
    wide = np.float64 if theta.dtype == np.float64 else np.float32
    spatial = [int(n) for n in size[2:]]
    axes = [np.linspace(-1, 1, n) * (n > 1) if align_corners else (2 * np.arange(n) + 1) / n - 1 for n in spatial]
    places = np.stack([*np.meshgrid(*axes, indexing="ij")[::-1], np.ones(spatial)], -1).astype(wide).reshape(-1, len(spatial) + 1)
    made = places @ theta.astype(wide).transpose(0, 2, 1)
    return made.reshape(len(theta), *spatial, len(spatial)).astype(theta.dtype)


# Boxes

def _selected(boxes: Fact, scores: Fact, *_: Any, **__: Any) -> list[Any]:
    b, s = shape_of(boxes), shape_of(scores)
    if len(b) != 3 or len(s) != 3 or isinstance(b[2], int) and b[2] != 4:
        raise ValueError(f"boxes are (batch, boxes, 4) and scores (batch, classes, boxes), not {b} and {s}")
    if any(isinstance(m, int) and isinstance(n, int) and m != n for m, n in ((b[0], s[0]), (b[1], s[2]))):
        raise ValueError(f"boxes {b} and scores {s} disagree")
    return [(fresh(), 3)]


def _one(name: str, value: np.ndarray | None, otherwise: float) -> float:
    if value is not None and value.size != 1:
        raise ValueError(f"{name} is one number, not {value.size}")
    return otherwise if value is None else value.item()


@op("NonMaxSuppression", 10, 11, shape=_selected)
def non_max_suppression(boxes, scores, max_output_boxes_per_class=None, iou_threshold=None, score_threshold=None, *,
                        center_point_box):
    """Of every class the boxes with the highest scores, without those that overlap one taken before: (batch, class, box).

    Of equal scores the first box is taken. Scores must lie above the threshold, as in every engine and in the reference
    evaluator, while the text only removes those below it; one that is no number never counts. Boxes without an area overlap none.
    """
    most = _one("max_output_boxes_per_class", max_output_boxes_per_class, 0)
    overlap = _one("iou_threshold", iou_threshold, 0)
    if not 0 <= overlap <= 1:
        raise ValueError(f"iou_threshold is {overlap}; it must be from 0 to 1")
    if center_point_box not in (0, 1):
        raise ValueError(f"center_point_box is {center_point_box}; it must be 0 or 1")
    if boxes.ndim != 3 or scores.ndim != 3 or boxes.shape != (scores.shape[0], scores.shape[2], 4):
        raise ValueError(f"boxes {boxes.shape} and scores {scores.shape} disagree")
    least = None if score_threshold is None else _one("score_threshold", score_threshold, 0)
    return nms.selected(boxes, scores, max(0, min(most, boxes.shape[1])), overlap, least, bool(center_point_box))


# Decoding

@op("ImageDecoder", 20, 20, shape=lambda encoded, *, pixel_format, **_: [
    (fresh(), fresh(), 1 if pixel_format == "Grayscale" else 3)])
def image_decoder(encoded_stream, *, pixel_format):
    """The pixels of an image file, (height, width, channels); none of what cannot be decoded, for whatever reason."""
    try:
        from PIL import Image
    except ImportError as e:
        raise ValueError('images are decoded by pillow, which is not installed: pip install "onnx-interp[image]"') from e
    if pixel_format not in PIXELS:
        raise ValueError(f"pixel_format is {pixel_format!r}; it must be one of {', '.join(PIXELS)}")
    try:
        with Image.open(BytesIO(np.ascontiguousarray(encoded_stream).tobytes())) as image:
            pixels = np.asarray(image.convert(PIXELS[pixel_format]))
    except Exception:  # the text asks for this: decoders fail in as many ways as files are broken
        pixels = np.zeros((0, 0, 1 if pixel_format == "Grayscale" else 3), np.uint8)
    if pixel_format == "Grayscale":
        return pixels.reshape(*pixels.shape[:2], 1)
    return np.ascontiguousarray(pixels[:, :, ::-1]) if pixel_format == "BGR" else pixels
