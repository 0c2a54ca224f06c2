"""Linear models and support vector machines: rows against vectors, then from margins to scores, votes and probabilities."""
import numpy as np

from .scores import Rule
from .step import Step

class Machine:
    margins: int
    scores: int
    def __init__(self, vectors: np.ndarray, shift: np.ndarray, coefficients: np.ndarray | None = None,
                 ends: np.ndarray | None = None, kernel: str = "LINEAR", parameters: tuple[float, ...] = (0.0, 0.0, 0.0),
                 probabilities: tuple[np.ndarray, np.ndarray] | None = None, one_class: bool = False) -> None: ...

def scores(x: np.ndarray, machine: Machine, rule: Rule, labels: np.ndarray | None, y: np.ndarray | None,
           z: np.ndarray | None) -> Step: ...
