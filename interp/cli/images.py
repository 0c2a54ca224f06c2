"""Images as the tensors that networks take."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from interp.cli.specs import Settings, Shape
from interp.errors import InputError, UsageError
from interp.loading import near

MODES = {1: "L", 3: "RGB", 4: "RGBA"}


def read(path: Path, value: Any, dtype: np.dtype, shape: Shape, settings: Settings) -> np.ndarray:
    """The pixels in the layout of an input: 0 to 1, less the mean, over the deviation; 0 to 255 where it takes integers."""
    axes = settings.layout or guessed(shape)
    if shape is not None and len(shape) != len(axes):
        raise UsageError(f"{value.name} has {len(shape)} axes, layout {axes} has {len(axes)}; --layout says which they are")
    declared = dict(zip(axes, shape or [None] * len(axes), strict=True))
    channels = declared.get("C", 1) or 3
    if channels not in MODES:
        raise InputError(f"{value.name} takes {channels} channels, an image has 1, 3 or 4; --layout says which axis is which")
    pixels = opened(path, MODES[channels], value.name, (declared["H"], declared["W"]), settings.resize)
    numbers = normalized(pixels, dtype, value.name, settings)
    if "C" not in axes:
        numbers = numbers[..., 0]
    ordered = numbers.transpose(["HWC".index(a) for a in axes if a != "N"])
    return np.ascontiguousarray(np.expand_dims(ordered, axes.index("N")) if "N" in axes else ordered)


def guessed(shape: Shape) -> str:
    """The layout that a shape suggests: channels are 1, 3 or 4."""
    rank = 4 if shape is None else len(shape)
    first, last = {2: ("HW", "HW"), 3: ("CHW", "HWC")}.get(rank, ("NCHW", "NHWC"))
    if shape is not None and shape[-1] in MODES and shape[first.index("H") - 1] not in MODES:
        return last
    return first


def opened(path: Path, mode: str, name: str, wanted: tuple[int | None, int | None],
           resize: tuple[int, ...] | None) -> np.ndarray:
    """The pixels of a file, 0 to 255, as height, width, channels; of the wanted size, scaled if the user asked for it."""
    try:
        from PIL import Image, ImageOps
    except ImportError:
        raise UsageError(f"reading {path} takes pillow: pip install 'onnx-interp[image]'") from None
    try:
        with Image.open(path) as file:
            image = ImageOps.exif_transpose(file)
            if image.mode.startswith("I"):  # 16 bits a pixel, which convert would clip
                image = Image.fromarray((np.asarray(image) // 257).astype(np.uint8))
            image = image.convert(mode)
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file{near(str(path))}") from None
    except OSError as problem:
        raise InputError(f"{path}: {problem.strerror or 'not an image that pillow can read'}") from problem
    except Exception as problem:  # each format's decoder raises errors of its own
        raise InputError(f"{path}: pillow cannot read it: {problem}") from problem
    if resize is not None:
        height, width = resize or wanted
        if height is None or width is None:
            raise UsageError(f"--resize: {name} has no size of its own; say which, as in --resize 224x224")
        try:
            image = image.resize((width, height), Image.Resampling.BILINEAR)
        except (MemoryError, ValueError):
            raise UsageError(f"--resize: no image can have {height}x{width} pixels") from None
    elif any(w not in (None, had) for w, had in zip(wanted, (image.height, image.width), strict=True)):
        due = "x".join("any" if w is None else str(w) for w in wanted)
        raise InputError(f"{path} is {image.height}x{image.width} pixels, {name} takes {due}; --resize scales it")
    return np.asarray(image).reshape(image.height, image.width, -1)


def normalized(pixels: np.ndarray, dtype: np.dtype, name: str, settings: Settings) -> np.ndarray:
    """Pixels as numbers of an input's type."""
    if dtype.kind in "iu":
        if dtype == np.int8:
            raise UsageError(f"{name} takes int8, which pixels from 0 to 255 do not fit; give an .npy file")
        if settings.mean != (0.0,) or settings.std != (1.0,):
            raise UsageError(f"{name} takes {dtype.name}: pixels go there as they are, without --mean and --std")
        return pixels.astype(dtype)
    for option, given in (("--mean", settings.mean), ("--std", settings.std)):
        if len(given) not in (1, pixels.shape[-1]):
            raise UsageError(f"{option} has {len(given)} numbers, the image {pixels.shape[-1]} channels")
    if 0 in settings.std:
        raise UsageError("--std: nothing can be divided by 0")
    return ((pixels / 255 - np.array(settings.mean)) / np.array(settings.std)).astype(dtype)
