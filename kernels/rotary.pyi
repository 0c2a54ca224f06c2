"""Rotary embeddings: pairs of a head's elements, turned by the angle of their position."""
import numpy as np

from .step import Step

def rotary(x: np.ndarray, cos: np.ndarray, sin: np.ndarray, positions: np.ndarray | None, y: np.ndarray, heads: int | None,
           interleaved: bool) -> Step: ...
