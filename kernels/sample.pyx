"""Sampling: the values of planes between their elements, at the positions of a grid."""
from math import prod
import numpy as np
from libc.string cimport memcpy
from .step cimport BRAIN, DOUBLE, FLOAT, HALF, Element, Run, bound, code_of, floats, real, step, team
from .threads cimport Task, share

cdef extern from "hot/sample.h" nogil:
    enum:
        FIELD_AXES, NEAREST, LINEAR, CUBIC, ZEROS, BORDER, REFLECTION, GRID_FLOAT, GRID_DOUBLE, GRID_HALF, GRID_BRAIN
    ctypedef struct Field:
        int axes, mode, padding
        bint aligned
        Py_ssize_t size[FIELD_AXES]
        Py_ssize_t stride[FIELD_AXES]
    ctypedef struct Sample:
        Field field
        Py_ssize_t batch, channels, spots, block, blocks, plane, most
        int grid_type, bytes
        char strange[16]
    ctypedef struct SampleCall:
        const Sample* how
        const char* x
        const char* grid
        char* y
    ctypedef struct SampleLoops:
        Task in_float, in_double, picked
    const SampleLoops* picked "PICKED(sample)"

cdef const SampleLoops* loops = picked
cdef enum:
    PLACES = 4096  # that count at the positions of a block, at most
    MOST = 65536  # that count at one position

cdef dict MODES = {"nearest": NEAREST, "linear": LINEAR, "cubic": CUBIC}
cdef dict PADDINGS = {"zeros": ZEROS, "border": BORDER, "reflection": REFLECTION}
cdef dict GRIDS = {FLOAT: GRID_FLOAT, DOUBLE: GRID_DOUBLE, HALF: GRID_HALF, BRAIN: GRID_BRAIN}


cdef int run(real** at, const Sample* how) noexcept nogil:
    cdef SampleCall call = SampleCall(how, <const char*> at[0], <const char*> at[2], <char*> at[1])
    cdef Py_ssize_t cost = how.block * (50 + how.most * (3 + how.channels))
    return share(team(<void**> at, 3), loops.in_float if real is float else loops.in_double, &call, how.batch * how.blocks, cost)


cdef int run_picked(void** at, const Sample* how) noexcept nogil:
    cdef SampleCall call = SampleCall(how, <const char*> at[0], <const char*> at[2], <char*> at[1])
    return share(team(at, 3), loops.picked, &call, how.batch * how.blocks, how.block * (50 + how.channels))


def grid_sample(x, grid, y, mode, padding, bint aligned):
    """``x`` at the positions of ``grid``, numbers from -1 to 1 with the last axis first: a step.

    Mode nearest takes any type of plain bytes, linear and cubic take floats. A position that is no number gives NaN, or zero
    in a type that has none.
    """
    cdef Sample how
    cdef bytes strange
    cdef Element code = code_of(grid)
    if code not in GRIDS:
        raise TypeError(f"positions of {grid.dtype}")
    settle(&how, x.shape, grid.shape, y.shape, mode, padding)
    how.grid_type, how.field.aligned, how.bytes = GRIDS[code], aligned, x.itemsize
    if mode != "nearest":
        scratch = 8 * (how.most + 2 * how.block * (1 + how.most))
        return step(floats(<Run> run[float], <Run> run[double]), (x, y), &how, sizeof(how), (grid,), scratch)
    if x.dtype != y.dtype or x.dtype.hasobject or x.itemsize > 16 or not y.flags.writeable:
        raise TypeError(f"{x.dtype} cannot be picked into {y.dtype}")
    strange = np.array(np.nan if x.dtype.kind in "fcV" else 0).astype(x.dtype).tobytes()
    memcpy(how.strange, <const char*> strange, x.itemsize)
    return bound(<Run> run_picked, (x, y, grid), &how, sizeof(how), 8 * how.block)


cdef object settle(Sample* how, x, grid, y, mode, padding):
    """Check shapes and describe the planes."""
    cdef int axis, axes = len(x) - 2
    cdef Py_ssize_t stride = 1
    if axes < 1 or len(grid) != len(x) or grid[len(grid) - 1] != axes or grid[0] != x[0] or y != (*x[:2], *grid[1:1 + axes]):
        raise ValueError(f"{x} at the positions of {grid} is not {y}")
    if axes > FIELD_AXES:
        raise ValueError(f"{axes} spatial axes; there may be {FIELD_AXES}")
    if 0 in x[2:] and padding != "zeros" and 0 not in y:
        raise ValueError(f"a plane of {x[2:]} has no border")
    how.field.axes, how.field.mode, how.field.padding = axes, MODES[mode], PADDINGS[padding]
    how.most = {"nearest": 1, "linear": 2, "cubic": 4}[mode] ** axes
    if how.most > MOST:
        raise ValueError(f"{how.most} places would count at every position; there may be {MOST}")
    for axis in range(axes - 1, -1, -1):
        how.field.size[axis], how.field.stride[axis] = x[axis + 2], stride
        stride *= x[axis + 2]
    how.batch, how.channels, how.plane, how.spots = x[0], x[1], stride, prod(grid[1:1 + axes])
    how.block = max(1, min(how.spots, 256, PLACES // how.most))
    how.blocks = (how.spots + how.block - 1) // how.block if how.channels else 0
