"""The statistics of weights: what to print, and how often values occur."""
from __future__ import annotations

from typing import Any

import numpy as np

PIECE = 1 << 20  # elements that are looked at at once
BARS = 24
SAMPLE = 1 << 18  # elements from which the bars are counted


def statistics(array: np.ndarray) -> dict[str, Any]:
    """Least, mean and largest value, deviation and how many are zero or no numbers, as (name, text) pairs; counts for bars."""
    if array.dtype.kind in "OUSc" or not array.size:
        return {"facts": [["values", few(array)]], "bars": []}
    if array.size == 1:
        return {"facts": [["value", str(array.reshape(-1)[0])]], "bars": []}
    flat = array.reshape(-1)
    count, total, squares, zeros = 0, 0.0, 0.0, 0
    low, high = np.inf, -np.inf
    for at in range(0, flat.size, PIECE):
        piece = flat[at:at + PIECE].astype(np.float64)
        zeros += int((piece == 0).sum())
        piece = piece[np.isfinite(piece)]
        if piece.size:
            count += piece.size
            total += float(piece.sum())
            squares += float(np.square(piece).sum())
            low, high = min(low, float(piece.min())), max(high, float(piece.max()))
    if not count:
        return {"facts": [["values", "none is finite"]], "bars": []}
    mean = total / count
    spread = max(squares / count - mean * mean, 0.0) ** 0.5
    facts = [["min", f"{low:.4g}"], ["mean", f"{mean:.4g}"], ["max", f"{high:.4g}"], ["std", f"{spread:.4g}"],
             ["zero", f"{100 * zeros / flat.size:.3g} %"]]
    if count < flat.size:
        facts.append(["not finite", str(flat.size - count)])
    sample = flat[::-(-flat.size // SAMPLE)].astype(np.float64)
    bars = np.histogram(sample[np.isfinite(sample)], BARS, (low, high))[0].tolist() if high > low else []
    return {"facts": facts, "bars": bars}


def few(array: np.ndarray) -> str:
    """The first values of what has no statistics."""
    shown = ", ".join(str(v) for v in array.reshape(-1)[:6].tolist())
    return f"{shown}, …" if array.size > 6 else shown or "none"
