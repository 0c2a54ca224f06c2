"""Padding: elements put around an array, or taken away."""
from collections.abc import Sequence

import numpy as np

from .step import Step

MODES: tuple[str, ...]

def pad(x: np.ndarray, before: Sequence[int], after: Sequence[int], mode: str, fill: np.ndarray | bytes,
        y: np.ndarray) -> Step | None: ...
