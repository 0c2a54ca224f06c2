"""Raw scores of rows and what becomes of them, for other files of kernels."""
from libc.stdint cimport int64_t
from .step cimport Element, real

cdef extern from "hot/scores.h" nogil:
    ctypedef struct Verdict:
        int transform, second
        Py_ssize_t scores, positive
        double limit

cdef struct Outcome:
    Verdict verdict
    Py_ssize_t rows, width  # columns of the scores that are written
    int label_at, score_at  # which array of the step has them; 0 for none
    Element code            # of the scores
    const int64_t* labels   # the label of each class

cdef Outcome outcome_of(rule, Py_ssize_t rows, Py_ssize_t classes, labels, y, z) except *
cdef void settle(const Outcome* o, Py_ssize_t row, double* s, Py_ssize_t best, void** at) noexcept nogil
cdef bint side_by_side(const Outcome* o) noexcept nogil
cdef void settle_rows(const Outcome* o, Py_ssize_t first, Py_ssize_t rows, double* s, const double* shift, Py_ssize_t lanes,
                      float* e, Py_ssize_t* best, void** at) noexcept nogil
cdef Element rows_of(x, Py_ssize_t* rows, Py_ssize_t* columns) except *
cdef void read(const void* x, Element code, Py_ssize_t begin, Py_ssize_t n, real* y) noexcept nogil
