"""What is known before a run: sizes as numbers or names, arithmetic on them, and facts of values."""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import count
from math import prod
from typing import Any

import numpy as np

from .record import record
from .types import DTYPE

_FOLD: dict[str, Callable[..., int]] = {"//": lambda a, b: a // b, "min": min, "max": max, "%": lambda a, b: a % b,
                                        "": lambda a: a}
_fresh = count()
LONGEST = 400  # characters of a text, beyond which something short stands for it
MOST_TERMS = 64  # of a polynomial; beyond, it is one opaque size
NO_NAMES: frozenset[str] = frozenset()
DEEPEST = 50  # levels of folds that are worked out from the outside in


class Dim:
    """A size that a signature settles: a polynomial over names and over quotients, least and largest of sizes.

    Two with the same text are the same size, so `N*4//4 == N` and `a+b-a == b`.
    """

    __slots__ = ("terms", "text", "depth", "_names")

    def __init__(self, terms: dict[tuple[_Atom, ...], int]):
        self.terms = terms
        self.text = _text(terms)
        self.depth: int = max([a.depth for atoms in terms for a in atoms], default=0)
        self._names: frozenset[str] | None = None

    def __repr__(self) -> str:
        return self.text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dim) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __add__(self, other: Size) -> Size:
        return _sum(self, other, 1)

    __radd__ = __add__

    def __sub__(self, other: Size) -> Size:
        return _sum(self, other, -1)

    def __rsub__(self, other: Size) -> Size:
        return _sum(other, self, -1)

    def __neg__(self) -> Size:
        return self * -1

    def __mul__(self, other: Size) -> Size:
        terms: Counter = Counter()
        for a, m in self.terms.items():
            for b, n in _terms(other).items():
                terms[tuple(sorted(a + b, key=str))] += m * n
        return _size(terms)

    __rmul__ = __mul__

    def __floordiv__(self, other: Size) -> Size:
        return divided(self, other)

    def __rfloordiv__(self, other: Size) -> Size:
        return divided(other, self)

    def __mod__(self, other: Size) -> Size:
        exact = _exact(self, other)
        return 0 if exact is not None else _atom("%", self, other)

    def __rmod__(self, other: Size) -> Size:
        return _atom("%", other, self)

    @property
    def names(self) -> frozenset[str]:
        """The names that this size depends on."""
        if self._names is None:
            self._names = frozenset().union(*(a.names for atoms in self.terms for a in atoms))
        return self._names


Size = int | Dim


class _Atom:
    """A name, a fold of two sizes that is no polynomial, or a size whose text is too long."""

    __slots__ = ("text", "fold", "of", "names", "depth")

    def __init__(self, text: str, fold: str = "", of: tuple[Size, ...] = ()):
        self.text, self.fold, self.of = text, fold, of
        inner = [d for d in of if isinstance(d, Dim)]
        self.names: frozenset[str] = frozenset().union(*(d.names for d in inner)) if of else frozenset((text,))
        self.depth: int = 1 + max([d.depth for d in inner], default=0) if of else 0

    def __str__(self) -> str:
        return self.text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Atom) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


def named(name: str) -> Dim:
    """The size that a model calls by this name."""
    return Dim({(_Atom(name),): 1})


def fresh() -> Dim:
    """A size that only the data tell."""
    return named(f"?{next(_fresh)}")


def smaller(a: Size, b: Size) -> Size:
    """`min` that also knows names."""
    return min(a, b) if isinstance(a, int) and isinstance(b, int) else a if a == b else _atom("min", a, b)


def larger(a: Size, b: Size) -> Size:
    """`max` that also knows names."""
    return max(a, b) if isinstance(a, int) and isinstance(b, int) else a if a == b else _atom("max", a, b)


def divided(a: Size, b: Size) -> Size:
    """`a // b`, exact where every term divides."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    exact = _exact(a, b)
    return _atom("//", a, b) if exact is None else exact


def never_negative(size: Size) -> bool:
    """Whether a size is 0 or more whatever its names come to."""
    if not isinstance(size, Dim):
        return size >= 0
    return all(n >= 0 and all(map(_above, atoms)) for atoms, n in size.terms.items())


def _above(atom: _Atom) -> bool:
    return (any if atom.fold == "max" else all)(map(never_negative, atom.of))


def size_of(shape: tuple[Size, ...]) -> Size:
    """How many elements a shape has."""
    return prod(shape, start=1)


def names(shape: tuple[Size, ...]) -> frozenset[str]:
    """The names that a shape depends on."""
    named = [d.names for d in shape if isinstance(d, Dim)]
    return frozenset().union(*named) if named else NO_NAMES


def number(size: Size, known: dict[str, int]) -> int:
    """What a size comes to where `known` has the numbers of names; what is found is added to it. KeyError for an unknown name."""
    if not isinstance(size, Dim):
        return size
    found = known.get(size.text)
    if found is None:
        if size.depth > DEEPEST:
            for d in _from_the_inside(size):
                known[d.text] = _total(d, known)
        found = known[size.text] = _total(size, known)
    return found


def substituted(size: Size, sizes: dict[str, Size]) -> Size:
    """A size with other sizes in the place of names; names that are not given stay."""
    if not isinstance(size, Dim):
        return size
    made: dict[str, Size] = {}
    for d in _from_the_inside(size):
        total: Size = 0
        for atoms, times in d.terms.items():
            product: Size = times
            for a in atoms:
                of = [made[o.text] if isinstance(o, Dim) else o for o in a.of]
                product = product * (_REFOLD[a.fold](*of) if of else sizes.get(a.text, Dim({(a,): 1})))
            total = total + product
        made[d.text] = total
    return made[size.text]


def _from_the_inside(size: Dim) -> list[Dim]:
    """A size and those that it is made of, each after its own parts."""
    found: dict[str, Dim] = {}
    todo = [size]
    while todo:
        d = todo.pop()
        if d.text not in found:
            found[d.text] = d
            todo += [o for atoms in d.terms for a in atoms for o in a.of if isinstance(o, Dim)]
    return sorted(found.values(), key=lambda d: d.depth)


def _total(size: Dim, known: dict[str, int]) -> int:
    total = 0
    for atoms, times in size.terms.items():
        for a in atoms:
            times *= _value(a, known)
        total += times
    return total


def _value(atom: _Atom, known: dict[str, int]) -> int:
    found = known.get(atom.text)
    if found is None:
        if not atom.of:
            raise KeyError(atom.text)
        found = known[atom.text] = _FOLD[atom.fold](*(number(d, known) for d in atom.of))
    return found


def _atom(fold: str, a: Size, b: Size) -> Dim:
    text = f"{fold}({a}, {b})" if fold.isalpha() else f"({a} {fold} {b})"
    return Dim({(_Atom(_shortened(text), fold, (a, b)),): 1})


def _shortened(text: str) -> str:
    """A text, or what stands for it where it is so long that sizes made of such sizes would never end."""
    return text if len(text) <= LONGEST else _stand_in(text)


def _stand_in(text: str) -> str:
    from hashlib import blake2b  # which brings OpenSSL

    return f"size#{blake2b(text.encode('utf-8', 'surrogatepass'), digest_size=12).hexdigest()}"


def _terms(size: Size) -> dict[tuple[_Atom, ...], int]:
    return size.terms if isinstance(size, Dim) else {(): int(size)}


def _size(terms: dict[tuple[_Atom, ...], int]) -> Size:
    terms = {a: n for a, n in sorted(terms.items(), key=lambda t: [str(a) for a in t[0]]) if n}
    if terms.keys() <= {()}:
        return terms.get((), 0)
    made = Dim(terms)
    if len(terms) <= MOST_TERMS and len(made.text) <= LONGEST:
        return made
    return Dim({(_Atom(_stand_in(made.text), "", (made,)),): 1})


def _sum(a: Size, b: Size, sign: int) -> Size:
    terms = Counter(_terms(a))
    for atoms, n in _terms(b).items():
        terms[atoms] += sign * n
    return _size(terms)


_REFOLD: dict[str, Callable[..., Size]] = {"//": divided, "min": smaller, "max": larger, "%": lambda a, b: a % b,
                                             "": lambda a: a}


def _exact(a: Size, b: Size) -> Size | None:
    """The quotient where every term of `a` is a multiple of the one term of `b`."""
    divisor = _terms(b)
    if len(divisor) != 1:
        return 1 if a == b else None
    [(below, m)] = divisor.items()
    terms = {}
    for atoms, n in _terms(a).items():
        rest = Counter(atoms)
        rest.subtract(below)
        if m == 0 or n % m or min(rest.values(), default=0) < 0:
            return None
        terms[tuple(sorted(rest.elements(), key=str))] = n // m
    return _size(terms)


def _text(terms: dict[tuple[_Atom, ...], int]) -> str:
    parts = []
    for atoms, n in terms.items():
        factors = [*([str(n)] if n != 1 or not atoms else []), *map(str, atoms)]
        parts.append("*".join(factors))
    return parts[0] if len(parts) == 1 and "*" not in parts[0] else "(" + " + ".join(parts) + ")"


@record(frozen=True)
class Fact:
    """What is known of a value: its ONNX type, its shape, and its data where constant or made of sizes.

    `shape` is None where not even the rank is known, and for values that are no tensors. `value` is an array; one of
    objects holds sizes that are not all numbers.
    """

    type: str
    shape: tuple[Size, ...] | None = None
    value: Any = None

    @property
    def dtype(self) -> np.dtype:
        """The NumPy type of the elements."""
        return DTYPE[self.type]

    @property
    def rank(self) -> int:
        return len(self.shape or ())

    @property
    def sizes(self) -> list[Size] | None:
        """The value as a flat list of sizes, where it is known."""
        return None if self.value is None else [d if isinstance(d, Dim) else int(d) for d in np.ravel(self.value).tolist()]
