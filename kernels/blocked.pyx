"""Convolutions in the blocked layout, (N, blocks of 8 channels, H, W, 8): direct, by Winograd's way, and depthwise."""
cimport numpy as cnp
import numpy as np
from .activate cimport Activation, activation
from .step cimport Run, Step, bound, team
from .threads cimport Task, Team, share

cnp.import_array()

cdef extern from "hot/blocked.h" nogil:
    enum:
        DIRECT_WAY "DIRECT"
        WINOGRAD_WAY "WINOGRAD"
        DEPTHWISE_WAY "DEPTHWISE"
        WAYS
    ctypedef struct BlockedConv:
        Py_ssize_t batch, groups, in_channels, in_blocks, out_channels, out_blocks
        Py_ssize_t size[2]
        Py_ssize_t kernel[2]
        Py_ssize_t stride[2]
        Py_ssize_t dilation[2]
        Py_ssize_t before[2]
        Py_ssize_t out[2]
        bint plain
        Py_ssize_t terms
        const Py_ssize_t* at
        const float* weights
        Activation activation
    ctypedef struct BlockedCall:
        const BlockedConv* how
        const float* x
        const float* bias
        const float* residual
        float* y
    ctypedef int (*Share)(const Team* team, Task task, const void* args, Py_ssize_t count, Py_ssize_t cost) noexcept nogil
    ctypedef struct BlockedPath:
        void (*settle)(BlockedConv* how) noexcept nogil
        void (*place)(const BlockedConv* how, Py_ssize_t* at) noexcept nogil
        Py_ssize_t (*packed_size)(const BlockedConv* how) noexcept nogil
        void (*pack)(const BlockedConv* how, const float* w, float* out) noexcept nogil
        Py_ssize_t (*scratch)(const BlockedConv* how) noexcept nogil
        int (*run)(BlockedCall* call, const Team* team, Share share) noexcept nogil
    ctypedef struct BlockedLoops:
        BlockedPath path[WAYS]
    const BlockedLoops* picked "PICKED(blocked)"

cdef const BlockedLoops* loops = picked
DIRECT, WINOGRAD, DEPTHWISE = DIRECT_WAY, WINOGRAD_WAY, DEPTHWISE_WAY
cdef enum:
    OCTET = 8


cdef Py_ssize_t MOST = 1 << 46  # of any product of sizes


def takes(shape, group, input_is_blocked):
    """Whether there is a convolution here with weights of this shape, over an input of this layout."""
    if len(shape) != 4 or min(shape) < 1 or group < 1 or shape[0] % group:
        return False
    if group == 1 or depthwise(shape, group):
        return input_is_blocked or group == 1
    return input_is_blocked and shape[1] % OCTET == 0 and shape[0] // group % OCTET == 0


def depthwise(shape, group):
    """Whether every channel is convolved with a kernel of its own."""
    return 1 < group == shape[0] and shape[1] == 1


def way_of(shape, group, input_is_blocked, out, stride, dilation, exact=False):
    """The fastest way, as measured, for weights of this shape and a result of these two sizes; an exact one is not Winograd's."""
    if depthwise(shape, group):
        return DEPTHWISE
    if exact or not input_is_blocked or shape[2:] != (3, 3) or {*stride, *dilation} != {1}:
        return DIRECT
    # Its weights are four times as many: below 12 rows fetching them takes as long as the products that it saves.
    return WINOGRAD if min(shape[1], shape[0] // group) >= 16 and min(out) >= 12 else DIRECT


class Packed:
    """Constant weights as the micro-kernels read them, for a blocked or a plain input and a way."""

    def __init__(self, w, groups, plain, way=DIRECT):
        cdef BlockedConv how
        cdef const BlockedPath* path = &loops.path[<int> way]
        cdef cnp.ndarray out, rows = np.ascontiguousarray(w)
        if w.dtype != np.float32 or not takes(w.shape, groups, not plain):
            raise ValueError(f"no blocked convolution has {w.dtype} weights of shape {w.shape} in {groups} groups")
        self.shape, self.groups, self.plain, self.way = w.shape, groups, plain, way
        settle(&how, (1, w.shape[1] * groups, 1, 1), self, (1, w.shape[0], 1, 1), (1, 1), (1, 1), (0, 0))
        out = np.empty(path.packed_size(&how), np.float32)
        path.pack(&how, <const float*> cnp.PyArray_DATA(rows), <float*> cnp.PyArray_DATA(out))
        self.data = out


cdef int settle(BlockedConv* how, x, packed, y, stride, dilation, before) except -1:
    """Fill in the settings for logical shapes (N, C, H, W), all of them checked."""
    cdef int axis
    w = packed.shape
    how.batch, how.groups, how.plain = x[0], packed.groups, packed.plain
    how.in_channels, how.out_channels = w[1], w[0] // packed.groups
    if packed.way == DEPTHWISE:
        how.groups, how.in_channels, how.out_channels = 1, w[0], w[0]
    how.in_blocks, how.out_blocks = blocks(how.in_channels), blocks(how.out_channels)
    for axis in range(2):
        how.size[axis], how.kernel[axis], how.out[axis] = x[2 + axis], w[2 + axis], y[2 + axis]
        how.stride[axis], how.dilation[axis], how.before[axis] = stride[axis], dilation[axis], before[axis]
    if packed.way == WINOGRAD and (how.plain or tuple(w[2:]) != (3, 3) or {*stride, *dilation} != {1}):
        raise ValueError(f"Winograd's way is for 3 x 3 kernels, not {w}, of stride and dilation 1 and a blocked input")
    if (packed.way == DEPTHWISE) != depthwise(w, packed.groups):
        raise ValueError(f"weights of shape {w} in {packed.groups} groups go another way")
    loops.path[<int> packed.way].settle(how)
    return 0


cdef Py_ssize_t blocks(Py_ssize_t channels) noexcept nogil:
    return (channels + OCTET - 1) // OCTET


cdef struct Bound:
    BlockedConv convolution
    BlockedPath path
    bint biased, added


cdef int run(void** at, const Bound* how) noexcept nogil:
    cdef Py_ssize_t arrays = 2 + how.biased + how.added
    cdef const Team* workers = team(at, arrays)
    cdef BlockedCall call
    call.how, call.x, call.y = &how.convolution, <const float*> at[0], <float*> at[arrays - 1]
    call.bias = <const float*> at[1] if how.biased else NULL
    call.residual = <const float*> at[arrays - 2] if how.added else NULL
    return how.path.run(&call, workers, <Share> share)


def convolution(x, w, bias, residual, y, stride, dilation, before, str name="", alpha=0.0, beta=0.0):
    """Sums of `Packed` weights over windows of ``x``, plus a bias (or None) of each output channel, plus a residual (or None) of
    the result's shape, activated, into ``y``: a step. The residual may be ``y``.

    ``before`` is the padding before each axis, and what follows the input is padding as far as ``y`` needs it.
    """
    cdef Bound how
    cdef cnp.ndarray data, places
    arrays = (x, *(a for a in (bias, residual) if a is not None), y)
    inner, outer = check(x, w, bias, residual, y, (stride, dilation, before))
    settle(&how.convolution, inner, w, outer, stride, dilation, before)
    activation(&how.convolution.activation, name, alpha, beta)
    how.biased, how.added, how.path = bias is not None, residual is not None, loops.path[<int> w.way]
    data, places = w.data, np.empty(how.convolution.terms, np.intp)
    how.convolution.weights = <const float*> cnp.PyArray_DATA(data)
    how.convolution.at = <const Py_ssize_t*> cnp.PyArray_DATA(places)
    how.path.place(&how.convolution, <Py_ssize_t*> cnp.PyArray_DATA(places))
    return bound(<Run> run, arrays, &how, sizeof(how), how.path.scratch(&how.convolution), (data, places))


def check(x, w, bias, residual, y, settings):
    """The logical shapes of input and result; what does not belong together is refused."""
    if not isinstance(w, Packed):
        raise ValueError("the weights of a blocked convolution are constants")
    if any([a is not None and a.dtype != np.float32 for a in (x, bias, residual, y)]):
        raise TypeError("a blocked convolution is of float")
    channels, kernel = w.shape[1] * w.groups, w.shape[2:]
    due = (channels,) if w.plain else (blocks(channels),)
    if x.ndim != 5 - w.plain or x.shape[1:2] != due or x.shape[4:] != y.shape[4:5 - w.plain]:
        raise ValueError(f"an input of shape {x.shape} has not the {channels} channels that weights of shape {w.shape} take")
    if y.ndim != 5 or y.shape[:2] != (x.shape[0], blocks(w.shape[0])) or y.shape[4] != OCTET:
        raise ValueError(f"{x.shape} convolved with {w.shape} is not {y.shape}")
    if bias is not None and bias.shape != w.shape[:1]:
        raise ValueError(f"a bias of shape {bias.shape} for {w.shape[0]} output channels")
    if residual is not None and residual.shape != y.shape:
        raise ValueError(f"a residual of shape {residual.shape} for a result of shape {y.shape}")
    if any([len(s) != 2 for s in settings]) or min(*settings[0], *settings[1]) < 1 or min(settings[2]) < 0:
        raise ValueError(f"strides, dilations and padding are two numbers each, not {settings}")
    reach = [(n - 1) * s + (k - 1) * d + 1 for n, s, k, d in zip(y.shape[2:4], settings[0], kernel, settings[1])]
    if max(*reach, *settings[2]) * max(*reach, *settings[2]) * channels > MOST:
        raise ValueError(f"windows that reach over {reach} places are more than any machine holds")
    return (x.shape[0], channels, *x.shape[2:4]), (x.shape[0], w.shape[0], *y.shape[2:4])
