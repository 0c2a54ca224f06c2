"""Convolutions along one axis, in float32: few places as products of rows, many by Winograd's way."""
cimport numpy as cnp
import numpy as np
from .activate cimport Activation, activation
from .step cimport Run, Step, bound, team
from .threads cimport Task, share

cnp.import_array()

cdef extern from "hot/line.h" nogil:
    ctypedef struct Line:
        Py_ssize_t batch, in_channels, out_channels, taps, size, out, stride, dilation, before
        Activation activation
        const float* weights
    ctypedef struct LineCall:
        const Line* how
        const float* x
        const float* bias
        const float* residual
        float* y
        Py_ssize_t panels, blocks, count, cost
    ctypedef struct LineWay:
        Py_ssize_t (*packed_size)(Py_ssize_t out_channels, Py_ssize_t in_channels, Py_ssize_t taps) noexcept nogil
        void (*pack)(const float* w, Py_ssize_t out_channels, Py_ssize_t in_channels, Py_ssize_t taps, float* to) noexcept nogil
        Py_ssize_t (*scratch)(const Line* how) noexcept nogil
        void (*cut)(LineCall* call, int threads) noexcept nogil
        Task task
    ctypedef struct LineLoops:
        LineWay few, tiles
    const LineLoops* picked "PICKED(line)"

cdef const LineLoops* loops = picked
cdef enum:
    FEW = 12  # places of an image, up to which output channels are the columns of a product
    MOST_READ = 1 << 16  # elements that those places may read: they stay in the second-level cache

LEAST = 24, 32, 48  # output channels, input channels, places, from which Winograd's way pays
TAPS = range(3, 8)


def way(x, w, y, Py_ssize_t stride, Py_ssize_t dilation, bint exact):
    """How to convolve (N, C, L) with (M, C, taps) into (N, M, places): "few", "tiles", or "" where neither pays.

    With ``exact`` the sums are direct.
    """
    places, reach = y[2], (y[2] - 1) * stride + (w[2] - 1) * dilation + 1
    if 0 < places <= FEW and w[1] * reach <= MOST_READ and min(w) > 0:
        return "few"
    tiles = stride == dilation == 1 and w[2] in TAPS and not exact
    return "tiles" if tiles and all([n >= least for n, least in zip((w[0], w[1], places), LEAST)]) else ""


class Few:
    """Constant weights (M, C, …) in panels of output channels, whatever their one axis of taps."""

    way = "few"

    def __init__(self, w):
        self.shape = w.shape
        self.panels = packed(w, True)


class Tiles:
    """Constant weights transformed for Winograd's way."""

    way = "tiles"

    def __init__(self, w):
        self.shape = w.shape
        self.panels = packed(w, False)


PACKINGS = {"few": Few, "tiles": Tiles}


def packed(cnp.ndarray w, bint few):
    cdef const LineWay* how = &loops.few if few else &loops.tiles
    cdef Py_ssize_t m = w.shape[0], c = w.shape[1], taps = w.size // max(m * c, 1)
    cdef cnp.ndarray to = np.empty(how.packed_size(m, c, taps), np.float32)
    w = np.ascontiguousarray(w, np.float32)
    how.pack(<const float*> cnp.PyArray_DATA(w), m, c, taps, <float*> cnp.PyArray_DATA(to))
    return to


cdef struct Bound:
    Line line
    bint few, biased, added


cdef int run(void** at, const Bound* how) noexcept nogil:
    cdef LineCall call
    cdef const LineWay* way = &loops.few if how.few else &loops.tiles
    cdef Py_ssize_t arrays = 2 + how.biased + how.added
    call.how, call.x, call.y = &how.line, <const float*> at[0], <float*> at[arrays - 1]
    call.bias = <const float*> at[1] if how.biased else NULL
    call.residual = <const float*> at[1 + how.biased] if how.added else NULL
    way.cut(&call, team(at, arrays).threads)
    return share(team(at, arrays), way.task, &call, call.count, call.cost)


def convolution(x, w, bias, residual, y, *, Py_ssize_t stride, Py_ssize_t dilation, Py_ssize_t before, str activated="",
                alpha=0.0, beta=0.0) -> Step:
    """Sums of ``w``, packed by one of `PACKINGS`, over windows of ``x``, with bias and residual (or None), activated: a step.

    x is (N, C, L) and y (N, M, places); what the windows reach beyond the input is zeros.
    """
    cdef Bound how
    cdef Line* to = &how.line
    cdef cnp.ndarray panels = w.panels
    arrays = [a for a in (x, bias, residual, y) if a is not None]
    if any([a.dtype != np.float32 for a in arrays]):
        raise TypeError(f"{' and '.join(str(a.dtype) for a in arrays)} are not all float32")
    m, c, taps = w.shape[0], w.shape[1], taps_of(w.shape)
    if x.ndim != 3 or y.ndim != 3 or x.shape[1] != c or y.shape[:2] != (x.shape[0], m) or min(m, c, taps, stride, dilation) < 1:
        raise ValueError(f"{x.shape} convolved with {w.shape} is not {y.shape}")
    if bias is not None and bias.shape != (m,) or residual is not None and residual.shape != y.shape or before < 0:
        raise ValueError(f"a bias and a residual of other shapes than {(m,)} and {y.shape}")
    if not y.flags.writeable:
        raise ValueError("the result's buffer is read-only")
    how.few, how.biased, how.added = w.way == "few", bias is not None, residual is not None
    if not how.few and (stride != 1 or dilation != 1 or taps not in TAPS):
        raise ValueError(f"{taps} taps, a stride of {stride} and a dilation of {dilation} are not for Winograd's way")
    to.batch, to.in_channels, to.out_channels, to.taps, to.size, to.out = x.shape[0], c, m, taps, x.shape[2], y.shape[2]
    to.stride, to.dilation, to.before, to.weights = stride, dilation, before, <const float*> cnp.PyArray_DATA(panels)
    activation(&to.activation, activated, alpha, beta)
    if how.few and c * (max(y.shape[2] - 1, 0) * stride + (taps - 1) * dilation + 1) > MOST_READ:
        raise ValueError(f"{y.shape[2]} places that reach over {x.shape} are not few")
    scratch = loops.few.scratch(to) if how.few else loops.tiles.scratch(to)
    return bound(<Run> run, tuple(arrays), &how, sizeof(how), scratch, w)


def taps_of(shape):
    """The taps of weights with at most one axis of several."""
    taps = [n for n in shape[2:] if n != 1]
    if len(taps) > 1:
        raise ValueError(f"weights of shape {shape} are not along one axis")
    return taps[0] if taps else 1
