"""Chains of elementwise operations: each piece of the result goes through all of them while it is in the cache."""
from collections.abc import Sequence

import numpy as np

from .step import Step

Call = tuple[str, int, int | None, float, float]

def chain(program: Sequence[Call], operands: Sequence[np.ndarray], y: np.ndarray) -> Step: ...
def pair(name: str, a: np.ndarray, b: np.ndarray, y: np.ndarray, setting: float = 0) -> Step | None: ...
