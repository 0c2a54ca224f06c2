"""Padding: lines whose middle is copied and whose ends, by a table for each axis, are a fill or elements of the middle."""
from libc.stdint cimport uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset
from .step cimport OK, Run, Step, bound, team
from .threads cimport Task, Team, share

cdef enum Mode:
    CONSTANT, EDGE, REFLECT, WRAP

cdef enum:
    AXES = 16
    WIDEST = 16  # bytes of a fill that is known when the step is made

MODES = ("constant", "edge", "reflect", "wrap")

cdef struct Padding:
    Py_ssize_t axes, lines, n, before, middle, start  # axes around the lines; a line, what is copied in it and from where
    Py_ssize_t width, element  # bytes of what a place names, and of the fill
    bint filled, given  # whether ends are a fill, and whether that is an array
    char[WIDEST] fill
    Py_ssize_t[AXES] size, step  # of the axes around it, the fastest first
    Py_ssize_t[1] table  # for each axis the place of every element in the source, or -1; that of the line last

cdef struct Padded:
    const char* x
    char* y
    const char* fill
    const Padding* how


cdef void fill(char* y, const char* value, Py_ssize_t n, Py_ssize_t width) noexcept nogil:
    """The same element n times."""
    cdef Py_ssize_t i
    if width == 1:
        memset(y, value[0], n)
    elif width == 2:
        for i in range(n):
            (<uint16_t*> y)[i] = (<const uint16_t*> value)[0]
    elif width == 4:
        for i in range(n):
            (<uint32_t*> y)[i] = (<const uint32_t*> value)[0]
    elif width == 8:
        for i in range(n):
            (<uint64_t*> y)[i] = (<const uint64_t*> value)[0]
    else:
        for i in range(n):
            memcpy(y + i * width, value, width)


cdef void picked(const char* x, char* y, const Py_ssize_t* table, Py_ssize_t n, Py_ssize_t width) noexcept nogil:
    """Elements from the places in a table."""
    cdef Py_ssize_t i
    if width == 4:
        for i in range(n):
            (<uint32_t*> y)[i] = (<const uint32_t*> x)[table[i]]
    else:
        for i in range(n):
            memcpy(y + i * width, x + table[i] * width, width)


cdef int some_lines(const Padded* on, Py_ssize_t begin, Py_ssize_t end, void* scratch) noexcept nogil:
    cdef const Padding* how = on.how
    cdef const Py_ssize_t* table
    cdef const Py_ssize_t* last
    cdef Py_ssize_t line, rest, start, at, after = how.n - how.before - how.middle, each = how.width // how.element
    cdef const char* x
    cdef char* y
    cdef int k
    for line in range(begin, end):
        table, rest, start = how.table, line, 0
        for k in range(how.axes):
            at = table[rest % how.size[k]]
            start = -1 if at < 0 or start < 0 else start + at * how.step[k]
            rest = rest // how.size[k]
            table += how.size[k]
        last, y = table, on.y + line * how.n * how.width
        if start < 0:
            fill(y, on.fill, how.n * each, how.element)
            continue
        x = on.x + start * how.width
        memcpy(y + how.before * how.width, x + how.start * how.width, how.middle * how.width)
        if how.filled:
            fill(y, on.fill, how.before * each, how.element)
            fill(y + (how.before + how.middle) * how.width, on.fill, after * each, how.element)
        else:
            picked(x, y, last, how.before, how.width)
            picked(x, y + (how.before + how.middle) * how.width, last + how.before + how.middle, after, how.width)
    return OK


cdef int padded(void** at, const Padding* how) noexcept nogil:
    cdef Padded on = Padded(<const char*> at[0], <char*> at[1], &how.fill[0], how)
    if how.given:
        on.fill = <const char*> at[2]
    return share(team(at, 3 if how.given else 2), <Task> some_lines, &on, how.lines, how.n * how.width // 10 + 10)


cdef Py_ssize_t place(int mode, Py_ssize_t i, Py_ssize_t n) noexcept:
    """Where position i stands among n elements to which the mode adds others; -1 for the fill."""
    cdef Py_ssize_t period = n if mode == WRAP else max(2 * (n - 1), <Py_ssize_t> 1)
    if 0 <= i < n or mode == CONSTANT:
        return i if 0 <= i < n else -1
    if mode == EDGE:
        return 0 if i < 0 else n - 1
    i = i % period
    i += period if i < 0 else 0
    return i if i < n else period - i


cdef tuple within(n, b, a):
    """The same result by pads that take away no more than there is: what is beyond comes off the other side's."""
    if b < -n:
        return -n, a + b + n
    if a < -n:
        return b + a + n, -n
    return b, a


def pad(x, before, after, str mode, fill, y):
    """Elements put around every axis, or taken away where a number is negative: a step, None for objects or too many axes.

    The fill is an array of one element, or its bytes; only the mode "constant" takes it.
    """
    cdef Padding* how
    cdef Py_ssize_t* table
    cdef Py_ssize_t n, b, a, kept, width = x.itemsize, total = 0, i
    cdef int kind = MODES.index(mode)
    if x.dtype != y.dtype or y.shape != tuple([n + b + a for n, b, a in zip(x.shape, before, after)]) or not (
            len(before) == len(after) == x.ndim):
        raise ValueError(f"pads {before} and {after} do not fit {x.shape} of {x.dtype} and {y.shape} of {y.dtype}")
    if not y.flags.writeable:
        raise ValueError("the result's buffer is read-only")
    axes = []  # [size, before, after], the last axis first, neighbours that nothing is put around as one
    for n, first, last in zip(x.shape, before, after):
        b, a = within(n, first, last)
        if kind != CONSTANT and n + min(b, <Py_ssize_t> 0) + min(a, <Py_ssize_t> 0) <= 0 < n + b + a:
            raise ValueError(f"mode {mode} has nothing to put around an axis of {n} padded by {b} and {a}")
        if axes and not (b or a or axes[0][1] or axes[0][2]):
            axes[0][0] *= n
        else:
            axes.insert(0, [n, b, a])
    if len(axes) > 1 and axes[0][1] == axes[0][2] == 0:
        width *= axes.pop(0)[0]
    if x.dtype.hasobject or not axes or len(axes) > AXES or x.itemsize > WIDEST:
        return None
    total = sum([n + b + a for n, b, a in axes])
    how = <Padding*> malloc(sizeof(Padding) + total * sizeof(Py_ssize_t))
    if how == NULL:
        raise MemoryError
    try:
        how.width, how.element, how.filled, how.given = width, x.itemsize, kind == CONSTANT, not isinstance(fill, bytes)
        if not how.given:
            memcpy(how.fill, <const char*> fill, x.itemsize)
        how.axes, how.lines = len(axes) - 1, 1 if y.size else 0
        n, b, a = axes[0]
        how.n, how.before = n + b + a, min(max(b, <Py_ssize_t> 0), n + b + a)
        how.middle, how.start = max(min(n, n + a) + min(b, <Py_ssize_t> 0), <Py_ssize_t> 0), max(-b, <Py_ssize_t> 0)
        table, step = how.table, 1
        for k, (n, b, a) in enumerate([*axes[1:], axes[0]]):
            kept = n + min(b, <Py_ssize_t> 0) + min(a, <Py_ssize_t> 0)
            for i in range(n + b + a):
                table[i] = place(kind, i - max(b, <Py_ssize_t> 0), kept)
                table[i] += max(-b, <Py_ssize_t> 0) if table[i] >= 0 else 0
            table += n + b + a
            if k < how.axes:
                step *= axes[k][0]
                how.size[k], how.step[k] = n + b + a, step
                how.lines *= n + b + a
        if how.given:
            if fill.dtype != x.dtype or fill.size != 1:
                raise ValueError(f"a fill of {fill.size} {fill.dtype} is not one {x.dtype}")
            return bound(<Run> padded, (x, y, fill), how, sizeof(Padding) + total * sizeof(Py_ssize_t))
        return bound(<Run> padded, (x, y), how, sizeof(Padding) + total * sizeof(Py_ssize_t))
    finally:
        free(how)
