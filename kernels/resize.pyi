"""Resizing: every axis of a tensor taken anew from a table of its places, picked or weighted."""
from collections.abc import Sequence

import numpy as np

from .step import Step

Table = tuple[np.ndarray, np.ndarray | None, np.ndarray | None]

def nearest(x: np.ndarray, y: np.ndarray, tables: Sequence[Table | None], fill: float | None = None) -> Step: ...
def weighted(x: np.ndarray, y: np.ndarray, tables: Sequence[Table | None], fill: float = 0) -> Step: ...
