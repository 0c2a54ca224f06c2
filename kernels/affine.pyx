"""Scale and shift by channel with an activation behind, of planes or in the blocked layout."""
from math import prod
from .activate cimport Activation, activation as named
from .step cimport FLOAT, OK, Run, Step, bound, code_of, team
from .threads cimport Task, share

cdef extern from "hot/affine.h" nogil:
    ctypedef void (*Affine)(const float* x, float* y, Py_ssize_t n, const float* scale, const float* shift,
                            const Activation* activation) noexcept nogil
    ctypedef struct AffineLoops:
        Affine octets
    const AffineLoops* picked "PICKED(affine)"

cdef const AffineLoops* loops = picked
cdef enum:
    OCTET = 8
    PIECE = 8192  # elements that one call does

cdef struct Scales:
    Activation activation
    Py_ssize_t planes, plane, pieces, count  # planes until the scales repeat, their elements
    bint blocked, shifted

cdef struct Scaling:
    const float* x
    const float* scale
    const float* shift
    float* y
    const Scales* how


cdef int some_pieces(const Scaling* on, Py_ssize_t begin, Py_ssize_t end, void* scratch) noexcept nogil:
    cdef const Scales* how = on.how
    cdef Py_ssize_t i, k, plane, at, first
    cdef float[OCTET] scale, shift
    for i in range(begin, end):
        plane, first = i // how.pieces, i % how.pieces * PIECE
        for k in range(OCTET):
            at = plane % how.planes * OCTET + k if how.blocked else plane % how.planes
            scale[k], shift[k] = on.scale[at], on.shift[at] if how.shifted else 0
        at = plane * how.plane + first
        loops.octets(on.x + at, on.y + at, min(<Py_ssize_t> PIECE, how.plane - first), scale, shift, &how.activation)
    return OK


cdef int scaled(void** at, const Scales* how) noexcept nogil:
    cdef int last = 3 if how.shifted else 2
    cdef Scaling on = Scaling(<const float*> at[0], <const float*> at[1], <const float*> at[2], <float*> at[last], how)
    return share(team(at, last + 1), <Task> some_pieces, &on, how.count, 4 + min(how.plane, <Py_ssize_t> PIECE) // 4)


def channels(x, scale, shift, y, bint blocked=False, activation="", double alpha=0, double beta=0) -> Step:
    """activation(x * scale + shift) with one scale and shift, or no shift, for each channel of (N, C, …), or of
    (N, C / 8, …, 8), the same for the whole batch or one for each of it: a step."""
    cdef Scales how
    arrays = (x, scale, y) if shift is None else (x, scale, shift, y)
    for a in arrays:
        if code_of(a) != FLOAT:
            raise TypeError(f"channels of {a.dtype} are not scaled, only those of float32")
    if x.shape != y.shape or x.ndim < 2 or (blocked and (x.ndim < 3 or x.shape[x.ndim - 1] != OCTET)):
        raise ValueError(f"the channels of {x.shape} cannot be scaled to {y.shape}")
    due = x.shape[1] * (OCTET if blocked else 1)
    for a in (scale, shift):
        if a is not None and a.size not in (due, x.shape[0] * due) or a is not None and a.size != scale.size:
            raise ValueError(f"{a.size} numbers for the channels of {x.shape}")
    if not y.flags.writeable:
        raise ValueError("the result's buffer is read-only")
    named(&how.activation, activation, alpha, beta)
    how.blocked, how.shifted, how.plane = blocked, shift is not None, prod(x.shape[2:])
    how.planes = scale.size // OCTET if blocked else scale.size
    how.pieces = (how.plane + PIECE - 1) // PIECE
    how.count = x.shape[0] * x.shape[1] * how.pieces
    return bound(<Run> scaled, arrays, &how, sizeof(how))
