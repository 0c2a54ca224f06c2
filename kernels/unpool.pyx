"""Unpooling: every element back at the place that its index names, zeros between."""
import numpy as np
from libc.stdint cimport int64_t
from libc.string cimport memset
from .step cimport OK, OUT_OF_RANGE, Run, Step, brain, element, floats, half, step

cdef enum:
    MOST_AXES = 32

cdef struct Unpool:
    Py_ssize_t count, total, room, axes
    Py_ssize_t size[MOST_AXES]    # of the shape over which the indices count
    Py_ssize_t stride[MOST_AXES]  # of the result
    bint plain                    # that shape is the result's


cdef Py_ssize_t moved(const Unpool* how, Py_ssize_t index) noexcept nogil:
    """Where in the result an element of its corner stands."""
    cdef Py_ssize_t d, place = 0
    for d in range(how.axes - 1, -1, -1):
        place += index % how.size[d] * how.stride[d]
        index //= how.size[d]
    return place


cdef int scatter(element** at, const Unpool* how) noexcept nogil:
    cdef const element* x = at[0]
    cdef element* y = at[1]
    cdef const int64_t* indices = <const int64_t*> at[2]
    cdef Py_ssize_t i
    memset(y, 0, how.room * sizeof(element))
    for i in range(how.count):
        if not 0 <= indices[i] < how.total:
            return OUT_OF_RANGE
        y[indices[i] if how.plain else moved(how, indices[i])] = x[i]
    return OK


def unpool(x, indices, y, shape) -> Step:
    """Put x at flat indices over ``shape``, which is the result's or its first corner: a step."""
    cdef Unpool how
    cdef Py_ssize_t d
    if indices.dtype != np.int64 or indices.shape != x.shape:
        raise ValueError(f"indices must be int64 of shape {x.shape}, not {indices.dtype} {indices.shape}")
    if len(shape) != y.ndim or y.ndim > MOST_AXES or any([n > m or n < 0 for n, m in zip(shape, y.shape)]):
        raise ValueError(f"{tuple(shape)} is no corner of {y.shape}")
    how.count, how.room, how.axes, how.plain = x.size, y.size, y.ndim, tuple(shape) == y.shape
    how.total = 1
    for d in range(y.ndim):
        how.size[d], how.stride[d] = shape[d], y.strides[d] // y.itemsize
        how.total *= how.size[d]
    return step(floats(<Run> scatter[float], <Run> scatter[double], <Run> scatter[half], <Run> scatter[brain]),
                (x, y), &how, sizeof(how), (indices,))
