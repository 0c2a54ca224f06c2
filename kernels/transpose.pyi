"""Transposed convolutions: products of weights and pixels, added up where their taps lie."""
from collections.abc import Sequence

import numpy as np

from .step import Step

def transposed(x: np.ndarray, w: np.ndarray, bias: np.ndarray | None, y: np.ndarray, group: int, stride: Sequence[int],
               dilation: Sequence[int], before: Sequence[int]) -> Step: ...
