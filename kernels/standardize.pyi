"""Rows less their mean over their standard deviation, scaled and shifted: layer, RMS, group and instance normalization."""
import numpy as np

from .step import Step

def rows(x: np.ndarray, scale: np.ndarray | None, shift: np.ndarray | None, y: np.ndarray, mean: np.ndarray | None,
         spread: np.ndarray | None, *, n: int, groups: int = 1, plane: int = 1, epsilon: float,
         centered: bool = True) -> Step: ...
