"""Unpooling: every element back at the place that its index names, zeros between."""
from collections.abc import Sequence

import numpy as np

from .step import Step

def unpool(x: np.ndarray, indices: np.ndarray, y: np.ndarray, shape: Sequence[int]) -> Step: ...
