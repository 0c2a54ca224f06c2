"""Matrix products of the private domain interp, with all that follows a sum before it is stored."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...dims import Fact
from ...kernels import gemm
from ...kernels.activate import NAMES
from ...kernels.step import Step
from ...registry import op
from ...types import FLOATS
from ..matmul import fits, multiplied
from ..shapes import shape_of

DOMAIN = "interp"


def _fused(A: Fact, B: Fact, C: Fact | None = None, residual: Fact | None = None, *, transA: int, transB: int,
           activation: str | None, **_: Any) -> list[Any]:
    if min(len(shape_of(A)), len(shape_of(B))) < 2:
        raise ValueError(f"FusedMatMul multiplies matrices, not {A.shape} by {B.shape}")
    if (activation or "") not in NAMES:
        raise ValueError(f"no activation {activation!r}; there are {', '.join(NAMES[1:])}")
    [shape] = multiplied(*(Fact(f.type, (*shape_of(f)[:-2], *shape_of(f)[:-3:-1]) if t else f.shape)
                           for f, t in ((A, transA), (B, transB))))
    if C is not None and C.shape is not None:
        fits(C.shape, shape[-2:], True)
    if residual is not None and residual.shape is not None and any(
            len(residual.shape) != len(shape) or isinstance(m, int) and isinstance(n, int) and m != n
            for m, n in zip(residual.shape, shape, strict=False)):
        raise ValueError(f"a residual of shape {residual.shape} for a result of {shape}")
    return [shape]


@op("FusedMatMul", domain=DOMAIN, signature="A: T, B: T, C?: T, residual?: T -> Y: T", types={"T": FLOATS}, shape=_fused,
    inplace=(3,))
def fused_mat_mul(A: np.ndarray, B: np.ndarray, C: np.ndarray | None = None, residual: np.ndarray | None = None, *,
                  alpha: float = 1.0, beta: float = 1.0, transA: int = 0, transB: int = 0, activation: str | None = None,
                  act_alpha: float = 0.0, act_beta: float = 0.0, constant: Callable, out: np.ndarray) -> Step:
    """``activation(alpha * A @ B + beta * C + residual)``, the last two axes of either factor turned where asked.

    Factors are matrices or batches that broadcast as in MatMul, C broadcasts to one matrix of the result, and the residual has
    the result's shape. A constant B is packed once.
    """
    packed = constant(gemm.Packed.turned if transB else gemm.Packed, B)
    return gemm.product(A, packed, out, C if beta else None, transposed_a=bool(transA), transposed_b=bool(transB) and packed is B,
                        alpha=alpha, beta=beta, residual=residual, activation=activation or "", act_alpha=act_alpha,
                        act_beta=act_beta)
