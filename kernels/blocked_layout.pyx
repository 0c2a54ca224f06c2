"""Between NCHW and the blocked layout: octets of channels, (N, C / 8, H, W, 8)."""
from math import prod
from .step cimport FLOAT, OK, Run, Step, bound, code_of, team
from .threads cimport Task, share

cdef extern from "hot/blocked_layout.h" nogil:
    ctypedef void (*BlockPlaces)(const float* x, float* y, Py_ssize_t plane, Py_ssize_t count, Py_ssize_t present) noexcept nogil
    ctypedef struct BlockedLayoutLoops:
        BlockPlaces block, unblock
    const BlockedLayoutLoops* picked "PICKED(blocked_layout)"

cdef const BlockedLayoutLoops* loops = picked
cdef enum:
    OCTET = 8
    PIECE = 1024  # places that are moved by one call


cdef struct Blocks:
    BlockPlaces move
    Py_ssize_t channels, blocks, plane, pieces, count
    bint back

cdef struct Blocking:
    const float* x
    float* y
    const Blocks* how


cdef int some_pieces(const Blocking* on, Py_ssize_t begin, Py_ssize_t end, void* scratch) noexcept nogil:
    cdef const Blocks* how = on.how
    cdef Py_ssize_t i, block, first, plain, blocked, present
    for i in range(begin, end):
        block, first = i // how.pieces, i % how.pieces * PIECE
        present = min(<Py_ssize_t> OCTET, how.channels - block % how.blocks * OCTET)
        plain = (block // how.blocks * how.channels + block % how.blocks * OCTET) * how.plane + first
        blocked = (block * how.plane + first) * OCTET
        how.move(on.x + (blocked if how.back else plain), on.y + (plain if how.back else blocked), how.plane,
                 min(<Py_ssize_t> PIECE, how.plane - first), present)
    return OK


cdef int moved(void** at, const Blocks* how) noexcept nogil:
    cdef Blocking on = Blocking(<const float*> at[0], <float*> at[1], how)
    return share(team(at, 2), <Task> some_pieces, &on, how.count, 4 + min(how.plane, <Py_ssize_t> PIECE) * 2)


cdef Step between(plain, blocked, bint back):
    """The step that fills one of both from the other."""
    cdef Blocks how
    if code_of(plain) != FLOAT or code_of(blocked) != FLOAT:
        raise TypeError(f"{plain.dtype} and {blocked.dtype} are not both float32")
    if plain.ndim < 2 or blocked.shape != (plain.shape[0], -(-plain.shape[1] // OCTET), *plain.shape[2:], OCTET):
        raise ValueError(f"{plain.shape} has no blocks {blocked.shape}")
    if not (plain if back else blocked).flags.writeable:
        raise ValueError("the result's buffer is read-only")
    how.move, how.back = loops.unblock if back else loops.block, back
    how.channels, how.blocks, how.plane = plain.shape[1], blocked.shape[1], prod(plain.shape[2:])
    how.pieces = (how.plane + PIECE - 1) // PIECE
    how.count = blocked.shape[0] * how.blocks * how.pieces
    return bound(<Run> moved, (blocked, plain) if back else (plain, blocked), &how, sizeof(how))


def block(x, y):
    """Planes of channels as octets, with zeros for the channels that the last of them lacks: a step."""
    return between(x, y, False)


def unblock(x, y):
    """Octets as planes of channels: a step."""
    return between(y, x, True)
