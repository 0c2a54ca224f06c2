"""Outputs as images that people can look at."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from interp.cli.checks import file_name, parts
from interp.cli.images import MODES
from interp.cli.show import described, number
from interp.cli.specs import IMAGES
from interp.errors import UsageError

DARK = 16  # a larger number than this is in every image from 0 to 255 that shows something
# Which numbers stand for black and white, and what lies beyond them in images of networks that were trained for these.
TOLD = 5  # outputs that are no images and are told one by one
RANGES = ((0, 1, 0.05), (-1, 1, 0.05), (0, 255, 0.25))


class Picture(NamedTuple):
    """One image: the file's name without its ending, bytes as height, width, channels, and how numbers became bytes."""

    name: str
    pixels: np.ndarray
    said: str


class NoImage(Exception):
    """Why an output is none."""


def ready(place: str) -> None:
    """Refuse what can never be written before anything runs."""
    try:
        import PIL  # noqa: F401
    except ImportError:
        raise UsageError("--save-image takes pillow: pip install 'onnx-interp[image]'") from None
    suffix = Path(place).suffix.lower()
    if suffix and suffix not in IMAGES and not Path(place).is_dir():
        raise UsageError(f"--save-image {place}: an image ends in {', '.join(IMAGES)}; a folder has no ending")


def save(outputs: dict[str, Any], place: Path, notice: Callable[[str], None]) -> list[dict[str, Any]]:
    """Write the images among outputs, one to a file or all to a folder, and tell how; the report's entries."""
    found, others = [], []
    for key, array in ((key, array) for name, value in outputs.items() for key, array in parts(name, value)):
        try:
            found += pictures(key, array)
        except NoImage as reason:
            others.append(f"{key} {described(array)} is no image: {reason}")
    if not found:
        raise UsageError(f"--save-image: {'; '.join(others[:3]) or 'there is no output'}")
    one_file = place.suffix.lower() in IMAGES
    if one_file and len(found) > 1:
        names = ", ".join(p.name for p in found[:5])
        raise UsageError(f"{place} holds one image, there are {len(found)} ({names}); --save-image FOLDER saves all, "
                         "--outputs NAME picks an output")
    if not one_file:
        place.mkdir(parents=True, exist_ok=True)
    saved = []
    for picture in found:
        path = place if one_file else place / f"{file_name(picture.name)}.png"
        written(picture.pixels, path)
        notice(f"{path}: {picture.name}, {picture.said}")
        saved.append({"output": picture.name, "path": str(path), "mapping": picture.said})
    for text in others if len(others) <= TOLD else [f"{len(others)} others are no images, such as {others[0]}"]:
        notice(text)
    return saved


def pictures(name: str, value: np.ndarray) -> list[Picture]:
    """The images of an output, one for each of a batch. Raises NoImage."""
    batch, layout = arranged(value)
    pixels, mapping = as_bytes(batch)
    count, height, width, channels = pixels.shape
    said = f"{layout}, {height}x{width} pixels, {MODES[channels]}, {mapping}"
    return [Picture(f"{name}_{k}" if count > 1 else name, image, said) for k, image in enumerate(pixels)]


def arranged(value: np.ndarray) -> tuple[np.ndarray, str]:
    """An output as images, heights, widths, channels; and the layout that its shape suggests."""
    if value.dtype.kind in "OUSc":
        raise NoImage("it has no real numbers")
    layouts = {4: ("NCHW", "NHWC"), 3: ("CHW", "HWC", "NHW"), 2: ("HW",)}.get(value.ndim)
    if layouts is None:
        raise NoImage(f"it has {value.ndim} axes, an image 2 to 4")
    fitting = [axes for axes in layouts if "C" not in axes or value.shape[axes.index("C")] in MODES]
    if len(fitting) > 1 and "NHW" in fitting:
        fitting.remove("NHW")
    if not fitting:
        raise NoImage("none of its axes has 1, 3 or 4 channels")
    axes = max(fitting, key=lambda axes: smallest(axes, value.shape))
    if smallest(axes, value.shape) < 2:
        raise NoImage(f"as {axes} it is a line of {'x'.join(str(value.shape[axes.index(a)]) for a in 'HW')} pixels")
    if not value.size:
        raise NoImage("it is empty")
    missing = [k for k, a in enumerate("NHWC") if a not in axes]
    return np.expand_dims(value.transpose([axes.index(a) for a in "NHWC" if a in axes]), missing), axes


def smallest(axes: str, shape: Sequence[int]) -> int:
    """The shorter side of an image."""
    return min(shape[axes.index("H")], shape[axes.index("W")])


def as_bytes(values: np.ndarray) -> tuple[np.ndarray, str]:
    """Pixels from 0 to 255, and from which range they were taken. Raises NoImage for numbers that suggest none."""
    if values.dtype == np.uint8:
        return values, "bytes as they are"
    numbers = values.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise NoImage("it holds NaN or infinity")
    low, high = numbers.min(), numbers.max()
    for black, white, beyond in RANGES:
        room = beyond * (white - black)
        fits = black - room <= low and high <= white + room
        if fits and (white < 255 or values.dtype.kind in "iu" or high >= DARK and low >= -beyond * high):
            pixels = np.rint((numbers - black) * (255 / (white - black)))
            clipped = int(((pixels < 0) | (pixels > 255)).sum())
            return pixels.clip(0, 255).astype(np.uint8), (f"{black} to {white} taken as black to white"
                                                          + (f", {clipped} numbers beyond are clipped" if clipped else ""))
    raise NoImage(f"its numbers go from {number(low)} to {number(high)}, those of an image from 0 to 1, -1 to 1 or 0 to 255")


def written(pixels: np.ndarray, path: Path) -> None:
    """Save one image in the format that the path's ending names."""
    from PIL import Image

    image = Image.fromarray(np.ascontiguousarray(pixels[..., 0] if pixels.shape[-1] == 1 else pixels))
    if path.suffix.lower() in (".jpg", ".jpeg", ".bmp") and image.mode == "RGBA":
        image = image.convert("RGB")
    try:
        image.save(path)
    except (ValueError, KeyError) as problem:  # a format that this pillow was built without, or a side that is too long for one
        raise UsageError(f"--save-image {path}: pillow cannot write it: {problem}") from problem
