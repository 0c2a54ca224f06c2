"""One pool of threads for the process: steps ask it for a range of work."""

cdef extern from "threads.h" nogil:
    int shared "share"(const Team* team, Task task, const void* args, Py_ssize_t count, Py_ssize_t cost)


cdef int share(const Team* team, Task task, const void* args, Py_ssize_t count, Py_ssize_t cost) noexcept nogil:
    return shared(team, task, args, count, cost)


def default() -> int:
    """How many threads this process should use."""
    return 1
