"""Matrix products and convolutions fused with what comes before or after them."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...dims import Fact
from ...kernels import gemm
from ...kernels.step import Later
from ...registry import op
from ...types import FLOATS, tensors
from .. import conv
from ..matmul import gemm_shape, multiplied
from ..shapes import shape_of
from .activation import FUSED, MICROSOFT, activate, known

WITH_CLIP = ("Relu", "LeakyRelu", "Sigmoid", "Tanh", "HardSigmoid", "Clip")


def _order(rank: int, transposed: bool, batch: bool) -> list[int]:
    """The axes of a factor: the first one goes behind those of the batch, the last two change places."""
    axes = list(range(rank))
    if rank > 1:
        if batch:
            axes = [*axes[1:-1], axes[0], axes[-1]]
        if transposed:
            axes[-1], axes[-2] = axes[-2], axes[-1]
    return axes


def _fused(A: Fact, B: Fact, *, transA: int, transB: int, transBatchA: int, transBatchB: int, **_: Any) -> list[Any]:
    turned = [Fact(f.type, tuple(shape_of(f)[i] for i in _order(len(shape_of(f)), bool(t), bool(batch))))
              for f, t, batch in ((A, transA, transBatchA), (B, transB, transBatchB))]
    return list(multiplied(*turned))


@op("FusedMatMul", domain=MICROSOFT, signature="A: T, B: T -> Y: T", types={"T": FLOATS}, shape=_fused)
def fused_mat_mul(A, B, *, alpha=1.0, transA=0, transB=0, transBatchA=0, transBatchB=0, constant: Callable, out):
    """alpha A B, with the last two axes of either turned, or its first one put behind those of the batch."""
    if A.ndim < 2 or B.ndim < 2 or transBatchA or transBatchB:
        orders = _order(A.ndim, bool(transA), bool(transBatchA)), _order(B.ndim, bool(transB), bool(transBatchB))
        return Later(partial(_product, alpha, *orders), A, B, out)
    packed = constant(gemm.Packed.turned if transB else gemm.Packed, B)
    return gemm.product(A, packed, out, transposed_a=bool(transA), transposed_b=bool(transB) and packed is B, alpha=alpha)


def _product(alpha: float, a_order: Sequence[int], b_order: Sequence[int], a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    wide = np.float64 if out.dtype == np.float64 else np.float32
    out[...] = a.transpose(a_order).astype(wide) @ b.transpose(b_order).astype(wide) * wide(alpha)


def _gemm(A: Fact, B: Fact, C: Fact | None = None, *, transA: int, transB: int, activation: str | None, **_: Any) -> list[Any]:
    known(activation, tuple(FUSED))
    return list(gemm_shape(A, B, C, transA=transA, transB=transB))


@op("FusedGemm", domain=MICROSOFT, signature="A: T, B: T, C?: T -> Y: T", types={"T": FLOATS}, shape=_gemm)
def fused_gemm(A, B, C=None, *, alpha=1.0, beta=1.0, transA=0, transB=0, activation=None, activation_alpha=None,
               activation_beta=None, activation_gamma=None, constant: Callable, out):
    """alpha A B + beta C, through an activation."""
    packed = constant(gemm.Packed.turned if transB else gemm.Packed, B)
    held = None if packed is B else packed

    def run(a: np.ndarray, b: np.ndarray, c: np.ndarray | None, y: np.ndarray) -> None:
        gemm.product(a, b if held is None else held, y, c if beta else None, transposed_a=bool(transA),
                     transposed_b=bool(transB) and held is None, alpha=alpha, beta=beta)()
        activate(activation, (activation_alpha, activation_beta), y)
    return Later(run, A, B, C, out)


def _conv(X: Fact, W: Fact, B: Fact | None = None, Z: Fact | None = None, *, activation: str | None,
          activation_params: Sequence[float] | None, **attributes: Any) -> list[Any]:
    known(activation, WITH_CLIP)
    if activation == "Clip" and len(activation_params or ()) != 2:
        raise ValueError("Clip takes two activation_params, the least and the largest value")
    [shape] = conv.convolved(X, W, B, **attributes)
    if Z is not None and any(isinstance(a, int) and isinstance(b, int) and a != b
                             for a, b in zip(shape_of(Z), shape, strict=True)):
        raise ValueError(f"Z of shape {Z.shape} is added to {shape}")
    return [shape]


@op("FusedConv", domain=MICROSOFT, signature="X: T, W: T, B?: T, Z?: T -> Y: T", shape=_conv,
    types={"T": tensors("float", "double", "float16")})
def fused_conv(X, W, B=None, Z=None, *, auto_pad="NOTSET", dilations=None, group=1, kernel_shape=None, pads=None, strides=None,
               activation=None, activation_params=None, constant: Callable, out):
    """A convolution, plus Z, through an activation."""
    packed: dict[str, Any] = {}

    def made_once(make: Callable, w: np.ndarray, *settings: Any) -> Any:
        if "weights" not in packed:
            packed["weights"] = constant(make, W, *settings)
        return w if packed["weights"] is W else packed["weights"]

    def run(x: np.ndarray, w: np.ndarray, b: np.ndarray | None, z: np.ndarray | None, y: np.ndarray) -> None:
        conv.convolution(x, w, b, auto_pad=auto_pad, dilations=dilations, group=group, kernel_shape=kernel_shape, pads=pads,
                    strides=strides, constant=made_once, out=y)()
        if z is not None:
            if z.shape != y.shape:
                raise ValueError(f"Z of shape {z.shape} is added to {y.shape}")
            y += z
        activate(activation, activation_params or (), y)
    return Later(run, X, W, B, Z, out)
