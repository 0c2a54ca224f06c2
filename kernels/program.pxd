"""Programs, for other files of kernels: what a body is to the step that runs it."""
from .step cimport Run
from .threads cimport Team

cdef struct Entry:
    Run fn
    void** at
    void* how

cdef struct Patch:
    void** at
    Py_ssize_t slot, offset

cdef struct Code:
    Entry* entries
    Patch* patches
    Py_ssize_t moves, next
    const int* cancelled
    long looked
    unsigned int ticks

cdef void begin(Code* c, void** slots) noexcept nogil
cdef int go_on(Code* c) noexcept nogil

cdef class Cancel:
    cdef int now
    cdef Py_ssize_t running

cdef class Cell:
    cdef public object value
    cdef readonly object shape
    cdef readonly bint text
    cdef bint holds(self, value)

cdef class Room:
    cdef readonly object block
    cdef readonly Py_ssize_t scratch
    cdef char* memory
    cdef bint busy
    cdef Py_ssize_t idle, counted  # programs that wait, and the bytes that the shelf counts for it

    cdef int grow(self, Py_ssize_t scratch) except -1

cdef class Program:
    cdef Code code
    cdef Team team
    cdef void** at
    cdef readonly list steps, labels
    cdef list slots, waiting, cells, inner
    cdef readonly Room room
    cdef Cancel cancel
    cdef readonly Py_ssize_t fed
    cdef Py_ssize_t held  # bytes that it takes while it waits, its room not counted

    cdef Py_ssize_t place(self, a, set constants, list starts, Py_ssize_t* offset) except? -3
    cdef bint fits(self, list arrays)
    cdef finish(self)
    cdef fail(self, int status)
    cdef call_later(self)
    cdef follow(self, watch, list arrays)
    cdef lend(self, list arrays)
    cdef str where(self)
