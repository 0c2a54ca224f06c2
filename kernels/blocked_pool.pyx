"""Pooling in the blocked layout, (N, C / 8, H, W, 8): a window slides over planes of octets."""
from .step cimport FLOAT, Run, Step, bound, code_of, team
from .threads cimport Task, share

cdef extern from "hot/blocked_pool.h" nogil:
    enum:
        BLOCKED_MAX, BLOCKED_MEAN, BLOCKED_NORM1, BLOCKED_NORM2, BLOCKED_NORM3, BLOCKED_FOLDS
    ctypedef struct BlockedPoolAxis:
        Py_ssize_t size, kernel, stride, dilation, before, after, out, first, last
    ctypedef struct BlockedPool:
        BlockedPoolAxis high, wide
        int padded
        Task task
        Py_ssize_t items, cost
    ctypedef struct BlockedPoolCall:
        const float* x
        float* y
        const BlockedPool* how
    ctypedef struct BlockedPoolLoops:
        Task rows[BLOCKED_FOLDS]
        Task planes[BLOCKED_FOLDS]
    const BlockedPoolLoops* picked "PICKED(blocked_pool)"

cdef const BlockedPoolLoops* loops = picked
LIMIT = 2 ** 60  # no sum of sizes below that overflows


def max(x, y, window):
    """The largest element of every window: a step. NaN is larger than any number."""
    return pooled(x, y, window, BLOCKED_MAX)


def mean(x, y, window, bint padded=False):
    """The mean of every window, over what it sees or, ``padded``, over the declared padding too: a step."""
    return pooled(x, y, window, BLOCKED_MEAN, padded)


def norm(x, y, window, double p):
    """The p-norm of every window, for p = 1, 2 or 3: a step."""
    if p not in (1, 2, 3):
        raise ValueError(f"no norm in the blocked layout for p = {p}, only for 1, 2 and 3")
    return pooled(x, y, window, BLOCKED_NORM1 + <int> p - 1)


cdef Step pooled(x, y, window, int fold, bint padded=False):
    cdef BlockedPool how
    if code_of(x) != FLOAT or code_of(y) != FLOAT:
        raise TypeError(f"{x.dtype} and {y.dtype} are not both float32")
    if x.ndim != 5 or x.shape[4] != 8 or y.shape != (*x.shape[:2], *window.out, 8):
        raise ValueError(f"blocks of {x.shape} do not pool to {y.shape}")
    if not y.flags.writeable:
        raise ValueError("the result's buffer is read-only")
    how.padded = padded
    lay(&how.high, x, window, 0)
    lay(&how.wide, x, window, 1)
    planes = x.shape[0] * x.shape[1]
    if whole(&how.high, padded) and whole(&how.wide, padded):
        how.task, how.items = loops.planes[fold], planes
        how.cost = 5 + how.high.size * how.wide.size * weight(fold)
    else:
        how.task, how.items = loops.rows[fold], planes * how.high.out if how.wide.out else 0
        how.cost = 5 + how.wide.out * (2 + how.high.kernel * how.wide.kernel // 2) * weight(fold)
    return bound(<Run> run, (x, y), &how, sizeof(how))


cdef int lay(BlockedPoolAxis* a, x, window, int k) except -1:
    """Write down where the windows lie along one axis; one that cannot be is refused."""
    for name in ("kernel", "stride", "dilation", "before", "after", "out"):
        if len(getattr(window, name)) != 2:
            raise ValueError(f"{name} has {len(getattr(window, name))} entries for 2 spatial axes")
    a.size, a.kernel, a.stride, a.dilation = x.shape[2 + k], window.kernel[k], window.stride[k], window.dilation[k]
    a.before, a.after, a.out = window.before[k], window.after[k], window.out[k]
    if a.kernel < (1 if a.size else 0) or a.stride < 1 or a.dilation < 1 or a.before < 0 or a.after < 0 or a.out < 0:
        raise ValueError(f"axis {2 + k}: no window has {window}")
    if a.out * window.stride[k] + a.kernel * window.dilation[k] + a.size + a.before + a.after > LIMIT:
        raise ValueError(f"axis {2 + k}: {window} is too large")
    reach = (a.kernel - 1) * a.dilation + 1
    a.first = min(a.out, (a.before + a.stride - 1) // a.stride)
    a.last = 0 if a.size + a.before < reach else min(a.out, (a.size + a.before - reach) // a.stride + 1)
    a.last = a.last if a.last > a.first else a.first
    return 0


cdef bint whole(const BlockedPoolAxis* a, bint padded) noexcept:
    """Whether there is one window along an axis and it sees all of it, no more and no less."""
    return (a.kernel == a.size and a.out == 1 and not a.before and (a.dilation == 1 or a.kernel == 1)
            and not (padded and a.after))


cdef Py_ssize_t weight(int fold) noexcept:
    """What an octet costs, roughly, beside one of a maximum."""
    return 8 if fold == BLOCKED_NORM3 else 1


cdef int run(void** at, const BlockedPool* how) noexcept nogil:
    cdef BlockedPoolCall call = BlockedPoolCall(<const float*> at[0], <float*> at[1], how)
    return share(team(at, 2), how.task, &call, how.items, how.cost)
