"""Deformable convolutions: weights by columns of values that lie where offsets put them."""
from collections.abc import Sequence

import numpy as np

from .step import Step

def deformed(x: np.ndarray, w: np.ndarray, offset: np.ndarray, bias: np.ndarray | None, mask: np.ndarray | None, y: np.ndarray,
             group: int, offset_group: int, stride: Sequence[int], dilation: Sequence[int], before: Sequence[int]) -> Step: ...
