"""Types of features, for other files of kernels."""
from libc.stdint cimport int32_t, int64_t
from .step cimport Element, Run

ctypedef fused number:
    float
    double
    int32_t
    int64_t

cdef Element number_of(x) except *
cdef Run for_type(Element code, Run single, Run double_, Run int32, Run int64) noexcept
