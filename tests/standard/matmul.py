"""Products of matrices, and what else is made of matrices."""
import numpy as np
import onnx

from .case import Case, case
from .reduce import exact, wrapped


def large(spec, shape):
    """Integers whose products exceed a range."""
    dtype = spec.dtype("T")
    x = spec.data(shape, "T", -100, 100) if dtype.kind in "iu" else spec.data(shape, "T")
    if dtype.kind in "iu":
        x.flat[1::3] = np.iinfo(dtype).max
    return x


@case("MatMul")
def mat_mul(spec):
    a, b = large(spec, (2, 1, 3, 5)), large(spec, (4, 5, 2))
    return Case([a, b], [wrapped(np.matmul(exact(a), exact(b)), a.dtype)], terms=45)


@case("Gemm")
def gemm(spec):
    a, b = large(spec, (5, 3)), large(spec, (4, 5))
    plain = spec.has("broadcast") and spec.dtype("T") == np.float16  # one type with a C of full size
    c = large(spec, (3, 4) if plain else (4,))
    due = 2 * exact(a).T @ exact(b).T + -3 * exact(c)
    return Case([a, b, c], [wrapped(due, a.dtype)], terms=100, alpha=2, beta=-3, transA=1, transB=1,
                **({"broadcast": int(not plain)} if spec.has("broadcast") else {}))


@case("Einsum")
def einsum(spec):
    a, b, c = large(spec, (2, 3, 3)), large(spec, (1, 3, 4)), large(spec, (4,))
    due = np.zeros((2, 3), exact(a).dtype)
    for n in range(2):
        for i in range(3):
            due[n, i] = sum(exact(a)[n, i, i] * exact(b)[0, i, k] * exact(c)[k] for k in range(4))
    return Case([a, b, c], [wrapped(due, a.dtype)], terms=108, equation="...ii, ...ik, k -> ...i")


@case("Det")
def det(spec):
    x = spec.data((2, 3, 3), "T")
    (a, b, c), (d, e, f), (g, h, i) = np.moveaxis(x.astype(float), 0, 2)
    return Case([x], [a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)], terms=200)


def same_type(spec):
    return {"T2": spec.types["T1"]} if spec.tried == "T1" else {}


@case("EyeLike", prefer=same_type)
def eye_like(spec):
    due = np.zeros((3, 5))
    due[0, 2] = due[1, 3] = due[2, 4] = 1
    x, code = spec.data((3, 5), "T1"), onnx.helper.np_dtype_to_tensor_dtype(spec.dtype("T2"))
    return Case([x], [due], k=2, **({} if spec.tried == "T1" else {"dtype": code}))


@case("Trilu")
def trilu(spec):
    x = spec.data((2, 3, 4), "T")
    due = x.copy()
    for i in range(3):
        due[:, i, i:] = "" if x.dtype.hasobject else 0
    return Case([x, np.array(-1)], [due], exact=True, upper=0)
