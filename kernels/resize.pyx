"""Resizing: every axis of a tensor taken anew from a table of its places, picked or weighted."""
from math import prod
cimport numpy as cnp
import numpy as np
from libc.stdint cimport uint8_t
from libc.string cimport memcpy
from .step cimport (BOOL, BRAIN, DOUBLE, FLOAT, HALF, INT8, INT16, INT32, INT64, OK, UINT8, UINT16, UINT32, UINT64, Element, Run,
                    bound, code_of, team)
from .threads cimport Task, share

cnp.import_array()

cdef extern from "hot/resize.h" nogil:
    enum:
        RESIZED, IN_FLOAT, IN_HALF, IN_BRAIN, IN_INT8, IN_UINT8, IN_INT16, IN_UINT16, IN_BOOL
        IN_DOUBLE, IN_INT32, IN_UINT32, IN_INT64, IN_UINT64
    ctypedef struct Axis:
        Py_ssize_t in_ "in"
        Py_ssize_t out, taps, after
        const Py_ssize_t* index
        const void* weight
        const uint8_t* outside
    ctypedef struct Resize:
        Axis axis[RESIZED]
        int axes
        int order[RESIZED]
        bint rows_first, identity
        int type
        Py_ssize_t outer, rows, blocks, element
        const Py_ssize_t* low
        const Py_ssize_t* high
        Py_ssize_t room, wide
        double fill
    ctypedef struct ResizeCall:
        const Resize* how
        const char* x
        char* y
    ctypedef void (*PickedRow)(const char* x, char* y, const Py_ssize_t* index, Py_ssize_t n) noexcept nogil
    ctypedef struct ResizeLoops:
        Task in_float, in_double
        PickedRow picked[6]
        PickedRow doubled[6]
    const ResizeLoops* picked "PICKED(resize)"

cdef const ResizeLoops* loops = picked
cdef enum:
    BLOCK = 32768  # elements that a block's intermediate results may take

cdef dict TYPES = {FLOAT: IN_FLOAT, HALF: IN_HALF, BRAIN: IN_BRAIN, INT8: IN_INT8, UINT8: IN_UINT8, INT16: IN_INT16,
                   UINT16: IN_UINT16, BOOL: IN_BOOL, DOUBLE: IN_DOUBLE, INT32: IN_INT32, UINT32: IN_UINT32, INT64: IN_INT64,
                   UINT64: IN_UINT64}


# Axes

def merged(x, y, tables):
    """What stands before the first axis that changes, and [in, out, table, what stands behind] of each that does.

    A table is None for an axis that stays, else (index, weight or None, outside or None).
    """
    if not len(x) == len(y) == len(tables):
        raise ValueError(f"{len(tables)} tables for {x} to become {y}")
    outer, axes = 1, []
    for n, m, table in zip(x, y, tables, strict=True):
        if table is not None:
            check(n, m, *table)
            axes.append([n, m, table, 1])
        elif n != m:
            raise ValueError(f"an axis of {n} has no table to become {m}")
        elif axes:
            axes[len(axes) - 1][3] *= n
        else:
            outer *= n
    if len(axes) > RESIZED:
        raise ValueError(f"{len(axes)} axes change; there may be {RESIZED}")
    return outer, axes


def check(n, m, index, weight, outside):
    """Refuse a table that does not make m places of n."""
    if index.dtype != np.intp or index.ndim != 2 or index.shape[1] != m or index.shape[0] < 1 or not index.flags.c_contiguous:
        raise ValueError(f"positions of shape {index.shape} do not make an axis of {m}")
    if index.size and (index.min() < 0 or index.max() >= n):
        raise ValueError(f"an axis of {n} has no place {index.max()}")
    if weight is not None and weight.shape != index.shape:
        raise ValueError(f"{weight.shape} weights for {index.shape} positions")
    if outside is not None and (outside.dtype != np.uint8 or outside.shape != (m,)):
        raise ValueError(f"{outside.shape} marks for an axis of {m}")


cdef void lay(Axis* axis, list found, weight):
    """Fill in the description of one axis."""
    cdef cnp.ndarray index, weights, outside
    n, m, (index, _, marks), after = found
    axis.in_, axis.out, axis.taps, axis.after = n, m, index.shape[0], after
    axis.index = <const Py_ssize_t*> cnp.PyArray_DATA(index)
    axis.weight, axis.outside = NULL, NULL
    if weight is not None:
        weights = weight
        axis.weight = cnp.PyArray_DATA(weights)
    if marks is not None:
        outside = marks
        axis.outside = <const uint8_t*> cnp.PyArray_DATA(outside)


# Picked: y is made of elements of x

cdef struct Pick:
    Axis axis[RESIZED]
    Py_ssize_t stride[RESIZED]  # of a place of each axis, in bytes
    int axes
    PickedRow line  # for places of the last axis that are as large as an element of some kind, else NULL
    Py_ssize_t outer, count, bytes, each, row  # rows in all; bytes of a place of the last axis, of an element, of a row
    char fill[16]

cdef struct Picking:
    const Pick* how
    const char* x
    char* y


cdef bint source(const Pick* how, Py_ssize_t row, Py_ssize_t* at) noexcept nogil:
    """Where the places of a row of the result begin; False where it lies beyond the input."""
    cdef const Axis* axis
    cdef Py_ssize_t place
    cdef bint inside = True
    cdef int k
    at[0] = 0
    for k in range(how.axes - 2, -1, -1):
        axis = &how.axis[k]
        if axis.after > 1:
            at[0] += row % axis.after * how.stride[k] // axis.after
            row = row // axis.after
        place = row % axis.out
        row = row // axis.out
        at[0] += axis.index[place] * how.stride[k]
        if axis.outside != NULL and axis.outside[place]:
            inside = False
    at[0] += row * how.axis[0].in_ * how.stride[0]
    return inside


cdef void fill(const Pick* how, char* y, Py_ssize_t bytes) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(bytes // how.each):
        memcpy(y + i * how.each, how.fill, how.each)


cdef int pick_rows(const Picking* on, Py_ssize_t begin, Py_ssize_t end, void* scratch) noexcept nogil:
    """Some rows: a row that is made of the same places as the one before is copied from there."""
    cdef const Pick* how = on.how
    cdef const Axis* axis = &how.axis[how.axes - 1]
    cdef Py_ssize_t row, at = 0, last = -1, o
    cdef char* y
    for row in range(begin, end):
        y = on.y + row * how.row
        if not source(how, row, &at):
            fill(how, y, how.row)
            last = -1
            continue
        if at == last:
            memcpy(y, y - how.row, how.row)
            continue
        last = at
        if how.line != NULL:
            how.line(on.x + at, y, axis.index, axis.out)
        else:
            for o in range(axis.out):
                memcpy(y + o * how.bytes, on.x + at + axis.index[o] * how.bytes, how.bytes)
        if axis.outside != NULL:
            for o in range(axis.out):
                if axis.outside[o]:
                    fill(how, y + o * how.bytes, how.bytes)
    return OK


cdef int run_pick(void** at, const Pick* how) noexcept nogil:
    cdef Picking on = Picking(how, <const char*> at[0], <char*> at[1])
    return share(team(at, 2), <Task> pick_rows, &on, how.count, 20 + how.row // 4)


def nearest(x, y, tables, fill=None):
    """Elements of ``x`` at the first position of each table, ``fill`` where one lies outside: a step. Any type of plain bytes."""
    cdef Pick how
    cdef Py_ssize_t stride
    cdef int k
    cdef bytes element = np.asarray(0 if fill is None else fill).astype(x.dtype).tobytes()
    if x.dtype != y.dtype or x.dtype.hasobject or x.itemsize > 16 or not y.flags.writeable:
        raise TypeError(f"{x.dtype} cannot be picked into {y.dtype}")
    outer, axes = merged(x.shape, y.shape, tables)
    if not axes:
        raise ValueError("no axis changes")
    how.axes, how.each, how.outer = len(axes), x.itemsize, outer
    memcpy(how.fill, <const char*> element, how.each)
    stride = x.itemsize
    for k in range(how.axes - 1, -1, -1):
        lay(&how.axis[k], axes[k], None)
        stride *= how.axis[k].after
        how.stride[k] = stride
        stride *= how.axis[k].in_
    how.bytes = how.stride[how.axes - 1]
    how.line = line_of(axes[how.axes - 1][2][0][0], how.bytes)
    how.row = how.bytes * how.axis[how.axes - 1].out
    how.count = y.size * how.each // how.row if y.size else 0
    return bound(<Run> run_pick, (x, y), &how, sizeof(how), 0, tables)


cdef PickedRow line_of(index, Py_ssize_t size):
    """What copies a line of places of so many bytes."""
    cdef int kind = {1: 0, 2: 1, 4: 2, 8: 3, 16: 4, 32: 5}.get(size, -1)
    if kind < 0:
        return NULL
    doubled = len(index) > 3 and np.array_equal(index, np.arange(len(index)) // 2 + index[0])
    return loops.doubled[kind] if doubled else loops.picked[kind]


# Weighted: y is made of sums

cdef int run_sums(void** at, const Resize* how) noexcept nogil:
    cdef ResizeCall call = ResizeCall(how, <const char*> at[0], <char*> at[1])
    cdef Py_ssize_t cost = 50 + how.room * (1 + how.axis[0].taps) // 4
    return share(team(at, 2), loops.in_double if how.type >= IN_DOUBLE else loops.in_float, &call, how.outer * how.blocks, cost)


def weighted(x, y, tables, double fill=0):
    """Sums of weighted elements of ``x``, axis by axis, ``fill`` where a table says outside: a step.

    Whole numbers are rounded, halves to even, and held to what their type has.
    """
    cdef Resize how
    cdef Element code = code_of(x)
    if code not in TYPES or x.dtype != y.dtype or not y.flags.writeable:
        raise TypeError(f"no kernel from {x.dtype} to {y.dtype}")
    how.type, how.element, how.fill = TYPES[code], x.itemsize, fill
    outer, axes = merged(x.shape, y.shape, tables)
    if not axes:
        raise ValueError("no axis changes")
    how.identity = len(axes) == 1 and axes[0][3] == 1 and len(axes) < RESIZED
    if how.identity:  # single elements: then the rows are those of what stands before
        axes.insert(0, [outer, outer, (np.arange(outer, dtype=np.intp)[None], np.ones((1, outer)), None), 1])
        outer = 1
    real = np.float64 if how.type >= IN_DOUBLE else np.float32
    weights = [np.ascontiguousarray(table[1], real) for _, _, table, _ in axes]
    for k in range(len(axes)):
        lay(&how.axis[k], axes[k], weights[k])
    how.axes, how.outer = len(axes), outer if y.size else 0
    how.rows = how.blocks = how.room = how.wide = 0
    made = 0
    reach = cut(&how, axes) if y.size else None
    if y.size and how.type not in (IN_FLOAT, IN_DOUBLE):
        made = how.rows * (y.size // (outer * how.axis[0].out))
    else:
        how.wide = 0
    room = np.dtype(real).itemsize * (2 * how.room + how.wide + made)
    return bound(<Run> run_sums, (x, y), &how, sizeof(how), room, (tables, axes, weights, reach))


cdef object cut(Resize* how, list axes):
    """Settle the order of the axes, the blocks and the room that their intermediate results need."""
    others = list(range(1, len(axes)))
    others.sort(key=lambda k: axes[k][1] / axes[k][0])  # what shrinks most goes first
    for i, k in enumerate(others):
        how.order[i] = k
    n, m, (index, _, _), after = axes[0]
    size = after * prod([a[0] * a[3] for a in axes[1:]])
    sizes = [size]
    for k in others:
        size = size // axes[k][0] * axes[k][1]
        sizes.append(size)
    how.rows_first = m * sum(sizes) <= n * sum(sizes[1:]) + m * size
    how.rows = max(1, min(m, BLOCK // max(sizes), BLOCK * m // (sizes[0] * n)))
    how.blocks = (m + how.rows - 1) // how.rows
    starts = np.arange(0, m, how.rows)
    low = np.minimum.reduceat(index.min(0), starts)
    high = np.maximum.reduceat(index.max(0), starts)
    reach = int((high - low).max()) + 1
    how.low, how.high = address(low), address(high)
    how.room = (how.rows if how.rows_first or how.identity else reach) * max(sizes)
    how.wide = reach * sizes[0]
    return low, high


cdef const Py_ssize_t* address(cnp.ndarray a):
    return <const Py_ssize_t*> cnp.PyArray_DATA(a)
