"""Elements to another type."""
from .step cimport ELEMENTS, OK, Element, Run, bound, code_of, team
from .threads cimport Task, share

cdef extern from "hot/cast.h" nogil:
    ctypedef void (*Cast)(const void* x, void* y, Py_ssize_t n) noexcept nogil
    ctypedef struct CastLoops:
        Cast[13][13] cast
    const CastLoops* picked "PICKED(cast)"

cdef const CastLoops* loops = picked

cdef enum:
    PIECE = 8192  # elements that one call of a row function takes

cdef struct How:
    Cast row
    Py_ssize_t n, width, made  # bytes of an element before and after

cdef struct Rows:
    const char* x
    char* y
    const How* how


cdef int some(const Rows* on, Py_ssize_t begin, Py_ssize_t end, void* scratch) noexcept nogil:
    cdef Py_ssize_t first = begin * PIECE, last = min(end * PIECE, on.how.n)
    on.how.row(on.x + first * on.how.width, on.y + first * on.how.made, last - first)
    return OK


cdef int run(void** at, const How* how) noexcept nogil:
    cdef Rows on = Rows(<const char*> at[0], <char*> at[1], how)
    return share(team(at, 2), <Task> some, &on, (how.n + PIECE - 1) // PIECE, min(how.n, <Py_ssize_t> PIECE) // 2)


def cast(x, y):
    """The elements of `x` in the type of `y`: a step, None where no loop is compiled for these types.

    Whole numbers wrap around and floats are rounded to even; a float beyond what a whole number can be is the least one.
    """
    cdef How how
    cdef Element before = code_of(x), after = code_of(y)
    if x.shape != y.shape:
        raise ValueError(f"{x.shape} is no {y.shape}")
    if not y.flags.writeable:
        raise ValueError("the result's buffer is read-only")
    if before == ELEMENTS or after == ELEMENTS:
        return None
    how.row, how.n, how.width, how.made = loops.cast[<int> before][<int> after], x.size, x.itemsize, y.itemsize
    return bound(<Run> run, (x, y), &how, sizeof(how))
