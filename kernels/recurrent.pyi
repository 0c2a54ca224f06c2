"""Recurrent layers: RNN, GRU and LSTM over sequences, with weights in panels that are packed once where they are constant."""
import numpy as np

from .step import Step

CELLS: dict[str, tuple[int, int, int]]
ACTIVATION: dict[str, int]

class Packed:
    shape: tuple[int, ...]
    dtype: np.dtype
    def __init__(self, w: np.ndarray, parts: int = 1) -> None: ...
    @classmethod
    def gated(cls, r: np.ndarray) -> Packed: ...

def layer(cell: str, x: np.ndarray, w: np.ndarray | Packed, r: np.ndarray | Packed, bias: np.ndarray | None,
          lengths: np.ndarray | None, h: np.ndarray | None, c: np.ndarray | None, peephole: np.ndarray | None,
          y: np.ndarray | None, last_h: np.ndarray | None, last_c: np.ndarray | None, *,
          activations: list[tuple[str, float, float]], backward: list[bool], clip: float | None = None, coupled: bool = False,
          linear_first: bool = False, batch_first: bool = False) -> Step: ...
