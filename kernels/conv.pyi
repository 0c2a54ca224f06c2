"""Convolutions: weights by patches of the input as a blocked product; depthwise ones as sums of shifted rows."""
from collections.abc import Sequence

import numpy as np

from .step import Step

class Packed:
    dtype: np.dtype
    shape: tuple[int, ...]
    groups: int
    def __init__(self, w: np.ndarray, groups: int) -> None: ...

def depthwise(shape: Sequence[int], group: int) -> bool: ...
def convolution(x: np.ndarray, w: np.ndarray | Packed, bias: np.ndarray | None, y: np.ndarray, group: int, stride: Sequence[int],
                dilation: Sequence[int], before: Sequence[int], *, residual: np.ndarray | None = None, activation: str = "",
                alpha: float = 0, beta: float = 0) -> Step: ...
