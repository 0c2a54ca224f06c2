"""Transposed convolutions: products of weights and pixels, added up where their taps lie."""
import math
from .step cimport Run, floats, real, step, team
from .threads cimport Task, Team, share

cdef extern from "hot/transpose.h" nogil:
    enum:
        TRANSPOSE_AXES
    ctypedef struct Transpose:
        Py_ssize_t batch, groups, in_channels, out_channels
        Py_ssize_t size[TRANSPOSE_AXES]
        Py_ssize_t kernel[TRANSPOSE_AXES]
        Py_ssize_t stride[TRANSPOSE_AXES]
        Py_ssize_t dilation[TRANSPOSE_AXES]
        Py_ssize_t before[TRANSPOSE_AXES]
        Py_ssize_t out[TRANSPOSE_AXES]
        Py_ssize_t pixels
        bint apart
    ctypedef struct TransposeCall:
        const Transpose* how
        Py_ssize_t channels, blocks
        const void* x
        const void* w
        const void* bias
        void* y
    ctypedef struct TransposeLoops:
        Py_ssize_t scratch, float_pixels
        Task in_float, in_double
    const TransposeLoops* picked "PICKED(transpose)"

cdef const TransposeLoops* loops = picked
cdef enum:
    ROWS = 96  # of products that are made together: channels times taps
    FEW = 24  # the fewest that still make a good product, where channels are shared among threads

cdef struct Bound:
    Transpose transpose
    bint biased


cdef Py_ssize_t together(const Transpose* t, int threads) noexcept nogil:
    """How many output channels are worked on together: as many as make a good product, fewer where threads would idle."""
    cdef Py_ssize_t taps = t.kernel[0] * t.kernel[1] * t.kernel[2], most = max(ROWS // taps, 1)
    cdef Py_ssize_t planes = max(t.batch * t.groups, 1), share = (t.out_channels * planes + 4 * threads - 1) // (4 * threads)
    if threads > 1:
        most = max(min(most, share), min(most, max(FEW // taps, 1)))
    return max(min(most, t.out_channels), 1)


cdef int run(real** at, const Bound* how) noexcept nogil:
    cdef const Transpose* t = &how.transpose
    cdef const Team* workers = team(<void**> at, 3 + how.biased)
    cdef TransposeCall call
    cdef double products
    call.how, call.x, call.w, call.y = t, at[0], at[1], at[2 + how.biased]
    call.bias = at[2] if how.biased else NULL
    call.channels = together(t, workers.threads)
    call.blocks = (t.out_channels + call.channels - 1) // call.channels
    products = <double> t.size[0] * t.size[1] * t.size[2] * t.kernel[0] * t.kernel[1] * t.kernel[2] * call.channels
    return share(workers, loops.in_float if real is float else loops.in_double, &call, t.batch * t.groups * call.blocks,
                 1 + <Py_ssize_t> min(products * (t.in_channels + 8) / 20, 1e12))


def transposed(x, w, bias, y, Py_ssize_t group, stride, dilation, before):
    """The convolution whose gradient this would be, plus ``bias`` (or None) of each output channel, into ``y``: a step.

    One entry a spatial axis, of which there are one to three; ``before`` is how many outputs are cut off before each. Those of
    ``y`` that nothing reaches are the bias.
    """
    cdef Bound how
    check(x.shape, w.shape, None if bias is None else bias.shape, y.shape, group, (stride, dilation, before))
    how.biased = bias is not None
    settle(&how.transpose, x.shape, w.shape, y.shape, group, stride, dilation, before)
    width = 8 if x.dtype == "f8" else 4
    how.transpose.pixels = loops.float_pixels * 4 // width
    if 0 < x.shape[x.ndim - 1] < how.transpose.pixels:
        how.transpose.pixels -= how.transpose.pixels % <Py_ssize_t> x.shape[x.ndim - 1]  # whole rows
    room = loops.scratch + width * (how.transpose.pixels * int(together(&how.transpose, 1)) * math.prod(w.shape[2:]))
    arrays = (x, w, y) if bias is None else (x, w, bias, y)
    return step(floats(<Run> run[float], <Run> run[double]), arrays, &how, sizeof(how), (), room)


def check(x, w, bias, y, group, settings):
    """Refuse shapes that do not belong together."""
    axes = len(x) - 2
    if not 1 <= axes <= TRANSPOSE_AXES or len(w) != len(x) or any([len(s) != axes for s in settings]):
        raise ValueError(f"a transposed convolution has one to three spatial axes, and settings for each; x is {x}, w {w}")
    if group < 1 or x[1] != w[0] or w[0] % group:
        raise ValueError(f"{group} groups of weights {w} do not fit an input of shape {x}")
    if bias is not None and bias != (w[1] * group,):
        raise ValueError(f"a bias of shape {bias} for {w[1] * group} output channels")
    if len(y) != len(x) or y[:2] != (x[0], w[1] * group) or min(w[2:]) < 1 or min(*settings[0], *settings[1]) < 1:
        raise ValueError(f"{x} convolved with {w}, transposed, is not {y}")
    if max(map(abs, (*settings[0], *settings[1], *settings[2], *w[2:]))) >= 1 << 31:
        raise ValueError(f"strides, dilations or padding are too large: {settings}")


cdef settle(Transpose* t, x, w, y, Py_ssize_t group, stride, dilation, before):
    """The settings for three axes."""
    cdef int axis, at, axes = len(x) - 2
    t.batch, t.groups, t.in_channels, t.out_channels = x[0], group, w[0] // group, w[1]
    for axis in range(TRANSPOSE_AXES):
        t.size[axis], t.kernel[axis], t.stride[axis], t.dilation[axis], t.before[axis], t.out[axis] = 1, 1, 1, 1, 0, 1
    for axis in range(axes):
        at = TRANSPOSE_AXES - axes + axis
        t.size[at], t.kernel[at], t.stride[at] = x[axis + 2], w[axis + 2], stride[axis]
        t.dilation[at], t.before[at], t.out[at] = dilation[axis], before[axis], y[axis + 2]
    t.apart = True
    for axis in range(TRANSPOSE_AXES):
        if t.kernel[axis] != t.stride[axis] or (t.dilation[axis] != 1 and t.kernel[axis] > 1) or t.before[axis] \
                or t.out[axis] != t.size[axis] * t.stride[axis]:
            t.apart = False
