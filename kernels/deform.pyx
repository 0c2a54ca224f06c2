"""Deformable convolutions: weights by columns of values that lie where offsets put them."""
from math import prod
from .step cimport Run, floats, real, step, team
from .threads cimport Task, share

cdef extern from "hot/deform.h" nogil:
    enum:
        FIELD_AXES, LINEAR, ZEROS
    ctypedef struct Field:
        int axes, mode, padding
        bint aligned
        Py_ssize_t size[FIELD_AXES]
        Py_ssize_t stride[FIELD_AXES]
    ctypedef struct Deform:
        Field field
        Py_ssize_t batch, groups, in_channels, out_channels, offset_groups, plane, spots, taps, block, blocks, corners
        Py_ssize_t kernel[FIELD_AXES]
        Py_ssize_t stride[FIELD_AXES]
        Py_ssize_t dilation[FIELD_AXES]
        Py_ssize_t before[FIELD_AXES]
        Py_ssize_t out[FIELD_AXES]
    ctypedef struct DeformCall:
        const Deform* how
        const void* x
        const void* w
        const void* offset
        const void* bias
        const void* mask
        void* y
    ctypedef struct DeformLoops:
        Py_ssize_t scratch, float_spots
        Task in_float, in_double
    const DeformLoops* picked "PICKED(deform)"

cdef const DeformLoops* loops = picked
cdef enum:
    COLUMNS = 1 << 17  # elements of the columns of a block, where outputs are many

cdef struct Bound:
    Deform deform
    bint biased, masked


cdef int run(real** at, const Bound* how) noexcept nogil:
    cdef const Deform* d = &how.deform
    cdef int arrays = 3
    cdef DeformCall call
    call.how, call.x, call.w, call.offset, call.bias, call.mask = d, at[0], at[1], at[2], NULL, NULL
    if how.biased:
        call.bias = at[arrays]
        arrays += 1
    if how.masked:
        call.mask = at[arrays]
        arrays += 1
    call.y = at[arrays]
    cdef double cost = <double> d.block * d.taps * d.groups * d.in_channels * (d.corners + d.out_channels / 10 + 10)
    return share(team(<void**> at, arrays + 1), loops.in_float if real is float else loops.in_double, &call, d.batch * d.blocks,
                 1 + <Py_ssize_t> min(cost, 1e12))


def deformed(x, w, offset, bias, mask, y, Py_ssize_t group, Py_ssize_t offset_group, stride, dilation, before):
    """Sums of ``w`` over values of ``x`` between its elements, each moved by an offset and times a mask (or None): a step.

    An offset has an entry an axis for each tap of each of ``offset_group`` groups of channels; there may be eight axes.
    """
    cdef Bound how
    check(x.shape, w.shape, offset.shape, bias, mask, y.shape, group, offset_group, (stride, dilation, before))
    how.biased, how.masked = bias is not None, mask is not None
    width = 8 if x.dtype == "f8" else 4
    settle(&how.deform, x.shape, w.shape, y.shape, group, offset_group, stride, dilation, before, width)
    d = how.deform
    room = loops.scratch + width * (x.shape[1] * int(d.taps) * int(d.block) + 2) + 8 * (d.corners + d.block + 1)
    room += (8 + width) * int(d.corners) * (d.block + 1)
    arrays = (x, w, offset, *(a for a in (bias, mask) if a is not None), y)
    return step(floats(<Run> run[float], <Run> run[double]), arrays, &how, sizeof(how), (), room)


def check(x, w, offset, bias, mask, y, group, offset_group, settings):
    """Refuse shapes that do not belong together."""
    axes, taps = len(x) - 2, prod(w[2:])
    if not 1 <= axes <= FIELD_AXES or len(w) != len(x) or any([len(s) != axes for s in settings]):
        raise ValueError(f"a deformable convolution has one to eight spatial axes, and settings for each; x is {x}, w {w}")
    if group < 1 or x[1] != w[1] * group or w[0] % group or offset_group < 1 or x[1] % offset_group:
        raise ValueError(f"{group} groups of weights {w}, and {offset_group} of offsets, do not fit an input of shape {x}")
    if len(y) != len(x) or y[:2] != (x[0], w[0]) or min(w[2:]) < 1 or min(*settings[0], *settings[1]) < 1:
        raise ValueError(f"{x} convolved with {w} is not {y}")
    if offset != (x[0], offset_group * taps * axes, *y[2:]):
        raise ValueError(f"offsets of shape {offset} for results of shape {y} and {offset_group} groups of {taps} taps")
    if mask is not None and mask.shape != (x[0], offset_group * taps, *y[2:]):
        raise ValueError(f"a mask of shape {mask.shape} for results of shape {y} and {offset_group} groups of {taps} taps")
    if bias is not None and bias.shape != w[:1]:
        raise ValueError(f"a bias of shape {bias.shape} for {w[0]} output channels")


cdef settle(Deform* d, x, w, y, group, offset_group, stride, dilation, before, width):
    """Describe planes, taps and blocks."""
    cdef int axis, axes = len(x) - 2
    cdef Py_ssize_t along = 1
    d.field.axes, d.field.mode, d.field.padding, d.field.aligned = axes, LINEAR, ZEROS, True
    for axis in range(axes - 1, -1, -1):
        d.field.size[axis], d.field.stride[axis] = x[axis + 2], along
        along *= x[axis + 2]
        d.kernel[axis], d.out[axis], d.stride[axis] = w[axis + 2], y[axis + 2], stride[axis]
        d.dilation[axis], d.before[axis] = dilation[axis], before[axis]
    d.batch, d.groups, d.in_channels, d.out_channels, d.offset_groups = x[0], group, w[1], w[0] // group, offset_group
    d.plane, d.taps, d.spots, d.corners = along, prod(w[2:]), prod(y[2:]), 1 << axes
    most = min(int(loops.float_spots) * 4 // width, max(COLUMNS // max(x[1] * int(d.taps), 1), 16), 8192 // int(d.corners))
    d.block = max(1, min(int(d.spots), most))
    d.blocks = (d.spots + d.block - 1) // d.block
