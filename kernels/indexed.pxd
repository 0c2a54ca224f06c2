"""Moving elements by a list of offsets, for other files of kernels."""
from libc.stdint cimport int32_t, int64_t
from .step cimport Element, Run, Step
from .threads cimport Team

ctypedef fused index:
    int32_t
    int64_t

cdef enum Fold:
    NONE, ADD, MUL, MAX, MIN

# n times `size` elements: on one side `stride` apart, on the other at offsets
ctypedef void (*Move)(const char* x, char* y, const Py_ssize_t* offsets, Py_ssize_t n, Py_ssize_t size, Py_ssize_t stride,
                      int fold) noexcept nogil

cdef Move mover(Py_ssize_t width, bint out) noexcept
cdef Move folder(Element code) noexcept
cdef int resolved(const index* at, Py_ssize_t n, Py_ssize_t size, Py_ssize_t step, Py_ssize_t start, Py_ssize_t along,
                  Py_ssize_t* offsets) noexcept nogil
cdef int named(const index* at, Py_ssize_t n, const Py_ssize_t* sizes, Py_ssize_t axes) noexcept nogil
cdef int copied_first(const Team* with_, const void* x, void* y, Py_ssize_t bytes) noexcept nogil
cdef Step written(Run run, tuple arrays, const void* how, size_t size)
cdef Step updating(Run run, data, indices, updates, y, void* how, size_t size, Move* move, int* fold, Py_ssize_t* width,
                   Py_ssize_t* bytes)
