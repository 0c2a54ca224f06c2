"""Between NCHW and the blocked layout: octets of channels, (N, C / 8, H, W, 8)."""
from math import prod
from .step cimport FLOAT, OK, Run, Step, bound, code_of, team
from .threads cimport Task, share

cdef extern from "hot/blocked_layout.h" nogil:
    ctypedef struct BlockedLayoutLoops:
        void (*block)(const float** planes, float* octets, Py_ssize_t count, Py_ssize_t present) noexcept nogil
        void (*unblock)(const float* octets, float** planes, Py_ssize_t count, Py_ssize_t present) noexcept nogil
    const BlockedLayoutLoops* picked "PICKED(blocked_layout)"

cdef const BlockedLayoutLoops* loops = picked
cdef enum:
    OCTET = 8
    PIECE = 1024  # places that are moved by one call


cdef struct Blocks:
    Py_ssize_t channels, groups, blocks, plane, pieces, count
    bint back

cdef struct Blocking:
    float* planes
    float* octets
    const Blocks* how


cdef int some_pieces(const Blocking* on, Py_ssize_t begin, Py_ssize_t end, void* scratch) noexcept nogil:
    cdef const Blocks* how = on.how
    cdef Py_ssize_t i, k, c, block, first, count, present
    cdef (float*)[OCTET] planes
    cdef float* octets
    for i in range(begin, end):
        block, first = i // how.pieces, i % how.pieces * PIECE
        octets, count = on.octets + (block * how.plane + first) * OCTET, min(<Py_ssize_t> PIECE, how.plane - first)
        present = min(<Py_ssize_t> OCTET, how.channels - block % how.blocks * OCTET)
        for k in range(present):
            c = block % how.blocks * OCTET + k
            c = c % how.groups * (how.channels // how.groups) + c // how.groups
            planes[k] = on.planes + (block // how.blocks * how.channels + c) * how.plane + first
        if how.back:
            loops.unblock(octets, planes, count, present)
        else:
            loops.block(<const float**> planes, octets, count, present)
    return OK


cdef int moved(void** at, const Blocks* how) noexcept nogil:
    cdef Blocking on = Blocking(<float*> at[how.back], <float*> at[not how.back], how)
    return share(team(at, 2), <Task> some_pieces, &on, how.count, 4 + min(how.plane, <Py_ssize_t> PIECE) * 2)


cdef Step between(plain, blocked, bint back, Py_ssize_t groups):
    """The step that fills one of both from the other."""
    cdef Blocks how
    if code_of(plain) != FLOAT or code_of(blocked) != FLOAT:
        raise TypeError(f"{plain.dtype} and {blocked.dtype} are not both float32")
    if plain.ndim < 2 or blocked.shape != (plain.shape[0], -(-plain.shape[1] // OCTET), *plain.shape[2:], OCTET):
        raise ValueError(f"{plain.shape} has no blocks {blocked.shape}")
    if groups < 1 or plain.shape[1] % groups:
        raise ValueError(f"{plain.shape[1]} channels are not {groups} groups")
    if not (plain if back else blocked).flags.writeable:
        raise ValueError("the result's buffer is read-only")
    how.back, how.groups = back, groups
    how.channels, how.blocks, how.plane = plain.shape[1], blocked.shape[1], prod(plain.shape[2:])
    how.pieces = (how.plane + PIECE - 1) // PIECE
    how.count = blocked.shape[0] * how.blocks * how.pieces
    return bound(<Run> moved, (blocked, plain) if back else (plain, blocked), &how, sizeof(how))


def block(x, y, Py_ssize_t groups=1):
    """Planes of channels as octets, with zeros for the channels that the last of them lacks: a step.

    Of several groups of channels the first channels come first, then the second ones, and so on.
    """
    return between(x, y, False, groups)


def unblock(x, y):
    """Octets as planes of channels: a step."""
    return between(y, x, True, 1)
