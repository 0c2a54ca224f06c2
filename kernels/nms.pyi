"""Non-maximum suppression: boxes by descending score, without those that overlap one taken before."""
import numpy as np

def selected(boxes: np.ndarray, scores: np.ndarray, most: int, overlap: float, least: float | None,
             centred: bool) -> np.ndarray: ...
