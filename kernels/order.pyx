"""Order along an axis: where the largest or smallest elements are, and sums and products up to each element."""
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from .step cimport (
    BRAIN, DOUBLE, ELEMENTS, FLOAT, HALF, INT64, OK, UINT64, Element, Run, Step, bound, code_of, floats, step, team
)
from .threads cimport Task, share

cdef extern from "hot/order.h" nogil:
    enum:
        ORDER_BLOCK
    ctypedef void (*OrderKeys)(const void* x, Py_ssize_t stride, Py_ssize_t n, int falling, int nan_most,
                               void* keys) noexcept nogil
    ctypedef int64_t (*OrderFind)(OrderKeys keys, const void* x, Py_ssize_t size, Py_ssize_t n, int falling,
                                  int last) noexcept nogil
    ctypedef void (*OrderFindRows)(OrderKeys keys, const void* x, Py_ssize_t size, Py_ssize_t stride, Py_ssize_t n,
                                   Py_ssize_t m, int falling, int last, int64_t* at) noexcept nogil
    ctypedef void (*OrderTop)(OrderKeys keys, const void* x, Py_ssize_t size, Py_ssize_t stride, Py_ssize_t n, Py_ssize_t k,
                              int falling, int64_t* at, void* room) noexcept nogil
    ctypedef void (*OrderFold)(const void* x, void* y, Py_ssize_t step, Py_ssize_t n, Py_ssize_t m,
                               int exclusive) noexcept nogil
    ctypedef struct OrderLoops:
        OrderKeys* keys
        OrderFind* find
        OrderFindRows* find_rows
        OrderTop* top
        OrderFold* sums
        OrderFold* products
    const OrderLoops* picked "PICKED(order)"
    size_t order_room(Py_ssize_t n, Py_ssize_t k)
    bint order_sorts(Py_ssize_t n, Py_ssize_t k)

cdef const OrderLoops* loops = picked

# Lines of n elements, `inner` of them side by side; the last `blocks` of them for each of the leading axes.
cdef struct Lines:
    OrderKeys keys
    OrderFind find
    OrderFindRows find_rows
    OrderTop top
    Py_ssize_t count, n, inner, blocks, size, k, values, indices, cost
    bint falling, last

cdef struct Looking:
    const char* x
    char* values
    int64_t* at
    const Lines* how


cdef Py_ssize_t lie(Lines* how, x, Py_ssize_t axis) except -1:
    """Fills in the lines of an array along an axis; returns how many there are."""
    cdef Element code = code_of(x)
    cdef Py_ssize_t i, outer = 1
    cdef bint long_ = code == DOUBLE or code == INT64 or code == UINT64
    if code == ELEMENTS:
        raise TypeError(f"no order of {x.dtype}")
    if not 0 <= axis < x.ndim:
        raise ValueError(f"axis {axis} of {x.shape}")
    how.keys, how.size, how.n, how.inner = loops.keys[<int> code], x.itemsize, x.shape[axis], 1
    how.find, how.find_rows, how.top = loops.find[long_], loops.find_rows[long_], loops.top[long_]
    for i in range(axis):
        outer *= x.shape[i]
    for i in range(axis + 1, x.ndim):
        how.inner *= x.shape[i]
    how.count = outer * how.inner
    return how.count


# Positions of extremes

cdef int some_positions(const Looking* on, Py_ssize_t begin, Py_ssize_t end, void* scratch) noexcept nogil:
    cdef const Lines* how = on.how
    cdef Py_ssize_t i, row, block
    for i in range(begin, end):
        if how.inner == 1:
            on.at[i] = how.find(how.keys, on.x + i * how.n * how.size, how.size, how.n, how.falling, how.last)
            continue
        row, block = i // how.blocks, i % how.blocks * ORDER_BLOCK
        how.find_rows(how.keys, on.x + (row * how.n * how.inner + block) * how.size, how.size, how.inner, how.n,
                      min(how.inner - block, <Py_ssize_t> ORDER_BLOCK), how.falling, how.last, on.at + row * how.inner + block)
    return OK


cdef int positions(void** at, const Lines* how) noexcept nogil:
    cdef Looking on = Looking(<const char*> at[0], NULL, <int64_t*> at[1], how)
    return share(team(at, 2), <Task> some_positions, &on, how.count, how.cost)


def position(x, Py_ssize_t axis, bint least, bint last, y):
    """Where along an axis the largest element is, or the least: the first of several or the last. A step; NaN wins over numbers."""
    cdef Lines how
    cdef Py_ssize_t lines = lie(&how, x, axis)
    if code_of(y) != INT64 or y.size != lines or not y.flags.writeable:
        raise ValueError(f"positions in {x.shape} along axis {axis} do not go to {y.dtype}{list(y.shape)}")
    if lines and not how.n:
        raise ValueError(f"no element is the largest or the least along axis {axis} of {x.shape}")
    how.falling, how.last = least, last
    how.blocks = (how.inner + ORDER_BLOCK - 1) // ORDER_BLOCK
    if how.inner > 1:
        how.count = lines // how.inner * how.blocks
    how.cost = how.n * min(how.inner, <Py_ssize_t> ORDER_BLOCK) // 2 + 10
    return bound(<Run> positions, (x, y), &how, sizeof(how))


# The k largest

cdef void pick(const char* x, Py_ssize_t stride, const int64_t* at, Py_ssize_t k, Py_ssize_t size, char* y) noexcept nogil:
    """The elements at k positions of a line, as far apart as there."""
    cdef Py_ssize_t i
    if size == 1:
        for i in range(k):
            (<uint8_t*> y)[i * stride] = (<const uint8_t*> x)[at[i] * stride]
    elif size == 2:
        for i in range(k):
            (<uint16_t*> y)[i * stride] = (<const uint16_t*> x)[at[i] * stride]
    elif size == 4:
        for i in range(k):
            (<uint32_t*> y)[i * stride] = (<const uint32_t*> x)[at[i] * stride]
    else:
        for i in range(k):
            (<uint64_t*> y)[i * stride] = (<const uint64_t*> x)[at[i] * stride]


cdef int some_lines(const Looking* on, Py_ssize_t begin, Py_ssize_t end, void* scratch) noexcept nogil:
    cdef const Lines* how = on.how
    cdef int64_t* found = <int64_t*> scratch
    cdef Py_ssize_t i, j, row, side, to
    cdef const char* x
    for i in range(begin, end):
        row, side = i // how.inner, i % how.inner
        x = on.x + (row * how.n * how.inner + side) * how.size
        to = row * how.k * how.inner + side
        how.top(how.keys, x, how.size, how.inner, how.n, how.k, how.falling, found, found + how.k)
        if on.values != NULL:
            pick(x, how.inner, found, how.k, how.size, on.values + to * how.size)
        if on.at != NULL:
            for j in range(how.k):
                on.at[to + j * how.inner] = found[j]
    return OK


cdef int topped(void** at, const Lines* how) noexcept nogil:
    cdef Looking on = Looking(<const char*> at[0], NULL, NULL, how)
    cdef Py_ssize_t arrays = 1
    if how.values:
        on.values = <char*> at[how.values]
        arrays += 1
    if how.indices:
        on.at = <int64_t*> at[how.indices]
        arrays += 1
    return share(team(at, arrays), <Task> some_lines, &on, how.count, how.cost)


def top(x, Py_ssize_t k, Py_ssize_t axis, bint least, values, indices):
    """The k largest elements along an axis, or the least, in order, and where they are; either result may be None. A step.

    Of equals the one that comes first is taken first. NaN counts as larger than any number.
    """
    cdef Lines how
    cdef Py_ssize_t lines = lie(&how, x, axis)
    if not 0 <= k <= how.n:
        raise ValueError(f"the {k} largest of {how.n} elements along axis {axis} of {x.shape}")
    for y, dtype in ((values, x.dtype), (indices, "i8")):
        if y is not None and (y.dtype != dtype or y.shape != (*x.shape[:axis], k, *x.shape[axis + 1:]) or not y.flags.writeable):
            raise ValueError(f"the {k} largest along axis {axis} of {x.shape} do not go to {y.dtype}{list(y.shape)}")
    arrays = tuple(y for y in (x, values, indices) if y is not None)
    how.falling, how.k, how.count = least, k, lines if k else 0
    how.values, how.indices = 1 if values is not None else 0, 0 if indices is None else len(arrays) - 1
    how.cost = how.n * (20 if order_sorts(how.n, k) else 1) + 20 * k + 20
    return bound(<Run> topped, arrays, &how, sizeof(how), 8 * k + order_room(how.n, k))


# Sums and products up to each element

cdef struct Sums:
    OrderFold fold
    Py_ssize_t count, n, inner, blocks, size
    bint exclusive, reverse

cdef struct Summing:
    const char* x
    char* y
    const Sums* how


cdef int some_sums(const Summing* on, Py_ssize_t begin, Py_ssize_t end, void* scratch) noexcept nogil:
    cdef const Sums* how = on.how
    cdef Py_ssize_t i, block, at, stride = how.inner
    for i in range(begin, end):
        block = i % how.blocks * ORDER_BLOCK
        at = i // how.blocks * how.n * how.inner + block
        if how.reverse:
            at += (how.n - 1) * how.inner
        how.fold(on.x + at * how.size, on.y + at * how.size, -stride if how.reverse else stride, how.n,
                 min(how.inner - block, <Py_ssize_t> ORDER_BLOCK), how.exclusive)
    return OK


cdef int summed(void** at, const Sums* how) noexcept nogil:
    cdef Summing on = Summing(<const char*> at[0], <char*> at[1], how)
    return share(team(at, 2), <Task> some_sums, &on, how.count, how.n * min(how.inner, <Py_ssize_t> ORDER_BLOCK) + 10)


def accumulate(x, Py_ssize_t axis, bint product, bint exclusive, bint reverse, y):
    """The sum or product of all elements up to each one along an axis, with it or without it, from either end: a step."""
    cdef Lines lines
    cdef Sums how
    cdef Element code = code_of(x)
    lie(&lines, x, axis)
    if x.dtype != y.dtype or x.shape != y.shape or not y.flags.writeable:
        raise ValueError(f"{x.dtype}{list(x.shape)} does not go to {y.dtype}{list(y.shape)}")
    cdef bint narrow = code == HALF or code == BRAIN
    cdef int computed = <int> FLOAT if narrow else <int> code
    how.fold = loops.products[computed] if product else loops.sums[computed]
    if how.fold == NULL:
        raise TypeError(f"no sums of {x.dtype}")
    how.n, how.inner, how.size, how.exclusive, how.reverse = lines.n, lines.inner, 4 if narrow else lines.size, exclusive, reverse
    how.blocks = (how.inner + ORDER_BLOCK - 1) // ORDER_BLOCK
    how.count = lines.count // how.inner * how.blocks if lines.count else 0
    if narrow:
        return step(floats(<Run> summed, NULL), (x, y), &how, sizeof(how))
    return bound(<Run> summed, (x, y), &how, sizeof(how))
