"""Scaled dot product attention with masks, caches, caps and windows; no more than a block of its scores is ever kept."""
import numpy as np
from libc.stdint cimport int64_t
from libc.string cimport memcpy
from .step cimport BOOL, BRAIN, DOUBLE, OK, Element, Run, Step, bound, code_of, team
from .threads cimport Task, Team, share

cdef extern from "hot/attention.h" nogil:
    cdef enum:
        QUERIES, ZERO, UNKNOWN, FORGIVEN
    ctypedef struct Strides:
        Py_ssize_t batch, head, row
    ctypedef struct Attention:
        Py_ssize_t batch, heads, group, queries, past, keys, size, v_size
        Strides q, k, v, y, mask
        Py_ssize_t mask_keys, left, right, rows
        int lost, type, mask_type
        double scale, cap
    ctypedef struct AttentionCall:
        const Attention* how
        const void* q
        const void* k
        const void* v
        const void* past_k
        const void* past_v
        const void* mask
        const int64_t* valid
        void* y
    ctypedef struct AttentionLoops:
        Task float_task, double_task
        Py_ssize_t (*scratch)(const Attention* how) noexcept nogil
        Py_ssize_t (*cost)(const Attention* how) noexcept nogil
    const AttentionLoops* picked "PICKED(attention)"

cdef const AttentionLoops* loops = picked
cdef Py_ssize_t FAR = <Py_ssize_t> 1 << 40  # no position or window is larger
cdef int ITEMS = 8  # at the least, where there are queries enough: what several threads can share

cdef struct Bound:
    Attention attention
    Py_ssize_t items, cost, kv_heads
    int width, y, mask, past_k, past_v, valid, present_k, present_v, arrays  # positions of arrays, -1 where absent

cdef struct Keeping:
    const char* past
    const char* new
    char* present
    Strides at
    Py_ssize_t before, rows, bytes, heads, width


cdef int kept(const Keeping* on, Py_ssize_t begin, Py_ssize_t end, void* scratch) noexcept nogil:
    """Write what a cache was and what is new one after the other, for some heads."""
    cdef Py_ssize_t i, row, before = on.before * on.bytes
    cdef const char* new
    cdef char* to
    for i in range(begin, end):
        to = on.present + i * (on.before + on.rows) * on.bytes
        if before:
            memcpy(to, on.past + i * before, before)
        new = on.new + (i // on.heads * on.at.batch + i % on.heads * on.at.head) * on.width
        for row in range(on.rows):
            memcpy(to + before + row * on.bytes, new + row * on.at.row * on.width, on.bytes)
    return OK


cdef const void* array_at(void** at, int position) noexcept nogil:
    return at[position] if position >= 0 else NULL


cdef int keep(const Team* crew, void** at, const Bound* how, int present, int past, int new, const Strides* strides,
              Py_ssize_t size) noexcept nogil:
    cdef const Attention* a = &how.attention
    cdef Keeping on
    if present < 0:
        return OK
    on.past, on.new, on.present = <const char*> array_at(at, past), <const char*> at[new], <char*> at[present]
    on.at, on.before, on.rows, on.bytes, on.width = strides[0], a.past, a.keys, size * how.width, how.width
    on.heads = how.kv_heads
    return share(crew, <Task> kept, &on, a.batch * on.heads, (a.past + a.keys) * on.bytes // 8)


cdef int attended(void** at, const Bound* how) noexcept nogil:
    cdef const Team* crew = team(at, how.arrays)
    cdef AttentionCall call
    call.how, call.q, call.k, call.v, call.y = &how.attention, at[0], at[1], at[2], at[how.y]
    call.past_k, call.past_v = array_at(at, how.past_k), array_at(at, how.past_v)
    call.mask, call.valid = array_at(at, how.mask), <const int64_t*> array_at(at, how.valid)
    keep(crew, at, how, how.present_k, how.past_k, 1, &how.attention.k, how.attention.size)
    keep(crew, at, how, how.present_v, how.past_v, 2, &how.attention.v, how.attention.v_size)
    return share(crew, loops.double_task if how.attention.type == DOUBLE else loops.float_task, &call, how.items, how.cost)


LOST = {"zero": ZERO, "nan": UNKNOWN, "forgiven": FORGIVEN}


def attention(q, k, v, y, *, heads=None, kv_heads=None, mask=None, past_k=None, past_v=None, valid=None, present_k=None,
              present_v=None, double scale, double cap=0, left=-1, right=-1, str swapped="", str lost="zero") -> Step:
    """softmax(q k^T scale + mask) v by heads: a step.

    Arrays are (batch, heads, rows, size), or with their numbers of heads given (batch, rows, heads * size); those of q, k, v
    and y that ``swapped`` names are (batch, rows, heads, size). A mask broadcasts
    to the scores: truths of what takes part, or numbers to add; its last axis may be shorter than there are keys, then the
    rest is hidden. ``left`` and ``right`` are how many keys a query sees beside its own position, -1 for all: it stands
    behind the cache, or so that the last query is at the last of the ``valid`` keys. ``lost`` says what a query gets that
    sees no key: zeros or NaN, or zeros also where one of its scores is NaN ("forgiven").
    """
    cdef Bound how
    cdef Attention* a = &how.attention
    cdef Element code = code_of(q)
    cdef list arrays = [q, k, v]
    if code > BRAIN or any([x.dtype != q.dtype for x in (k, v, y)]):
        raise TypeError(f"no kernel for {q.dtype}, {k.dtype} and {v.dtype} to {y.dtype}")
    a.type, how.width = code, q.itemsize
    a.batch, a.heads, a.queries, a.size = sides(q, heads, &a.q, 'q' in swapped)
    k_batch, k_heads, a.keys, k_size = sides(k, kv_heads, &a.k, 'k' in swapped)
    v_batch, v_heads, v_rows, a.v_size = sides(v, kv_heads, &a.v, 'v' in swapped)
    if not (a.batch == k_batch == v_batch and k_heads == v_heads and a.keys == v_rows and a.size == k_size):
        raise ValueError(f"{q.shape}, {k.shape} and {v.shape} do not fit together")
    if a.heads and (k_heads < 1 or a.heads % k_heads):
        raise ValueError(f"{a.heads} heads cannot share {k_heads}")
    if sides(y, heads, &a.y, 'y' in swapped) != (a.batch, a.heads, a.queries, a.v_size):
        raise ValueError(f"the result is not {y.shape}")
    how.kv_heads = k_heads
    a.group, a.past = a.heads // max(k_heads, 1) or 1, 0 if past_k is None else past_k.shape[2]
    if (past_k is None) != (past_v is None):
        raise ValueError("caches of keys and of values come together")
    cache = a.batch, k_heads, a.past
    how.past_k = added(arrays, past_k, q.dtype, (*cache, a.size))
    how.past_v = added(arrays, past_v, q.dtype, (*cache, a.v_size))
    how.valid = added(arrays, valid, np.dtype(np.int64), (a.batch,))
    masked(&how, arrays, mask)
    a.left, a.right = min(int(left), FAR), min(int(right), FAR)
    a.scale, a.cap, a.lost = scale, cap, LOST[lost]
    share_out(&how)
    how.y = added(arrays, y, q.dtype, y.shape)
    grown = a.batch, k_heads, a.past + a.keys
    how.present_k = added(arrays, present_k, q.dtype, (*grown, a.size))
    how.present_v = added(arrays, present_v, q.dtype, (*grown, a.v_size))
    how.arrays = len(arrays)
    for x in arrays[how.y:]:
        if not x.flags.writeable:
            raise ValueError("the result's buffer is read-only")
    return bound(<Run> attended, tuple(arrays), &how, sizeof(how), loops.scratch(a))


cdef sides(x, heads, Strides* at, bint swapped):
    """The sizes of an array as (batch, heads, rows, size), and its strides."""
    if swapped and x.ndim == 4:
        batch, rows, heads, size = x.shape
        at.batch, at.head, at.row = rows * heads * size, size, heads * size
    elif x.ndim == 4:
        batch, heads, rows, size = x.shape
        at.batch, at.head, at.row = heads * rows * size, rows * size, size
    elif x.ndim == 3 and heads and heads > 0 and x.shape[2] % heads == 0:
        batch, rows, width = x.shape
        size = width // heads
        at.batch, at.head, at.row = rows * width, size, width
    else:
        raise ValueError(f"{x.shape} has no {heads} heads")
    return batch, heads, rows, size


cdef int added(list arrays, x, dtype, shape) except -2:
    """Where an array stands among those of the step, checked; -1 if there is none."""
    if x is None:
        return -1
    if x.dtype != dtype or x.shape != shape:
        raise ValueError(f"{x.dtype}{list(x.shape)} where {dtype}{list(shape)} is due")
    arrays.append(x)
    return len(arrays) - 1


cdef void masked(Bound* how, list arrays, mask) except *:
    """The strides of a mask, 0 where it repeats."""
    cdef Attention* a = &how.attention
    how.mask, a.mask_type = -1, -1
    a.mask_keys = a.mask.batch = a.mask.head = a.mask.row = 0
    if mask is None:
        return
    code = code_of(mask)
    if code != BOOL and (code > BRAIN or (code == DOUBLE) != (a.type == DOUBLE)):
        raise TypeError(f"no kernel for a mask of {mask.dtype}")
    sizes = (1,) * (4 - mask.ndim) + mask.shape
    total = a.past + a.keys
    if len(sizes) != 4 or sizes[3] > total or any([m not in (1, n) for m, n in zip(sizes, (a.batch, a.heads, a.queries))]):
        raise ValueError(f"a mask of {mask.shape} for {(a.batch, a.heads, a.queries, total)} scores")
    steps = sizes[1] * sizes[2] * sizes[3], sizes[2] * sizes[3], sizes[3]
    a.mask.batch, a.mask.head, a.mask.row = [0 if n == 1 else size for n, size in zip(sizes, steps)]
    a.mask_keys, a.mask_type = sizes[3], 4 if code == BOOL else code
    arrays.append(mask)
    how.mask = len(arrays) - 1


cdef void share_out(Bound* how) noexcept:
    """How many queries make an item: all of a head's, or fewer where there are few heads; the same for any number of threads."""
    cdef Attention* a = &how.attention
    cdef Py_ssize_t heads = max(a.batch * a.heads, 1), parts = (ITEMS + heads - 1) // heads
    a.rows = max((a.queries + parts - 1) // parts, QUERIES // 2)
    a.rows = max(min(a.rows, a.queries, 10 * QUERIES), 1)
    how.items = a.batch * a.heads * ((a.queries + a.rows - 1) // a.rows)
    how.cost = loops.cost(a)
