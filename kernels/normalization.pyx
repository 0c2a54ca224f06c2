"""Normalizations: scale and shift by channel, local response over channels, softmax."""
from libc.math cimport sqrt
from .step cimport BRAIN, DOUBLE, FLOAT, HALF, OK, Element, Run, Step, bound, brain, code_of, floats, half, step, team, widen
from .threads cimport Task, Team, share

cdef extern from "hot/normalization.h" nogil:
    ctypedef void (*Scaled)(const void* x, void* y, Py_ssize_t n, const double* mean, const double* scale,
                            const double* shift) noexcept nogil
    ctypedef void (*Responded)(const void* x, void* y, Py_ssize_t n, Py_ssize_t low, Py_ssize_t high, Py_ssize_t step,
                               double alpha, double beta, double bias) noexcept nogil
    ctypedef void (*Softened)(const void* x, void* y, Py_ssize_t n, Py_ssize_t inner, int logarithm) noexcept nogil
    ctypedef struct NormalizationLoops:
        Scaled* row
        Scaled* channels
        Responded* response
        Softened* soft
    const NormalizationLoops* picked "PICKED(normalization)"

cdef const NormalizationLoops* loops = picked


cdef int floating(x, y) except -1:
    """The code of the floating type that both arrays have, of one shape."""
    cdef Element code = code_of(x)
    if code > BRAIN or x.dtype != y.dtype:
        raise TypeError(f"no kernel from {x.dtype} to {y.dtype}")
    if x.shape != y.shape:
        raise ValueError(f"{x.shape} does not fit {y.shape}")
    if not y.flags.writeable:
        raise ValueError("the result's buffer is read-only")
    return code


cdef Py_ssize_t product(shape) except -1:
    cdef Py_ssize_t n = 1
    for size in shape:
        n *= size
    return n


# Scale and shift

cdef struct Batch:
    Scaled row
    Py_ssize_t count, channels, plane, width
    bint side_by_side
    double epsilon
    Element[4] codes  # of scale, shift, mean, variance

cdef struct Scaling:
    const char* x
    char* y
    const double* mean
    const double* scale
    const double* shift
    const Batch* how


cdef double number(const void* x, Py_ssize_t i, Element code) noexcept nogil:
    """One element of an array of some floating type."""
    cdef float wide = 0
    if code == DOUBLE:
        return (<const double*> x)[i]
    if code == FLOAT:
        return (<const float*> x)[i]
    if code == HALF:
        widen[half](<const half*> x + i, &wide, 1)
    else:
        widen[brain](<const brain*> x + i, &wide, 1)
    return wide


cdef int some_planes(const Scaling* on, Py_ssize_t begin, Py_ssize_t end, void* scratch) noexcept nogil:
    """Planes of single channels, or whole rows of channels that have one element each."""
    cdef const Batch* how = on.how
    cdef Py_ssize_t i, c, bytes = how.plane * how.width
    for i in range(begin, end):
        c = 0 if how.side_by_side else i % how.channels
        how.row(on.x + i * bytes, on.y + i * bytes, how.plane, on.mean + c, on.scale + c, on.shift + c)
    return OK


cdef int scaled(void** at, const Batch* how) noexcept nogil:
    cdef const Team* crew = team(at, 6)
    cdef double* room = <double*> crew.scratch
    cdef Py_ssize_t c, channels = how.channels
    cdef Scaling on = Scaling(<const char*> at[0], <char*> at[5], room, room + channels, room + 2 * channels, how)
    for c in range(channels):
        room[c] = number(at[3], c, how.codes[2])
        room[channels + c] = number(at[1], c, how.codes[0]) / sqrt(number(at[4], c, how.codes[3]) + how.epsilon)
        room[2 * channels + c] = number(at[2], c, how.codes[1])
    return share(crew, <Task> some_planes, &on, how.count, how.plane // 3 + 5)


def batch(x, scale, shift, mean, variance, double epsilon, y):
    """(x - mean) / sqrt(variance + epsilon) * scale + shift: a step.

    One number of each for a channel, the second axis, or for every element of a batch item, where they have its shape.
    """
    cdef Batch how
    cdef int i, code = floating(x, y)
    cdef bint spatial = scale.ndim == 1
    channels = x.shape[1:2] if spatial else x.shape[1:]
    for i, a in enumerate((scale, shift, mean, variance)):
        if product(a.shape) != product(channels) or a.ndim != scale.ndim:
            raise ValueError(f"{a.shape} is not one number for each of {channels}")
        how.codes[i] = code_of(a)
        if how.codes[i] > BRAIN:
            raise TypeError(f"no kernel for {a.dtype}")
    how.channels, how.epsilon, how.width = product(channels), epsilon, x.itemsize
    how.plane = product(x.shape[2:]) if spatial else 1
    how.side_by_side = how.plane == 1
    how.row = loops.channels[code] if how.side_by_side else loops.row[code]
    how.count = x.size // how.plane if how.plane else 0
    if how.side_by_side:
        how.plane = how.channels
        how.count = x.shape[0] if how.channels else 0
    return bound(<Run> scaled, (x, scale, shift, mean, variance, y), &how, sizeof(how), 24 * how.channels)


# Local response

cdef struct Response:
    Responded row
    Py_ssize_t count, channels, plane, width, before, after
    double alpha, beta, bias

cdef struct Responding:
    const char* x
    char* y
    const Response* how


cdef int some_responses(const Responding* on, Py_ssize_t begin, Py_ssize_t end, void* scratch) noexcept nogil:
    cdef const Response* how = on.how
    cdef Py_ssize_t i, c, bytes = how.plane * how.width
    for i in range(begin, end):
        c = i % how.channels
        how.row(on.x + i * bytes, on.y + i * bytes, how.plane, -min(how.before, c), min(how.after, how.channels - 1 - c),
                how.plane, how.alpha, how.beta, how.bias)
    return OK


cdef int responded(void** at, const Response* how) noexcept nogil:
    cdef Responding on = Responding(<const char*> at[0], <char*> at[1], how)
    return share(team(at, 2), <Task> some_responses, &on, how.count, how.plane * (how.before + how.after + 5) // 8 + 10)


def response(x, Py_ssize_t size, double alpha, double beta, double bias, y):
    """x / (bias + alpha / size * the sum of the squares in `size` channels around it) ^ beta: a step.

    The result must not stand where the input stands.
    """
    cdef Response how
    cdef int code = floating(x, y)
    if size < 1 or x.ndim < 2:
        raise ValueError(f"a window of {size} channels in {x.shape}")
    how.row, how.channels, how.plane, how.width = loops.response[code], x.shape[1], product(x.shape[2:]), x.itemsize
    how.before, how.after = (size - 1) // 2, size // 2
    how.alpha, how.beta, how.bias = alpha / size, beta, bias
    how.count = x.shape[0] * how.channels if how.plane else 0
    return bound(<Run> responded, (x, y), &how, sizeof(how))


# Softmax

cdef struct Soft:
    Softened single, double_
    Py_ssize_t count, n, inner
    bint logarithm, wide

cdef struct Softening:
    const char* x
    char* y
    const Soft* how


cdef int some_lines(const Softening* on, Py_ssize_t begin, Py_ssize_t end, void* scratch) noexcept nogil:
    cdef const Soft* how = on.how
    cdef Py_ssize_t i, bytes = how.n * how.inner * (8 if how.wide else 4)
    for i in range(begin, end):
        (how.double_ if how.wide else how.single)(on.x + i * bytes, on.y + i * bytes, how.n, how.inner, how.logarithm)
    return OK


cdef int softened(void** at, const Soft* how) noexcept nogil:
    cdef Softening on = Softening(<const char*> at[0], <char*> at[1], how)
    return share(team(at, 2), <Task> some_lines, &on, how.count, how.n * how.inner * (15 if how.wide else 3) // 2 + 20)


def softmax(x, int first, int last, bint logarithm, y):
    """The softmax over the axes first..last taken as one, or its logarithm: a step."""
    cdef Soft how
    cdef int code = floating(x, y)
    if not 0 <= first <= last <= x.ndim:
        raise ValueError(f"axes {first} to {last} of {x.shape}")
    how.single, how.double_, how.logarithm, how.wide = loops.soft[0], loops.soft[1], logarithm, code == DOUBLE
    how.n, how.inner = product(x.shape[first:last]), product(x.shape[last:])
    how.count = product(x.shape[:first]) if how.n and how.inner else 0
    return step(floats(<Run> softened, <Run> softened), (x, y), &how, sizeof(how))
