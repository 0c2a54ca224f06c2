"""Arithmetic, comparisons, logic, limits and choice: formulas in float64, and Python's own whole numbers."""
import math

import numpy as np

from .case import Case, case

A, B = (2, 3, 4), (3, 1)  # shapes that broadcast to the first


def wide(x):
    """Numbers in float64, whole ones as Python has them, without an end."""
    return x.astype(object) if x.dtype.kind in "iu" else x if x.dtype.kind in "bO" else x.astype(float)


def wrapped(values, dtype):
    """Whole numbers cut to the bits of a type."""
    bits = np.iinfo(dtype).bits
    flat = [int(v) % 2**bits for v in np.ravel(values)]
    flat = [v - 2**bits if dtype.kind == "i" and v >= 2**(bits - 1) else v for v in flat]
    return np.array(flat, dtype).reshape(np.shape(values))


def cut(values, dtype):
    return wrapped(values, dtype) if dtype.kind in "iu" else values


def operands(spec, low=-3.0, high=3.0):
    """Two operands, and the second one as the first sees it; before version 7 it is placed by attributes."""
    a = spec.data(A, "T", low, high)
    if not spec.has("broadcast"):
        b = spec.data(B, "T", low, high)
        return a, b, b, {}
    b = spec.data((2, 3), "T", low, high)
    return a, b, b[:, :, None], {"broadcast": 1, "axis": 0}


FORMULAS = {
    "Add": lambda a, b: a + b, "Sub": lambda a, b: a - b, "Mul": lambda a, b: a * b,
    "Less": np.less, "Greater": np.greater, "LessOrEqual": np.less_equal, "GreaterOrEqual": np.greater_equal, "Equal": np.equal,
    "And": np.logical_and, "Or": np.logical_or, "Xor": np.logical_xor}


@case("Add", "Sub", "Mul")
def arithmetic(spec):
    a, b, placed, how = operands(spec, -100, 300)
    return Case([a, b], [cut(FORMULAS[spec.op](wide(a), wide(placed)), spec.dtype("T"))], **how)


@case("Less", "Greater", "LessOrEqual", "GreaterOrEqual", "Equal", "And", "Or", "Xor")
def truths(spec):
    a, b, placed, how = operands(spec)
    a.flat[:6] = placed.flat[0]
    if a.dtype.kind == "f":
        a.flat[0] = np.nan
    return Case([a, b], [FORMULAS[spec.op](wide(a), wide(placed)).astype(bool)], **how)


@case("Div")
def quotient(spec):
    a, b, placed, how = operands(spec, -100, 100)
    placed[placed == 0] = 7
    b = placed.reshape(b.shape)
    if a.dtype.kind in "iu":
        return Case([a, b], [np.frompyfunc(lambda u, v: abs(u) // abs(v) * (1 if (u < 0) == (v < 0) else -1), 2, 1)(
            wide(a), wide(placed)).astype(a.dtype)], **how)
    return Case([a, b], [wide(a) / wide(placed)], **how)


@case("Mod")
def rest(spec):
    a, b = spec.data(A, "T", -50, 50), spec.data(B, "T", 2, 9)
    if a.dtype.kind not in "u":
        b[1] = -b[1]
    whole = a.dtype.kind in "iu"
    if whole and spec.rng.integers(2) or spec.version == 28:
        return Case([a, b], [cut(np.mod(wide(a), wide(b)), a.dtype)])
    if whole:
        return Case([a, b], [np.frompyfunc(lambda u, v: abs(u) % abs(v) * (1 if u >= 0 else -1), 2, 1)(
            wide(a), wide(b)).astype(a.dtype)], fmod=1)
    return Case([a, b], [np.fmod(wide(a), wide(b))], fmod=1, exact=True)


def power(u, v):
    """u to the v; of whole numbers what is left of a fraction goes."""
    if isinstance(u, int) and isinstance(v, int) and v >= 0:
        return u**v
    return math.trunc(float(u)**float(v)) if isinstance(u, int) else float(u)**float(v)


@case("Pow")
def powers(spec):
    exponents = "T1" if "T1" in spec.types else "T"
    base = spec.data(A, "T", 1, 20)
    if spec.has("broadcast"):
        y = spec.data((3,), exponents, -2, 3)
        return Case([base, y], [np.power(wide(base), wide(y)[:, None])], broadcast=1, axis=1)
    both_whole = base.dtype.kind in "iu" and spec.dtype(exponents).kind in "iu"
    y = spec.data(B, exponents, -2, 20 if both_whole else 3)
    found = np.frompyfunc(power, 2, 1)(wide(base), wide(y))
    return Case([base, y], [cut(found, base.dtype) if base.dtype.kind in "iu" else found.astype(float)])


# Several operands


def several(spec):
    shapes = [A, B, (4,)] if spec.version >= 8 else [A] * 3
    return [spec.data(s, "T", -9, 9) for s in shapes]


@case("Max", "Min")
def extremes(spec):
    x = several(spec)
    if x[0].dtype.kind not in "iu":
        x[1].flat[0] = np.nan
    fold = np.maximum if spec.op == "Max" else np.minimum
    return Case(x, [cut(fold(fold(wide(x[0]), wide(x[1])), wide(x[2])), x[0].dtype)], exact=True)


@case("Sum", "Mean")
def sums(spec):
    x = several(spec)
    total = wide(x[0]) + wide(x[1]) + wide(x[2])
    return Case(x, [total / 3 if spec.op == "Mean" else total], terms=27)


# One operand


def signed(v):
    return v if math.isnan(v) else (v > 0) - (v < 0)


UNARY = {
    "Abs": np.abs, "Neg": np.negative, "Ceil": np.ceil, "Floor": np.floor, "Round": np.rint, "Not": np.logical_not,
    "Sign": lambda x: np.frompyfunc(signed, 1, 1)(x)}


@case("Abs", "Neg", "Ceil", "Floor", "Round", "Not", "Sign")
def exactly(spec):
    x = spec.data(A, "T", -5, 5)
    if x.dtype.kind in "iu":
        x.flat[:3] = [np.iinfo(x.dtype).min, np.iinfo(x.dtype).max, 0]
        return Case([x], [cut(UNARY[spec.op](wide(x)), x.dtype)])
    if x.dtype.kind != "b":
        x.flat[:9] = [0, -2.5, 2.5, 3.5, -0.5, np.inf, -np.inf, np.nan, -0.0]
    return Case([x], [UNARY[spec.op](wide(x)).astype(bool if x.dtype.kind == "b" else float)], exact=True)


@case("Exp", "Log", "Sqrt", "Reciprocal")
def functions(spec):
    x = spec.data(A, "T", *((-8, 8) if spec.op == "Exp" else (0.1, 40)))
    function = {"Exp": np.exp, "Log": np.log, "Sqrt": np.sqrt, "Reciprocal": np.reciprocal}[spec.op]
    return Case([x], [function(wide(x))])


@case("Erf")
def error_function(spec):
    x = spec.data(A, "T", -8, 8)
    found = np.vectorize(math.erf)(x.astype(float))
    return Case([x], [np.trunc(found).astype(x.dtype) if x.dtype.kind in "iu" else found])


@case("IsNaN", "IsInf")
def odd_ones(spec):
    x = spec.data(A, "T1", 0.5, 3)
    x.flat[:5] = np.array([np.nan, np.inf, -np.inf, 0, 1]).astype(x.dtype)  # some types have none, or one NaN for all
    v = x.astype(float)
    if spec.op == "IsNaN":
        return Case([x], [v != v])
    return Case([x], [v == np.inf], detect_negative=0)


@case("Clip")
def limited(spec):
    x = spec.data(A, "T", -9, 9)
    low, high = x.dtype.type(2 if x.dtype.kind == "u" else -4), x.dtype.type(5)
    if spec.has("min"):
        return Case([x], [np.clip(wide(x), -4, 5)], min=-4.0, max=5.0, exact=True)
    found = np.minimum(np.maximum(wide(x), wide(np.asarray(low))), wide(np.asarray(high)))
    return Case([x, np.array(low), np.array(high)], [cut(found, x.dtype)], exact=True)


@case("Where")
def chosen(spec):
    condition = spec.array((2, 1, 4), "tensor(bool)")
    x, y = spec.data(A, "T"), spec.data(B, "T")
    return Case([condition, x, y], [np.where(condition, x, y)], exact=True)


@case("Identity")
def itself(spec):
    x = spec.data(A, "V" if "V" in spec.types else "T")
    return Case([x], [x], exact=True)


@case("Dropout")
def dropout(spec):
    """Without training it is the input; the share of what is left out is tested beside it."""
    x = spec.data(A, "T", 0.5, 3)
    first = 1 if spec.version >= 10 else x.dtype.type(1)
    mask = np.full(A, first, bool if spec.version >= 10 else x.dtype)
    if spec.has("is_test"):
        return Case([x], [x, mask], is_test=1, ratio=0.25, exact=True)
    if spec.has("ratio"):
        return Case([x], [x, mask], ratio=0.25, exact=True)
    if spec.tried != "T1":
        return Case([x, None, np.array(False)], [x, mask], exact=True)

    def scaled(y, kept):
        ratio = 0.5
        assert 0 < kept.sum() < kept.size
        np.testing.assert_array_equal(y, np.where(kept, x / (1 - ratio), 0).astype(y.dtype))
    return Case([x, spec.array((), spec.types["T1"], 0.5, 0.5), np.array(True)], [x, mask], check=scaled, seed=3)
