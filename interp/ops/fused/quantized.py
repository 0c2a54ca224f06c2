"""Products, sums and functions of bytes that stand for several operators of a quantised model. Passes alone write these."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...dims import Fact
from ...kernels import quantize as kernel
from ...registry import op
from ...types import BYTES, tensors
from ..integer import columnwise, multiplied_and_scaled, product
from ..microsoft.quantized import BINARY, two_operands
from ..microsoft.quantized_matmul import scaled_product
from ..shapes import shape_of

Some = np.ndarray | None
DOMAIN = "interp"


@op("ScaledMatMulInteger", domain=DOMAIN, types={"T1": BYTES, "T2": BYTES, "T3": tensors("float")}, shape=scaled_product,
    signature="A: T1, B: T2, a_scale: T3, b_scale: T3, a_zero_point?: T1, b_zero_point?: T2, bias?: T3 -> Y: T3")
def scaled_mat_mul_integer(A: np.ndarray, B: np.ndarray, a_scale: np.ndarray, b_scale: np.ndarray, a_zero_point: Some = None,
                           b_zero_point: Some = None, bias: Some = None, *, constant: Callable, out: np.ndarray) -> Any:
    """The product of two matrices of bytes, less their zero points, times their scales, plus a bias of each column."""
    return product(A, B, out, constant, a_zero=a_zero_point, b_zero=columnwise(b_zero_point, B), a_scale=a_scale,
                   b_scale=columnwise(b_scale, B), bias=bias)


def multiplied_with_bias(a: Fact, a_scale: Fact, a_zero_point: Fact, b: Fact, b_scale: Fact, b_zero_point: Fact, y_scale: Fact,
                         y_zero_point: Fact, bias: Fact | None = None) -> list[Any]:
    """The shape rule of QuantizedMatMul."""
    [shape] = multiplied_and_scaled(a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point)
    if bias is not None and len(shape_of(bias)) != 1:
        raise ValueError(f"a bias of shape {bias.shape} for each of {shape[-1]} columns")
    return [shape]


@op("QuantizedMatMul", domain=DOMAIN, types={"TA": BYTES, "TB": BYTES, "TY": BYTES, "F": tensors("float"), "I": tensors("int32")},
    shape=multiplied_with_bias,
    signature="a: TA, a_scale: F, a_zero_point: TA, b: TB, b_scale: F, b_zero_point: TB, y_scale: F, y_zero_point: TY, bias?: I "
              "-> y: TY")
def quantized_mat_mul(a: np.ndarray, a_scale: np.ndarray, a_zero_point: np.ndarray, b: np.ndarray, b_scale: np.ndarray,
                      b_zero_point: np.ndarray, y_scale: np.ndarray, y_zero_point: np.ndarray, bias: Some = None, *,
                      constant: Callable, out: np.ndarray) -> Any:
    """The product of two quantised matrices, quantised; the bias is one of the sums of whole numbers, of each column."""
    return product(a, b, out, constant, a_zero=a_zero_point, b_zero=columnwise(b_zero_point, b), a_scale=a_scale,
                   b_scale=columnwise(b_scale, b), y_scale=y_scale, y_zero=y_zero_point, bias=bias)


@op("QuantizedAdd", domain=DOMAIN, signature=BINARY, types={"T": BYTES}, shape=two_operands)
def quantized_add(A: np.ndarray, A_scale: np.ndarray, A_zero_point: Some, B: np.ndarray, B_scale: np.ndarray, B_zero_point: Some,
                  C_scale: np.ndarray, C_zero_point: Some = None, *, out: np.ndarray) -> Any:
    """The sum of two quantised arrays, quantised as QuantizeLinear does it: the zero point is added after rounding."""
    return kernel.pair("add", (A, A_scale, A_zero_point), (B, B_scale, B_zero_point), (out, C_scale, C_zero_point), late=True)


@op("QuantizedMul", domain=DOMAIN, signature=BINARY, types={"T": BYTES}, shape=two_operands)
def quantized_mul(A: np.ndarray, A_scale: np.ndarray, A_zero_point: Some, B: np.ndarray, B_scale: np.ndarray, B_zero_point: Some,
                  C_scale: np.ndarray, C_zero_point: Some = None, *, out: np.ndarray) -> Any:
    """The product of two quantised arrays, quantised as QuantizeLinear does it: the zero point is added after rounding."""
    return kernel.pair("mul", (A, A_scale, A_zero_point), (B, B_scale, B_zero_point), (out, C_scale, C_zero_point), late=True)


def looked_up(x: Fact, table: Fact) -> list[Any]:
    """The shape rule of Lookup."""
    if table.shape is not None and table.shape != (256,):
        raise ValueError(f"a table of shape {table.shape}; bytes take 256")
    return [Fact(table.type, shape_of(x))]


@op("Lookup", domain=DOMAIN, signature="x: T, table: U -> y: U", types={"T": BYTES, "U": BYTES}, shape=looked_up)
def lookup(x: np.ndarray, table: np.ndarray, *, out: np.ndarray) -> Any:
    """A function of bytes by its table, which begins with that of the byte 0, then 1 to 127, then -128 to -1 or 128 to 255."""
    return kernel.lookup(x, table, out)
