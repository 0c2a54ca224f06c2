"""What the pooling family means, read from the operator text and written for the eye: slow, plain, in float64.

Nothing here shares a line with the package. Every function takes its tensors and its attributes under their ONNX names,
calculates in float64 and rounds once, at the end, to the type of the tensor. A `ValueError` is an input that has no
result.
"""

from tests.oracle.pooling import (
    average_pool,
    global_average_pool,
    global_lp_pool,
    global_max_pool,
    lp_pool,
    max_pool,
)
from tests.oracle.roi import max_roi_pool, max_unpool, roi_align

__all__ = [
    "average_pool",
    "global_average_pool",
    "global_lp_pool",
    "global_max_pool",
    "lp_pool",
    "max_pool",
    "max_roi_pool",
    "max_unpool",
    "roi_align",
]
