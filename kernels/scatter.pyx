"""Elements and slices that indices name, gathered from an array or scattered into one."""
from math import prod
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy
from .indexed cimport Move, copied_first, mover, named, resolved, updating, written
from .indexed import FOLDS
from .step cimport INT32, INT64, OK, OUT_OF_RANGE, Element, Run, bound, code_of, out_of_range, team
from .threads cimport Task, Team, share

cdef enum:
    CHUNK = 256  # offsets that are worked out at once
    AXES = 16  # that are not merged
    PIECE = 4096  # elements of a slice that one thread takes


def steps_of(shape):
    """The steps of a contiguous array, in elements."""
    steps, step = [], 1
    for n in reversed(shape):
        steps.append(step)
        step *= n
    return steps[::-1]


# One element for each index

cdef struct Elements:
    Move move
    int fold, axes
    bint wide, out  # indices of eight bytes; whether elements are taken out
    Py_ssize_t n, along, size, step  # elements of a line, how far they are apart, and the axis that the indices count
    Py_ssize_t group, groups, width, bytes  # lines that one thread takes, one after the other; bytes of an element, of all data
    Py_ssize_t[AXES] sizes, steps

cdef struct Lines:
    const char* data
    const char* indices
    char* result
    const Elements* how


cdef int some_lines(const Lines* on, Py_ssize_t begin, Py_ssize_t end, void* scratch) noexcept nogil:
    cdef const Elements* how = on.how
    cdef Py_ssize_t[CHUNK] offsets
    cdef Py_ssize_t line, first, n, rest, start
    cdef int k, status
    for line in range(begin * how.group, end * how.group):
        rest, start = line, 0
        for k in range(how.axes):
            start += rest % how.sizes[k] * how.steps[k]
            rest = rest // how.sizes[k]
        for first from 0 <= first < how.n by CHUNK:
            n, rest = min(how.n - first, <Py_ssize_t> CHUNK), line * how.n + first
            if how.wide:
                status = resolved(<const int64_t*> on.indices + rest, n, how.size, how.step, start + first * how.along,
                                  how.along, offsets)
            else:
                status = resolved(<const int32_t*> on.indices + rest, n, how.size, how.step, start + first * how.along,
                                  how.along, offsets)
            if status:
                return status
            if how.out:
                how.move(on.data, on.result + rest * how.width, offsets, n, 1, 1, 0)
            else:
                how.move(on.data + rest * how.width, on.result, offsets, n, 1, 1, how.fold)
    return OK


cdef int elements(const Team* with_, const Lines* on, Py_ssize_t cost) noexcept nogil:
    """All lines, in groups that do not meet."""
    cdef const Elements* how = on.how
    cdef Py_ssize_t count = how.groups * how.group * how.n
    cdef int status = share(with_, <Task> some_lines, on, how.groups, cost)
    if status != OUT_OF_RANGE:
        return status
    if how.wide:
        return named(<const int64_t*> on.indices, count, &how.size, 1)
    return named(<const int32_t*> on.indices, count, &how.size, 1)


cdef int taken(void** at, const Elements* how) noexcept nogil:
    cdef Lines on = Lines(<const char*> at[0], <const char*> at[1], <char*> at[2], how)
    return elements(team(at, 3), &on, how.group * how.n * 2 + 2)


cdef int put(void** at, const Elements* how) noexcept nogil:
    cdef Lines on = Lines(<const char*> at[1], <const char*> at[3], <char*> at[2], how)
    cdef int status = copied_first(team(at, 4), at[0], at[2], how.bytes)
    return status or elements(team(at, 4), &on, how.group * how.n * 3 + 2)


cdef int along_axis(Elements* how, data, indices, int axis, bint out) except -1:
    """Fill in how elements lie that indices count along an axis."""
    cdef Element code = code_of(indices)
    if code != INT32 and code != INT64:
        raise TypeError(f"indices are int32 or int64, not {indices.dtype}")
    if data.ndim != indices.ndim or not data.ndim or any(
            [i != axis and n > data.shape[i] for i, n in enumerate(indices.shape)]):
        raise ValueError(f"indices {indices.shape} do not fit {data.shape} along axis {axis}")
    merged = []  # [size, step], the last one first; the axis with the step 0: what it adds, the indices tell
    for i, (n, s) in enumerate(zip(indices.shape, steps_of(data.shape))):
        if i not in (axis, axis + 1) and merged and merged[0][1] == s * n:
            merged[0] = [merged[0][0] * n, s]
        else:
            merged.insert(0, [n, 0 if i == axis else s])
    how.size, how.step = data.shape[axis], steps_of(data.shape)[axis]
    how.wide, how.out, how.width, how.bytes = code == INT64, out, data.itemsize, data.nbytes
    how.n, how.along = merged.pop(0)
    lines, before = prod([n for n, _ in merged]), prod(indices.shape[:axis])
    if axis == indices.ndim - 1 or out:
        before = lines
    how.groups, how.group = (before, lines // before) if indices.size else (0, 0)
    if len(merged) > AXES:
        return False
    how.axes = len(merged)
    for i, (n, s) in enumerate(merged):
        how.sizes[i], how.steps[i] = n, s
    return True


def gather_elements(data, indices, int axis, y):
    """For every index the element at its own place, but at this position along the axis: a step, None for objects."""
    cdef Elements how
    if data.dtype != y.dtype or y.shape != indices.shape:
        raise ValueError(f"{indices.shape} of {data.dtype} do not fit {y.shape} of {y.dtype}")
    if data.dtype.hasobject or not along_axis(&how, data, indices, axis, True):
        return None
    how.move = mover(data.itemsize, True)
    return None if how.move == NULL else written(<Run> taken, (data, indices, y), &how, sizeof(how))


def scatter_elements(data, indices, updates, int axis, str fold, y):
    """The data with every update at its own place, but at the position along the axis that its index tells: a step.

    An update of elements that others update as well comes after those before it; None where no loop is compiled.
    """
    cdef Elements how
    if not data.dtype == updates.dtype == y.dtype or y.shape != data.shape or updates.shape != indices.shape:
        raise ValueError(f"updates {updates.shape} of {updates.dtype} do not fit {data.shape} of {data.dtype}")
    if data.dtype.hasobject or not along_axis(&how, data, indices, axis, False):
        return None
    how.fold = FOLDS.index(fold)
    return updating(<Run> put, data, indices, updates, y, &how, sizeof(how), &how.move, &how.fold, &how.width, &how.bytes)


# Slices that tuples of indices name

cdef struct Tuples:
    Move move
    int fold, axes
    bint out
    Py_ssize_t batches, count, block  # of tuples, how many in each, and the elements of its data
    Py_ssize_t size, pieces, width, bytes  # elements of a slice, its pieces, bytes of an element and of all data
    Py_ssize_t[AXES] sizes, steps

cdef struct Slices:
    const char* data
    const int64_t* indices
    char* result
    const Tuples* how


cdef int located(const int64_t* at, Py_ssize_t n, const Tuples* how, Py_ssize_t start, Py_ssize_t* offsets) noexcept nogil:
    """Where the slices of n tuples begin."""
    cdef Py_ssize_t i, k
    cdef int a
    for i in range(n):
        offsets[i] = start
        for a in range(how.axes):
            k = at[a] + (how.sizes[a] if at[a] < 0 else 0)
            if k < 0 or k >= how.sizes[a]:
                return OUT_OF_RANGE
            offsets[i] += k * how.steps[a]
        at += how.axes
    return OK


cdef int some_slices(const Slices* on, Py_ssize_t begin, Py_ssize_t end, void* scratch) noexcept nogil:
    """Slices one after the other, as many as one batch has."""
    cdef const Tuples* how = on.how
    cdef Py_ssize_t[CHUNK] offsets
    cdef Py_ssize_t n, batch
    while begin < end:
        batch = begin // how.count
        n = min(min(end - begin, (batch + 1) * how.count - begin), <Py_ssize_t> CHUNK)
        if located(on.indices + begin * how.axes, n, how, batch * how.block, offsets):
            return OUT_OF_RANGE
        how.move(on.data, on.result + begin * how.size * how.width, offsets, n, how.size, how.size, 0)
        begin += n
    return OK


cdef int some_pieces(const Slices* on, Py_ssize_t begin, Py_ssize_t end, void* scratch) noexcept nogil:
    """Some pieces of all slices: tuples that name the same one are taken in their order."""
    cdef const Tuples* how = on.how
    cdef Py_ssize_t[CHUNK] offsets
    cdef Py_ssize_t n, first, start = begin * PIECE, size = min(end * PIECE, how.size) - begin * PIECE
    for first from 0 <= first < how.count by CHUNK:
        n = min(how.count - first, <Py_ssize_t> CHUNK)
        if located(on.indices + first * how.axes, n, how, start, offsets):
            return OUT_OF_RANGE
        how.move(on.data + (first * how.size + start) * how.width, on.result, offsets, n, size, how.size, how.fold)
    return OK


cdef int taken_slices(void** at, const Tuples* how) noexcept nogil:
    cdef Slices on = Slices(<const char*> at[0], <const int64_t*> at[1], <char*> at[2], how)
    cdef Py_ssize_t count = how.batches * how.count
    cdef int status = share(team(at, 3), <Task> some_slices, &on, count, how.size * how.width // 10 + 4)
    return status if status != OUT_OF_RANGE else named(on.indices, count * how.axes, how.sizes, how.axes)


cdef int put_slices(void** at, const Tuples* how) noexcept nogil:
    cdef Slices on = Slices(<const char*> at[1], <const int64_t*> at[3], <char*> at[2], how)
    cdef int status = copied_first(team(at, 4), at[0], at[2], how.bytes)
    if status == OK:
        status = share(team(at, 4), <Task> some_pieces, &on, how.pieces, how.count * (min(how.size, <Py_ssize_t> PIECE) + 4))
    return status if status != OUT_OF_RANGE else named(on.indices, how.count * how.axes, how.sizes, how.axes)


cdef int by_tuples(Tuples* how, data, indices, int batch_axes) except -1:
    """Fill in how slices lie that tuples of indices name; whether there are so many axes as loops are made for."""
    if code_of(indices) != INT64:
        raise TypeError(f"indices are int64, not {indices.dtype}")
    axes = indices.shape[indices.ndim - 1] if indices.ndim else 0
    if not 0 <= batch_axes < min(data.ndim, indices.ndim) or axes > data.ndim - batch_axes or (
            data.shape[:batch_axes] != indices.shape[:batch_axes]):
        raise ValueError(f"indices {indices.shape} do not fit {data.shape} behind {batch_axes} axes of batches")
    if axes > AXES:
        return False
    how.axes, how.batches, how.count = axes, prod(data.shape[:batch_axes]), prod(indices.shape[batch_axes:-1])
    how.block, how.size = prod(data.shape[batch_axes:]), prod(data.shape[batch_axes + axes:])
    how.width, how.bytes, how.pieces = data.itemsize, data.nbytes, (how.size + PIECE - 1) // PIECE
    steps = steps_of(data.shape)
    for i in range(axes):
        how.sizes[i], how.steps[i] = data.shape[batch_axes + i], steps[batch_axes + i]
    return True


def gather_nd(data, indices, int batch_axes, y):
    """The slices that tuples of indices name: a step, None for objects."""
    cdef Tuples how
    if data.dtype.hasobject or not by_tuples(&how, data, indices, batch_axes):
        return None
    if data.dtype != y.dtype or y.shape != indices.shape[:-1] + data.shape[batch_axes + how.axes:]:
        raise ValueError(f"slices of {data.shape} that {indices.shape} name do not fit {y.shape}")
    how.move = mover(data.itemsize, True)
    if not y.size:
        how.size = 0
    return None if how.move == NULL else written(<Run> taken_slices, (data, indices, y), &how, sizeof(how))


def scatter_nd(data, indices, updates, str fold, y):
    """The data with updates of the slices that tuples of indices name, in their order: a step, None where no loop is compiled."""
    cdef Tuples how
    if data.dtype.hasobject or not by_tuples(&how, data, indices, 0):
        return None
    if not data.dtype == updates.dtype == y.dtype or y.shape != data.shape or (
            updates.shape != indices.shape[:-1] + data.shape[how.axes:]):
        raise ValueError(f"updates {updates.shape} do not fit slices of {data.shape} that {indices.shape} name")
    how.fold = FOLDS.index(fold)
    return updating(<Run> put_slices, data, indices, updates, y, &how, sizeof(how), &how.move, &how.fold, &how.width, &how.bytes)


# Rows written behind each other

cdef struct Cache:
    bint circular, given
    Py_ssize_t outer, each, size, rows, row, bytes  # caches, caches of one sample, rows of a cache and of its update, bytes

cdef struct Writing:
    const char* update
    char* cache
    const int64_t* starts
    const Cache* how


cdef int some_caches(const Writing* on, Py_ssize_t begin, Py_ssize_t end, void* scratch) noexcept nogil:
    cdef const Cache* how = on.how
    cdef Py_ssize_t i, start, first, n
    for i in range(begin, end):
        start = on.starts[i // how.each] if how.given else 0
        if how.circular:
            start = start % how.size
            start += how.size if start < 0 else 0
        if start < 0 or start > how.size or (not how.circular and how.rows > how.size - start):
            return OUT_OF_RANGE
        first = 0
        while first < how.rows:
            n = min(how.rows - first, how.size - start)
            memcpy(on.cache + (i * how.size + start) * how.row, on.update + (i * how.rows + first) * how.row, n * how.row)
            first, start = first + n, 0
    return OK


cdef int written_rows(void** at, const Cache* how) noexcept nogil:
    cdef const Team* with_ = team(at, 4 if how.given else 3)
    cdef Writing on = Writing(<const char*> at[1], <char*> at[2], <const int64_t*> at[3], how)
    cdef Py_ssize_t i
    cdef int status = copied_first(with_, at[0], at[2], how.bytes)
    if status == OK:
        status = share(with_, <Task> some_caches, &on, how.outer, how.rows * how.row // 10 + 4)
    if status == OUT_OF_RANGE:
        for i in range(how.outer // how.each):
            if on.starts[i] < 0 or on.starts[i] > how.size - how.rows:
                return out_of_range(on.starts[i], how.size)
    return status


def write_rows(cache, update, starts, int axis, bint circular, y):
    """The caches with the rows of their updates written along an axis, from where each sample starts, or from 0: a step."""
    cdef Cache how
    if not cache.dtype == update.dtype == y.dtype or cache.shape != y.shape or cache.ndim != update.ndim or not (
            0 < axis < cache.ndim) or cache.shape[:axis] != update.shape[:axis] or (
            cache.shape[axis + 1:] != update.shape[axis + 1:]) or update.shape[axis] > cache.shape[axis]:
        raise ValueError(f"an update {update.shape} of {update.dtype} does not fit a cache {cache.shape} along axis {axis}")
    if starts is not None and (starts.shape != cache.shape[:1] or code_of(starts) != INT64):
        raise ValueError(f"starts {starts.shape} of {starts.dtype} are not one int64 for each of {cache.shape[0]} samples")
    if not y.flags.writeable:
        raise ValueError("the result's buffer is read-only")
    if cache.dtype.hasobject:
        return None
    how.circular, how.given = circular, starts is not None
    how.outer, how.each = prod(cache.shape[:axis]), max(prod(cache.shape[1:axis]), 1)
    how.size, how.rows, how.bytes = cache.shape[axis], update.shape[axis], cache.nbytes
    how.row = prod(cache.shape[axis + 1:]) * cache.itemsize
    if not how.rows:
        how.outer = 0
    return bound(<Run> written_rows, (cache, update, y) if starts is None else (cache, update, y, starts), &how, sizeof(how))
