"""Pooling in the blocked layout, (N, C / 8, H, W, 8): a window slides over planes of octets."""
from typing import Any

import numpy as np

from .step import Step

def max(x: np.ndarray, y: np.ndarray, window: Any) -> Step: ...
def mean(x: np.ndarray, y: np.ndarray, window: Any, padded: bool = False) -> Step: ...
def norm(x: np.ndarray, y: np.ndarray, window: Any, p: float) -> Step: ...
