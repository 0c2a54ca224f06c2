"""Matrix products of quantised factors as onnxruntime's quantiser writes them."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...dims import Fact
from ...errors import UnsupportedOperator
from ...kernels import gemm, integer, nibbles
from ...kernels import quantize as kernel
from ...kernels.step import Later
from ...record import record
from ...registry import op
from ...types import BYTES, tensors, type_of
from ..integer import columnwise, in_line, one_number, product
from ..matmul import gemm_shape, multiplied
from ..shapes import shape_of
from .quantized import DOMAIN, Some, bytes_of, later, one

NARROW = tensors("float", "float16")
ANY_FLOAT = tensors("float", "float16", "bfloat16")


def _columns(B: Fact, *given: Fact | None) -> None:
    for g in given:
        if g is not None and g.shape is not None:
            in_line(g.shape, shape_of(B), -1)


def _bias_fits(bias: Fact | None, y: tuple[Any, ...]) -> None:
    if bias is not None and bias.shape is not None and (
            len(bias.shape) != 1 or isinstance(bias.shape[0], int) and isinstance(y[-1], int) and bias.shape[0] != y[-1]):
        raise ValueError(f"a bias of shape {bias.shape} for {y[-1]} columns")


def dynamic_product(A: Fact, B: Fact, b_scale: Fact, b_zero_point: Fact | None = None, bias: Fact | None = None) -> list[Any]:
    """The shape rule of DynamicQuantizeMatMul."""
    _columns(B, b_scale, b_zero_point)
    [shape] = multiplied(A, B)
    _bias_fits(bias, shape)
    return [shape]


@op("DynamicQuantizeMatMul", domain=DOMAIN, types={"T1": tensors("float"), "T2": BYTES}, shape=dynamic_product,
    signature="A: T1, B: T2, b_scale: T1, b_zero_point?: T2, bias?: T1 -> Y: T1")
def dynamic_quantize_mat_mul(A: np.ndarray, B: np.ndarray, b_scale: np.ndarray, b_zero_point: Some = None, bias: Some = None, *,
                             constant: Callable, out: np.ndarray) -> Any:
    """The product of a matrix, quantised to uint8 as its range has it, and a quantised one, plus a bias."""
    packed = constant(integer.Panels, B) if B.ndim > 1 else B

    def fill(a, b, scale, *rest):
        *some, out = rest
        left = iter(some)
        zero = next(left) if b_zero_point is not None else None
        small, a_scale, a_zero = np.empty(a.shape, np.uint8), np.empty((), np.float32), np.empty((), np.uint8)
        kernel.dynamic(a, small, a_scale, a_zero)()
        return product(small, b, out, lambda make, b: b if packed is B else packed, a_zero=a_zero, b_zero=columnwise(zero, b),
                       a_scale=a_scale, b_scale=columnwise(scale, b), bias=next(left, None))()
    return Later(fill, A, B, b_scale, *(x for x in (b_zero_point, bias) if x is not None), out)


def scaled_product(A: Fact, B: Fact, a_scale: Fact, b_scale: Fact, a_zero_point: Fact | None = None,
                   b_zero_point: Fact | None = None, bias: Fact | None = None) -> list[Any]:
    """The shape rule of MatMulIntegerToFloat."""
    one_number(a_scale, "A")
    one_number(a_zero_point, "A")
    return dynamic_product(A, B, b_scale, b_zero_point, bias)


@op("MatMulIntegerToFloat", domain=DOMAIN, types={"T1": BYTES, "T2": BYTES, "T3": NARROW}, shape=scaled_product,
    signature="A: T1, B: T2, a_scale: T3, b_scale: T3, a_zero_point?: T1, b_zero_point?: T2, bias?: T3 -> Y: T3")
def mat_mul_integer_to_float(A: np.ndarray, B: np.ndarray, a_scale: np.ndarray, b_scale: np.ndarray, a_zero_point: Some = None,
                             b_zero_point: Some = None, bias: Some = None, *, constant: Callable, out: np.ndarray) -> Any:
    """The product of two matrices of bytes, less their zero points, times their scales, plus a bias."""
    def scaled(out: np.ndarray, a_scale: np.ndarray, b_scale: np.ndarray, bias: Some) -> Any:
        return product(A, B, out, constant, a_zero=a_zero_point, b_zero=columnwise(b_zero_point, B), a_scale=a_scale,
                       b_scale=columnwise(b_scale, B), bias=bias)
    if out.dtype == np.float32:
        return scaled(out, a_scale, b_scale, bias)

    def widened(a, b, a_scale, b_scale, a_zero, b_zero, bias):
        wide = np.empty(out.shape, np.float32)
        step = product(a, b, wide, lambda make, x: x, a_zero=a_zero, b_zero=columnwise(b_zero, b),
                       a_scale=a_scale.astype(np.float32), b_scale=columnwise(b_scale, b).astype(np.float32),
                       bias=None if bias is None else bias.astype(np.float32))
        step()
        return wide
    return later(widened, out, A, B, a_scale, b_scale, a_zero_point, b_zero_point, bias)


def quantised_gemm(A: Fact, a_scale: Fact, a_zero_point: Fact, B: Fact, b_scale: Fact, b_zero_point: Fact, C: Fact | None = None,
                   y_scale: Fact | None = None, y_zero_point: Fact | None = None, *, alpha: float = 1.0, transA: int = 0,
                   transB: int = 0) -> list[Any]:
    """The shape rule of QGemm, whose result is of float unless it has a scale."""
    for name, given in (("A", a_scale), ("A", a_zero_point), ("Y", y_scale), ("Y", y_zero_point)):
        one_number(given, name)
    b = shape_of(B)
    _columns(Fact(B.type, b[::-1] if transB else b), b_scale, b_zero_point)
    if (y_scale is None) != (y_zero_point is None):
        raise ValueError("QGemm has both y_scale and y_zero_point, or neither")
    [shape] = gemm_shape(A, B, C, transA=transA, transB=transB)
    return [Fact("tensor(float)" if y_zero_point is None else y_zero_point.type, shape)]


@op("QGemm", domain=DOMAIN, shape=quantised_gemm,
    types={"T": tensors("float"), "TA": BYTES, "TB": BYTES, "TC": tensors("int32"), "TYZ": BYTES, "TY": BYTES | tensors("float")},
    signature="A: TA, a_scale: T, a_zero_point: TA, B: TB, b_scale: T, b_zero_point: TB, C?: TC, y_scale?: T, y_zero_point?: TYZ "
              "-> Y: TY")
def q_gemm(A: np.ndarray, a_scale: np.ndarray, a_zero_point: np.ndarray, B: np.ndarray, b_scale: np.ndarray,
           b_zero_point: np.ndarray, C: Some = None, y_scale: Some = None, y_zero_point: Some = None, *, alpha: float = 1.0,
           transA: int = 0, transB: int = 0, constant: Callable, out: np.ndarray) -> Any:
    """``alpha * (A B + C)`` of quantised factors, in float or quantised; C is of the sums' scale."""
    turned = constant(_Turned(bool(transB)), B)
    packed = turned if isinstance(turned, integer.Panels) else None

    def multiplied(a, a_scale, a_zero, b, b_scale, b_zero, c, y_scale, y_zero):
        a, b = np.ascontiguousarray(a.T if transA else a), np.ascontiguousarray(b.T if transB else b)
        sums = np.empty(out.shape, np.int32)
        product(a, b, sums, lambda make, b: b if packed is None else packed, a_zero=a_zero.reshape(()),
                b_zero=columnwise(b_zero, b))()
        wide = sums.astype(np.float64) if c is None else (sums.astype(np.int64) + c).astype(np.float64)
        scale = np.float32(alpha) * one(a_scale) * columnwise(b_scale, b).astype(np.float64)
        if y_scale is None:
            return wide * scale
        return bytes_of(wide * (scale / one(y_scale)), out.dtype, one(y_zero))
    return later(multiplied, out, A, a_scale, a_zero_point, B, b_scale, b_zero_point, C, y_scale, y_zero_point)


@record(frozen=True)
class _Turned:
    """How to pack a constant second factor, transposed or not."""

    transposed: bool

    def __call__(self, b: np.ndarray) -> integer.Panels:
        return integer.Panels(np.ascontiguousarray(b.T) if self.transposed else b)


# Weights of a few bits


def few_bits(A: Fact, B: Fact, scales: Fact, zero_points: Fact | None = None, g_idx: Fact | None = None, bias: Fact | None = None,
             *, K: int, N: int, block_size: int, bits: int = 4, **_: Any) -> list[Any]:
    """The shape rule of MatMulNBits."""
    a = shape_of(A)
    if bits not in (2, 4, 8) or block_size < 16 or block_size & (block_size - 1):
        raise ValueError(f"{bits} bits in blocks of {block_size}; it is 2, 4 or 8, in blocks of a power of two from 16 on")
    if not a or isinstance(a[-1], int) and a[-1] != K:
        raise ValueError(f"an input of shape {a} for sums over {K}")
    blocks = -(-K // block_size)
    if B.shape is not None and 0 in B.shape:  # omitted
        return [(*a[:-1], N)]
    _sizes("B", B, (N, blocks, block_size * bits // 8))
    _sizes("scales", scales, (N, blocks))
    if zero_points is not None:
        _sizes("zero_points", zero_points, (N, -(-blocks * bits // 8) if zero_points.type == "tensor(uint8)" else blocks))
    _bias_fits(bias, (N,))
    return [(*a[:-1], N)]


def _sizes(name: str, given: Fact, due: tuple[int, ...]) -> None:
    """Refuse what has another number of elements; flat forms are in use."""
    if given.shape is not None and all(isinstance(n, int) for n in given.shape):
        if np.prod(np.array(given.shape, object)) != np.prod(np.array(due, object)):
            raise ValueError(f"{name} of shape {given.shape}; due is {due}")


def unpacked(packed: np.ndarray, bits: int, count: int) -> np.ndarray:
    """Rows of bytes as rows of `count` numbers of a few bits, the lowest bits first."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    wide = (packed[..., None] >> shifts) & np.uint8((1 << bits) - 1)
    return wide.reshape(len(packed), -1)[:, :count]


class _Kept:
    """An array that is known to be constant: equal to nothing but itself, so that what is made with it is made once."""

    def __init__(self, array: np.ndarray):
        self.array = array


@record(frozen=True)
class _Layout:
    """How weights of a few bits lie: N rows of K, in blocks along the rows."""

    N: int
    K: int
    block_size: int
    bits: int

    def weights(self, b: np.ndarray, scales: np.ndarray, zero_points: Some, g_idx: Some) -> np.ndarray:
        """The weights in float: numbers of a few bits, less the zero point of their block, times its scale."""
        blocks = -(-self.K // self.block_size)
        which = np.arange(self.K) // self.block_size if g_idx is None else g_idx.reshape(-1)[:self.K]
        if len(which) < self.K or np.any((which < 0) | (which >= blocks)):
            raise ValueError(f"g_idx has no block of {blocks} for each of {self.K}")
        wide = unpacked(b.reshape(self.N, -1), self.bits, self.K).astype(np.float32)
        wide -= self.zeros(zero_points)[:, which]
        wide *= scales.reshape(self.N, blocks)[:, which].astype(np.float32)
        return wide

    def zeros(self, zero_points: Some) -> np.ndarray:
        """The zero point of every row and block."""
        blocks = -(-self.K // self.block_size)
        if zero_points is None:
            return np.full((self.N, blocks), 1 << (self.bits - 1), np.float32)
        if zero_points.dtype == np.uint8:
            return unpacked(zero_points.reshape(self.N, -1), self.bits, blocks).astype(np.float32)
        return zero_points.reshape(self.N, blocks).astype(np.float32)

    def kept(self, b: np.ndarray, scales: np.ndarray, zero_points: Some, g_idx: Some) -> gemm.Packed | nibbles.Packed:
        """Constant weights as products read them: four bits stay four, unless a row says which block each of it belongs to."""
        if self.bits != 4 or g_idx is not None:
            return gemm.Packed.turned(self.weights(b, scales, zero_points, g_idx))
        codes = unpacked(b.reshape(self.N, -1), 4, self.K)
        return nibbles.Packed(codes, scales.reshape(self.N, -1).astype(np.float32), self.zeros(zero_points), self.block_size)


def kept(b: np.ndarray, layout: _Layout, *parts: _Kept | None) -> gemm.Packed | nibbles.Packed:
    """Constant weights as products read them, once for scales, zero points and groups that are constants too."""
    arrays: Any = [None if p is None else p.array for p in parts]
    return layout.kept(b, *arrays)


@op("MatMulNBits", domain=DOMAIN, shape=few_bits,
    types={"T1": ANY_FLOAT, "T2": tensors("uint8"), "T3": ANY_FLOAT | tensors("uint8"), "T4": tensors("int32")},
    signature="A: T1, B: T2, scales: T1, zero_points?: T3, g_idx?: T4, bias?: T1 -> Y: T1")
def mat_mul_n_bits(A: np.ndarray, B: np.ndarray, scales: np.ndarray, zero_points: Some = None, g_idx: Some = None,
                   bias: Some = None, *, K: int, N: int, block_size: int, bits: int = 4, accuracy_level: int = 0,
                   weight_prepacked: int = 0, constant: Callable, out: np.ndarray) -> Any:
    """The product of a matrix and the transpose of weights of a few bits, scaled block by block along their rows.

    `accuracy_level` is the least that is asked for: products are always of floats. Constant weights are packed once; where B is
    empty there is no product, only the bias.
    """
    if weight_prepacked:
        raise UnsupportedOperator("MatMulNBits takes weights as the text lays them out; weight_prepacked must be 0")
    if B.size == 0:
        return later(lambda bias: np.zeros(N) if bias is None else bias, out, bias)
    given: Any = [None if x is None else Fact(type_of(x), x.shape) for x in (A, B, scales, zero_points, g_idx, bias)]
    few_bits(*given, K=K, N=N, block_size=block_size, bits=bits)
    layout, made = _Layout(N, K, block_size, bits), B
    parts = tuple(None if x is None else constant(_Kept, x) for x in (scales, zero_points, g_idx))
    if all(p is None or isinstance(p, _Kept) for p in parts):
        made = constant(kept, B, layout, *parts)
    if isinstance(made, nibbles.Packed):
        return nibbles.product(A.reshape(-1, K), made, out.reshape(-1, N), bias)
    if isinstance(made, gemm.Packed) and out.dtype == np.float32:
        return gemm.product(A.reshape(-1, K), made, out.reshape(-1, N), bias)

    def multiplied(a, b, scales, zero_points, g_idx, bias):
        right = made if isinstance(made, gemm.Packed) else gemm.Packed.turned(layout.weights(b, scales, zero_points, g_idx))
        wide = np.empty((a.size // K, N), np.float32)
        gemm.product(a.reshape(-1, K).astype(np.float32), right, wide, None if bias is None else bias.astype(np.float32))()
        return wide.reshape(out.shape)
    return later(multiplied, out, A, B, scales, zero_points, g_idx, bias)
