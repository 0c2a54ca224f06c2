"""Ensembles of decision trees: packed once into nodes of one kind, walked eight rows or eight trees at a time."""
import numpy as np

from .scores import Rule
from .step import Step

class Forest:
    wide: bool
    longest: int
    def __init__(self, limit: np.ndarray, feature: np.ndarray, nan_below: np.ndarray, below: np.ndarray, above: np.ndarray,
                 roots: np.ndarray, starts: np.ndarray, targets: np.ndarray, weights: np.ndarray, base: np.ndarray,
                 fold: str) -> None: ...

def walked(x: np.ndarray, forest: Forest, rule: Rule, labels: np.ndarray | None, y: np.ndarray | None,
           z: np.ndarray | None) -> Step: ...
