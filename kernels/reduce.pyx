"""Reductions: sums, means, products, norms, logarithms of sums and extremes along any axes."""
cimport numpy as cnp
from libc.math cimport isfinite
from .step cimport BRAIN, DOUBLE, ELEMENTS, FLOAT, HALF, OK, Element, Run, Step, bound, code_of, team
from .threads cimport Task, share

cdef extern from "hot/reduce.h" nogil:
    enum FoldKind:
        FOLD_SUM, FOLD_SIZES, FOLD_SQUARES, FOLD_PRODUCT, FOLD_EXPONENTIALS, FOLD_LARGEST, FOLD_LEAST
    enum FoldEnd:
        END_AS_IS, END_MEAN, END_ROOT, END_LOGARITHM, END_SHIFTED_LOGARITHM
    enum:
        FOLD_BLOCK, FOLD_WIDTH, FOLD_ROOM
    ctypedef void (*FoldRow)(const void* x, Py_ssize_t n, const double* shift, void* to) noexcept nogil
    ctypedef void (*FoldRows)(const void* x, Py_ssize_t stride, Py_ssize_t n, Py_ssize_t m, const double* shift,
                              void* to) noexcept nogil
    ctypedef void (*FoldLoad)(const void* x, void* y, Py_ssize_t n) noexcept nogil
    ctypedef void (*FoldEnding)(const void* from_, const double* shift, Py_ssize_t m, double count, int end,
                                void* y) noexcept nogil
    ctypedef void (*FoldStart)(void* to, Py_ssize_t m) noexcept nogil
    ctypedef struct Fold:
        FoldRow row
        FoldRows rows
        FoldStart start
    ctypedef struct ReduceLoops:
        Fold fold[7][13]
        Fold* whole
        FoldLoad* widened
        FoldEnding* from_double
        FoldEnding* own
        FoldEnding* mean
    const ReduceLoops* picked "PICKED(reduce)"

cdef const ReduceLoops* loops = picked

KINDS = {"sum": (FOLD_SUM, END_AS_IS), "mean": (FOLD_SUM, END_MEAN), "product": (FOLD_PRODUCT, END_AS_IS),
         "sizes": (FOLD_SIZES, END_AS_IS), "squares": (FOLD_SQUARES, END_AS_IS), "norm": (FOLD_SQUARES, END_ROOT),
         "logarithm": (FOLD_SUM, END_LOGARITHM), "exponentials": (FOLD_EXPONENTIALS, END_SHIFTED_LOGARITHM),
         "largest": (FOLD_LARGEST, END_AS_IS), "least": (FOLD_LEAST, END_AS_IS)}

cdef enum:
    MOST = 64  # axes, as many as NumPy has
    NARROW = 32  # rows of so many elements are too short to be lanes
    WIDE = 128  # elements that short rows make up together

cdef struct Axes:
    Py_ssize_t count
    Py_ssize_t[MOST] sizes
    Py_ssize_t[MOST] strides

# The axes, merged where neighbours go the same way: results along the kept ones; each takes the sums of `run` elements or, where
# the last axis is kept, of `run` rows of `inner` elements, once for every place along the folded ones.
cdef struct Reduction:
    Fold fold, most  # `most` finds what exponents are less by
    FoldLoad load
    FoldRows join  # folds accumulators of `fold`, where that can be done
    FoldEnding ending
    int end
    bint narrow
    Py_ssize_t width, wide, held  # bytes of an element as it lies, as it is computed with, and of an accumulator
    Axes kept, folded
    Py_ssize_t places, run, stride, inner, blocks, results, cost
    double count

cdef struct Reducing:
    const char* x
    char* y
    const Reduction* how


cdef void fold_row(const Reduction* how, const Fold* fold, const char* x, const double* shift, void* to,
                   char* room) noexcept nogil:
    """One row of `run` elements, widened a piece at a time where that is due."""
    cdef Py_ssize_t at = 0, n
    if how.load == NULL:
        fold.row(x, how.run, shift, to)
        return
    while at < how.run:
        n = min(how.run - at, FOLD_ROOM)
        how.load(x + at * how.width, room, n)
        fold.row(room, n, shift, to)
        at += n


cdef void fold_rows(const Reduction* how, const Fold* fold, const char* x, Py_ssize_t stride, Py_ssize_t n, Py_ssize_t m,
                    const double* shift, void* to, char* room) noexcept nogil:
    """n rows of m elements."""
    cdef Py_ssize_t at = 0, some, k
    if how.load == NULL:
        fold.rows(x, stride, n, m, shift, to)
        return
    while at < n:
        some = min(n - at, FOLD_ROOM // m)
        if stride == m:
            how.load(x + at * m * how.width, room, some * m)
        else:
            for k in range(some):
                how.load(x + (at + k) * stride * how.width, room + k * m * how.wide, m)
        fold.rows(room, m, some, m, shift, to)
        at += some


cdef void fold_narrow(const Reduction* how, const char* x, Py_ssize_t m, void* to, char* room) noexcept nogil:
    """`run` rows so short that many of them are taken as one, whose parts are folded in the end."""
    cdef char[WIDE * FOLD_WIDTH] wide
    cdef Py_ssize_t many = WIDE // m, done = how.run // many
    how.fold.start(wide, many * m)
    fold_rows(how, &how.fold, x, many * m, done, many * m, NULL, wide, room)
    how.join(wide, m, many, m, NULL, to)
    fold_rows(how, &how.fold, x + done * many * m * how.width, m, how.run - done * many, m, NULL, to, room)


cdef void fold_all(const Reduction* how, const Fold* fold, const char* x, Py_ssize_t m, const double* shift, void* to,
                   char* room) noexcept nogil:
    """All places along the folded axes, for m results side by side, or for one."""
    cdef Py_ssize_t[MOST] at
    cdef Py_ssize_t place, i, offset = 0
    for i in range(how.folded.count):
        at[i] = 0
    for place in range(how.places):
        if how.narrow:
            fold_narrow(how, x + offset * how.width, m, to, room)
        elif how.inner:
            fold_rows(how, fold, x + offset * how.width, how.stride, how.run, m, shift, to, room)
        else:
            fold_row(how, fold, x + offset * how.width, shift, to, room)
        for i in range(how.folded.count):
            at[i] += 1
            offset += how.folded.strides[i]
            if at[i] < how.folded.sizes[i]:
                break
            offset -= at[i] * how.folded.strides[i]
            at[i] = 0


cdef Py_ssize_t offset_of(const Axes* axes, Py_ssize_t place) noexcept nogil:
    cdef Py_ssize_t i, found = 0
    for i in range(axes.count - 1):
        found += place % axes.sizes[i] * axes.strides[i]
        place //= axes.sizes[i]
    return found + place * axes.strides[axes.count - 1] if axes.count else 0


cdef struct Room:
    char* to  # accumulators
    double* shift  # what exponents are less by: their largest, and nothing where that is no number
    double* most
    char* widened


cdef Room rooms(void* scratch) noexcept nogil:
    cdef char* to = <char*> scratch
    cdef double* shift = <double*> (to + FOLD_BLOCK * FOLD_WIDTH)
    return Room(to, shift, shift + FOLD_BLOCK, <char*> (shift + 2 * FOLD_BLOCK))


cdef void shifted(const Reduction* how, Py_ssize_t m, Room room) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(m):
        room.most[i] = (<const float*> room.to)[i] if how.wide == sizeof(float) else (<const double*> room.to)[i]
        room.shift[i] = room.most[i] if isfinite(room.most[i]) else 0


cdef int some_blocks(const Reducing* on, Py_ssize_t begin, Py_ssize_t end, void* scratch) noexcept nogil:
    """Results side by side, where the last axis is kept."""
    cdef const Reduction* how = on.how
    cdef Room room = rooms(scratch)
    cdef Py_ssize_t at, m, block, row
    cdef const char* x
    for at in range(begin, end):
        row, block = at // how.blocks, at % how.blocks * FOLD_BLOCK
        m = min(how.inner - block, <Py_ssize_t> FOLD_BLOCK)
        x = on.x + (offset_of(&how.kept, row) + block) * how.width
        if how.most.row != NULL:
            how.most.start(room.to, m)
            fold_all(how, &how.most, x, m, NULL, room.to, room.widened)
            shifted(how, m, room)
        how.fold.start(room.to, m)
        fold_all(how, &how.fold, x, m, room.shift, room.to, room.widened)
        how.ending(room.to, room.most, m, how.count, how.end, on.y + (row * how.inner + block) * how.width)
    return OK


cdef int some_rows(const Reducing* on, Py_ssize_t begin, Py_ssize_t end, void* scratch) noexcept nogil:
    """Results one by one, and the last step for many of them at a time."""
    cdef const Reduction* how = on.how
    cdef Room room = rooms(scratch)
    cdef Py_ssize_t at = begin, m, i
    while at < end:
        m = min(end - at, <Py_ssize_t> FOLD_BLOCK)
        if how.most.row != NULL:
            how.most.start(room.to, m)
            for i in range(m):
                fold_all(how, &how.most, on.x + offset_of(&how.kept, at + i) * how.width, 1, NULL, room.to + i * how.wide,
                         room.widened)
            shifted(how, m, room)
        how.fold.start(room.to, m)
        for i in range(m):
            fold_all(how, &how.fold, on.x + offset_of(&how.kept, at + i) * how.width, 1, room.shift + i,
                     room.to + i * how.held, room.widened)
        how.ending(room.to, room.most, m, how.count, how.end, on.y + at * how.width)
        at += m
    return OK


cdef int reduced(void** at, const Reduction* how) noexcept nogil:
    cdef Reducing on = Reducing(<const char*> at[0], <char*> at[1], how)
    return share(team(at, 2), <Task> some_blocks if how.inner else <Task> some_rows, &on, how.results, how.cost)


# Binding

cdef int choose(Reduction* how, str kind, Element code) except -1:
    """The loops of a kind for an element type: integers wrap around, but for means, roots and logarithms, which are cut off."""
    cdef int fold, end, computed, joined
    fold, end = KINDS[kind]
    cdef bint extreme = fold == <int> FOLD_LARGEST or fold == <int> FOLD_LEAST, own
    how.end, how.load, how.most.row, how.join = end, NULL, NULL, NULL
    computed = code if code < HALF else FLOAT if code <= BRAIN else code if end == END_AS_IS else DOUBLE
    own = extreme or computed > <int> BRAIN
    how.wide = how.width if computed == <int> code else 4 if computed == FLOAT else 8
    if code > BRAIN and end == END_MEAN:
        how.fold, how.ending, how.held, how.wide = loops.whole[<int> code], loops.mean[<int> code], 16, how.width
    else:
        how.fold = loops.fold[fold][computed]
        how.load = loops.widened[<int> code] if computed != <int> code else NULL
        how.ending = loops.own[<int> code] if own else loops.from_double[<int> code]
        how.held = how.wide if own else 8
        if fold != FOLD_EXPONENTIALS:
            joined = fold if extreme or fold == FOLD_PRODUCT else FOLD_SUM
            how.join = loops.fold[joined][computed if own else <int> DOUBLE].rows
    if fold == FOLD_EXPONENTIALS:
        how.most = loops.fold[<int> FOLD_LARGEST][computed]
    return how.fold.row != NULL and how.ending != NULL


cdef Py_ssize_t lay(Reduction* how, cnp.ndarray x, const bint* gone) except -1:
    """Axes from the last to the first, those of size 1 left out and neighbours that go the same way merged.

    Returns how many results there will be.
    """
    cdef Py_ssize_t i, n, stride = 1, results = 1
    cdef int before = -1
    cdef bint last_kept = False
    cdef Axes* axes
    how.kept.count = how.folded.count = 0
    how.count = 1
    for i in range(x.ndim - 1, -1, -1):
        n = x.shape[i]
        if gone[i]:
            how.count *= n
        else:
            results *= n
        if n == 1:
            continue
        axes = &how.folded if gone[i] else &how.kept
        if before == gone[i]:
            axes.sizes[axes.count - 1] *= n
        else:
            last_kept = last_kept or before < 0 and not gone[i]
            axes.sizes[axes.count], axes.strides[axes.count] = n, stride
            axes.count += 1
            before = gone[i]
        stride *= n
    how.stride, how.run, how.places = inner_of(&how.folded)
    how.inner, how.blocks, how.results = 0, 1, results
    if last_kept and results:
        how.inner = inner_of(&how.kept)[1]
        how.blocks = (how.inner + FOLD_BLOCK - 1) // FOLD_BLOCK
        how.results = results // how.inner * how.blocks
    return results


cdef (Py_ssize_t, Py_ssize_t, Py_ssize_t) inner_of(Axes* axes) noexcept:
    """Takes the innermost axis away: its stride, its size, and how many places the others have."""
    cdef Py_ssize_t i, places = 1, stride = 1, size = 1
    if axes.count:
        stride, size = axes.strides[0], axes.sizes[0]
        axes.count -= 1
    for i in range(axes.count):
        axes.sizes[i], axes.strides[i] = axes.sizes[i + 1], axes.strides[i + 1]
        places *= axes.sizes[i]
    return stride, size, places


def fold(x, axes, str kind, y):
    """A reduction along the axes, of a kind that `KINDS` names: a step. The result must not stand where the input stands."""
    cdef Reduction how
    cdef bint[MOST] gone
    cdef Element code = code_of(x)
    cdef Py_ssize_t i, results
    if code == ELEMENTS or x.dtype != y.dtype:
        raise TypeError(f"no kernel from {x.dtype} to {y.dtype}")
    if not y.flags.writeable:
        raise ValueError("the result's buffer is read-only")
    for i in range(MOST):
        gone[i] = False
    for i in axes:
        if not 0 <= i < x.ndim or gone[i]:
            raise ValueError(f"axes {axes} of {x.shape}")
        gone[i] = True
    how.width = x.itemsize
    if not choose(&how, kind, code):
        raise TypeError(f"no kernel for the {kind} of {x.dtype}")
    results = lay(&how, x, gone)
    how.narrow = how.join != NULL and 0 < how.inner <= NARROW and how.stride == how.inner and how.run * how.inner >= 4 * WIDE
    if y.size != results:
        raise ValueError(f"{y.shape} does not hold {x.shape} without the axes {axes}")
    how.cost = how.run * how.places * (FOLD_BLOCK if how.inner >= FOLD_BLOCK else max(how.inner, 1)) * cost_of(&how) // 8 + 10
    return bound(<Run> reduced, (x, y), &how, sizeof(how), FOLD_BLOCK * (FOLD_WIDTH + 16) + FOLD_ROOM * 8)


cdef Py_ssize_t cost_of(const Reduction* how) noexcept:
    """What an element takes, in eighths of a nanosecond."""
    if how.most.row != NULL:
        return 80 if how.wide == sizeof(double) else 12
    return 4 if how.load != NULL or how.held > 8 else 2
