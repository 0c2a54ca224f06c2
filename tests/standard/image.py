"""Resize, Upsample, GridSample, AffineGrid, NonMaxSuppression and ImageDecoder, by the formulas of tests/oracle."""
import io

import numpy as np

from ..oracle import resize as resizing
from ..oracle import sample as sampling
from .case import Case, case

# What a version of Resize is tried with: each has what the ones before it lack.
RESIZED = {
    11: dict(mode="linear", coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=2.0),
    13: dict(mode="cubic", cubic_coeff_a=-0.5, coordinate_transformation_mode="align_corners"),
    18: dict(mode="linear", antialias=1, axes=[2, 1], keep_aspect_ratio_policy="not_larger"),
    19: dict(mode="cubic", exclude_outside=1, coordinate_transformation_mode="half_pixel_symmetric", axes=[-1]),
}
SIZES = {11: [2, 5, 7], 13: [2, 5, 7], 18: [3, 2], 19: [8]}


def parts(x, formula):
    """A formula of float64 applied to complex numbers part by part."""
    return np.ascontiguousarray(formula(x.real) + 1j * formula(x.imag) if x.dtype.kind == "c" else formula(x))


def to_even(values, dtype):
    """Whole numbers as Resize makes them: rounded, and held to the type."""
    if dtype.kind not in "iub":
        return values
    low, high = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    return np.clip(np.rint(values), low, high)


def words(x, formula):
    """Strings taken where a formula takes their numbers; 0 is none."""
    number = np.arange(1, x.size + 1).reshape(x.shape)
    return np.array(["", *x.ravel()], object)[formula(number).astype(int)]


def picked_or(x, formula, chosen):
    """What is due: by `chosen`, mode nearest, where elements are strings."""
    return words(x, chosen) if x.dtype.hasobject else to_even(parts(x, formula), x.dtype)


@case("Resize")
def resize(spec):
    if spec.version == 10:
        return scaled(spec, [1, 0.5, 1.5])
    x, roi = spec.data((2, 4, 5), "T1", -100, 100), np.zeros(0, spec.dtype("T2"))
    how, sizes = dict(RESIZED[spec.version]), SIZES[spec.version]
    if spec.version == 11:
        roi = np.array([0, -0.2, 0.3, 1, 0.7, 0.8], spec.dtype("T2"))
    if x.dtype.hasobject:
        how = {k: v for k, v in how.items() if k != "antialias"} | {"mode": "nearest"}

    def formula(x, **changed):
        return resizing.resize(x, roi, None, sizes, **how | changed)

    due = picked_or(x, formula, lambda x: formula(x, extrapolation_value=0.0))  # strings beyond the region are empty
    scales = np.zeros(0, np.float32) if spec.version == 11 else None
    return Case([x, roi, scales, np.array(sizes)], [due], **how)


def scaled(spec, times, **given):
    """Resize and Upsample before there were coordinates to choose: o / scale, and nearest means the place before it."""
    x = spec.data((2, 4, 6), "T", -100, 100)
    mode = "nearest" if x.dtype.hasobject else "linear"

    def formula(x):
        for axis, scale in enumerate(times):  # a shrinking axis takes the place after
            one = [scale if a == axis else 1 for a in range(len(times))]
            x = resizing.resize(x, None, one, mode=mode, coordinate_transformation_mode="asymmetric",
                                nearest_mode="ceil" if scale < 1 else "floor")
        return x

    inputs = [x] if given else [x, np.array(times, np.float32)]
    return Case(inputs, [picked_or(x, formula, formula)], mode=mode, **given)


@case("Upsample")
def upsample(spec):
    if spec.version > 1:
        scales = [1.0, 2.0, 4.0]  # of which all weights are exact, so that halves are
        return scaled(spec, scales, **{"scales": scales} if spec.has("scales") else {})
    x = spec.data((1, 2, 2, 4), "T", -100, 100)
    due = resizing.resize(x, None, [1, 1, 2, 4], coordinate_transformation_mode="asymmetric", mode="linear")
    return Case([x], [to_even(due, x.dtype)], mode="bilinear", height_scale=2.0, width_scale=4.0)


@case("GridSample")
def grid_sample(spec):
    x, grid = spec.data((2, 2, 3, 4), "T1", -100, 100), spec.data((2, 3, 2, 2), "T2", -1.5, 1.5)
    padding, align, old = ("reflection", 1, {"linear": "bilinear"}) if spec.version == 16 else ("border", 0, {})
    if spec.version == 22:
        padding = "zeros"

    def formula(x, mode="linear"):
        return sampling.grid_sample(x, grid, mode=mode, padding_mode=padding, align_corners=align)

    if x.dtype.hasobject:
        mode, due = "nearest", words(x, lambda x: formula(x, "nearest"))
    else:
        mode, due = "linear", formula(x)
        if x.dtype.kind in "iub":  # cut, but for the rounding of the weights
            due = np.trunc(np.round(due, 9)) if x.dtype.kind != "b" else np.round(due, 9) != 0
    return Case([x, grid], [due], mode=old.get(mode, mode), padding_mode=padding, align_corners=align, terms=100.0)


@case("AffineGrid")
def affine_grid(spec):
    theta, size = spec.data((2, 3, 4), "T1"), (2, 1, 2, 3, 2)
    return Case([theta, np.array(size)], [sampling.affine_grid(theta, size, align_corners=1)], align_corners=1)


@case("NonMaxSuppression")
def non_max_suppression(spec):
    boxes = spec.rng.uniform(0.5, 3, (2, 9, 4)).astype(np.float32)
    scores = spec.rng.uniform(-1, 1, (2, 3, 9)).astype(np.float32)
    due = sampling.non_max_suppression(boxes, scores, 4, np.float32(0.3), np.float32(-0.5), center_point_box=1)
    return Case([boxes, scores, np.array(4), np.float32(0.3).reshape(()), np.float32(-0.5).reshape(())], [due],
                center_point_box=1)


@case("ImageDecoder")
def image_decoder(spec):
    from PIL import Image

    pixels, file = spec.rng.integers(0, 256, (3, 4, 3)).astype(np.uint8), io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return Case([np.frombuffer(file.getvalue(), np.uint8)], [pixels[:, :, ::-1]], pixel_format="BGR")
