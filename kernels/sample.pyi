"""Sampling: the values of planes between their elements, at the positions of a grid."""
import numpy as np

from .step import Step

def grid_sample(x: np.ndarray, grid: np.ndarray, y: np.ndarray, mode: str, padding: str, aligned: bool) -> Step: ...
