"""Pooling: a window slides over planes, and folds what it sees."""
cimport numpy as cnp
import numpy as np
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int64_t, uint8_t, uint16_t
from .step cimport BRAIN, DOUBLE, FLOAT, HALF, INT8, UINT8, Element, Step, bound, code_of, team
from .threads cimport Task, share

cnp.import_array()

cdef extern from "hot/pool.h" nogil:
    enum:
        MAX, MEAN, NORM1, NORM2, NORM3, NORM, FOLDS, POOL_ELEMENTS, POOL_ROWS
    ctypedef struct PoolAxis:
        ptrdiff_t size, kernel, stride, dilation, before, after, out, pitch, mark
    ctypedef struct Pool:
        ptrdiff_t planes, plane, slabs, taps, tile, span, rows, items, cost
        double p
        int padded, axes, arrays
        Task task
        PoolAxis axis[62]
    ctypedef struct PoolCall:
        void** at
        const Pool* how
    ctypedef struct PoolLoops:
        Task slide[FOLDS][POOL_ELEMENTS]
        Task whole[FOLDS][POOL_ELEMENTS]
        Task indices[POOL_ELEMENTS]
    const PoolLoops* picked "PICKED(pool)"

cdef const PoolLoops* loops = picked

# Elements as they lie in memory: 16-bit ones as their bits.
ctypedef fused cell:
    float
    double
    uint16_t
    int8_t
    uint8_t

cdef enum:
    ROW = 4096      # what row buffers have at the most, to stay in the first cache, unless one window is longer
    SLACK = 192     # bytes past its end that vectors may touch

LIMIT = 2 ** 60     # no sum of sizes below that overflows


def max(x, y, window, indices=None, bint column_major=False):
    """The largest element of every window, and where it is, counted over the whole tensor: a step.

    NaN is larger than any number. A window that sees nothing gives the lowest value and index -1. With ``column_major`` the
    indices count each plane as if its first axis varied fastest.
    """
    cdef Pool how
    settle(&how, x, y, window)
    if indices is None:
        return sliding(&how, x, y, MAX)
    if indices.dtype != np.int64 or indices.shape != y.shape:
        raise ValueError(f"indices are int64 of shape {y.shape}, not {indices.dtype} of {indices.shape}")
    if column_major:
        mark_columns(&how)
    how.arrays, how.task = 3, loops.indices[known(x)]
    share_rows(&how, 1)
    scratch = 2 * how.taps * sizeof(ptrdiff_t) + 64 + 8 * (how.axis[how.axes - 1].out + how.axis[how.axes - 1].size)
    cdef int64_t[::1] third = indices.reshape(-1)
    return bound(run, (x, y, indices), &how, kept(&how), scratch, (checked(x, y), third))


def mean(x, y, window, bint padded=False):
    """The mean of every window, over what it sees or, ``padded``, over the declared padding too: a step.

    A window that sees nothing, and counts nothing, has the mean NaN.
    """
    cdef Pool how
    settle(&how, x, y, window)
    how.padded = padded
    return sliding(&how, x, y, MEAN)


def norm(x, y, window, double p):
    """The p-norm of every window: a step."""
    cdef Pool how
    settle(&how, x, y, window)
    how.p = p
    return sliding(&how, x, y, NORM1 if p == 1 else NORM2 if p == 2 else NORM3 if p == 3 else NORM)


cdef int known(x) except -1:
    """The element type, one that pools know."""
    cdef int code = code_of(x)
    if code >= POOL_ELEMENTS:
        raise TypeError(f"no pool for {x.dtype}")
    return code


cdef object views(const cell[::1] x, cell[::1] y):
    return x, y


cdef object checked(x, y):
    """Typed views of both arrays, flat: a buffer that is not contiguous, not writeable or of another type is refused."""
    cdef int code = known(x)
    if x.dtype != y.dtype:
        raise TypeError(f"{y.dtype} cannot hold the pool of {x.dtype}")
    a, b = x.reshape(-1), y.reshape(-1)
    if code == HALF or code == BRAIN:
        return views[uint16_t](a.view("u2"), b.view("u2"))
    if code == FLOAT:
        return views[float](a, b)
    if code == DOUBLE:
        return views[double](a, b)
    return views[int8_t](a, b) if code == INT8 else views[uint8_t](a, b)


cdef int settle(Pool* how, x, y, window) except -1:
    """Write down where the windows lie; an array of another shape, or a window that cannot be, is refused."""
    cdef Py_ssize_t n = x.ndim - 2, lead, i
    cdef ptrdiff_t pitch = 1
    cdef PoolAxis* a
    if n < 0 or n > 60:
        raise ValueError(f"an array of {x.ndim} axes has no planes to pool")
    out = tuple(window.out)
    if y.shape != (*x.shape[:2], *out):
        raise ValueError(f"{x.shape} pools to {(*x.shape[:2], *out)}, not {y.shape}")
    for name in ("kernel", "stride", "dilation", "before", "after"):
        if len(getattr(window, name)) != n:
            raise ValueError(f"{name} has {len(getattr(window, name))} entries for {n} spatial axes")
    lead = 2 - n if n < 2 else 0
    how.axes, how.arrays, how.padded, how.p = n + lead, 2, 0, 0
    how.planes = x.shape[0] * x.shape[1]
    how.slabs = how.taps = 1
    for i in range(how.axes):
        how.axis[i] = PoolAxis(1, 1, 1, 1, 0, 0, 1, 0, 0)
    for i in range(n):
        a = &how.axis[lead + i]
        a.size, a.kernel, a.stride, a.out = x.shape[2 + i], window.kernel[i], window.stride[i], out[i]
        a.dilation, a.before, a.after = window.dilation[i], window.before[i], window.after[i]
        if a.kernel < (1 if a.size else 0) or a.stride < 1 or a.dilation < 1 or a.before < 0 or a.after < 0 or a.out < 0:
            raise ValueError(f"axis {2 + i}: no window has {window}")
        if a.out * window.stride[i] + a.kernel * window.dilation[i] + a.size + a.before + a.after > LIMIT:
            raise ValueError(f"axis {2 + i}: {window} is too large")
    for i in range(how.axes - 1, -1, -1):
        how.axis[i].pitch = how.axis[i].mark = pitch
        pitch *= how.axis[i].size
    how.plane = pitch
    for i in range(how.axes - 2):
        how.slabs *= how.axis[i].out
        how.taps *= how.axis[i].kernel if how.axis[i].kernel < how.axis[i].size else how.axis[i].size
    return 0


cdef void mark_columns(Pool* how) noexcept:
    """Count a plane with its first axis fastest."""
    cdef ptrdiff_t mark = 1
    cdef int i
    for i in range(how.axes):
        how.axis[i].mark = mark
        mark *= how.axis[i].size


cdef bint whole(const Pool* how) noexcept:
    """Whether there is one window and it sees its plane, no more and no less."""
    cdef const PoolAxis* a
    cdef int i
    for i in range(how.axes):
        a = &how.axis[i]
        if a.kernel != a.size or a.out != 1 or a.before or (a.dilation > 1 and a.kernel > 1):
            return False
        if how.padded and a.after:
            return False
    return True


cdef Step sliding(Pool* how, x, y, int fold):
    cdef int code = known(x)
    cdef PoolAxis* wide = &how.axis[how.axes - 1]
    cdef ptrdiff_t reach = (wide.kernel - 1) * wide.dilation + 1, longest
    cdef int size = 8 if code == DOUBLE or fold == NORM else 4 if code <= BRAIN else 1
    if whole(how):
        how.task, how.items = loops.whole[fold][code], how.planes
        how.cost = 5 + how.plane * weight(fold) // 16
        return bound(run, (x, y), how, kept(how), 0, checked(x, y))
    longest = ROW if reach < ROW // 4 else 4 * reach
    how.tile = (longest - reach) // wide.stride + 1
    how.tile = how.tile if how.tile < wide.out else wide.out
    how.span = ((how.tile - 1) * wide.stride + reach + SLACK // size + 63) // 64 * 64
    how.rows = between(1, ROW // how.span, POOL_ROWS)
    how.task = loops.slide[fold][code]
    share_rows(how, weight(fold))
    scratch = how.taps * sizeof(ptrdiff_t) + 64 + size * (how.span * how.rows + how.tile)
    if fold == MEAN:
        scratch += 8 * (size * how.tile + 32)
    return bound(run, (x, y), how, kept(how), scratch, checked(x, y))


cdef ptrdiff_t between(ptrdiff_t low, ptrdiff_t v, ptrdiff_t high) noexcept:
    return low if v < low else high if v > high else v


cdef ptrdiff_t weight(int fold) noexcept:
    """What an element costs, roughly, beside one of a maximum."""
    return 200 if fold == NORM else 4 if fold == NORM3 else 1


cdef void share_rows(Pool* how, ptrdiff_t each) noexcept:
    cdef const PoolAxis* high = &how.axis[how.axes - 2]
    cdef const PoolAxis* wide = &how.axis[how.axes - 1]
    how.items = how.planes * how.slabs * high.out
    how.cost = 5 + (how.taps * high.kernel * wide.size + wide.kernel * wide.out) * each // 16


cdef size_t kept(const Pool* how) noexcept:
    """How much of the settings a step keeps: the axes in use."""
    return <size_t> (<const char*> &how.axis[how.axes] - <const char*> how)


cdef int run(void** at, const void* settings) noexcept nogil:
    cdef const Pool* how = <const Pool*> settings
    cdef PoolCall call
    call.at, call.how = at, how
    return share(team(at, how.arrays), how.task, &call, how.items, how.cost)
