"""N-grams of strings or integers, counted in rows."""
from typing import Any

import numpy as np

from .step import Later, Step

class Grams:
    known: dict[Any, int]
    def __init__(self, grams: dict[tuple[Any, ...], int], index: np.ndarray, weight: np.ndarray, size: int) -> None: ...

def counts(x: Any, grams: Grams, skips: int, mode: str, y: np.ndarray) -> Step | Later: ...
