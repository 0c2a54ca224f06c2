"""Local response over channels in the blocked layout, (N, C / 8, places, 8)."""
from math import prod
from .step cimport FLOAT, Run, bound, code_of, team
from .threads cimport Task, share

cdef extern from "hot/blocked_response.h" nogil:
    ctypedef struct BlockedResponse:
        Py_ssize_t channels, blocks, plane, size, before, strip, strips, margin, row
        float alpha, beta, bias
    ctypedef struct BlockedResponseCall:
        const float* x
        float* y
        const BlockedResponse* how
    ctypedef struct BlockedResponseLoops:
        Task strips
    const BlockedResponseLoops* picked "PICKED(blocked_response)"

cdef const BlockedResponseLoops* loops = picked
cdef enum:
    OCTET = 8
    ROOM = 4096   # floats that the squares of a strip take, unless those of one place are more
    WIDEST = 64   # places of a strip

cdef struct Responses:
    BlockedResponse how
    Py_ssize_t items, cost


cdef int run(void** at, const Responses* to) noexcept nogil:
    cdef BlockedResponseCall call = BlockedResponseCall(<const float*> at[0], <float*> at[1], &to.how)
    return share(team(at, 2), loops.strips, &call, to.items, to.cost)


def response(x, y, Py_ssize_t channels, Py_ssize_t size, double alpha, double beta, double bias):
    """x / (bias + alpha / size * the sum of the squares in `size` channels around it) ^ beta: a step.

    The result may stand where the input stands.
    """
    cdef Responses to
    cdef BlockedResponse* how = &to.how
    if code_of(x) != FLOAT or code_of(y) != FLOAT:
        raise TypeError(f"{x.dtype} and {y.dtype} are not both float32")
    if x.ndim < 3 or x.shape[x.ndim - 1] != OCTET or x.shape != y.shape or x.shape[1] != (channels + OCTET - 1) // OCTET:
        raise ValueError(f"{x.shape} does not have {channels} channels that respond as {y.shape}")
    if size < 1 or not y.flags.writeable:
        raise ValueError(f"a window of {size} channels, or a result that is read-only")
    how.channels, how.blocks, how.plane = channels, x.shape[1], prod(x.shape[2:x.ndim - 1])
    how.before, after = min((size - 1) // 2, channels), min(size // 2, channels)
    how.size = how.before + 1 + after
    how.margin = (after + OCTET - 1) // OCTET * OCTET
    how.row = how.blocks * OCTET + 2 * how.margin
    how.strip = max(1, min(WIDEST, ROOM // how.row, how.plane))
    how.strips = (how.plane + how.strip - 1) // how.strip
    how.alpha, how.beta, how.bias = alpha / size, beta, bias
    to.items, to.cost = x.shape[0] * how.strips, 4 + how.strip * how.blocks * 4
    return bound(<Run> run, (x, y), &to, sizeof(to), how.strip * how.row * sizeof(float))
