"""How far each row of one matrix is from each row of another."""
from libc.math cimport sqrt

from interp import op
from interp.kernels.step cimport Run, floats, real, step

cdef struct Sizes:
    Py_ssize_t rows, others, columns
    bint squared


cdef int distances(real** at, const Sizes* how) noexcept nogil:
    """Runs without Python, as often as the model does: `at` has the addresses of x, y and the result."""
    cdef Py_ssize_t i, j, k
    cdef double total, apart
    for i in range(how.rows):
        for j in range(how.others):
            total = 0
            for k in range(how.columns):
                apart = <double> at[0][i * how.columns + k] - at[1][j * how.columns + k]
                total += apart * apart
            at[2][i * how.others + j] = <real> (total if how.squared else sqrt(total))
    return 0


def paired(x, y, *, squared=0):
    """The shape of the result: works for sizes with names as well as for numbers."""
    (rows, columns), (others, same) = x.shape, y.shape
    if isinstance(columns, int) and isinstance(same, int) and columns != same:
        raise ValueError(f"rows of {columns} numbers and rows of {same} have no distance")
    return [(rows, others)]


@op("PairDistance", domain="org.example", shape=paired)
def pair_distance(x, y, *, squared=0, out):
    """Binds: checks what it is given, and returns a step that fills `out`."""
    if x.shape[1] != y.shape[1] or out.shape != (len(x), len(y)):
        raise ValueError(f"{x.shape} and {y.shape} do not make {out.shape}")
    cdef Sizes how
    how.rows, how.others, how.columns, how.squared = len(x), len(y), x.shape[1], bool(squared)
    return step(floats(<Run> distances[float], <Run> distances[double]), (x, y, out), &how, sizeof(how))
