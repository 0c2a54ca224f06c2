"""Arrays made of a few numbers: one value repeated, and ranges."""
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy
from .step cimport BRAIN, DOUBLE, FLOAT, HALF, INT16, INT32, INT64, OK, Element, Run, Step, bound, brain, code_of, half, narrow, team
from .threads cimport Task, share

cdef enum:
    WIDEST = 16  # bytes of an element

cdef struct Made:
    char[WIDEST] value
    Py_ssize_t count, width
    double first, step
    int64_t whole_first, whole_step
    Element code

cdef struct Making:
    char* y
    const Made* how


cdef int some_repeats(const Making* on, Py_ssize_t begin, Py_ssize_t end, void* scratch) noexcept nogil:
    cdef const Made* how = on.how
    cdef Py_ssize_t i
    if how.width == 1:
        for i in range(begin, end):
            (<uint8_t*> on.y)[i] = (<const uint8_t*> how.value)[0]
    elif how.width == 2:
        for i in range(begin, end):
            (<uint16_t*> on.y)[i] = (<const uint16_t*> how.value)[0]
    elif how.width == 4:
        for i in range(begin, end):
            (<uint32_t*> on.y)[i] = (<const uint32_t*> how.value)[0]
    elif how.width == 8:
        for i in range(begin, end):
            (<uint64_t*> on.y)[i] = (<const uint64_t*> how.value)[0]
    else:
        for i in range(begin, end):
            memcpy(on.y + i * how.width, how.value, how.width)
    return OK


cdef int repeated(void** at, const Made* how) noexcept nogil:
    cdef Making on = Making(<char*> at[0], how)
    return share(team(at, 1), <Task> some_repeats, &on, how.count, 1)


def repeat(value, y):
    """One value, an array of one element, all over: a step."""
    cdef Made how
    cdef bytes bits
    if value.dtype != y.dtype or value.size != 1 or value.dtype.hasobject or value.itemsize > WIDEST:
        raise ValueError(f"{value.dtype}{list(value.shape)} is no element of {y.dtype}")
    if not y.flags.writeable:
        raise ValueError("the result's buffer is read-only")
    bits = value.tobytes()
    how.width, how.count = value.itemsize, y.size
    memcpy(how.value, <const char*> bits, how.width)
    return bound(<Run> repeated, (y,), &how, sizeof(how))


cdef int some_numbers(const Making* on, Py_ssize_t begin, Py_ssize_t end, void* scratch) noexcept nogil:
    """Elements of a range; those of integers wrap around."""
    cdef const Made* how = on.how
    cdef Py_ssize_t i
    cdef uint64_t whole
    cdef double real
    cdef float rounded
    for i in range(begin, end):
        whole = <uint64_t> how.whole_first + <uint64_t> i * <uint64_t> how.whole_step
        real = how.first + i * how.step
        if how.code == INT64:
            (<int64_t*> on.y)[i] = <int64_t> whole
        elif how.code == INT32:
            (<int32_t*> on.y)[i] = <int32_t> whole
        elif how.code == INT16:
            (<int16_t*> on.y)[i] = <int16_t> whole
        elif how.code == DOUBLE:
            (<double*> on.y)[i] = real
        elif how.code == FLOAT:
            (<float*> on.y)[i] = <float> real
        else:
            rounded = <float> real
            if how.code == HALF:
                narrow[half](&rounded, <half*> on.y + i, 1)
            else:
                narrow[brain](&rounded, <brain*> on.y + i, 1)
    return OK


cdef int counted(void** at, const Made* how) noexcept nogil:
    cdef Making on = Making(<char*> at[0], how)
    return share(team(at, 1), <Task> some_numbers, &on, how.count, 2)


def count(first, step, y):
    """As many numbers as the result holds, from the first one by steps: a step. Those of floats are computed in double."""
    cdef Made how
    how.code, how.count = code_of(y), y.size
    if how.code not in (FLOAT, DOUBLE, HALF, BRAIN, INT16, INT32, INT64):
        raise TypeError(f"no range of {y.dtype}")
    if not y.flags.writeable:
        raise ValueError("the result's buffer is read-only")
    how.first = how.step = how.whole_first = how.whole_step = 0
    if how.code <= BRAIN:
        how.first, how.step = first, step
    else:
        how.whole_first, how.whole_step = first, step
    return bound(<Run> counted, (y,), &how, sizeof(how))
