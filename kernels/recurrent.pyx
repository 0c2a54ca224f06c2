"""Recurrent layers: RNN, GRU and LSTM over sequences, with weights in panels that are packed once where they are constant."""
cimport numpy as cnp
import numpy as np
from libc.stdint cimport int32_t
from .step cimport OK, OUT_OF_RANGE, Run, Step, bound, real, team
from .threads cimport Task, Team, share

cnp.import_array()

cdef extern from "hot/recurrent.h" nogil:
    cdef enum:
        SIMPLE, GATED, LONG_SHORT
    cdef enum:
        ACTIVATIONS
    ctypedef struct Activation:
        int kind
        double alpha, beta
    ctypedef struct Recurrent:
        int cell
        bint coupled, linear_first, clipped
        bint[2] backward
        double clip
        Activation[2][3] activations
        Py_ssize_t steps, batch, inputs, hidden, gates, directions
        Py_ssize_t x_step, x_item, y_step, y_item, y_direction, state_item, state_direction
        Py_ssize_t room, w_each, r_first, r_each
        const void* w_panels
        const void* r_panels
    ctypedef struct RecurrentCall:
        const Recurrent* how
        const void* x
        const void* w
        const void* r
        const void* bias
        const void* h
        const void* c
        const void* peephole
        const int32_t* lengths
        void* y
        void* last_h
        void* last_c
        Py_ssize_t rows, blocks
    ctypedef struct RecurrentLoops:
        Py_ssize_t float_columns, double_columns
        void (*float_pack)(const float* b, Py_ssize_t row, Py_ssize_t column, Py_ssize_t k, Py_ssize_t n,
                           float* out) noexcept nogil
        void (*double_pack)(const double* b, Py_ssize_t row, Py_ssize_t column, Py_ssize_t k, Py_ssize_t n,
                            double* out) noexcept nogil
        Task float_task, double_task
    Py_ssize_t recurrent_scratch(const Recurrent* how, Py_ssize_t rows)
    const RecurrentLoops* picked "PICKED(recurrent)"

cdef const RecurrentLoops* loops = picked
CELLS = {"RNN": (<int> SIMPLE, 1, 1), "GRU": (<int> GATED, 3, 2), "LSTM": (<int> LONG_SHORT, 4, 3)}  # gates, activations
ACTIVATION = {name: k for k, name in enumerate((
    "relu", "tanh", "sigmoid", "affine", "leakyrelu", "thresholdedrelu", "scaledtanh", "hardsigmoid", "elu", "softsign",
    "softplus"))}

cdef enum:
    AT_ONCE = 96  # rows of gates, steps times items, that one product works out: weights are read once for as many
    ARRAYS = 11   # that a layer may have
    TOGETHER = 256  # items of a batch, at the most, whose steps are worked out together


class Packed:
    """Constant weights of a layer, in panels; 16-bit ones are kept as float. ``parts`` are multiplied apart from each other."""

    def __init__(self, w, parts=1):
        directions, rows, k = w.shape
        self.shape, self.dtype = w.shape, np.dtype(np.float64 if w.dtype == np.float64 else np.float32)
        width = columns(self.dtype)
        wide = np.ascontiguousarray(w, self.dtype)
        counts = [rows] if parts == 1 else [rows // 3 * 2, rows // 3]
        self.each = [(n + width - 1) // width * width * k for n in counts]
        self.panels = np.empty((directions, sum(self.each)), self.dtype)
        for d in range(directions):
            pack(wide[d, :counts[0]], self.panels[d])
            pack(wide[d, counts[0]:], self.panels[d, self.each[0]:])

    @classmethod
    def gated(cls, r):
        """Of a GRU's recurrent weights: the product of the hidden gate comes after those of the others."""
        return cls(r, 2)


def columns(dtype):
    """The width of a panel."""
    return loops.float_columns if dtype == np.float32 else loops.double_columns


def pack(cnp.ndarray w, cnp.ndarray out):
    """Rows of weights into panels, as columns of a factor."""
    cdef Py_ssize_t n = w.shape[0], k = w.shape[1]
    if w.dtype == np.float32:
        loops.float_pack(<const float*> cnp.PyArray_DATA(w), 1, k, k, n, <float*> cnp.PyArray_DATA(out))
    else:
        loops.double_pack(<const double*> cnp.PyArray_DATA(w), 1, k, k, n, <double*> cnp.PyArray_DATA(out))


cdef struct Layer:
    Recurrent layer
    int[ARRAYS] place  # of each array, or -1: x, w, r, bias, lengths, h, c, peephole, y, last h, last c
    int arrays


cdef inline void* there(void** at, const Layer* how, int k) noexcept nogil:
    return at[how.place[k]] if how.place[k] >= 0 else NULL


cdef int run(real** arrays, const Layer* how) noexcept nogil:
    cdef void** at = <void**> arrays
    cdef const Team* crew = team(at, how.arrays)
    cdef const Recurrent* layer = &how.layer
    cdef RecurrentCall call
    cdef Py_ssize_t i, cost
    call.how, call.x, call.w, call.r = layer, there(at, how, 0), there(at, how, 1), there(at, how, 2)
    call.bias, call.lengths = there(at, how, 3), <const int32_t*> there(at, how, 4)
    call.h, call.c, call.peephole = there(at, how, 5), there(at, how, 6), there(at, how, 7)
    call.y, call.last_h, call.last_c = there(at, how, 8), there(at, how, 9), there(at, how, 10)
    if call.lengths != NULL:
        for i in range(layer.batch):
            if not 0 <= call.lengths[i] <= layer.steps:
                return OUT_OF_RANGE
    if layer.batch == 0 or layer.hidden == 0 or layer.steps == 0 and call.last_h == NULL and call.last_c == NULL:
        return OK  # nothing to fill, however large the other sizes are
    call.blocks = max((layer.batch + TOGETHER - 1) // TOGETHER, min(layer.batch, crew.threads // layer.directions))
    call.rows = (layer.batch + call.blocks - 1) // call.blocks
    call.blocks = (layer.batch + call.rows - 1) // call.rows
    cost = layer.steps * call.rows * layer.gates * layer.hidden * (layer.inputs + layer.hidden + 16) // 10
    return share(crew, loops.float_task if real is float else loops.double_task, &call, layer.directions * call.blocks, cost)


def layer(str cell, x, w, r, bias, lengths, h, c, peephole, y, last_h, last_c, *, list activations, list backward, clip=None,
          bint coupled=False, bint linear_first=False, bint batch_first=False) -> Step:
    """All steps of a layer, in each direction that ``backward`` lists: a step. What is absent is None.

    ``w`` and ``r`` may be `Packed`; ``activations`` has (name, alpha, beta) for every function of every direction.
    """
    cdef Layer how
    cdef Recurrent* to = &how.layer
    cdef Py_ssize_t gates, functions, steps, batch, inputs, hidden, directions = len(backward)
    cdef int i, k
    to.cell, gates, functions = CELLS[cell]
    (batch, steps) = x.shape[:2] if batch_first else x.shape[1::-1]
    inputs, hidden = x.shape[2], r.shape[2]
    state = (batch, directions, hidden) if batch_first else (directions, batch, hidden)
    due = {"W": (w, (directions, gates * hidden, inputs)), "R": (r, (directions, gates * hidden, hidden)),
           "B": (bias, (directions, 2 * gates * hidden)), "sequence_lens": (lengths, (batch,)), "initial_h": (h, state),
           "initial_c": (c, state), "P": (peephole, (directions, 3 * hidden)), "Y_h": (last_h, state), "Y_c": (last_c, state),
           "Y": (y, (batch, steps, directions, hidden) if batch_first else (steps, directions, batch, hidden))}
    for name, (a, shape) in due.items():
        if a is not None and a.shape != shape:
            raise ValueError(f"{name} is {list(a.shape)} where {list(shape)} is due")
        if a is not None and a.dtype != (np.int32 if a is lengths else x.dtype):
            raise TypeError(f"{name} is {a.dtype} beside {x.dtype}")
    if directions not in (1, 2) or len(activations) != directions * functions:
        raise ValueError(f"{len(activations)} activations for {directions} directions")
    for i in range(len(activations)):
        name, alpha, beta = activations[i]
        to.activations[i // functions][i % functions] = Activation(ACTIVATION[name], alpha, beta)
    for i in range(directions):
        to.backward[i] = backward[i]
    to.coupled, to.linear_first, to.clipped = coupled, linear_first and cell == "GRU", clip is not None
    to.clip = 0 if clip is None else clip
    to.steps, to.batch, to.inputs, to.hidden, to.gates, to.directions = steps, batch, inputs, hidden, gates, directions
    to.x_step, to.x_item = (inputs, steps * inputs) if batch_first else (batch * inputs, inputs)
    to.y_direction = hidden if batch_first else batch * hidden
    to.y_step, to.y_item = (directions * hidden, steps * directions * hidden) if batch_first else (directions * batch * hidden,
                                                                                                   hidden)
    to.state_item, to.state_direction = (directions * hidden, hidden) if batch_first else (hidden, batch * hidden)
    return laid(how, x, w, r, [bias, lengths, h, c, peephole, y, last_h, last_c])


cdef Step laid(Layer how, x, w, r, list others):
    """The step, with its scratch."""
    cdef Recurrent* to = &how.layer
    cdef cnp.ndarray panels
    cdef int k
    given = [x, None if isinstance(w, Packed) else w, None if isinstance(r, Packed) else r, *others]
    arrays = [a for a in given if a is not None]
    how.arrays = len(arrays)
    place = 0
    for k in range(ARRAYS):
        how.place[k] = -1
        if given[k] is not None:
            how.place[k] = place
            place += 1
    for a in others[5:]:
        if a is not None and not a.flags.writeable:
            raise ValueError("the result's buffer is read-only")
    width = columns(x.dtype)
    first = to.hidden * (2 if to.cell == GATED else to.gates)
    to.w_each = panelled(to.gates * to.hidden, width) * to.inputs
    to.r_first = panelled(first, width) * to.hidden
    to.r_each = to.r_first + panelled(to.gates * to.hidden - first, width) * to.hidden
    to.w_panels = to.r_panels = NULL
    if isinstance(w, Packed):
        panels = w.panels
        to.w_panels = cnp.PyArray_DATA(panels)
    if isinstance(r, Packed):
        panels = r.panels
        if sum(r.each) != to.r_each or r.each[0] != to.r_first:
            raise ValueError("recurrent weights packed for another cell")
        to.r_panels = cnp.PyArray_DATA(panels)
    together = min(to.batch, TOGETHER)
    to.room = max(together, min(AT_ONCE, to.steps * to.batch), 1)
    if int(to.hidden) * to.gates * (together + to.room + 4) + int(to.inputs) * to.room + to.w_each + to.r_each >= 2**43:
        raise MemoryError(f"a layer of {to.hidden} units")
    scratch = recurrent_scratch(to, together) * x.itemsize
    if x.dtype == np.float32:
        return bound(<Run> run[float], tuple(arrays), &how, sizeof(how), scratch, (w, r))
    if x.dtype == np.float64:
        return bound(<Run> run[double], tuple(arrays), &how, sizeof(how), scratch, (w, r))
    raise TypeError(f"no kernel for {x.dtype}")


def panelled(n, width):
    """Columns, rounded up to whole panels."""
    return (n + width - 1) // width * width
