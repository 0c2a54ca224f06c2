"""Transposed convolutions whose kernel is as large as their stride, of a blocked input: each pixel makes a patch of its own."""
import numpy as np

from .step import Step

class Packed:
    shape: tuple[int, ...]
    plain: bool
    columns: int
    data: np.ndarray
    def __init__(self, w: np.ndarray, plain: bool) -> None: ...

def convolution(x: np.ndarray, w: Packed, bias: np.ndarray | None, y: np.ndarray, activation: str = "", alpha: float = 0,
                beta: float = 0) -> Step: ...
