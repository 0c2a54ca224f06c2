"""Attention as exporters spell it out, in one operator that never holds all scores."""
from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ...dims import Fact
from ...kernels import attention as kernel
from ...kernels.step import Later, Step
from ...registry import op
from ...types import tensors
from ..shapes import shape_of, widest

LOST = ("zero", "nan", "forgiven")
SIGNATURE = "Q: T, K: T, V: T, mask?: M -> Y: T"
TYPES = {"T": tensors("float", "double"), "M": tensors("float", "double", "bool")}


def _sides(shape: tuple, swapped: bool, name: str) -> tuple:
    """A shape as (batch, heads, rows, size)."""
    if len(shape) != 4:
        raise ValueError(f"{name} has 4 dimensions, not {len(shape)}")
    return (shape[0], shape[2], shape[1], shape[3]) if swapped else tuple(shape)


def _shapes(Q: Fact, K: Fact, V: Fact, mask: Fact | None = None, *, swapped: str, lost: str, **_: Any) -> list[Any]:
    q, k, v = (_sides(shape_of(f), n in swapped, n.upper()) for n, f in zip("qkv", (Q, K, V), strict=True))
    for what, sizes in (("batches", (q[0], k[0], v[0])), ("heads", (q[1], k[1], v[1])), ("keys", (k[2], v[2])),
                        ("sizes", (q[3], k[3]))):
        if len({n for n in sizes if isinstance(n, int)}) > 1:
            raise ValueError(f"{what} of {sizes} differ")
    if lost not in LOST:
        raise ValueError(f"lost is one of {', '.join(LOST)}, not {lost!r}")
    if mask is not None and mask.shape is not None:
        scores = (q[0], q[1], q[2], k[2])
        if len(mask.shape) > 4 or any(isinstance(a, int) and isinstance(b, int) and a != b
                                      for a, b in zip(widest([mask.shape, scores]), scores, strict=True)):
            raise ValueError(f"a mask of shape {mask.shape} does not broadcast to {scores}")
    y = (q[0], q[1], q[2], v[3])
    return [(y[0], y[2], y[1], y[3]) if "y" in swapped else y]


@op("FusedAttention", domain="interp", signature=SIGNATURE, types=TYPES, shape=_shapes)
def fused_attention(Q: np.ndarray, K: np.ndarray, V: np.ndarray, mask: np.ndarray | None = None, *, scale: float = 1.0,
                    swapped: str = "", lost: str = "nan", out: np.ndarray) -> Step | Later:
    """softmax(Q K^T scale + mask) V by heads, of (batch, heads, rows, size); those of q, k, v, y that ``swapped`` names have
    rows before heads.

    What a query gets that sees no key is NaN, or zeros: then also where its scores are no numbers, if it is "forgiven".
    """
    keys = K.shape[1 if "k" in swapped else 2]
    if mask is not None and (mask.shape[-1:] != (keys,) or mask.dtype not in (bool, Q.dtype)):
        return Later(partial(_attended, scale, swapped, lost), Q, K, V, mask, out)
    return kernel.attention(Q, K, V, out, mask=mask, scale=scale, swapped=swapped, lost=lost)


def _attended(scale: float, swapped: str, lost: str, *arrays: np.ndarray) -> None:
    q, k, v, y = (a.swapaxes(1, 2) if n in swapped else a for n, a in zip("qkvy", (*arrays[:3], arrays[4]), strict=True))
    mask = np.where(arrays[3], 0.0, -np.inf) if arrays[3].dtype == bool else arrays[3]
    with np.errstate(all="ignore"):
        scores = (q.astype("f8") @ k.astype("f8").swapaxes(2, 3)) * scale + mask
        powers = np.exp(scores - scores.max(-1, keepdims=True, initial=-np.inf))
        shares = powers / powers.sum(-1, keepdims=True)
        y[...] = (shares if lost == "nan" else np.nan_to_num(shares, nan=0.0)) @ v
