"""Convolutions: weights by patches of the input as a blocked product; depthwise ones as sums of shifted rows."""
import math
cimport numpy as cnp
import numpy as np
from .activate cimport activation as fill_activation
from .step cimport Run, floats, real, step, team
from .threads cimport Task, Team, share

cnp.import_array()

cdef extern from "hot/conv.h" nogil:
    ctypedef struct ConvolutionCall:
        const Convolution* how
        const void* x
        const void* w
        const void* bias
        const void* residual
        void* y
        Py_ssize_t count, cost
    ctypedef struct Way:
        void (*cut)(ConvolutionCall* call, size_t size, int threads) noexcept nogil
        Task float_task, double_task
    ctypedef struct ConvLoops:
        Py_ssize_t (*packed_size)(Py_ssize_t groups, Py_ssize_t out_channels, Py_ssize_t depth) noexcept nogil
        void (*float_pack)(const float* w, Py_ssize_t groups, Py_ssize_t out_channels, Py_ssize_t in_channels, Py_ssize_t taps,
                           float* out) noexcept nogil
        void (*double_pack)(const double* w, Py_ssize_t groups, Py_ssize_t out_channels, Py_ssize_t in_channels, Py_ssize_t taps,
                            double* out) noexcept nogil
        Py_ssize_t (*depthwise_scratch)(const Convolution* how, size_t size, bint residual) noexcept nogil
        Py_ssize_t scratch
        Way products, depthwise
    const ConvLoops* picked "PICKED(conv)"

cdef const ConvLoops* loops = picked
cdef enum:
    MULTIPLIED = 4  # output channels of a group, up to which planes are summed rather than products


def depthwise(shape, group):
    """Whether weights of this shape are those of a convolution by planes, which takes them as they are."""
    return shape[1] == 1 and 1 < group and shape[0] <= MULTIPLIED * group


class Packed:
    """Constant weights in groups of rows as the micro-kernel reads them; 16-bit ones are kept as float."""

    def __init__(self, w, groups):
        if w.ndim < 3 or groups < 1 or w.shape[0] % groups:
            raise ValueError(f"weights of shape {w.shape} are not {groups} groups")
        self.dtype, self.shape, self.groups = w.dtype, w.shape, groups
        wide = np.ascontiguousarray(w, np.float64 if w.dtype == np.float64 else np.float32)
        self.rows = rows_of(wide, groups, w.shape[0] // groups, w.shape[1], math.prod(w.shape[2:]))


def rows_of(cnp.ndarray w, Py_ssize_t groups, Py_ssize_t out_channels, Py_ssize_t in_channels, Py_ssize_t taps):
    cdef bint single = w.dtype == np.float32
    cdef cnp.ndarray out = np.empty(loops.packed_size(groups, out_channels, in_channels * taps), w.dtype)
    if single:
        loops.float_pack(<const float*> cnp.PyArray_DATA(w), groups, out_channels, in_channels, taps,
                         <float*> cnp.PyArray_DATA(out))
    else:
        loops.double_pack(<const double*> cnp.PyArray_DATA(w), groups, out_channels, in_channels, taps,
                          <double*> cnp.PyArray_DATA(out))
    return out


cdef struct Bound:
    Convolution convolution
    bint packed, biased, added, by_planes


cdef int run(real** at, const Bound* how) noexcept nogil:
    cdef Py_ssize_t arrays = 2 + (not how.packed) + how.biased + how.added
    cdef const Team* workers = team(<void**> at, arrays)
    cdef const Way* way = &loops.depthwise if how.by_planes else &loops.products
    cdef ConvolutionCall call
    call.how, call.x, call.y = &how.convolution, at[0], at[arrays - 1]
    call.w = NULL if how.packed else at[1]
    call.bias = at[2 - how.packed] if how.biased else NULL
    call.residual = at[arrays - 2] if how.added else NULL
    way.cut(&call, sizeof(real), workers.threads)
    return share(workers, way.float_task if real is float else way.double_task, &call, call.count, call.cost)


def convolution(x, w, bias, y, Py_ssize_t group, stride, dilation, before, *, residual=None, str activation="", double alpha=0,
                double beta=0):
    """Sums of ``w`` over windows of ``x``, plus ``bias`` (or None) of each output channel, into ``y``: a step.

    ``w`` may be `Packed`, unless the convolution is `depthwise`. One entry a spatial axis, of which there are one to three;
    ``before`` is the padding before each, and what follows the input is padding as far as ``y`` needs it. The residual has the
    shape of ``y``, which may be written over it; it is added before the activation, of ``alpha`` and ``beta``.
    """
    cdef Bound how
    cdef Py_ssize_t scratch = loops.scratch
    how.packed, how.biased, how.by_planes = isinstance(w, Packed), bias is not None, depthwise(w.shape, group)
    how.added = residual is not None
    if how.packed and (w.groups != group or w.dtype != x.dtype or how.by_planes):
        raise TypeError(f"weights packed from {w.dtype} for {w.groups} groups beside {x.dtype} and {group}")
    check(x.shape, w.shape, None if bias is None else bias.shape, y.shape, group, (stride, dilation, before))
    if how.added and residual.shape != y.shape:
        raise ValueError(f"a residual of shape {residual.shape} for a result of {y.shape}")
    settle(&how.convolution, x.shape, w.shape, y.shape, group, stride, dilation, before)
    fill_activation(&how.convolution.activation, activation, alpha, beta)
    if how.by_planes:
        scratch = loops.depthwise_scratch(&how.convolution, 8 if x.dtype == np.float64 else 4, how.added)
    return bind(how, x, w, [a for a in (bias, residual, y) if a is not None], scratch)


cdef bind(Bound how, x, w, list rest, Py_ssize_t scratch):
    cdef cnp.ndarray rows
    how.convolution.panels = NULL
    if how.packed:
        rows = w.rows
        how.convolution.panels = cnp.PyArray_DATA(rows)
    arrays = (x, *rest) if how.packed else (x, w, *rest)
    return step(floats(<Run> run[float], <Run> run[double]), arrays, &how, sizeof(how), (), scratch, w)


def check(x, w, bias, y, group, settings):
    """Refuse shapes that do not belong together."""
    axes = len(x) - 2
    if not 1 <= axes <= AXES or len(w) != len(x) or any([len(s) != axes for s in settings]):
        raise ValueError(f"a convolution has one to three spatial axes, and settings for each; x is {x}, w {w}")
    if group < 1 or x[1] != w[1] * group or w[0] % group:
        raise ValueError(f"{group} groups of weights {w} do not fit an input of shape {x}")
    if bias is not None and bias != w[:1]:
        raise ValueError(f"a bias of shape {bias} for {w[0]} output channels")
    if len(y) != len(x) or y[:2] != (x[0], w[0]) or min(w[2:]) < 1 or min(*settings[0], *settings[1]) < 1 or min(settings[2]) < 0:
        raise ValueError(f"{x} convolved with {w} is not {y}")


cdef int settle(Convolution* c, x, w, y, Py_ssize_t group, stride, dilation, before) except -1:
    """The settings for three axes; one axis of all pixels where no window reaches beyond its own."""
    cdef int axis
    size, kernel, out = x[2:], w[2:], y[2:]
    if set(kernel) == set(stride) == {1} and not any(before) and size == out:
        size = out = (math.prod(size),)
        kernel = stride = dilation = (1,)
        before = (0,)
    c.batch, c.groups, c.in_channels, c.out_channels = x[0], group, w[1], w[0] // group
    for axis in range(AXES):
        c.size[axis], c.kernel[axis], c.stride[axis], c.dilation[axis], c.before[axis], c.out[axis] = 1, 1, 1, 1, 0, 1
    for axis in range(len(size)):
        at = AXES - len(size) + axis
        c.size[at], c.kernel[at], c.stride[at] = size[axis], kernel[axis], stride[axis]
        c.dilation[at], c.before[at], c.out[at] = dilation[axis], before[axis], out[axis]
    return 0
