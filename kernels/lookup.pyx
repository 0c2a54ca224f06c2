"""Look-ups: integers and floats that stand for a place in a table, as ones and zeros or as the value there."""
import numpy as np
from libc.math cimport fabs
from libc.stdint cimport int16_t, int32_t, int64_t
from libc.string cimport memcpy, memset
from .features cimport for_type, number, number_of
from .step cimport DOUBLE, FLOAT, INT16, INT32, INT64, OK, Element, Run, bound, code_of

cdef enum:
    MOST_LISTED = 1 << 12  # a span of integers that are looked up by place


cdef class Keys:
    """Integers that are looked up: each has a place, of one that is there twice the last, all others ``other``."""

    def __init__(self, keys, Py_ssize_t other):
        cdef const int64_t[::1] ordered, place, listed
        last, index = np.unique(np.asarray(keys, np.int64)[::-1], return_index=True)
        places = np.append(len(keys) - 1 - index, other).astype(np.int64)
        span = int(last[len(last) - 1]) - int(last[0]) + 1 if len(last) else 0
        whole = np.full(max(span if span <= MOST_LISTED else 0, 1), other, np.int64)
        if 0 < span <= MOST_LISTED:
            whole[last - last[0]] = places[:len(last)]
        ordered, place, listed = np.append(last, 0), places, whole
        self.table = Table(len(last), &ordered[0], &place[0], last[0] if span else 0, span if span <= MOST_LISTED else 0, &listed[0])
        self.keep = (ordered, place, listed)


cdef int64_t place_of(const Table* t, int64_t key) noexcept nogil:
    cdef Py_ssize_t low = 0, high = t.n, middle
    if t.span:
        return t.listed[key - t.least] if t.least <= key and <size_t> key - <size_t> t.least < <size_t> t.span else t.place[t.n]
    while low < high:
        middle = (low + high) // 2
        if t.keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return t.place[low if low < t.n and t.keys[low] == key else t.n]


cdef struct Hot:
    Table table
    Py_ssize_t n, width


cdef int all_hot(number** at, const Hot* how) noexcept nogil:
    cdef float* y = <float*> at[1]
    cdef Py_ssize_t i
    cdef int64_t place
    cdef number x
    memset(y, 0, how.n * how.width * sizeof(float))
    for i in range(how.n):
        x = at[0][i]
        if number is float or number is double:
            place = place_of(&how.table, <int64_t> x) if fabs(x) < 9223372036854775808.0 else how.table.place[how.table.n]
        else:
            place = place_of(&how.table, x)
        if place >= 0:
            y[i * how.width + place] = 1
    return OK


def one_hot(x, Keys keys, Py_ssize_t width, y):
    """A row of 0 for each element, with a 1 at the place of its category, if it is one; floats are truncated: a step."""
    cdef Hot how = Hot(keys.table, x.size, width)
    cdef Element code = number_of(x)
    if code_of(y) != FLOAT or y.shape != (*x.shape, width) or max(keys.keep[1]) >= width or not y.flags.writeable:
        raise ValueError(f"{x.dtype}{list(x.shape)} with {width} categories does not give {y.dtype}{list(y.shape)}")
    run = for_type(code, <Run> all_hot[float], <Run> all_hot[double], <Run> all_hot[int32_t], <Run> all_hot[int64_t])
    return bound(run, (x, y), &how, sizeof(how), 0, keys)


cdef struct LookUp:
    Table table
    Element code
    bint by_value   # whether floats are equal by value, NaN to NaN, or bit by bit
    Py_ssize_t n, width
    const char* values  # one for each place


cdef inline int64_t key_of(const void* x, Py_ssize_t i, Element code, bint by_value) noexcept nogil:
    """An integer that is equal where keys are."""
    cdef float single
    cdef double value
    cdef int64_t bits
    cdef int32_t low
    if code == INT64 or code == DOUBLE and not by_value:
        return (<const int64_t*> x)[i]
    if code == INT32 or code == FLOAT and not by_value:
        return (<const int32_t*> x)[i]
    if code == INT16:
        return (<const int16_t*> x)[i]
    if code == FLOAT:
        single = (<const float*> x)[i] + <float> 0
        memcpy(&low, &single, sizeof(single))
        return 0x7FC00000 if single != single else low
    value = (<const double*> x)[i] + 0.0
    memcpy(&bits, &value, sizeof(value))
    return 0x7FF8000000000000 if value != value else bits


cdef int all_looked_up(void** at, const LookUp* how) noexcept nogil:
    cdef char* y = <char*> at[1]
    cdef Py_ssize_t i
    for i in range(how.n):
        memcpy(y + i * how.width, how.values + how.width * place_of(&how.table, key_of(at[0], i, how.code, how.by_value)),
               how.width)
    return OK


def looked_up(x, Keys keys, values, bint by_value, y):
    """For every number the value at its place; ``keys`` are `comparable` numbers: a step."""
    cdef LookUp how
    cdef const unsigned char[::1] raw = np.ascontiguousarray(values).view(np.uint8)
    how.code = code_of(x)
    if how.code not in (FLOAT, DOUBLE, INT16, INT32, INT64):
        raise TypeError(f"no kernel for {x.dtype}")
    if y.shape != x.shape or y.dtype != values.dtype or y.dtype.hasobject or not y.flags.writeable:
        raise ValueError(f"{x.dtype}{list(x.shape)} looked up in {values.dtype} does not give {y.dtype}{list(y.shape)}")
    if not 0 <= min(keys.keep[1]) <= max(keys.keep[1]) < len(values):
        raise ValueError(f"a key has a place that {len(values)} values do not have")
    how.table, how.by_value, how.n, how.width, how.values = keys.table, by_value, x.size, y.itemsize, <const char*> &raw[0]
    return bound(<Run> all_looked_up, (x, y), &how, sizeof(how), 0, (keys, raw))


def comparable(keys, bint by_value):
    """Integers that are equal where numbers are: by value, NaN to NaN, or bit by bit."""
    if keys.dtype.kind != "f":
        return keys.astype(np.int64)
    if by_value:
        keys = np.where(np.isnan(keys), keys.dtype.type(np.nan), keys + keys.dtype.type(0))  # -0 + 0 is 0
    return keys.view(f"i{keys.itemsize}").astype(np.int64)
