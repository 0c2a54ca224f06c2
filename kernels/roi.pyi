"""Regions of interest: the largest or the mean of every bin of them."""
import numpy as np

from .step import Step

def max_roi(x: np.ndarray, rois: np.ndarray, y: np.ndarray, scale: float) -> Step: ...
def roi_align(x: np.ndarray, rois: np.ndarray, batch_indices: np.ndarray, y: np.ndarray, scale: float, sampling_ratio: int,
              half_pixel: bool, most: bool) -> Step: ...
