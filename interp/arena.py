"""One block for the values between operators, and what the programs for other sizes may take over of it."""
from __future__ import annotations

from mmap import mmap
from typing import Any

import numpy as np

from .errors import RunError
from .kernels.program import Program, Room
from .record import record

LINE = 64  # bytes: every storage starts on a cache line
LARGE = 1 << 15  # bytes, from which a stand-in is mapped rather than taken from the heap


@record
class Arena:
    """A room, and where in its block so many bytes for each value lie."""

    room: Room
    start: int
    sizes: dict[str, int]
    offsets: dict[str, int]

    @classmethod
    def of(cls, sizes: dict[str, int], conflicts: dict[str, set[str]], most: int, old: Planned | None,
           beside: Planned | None) -> Arena | None:
        """An arena for values of these sizes, in the room of an old program or of one beside, where they fit.

        None where they take more than ``most``. A new room that follows one too small is larger than it needs be.
        """
        if old is not None and old.laid.sizes == sizes:
            return old.laid
        offsets, total = arranged(sizes, conflicts)
        if total > most:
            return None
        if old is not None and total + LINE <= old.room.block.nbytes <= 2 * total + LINE:
            return cls(old.room, old.laid.start, sizes, offsets)
        if beside is not None and total + LINE <= beside.room.block.nbytes:
            return cls(beside.room, beside.laid.start, sizes, offsets)
        try:
            block = np.empty((total if beside is None else roomy(total)) + LINE, np.uint8)
        except (MemoryError, ValueError):
            raise RunError(f"the values between the operators need {total / 2**30:.1f} GiB at once, more than there is") from None
        return cls(Room(block), -block.ctypes.data % LINE, sizes, offsets)


class Planned(Program):
    """A program that knows where its values live, so that one for other sizes may take over what stays."""

    values: dict[str, Any]
    stands: list[Any]  # for what is fed and filled
    laid: Arena
    stage: Any = None  # what observed runs have found out of it


def lines(size: int) -> int:
    """A number of bytes in whole lines."""
    return -(-size // LINE) * LINE


def roomy(size: int) -> int:
    """A number of bytes with room to grow, so that most others of about that size come to the same."""
    step = max(1 << size.bit_length() - 3, LINE) if size > LINE else LINE
    return -(-size // step) * step


def arranged(sizes: dict[str, int], conflicts: dict[str, set[str]]) -> tuple[dict[str, int], int]:
    """Offsets for all, the largest first, each in the lowest gap between those alive beside it; and the whole size."""
    offsets: dict[str, int] = {}
    for r in sorted(sizes, key=lambda r: sizes[r], reverse=True):
        at = 0
        for low, high in sorted((offsets[c], offsets[c] + sizes[c]) for c in conflicts[r] if c in offsets):
            if low - at >= sizes[r]:
                break
            at = max(at, high)
        offsets[r] = at
    return offsets, max((offsets[r] + sizes[r] for r in sizes), default=0)


def stand_in(shape: tuple[int, ...], dtype: np.dtype, size: int) -> np.ndarray:
    """An array with an address of its own, which nobody writes to: a large one takes no memory, as no page of it is touched."""
    return np.empty(shape, dtype) if size < LARGE else np.ndarray(shape, dtype, mmap(-1, size))
