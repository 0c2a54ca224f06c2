"""Rows of a table by number: what a product of one-hot rows comes to."""
import numpy as np

from .step import Step

def rows(table: np.ndarray, numbers: np.ndarray, y: np.ndarray) -> Step: ...
