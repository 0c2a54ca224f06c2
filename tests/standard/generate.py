"""Operators that make values."""
import numpy as np
from onnx import helper

from .case import Case, case, dtype_of


@case("Constant")
def constant(spec):
    """A tensor of the type; where a version has attributes that hold plain values, of three types, those."""
    kind = spec.types["T"]
    if spec.has("value_float") and kind in PLAIN:
        name, value, due = PLAIN[kind][spec.version % 2]
        return Case([], [due], exact=True, **{name: value})
    x = spec.data((2, 3))
    if spec.has("sparse_value") and kind in ("tensor(double)", "tensor(int32)"):
        held = helper.make_tensor("v", helper.np_dtype_to_tensor_dtype(x.dtype), [2], x[0, :2])
        at = helper.make_tensor("i", helper.np_dtype_to_tensor_dtype(np.dtype("i8")), [2], [1, 5])
        y = np.zeros((2, 3), x.dtype)
        y.ravel()[[1, 5]] = x[0, :2]
        return Case([], [y], exact=True, sparse_value=helper.make_sparse_tensor(held, at, [2, 3]))
    return Case([], [x], exact=True, value=x)


PLAIN = {"tensor(float)": [("value_float", 0.5, np.float32(0.5)), ("value_floats", [0.5, -1], np.float32([0.5, -1]))],
         "tensor(int64)": [("value_int", -3, np.int64(-3)), ("value_ints", [2**40, 0], np.int64([2**40, 0]))],
         "tensor(string)": [("value_string", "été", np.array("été", object)),
                            ("value_strings", ["a", ""], np.array(["a", ""], object))]}


@case("ConstantOfShape")
def constant_of_shape(spec):
    value = spec.data((1,), "T2")
    return Case([np.array([2, 0, 3] if spec.version == 20 else [2, 1, 3])],
                [np.full((2, 0, 3) if spec.version == 20 else (2, 1, 3), value[0], value.dtype)], value=value)


@case("Range")
def range_(spec):
    start, limit, delta = (5, -6, -2) if dtype_of(spec.types["T"]).kind == "i" else (-0.5, 3, 0.75)
    count = int(np.ceil((limit - start) / delta))
    due = np.array([start + i * delta for i in range(count)])
    return Case([np.array(n, spec.dtype("T")) for n in (start, limit, delta)], [due])


@case("OneHot", prefer={"T1": "tensor(int64)", "T2": "tensor(int64)"})
def one_hot(spec):
    """A negative index counts from the end since version 11; before, and beyond the depth, it is no class."""
    at = np.array([[0, 3, 2], [5, 1, 4]])
    if spec.dtype("T1").kind != "u":
        at[0, 1] = -1
    values = spec.array((2,), spec.types["T3"])
    y = np.full((2, 4, 3), values[0], values.dtype)
    for i, j in np.ndindex(at.shape):
        k = at[i, j] + 4 if at[i, j] < 0 and spec.version >= 11 else at[i, j]
        if 0 <= k < 4:
            y[i, k, j] = values[1]
    return Case([at.astype(spec.dtype("T1")), np.array(4, spec.dtype("T2")), values], [y], axis=1, exact=True)
