"""Rows of a table by number: what a product of one-hot rows comes to."""
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset
from .step cimport INT32, INT64, OK, Run, Step, bound, code_of, team
from .threads cimport Task, share


cdef struct Rows:
    Py_ssize_t count, rows, bytes

cdef struct Reading:
    const Rows* how
    const char* table
    const void* numbers
    char* y
    bint wide


cdef int some(const Reading* on, Py_ssize_t begin, Py_ssize_t end, void* scratch) noexcept nogil:
    cdef const Rows* how = on.how
    cdef Py_ssize_t i
    cdef int64_t row
    for i in range(begin, end):
        row = (<const int64_t*> on.numbers)[i] if on.wide else (<const int32_t*> on.numbers)[i]
        if 0 <= row < how.rows:
            memcpy(on.y + i * how.bytes, on.table + row * how.bytes, how.bytes)
        else:
            memset(on.y + i * how.bytes, 0, how.bytes)
    return OK


cdef int read(void** at, const Rows* how) noexcept nogil:
    cdef Reading on = Reading(how, <const char*> at[0], at[1], <char*> at[2], False)
    return share(team(at, 3), <Task> some, &on, how.count, 4 + how.bytes // 16)


cdef int read_wide(void** at, const Rows* how) noexcept nogil:
    cdef Reading on = Reading(how, <const char*> at[0], at[1], <char*> at[2], True)
    return share(team(at, 3), <Task> some, &on, how.count, 4 + how.bytes // 16)


def rows(table, numbers, y) -> Step:
    """The rows of ``table`` that int32 or int64 ``numbers`` name, zeros for numbers that it lacks: a step."""
    cdef Rows how
    code = code_of(numbers)
    if code not in (INT32, INT64):
        raise TypeError(f"numbers of rows are int32 or int64, not {numbers.dtype}")
    if table.ndim != 2 or y.dtype != table.dtype or table.dtype.hasobject or y.shape != (*numbers.shape, table.shape[1]):
        raise ValueError(f"rows of {table.dtype}{list(table.shape)} by {list(numbers.shape)} are no {y.dtype}{list(y.shape)}")
    if not y.flags.writeable:
        raise ValueError("the result's buffer is read-only")
    how.count, how.rows, how.bytes = numbers.size, table.shape[0], table.shape[1] * table.itemsize
    return bound(<Run> read if code == INT32 else <Run> read_wide, (table, numbers, y), &how, sizeof(how))
