"""Elementwise operators of one, two or several operands: arithmetic, comparisons, logic, limits, choice."""
from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import numpy as np

from ..dims import Dim, Size, divided, larger, never_negative, smaller
from ..kernels import chain, choice, elementwise
from ..kernels.step import Later, copied
from ..registry import Op, op
from ..types import FLOATS, OF_DTYPE
from .cast import converted
from .shapes import aligned, all_alike, broadcast, same, with_value


def _placed(a: np.ndarray, b: np.ndarray, axis: int | None, asked: int | None) -> np.ndarray:
    """The second operand where versions before 7 put it: they broadcast only if asked to, along the axes that start at `axis`."""
    if not asked:
        if asked is not None and a.shape != b.shape:
            raise ValueError(f"{b.shape} broadcasts to {a.shape} only with broadcast=1")
        return b
    return b.reshape(aligned(a.shape, b.shape, axis))  # type: ignore[arg-type]


def _pair(name: str, through: int, loop: str, plain: Callable, since: int = 1, compute: Callable | None = None,
          inplace: tuple[int, ...] = (0, 1), types: Any = None) -> Op:
    """An operator on two operands: a compiled loop where there is one for the type, else a function that fills the result."""
    typed = 0 if inplace else "tensor(bool)"
    rule = with_value(broadcast, lambda a, b, **_: compute(a, b), typed) if compute else broadcast

    @op(name, since, through, shape=rule, inplace=inplace, types=types)
    def pair(A, B, *, axis=None, broadcast=None, consumed_inputs=None, out):
        B = _placed(A, B, axis, broadcast)
        return (chain.pair(loop, A, B, out) if A.dtype == B.dtype else None) or Later(plain, A, B, out)
    return pair


def _quotient_of_sizes(a: np.ndarray, b: np.ndarray) -> Any:
    """Quotients rounded towards zero, where all that is divided has a known sign; a divisor of zero is left to the run."""
    if not all(never_negative(u) and isinstance(v, int) and v > 0 for u, v in np.broadcast(a, b)):
        return None
    return np.frompyfunc(divided, 2, 1)(a, b)


def _equal_sizes(a: np.ndarray, b: np.ndarray) -> Any:
    """Which sizes agree, where none depends on what a name comes to."""
    def alike(u: Size, v: Size) -> bool | None:
        plain = isinstance(u, int) and isinstance(v, int)
        below = any(isinstance(n, int) and n < 0 for n in (u, v)) and never_negative(u if isinstance(u, Dim) else v)
        return True if u == v else False if plain or below else None
    found = np.asarray(np.frompyfunc(alike, 2, 1)(a, b), object)
    return None if any(n is None for n in found.flat) else found


def _of_numbers(compute: Callable) -> Callable:
    """What holds of sizes that are plain numbers; with a name among them only a run tells."""
    def found(*values: np.ndarray) -> Any:
        named = any(isinstance(n, Dim) for v in values for n in v.flat)
        return None if named else compute(*(np.array(v.tolist()) for v in values))
    return found


def _rest_of_sizes(a: np.ndarray, b: np.ndarray, *, fmod: int) -> Any:
    """What is left of divisions of sizes."""
    positive = all(never_negative(u) and isinstance(v, int) and v > 0 for u, v in np.broadcast(a, b))
    return np.frompyfunc(operator.mod, 2, 1)(a, b) if positive else None


add = _pair("Add", 14, "add", np.add, compute=operator.add)
sub = _pair("Sub", 14, "sub", np.subtract, compute=operator.sub)
mul = _pair("Mul", 14, "mul", np.multiply, compute=operator.mul)
div = _pair("Div", 14, "div", np.divide, compute=_quotient_of_sizes)
less = _pair("Less", 13, "less", np.less, inplace=(), compute=_of_numbers(np.less))
greater = _pair("Greater", 13, "greater", np.greater, inplace=(), compute=_of_numbers(np.greater))
equal = _pair("Equal", 19, "equal", np.equal, inplace=(), compute=_equal_sizes)
less_or_equal = _pair("LessOrEqual", 16, "less_equal", np.less_equal, since=12, inplace=(),
                       compute=_of_numbers(np.less_equal))
greater_or_equal = _pair("GreaterOrEqual", 16, "greater_equal", np.greater_equal, since=12, inplace=(),
                          compute=_of_numbers(np.greater_equal))
and_ = _pair("And", 7, "and", np.logical_and, compute=_of_numbers(np.logical_and))
or_ = _pair("Or", 7, "or", np.logical_or, compute=_of_numbers(np.logical_or))
xor = _pair("Xor", 7, "xor", np.logical_xor, compute=_of_numbers(np.logical_xor))


@op("Pow", 1, 15, shape=broadcast)
def pow_(X, Y, *, axis=None, broadcast=None, out):
    """Powers in the type of the base: those of whole numbers wrap around, or are rounded towards zero where the exponent
    is a fraction or negative."""
    Y = _placed(X, Y, axis, broadcast)
    made = elementwise.power(X, Y, out) or (elementwise.binary("pow", X, Y, out) if X.dtype == Y.dtype else None)
    return made or Later(_power, X, Y, out)


def _power(x: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
    with np.errstate(all="ignore"):
        fractions = np.power(x.astype("f8"), y.astype("f8"))
        if x.dtype.kind not in "iu":
            out[...] = fractions
            return
        whole = converted(fractions, OF_DTYPE[x.dtype])
        if y.dtype.kind in "iu":
            whole = np.where(y < 0, whole, np.power(x.astype("i8").view("u8"), y.astype("u8")).astype(x.dtype))
        out[...] = whole


@op("Mod", 10, 13, shape=with_value(broadcast, _rest_of_sizes))
def mod_of_integers(A, B, *, fmod, out):
    """The rest of a division: with the sign of the divisor, or with fmod, which floating-point numbers need, of the dividend."""
    if not fmod and A.dtype.kind not in "iu":
        raise ValueError("Mod of floating-point numbers needs fmod=1 before version 28")
    return elementwise.binary("fmod" if fmod else "mod", A, B, out)


@op("Mod", 28, 28, shape=with_value(broadcast, _rest_of_sizes))
def mod(A, B, *, fmod, out):
    """The rest of a division: with the sign of the divisor, or with fmod that of the dividend."""
    return elementwise.binary("fmod" if fmod else "mod", A, B, out)


# Several operands


def _several(name: str, through: int, ranges: tuple[int, int, int], loop: str, plain: Callable,
             compute: Callable | None = None) -> Op:
    """A fold over any number of operands: before `ranges`' last version all of one shape."""
    since, alike, broadcasts = ranges

    def several(*data_0, consumed_inputs=None, out):
        if len(data_0) == 1:
            return copied(data_0[0], out)
        reached = np.broadcast_shapes(data_0[0].shape, data_0[1].shape) == out.shape  # later operands may stretch the first two
        once = len(data_0) == 2 or loop != "add" or out.dtype.itemsize > 2  # sums of 16 bits are rounded at the end alone
        return (elementwise.fold(loop, data_0, out) if reached and once else None) or Later(partial(_folded, plain), *data_0, out)
    rule = with_value(broadcast, lambda *sizes, **_: reduce(np.frompyfunc(compute, 2, 1), sizes)) if compute else broadcast
    return op(name, broadcasts, through, shape=rule)(op(name, since, alike, shape=all_alike)(several))


def _folded(plain: Callable, *arrays: np.ndarray) -> None:
    *operands, out = arrays
    out[...] = _accumulated(plain, *operands)


def _accumulated(plain: Callable, *operands: np.ndarray) -> Any:
    """A fold; 16-bit floats are folded as 32-bit ones."""
    narrow = operands[0].dtype.itemsize == 2 and operands[0].dtype.kind not in "iu"
    return reduce(plain, [x.astype("f4") if narrow else x for x in operands])


sum_ = _several("Sum", 13, (1, 6, 8), "add", np.add, operator.add)
max_ = _several("Max", 13, (1, 6, 8), "max", np.maximum, larger)
min_ = _several("Min", 13, (1, 6, 8), "min", np.minimum, smaller)


@op("Mean", 8, 13, shape=broadcast, types=FLOATS)
@op("Mean", 1, 6, shape=all_alike, types=FLOATS)
def mean(*data_0, consumed_inputs=None, out):
    """The mean of the operands, element by element."""
    def averaged(*arrays):
        *operands, out = arrays
        out[...] = _accumulated(np.add, *operands) / len(operands)
    return Later(averaged, *data_0, out)


# One operand


def _map(name: str, ranges: tuple[int, int], loop: str, plain: Callable, rule: Callable = same) -> Op:
    """An operator on every element by itself."""
    @op(name, *ranges, shape=rule, inplace=(0,))
    def each(X, *, consumed_inputs=None, out):
        return elementwise.unary(loop, X, out) or Later(plain, X, out)
    return each


neg = _map("Neg", (1, 13), "neg", np.negative, with_value(same, lambda x, **_: np.frompyfunc(operator.neg, 1, 1)(x)))
abs_ = _map("Abs", (1, 13), "abs", np.absolute)
floor = _map("Floor", (1, 13), "floor", np.floor)
ceil = _map("Ceil", (1, 13), "ceil", np.ceil)
sqrt = _map("Sqrt", (1, 13), "sqrt", np.sqrt)
reciprocal = _map("Reciprocal", (1, 13), "reciprocal", np.reciprocal)
exp = _map("Exp", (1, 13), "exp", np.exp)
log = _map("Log", (1, 13), "log", np.log)
not_ = _map("Not", (1, 1), "not", np.logical_not, with_value(same, lambda x, **_: _of_numbers(np.logical_not)(x)))


round_ = _map("Round", (11, 22), "round", np.rint)
sign = _map("Sign", (9, 13), "sign", np.sign)


@op("IsNaN", 9, 20, shape=same)
def is_nan(X, *, out):
    """Where there is no number."""
    return elementwise.unary("is_nan", X, out) or Later(np.isnan, X, out)


@op("IsInf", 10, 20, shape=same)
def is_inf(X, *, detect_negative, detect_positive, out):
    """Where there is an infinity, of the signs that are asked for."""
    return elementwise.unary("is_inf", X, out, detect_negative, detect_positive) or Later(
        lambda x, out: _through_double("is_inf", x, out, detect_negative, detect_positive), X, out)


def _through_double(loop: str, x: np.ndarray, out: np.ndarray, *settings: float) -> None:
    """A loop for a type that has none: on the same numbers as doubles."""
    made = np.empty(x.shape, "?" if out.dtype.kind == "b" else "f8")
    elementwise.unary(loop, x.astype("f8"), made, *settings)()  # type: ignore[misc]  # doubles have all of them
    out[...] = made


@op("Erf", 9, 13, shape=same, inplace=(0,))
def erf(input, *, out):
    """The error function; of whole numbers it is rounded towards zero."""
    return elementwise.unary("erf", input, out) or Later(partial(_through_double, "erf"), input, out)


def _limited_sizes(x: np.ndarray, low: np.ndarray | None = None, high: np.ndarray | None = None, **_: Any) -> Any:
    at_least = x if low is None else np.frompyfunc(larger, 2, 1)(x, low)
    return at_least if high is None else np.frompyfunc(smaller, 2, 1)(at_least, high)


@op("Clip", 1, 13, shape=with_value(same, _limited_sizes), inplace=(0,))
def clip(input, min=None, max=None, *, consumed_inputs=None, out):
    """Every element between two limits; where they cross, the upper one wins. They are numbers before version 11."""
    if isinstance(min, np.ndarray) or isinstance(max, np.ndarray):
        limits = [a for a in (min, max) if a is not None]
        return elementwise.clip(input, min, max, out) or Later(partial(_clipped, min is not None), input, *limits, out)
    low, high = -np.inf if min is None else min, np.inf if max is None else max
    return elementwise.unary("clip", input, out, low, high) or copied(input, out)


def _clipped(has_low: bool, x: np.ndarray, *rest: np.ndarray) -> None:
    *limits, out = rest
    found = np.maximum(x, limits[0]) if has_low else x
    np.minimum(found, limits[-1], out=out) if len(limits) > has_low else np.copyto(out, found)


def _chosen_sizes(condition: np.ndarray, x: np.ndarray, y: np.ndarray) -> Any:
    return np.where(condition.astype(bool), x, y)


@op("Where", 9, 16, shape=with_value(broadcast, _chosen_sizes, typed=1), inplace=(1, 2))
def where(condition, X, Y, *, out):
    """Elements of X where the condition holds, else those of Y."""
    made = None if out is None else choice.where(condition, X, Y, out)
    return made or Later(_chosen, condition, X, Y, out)


def _chosen(condition: np.ndarray, x: np.ndarray, y: np.ndarray, out: np.ndarray | None) -> Any:
    found = np.where(condition, x, y)
    if out is None:
        return found
    out[...] = found
    return None
