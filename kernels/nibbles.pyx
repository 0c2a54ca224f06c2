"""Matrix products with constant weights of four bits, which stay so: they become floats where they are multiplied."""
cimport numpy as cnp
import numpy as np
from libc.stdint cimport uint8_t
from .step cimport Run, floats, step, team
from .threads cimport Task, Team, share

cnp.import_array()

cdef extern from "hot/nibbles.h" nogil:
    ctypedef struct Nibbles:
        Py_ssize_t m, n, k, block
        const uint8_t* codes
        const float* scales
        const float* zeros
    ctypedef struct NibblesCall:
        const Nibbles* how
        const float* a
        const float* bias
        float* y
        Py_ssize_t count, cost
    ctypedef struct NibblesLoops:
        Py_ssize_t columns, scratch
        void (*cut)(NibblesCall* call) noexcept nogil
        Task task
    const NibblesLoops* picked "PICKED(nibbles)"

cdef const NibblesLoops* loops = picked


class Packed:
    """Weights for ``n`` results of ``k`` products each, in panels: numbers of four bits, and a scale and a zero for each block.

    ``codes`` are (n, k) bytes below 16, ``scales`` and ``zeros`` (n, blocks) numbers, blocks of ``block`` along k.
    """

    def __init__(self, codes, scales, zeros, Py_ssize_t block):
        (n, k), width = codes.shape, loops.columns
        blocks = -(-k // block)
        if block < 1 or scales.shape != (n, blocks) or zeros.shape != (n, blocks):
            raise ValueError(f"codes of {codes.shape} in blocks of {block}, scales {scales.shape}, zeros {zeros.shape}")
        count, self.n, self.k, self.block = -(-n // width), n, k, block
        wide = np.zeros((count * width, blocks * block), np.uint8)
        wide[:n, :k] = codes & np.uint8(15)
        rows = wide.reshape(count, width, -1).transpose(0, 2, 1)
        self.codes = np.ascontiguousarray(rows[..., :width // 2] | rows[..., width // 2:] << np.uint8(4))
        self.scales, self.zeros = [in_panels(x, count, width) for x in (scales, zeros)]


def in_panels(x, count, width):
    """Numbers of each row and block so that those of a panel's columns lie side by side."""
    wide = np.zeros((count * width, x.shape[1]), np.float32)
    wide[:len(x)] = x
    return np.ascontiguousarray(wide.reshape(count, width, -1).transpose(0, 2, 1))


cdef struct Bound:
    Nibbles nibbles
    bint biased


cdef int run(float** at, const Bound* how) noexcept nogil:
    cdef const Team* workers = team(<void**> at, 2 + how.biased)
    cdef NibblesCall call
    call.how, call.a, call.y = &how.nibbles, at[0], at[1 + how.biased]
    call.bias = at[1] if how.biased else NULL
    loops.cut(&call)
    return share(workers, loops.task, &call, call.count, call.cost)


def product(a, b, y, bias=None):
    """``a`` of (m, k) by the weights of ``b``, which is `Packed`, plus ``bias`` of (n,), into ``y``: a step."""
    cdef Bound how
    cdef cnp.ndarray codes = b.codes, scales = b.scales, zeros = b.zeros
    if a.ndim != 2 or a.shape[1] != b.k or y.shape != (len(a), b.n) or bias is not None and bias.shape != (b.n,):
        raise ValueError(f"{a.shape} times weights of {(b.k, b.n)} is not {y.shape}")
    how.biased = bias is not None
    how.nibbles.m, how.nibbles.n, how.nibbles.k, how.nibbles.block = len(a), b.n, b.k, b.block
    how.nibbles.codes = <const uint8_t*> cnp.PyArray_DATA(codes)
    how.nibbles.scales = <const float*> cnp.PyArray_DATA(scales)
    how.nibbles.zeros = <const float*> cnp.PyArray_DATA(zeros)
    arrays = (a, y) if bias is None else (a, bias, y)
    return step(floats(<Run> run, NULL), arrays, &how, sizeof(how), (), loops.scratch, (codes, scales, zeros))
