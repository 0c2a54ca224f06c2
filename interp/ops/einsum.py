"""Einsum: sums of products, by an equation that names the axes."""
from __future__ import annotations

from collections import Counter
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..dims import Fact, Size
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


def _summed(*operands: Fact, equation: str) -> list[Any]:
    shapes = [shape_of(x) for x in operands]
    read = Equation.of(equation, list(map(len, shapes)))
    sizes = read.sizes(shapes)
    return [tuple(sizes[name] for name in read.result)]


@op("Einsum", 12, 28, shape=_summed)
def einsum(*Inputs, equation):
    """The sum of the operands' products over all axes that the result does not name.

    Integers wrap around; 16-bit numbers are multiplied and added as 32-bit ones.
    """
    read = Equation.of(equation, [x.ndim for x in Inputs])
    sizes = read.sizes([x.shape for x in Inputs])
    if len(sizes) > MOST:
        raise ValueError(f"{equation!r} names {len(sizes)} axes; at most {MOST} are supported")
    number = {name: i for i, name in enumerate(sizes)}
    kind = Inputs[0].dtype
    given = [x.astype("f4") if kind.itemsize == 2 and kind.kind not in "iu" else x for x in Inputs]
    pairs = [part for x, names in zip(given, read.operands, strict=True) for part in (x, [number[n] for n in names])]
    with np.errstate(all="ignore"):
        made = np.einsum(*pairs, [number[n] for n in read.result], optimize=prod(sizes.values()) > LARGE)
    return np.asarray(made).astype(kind)
