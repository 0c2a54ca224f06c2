"""Weights: packed once a session, copied where C code needs them aligned, let go where they can be read again from a file."""
from __future__ import annotations

import mmap
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

PIECE = 1 << 24  # bytes that are copied before what they were copied from is let go


class Packing:
    """What is made of constants, such as packed weights: once a session, for all its programs."""

    def __init__(self) -> None:
        self._constants: dict[int, Any] = {}
        self._made: dict[tuple[Any, ...], Any] = {}
        self._aligned: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def own(self, constants: Iterable[Any]) -> None:
        """Let these arrays be known as constants."""
        self._constants |= {id(c): c for c in constants}

    def __call__(self, make: Callable[..., Any], array: np.ndarray, *settings: Any) -> Any:
        """``make(array, *settings)`` where the array is a constant, else the array; the same for settings that are equal."""
        if id(array) not in self._constants:
            return array
        key = id(array), make, *settings
        if key not in self._made:
            self._made.setdefault(key, make(aligned(array), *settings))
            let_go(array)
        return self._made[key]

    def has_packed(self, array: np.ndarray) -> bool:
        """Whether anything was made of an array."""
        return any(key[0] == id(array) for key in list(self._made))

    def aligned(self, array: np.ndarray) -> np.ndarray:
        """A constant as C code can read it; where that is a copy, there is one of it."""
        if array.flags.aligned:
            return array
        found = self._aligned.get(id(array))
        if found is None:
            found = self._aligned.setdefault(id(array), (array, aligned(array)))
        return found[1]


def aligned(array: np.ndarray) -> np.ndarray:
    """The array, or a copy where it lies as a file has it; what was copied is let go piece by piece."""
    if array.flags.aligned:
        return array
    made = np.empty(array.shape, array.dtype)
    source, target = (np.ascontiguousarray(a).reshape(-1).view(np.uint8) for a in (array, made))
    for at in range(0, source.size, PIECE):
        target[at:at + PIECE] = source[at:at + PIECE]
        let_go(source[at:at + PIECE])
    made.flags.writeable = False
    return made


def let_go(array: Any) -> None:
    """Free the memory in which an array of a mapped file was read; who looks at it again has it read again."""
    holder = array
    while isinstance(holder, np.ndarray):
        holder = holder.base
    holder = holder.obj if isinstance(holder, memoryview) else holder
    if isinstance(holder, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED") and array.nbytes >= mmap.PAGESIZE:
        start = array.ctypes.data - np.frombuffer(holder, np.uint8).ctypes.data
        first, last = -(-start // mmap.PAGESIZE), (start + array.nbytes) // mmap.PAGESIZE
        if last > first:
            holder.madvise(mmap.MADV_DONTNEED, first * mmap.PAGESIZE, (last - first) * mmap.PAGESIZE)


def give_back() -> None:
    """Have the C library return memory that is free to the system, where it does so when asked only (glibc)."""
    import ctypes

    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):  # another C library, or none to be opened this way
        return
