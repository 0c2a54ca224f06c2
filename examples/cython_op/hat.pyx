from interp import op
from interp.kernels.step cimport Run, floats, real, step

cdef int triangle(real** at, const Py_ssize_t* n) noexcept nogil:
    for i in range(n[0]):
        at[1][i] = max(0, 1 - abs(at[0][i]))

@op("Hat", domain="mine", shape=lambda x: [x.shape])
def hat(x, *, out):
    cdef Py_ssize_t n = x.size
    return step(floats(<Run> triangle[float], <Run> triangle[double]), (x, out), &n, sizeof(n))
