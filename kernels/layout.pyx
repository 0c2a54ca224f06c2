"""Moving elements: blocks between strided places, transpositions, gathered rows. Any type whose elements are plain bytes."""
from math import prod
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc
from .indexed cimport named
from .step cimport INT32, INT64, OK, OUT_OF_RANGE, Element, Run, Step, bound, code_of, team
from .threads cimport Task, Team, share

cdef extern from "hot/layout.h" nogil:
    ctypedef struct Lines:
        Py_ssize_t read, write, across, read_across
    ctypedef void (*Mover)(const char* x, char* y, Py_ssize_t n, const Lines* how) noexcept nogil
    ctypedef Py_ssize_t (*Gatherer)(const char* x, const void* index, char* y, Py_ssize_t first, Py_ssize_t last,
                                    Py_ssize_t size, Py_ssize_t bytes) noexcept nogil
    ctypedef struct LayoutLoops:
        Mover solid
        Mover* strided
        Mover* tiled
        Gatherer* gathered
    const LayoutLoops* picked "PICKED(layout)"

cdef const LayoutLoops* loops = picked

cdef enum:
    AXES = 8  # around the lines, once neighbours are merged
    MOST = 32  # axes before that
    WIDTHS = 5  # of elements: 1, 2, 4, 8 and 16 bytes
    PIECE = 32768  # bytes that are moved by one call
    TILE = 16  # lines of a tile

# One block from a strided place to another

cdef struct Move:
    Mover mover
    Lines lines
    Py_ssize_t n, piece, pieces, count, cost  # elements or lines, how many make a piece, pieces in all
    int x, y, axes  # which arrays, and the axes around the lines
    Py_ssize_t start, into  # where the block starts in both, in bytes
    Py_ssize_t[AXES] size, read, write

cdef struct Block:
    int axes
    Py_ssize_t start, into
    Py_ssize_t[MOST] size, read, write

cdef struct Moving:
    const char* x
    char* y
    const Move* how


cdef int some_lines(const Moving* on, Py_ssize_t begin, Py_ssize_t end, void* scratch) noexcept nogil:
    """Pieces of lines, one after the other."""
    cdef const Move* how = on.how
    cdef Py_ssize_t rest = begin // how.pieces, piece = begin % how.pieces, first
    cdef const char* x = on.x + how.start
    cdef char* y = on.y + how.into
    cdef Py_ssize_t[AXES] index
    cdef int k
    for k in range(how.axes - 1, -1, -1):
        index[k] = rest % how.size[k]
        rest = rest // how.size[k]
        x += index[k] * how.read[k]
        y += index[k] * how.write[k]
    while begin < end:
        first = piece * how.piece
        how.mover(x + first * how.lines.read, y + first * how.lines.write, min(how.n - first, how.piece), &how.lines)
        begin += 1
        piece += 1
        if piece == how.pieces:
            piece, k = 0, how.axes - 1
            while k >= 0:
                index[k] += 1
                x += how.read[k]
                y += how.write[k]
                if index[k] < how.size[k]:
                    break
                x -= how.read[k] * how.size[k]
                y -= how.write[k] * how.size[k]
                index[k] = 0
                k -= 1
    return OK


cdef int moves(void** at, const Move* how) noexcept nogil:
    """Every block; the first one also tells how many there are and where the team stands."""
    cdef Moving on
    cdef Py_ssize_t i
    cdef int status
    for i in range(1, how[0].count + 1):
        on = Moving(<const char*> at[how[i].x], <char*> at[how[i].y], how + i)
        status = share(team(at, how[0].n), <Task> some_lines, &on, how[i].count, how[i].cost)
        if status:
            return status
    return OK


cdef int width_index(Py_ssize_t width) noexcept:
    """Which of the loops by width moves elements of so many bytes, -1 for none."""
    cdef int k
    for k in range(WIDTHS):
        if width == 1 << k:
            return k
    return -1


cdef bint settle(Move* how, Block* block, int x, int y, arrays) except -1:
    """Choose how to move a block: bytes side by side, lines, or tiles where source and result run across each other."""
    cdef Py_ssize_t width = arrays[x].itemsize, size, read, write
    cdef Py_ssize_t[MOST] sizes, reads, writes
    cdef int k, axes = 0, kind = width_index(width), fast = -1
    how.x, how.y, how.start, how.into, how.axes, how.count = x, y, block.start, block.into, 0, 0
    inside(block, arrays[x].nbytes, arrays[y].nbytes, width)
    if kind < 0:
        return False
    for k in range(block.axes):
        size, read, write = block.size[k], block.read[k], block.write[k]
        if size == 0:
            how.pieces = how.piece = 1
            return True
        if size == 1:
            continue
        if axes and reads[axes - 1] == read * size and writes[axes - 1] == write * size:
            sizes[axes - 1], reads[axes - 1], writes[axes - 1] = sizes[axes - 1] * size, read, write
        else:
            sizes[axes], reads[axes], writes[axes] = size, read, write
            axes += 1
    if not axes:
        sizes[0], reads[0], writes[0], axes = 1, width, width, 1
    axes -= 1
    how.lines = Lines(reads[axes], writes[axes], 0, 0)
    how.n, how.cost = sizes[axes], 1
    if reads[axes] == width and writes[axes] == width:
        how.mover, how.lines.read, how.lines.write = loops.solid, 1, 1
        how.n, how.piece = how.n * width, PIECE
        how.cost = min(how.n, how.piece) // 20 + 4
    else:
        for k in range(axes):
            if reads[k] == width and sizes[k] >= 4 and writes[axes] == width:
                fast = k
        how.mover, how.piece = loops.strided[kind], PIECE // width
        if fast >= 0:
            how.mover, how.piece = loops.tiled[kind], TILE
            how.lines = Lines(width, writes[fast], sizes[axes], reads[axes])
            how.n = sizes[fast]
        how.cost = min(how.n, how.piece) * max(how.lines.across, 1) + 4
    how.pieces = how.count = (how.n + how.piece - 1) // how.piece
    for k in range(axes):
        if k != fast:
            if how.axes == AXES:
                return False
            how.size[how.axes], how.read[how.axes], how.write[how.axes] = sizes[k], reads[k], writes[k]
            how.axes += 1
            how.count *= sizes[k]
    return True


cdef int inside(Block* block, Py_ssize_t source, Py_ssize_t result, Py_ssize_t width) except -1:
    """Refuse a block that reaches beyond its arrays."""
    cdef Py_ssize_t low = block.start, high = block.start, least = block.into, most = block.into
    cdef int k
    for k in range(block.axes):
        if block.size[k] == 0:
            return 0
        low += min(block.read[k] * (block.size[k] - 1), <Py_ssize_t> 0)
        high += max(block.read[k] * (block.size[k] - 1), <Py_ssize_t> 0)
        least += min(block.write[k] * (block.size[k] - 1), <Py_ssize_t> 0)
        most += max(block.write[k] * (block.size[k] - 1), <Py_ssize_t> 0)
    if low < 0 or high + width > source or least < 0 or most + width > result:
        raise ValueError(f"a block of {[block.size[k] for k in range(block.axes)]} reaches beyond its arrays")
    return 0


cdef Step moved(tuple arrays, list blocks):
    """A step that moves blocks: (from which array, to which, start, into, sizes, steps in the source, in the result), in
    elements; None where an element's width or the number of axes is beyond these loops."""
    cdef Py_ssize_t i, width = arrays[0].itemsize
    cdef Block block
    cdef Move* how
    cdef int k
    kind = arrays[0].dtype
    for a in arrays:
        if a.dtype != kind:
            raise TypeError(f"elements are moved between arrays of one type, not {kind} and {a.dtype}")
    if kind.hasobject:
        return None
    how = <Move*> malloc((len(blocks) + 1) * sizeof(Move))
    if how == NULL:
        raise MemoryError
    try:
        how[0].count, how[0].n = len(blocks), len(arrays)
        for i, (x, y, start, into, sizes, reads, writes) in enumerate(blocks):
            if len(sizes) > MOST:
                return None
            if not arrays[y].flags.writeable:
                raise ValueError("the result's buffer is read-only")
            block.axes, block.start, block.into = len(sizes), start * width, into * width
            for k in range(block.axes):
                block.size[k], block.read[k], block.write[k] = sizes[k], reads[k] * width, writes[k] * width
            if not settle(how + i + 1, &block, x, y, arrays):
                return None
        return bound(<Run> moves, arrays, how, (len(blocks) + 1) * sizeof(Move))
    finally:
        free(how)


def steps_of(shape):
    """The steps of a contiguous array, in elements."""
    steps, step = [], 1
    for n in reversed(shape):
        steps.append(step)
        step *= n
    return steps[::-1]


def fits(y, shape):
    if y.shape != tuple(shape):
        raise ValueError(f"the result is {tuple(shape)}, its buffer {y.shape}")


# What operators ask for; each returns a step, or None for elements that are no plain bytes or too many axes

def copy(x, y):
    """The same elements: a step."""
    if x.size != y.size:
        raise ValueError(f"{x.shape} does not fit {y.shape}")
    return moved((x, y), [(0, 1, 0, 0, (x.size,), (1,), (1,))])


def transpose(x, perm, y):
    """The axes in another order: a step."""
    steps = steps_of(x.shape)
    sizes = [x.shape[p] for p in perm]
    if sorted(perm) != list(range(x.ndim)):
        raise ValueError(f"{perm} is no order of {x.ndim} axes")
    fits(y, sizes)
    return moved((x, y), [(0, 1, 0, 0, sizes, [steps[p] for p in perm], steps_of(sizes))])


def slice(x, starts, steps, y):
    """Every axis from its start on, by its step, as far as the result goes: a step."""
    along = steps_of(x.shape)
    if not len(starts) == len(steps) == x.ndim == y.ndim:
        raise ValueError(f"starts {starts} and steps {steps} do not fit {x.shape} and {y.shape}")
    for n, size, start, step in zip(x.shape, y.shape, starts, steps):
        if size and not (0 <= start < n and 0 <= start + (size - 1) * step < n):
            raise ValueError(f"{size} elements from {start} by {step} are not in {n}")
    start = sum([s * a for s, a in zip(starts, along)]) if y.size else 0
    return moved((x, y), [(0, 1, start, 0, y.shape, [s * a for s, a in zip(steps, along)], steps_of(y.shape))])


def concat(arrays, int axis, y):
    """Arrays one after the other along an axis: a step."""
    into, along, blocks = 0, steps_of(y.shape), []
    for i, x in enumerate(arrays):
        if x.shape[:axis] != y.shape[:axis] or x.shape[axis + 1:] != y.shape[axis + 1:] or x.ndim != y.ndim:
            raise ValueError(f"{x.shape} does not fit {y.shape} along axis {axis}")
        blocks.append((i, len(arrays), 0, into * along[axis], x.shape, steps_of(x.shape), along))
        into += x.shape[axis]
    if into != y.shape[axis]:
        raise ValueError(f"{into} along axis {axis} do not fill {y.shape}")
    return moved((*arrays, y), blocks)


def split(x, int axis, outs):
    """Parts of an array along an axis, as pairs of where a part starts and its buffer: a step."""
    along = steps_of(x.shape)
    for start, y in outs:
        if x.shape[:axis] != y.shape[:axis] or x.shape[axis + 1:] != y.shape[axis + 1:] or x.ndim != y.ndim:
            raise ValueError(f"{y.shape} is no part of {x.shape} along axis {axis}")
    return moved((x, *[y for _, y in outs]), [(0, i + 1, start * along[axis], 0, y.shape, along, steps_of(y.shape))
                                             for i, (start, y) in enumerate(outs)])


def repeat(x, sizes, repeats, y):
    """Axes that NumPy's broadcasting (`sizes` 1) or tiling repeats: a step.

    The result has `repeats[i]` times `sizes[i]` elements along axis i, where the source has `sizes[i]`.
    """
    fits(y, [n * r for n, r in zip(sizes, repeats)])
    along, beside = steps_of(sizes), steps_of(y.shape)
    if x.size != prod(sizes):
        raise ValueError(f"{x.shape} has not {sizes}")
    return moved((x, y), [(0, 1, 0, 0, [n for pair in zip(repeats, sizes) for n in pair], [s for a in along for s in (0, a)],
                           [s for b, n in zip(beside, sizes) for s in (b * n, b)])])


# Gathered rows

cdef struct Rows:
    Gatherer gather
    bint wide  # indices of eight bytes
    Py_ssize_t outer, count, size, bytes

cdef struct Gathering:
    const char* x
    const char* index
    char* y
    const Rows* how


cdef int some_rows(const Gathering* on, Py_ssize_t begin, Py_ssize_t end, void* scratch) noexcept nogil:
    """Rows by their indices, from one block of the table after the other."""
    cdef const Rows* how = on.how
    cdef Py_ssize_t outer, first, last
    while begin < end:
        outer, first = begin // how.count, begin % how.count
        last = min(how.count, first + end - begin)
        if how.gather(on.x + outer * how.size * how.bytes, on.index, on.y + begin * how.bytes, first, last, how.size,
                      how.bytes) >= 0:
            return OUT_OF_RANGE
        begin += last - first
    return OK


cdef int rows(void** at, const Rows* how) noexcept nogil:
    cdef Gathering on = Gathering(<const char*> at[0], <const char*> at[1], <char*> at[2], how)
    cdef int status = share(team(at, 3), <Task> some_rows, &on, how.outer * how.count, how.bytes // 10 + 2)
    if status != OUT_OF_RANGE:
        return status
    if how.wide:
        return named(<const int64_t*> on.index, how.count, &how.size, 1)
    return named(<const int32_t*> on.index, how.count, &how.size, 1)


def gather(x, index, int axis, y):
    """The rows along an axis that indices name, negative ones from the end: a step, None for objects."""
    cdef Rows how
    cdef Element code = code_of(index)
    if code != INT32 and code != INT64:
        raise TypeError(f"indices are int32 or int64, not {index.dtype}")
    if x.dtype != y.dtype:
        raise TypeError(f"elements of {x.dtype} are no {y.dtype}")
    fits(y, x.shape[:axis] + index.shape + x.shape[axis + 1:])
    if x.dtype.hasobject:
        return None
    if not y.flags.writeable:
        raise ValueError("the result's buffer is read-only")
    how.wide = code == INT64
    how.gather = loops.gathered[how.wide]
    how.size, how.count = x.shape[axis], index.size
    how.outer, how.bytes = prod(x.shape[:axis]), prod(x.shape[axis + 1:]) * x.itemsize
    if not how.bytes or not how.outer:
        how.outer = 0
    return bound(<Run> rows, (x, index, y), &how, sizeof(how))
