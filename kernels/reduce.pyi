"""Reductions: sums, means, products, norms, logarithms of sums and extremes along any axes."""
from collections.abc import Sequence

import numpy as np

from .step import Step

KINDS: dict[str, tuple[int, int]]

def fold(x: np.ndarray, axes: Sequence[int], kind: str, y: np.ndarray) -> Step: ...
