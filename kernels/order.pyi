"""Order: where the largest or smallest elements along an axis are."""
import numpy as np

from .step import Step

def position(x: np.ndarray, axis: int, least: bool, last: bool, y: np.ndarray) -> Step: ...
def top(x: np.ndarray, k: int, axis: int, least: bool, values: np.ndarray | None, indices: np.ndarray | None) -> Step: ...
