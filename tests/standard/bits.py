"""Bits of whole numbers by Python's own, and of any type by their bytes."""
import operator

import numpy as np
from onnx import TensorProto, helper

from ..every import plain
from .case import Case, case
from .elementwise import wrapped


def numbers(spec, shape):
    """Whole numbers over all of a type's range."""
    dtype = spec.dtype("T")
    return spec.rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype, endpoint=True)


@case("BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot")
def bitwise(spec):
    a, b = numbers(spec, (2, 3, 4)), numbers(spec, (3, 1))
    if spec.op == "BitwiseNot":
        return Case([a], [wrapped(~a.astype(object), a.dtype)])
    function = {"BitwiseAnd": operator.and_, "BitwiseOr": operator.or_, "BitwiseXor": operator.xor}[spec.op]
    return Case([a, b], [np.frompyfunc(function, 2, 1)(a.astype(object), b.astype(object)).astype(a.dtype)])


@case("BitShift")
def shift(spec):
    x, bits = numbers(spec, (2, 3, 4)), spec.dtype("T").itemsize * 8
    y = np.array([0, 1, bits - 1, bits], x.dtype)
    if x.dtype.kind == "i":
        y[1] = -1
    left = bool(spec.rng.integers(2))

    def shifted(u, n):
        n = n if 0 <= n <= bits else bits
        return u << n if left else u >> n
    return Case([x, y], [wrapped(np.frompyfunc(shifted, 2, 1)(x.astype(object), y.astype(object)), x.dtype)],
                direction="LEFT" if left else "RIGHT")


PARTNERS = {2: ["int2", "uint2"], 4: ["int4", "uint4", "float4e2m1"], 8: ["uint8", "bool"], 16: ["uint16", "bfloat16"],
            32: ["int32", "float"], 64: ["uint64", "double"], 128: ["complex128"]}


def width(kind):
    """The bits of an element, in a file."""
    whole = next((n for n, names in PARTNERS.items() if kind in names), None)
    return whole or np.dtype(helper.tensor_dtype_to_np_dtype(TensorProto.DataType.Value(kind.upper()))).itemsize * 8


def partner(spec):
    """Types go in pairs of one width."""
    mine, other = ("T2", "T1") if spec.tried == "T2" else ("T1", "T2")
    kind = plain(spec.types[mine])
    others = PARTNERS[width(kind)]
    return {other: f"tensor({next((k for k in others if k != kind), kind)})"}


@case("BitCast", prefer=partner)
def bit_cast(spec):
    source, target = spec.dtype("T1"), spec.dtype("T2")
    n = min(width(plain(spec.types["T1"])), 8)  # what ml_dtypes keeps in a byte leaves the upper bits zero
    raw = spec.rng.integers(0, 2 if "bool" in f"{source} {target}" else 2**n, (2, 3, source.itemsize), np.uint8)

    def check(y):
        np.testing.assert_array_equal(y.view(np.uint8).reshape(raw.shape), raw)
    return Case([raw.view(source)[..., 0]], [np.zeros((2, 3), target)], check=check,
                to=TensorProto.DataType.Value(plain(spec.types["T2"]).upper()))
