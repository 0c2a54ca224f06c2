"""Matrix products: MatMul and Gemm."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..dims import Fact, Size
from ..kernels import gemm
from ..kernels.step import Later
from ..registry import op
from .shapes import shape_of, widest

Shape = tuple[Size, ...]


def multiplied(a: Fact, b: Fact, **_: Any) -> list[Shape]:
    """The shape rule of MatMul: NumPy's matmul."""
    left, right = shape_of(a), shape_of(b)
    if not left or not right:
        raise ValueError(f"a factor is a scalar: {left} times {right}")
    (*lead, m, k), (*trail, inner, n) = (1, *left)[-max(len(left), 2):], (*right, 1)[:max(len(right), 2)]
    _agree(k, inner, f"{left} times {right}")
    return [(*widest([tuple(lead), tuple(trail)]), *(() if len(left) == 1 else (m,)), *(() if len(right) == 1 else (n,)))]


def _agree(k: Size, inner: Size, which: str) -> None:
    if isinstance(k, int) and isinstance(inner, int) and k != inner:
        raise ValueError(f"{which}: sums over {k} and {inner} products")


@op("MatMul", 1, 13, shape=multiplied)
def mat_mul(A: np.ndarray, B: np.ndarray, *, constant: Callable, out: np.ndarray) -> Any:
    """The product of two matrices, or of batches of them, as NumPy's matmul has it; a constant second one is packed once.

    Whole numbers wrap around, as NumPy's do.
    """
    if A.dtype.kind in "iu":
        return Later(_whole_product, A, B, out)
    a = A.reshape(1, -1) if A.ndim == 1 else A
    if B.ndim == 1:
        return gemm.product(a, B.reshape(-1, 1), out.reshape(*np.broadcast_shapes(a.shape[:-2]), a.shape[-2], 1))
    y = out.reshape(*out.shape[:-1], 1, out.shape[-1]) if A.ndim == 1 else out
    return gemm.product(a, constant(gemm.Packed, B), y)


def _whole_product(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    np.matmul(a, b, out=out)


def gemm_shape(A: Fact, B: Fact, C: Fact | None = None, *, transA: int, transB: int, broadcast: int = 1, **_: Any) -> list[Shape]:
    """The shape rule of Gemm."""
    a, b = shape_of(A), shape_of(B)
    if len(a) != 2 or len(b) != 2:
        raise ValueError(f"Gemm multiplies matrices, not {a} by {b}")
    (m, k), (inner, n) = a[::-1] if transA else a, b[::-1] if transB else b
    _agree(k, inner, f"{a} times {b}")
    if C is not None and C.shape is not None:
        fits(C.shape, (m, n), bool(broadcast))
    return [(m, n)]


def fits(c: Shape, y: Shape, repeats: bool) -> None:
    """Whether C can be added: it repeats only where the version, or its attribute, lets it."""
    allowed = [(n, 1) if repeats else (n,) for n in y]
    for size, sizes in zip(reversed(c), reversed(allowed), strict=False):
        if isinstance(size, int) and all(isinstance(s, int) for s in sizes) and size not in sizes:
            raise ValueError(f"C of shape {c} does not broadcast to {y}")
    if len(c) > 2 or len(c) < 2 and not repeats:
        raise ValueError(f"C of shape {c} does not broadcast to {y}")


@op("Gemm", 1, 6, shape=gemm_shape)
@op("Gemm", 7, 13, shape=gemm_shape)
def gemm_(A: np.ndarray, B: np.ndarray, C: np.ndarray | None = None, *, alpha: float, beta: float, transA: int, transB: int,
          constant: Callable, out: np.ndarray, broadcast: int = 1) -> Any:
    """``alpha * A @ B + beta * C``, either factor transposed where asked; a constant B is packed once.

    With a beta of 0 C is not looked at, so that NaN and infinity in it do not count, as in BLAS.
    Whole numbers wrap around; with a factor that is not whole they are scaled in double and cut off towards zero.
    """
    C = C if beta else None
    if A.dtype.kind in "iu":
        return Later(_whole_gemm(alpha, beta, transA, transB), A, B, *(() if C is None else (C,)), out)
    packed = constant(gemm.Packed.turned if transB else gemm.Packed, B)
    return gemm.product(A, packed, out, C, transposed_a=bool(transA), transposed_b=bool(transB) and packed is B, alpha=alpha,
                        beta=beta)


def _whole_gemm(alpha: float, beta: float, trans_a: int, trans_b: int) -> Callable:
    def fill(a: np.ndarray, b: np.ndarray, *c_and_out: np.ndarray) -> None:
        *c, out = c_and_out
        with np.errstate(all="ignore"):
            y = _scaled((a.T if trans_a else a) @ (b.T if trans_b else b), alpha)
            y = y + _scaled(c[0], beta) if c else y
        out[...] = y if y.dtype == out.dtype else _cut(y, out.dtype)
    return fill


def _scaled(x: np.ndarray, factor: float) -> np.ndarray:
    """Whole numbers times a factor: a whole one wraps around as they do."""
    whole = float(factor).is_integer() and abs(factor) < 2.0**63
    return x if factor == 1 else x * np.array(int(factor)).astype(x.dtype) if whole else x * float(factor)


def _cut(y: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Without what stands after the point; NaN is 0, and what is out of range lies at its end."""
    ends = np.iinfo(dtype)
    return np.clip(np.nan_to_num(y), float(ends.min), np.nextafter(float(ends.max) + 1, 0)).astype(dtype)
