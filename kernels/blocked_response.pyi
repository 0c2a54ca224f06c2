"""Local response over channels in the blocked layout, (N, C / 8, places, 8)."""
import numpy as np

from .step import Step

def response(x: np.ndarray, y: np.ndarray, channels: int, size: int, alpha: float, beta: float, bias: float) -> Step: ...
