"""Scaled dot product attention with masks, caches, caps and windows; no more than a block of its scores is ever kept."""
import numpy as np

from .step import Step

def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, y: np.ndarray, *, heads: int | None = None,
              kv_heads: int | None = None, mask: np.ndarray | None = None, past_k: np.ndarray | None = None,
              past_v: np.ndarray | None = None, valid: np.ndarray | None = None, present_k: np.ndarray | None = None,
              present_v: np.ndarray | None = None, scale: float, cap: float = 0, left: int = -1, right: int = -1,
              swapped: str = "", lost: str = "zero") -> Step: ...
