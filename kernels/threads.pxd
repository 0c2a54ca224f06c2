"""The pool of threads, for other files of kernels."""

cdef extern from "threads.h" nogil:
    ctypedef int (*Task)(const void* args, Py_ssize_t begin, Py_ssize_t end, void* scratch) noexcept nogil
    ctypedef struct Team:
        int threads
        char* scratch
        size_t each

cdef int share(const Team* team, Task task, const void* args, Py_ssize_t count, Py_ssize_t cost) noexcept nogil
