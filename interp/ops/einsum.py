"""Einsum: sums of products, by an equation that names the axes."""
from __future__ import annotations

from collections import Counter
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..dims import Fact, Size
from ..kernels import gemm
from ..kernels.step import Later
from ..registry import op
from .shapes import shape_of, widest

MOST = 52  # different axes, as many as NumPy tells apart
LARGE = 1 << 14  # products, above which it pays to look for the best order


class Equation(NamedTuple):
    """The names of each operand's axes and of the result's: letters, and numbers for the axes that an ellipsis stands for."""

    operands: list[list[Any]]
    result: list[Any]

    @classmethod
    def of(cls, text: str, ranks: list[int]) -> Equation:
        """Read an equation for operands of these ranks."""
        left, arrow, right = text.replace(" ", "").partition("->")
        terms = left.split(",")
        if len(terms) != len(ranks):
            raise ValueError(f"{text!r} has {len(terms)} terms for {len(ranks)} operands")
        letters = [_letters(term, text) for term in terms]
        hidden = {rank - len(own) for own, term, rank in zip(letters, terms, ranks, strict=True) if "..." in term}
        if len(hidden) > 1 or min(hidden, default=0) < 0:
            raise ValueError(f"the ellipses in {text!r} stand for different numbers of axes of {ranks}")
        dots = list(range(max(hidden, default=0)))
        operands = [_spread(term, dots) for term in terms]
        for term, names, rank in zip(terms, operands, ranks, strict=True):
            if len(names) != rank:
                raise ValueError(f"{term!r} in {text!r} names {len(names)} axes of an operand that has {rank}")
        times = Counter(c for own in letters for c in own)
        if not arrow:
            return cls(operands, [*dots, *sorted(c for c, n in times.items() if n == 1)])
        own = _letters(right, text)
        if len(set(own)) < len(own) or not set(own) <= set(times):
            raise ValueError(f"the result of {text!r} names an axis twice, or one that no operand has")
        return cls(operands, _spread(right, dots))

    def sizes(self, shapes: list[tuple[Size, ...]]) -> dict[Any, Size]:
        """The size of each axis; where operands differ a size of 1 repeats, as an ellipsis lets it."""
        found: dict[Any, Size] = {}
        for names, shape in zip(self.operands, shapes, strict=True):
            own: dict[Any, Size] = {}
            for name, n in zip(names, shape, strict=True):
                before = own.setdefault(name, n)
                if isinstance(before, int) and isinstance(n, int) and before != n:
                    raise ValueError(f"axis {name!r} of one operand has the sizes {before} and {n}")
            for name, n in own.items():
                [found[name]] = widest([(found[name],), (n,)]) if name in found else (n,)
        return found


def _letters(term: str, text: str) -> str:
    """The letters of a term, which has nothing else but perhaps an ellipsis."""
    own = term.replace("...", "", 1)
    if own and not (own.isascii() and own.isalpha()):
        raise ValueError(f"{term!r} in {text!r} is not made of letters and an ellipsis")
    return own


def _spread(term: str, dots: list[int]) -> list[Any]:
    before, ellipsis, after = term.partition("...")
    return [*before, *(dots if ellipsis else ()), *after]


class Product(NamedTuple):
    """A sum of products of two operands as a product of matrices: which axes make batches, rows, columns, and inner sums."""

    batch: list[Any]
    rows: list[Any]
    columns: list[Any]
    inner: list[Any]

    @classmethod
    def of(cls, a: list[Any], b: list[Any], result: list[Any]) -> Product:
        """The axes of both operands, or of one, in the order in which the result has them."""
        both = [n for n in result if n in a and n in b]
        return cls(both, [n for n in result if n not in b], [n for n in result if n not in a],
                   [n for n in dict.fromkeys(a) if n in b and n not in result])

    def turned(self, names: list[Any], rows: list[Any], columns: list[Any]) -> bool | None:
        """Whether an operand lies as the transposes of these matrices; None where it lies otherwise."""
        return False if names == [*self.batch, *rows, *columns] else True if names == [*self.batch, *columns, *rows] else None


def _as_product(read: Equation, sizes: dict[Any, Any], a: np.ndarray, b: np.ndarray, out: np.ndarray) -> Any:
    """A step for operands that lie as matrices, or None; `read` has them in the order of factors."""
    names, others = read.operands
    product = Product.of(names, others, read.result)
    batch, rows, columns, inner = product
    first, second = product.turned(names, rows, inner), product.turned(others, inner, columns)
    if first is None or second is None or read.result != [*batch, *rows, *columns]:
        return None
    if any(x.shape != tuple(sizes[n] for n in own) for x, own in ((a, names), (b, others))):  # a size of 1 repeats
        return None
    lead, m, n, k = tuple(sizes[i] for i in batch), *(prod(sizes[i] for i in axes) for axes in (rows, columns, inner))
    return gemm.product(a.reshape(*lead, *((k, m) if first else (m, k))), b.reshape(*lead, *((n, k) if second else (k, n))),
                        out.reshape(*lead, m, n), transposed_a=first, transposed_b=second)


def _multiplied(read: Equation, sizes: dict[Any, Any], a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Two operands, moved so that they are matrices; what only one of them is summed over goes first."""
    names, others = read.operands
    batch, rows, columns, inner = Product.of(names, others, read.result)
    number = {name: i for i, name in enumerate(sizes)}
    a, b = (np.einsum(x, [number[n] for n in own], [number[n] for n in (*batch, *due)])
            for x, own, due in ((a, names, (*rows, *inner)), (b, others, (*inner, *columns))))
    m, n, k = (prod(sizes[i] for i in axes) for axes in (rows, columns, inner))
    a, b = a.reshape(*a.shape[:len(batch)], m, k), b.reshape(*b.shape[:len(batch)], k, n)
    made = np.empty((*(sizes[i] for i in batch), m, n), a.dtype)
    if a.dtype.kind in "iu":
        np.matmul(a, b, made)
    else:
        gemm.product(np.ascontiguousarray(a), np.ascontiguousarray(b), made)()
    order = [*batch, *rows, *columns]
    return made.reshape([sizes[i] for i in order]).transpose([order.index(i) for i in read.result])


def _computed(read: Equation, sizes: dict[Any, Any], *operands: np.ndarray) -> np.ndarray:
    """Any sum of products."""
    if len(operands) == 2:
        both = set(read.operands[0]) & set(read.operands[1]) - set(read.result)
        if all(x.shape[names.index(n)] == sizes[n] for x, names in zip(operands, read.operands, strict=True) for n in both):
            return _multiplied(read, sizes, *operands)
    number = {name: i for i, name in enumerate(sizes)}
    pairs = [part for x, names in zip(operands, read.operands, strict=True) for part in (x, [number[n] for n in names])]
    return np.einsum(*pairs, [number[n] for n in read.result], optimize=prod(sizes.values()) > LARGE)


def _summed(*operands: Fact, equation: str) -> list[Any]:
    shapes = [shape_of(x) for x in operands]
    read = Equation.of(equation, list(map(len, shapes)))
    sizes = read.sizes(shapes)
    return [tuple(sizes[name] for name in read.result)]


@op("Einsum", 12, 28, shape=_summed)
def einsum(*Inputs, equation, out):
    """The sum of the operands' products over all axes that the result does not name.

    Two operands are multiplied as matrices. Integers wrap around; 16-bit numbers are multiplied and added as 32-bit ones.
    """
    read = Equation.of(equation, [x.ndim for x in Inputs])
    sizes = read.sizes([x.shape for x in Inputs])
    if len(sizes) > MOST:
        raise ValueError(f"{equation!r} names {len(sizes)} axes; at most {MOST} are supported")
    kind = Inputs[0].dtype
    if len(Inputs) == 2 and kind.kind not in "iu":
        step = (_as_product(read, sizes, *Inputs, out)
                or _as_product(Equation(read.operands[::-1], read.result), sizes, *Inputs[::-1], out))
        if step:
            return step
    narrow = kind.itemsize == 2 and kind.kind not in "iu"

    def fill(*arrays):
        *operands, out = arrays
        with np.errstate(all="ignore"):
            out[...] = _computed(read, sizes, *(x.astype("f4") if narrow else x for x in operands))
    return Later(fill, *Inputs, out)
