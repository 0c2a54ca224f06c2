"""Matrix products: the second factor in panels, packed once where it is constant."""
import math
cimport numpy as cnp
import numpy as np
from .activate cimport Activation, activation as fill_activation
from .step cimport Run, floats, real, step, team
from .threads cimport Task, Team, share

cnp.import_array()

cdef extern from "hot/gemm.h" nogil:
    ctypedef struct Product:
        Py_ssize_t batch, m, n, k
        Py_ssize_t a_row, a_column, b_row, b_column, c_row, c_column
        const Py_ssize_t* a_at
        const Py_ssize_t* b_at
        const void* panels
        double alpha, beta, act_alpha, act_beta
        int activation
    ctypedef struct ProductCall:
        const Product* how
        const void* a
        const void* b
        const void* c
        const void* residual
        void* y
        Py_ssize_t count, cost
    ctypedef struct GemmLoops:
        Py_ssize_t float_columns, double_columns, scratch
        void (*float_pack)(const float* b, Py_ssize_t row, Py_ssize_t column, Py_ssize_t k, Py_ssize_t n,
                           float* out) noexcept nogil
        void (*double_pack)(const double* b, Py_ssize_t row, Py_ssize_t column, Py_ssize_t k, Py_ssize_t n,
                            double* out) noexcept nogil
        void (*cut)(ProductCall* call, size_t size, int threads) noexcept nogil
        Task float_task, double_task
    const GemmLoops* picked "PICKED(gemm)"

cdef const GemmLoops* loops = picked


class Packed:
    """A constant second factor, or a batch of them, in panels as the micro-kernel reads them; 16-bit ones are kept as float."""

    def __init__(self, b, transposed=False):
        batch, k, n = parts(b.shape, transposed)
        self.dtype, self.ndim, self.shape = b.dtype, b.ndim, (*batch, k, n)
        wide = np.ascontiguousarray(b, np.float64 if b.dtype == np.float64 else np.float32)
        self.panels = panels_of(wide, math.prod(batch), k, n, transposed)

    @classmethod
    def turned(cls, b):
        """Of the transposed factor."""
        return cls(b, True)


def panels_of(cnp.ndarray b, Py_ssize_t batch, Py_ssize_t k, Py_ssize_t n, bint transposed):
    """Matrices of k x n in panels, one row of the result each."""
    cdef bint single = b.dtype == np.float32
    cdef Py_ssize_t width = loops.float_columns if single else loops.double_columns
    cdef Py_ssize_t i, row = 1 if transposed else n, column = k if transposed else 1, each = (n + width - 1) // width * width * k
    cdef cnp.ndarray out = np.empty((batch, each), b.dtype)
    for i in range(batch):
        if single:
            loops.float_pack(<const float*> cnp.PyArray_DATA(b) + i * k * n, row, column, k, n,
                             <float*> cnp.PyArray_DATA(out) + i * each)
        else:
            loops.double_pack(<const double*> cnp.PyArray_DATA(b) + i * k * n, row, column, k, n,
                              <double*> cnp.PyArray_DATA(out) + i * each)
    return out


cdef struct Bound:
    Product product
    bint packed, biased, added


cdef int run(real** at, const Bound* how) noexcept nogil:
    cdef Py_ssize_t arrays = 2 + (not how.packed) + how.biased + how.added
    cdef const Team* workers = team(<void**> at, arrays)
    cdef ProductCall call
    call.how, call.a, call.y = &how.product, at[0], at[arrays - 1]
    call.b = NULL if how.packed else at[1]
    call.c = at[2 - how.packed] if how.biased else NULL
    call.residual = at[arrays - 2] if how.added else NULL
    loops.cut(&call, sizeof(real), workers.threads)
    return share(workers, loops.float_task if real is float else loops.double_task, &call, call.count, call.cost)


def product(a, b, y, c=None, *, bint transposed_a=False, bint transposed_b=False, double alpha=1, double beta=1, residual=None,
            str activation="", double act_alpha=0, double act_beta=0):
    """``activation(alpha * a @ b + beta * c + residual)`` into ``y``: a step. ``b`` may be `Packed`.

    Matrices, or batches of them that broadcast as in NumPy; ``c`` broadcasts to one matrix of the result. The residual has the
    shape of ``y``, which may be written over it.
    """
    cdef Bound how
    cdef Activation ending
    how.packed, how.biased, how.added = isinstance(b, Packed), c is not None, residual is not None
    if how.packed and (transposed_b or b.dtype != a.dtype):
        raise TypeError(f"a factor packed from {b.dtype} beside {a.dtype}")
    cdef Product* p = &how.product
    (lead, m, k), (trail, inner, n) = parts(a.shape, transposed_a), parts(b.shape, transposed_b)
    batch = lead if not trail or lead == trail else np.broadcast_shapes(lead, trail)
    if k != inner or y.shape != (*batch, m, n):
        raise ValueError(f"{a.shape} times {b.shape} is not {y.shape}")
    if how.added and residual.shape != y.shape:
        raise ValueError(f"a residual of shape {residual.shape} for a result of {y.shape}")
    fill_activation(&ending, activation, act_alpha, act_beta)
    p.activation, p.act_alpha, p.act_beta = ending.kind, act_alpha, act_beta
    p.c_row, p.c_column = repeats(c.shape, m, n) if how.biased else (0, 0)
    if not trail and not transposed_a and not p.c_row and math.prod(batch):  # one factor for all of a batch: a taller product
        m, a_at, b_at = m * math.prod(batch), ORIGIN, ORIGIN
    else:
        a_at, b_at = starts(lead, batch, m * k), starts(trail, batch, b.panels.shape[1] if how.packed else k * n)
    p.batch, p.m, p.n, p.k, p.alpha, p.beta = len(a_at), m, n, k, alpha, beta
    p.a_row, p.a_column = (1, m) if transposed_a else (k, 1)
    p.b_row, p.b_column = (1, k) if transposed_b else (n, 1)
    return bind(how, a, b, [x for x in (c, residual, y) if x is not None], a_at, b_at)


cdef bind(Bound how, a, b, list rest, cnp.ndarray a_at, cnp.ndarray b_at):
    cdef cnp.ndarray panels
    cdef Py_ssize_t scratch = loops.scratch
    how.product.panels = NULL
    how.product.a_at = <const Py_ssize_t*> cnp.PyArray_DATA(a_at)
    how.product.b_at = <const Py_ssize_t*> cnp.PyArray_DATA(b_at)
    if how.packed:
        panels = b.panels
        how.product.panels, scratch = cnp.PyArray_DATA(panels), 0
    arrays = (a, *rest) if how.packed else (a, b, *rest)
    return step(floats(<Run> run[float], <Run> run[double]), arrays, &how, sizeof(how), (), scratch, (a_at, b_at, b))


def parts(shape, transposed):
    """The batch axes of a factor, and the sizes of its matrices or of their transposes."""
    if len(shape) < 2:
        raise ValueError(f"a factor of shape {shape} is no matrix")
    *batch, rows, columns = shape
    return (tuple(batch), columns, rows) if transposed else (tuple(batch), rows, columns)


ORIGIN = np.zeros(1, np.intp)  # where the one matrix of no batch begins


def starts(own, batch, each):
    """Where the matrices of a batch begin, `each` elements apart, those of an axis that repeats at one place."""
    if not batch:
        return ORIGIN
    if own == batch:
        count = math.prod(own)
        return ORIGIN if count == 1 else np.arange(0, count * each, each, np.intp) if each else np.zeros(count, np.intp)
    at = np.arange(math.prod(own), dtype=np.intp).reshape(own) * each
    return np.ascontiguousarray(np.broadcast_to(at, batch)).reshape(-1)


def repeats(shape, m, n):
    """The steps of c from row to row and from column to column of the result."""
    *_, rows, columns = (1, 1) + shape
    if len(shape) > 2 or rows not in (1, m) or columns not in (1, n):
        raise ValueError(f"{shape} does not broadcast to {(m, n)}")
    return columns if rows > 1 else 0, int(columns > 1)
