"""Transposed convolutions whose kernel is as large as their stride, of a blocked input: each pixel makes a patch of its own."""
cimport numpy as cnp
import numpy as np
from .activate cimport Activation, activation as named
from .step cimport Run, Step, bound, team
from .threads cimport Task, share

cnp.import_array()

cdef extern from "hot/blocked_transpose.h" nogil:
    ctypedef struct BlockedTranspose:
        Py_ssize_t batch, in_blocks, pixels, width, columns, column_blocks, image, down, across
        bint plain
        Py_ssize_t piece, pieces
        const Py_ssize_t* at
        const Py_ssize_t* to
        const Py_ssize_t* channel
        const float* weights
        Activation activation
    ctypedef struct BlockedTransposeCall:
        const BlockedTranspose* how
        const float* x
        const float* bias
        float* y
    ctypedef struct BlockedTransposeLoops:
        Task task
        void (*pack)(const float* w, Py_ssize_t depth, Py_ssize_t column_blocks, float* out) noexcept nogil
    const BlockedTransposeLoops* picked "PICKED(blocked_transpose)"

cdef const BlockedTransposeLoops* loops = picked
cdef enum:
    OCTET = 8
    PIECE = 96  # pixels of an item: what they read stays in the first caches for all columns
MOST = 1 << 40  # of elements that any array has


class Packed:
    """Constant weights (inputs, outputs, kernel) as columns: those of a plain result by channel and tap, else by tap and block."""

    def __init__(self, w, plain):
        cdef cnp.ndarray rows, out
        if w.dtype != np.float32 or w.ndim != 4 or min(w.shape) < 1:
            raise ValueError(f"no blocked transposed convolution has {w.dtype} weights of shape {w.shape}")
        self.shape, self.plain = w.shape, plain
        inner, outer, high, wide = w.shape
        lanes = outer if plain else -(-outer // OCTET) * OCTET
        padded = np.zeros((-(-inner // OCTET) * OCTET, lanes, high, wide), np.float32)
        padded[:inner, :outer] = w
        columns = padded.reshape(len(padded), -1) if plain else padded.transpose(0, 2, 3, 1).reshape(len(padded), -1)
        self.columns = columns.shape[1]
        rows = np.zeros((len(padded), -(-self.columns // OCTET) * OCTET), np.float32)
        rows[:, :self.columns] = columns
        out = np.empty(rows.size, np.float32)
        loops.pack(<const float*> cnp.PyArray_DATA(rows), len(padded), rows.shape[1] // OCTET, <float*> cnp.PyArray_DATA(out))
        self.data = out

    def placed(self, size):
        """The channel of each column, -1 for none, and where it goes from its pixel's place in a result of this size."""
        _, outer, high, wide = self.shape
        index = np.arange(-(-self.columns // OCTET) * OCTET)
        if self.plain:
            channel, tap = index // (high * wide), index % (high * wide)
            to = (channel * size[0] + tap // wide) * size[1] + tap % wide
        else:
            lanes = -(-outer // OCTET) * OCTET
            channel, tap = index % lanes, index // lanes
            to = ((channel // OCTET * size[0] + tap // wide) * size[1] + tap % wide) * OCTET
        return np.where((channel < outer) & (index < self.columns), channel, -1).astype(np.intp), to.astype(np.intp)


cdef struct Bound:
    BlockedTranspose how
    bint biased
    Py_ssize_t cost


cdef int run(void** at, const Bound* to) noexcept nogil:
    cdef Py_ssize_t last = 1 + to.biased
    cdef BlockedTransposeCall call
    call.how, call.x, call.y = &to.how, <const float*> at[0], <float*> at[last]
    call.bias = <const float*> at[1] if to.biased else NULL
    return share(team(at, last + 1), loops.task, &call, to.how.batch * to.how.pieces, to.cost)


def convolution(x, w, bias, y, str activation="", double alpha=0, double beta=0) -> Step:
    """Every pixel of ``x`` times `Packed` weights, plus a bias (or None) of each output channel, activated, as a patch of ``y``
    as large as the kernel: a step."""
    cdef Bound to
    cdef BlockedTranspose* how = &to.how
    cdef cnp.ndarray data, blocks, channel, places
    arrays = (x, y) if bias is None else (x, bias, y)
    size = check(x, w, bias, y)
    data, (channel, places) = w.data, w.placed(size)
    unit = 1 if w.plain else OCTET
    how.batch, how.in_blocks, how.pixels, how.width = x.shape[0], x.shape[1], x.shape[2] * x.shape[3], x.shape[3]
    how.columns, how.column_blocks, how.plain = w.columns, channel.size // OCTET, w.plain
    how.image = y.size // x.shape[0] if x.shape[0] else 0
    how.down, how.across = w.shape[2] * size[1] * unit, w.shape[3] * unit
    how.piece, how.pieces = PIECE, (how.pixels + PIECE - 1) // PIECE
    blocks = np.arange(how.in_blocks) * (how.pixels * OCTET)
    how.at, how.to = <const Py_ssize_t*> cnp.PyArray_DATA(blocks), <const Py_ssize_t*> cnp.PyArray_DATA(places)
    how.channel, how.weights = <const Py_ssize_t*> cnp.PyArray_DATA(channel), <const float*> cnp.PyArray_DATA(data)
    named(&how.activation, activation, alpha, beta)
    to.biased, to.cost = bias is not None, 1 + PIECE * how.in_blocks * OCTET * how.column_blocks * OCTET // 40
    return bound(<Run> run, arrays, &to, sizeof(to), channel.size * sizeof(float), (data, blocks, channel, places))


def check(x, w, bias, y):
    """The height and width of the result; what does not belong together is refused."""
    if not isinstance(w, Packed):
        raise ValueError("the weights of a blocked transposed convolution are constants")
    if any([a is not None and a.dtype != np.float32 for a in (x, bias, y)]):
        raise TypeError("a blocked transposed convolution is of float")
    inner, outer, high, wide = w.shape
    if x.ndim != 5 or x.shape[4] != OCTET or x.shape[1] != -(-inner // OCTET):
        raise ValueError(f"an input of shape {x.shape} has not the {inner} channels that weights of shape {w.shape} take")
    size = (x.shape[2] * high, x.shape[3] * wide)
    if y.shape != ((x.shape[0], outer, *size) if w.plain else (x.shape[0], -(-outer // OCTET), *size, OCTET)):
        raise ValueError(f"{x.shape} and weights of shape {w.shape} do not make {y.shape}")
    if bias is not None and bias.shape != (outer,):
        raise ValueError(f"a bias of shape {bias.shape} for {outer} output channels")
    if not y.flags.writeable or x.size > MOST or y.size > MOST or w.data.size > MOST:
        raise ValueError("the result's buffer is read-only, or an array is too large")
    return size
