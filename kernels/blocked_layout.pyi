"""Between NCHW and the blocked layout: octets of channels, (N, C / 8, H, W, 8)."""
import numpy as np

from .step import Step

def block(x: np.ndarray, y: np.ndarray, groups: int = 1) -> Step: ...
def unblock(x: np.ndarray, y: np.ndarray) -> Step: ...
