"""Floats to bytes and back, by scales and zero points that are given or found from the range; sums and products of bytes."""
import math
cimport numpy as cnp
import numpy as np
from libc.stdint cimport int8_t, uint8_t
from .step cimport OK, Run, bound, team
from .threads cimport Task, Team, share

cnp.import_array()

cdef extern from "hot/quantize.h" nogil:
    ctypedef struct Operand:
        uint8_t* at
        double scale
        int zero
        bint single
    ctypedef struct Pairs:
        Operand a, b, y
        bint product, is_signed, late
    ctypedef struct QuantizeLoops:
        void (*quantise)(const float* x, const float* scale, const uint8_t* zero, bint each, bint is_signed, uint8_t* y,
                         Py_ssize_t n) noexcept nogil
        void (*dequantise)(const uint8_t* x, const float* scale, const uint8_t* zero, bint each, bint is_signed, float* y,
                           Py_ssize_t n) noexcept nogil
        void (*reach)(const float* x, Py_ssize_t n, float* least, float* most) noexcept nogil
        void (*pair)(const Pairs* how, Py_ssize_t n) noexcept nogil
        void (*lookup)(const uint8_t* x, const uint8_t* table, uint8_t* y, Py_ssize_t n) noexcept nogil
    const QuantizeLoops* picked "PICKED(quantize)"

cdef const QuantizeLoops* loops = picked
cdef enum:
    PIECE = 4096  # elements of a row that are one item of work

cdef struct Scaling:
    Py_ssize_t rows, length, pieces, scales
    bint each, is_signed, zeroed, back  # each: every element of a row has a scale of its own

cdef struct Call:
    const Scaling* how
    const void* x
    const float* scale
    const uint8_t* zero
    void* y


cdef int some_rows(const Call* call, Py_ssize_t begin, Py_ssize_t end, void* scratch) noexcept nogil:
    cdef const Scaling* how = call.how
    cdef Py_ssize_t item, row, first, n, at
    cdef const uint8_t* zero
    for item in range(begin, end):
        row, first = item // how.pieces, item % how.pieces * PIECE
        n, at = min(PIECE, how.length - first), first if how.each else row % how.scales
        zero = NULL
        if call.zero != NULL:
            zero = call.zero + at
        first += row * how.length
        if how.back:
            loops.dequantise(<const uint8_t*> call.x + first, call.scale + at, zero, how.each, how.is_signed,
                             <float*> call.y + first, n)
        else:
            loops.quantise(<const float*> call.x + first, call.scale + at, zero, how.each, how.is_signed,
                           <uint8_t*> call.y + first, n)
    return OK


cdef int scaled(const Team* workers, const Call* call) noexcept nogil:
    cdef const Scaling* how = call.how
    return share(workers, <Task> some_rows, call, how.rows * how.pieces, 1 + min(PIECE, how.length) // 4)


cdef int run(void** at, const Scaling* how) noexcept nogil:
    cdef int result = 3 if how.zeroed else 2
    cdef Call call
    call.how, call.x, call.y, call.scale, call.zero = how, at[0], at[result], <const float*> at[1], NULL
    if how.zeroed:
        call.zero = <const uint8_t*> at[2]
    return scaled(team(at, result + 1), &call)


def quantise(x, scale, zero, y, axis=None):
    """The bytes nearest to ``x / scale + zero``, ``x`` of float: a step. One scale, or one for each index of the axis."""
    return made(x, scale, zero, y, axis, x, y, False)


def dequantise(x, scale, zero, y, axis=None):
    """``(x - zero) * scale`` in float, ``x`` of bytes: a step. One scale, or one for each index of the axis."""
    return made(x, scale, zero, y, axis, y, x, True)


cdef made(x, scale, zero, y, axis, wide, small, bint back):
    cdef Scaling how
    if wide.dtype != np.float32 or small.dtype not in (np.uint8, np.int8) or scale.dtype != np.float32:
        raise TypeError(f"{x.dtype} by scales of {scale.dtype} to {y.dtype}")
    if x.shape != y.shape or not y.flags.writeable:
        raise ValueError(f"{x.shape} scaled is not {y.shape}")
    if zero is not None and (zero.dtype != small.dtype or zero.size != scale.size):
        raise ValueError(f"a zero point of {zero.dtype}{zero.shape} beside a scale of {scale.shape} and {small.dtype}")
    if scale.size != (1 if axis is None else x.shape[axis]):
        raise ValueError(f"{scale.shape} scales for axis {axis} of {x.shape}")
    lay_out(&how, x.shape, axis)
    how.zeroed, how.back, how.is_signed = zero is not None, back, small.dtype == np.int8
    arrays = (x, scale, y) if zero is None else (x, scale, zero, y)
    return bound(<Run> run, arrays, &how, sizeof(how))


cdef int lay_out(Scaling* how, tuple shape, axis) except -1:
    """What is one row: all of it, what has one scale, or what has a scale for each element."""
    cdef Py_ssize_t inner = 1 if axis is None else math.prod(shape[axis + 1:])
    how.scales = 1 if axis is None else shape[axis]
    how.each = inner == 1 and axis is not None
    if axis is None:
        how.rows, how.length = 1, math.prod(shape)
    elif how.each:
        how.rows, how.length = math.prod(shape[:axis]), how.scales
    else:
        how.rows, how.length = math.prod(shape[:axis]) * how.scales, inner
    how.pieces = (how.length + PIECE - 1) // PIECE
    return 0


cdef struct Range:
    float least, most


cdef int some_range(const Call* call, Py_ssize_t begin, Py_ssize_t end, void* scratch) noexcept nogil:
    cdef Range* found = <Range*> scratch
    cdef Py_ssize_t first = begin * PIECE
    loops.reach(<const float*> call.x + first, min(end * PIECE, call.how.length) - first, &found.least, &found.most)
    return OK


cdef int found_and_scaled(void** at, const Scaling* how) noexcept nogil:
    cdef const Team* workers = team(at, 4)
    cdef float* scale = <float*> at[2]
    cdef uint8_t* zero = <uint8_t*> at[3]
    cdef Call call = Call(how, at[0], scale, zero, at[1])
    cdef Range all_of_it = Range(0, 0)
    cdef Range* part
    cdef float middle, one = 1
    cdef int k
    for k in range(workers.threads):
        (<Range*> (workers.scratch + k * workers.each))[0] = all_of_it
    share(workers, <Task> some_range, &call, how.pieces, 1 + PIECE // 16)
    for k in range(workers.threads):
        part = <Range*> (workers.scratch + k * workers.each)
        all_of_it.least, all_of_it.most = min(all_of_it.least, part.least), max(all_of_it.most, part.most)
    scale[0] = one if all_of_it.least == all_of_it.most else (all_of_it.most - all_of_it.least) / <float> 255
    middle = -all_of_it.least / scale[0]
    loops.quantise(&middle, &one, NULL, False, False, zero, 1)
    return scaled(workers, &call)


def dynamic(x, y, scale, zero):
    """Bytes, with the scale and the zero point that the range of ``x`` and 0 just fit: a step.

    Where all are 0 the scale is 1. NaN does not count for the range.
    """
    cdef Scaling how
    if (x.dtype, y.dtype, scale.dtype, zero.dtype) != (np.float32, np.uint8, np.float32, np.uint8):
        raise TypeError(f"{x.dtype} to {y.dtype} with {scale.dtype} and {zero.dtype}; it is float to uint8, float and uint8")
    if x.shape != y.shape or scale.size != 1 or zero.size != 1 or not all([a.flags.writeable for a in (y, scale, zero)]):
        raise ValueError(f"{x.shape} is not quantised to {y.shape} with {scale.shape} and {zero.shape}")
    lay_out(&how, x.shape, None)
    how.zeroed, how.back, how.is_signed = True, False, False
    return bound(<Run> found_and_scaled, (x, y, scale, zero), &how, sizeof(how), sizeof(Range))


cdef enum:
    MOST_AXES = 8  # that are left once neighbours along which operands go on alike are one

cdef struct Pairing:
    Py_ssize_t rows, length, pieces  # stretches of the result in which each operand goes on or repeats
    Py_ssize_t[MOST_AXES] sizes, a_steps, b_steps  # the axes of rows, the last first
    int axes
    bint product, is_signed, late, a_single, b_single
    int[3] first, zero  # where a, b and y stand, each with its scale behind it; and their zero points, -1 for what is absent
    int arrays

cdef struct PairCall:
    const Pairing* how
    Pairs pairs


cdef Operand operand(void** at, const Pairing* how, int k, bint single) noexcept nogil:
    cdef Operand made
    made.at, made.scale, made.zero, made.single = <uint8_t*> at[how.first[k]], (<const float*> at[how.first[k] + 1])[0], 0, single
    if how.zero[k] >= 0:
        made.zero = (<const uint8_t*> at[how.zero[k]])[0]
        if how.is_signed:
            made.zero = <int8_t> made.zero
    return made


cdef int some_pairs(const PairCall* call, Py_ssize_t begin, Py_ssize_t end, void* scratch) noexcept nogil:
    cdef const Pairing* how = call.how
    cdef Pairs some = call.pairs
    cdef Py_ssize_t item, row, first, a, b
    cdef int axis
    for item in range(begin, end):
        row, first = item // how.pieces, item % how.pieces * PIECE
        some.y.at = call.pairs.y.at + row * how.length + first
        a, b = 0 if how.a_single else first, 0 if how.b_single else first
        for axis in range(how.axes):
            a += row % how.sizes[axis] * how.a_steps[axis]
            b += row % how.sizes[axis] * how.b_steps[axis]
            row //= how.sizes[axis]
        some.a.at, some.b.at = call.pairs.a.at + a, call.pairs.b.at + b
        loops.pair(&some, min(PIECE, how.length - first))
    return OK


cdef int all_pairs(void** at, const Pairing* how) noexcept nogil:
    cdef PairCall call
    call.how = how
    call.pairs.a, call.pairs.b = operand(at, how, 0, how.a_single), operand(at, how, 1, how.b_single)
    call.pairs.y = operand(at, how, 2, False)
    call.pairs.product, call.pairs.is_signed, call.pairs.late = how.product, how.is_signed, how.late
    return share(team(at, how.arrays), <Task> some_pairs, &call, how.rows * how.pieces, 10 + min(PIECE, how.length) // 8)


cdef int walk(Pairing* how, tuple a, tuple b, tuple y) except -1:
    """How operands of these shapes go along the result: axes of size 1 and those that go on like their neighbour are none."""
    axes, last, steps = [], None, [1, 1]
    a, b = (1,) * (len(y) - len(a)) + a, (1,) * (len(y) - len(b)) + b
    for size, *sizes in reversed(list(zip(y, a, b, strict=True))):
        here = [0 if n == 1 else step for n, step in zip(sizes, steps)]
        steps = [step * n for n, step in zip(sizes, steps)]
        if last is not None and here == [step * last[0] for step in last[1]]:
            last[0] *= size
        elif size != 1:
            last = [size, here]
            axes.append(last)
    if len(axes) > MOST_AXES + 1:
        raise ValueError(f"{a} and {b} repeat along too many axes")
    [how.length, (left, right)], *rest = axes or [[1, [1, 1]]]
    how.a_single, how.b_single, how.axes = left == 0, right == 0, len(rest)
    how.rows, how.pieces = math.prod([size for size, _ in rest]), (how.length + PIECE - 1) // PIECE
    for axis, (size, (left, right)) in enumerate(rest):
        how.sizes[axis], how.a_steps[axis], how.b_steps[axis] = size, left, right
    return 0


def pair(str name, tuple a, tuple b, tuple y, bint late=False):
    """The sum ("add") or the product ("mul") of bytes, quantised: a step. Each is bytes, a scale and a zero point or None.

    Operands repeat where they have sizes of 1; rounding comes after the result's zero point is added, unless that is ``late``.
    """
    cdef Pairing how
    cdef int k
    arrays = []
    for k, (x, scale, zero) in enumerate((a, b, y)):
        if x.dtype not in (np.uint8, np.int8) or x.dtype != y[0].dtype or scale.dtype != np.float32:
            raise TypeError(f"{x.dtype} with a scale of {scale.dtype} for {y[0].dtype}")
        if zero is not None and (zero.dtype != x.dtype or zero.size != 1) or scale.size != 1:
            raise ValueError(f"a scale or zero point is one number, not {[p.shape for p in (scale, zero) if p is not None]}")
        how.first[k], how.zero[k] = len(arrays), -1 if zero is None else len(arrays) + 2
        arrays += [x, scale] if zero is None else [x, scale, zero]
    if not y[0].flags.writeable or y[0].shape != np.broadcast_shapes(a[0].shape, b[0].shape):
        raise ValueError(f"{a[0].shape} and {b[0].shape} do not give {y[0].shape}")
    how.arrays, how.late = len(arrays), late
    walk(&how, a[0].shape, b[0].shape, y[0].shape)
    how.product, how.is_signed = {"add": False, "mul": True}[name], y[0].dtype == np.int8
    return bound(<Run> all_pairs, tuple(arrays), &how, sizeof(how))


cdef struct Table:
    Py_ssize_t n

cdef struct TableCall:
    Py_ssize_t n
    const uint8_t* x
    const uint8_t* table
    uint8_t* y


cdef int some_bytes(const TableCall* call, Py_ssize_t begin, Py_ssize_t end, void* scratch) noexcept nogil:
    cdef Py_ssize_t first = begin * PIECE
    loops.lookup(call.x + first, call.table, call.y + first, min(end * PIECE, call.n) - first)
    return OK


cdef int all_bytes(void** at, const Table* how) noexcept nogil:
    cdef TableCall call = TableCall(how.n, <const uint8_t*> at[0], <const uint8_t*> at[1], <uint8_t*> at[2])
    return share(team(at, 3), <Task> some_bytes, &call, (how.n + PIECE - 1) // PIECE, PIECE // 3)


def lookup(x, table, y):
    """A function of every byte by its table of 256, which bytes without a sign number: a step."""
    cdef Table how
    if not {x.dtype, table.dtype, y.dtype} <= {np.dtype(np.uint8), np.dtype(np.int8)} or table.dtype != y.dtype:
        raise TypeError(f"{x.dtype} by a table of {table.dtype} to {y.dtype}")
    if x.shape != y.shape or table.shape != (256,) or not y.flags.writeable:
        raise ValueError(f"{x.shape} by a table of {table.shape} is not {y.shape}")
    how.n = x.size
    return bound(<Run> all_bytes, (x, table, y), &how, sizeof(how))
