"""Reductions: float64 formulas, and exact integers that wrap around."""
import numpy as np

from .case import Case, case


def exact(x):
    """Floats as float64, integers as Python's."""
    return x.astype(object if x.dtype.kind in "iu" else float)


def wrapped(found, dtype):
    """Integers modulo the range of their type; floats as they are."""
    found = np.asarray(found)
    bits = dtype.itemsize * 8
    return (found % 2**bits).astype(f"u{dtype.itemsize}").view(dtype) if dtype.kind in "iu" else found.astype(float)


def cut(found, dtype):
    """Real results of integers are cut off towards zero."""
    return np.trunc(found).astype(dtype) if dtype.kind in "iu" else found


def along(spec, x, axes, expected, terms=None, **attributes):
    """A case whose axes are an input or an attribute, as the version has them."""
    by_input = not spec.has("axes")
    given = {**attributes, **({"noop_with_empty_axes": 0} if by_input else {"axes": axes})}
    return Case([x, np.array(axes, "i8")] if by_input else [x], [expected], terms=terms, keepdims=0, **given)


def large(spec):
    """Numbers of which sums and products of integers exceed a range."""
    dtype = spec.dtype("T")
    x = spec.data((3, 4, 5), "T", -3 if dtype.kind == "f" or dtype.kind == "V" else -100, 3)
    if dtype.kind in "iu":
        x[1, :, 2] = np.iinfo(dtype).max
        x[2, :, 0] = np.iinfo(dtype).min
    return x


@case("ReduceSum", "ReduceSumSquare", "ReduceL1")
def sums(spec):
    x = large(spec)
    term = {"ReduceSum": lambda v: v, "ReduceSumSquare": lambda v: v * v, "ReduceL1": abs}[spec.op]
    return along(spec, x, [0, 2], wrapped(term(exact(x)).sum((0, 2)), x.dtype), terms=None if x.dtype.kind in "iu" else 150)


@case("ReduceProd")
def products(spec):
    x = large(spec)
    return along(spec, x, [1], wrapped(exact(x).prod(1), x.dtype))


@case("ReduceMean")
def means(spec):
    x = large(spec)
    if x.dtype.kind not in "iu":
        return along(spec, x, [-1, 1], x.astype(float).mean((1, 2)), terms=3)
    totals = exact(x).sum((1, 2))
    return along(spec, x, [-1, 1], np.array([abs(t) // 20 * (1 if t >= 0 else -1) for t in totals]).astype(x.dtype))


@case("ReduceMax", "ReduceMin")
def extremes(spec):
    x = spec.data((3, 4, 5), "T", -100, 100)
    fold = np.max if spec.op == "ReduceMax" else np.min
    return along(spec, x, [0, -1], fold(x.astype(float), (0, 2)))


@case("ReduceL2")
def norms(spec):
    x = spec.data((3, 4, 5), "T", -100, 100)
    return along(spec, x, [0], cut(np.sqrt((x.astype(float) ** 2).sum(0)), x.dtype))


@case("ReduceLogSum")
def logarithms(spec):
    x = spec.data((3, 4, 5), "T", 1, 100)
    return along(spec, x, [2], cut(np.log(x.astype(float).sum(2)), x.dtype))


@case("ReduceLogSumExp")
def logarithms_of_exponentials(spec):
    x = spec.data((3, 4, 5), "T", -20, 20)
    x[0] += x.dtype.type(70)
    return along(spec, x, [1, 2], cut(np.log(np.exp(x.astype(float)).sum((1, 2))), x.dtype))


@case("ArgMax", "ArgMin")
def positions(spec):
    x = spec.data((4, 7, 3), "T", 0, 3)
    x = np.rint(x.astype(float)).astype(x.dtype)  # so that there are several
    find = np.argmax if spec.op == "ArgMax" else np.argmin
    if not spec.has("select_last_index"):
        return Case([x], [find(x.astype(float), 1)], axis=1, keepdims=0)
    return Case([x], [6 - find(x.astype(float)[:, ::-1], 1, keepdims=True)], axis=-2, select_last_index=1)
