"""Convolutions along one axis, in float32: few places as products of rows, many by Winograd's way."""
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .step import Step

PACKINGS: dict[str, Callable[[np.ndarray], Any]]

def way(x: Sequence[int], w: Sequence[int], y: Sequence[int], stride: int, dilation: int, exact: bool) -> str: ...
def convolution(x: np.ndarray, w: Any, bias: np.ndarray | None, residual: np.ndarray | None, y: np.ndarray, *, stride: int,
                dilation: int, before: int, activated: str = "", alpha: float = 0.0, beta: float = 0.0) -> Step: ...
