"""Elements of one array where a condition holds, of another where it does not; all three broadcast."""
import numpy as np

from .step import Step

def where(condition: np.ndarray, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> Step | None: ...
