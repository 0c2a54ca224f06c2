"""Resize on the blocked layout, in a file of its own, so that CNNs that do not resize need not import how."""
from __future__ import annotations

from typing import Any

import numpy as np

from ...dims import Fact
from ...registry import op
from .. import resize as plain_resize
from ..shapes import axes_of
from .blocked import DOMAIN, OCTET, SINGLE, Ints, blocks, plain


def _axes(axes: Ints, rank: int) -> tuple[int, ...]:
    return tuple(range(rank)) if axes is None else axes_of(axes, rank)


def _in_blocks(sizes: Any, axes: tuple[int, ...]) -> Any:
    """Sizes that are asked for, with blocks in the place of channels."""
    return [blocks(n) if k == 1 else n for k, n in zip(axes, sizes, strict=True)]


def resized_blocks(X: Fact, scales: Fact | None = None, sizes: Fact | None = None, *, axes: Ints = None,
                   keep_aspect_ratio_policy: str = "stretch", **_: Any) -> list[Any]:
    """The shape rule of Resize, on blocks; neither the batch nor the channels change."""
    shape = plain(X)
    along = _axes(axes, len(shape))
    if sizes is not None and sizes.sizes is not None and len(sizes.sizes) == len(along):
        sizes = Fact(sizes.type, sizes.shape, np.array(_in_blocks(sizes.sizes, along), object))
    [found] = plain_resize.resized_shape(Fact(X.type, shape), None, scales, sizes, axes=along,
                                         keep_aspect_ratio_policy=keep_aspect_ratio_policy)
    if any(isinstance(n, int) and isinstance(m, int) and n != m for n, m in zip(found[:2], shape[:2], strict=True)):
        raise ValueError(f"{shape} is resized to {found}: only places of blocks are")
    return [(*shape[:2], *found[2:], OCTET)]


@op("BlockedResize", domain=DOMAIN, signature="X: T, scales?: tensor(float), sizes?: tensor(int64) -> Y: T", types=SINGLE,
    shape=resized_blocks, known=("scales", "sizes"))
def blocked_resize(X: np.ndarray, scales: np.ndarray | None = None, sizes: np.ndarray | None = None, *, antialias: int = 0,
                   axes: Ints = None, coordinate_transformation_mode: str = "half_pixel", cubic_coeff_a: float = -0.75,
                   exclude_outside: int = 0, extrapolation_value: float = 0.0, keep_aspect_ratio_policy: str = "stretch",
                   mode: str = "nearest", nearest_mode: str = "round_prefer_floor", out: np.ndarray) -> Any:
    """Resize of a blocked value, with the scales or sizes of the plain one. The nearest_mode "simple" is that of version 10."""
    along = _axes(axes, X.ndim - 1)
    if nearest_mode == "simple" and scales is not None:
        return plain_resize.resize_10(X, np.append(scales, 1), mode=mode, out=out)
    asked = sizes if sizes is None or not sizes.size else np.array(_in_blocks(np.ravel(sizes).tolist(), along), np.int64)
    return plain_resize.resize(X, None, scales, asked, antialias=antialias, axes=along, cubic_coeff_a=cubic_coeff_a,
                  coordinate_transformation_mode=coordinate_transformation_mode, exclude_outside=exclude_outside,
                  extrapolation_value=extrapolation_value, keep_aspect_ratio_policy=keep_aspect_ratio_policy, mode=mode,
                  nearest_mode=nearest_mode, out=out)
