"""Matrix products: the second factor in panels, packed once where it is constant."""
import numpy as np

from .step import Step

class Packed:
    dtype: np.dtype
    ndim: int
    shape: tuple[int, ...]
    def __init__(self, b: np.ndarray, transposed: bool = False) -> None: ...
    @classmethod
    def turned(cls, b: np.ndarray) -> Packed: ...

def product(a: np.ndarray, b: np.ndarray | Packed, y: np.ndarray, c: np.ndarray | None = None, *, transposed_a: bool = False,
            transposed_b: bool = False, alpha: float = 1, beta: float = 1, residual: np.ndarray | None = None,
            activation: str = "", act_alpha: float = 0, act_beta: float = 0) -> Step: ...
