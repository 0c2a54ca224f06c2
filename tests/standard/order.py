"""Order along an axis."""
import numpy as np

from .case import Case, case
from .reduce import exact, wrapped


@case("TopK")
def top_k(spec):
    x = spec.data((4, 9, 2), "T", -4, 4)
    x = np.rint(x.astype(float)).astype(x.dtype)  # so that there are equals
    least = spec.has("largest")
    at = np.argsort(x.astype(float) if least else -x.astype(float), 1, kind="stable")[:, :5]
    expected = [np.take_along_axis(x, at, 1), at]
    if spec.has("k"):
        return Case([x], expected, axis=1, k=5)
    return Case([x, np.array([5])], expected, axis=1, **({"largest": 0, "sorted": 1} if least else {}))


@case("CumSum", "CumProd")
def accumulated(spec):
    x = spec.data((3, 5, 2), "T", -100, 100) if spec.dtype("T").kind in "iu" else spec.data((3, 5, 2), "T")
    fold, nothing = (np.add, 0) if spec.op == "CumSum" else (np.multiply, 1)
    due = np.full(x.shape, nothing, object if x.dtype.kind in "iu" else float)
    for i in range(4):  # exclusive, from the end
        due[:, i] = fold.reduce(exact(x)[:, i + 1:], 1)
    axis = np.array(-2, spec.dtype("T2"))
    return Case([x, axis], [wrapped(due, x.dtype)], terms=100, exclusive=1, reverse=1)
