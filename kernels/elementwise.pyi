"""Elementwise arithmetic: one array, two that broadcast, or several folded into one."""
from collections.abc import Sequence

import numpy as np

from .step import Step

PAIRS: tuple[str, ...]
MAPS: tuple[str, ...]

def binary(name: str, a: np.ndarray, b: np.ndarray, y: np.ndarray, setting: float = 0) -> Step | None: ...
def fold(name: str, operands: Sequence[np.ndarray], y: np.ndarray) -> Step | None: ...
def unary(name: str, x: np.ndarray, y: np.ndarray, alpha: float = 0, beta: float = 0) -> Step | None: ...
def clip(x: np.ndarray, low: np.ndarray | None, high: np.ndarray | None, y: np.ndarray) -> Step | None: ...
