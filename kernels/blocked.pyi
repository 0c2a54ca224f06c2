"""Convolutions in the blocked layout, (N, blocks of 8 channels, H, W, 8): direct, by Winograd's way, and depthwise."""
from collections.abc import Sequence

import numpy as np

from .step import Step

DIRECT: int
WINOGRAD: int
DEPTHWISE: int

class Packed:
    shape: tuple[int, ...]
    groups: int
    plain: bool
    way: int
    data: np.ndarray
    def __init__(self, w: np.ndarray, groups: int, plain: bool, way: int = ...) -> None: ...

def takes(shape: Sequence[int], group: int, input_is_blocked: bool) -> bool: ...
def depthwise(shape: Sequence[int], group: int) -> bool: ...
def way_of(shape: Sequence[int], group: int, input_is_blocked: bool, out: Sequence[int], stride: Sequence[int],
           dilation: Sequence[int], exact: bool = ...) -> int: ...
def convolution(x: np.ndarray, w: Packed, bias: np.ndarray | None, residual: np.ndarray | None, y: np.ndarray,
                stride: Sequence[int], dilation: Sequence[int], before: Sequence[int], name: str = ..., alpha: float = ...,
                beta: float = ...) -> Step: ...
