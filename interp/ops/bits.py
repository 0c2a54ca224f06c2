"""Operators on the bits of whole numbers, and bits read as another type."""
from __future__ import annotations

from typing import Any

from ..dims import Fact
from ..kernels import elementwise
from ..kernels.step import copied
from ..registry import Op, op
from ..types import INTEGERS, OF_CODE, width_of
from .cast import target
from .shapes import broadcast, same, shape_of


def _bitwise(name: str, loop: str) -> Op:
    """An operation on the bits of two operands, one by one."""
    @op(name, 18, 18, shape=broadcast, inplace=(0, 1), types=INTEGERS)
    def pair(A, B, *, out):
        return elementwise.binary(loop, A, B, out)
    return pair


bitwise_and = _bitwise("BitwiseAnd", "and")
bitwise_or = _bitwise("BitwiseOr", "or")
bitwise_xor = _bitwise("BitwiseXor", "xor")


@op("BitwiseNot", 18, 18, shape=same, inplace=(0,), types=INTEGERS)
def bitwise_not(X, *, out):
    """Every bit turned over."""
    return elementwise.unary("bitwise_not", X, out)


@op("BitShift", 11, 28, shape=broadcast, inplace=(0, 1), types=INTEGERS)
def bit_shift(X, Y, *, direction, out):
    """Bits moved to the left or right, zeros or copies of the sign behind them; all of them by as many as there are, or more.

    Before version 28, which has signed numbers, the text is silent on shifts that large, and means the same for the others.
    """
    if direction not in ("LEFT", "RIGHT"):
        raise ValueError(f"BitShift to the {direction!r}: the direction is LEFT or RIGHT")
    return elementwise.binary(direction.lower(), X, Y, out)


def _as_type(x: Fact, *, to: int) -> list[Any]:
    kind = target(to)
    if x.dtype.hasobject or OF_CODE[to] == "tensor(string)" or width_of(x.type) != width_of(kind):
        raise ValueError(f"the bits of a {x.type} are no {kind}: both need as many")
    return [Fact(kind, shape_of(x))]


@op("BitCast", 26, 26, shape=_as_type)
def bit_cast(input, *, to, out):
    """The same bits read as another type of their width."""
    return copied(input.view(out.dtype), out)
