"""What every file of kernels shares: element types, statuses, steps."""
from libc.stdint cimport uint16_t
from .threads cimport Team

ctypedef int (*Run)(void** at, const void* how) noexcept nogil

cdef struct half:
    uint16_t bits
cdef struct brain:
    uint16_t bits

ctypedef fused real:
    float
    double

ctypedef fused element:
    float
    double
    half
    brain

cdef enum Element:
    FLOAT, DOUBLE, HALF, BRAIN, INT8, UINT8, INT16, UINT16, INT32, UINT32, INT64, UINT64, BOOL, ELEMENTS

cdef enum Status:
    OK, OUT_OF_RANGE, DIVISION_BY_ZERO, NO_MEMORY, CANCELLED, STATUSES

cdef struct Kernel:
    Run[ELEMENTS + 1] run

cdef int out_of_range(Py_ssize_t index, Py_ssize_t size) noexcept nogil
cdef Element code_of(a) noexcept
cdef Kernel floats(Run single, Run double_, Run half_=*, Run brain_=*) noexcept
cdef void widen(const element* x, float* y, Py_ssize_t n) noexcept nogil
cdef void narrow(const float* x, element* y, Py_ssize_t n) noexcept nogil

cdef class Step:
    cdef Run fn
    cdef void** at
    cdef void* how
    cdef readonly tuple arrays
    cdef readonly Py_ssize_t scratch
    cdef object keep

cdef class Later:
    cdef object fn
    cdef readonly list arrays

cdef Step step(Kernel kernel, tuple arrays, const void* how, size_t size, tuple others=*, Py_ssize_t scratch=*,
               object keep=*)
cdef Step bound(Run fn, tuple arrays, const void* how, size_t size, Py_ssize_t scratch=*, object keep=*)
cdef inline const Team* team(void** at, Py_ssize_t arrays) noexcept nogil:
    """Who works for a step: it stands behind the addresses of its arrays."""
    return <const Team*> at[arrays]
