"""Arrays made of a few numbers: one value repeated, and ranges."""
import numpy as np

from .step import Step

def repeat(value: np.ndarray, y: np.ndarray) -> Step: ...
def count(first: float, step: float, y: np.ndarray) -> Step: ...
