"""Products of bytes, of matrices and by patches of images: exact in 32 bits, as they are, scaled, or quantised again."""
from collections.abc import Sequence

import numpy as np

from .step import Step

class Panels:
    dtype: np.dtype
    ndim: int
    shape: tuple[int, ...]
    def __init__(self, b: np.ndarray) -> None: ...

class Rows:
    dtype: np.dtype
    ndim: int
    shape: tuple[int, ...]
    def __init__(self, w: np.ndarray, group: int = 1) -> None: ...

def product(a: np.ndarray, b: np.ndarray | Panels, y: np.ndarray, **scaling: np.ndarray | None) -> Step: ...
def convolution(x: np.ndarray, w: np.ndarray | Rows, y: np.ndarray, group: int, stride: Sequence[int], dilation: Sequence[int],
                before: Sequence[int], **scaling: np.ndarray | None) -> Step: ...
