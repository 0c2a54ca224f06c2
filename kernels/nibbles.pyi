"""Matrix products with constant weights of four bits, which stay so: they become floats where they are multiplied."""
import numpy as np

from .step import Step

class Packed:
    n: int
    k: int
    block: int
    def __init__(self, codes: np.ndarray, scales: np.ndarray, zeros: np.ndarray, block: int) -> None: ...

def product(a: np.ndarray, b: Packed, y: np.ndarray, bias: np.ndarray | None = None) -> Step: ...
