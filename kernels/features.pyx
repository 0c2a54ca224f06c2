"""Rows of features: scaled, normalised, imputed, compared with a threshold, picked or joined."""
import numpy as np
from libc.math cimport fabs, sqrt
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset
from .scores cimport read
from .step cimport DOUBLE, FLOAT, INT32, INT64, OK, Element, Run, bound, code_of, out_of_range, team
from .threads cimport Task, Team, share

cdef enum:
    SPAN = 256    # elements that settings are repeated to, so that loops are long
    MOST_JOINED = 1 << 20  # inputs side by side
cdef tuple NORMS = ("MAX", "L1", "L2")

cdef struct Call:
    const void* how
    void** at


cdef Element number_of(x) except *:
    """The type of features."""
    cdef Element code = code_of(x)
    if code not in (FLOAT, DOUBLE, INT32, INT64):
        raise TypeError(f"no kernel for {x.dtype}")
    return code


cdef Run for_type(Element code, Run single, Run double_, Run int32, Run int64) noexcept:
    return single if code == FLOAT else double_ if code == DOUBLE else int32 if code == INT32 else int64


cdef check_result(x, y, Element code):
    """A result has the shape of the input, and a type that is due."""
    if code_of(y) != code or x.shape != y.shape or not y.flags.writeable:
        raise ValueError(f"{x.dtype}{list(x.shape)} does not give {y.dtype}{list(y.shape)}")


cdef Py_ssize_t columns_of(x) except -1:
    return x.shape[x.ndim - 1] if x.ndim else 1


cdef repeated(given, str what, Py_ssize_t columns, kind):
    """One number for all features or one for each, row after row, so that one loop goes through several."""
    values = np.asarray(given, kind).ravel()
    if len(values) not in (1, columns):
        raise ValueError(f"{len(values)} {what} for rows of {columns} features")
    row = np.broadcast_to(values, max(columns, 1))
    return np.ascontiguousarray(np.tile(row, max(SPAN // max(columns, 1), 1)))


cdef inline Py_ssize_t periods(Py_ssize_t n, Py_ssize_t period) noexcept nogil:
    return (n + period - 1) // period


# Scaler

cdef struct Scale:
    Element code
    Py_ssize_t n, period
    const double* offset
    const double* factor


cdef int some_scaled(const Call* call, Py_ssize_t begin, Py_ssize_t end, double* room) noexcept nogil:
    cdef const Scale* how = <const Scale*> call.how
    cdef float* y = <float*> call.at[1]
    cdef Py_ssize_t p, i, n
    for p in range(begin, end):
        n = min(how.period, how.n - p * how.period)
        read[double](call.at[0], how.code, p * how.period, n, room)
        for i in range(n):
            y[p * how.period + i] = <float> ((room[i] - how.offset[i]) * how.factor[i])
    return OK


cdef int all_scaled(void** at, const Scale* how) noexcept nogil:
    cdef Call call = Call(how, at)
    return share(team(at, 2), <Task> some_scaled, &call, periods(how.n, how.period), how.period)


def scaled(x, offset, factor, y):
    """Less the offset, times the factor: one for all features, or one for each; a step."""
    cdef Scale how
    cdef const double[::1] offsets = repeated(offset, "offsets", columns_of(x), np.float64)
    cdef const double[::1] factors = repeated(factor, "factors", columns_of(x), np.float64)
    how.code = number_of(x)
    check_result(x, y, FLOAT)
    how.n, how.period, how.offset, how.factor = x.size, offsets.shape[0], &offsets[0], &factors[0]
    return bound(<Run> all_scaled, (x, y), &how, sizeof(how), how.period * 8, (offsets, factors))


# Normalizer

cdef struct Norm:
    Element code
    Py_ssize_t rows, columns, group
    int kind


cdef double size_of(const double* x, Py_ssize_t n, int kind) noexcept nogil:
    """What a row is divided by."""
    cdef Py_ssize_t i
    cdef double size = 0
    if kind == 2:
        for i in range(n):
            size += x[i] * x[i]
        size = sqrt(size)
    elif kind == 1:
        for i in range(n):
            size += fabs(x[i])
    else:
        size = x[0]
        for i in range(1, n):
            if x[i] > size or x[i] != x[i]:
                size = x[i]
    return 1 if size == 0 else size


cdef int some_normal(const Call* call, Py_ssize_t begin, Py_ssize_t end, double* room) noexcept nogil:
    cdef const Norm* how = <const Norm*> call.how
    cdef float* y = <float*> call.at[1]
    cdef Py_ssize_t g, r, i, rows
    cdef double* x
    cdef double size
    for g in range(begin, end):
        rows = min(how.group, how.rows - g * how.group)
        read[double](call.at[0], how.code, g * how.group * how.columns, rows * how.columns, room)
        for r in range(rows):
            x = room + r * how.columns
            size = size_of(x, how.columns, how.kind)
            for i in range(how.columns):
                y[(g * how.group + r) * how.columns + i] = <float> (x[i] / size)
    return OK


cdef int all_normal(void** at, const Norm* how) noexcept nogil:
    cdef Call call = Call(how, at)
    return share(team(at, 2), <Task> some_normal, &call, periods(how.rows, how.group), 2 * how.group * how.columns)


def normalised(x, norm, y):
    """Rows over their largest number, the sum of their magnitudes or the root of the sum of their squares: a step."""
    cdef Norm how
    if norm not in NORMS:
        raise ValueError(f"norm is {norm}; it is one of {', '.join(NORMS)}")
    how.kind = NORMS.index(norm)
    how.code, how.columns = number_of(x), columns_of(x)
    check_result(x, y, FLOAT)
    how.rows = x.size // max(how.columns, 1)
    how.group = max(SPAN // max(how.columns, 1), 1)
    return bound(<Run> all_normal, (x, y), &how, sizeof(how), how.group * how.columns * 8)


# Imputer and Binarizer

cdef struct Change:
    Py_ssize_t n, period
    const void* due    # what comes in the place of `old`, for each feature
    double old_real
    int64_t old_whole
    bint any_nan


cdef int some_imputed(const Call* call, Py_ssize_t begin, Py_ssize_t end, number* nothing) noexcept nogil:
    cdef const Change* how = <const Change*> call.how
    cdef Py_ssize_t p, i, n
    cdef const number* due = <const number*> how.due
    cdef const number* x
    cdef number* y
    cdef number old
    if number is float or number is double:
        old = <number> how.old_real
    else:
        old = <number> how.old_whole
    for p in range(begin, end):
        n = min(how.period, how.n - p * how.period)
        x = <const number*> call.at[0] + p * how.period
        y = <number*> call.at[1] + p * how.period
        if how.any_nan:
            for i in range(n):
                y[i] = due[i] if x[i] != x[i] else x[i]
        else:
            for i in range(n):
                y[i] = due[i] if x[i] == old else x[i]
    return OK


cdef int all_imputed(number** at, const Change* how) noexcept nogil:
    cdef Call call = Call(how, <void**> at)
    return share(team(<void**> at, 2), <Task> some_imputed[number], &call, periods(how.n, how.period), how.period)


def imputed(x, old, due, y):
    """One value replaced by another: by the same for all features, or by one for each; a step."""
    cdef Change how
    cdef Element code = number_of(x)
    values = repeated(due, "imputed values", columns_of(x), x.dtype)
    cdef const unsigned char[::1] raw = values.view(np.uint8)
    check_result(x, y, code)
    how.n, how.period, how.due = x.size, len(values), &raw[0]
    how.old_real = how.old_whole = 0
    how.any_nan = old != old
    if x.dtype.kind == "f":
        how.old_real = np.float32(old)
    else:
        how.old_whole = old
        if code == INT32 and not -2**31 <= old < 2**31:
            return imputed_nothing(x, y)
    run = for_type(code, <Run> all_imputed[float], <Run> all_imputed[double], <Run> all_imputed[int32_t],
                   <Run> all_imputed[int64_t])
    return bound(run, (x, y), &how, sizeof(how), 0, values)


cdef int as_is(void** at, const Py_ssize_t* size) noexcept nogil:
    memcpy(at[1], at[0], size[0])
    return OK


cdef imputed_nothing(x, y):
    """Elements as they are, where none can have the value that is replaced."""
    cdef Py_ssize_t size = x.nbytes
    return bound(<Run> as_is, (x, y), &size, sizeof(size))


cdef struct Cut:
    Py_ssize_t n
    double threshold


cdef int binarized(number** at, const Cut* how) noexcept nogil:
    cdef Py_ssize_t i
    cdef number limit
    if number is float:
        limit = <float> how.threshold
        for i in range(how.n):
            at[1][i] = at[0][i] > limit
    else:
        for i in range(how.n):
            at[1][i] = <number> (<double> at[0][i] > how.threshold)
    return OK


def binary(x, double threshold, y):
    """1 for what is greater than a threshold, else 0: a step."""
    cdef Cut how = Cut(x.size, threshold)
    cdef Element code = number_of(x)
    check_result(x, y, code)
    run = for_type(code, <Run> binarized[float], <Run> binarized[double], <Run> binarized[int32_t], <Run> binarized[int64_t])
    return bound(run, (x, y), &how, sizeof(how))


# ArrayFeatureExtractor

cdef struct Pick:
    Py_ssize_t rows, columns, count, width


cdef int all_picked(void** at, const Pick* how) noexcept nogil:
    """Elements of each row by index; the width of an element is 4 or 8 bytes."""
    cdef Py_ssize_t r, i
    cdef const int64_t* index = <const int64_t*> at[1]
    for i in range(how.count):
        if not 0 <= index[i] < how.columns:
            return out_of_range(index[i], how.columns)
    for r in range(how.rows):
        if how.width == 4:
            for i in range(how.count):
                (<int32_t*> at[2])[r * how.count + i] = (<const int32_t*> at[0])[r * how.columns + index[i]]
        else:
            for i in range(how.count):
                (<int64_t*> at[2])[r * how.count + i] = (<const int64_t*> at[0])[r * how.columns + index[i]]
    return OK


def picked(x, indices, y):
    """The features of each row at some indices: a step."""
    cdef Pick how
    cdef Element code = number_of(x)
    how.columns, how.count, how.width = columns_of(x), indices.size, x.itemsize
    how.rows = x.size // max(how.columns, 1)
    if code_of(y) != code or code_of(indices) != INT64 or y.size != how.rows * how.count or not y.flags.writeable:
        raise ValueError(f"{indices.dtype}{list(indices.shape)} of {x.dtype}{list(x.shape)} are not {y.dtype}{list(y.shape)}")
    return bound(<Run> all_picked, (x, indices, y), &how, sizeof(how))


# FeatureVectorizer

cdef struct Part:
    Element code
    Py_ssize_t columns, width, start

cdef struct Join:
    Py_ssize_t rows, count, width
    const Part* parts


cdef int all_joined(void** at, const Join* how) noexcept nogil:
    cdef Py_ssize_t r, k, n
    cdef const Part* p
    cdef float* y
    for k in range(how.count):
        p = how.parts + k
        n = min(p.columns, p.width)
        for r in range(how.rows):
            y = <float*> at[how.count] + r * how.width + p.start
            read[float](at[k], p.code, r * p.columns, n, y)
            memset(y + n, 0, (p.width - n) * sizeof(float))
    return OK


def joined(tuple xs, widths, y):
    """The features of all inputs side by side, each cut or filled with zeros to its width: a step."""
    cdef Join how
    cdef Py_ssize_t k, start = 0
    cdef Part* parts
    cdef unsigned char[::1] raw = np.zeros(len(xs) * sizeof(Part), np.uint8)
    rows = len(y)
    if not 0 < len(xs) == len(widths) <= MOST_JOINED or min(widths) < 0 or y.shape != (rows, sum(widths)) or code_of(y) != FLOAT:
        raise ValueError(f"{len(xs)} inputs of the widths {list(widths)} do not give {y.dtype}{list(y.shape)}")
    parts = <Part*> &raw[0]
    for k in range(len(xs)):
        if (xs[k].shape[0] if xs[k].ndim == 2 else 1) != rows or xs[k].ndim not in (1, 2):
            raise ValueError(f"input {k} of the shape {list(xs[k].shape)} has not {rows} rows")
        parts[k] = Part(number_of(xs[k]), columns_of(xs[k]), widths[k], start)
        start += widths[k]
    how.rows, how.count, how.width, how.parts = rows, len(xs), start, parts
    return bound(<Run> all_joined, (*xs, y), &how, sizeof(how), 0, raw)
