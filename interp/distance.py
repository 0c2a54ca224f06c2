"""How far two tensors are apart: worked out piece by piece, so that it takes no memory to speak of beside them."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .types import type_of

PIECE = 1 << 15  # elements that are looked at together
RTOL, ATOL = 1e-3, 1e-5  # of floats, where the caller says nothing; the second times the largest number that is due
ULPS = 4  # spacings of the type that are allowed in any case where the caller says nothing
SPACING = {"tensor(float16)": 2.0**-10, "tensor(bfloat16)": 2.0**-7, "tensor(float8e4m3fn)": 2.0**-3,
           "tensor(float8e4m3fnuz)": 2.0**-3, "tensor(float8e5m2)": 2.0**-2, "tensor(float8e5m2fnuz)": 2.0**-2}
COUNTED = (2, 4, 8)  # bytes of the float types whose spacings are counted


@dataclass(frozen=True)
class Distance:
    """How far a tensor is from the one that is due.

    ``wrong`` of ``size`` elements are beyond the tolerance, ``excess`` is the largest distance in tolerances (1 is just allowed)
    and ``first`` the index of the first that is beyond; ``different`` counts those that are not equal. ``max_abs``, ``max_rel``
    and ``mean_abs`` are over the pairs of finite numbers, ``max_rel`` over those whose due number is not 0. ``largest`` is the
    largest magnitude that is due. ``cosine`` and ``max_ulp``, in spacings of the type, are of floats, else None.
    """

    size: int
    different: int = 0
    wrong: int = 0
    excess: float = 0.0
    max_abs: float = 0.0
    max_rel: float = 0.0
    mean_abs: float = 0.0
    largest: float = 0.0
    cosine: float | None = None
    max_ulp: float | None = None
    first: tuple[int, ...] | None = None


def distance(got: np.ndarray, due: np.ndarray, rtol: float | None = None, atol: float | None = None) -> Distance:
    """How far ``got`` is from ``due``, of the same shape and type.

    An element is allowed to be ``atol + rtol * |due|`` off. By default that is 0 for integers, and for floats 1e-3 (or four
    spacings of a type that is coarser) and 1e-5 times the largest finite number due. NaN equals NaN; strings are equal or not.
    """
    x, y = np.ascontiguousarray(got).reshape(-1), np.ascontiguousarray(due).reshape(-1)
    if x.dtype.kind in "OUSb":
        return _counted(x, y, due.shape)
    largest = max((float(np.abs(b[np.isfinite(b)]).max(initial=0)) for _, b in pieces(y, y)), default=0.0)
    inexact = x.dtype.kind not in "iu" and not x.dtype.name.startswith(("int", "uint"))
    return _Sums(rtol, atol, largest, inexact, x.dtype).of(x, y, due.shape)


def tensors(name: str, value: Any) -> Iterator[tuple[str, np.ndarray]]:
    """The arrays in a value, with names: a sequence's items are name.0, name.1 …, a map's name.key."""
    if isinstance(value, np.ndarray | np.generic | float | int | str):
        yield name, np.asarray(value)
    elif value is not None:
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from tensors(f"{name}.{key}", item)


def pieces(x: np.ndarray, y: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Pairs of pieces, in a type that holds all their numbers."""
    for at in range(0, x.size, PIECE):
        yield wide(x[at:at + PIECE]), wide(y[at:at + PIECE])


def wide(array: np.ndarray) -> np.ndarray:
    """Numbers in a type that holds every integer of 64 bits, where the machine has one; float64 where that will do."""
    if array.dtype.kind == "c":
        return array.astype(np.complex128)
    return array.astype(np.longdouble if array.dtype.kind in "iu" and array.dtype.itemsize == 8 else np.float64)


def _counted(x: np.ndarray, y: np.ndarray, shape: tuple[int, ...]) -> Distance:
    """Of what can only be equal or not."""
    off = np.asarray(x != y, bool)
    wrong = int(off.sum())
    first = place(int(off.argmax()), shape) if wrong else None
    return Distance(x.size, wrong, wrong, float("inf") if wrong else 0.0, first=first)


def place(flat: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The index of an element by its number."""
    return tuple(map(int, np.unravel_index(flat, shape)))


class _Sums:
    """What is added up over the pieces."""

    def __init__(self, rtol: float | None, atol: float | None, largest: float, inexact: bool, dtype: np.dtype):
        spacing = SPACING.get(type_of(np.empty(0, dtype)), 0.0)
        self.rtol = rtol if rtol is not None else max(RTOL, ULPS * spacing) if inexact else 0.0
        self.atol = atol if atol is not None else ATOL * largest if inexact else 0.0
        self.largest, self.inexact, self.dtype = largest, inexact, dtype
        self.different = self.wrong = self.finite = 0
        self.excess = self.max_abs = self.max_rel = self.sum_abs = self.max_ulp = 0.0
        self.products = np.zeros(3)
        self.first: int | None = None

    def of(self, x: np.ndarray, y: np.ndarray, shape: tuple[int, ...]) -> Distance:
        at = 0
        with np.errstate(all="ignore"):
            for a, b in pieces(x, y):
                if not self._equal(a, b):
                    self._add(a, b, at)
                    self.max_ulp = max(self.max_ulp, ulps(x[at:at + PIECE], y[at:at + PIECE]) if self.inexact else 0.0)
                at += len(a)
        floats = self.inexact and self.dtype.kind != "c"
        return Distance(x.size, self.different, self.wrong, float(self.excess), float(self.max_abs), float(self.max_rel),
                        float(self.sum_abs / max(self.finite, 1)), self.largest, self._cosine() if floats else None,
                        self.max_ulp if floats and self.dtype.itemsize in COUNTED else None,
                        None if self.first is None else place(self.first, shape))

    def _equal(self, a: np.ndarray, b: np.ndarray) -> bool:
        """Whether two pieces of finite numbers are equal; then this is all there is to add."""
        if not (a == b).all() or not np.isfinite(a).all():
            return False
        self.finite += len(a)
        if self.inexact and self.dtype.kind != "c":
            self.products += np.square(a / (self.largest or 1.0)).sum()
        return True

    def _add(self, a: np.ndarray, b: np.ndarray, at: int) -> None:
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        apart = np.where(same, 0, np.abs(a - b))
        allowed = self.atol + self.rtol * np.abs(b)
        off = ~same & ~((apart <= allowed) & np.isfinite(b))
        if off.any():
            self.first = at + int(off.argmax()) if self.first is None else self.first
            self.wrong += int(off.sum())
        self.different += int((~same).sum())
        excess = np.where(apart == 0, 0, apart / allowed)
        self.excess = max(self.excess, np.where(np.isnan(excess) | off & ~np.isfinite(b), np.inf, excess).max(initial=0))
        finite = np.isfinite(a) & np.isfinite(b)
        a, b, apart = a[finite], b[finite], apart[finite]
        self.finite += len(a)
        self.sum_abs += apart.sum()
        self.max_abs = max(self.max_abs, apart.max(initial=0))
        some = b != 0
        self.max_rel = max(self.max_rel, (apart[some] / np.abs(b[some])).max(initial=0))
        if self.inexact and self.dtype.kind != "c":
            scale = self.largest or 1.0  # so that no square overflows
            a, b = a / scale, b / scale
            self.products += (a * b).sum(), (a * a).sum(), (b * b).sum()  # no BLAS: its threads wait for each other

    def _cosine(self) -> float:
        both, x, y = self.products
        return float(min(max(both / np.sqrt(x * y), -1), 1)) if x and y else float(x == y)


def ulps(x: Any, y: Any) -> float:
    """The largest distance of two arrays of one float type in spacings of it, over the pairs of finite numbers."""
    if x.dtype.kind == "c" or x.dtype.itemsize not in COUNTED:
        return 0.0
    finite = np.isfinite(x) & np.isfinite(y)
    a, b = (_ordered(v[finite]) for v in (x, y))
    return float(np.abs(a - b).max(initial=0))


def _ordered(array: np.ndarray) -> np.ndarray:
    """Floats as numbers of which neighbours differ by 1."""
    bits = np.dtype(f"i{array.dtype.itemsize}")
    found: Any = array.view(bits).astype(np.longdouble if bits.itemsize == 8 else np.int64)
    return np.where(found < 0, -2**(8 * bits.itemsize - 1) - found, found)
