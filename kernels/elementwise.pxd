"""Rows of elementwise operations, for other files of kernels."""
from .step cimport Element

cdef extern from "hot/elementwise.h" nogil:
    enum: NEITHER, FIRST, SECOND
    ctypedef int (*Pair)(const void* a, const void* b, void* y, Py_ssize_t n, int repeats, double setting) noexcept nogil
    ctypedef int (*Map)(const void* x, void* y, Py_ssize_t n, const double* settings) noexcept nogil

cdef Pair pair_of(str name, Element code) noexcept
cdef Map map_of(str name, Element code) noexcept
cdef int cost_of(str name, Element code) noexcept
