"""Scale and shift by channel with an activation behind, of planes or in the blocked layout."""
import numpy as np

from .step import Step

def channels(x: np.ndarray, scale: np.ndarray, shift: np.ndarray | None, y: np.ndarray, blocked: bool = False,
             activation: str = "", alpha: float = 0, beta: float = 0) -> Step: ...
