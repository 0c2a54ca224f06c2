"""Rows less their mean over their standard deviation, scaled and shifted: layer, RMS, group and instance normalization."""
from .step cimport BRAIN, DOUBLE, FLOAT, HALF, OK, Element, Run, Step, bound, brain, code_of, half, narrow, team, widen
from .threads cimport Task, Team, share

cdef extern from "hot/standardize.h" nogil:
    ctypedef struct Row:
        Py_ssize_t n, plane
        double epsilon
        int centered
    ctypedef void (*Standardized)(const void* x, void* y, const Row* how, const void* scale, const void* shift, void* room,
                                  double* statistics) noexcept nogil
    ctypedef struct StandardizeLoops:
        Standardized* row
    const StandardizeLoops* picked "PICKED(standardize)"

cdef const StandardizeLoops* loops = picked

cdef struct Rows:
    Row row
    Standardized one
    Py_ssize_t count, groups, factors, room
    int width, wide               # bytes of an element, and of a factor
    Element factor                # the type of scale and shift
    int scale, shift, y, mean, spread, arrays  # positions of arrays, -1 where absent
    Element of_mean, of_spread

cdef struct Standardizing:
    const char* x
    char* y
    const char* scale
    const char* shift
    void* mean
    void* spread
    const Rows* how


cdef void put(void* at, Py_ssize_t i, Element code, double value) noexcept nogil:
    """Round a number into an array of some floating type."""
    cdef float single = <float> value
    if code == DOUBLE:
        (<double*> at)[i] = value
    elif code == FLOAT:
        (<float*> at)[i] = single
    elif code == HALF:
        narrow[half](&single, <half*> at + i, 1)
    else:
        narrow[brain](&single, <brain*> at + i, 1)


cdef int some_rows(const Standardizing* on, Py_ssize_t begin, Py_ssize_t end, void* scratch) noexcept nogil:
    cdef const Rows* how = on.how
    cdef Py_ssize_t i, first, bytes = how.row.n * how.width
    cdef double[2] found
    for i in range(begin, end):
        first = i % how.groups * how.factors * how.wide
        how.one(on.x + i * bytes, on.y + i * bytes, &how.row, on.scale + first if on.scale else NULL,
                on.shift + first if on.shift else NULL, scratch, found)
        if on.mean:
            put(on.mean, i, how.of_mean, found[0])
        if on.spread:
            put(on.spread, i, how.of_spread, found[1])
    return OK


cdef const char* factors_at(void** at, int position, const Rows* how, char** room) noexcept nogil:
    """Wide factors: as they are, or in scratch."""
    cdef Py_ssize_t n = how.groups * how.factors
    cdef float* wide = <float*> room[0]
    if position < 0:
        return NULL
    if how.factor == FLOAT or how.factor == DOUBLE:
        return <const char*> at[position]
    if how.factor == HALF:
        widen[half](<const half*> at[position], wide, n)
    else:
        widen[brain](<const brain*> at[position], wide, n)
    room[0] += n * sizeof(float)
    return <const char*> wide


cdef int standardized(void** at, const Rows* how) noexcept nogil:
    cdef const Team* crew = team(at, how.arrays)
    cdef char* room = crew.scratch + how.room
    cdef Standardizing on
    on.how, on.x, on.y = how, <const char*> at[0], <char*> at[how.y]
    on.scale = factors_at(at, how.scale, how, &room)
    on.shift = factors_at(at, how.shift, how, &room)
    on.mean = at[how.mean] if how.mean >= 0 else NULL
    on.spread = at[how.spread] if how.spread >= 0 else NULL
    return share(crew, <Task> some_rows, &on, how.count, how.row.n * how.wide // 16 + 20)


def rows(x, scale, shift, y, mean, spread, *, Py_ssize_t n, Py_ssize_t groups=1, Py_ssize_t plane=1, double epsilon,
         bint centered=True) -> Step:
    """(row - its mean) / sqrt(its variance + epsilon) * scale + shift for every ``n`` elements: a step.

    ``groups`` rows that follow each other have factors of their own, one for every ``plane`` elements. Where it is not
    ``centered`` the mean is taken to be 0. Scale, shift, and the arrays for the mean and one over the deviation may be None.
    """
    cdef Rows how
    cdef Element code = code_of(x)
    cdef list arrays = [x]
    if code > BRAIN or y.dtype != x.dtype or y.shape != x.shape:
        raise TypeError(f"no kernel from {x.dtype}{list(x.shape)} to {y.dtype}{list(y.shape)}")
    if n < 1 or plane < 1 or groups < 1 or n % plane or x.size % n:
        raise ValueError(f"rows of {n} elements, {plane} to a factor, of {x.size}")
    how.count, how.groups, how.factors = x.size // n, groups, n // plane
    how.row.n, how.row.plane, how.row.epsilon, how.row.centered = n, plane, epsilon, centered
    how.one, how.width, how.wide, how.factor = loops.row[<int> code], x.itemsize, 8 if code == DOUBLE else 4, code
    how.scale = added(arrays, scale, x.dtype, groups * how.factors)
    how.shift = added(arrays, shift, x.dtype, groups * how.factors)
    how.y = added(arrays, y, x.dtype, x.size)
    how.mean = added(arrays, mean, None, how.count)
    how.spread = added(arrays, spread, None, how.count)
    how.of_mean, how.of_spread = code_of(mean), code_of(spread)
    if (mean is not None and how.of_mean > BRAIN) or (spread is not None and how.of_spread > BRAIN):
        raise TypeError("statistics are floating numbers")
    how.arrays = len(arrays)
    for a in arrays[how.y:]:
        if not a.flags.writeable:
            raise ValueError("the result's buffer is read-only")
    how.room = (n * 4 + 63) // 64 * 64 if how.width == 2 else 0
    room = 8 * groups * how.factors if how.width == 2 else 0
    return bound(<Run> standardized, tuple(arrays), &how, sizeof(how), how.room + room)


cdef int added(list arrays, a, dtype, Py_ssize_t size) except -2:
    """Where an array stands among those of the step, checked; -1 if there is none."""
    if a is None:
        return -1
    if a.size != size or dtype is not None and a.dtype != dtype:
        raise ValueError(f"{a.dtype}{list(a.shape)} where {size} numbers of {dtype} are due")
    arrays.append(a)
    return len(arrays) - 1
