"""Look-ups of integers, for other files of kernels."""
from libc.stdint cimport int64_t

cdef struct Table:
    Py_ssize_t n          # of keys
    const int64_t* keys   # in order
    const int64_t* place  # of each of them in the values; behind it that of what is no key
    int64_t least
    Py_ssize_t span       # how many integers from the least on are listed; 0: search the keys
    const int64_t* listed

cdef class Keys:
    cdef Table table
    cdef tuple keep

cdef int64_t place_of(const Table* t, int64_t key) noexcept nogil
