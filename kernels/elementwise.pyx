"""Elementwise arithmetic: one array, two that broadcast, or several folded into one."""
import numpy as np
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc
from .step cimport (BOOL, BRAIN, DOUBLE, ELEMENTS, FLOAT, HALF, INT32, INT64, OK, Element, Run, Step, bound, brain, code_of, half,
                    team, widen)
from .threads cimport Task, Team, share


cdef extern from "hot/elementwise.h" nogil:
    ctypedef struct ElementwiseLoops:
        Pair[21][13] pair
        Map[45][13] map
    const ElementwiseLoops* picked "PICKED(elementwise)"

cdef const ElementwiseLoops* loops = picked
BOOLEAN = np.dtype(bool)

PAIRS = ("add", "sub", "mul", "div", "max", "min", "pow", "prelu", "less", "less_equal", "greater", "greater_equal", "equal",
         "and", "or", "xor", "left", "right", "mod", "fmod", "swiglu")
MAPS = ("relu", "leaky_relu", "abs", "neg", "sqrt", "reciprocal", "floor", "ceil", "round", "sign", "exp", "log", "sigmoid",
        "tanh", "erf", "elu", "hard_sigmoid", "hard_swish", "clip", "not", "bitwise_not", "is_nan", "is_inf", "sin", "cos", "tan",
        "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "softplus", "softsign", "swish", "gelu", "gelu_tanh",
        "mish", "selu", "celu", "shrink", "thresholded_relu", "raise")
TRUTHS = frozenset(("less", "less_equal", "greater", "greater_equal", "equal", "is_nan", "is_inf"))
SLOW = frozenset(("pow", "exp", "log", "sigmoid", "tanh", "erf", "elu", "sin", "cos", "tan", "atan", "sinh", "cosh", "softplus",
                  "swish", "swiglu", "gelu", "gelu_tanh", "mish", "selu", "celu", "div", "mod"))
SLOWER = frozenset(("raise", "asin", "acos", "asinh", "acosh", "atanh", "fmod"))

cdef enum:
    AXES = 8  # that operands may have once neighbours are merged
    PIECE = 8192  # elements that one call of a row function takes

cdef Pair pair_of(str name, Element code) noexcept:
    """The rows of an operation on two operands; NULL where none are compiled for that type."""
    return loops.pair[<int> PAIRS.index(name)][<int> code] if code < ELEMENTS else NULL


cdef Map map_of(str name, Element code) noexcept:
    """The rows of an operation on one operand; NULL where none are compiled for that type."""
    return loops.map[<int> MAPS.index(name)][<int> code] if code < ELEMENTS else NULL


cdef int cost_of(str name, Element code) noexcept:
    """Tenths of a nanosecond an element, roughly."""
    return 150 if name in SLOWER else (100 if code == DOUBLE else 15) if name in SLOW else 3


# Two operands

cdef struct Pairs:
    Pair row
    int repeats, axes
    Py_ssize_t n, pieces, count, cost  # elements of a row, its pieces, pieces of all rows
    Py_ssize_t width, made  # bytes of an operand's element and of a result's
    double setting
    Py_ssize_t[AXES] size, a, b  # the axes around the rows, and the operands' steps along them in bytes

cdef struct Operands:
    const char* a
    const char* b
    char* y
    const Pairs* how


cdef int some_pairs(const Operands* on, Py_ssize_t begin, Py_ssize_t end, void* scratch) noexcept nogil:
    """Pieces of rows, one after the other."""
    cdef const Pairs* how = on.how
    cdef Py_ssize_t row = begin // how.pieces, piece = begin % how.pieces, rest = row, a = 0, b = 0, first, n
    cdef Py_ssize_t[AXES] index
    cdef int k, status
    for k in range(how.axes - 1, -1, -1):
        index[k] = rest % how.size[k]
        rest = rest // how.size[k]
        a += index[k] * how.a[k]
        b += index[k] * how.b[k]
    while begin < end:
        first = piece * PIECE
        n = min(how.n - first, <Py_ssize_t> PIECE)
        status = how.row(on.a + a + (0 if how.repeats == FIRST else first * how.width),
                         on.b + b + (0 if how.repeats == SECOND else first * how.width),
                         on.y + (row * how.n + first) * how.made, n, how.repeats, how.setting)
        if status:
            return status
        begin += 1
        piece += 1
        if piece == how.pieces:
            piece, row, k = 0, row + 1, how.axes - 1
            while k >= 0:
                index[k] += 1
                a += how.a[k]
                b += how.b[k]
                if index[k] < how.size[k]:
                    break
                a -= how.a[k] * how.size[k]
                b -= how.b[k] * how.size[k]
                index[k] = 0
                k -= 1
    return OK


cdef int all_pairs(void** at, const Pairs* how) noexcept nogil:
    if how.count == 1:
        return how.row(at[0], at[1], at[2], how.n, how.repeats, how.setting)
    cdef Operands on = Operands(<const char*> at[0], <const char*> at[1], <char*> at[2], how)
    return share(team(at, 3), <Task> some_pairs, &on, how.count, how.cost)


cdef bint settle(Pairs* how, str name, Element code, a, b, y) except -1:
    """Fill in how two operands broadcast to a result; False where no loop is compiled for that."""
    cdef Py_ssize_t[AXES + 1] size, sa, sb
    cdef Py_ssize_t n, na, nb, step_a = 1, step_b = 1, along_a, along_b
    cdef int k, axes = 0, rank, rank_a, rank_b
    cdef bint fits
    cdef tuple sizes_a, sizes_b, sizes_y
    how.row = pair_of(name, code)
    how.setting = 0
    if how.row == NULL:
        return False
    sizes_a, sizes_b, sizes_y = a.shape, b.shape, y.shape
    rank, rank_a, rank_b = len(sizes_y), len(sizes_a), len(sizes_b)
    fits = rank == max(rank_a, rank_b)
    for k in range(rank if fits else 0):  # from the last axis on, merging each with the one before it where steps allow
        n = sizes_y[rank - 1 - k]
        na = sizes_a[rank_a - 1 - k] if k < rank_a else 1
        nb = sizes_b[rank_b - 1 - k] if k < rank_b else 1
        if n != (nb if na == 1 else na) or (nb != n and nb != 1):
            fits = False
            break
        if n == 1:
            continue
        along_a = 0 if na == 1 else step_a
        along_b = 0 if nb == 1 else step_b
        step_a *= na
        step_b *= nb
        if axes and along_a == sa[axes - 1] * size[axes - 1] and along_b == sb[axes - 1] * size[axes - 1]:
            size[axes - 1] *= n
        elif axes == AXES + 1:
            return False
        else:
            size[axes], sa[axes], sb[axes] = n, along_a, along_b
            axes += 1
    if not fits:
        raise ValueError(f"{a.shape} and {b.shape} do not broadcast to {y.shape}")
    if not axes:
        size[0], sa[0], sb[0], axes = 1, 1, 1, 1
    how.n, how.repeats = size[0], NEITHER if sa[0] and sb[0] else SECOND if sa[0] else FIRST
    how.width, how.made, how.axes = a.itemsize, y.itemsize, axes - 1
    how.pieces = max((how.n + PIECE - 1) // PIECE, 1)
    how.count = how.pieces if how.n else 0
    for k in range(axes - 1):  # the slowest first
        how.size[k], how.a[k], how.b[k] = size[axes - 1 - k], sa[axes - 1 - k] * how.width, sb[axes - 1 - k] * how.width
        how.count *= how.size[k]
    how.cost = min(how.n, <Py_ssize_t> PIECE) * cost_of(name, code) // 10 + 4
    return True


def binary(str name, a, b, y, double setting=0):
    """An operation of `PAIRS` on two arrays of one type that broadcast to `y`: a step, None where no loop is compiled for it."""
    cdef Pairs how
    cdef Element code = code_of(a)
    if a.dtype != b.dtype or y.dtype != (BOOLEAN if name in TRUTHS else a.dtype):
        raise TypeError(f"{name} of {a.dtype} and {b.dtype} is no {y.dtype}")
    if not settle(&how, name, code, a, b, y):
        return None
    how.setting = setting
    return written(<Run> all_pairs, (a, b, y), &how, sizeof(how))


cdef Step written(Run run, tuple arrays, const void* how, size_t size):
    """A step whose last array is written."""
    if not arrays[len(arrays) - 1].flags.writeable:
        raise ValueError("the result's buffer is read-only")
    return bound(run, arrays, how, size)


# Several operands

cdef int folded(void** at, const Pairs* how) noexcept nogil:
    """The first two, then the result with each of the others."""
    cdef Py_ssize_t i, last = how[0].axes  # the first one only counts the operands
    cdef Operands on
    cdef int status = OK
    for i in range(1, last):
        on = Operands(<const char*> at[last if i > 1 else 0], <const char*> at[i], <char*> at[last], how + i)
        status = share(team(at, last + 1), <Task> some_pairs, &on, how[i].count, how[i].cost)
        if status:
            break
    return status


def fold(str name, operands, y):
    """An operation of `PAIRS` folded over two or more arrays of one type: a step, None where no loop is compiled for it.

    The result may stand where no operand stands.
    """
    cdef Py_ssize_t i, count = len(operands)
    cdef Element code = code_of(y)
    cdef Pairs* how = <Pairs*> malloc(count * sizeof(Pairs))
    if how == NULL:
        raise MemoryError
    try:
        if any(a.dtype != y.dtype for a in operands):
            raise TypeError(f"{name} of {', '.join([str(a.dtype) for a in operands])} is no {y.dtype}")
        how[0].axes = count
        for i in range(1, count):
            if not settle(how + i, name, code, y if i > 1 else operands[0], operands[i], y):
                return None
        return written(<Run> folded, (*operands, y), how, count * sizeof(Pairs))
    finally:
        free(how)


# One operand

cdef struct Maps:
    Map row
    Py_ssize_t n, width, made, cost
    double[2] settings
    Element code

cdef struct Operand:
    const char* x
    char* y
    const Maps* how
    double[2] settings


cdef int some_maps(const Operand* on, Py_ssize_t begin, Py_ssize_t end, void* scratch) noexcept nogil:
    cdef Py_ssize_t first = begin * PIECE, last = min(end * PIECE, on.how.n)
    return on.how.row(on.x + first * on.how.width, on.y + first * on.how.made, last - first, on.settings)


cdef int all_maps(void** at, const Maps* how) noexcept nogil:
    cdef Operand on
    on.x, on.y, on.how, on.settings = <const char*> at[0], <char*> at[1], how, how.settings
    return share(team(at, 2), <Task> some_maps, &on, (how.n + PIECE - 1) // PIECE, how.cost)


cdef bint mapped(Maps* how, str name, x, y, double alpha, double beta) except -1:
    """Fill in a map's settings; False where no loop is compiled for its type."""
    if x.shape != y.shape or y.dtype != (BOOLEAN if name in TRUTHS else x.dtype):
        raise ValueError(f"{name} of {x.dtype}{x.shape} is no {y.dtype}{y.shape}")
    how.code = code_of(x)
    how.row = map_of(name, how.code)
    how.n, how.width, how.made, how.settings = x.size, x.itemsize, y.itemsize, [alpha, beta]
    how.cost = min(how.n, <Py_ssize_t> PIECE) * cost_of(name, how.code) // 10
    return how.row != NULL


def unary(str name, x, y, double alpha=0, double beta=0):
    """An operation of `MAPS` on every element: a step, None where no loop is compiled for its type."""
    cdef Maps how
    return written(<Run> all_maps, (x, y), &how, sizeof(how)) if mapped(&how, name, x, y, alpha, beta) else None


cdef struct Limits:
    Maps maps
    int low, high  # where among the arrays they stand, 0 for absent ones
    int last


cdef double number(const void* x, Element code) noexcept nogil:
    """The one element of an array."""
    cdef float wide = 0
    if code == DOUBLE:
        return (<const double*> x)[0]
    if code == HALF:
        widen[half](<const half*> x, &wide, 1)
        return wide
    if code == BRAIN:
        widen[brain](<const brain*> x, &wide, 1)
        return wide
    if code == INT64:
        return <double> (<const int64_t*> x)[0]
    if code == INT32:
        return (<const int32_t*> x)[0]
    return (<const float*> x)[0]


cdef struct Power:
    Maps maps
    Element exponent


cdef int to_a_power(void** at, const Power* how) noexcept nogil:
    cdef Operand on
    on.x, on.y, on.how = <const char*> at[0], <char*> at[2], &how.maps
    on.settings[0], on.settings[1] = number(at[1], how.exponent), 0
    return share(team(at, 3), <Task> some_maps, &on, (how.maps.n + PIECE - 1) // PIECE, how.maps.cost)


def power(x, exponent, y):
    """Every element to the power of an array of one element, of a floating type or of 32 or 64 bits: a step, or None."""
    cdef Power how
    how.exponent = code_of(exponent)
    if exponent.size != 1 or how.exponent not in (FLOAT, DOUBLE, HALF, BRAIN, INT32, INT64) or x.shape != y.shape:
        return None
    return written(<Run> to_a_power, (x, exponent, y), &how, sizeof(how)) if mapped(&how.maps, "raise", x, y, 0, 0) else None


cdef int within_limits(void** at, const Limits* how) noexcept nogil:
    cdef Operand on
    on.x, on.y, on.how = <const char*> at[0], <char*> at[how.last], &how.maps
    on.settings[0] = number(at[how.low], how.maps.code) if how.low else -INFINITY
    on.settings[1] = number(at[how.high], how.maps.code) if how.high else INFINITY
    return share(team(at, how.last + 1), <Task> some_maps, &on, (how.maps.n + PIECE - 1) // PIECE, how.maps.cost)


cdef struct Bounds:
    Pair larger, smaller
    Py_ssize_t n, width
    int low, high, last


cdef struct Between:
    const char* x
    const void* low
    const void* high
    char* y
    const Bounds* how


cdef int some_between(const Between* on, Py_ssize_t begin, Py_ssize_t end, void* scratch) noexcept nogil:
    """Pieces of whole numbers: what is larger than the lower limit, of that what is smaller than the upper one."""
    cdef Py_ssize_t first = begin * PIECE, n = min(end * PIECE, on.how.n) - first
    cdef char* y = on.y + first * on.how.width
    cdef const char* x = on.x + first * on.how.width
    if on.how.low:
        on.how.larger(x, on.low, y, n, SECOND, 0)
        x = y
    if on.how.high:
        on.how.smaller(x, on.high, y, n, SECOND, 0)
    return OK


cdef int within_bounds(void** at, const Bounds* how) noexcept nogil:
    cdef Between on = Between(<const char*> at[0], at[how.low], at[how.high], <char*> at[how.last], how)
    return share(team(at, how.last + 1), <Task> some_between, &on, (how.n + PIECE - 1) // PIECE,
                 min(how.n, <Py_ssize_t> PIECE) // 2)


def clip(x, low, high, y):
    """Every element between two limits, arrays of one element or None: a step, None where no loop is compiled for its type."""
    cdef Limits how
    cdef Bounds bounds
    cdef Element code = code_of(x)
    limits = tuple(a for a in (low, high) if a is not None)
    if any(a.size != 1 or a.dtype != x.dtype for a in limits):
        raise ValueError(f"a limit of {x.dtype} is one {x.dtype}, not {', '.join([f'{a.dtype}{a.shape}' for a in limits])}")
    if mapped(&how.maps, "clip", x, y, 0, 0):
        how.low = low is not None
        how.high = (1 + how.low) if high is not None else 0
        how.last = 1 + len(limits)
        return written(<Run> within_limits, (x, *limits, y), &how, sizeof(how))
    if code == ELEMENTS or code == BOOL or not limits:
        return None
    bounds.larger = loops.pair[<int> PAIRS.index("max")][<int> code]
    bounds.smaller = loops.pair[<int> PAIRS.index("min")][<int> code]
    bounds.n, bounds.width, bounds.last = x.size, x.itemsize, 1 + len(limits)
    bounds.low = low is not None
    bounds.high = (1 + bounds.low) if high is not None else 0
    return written(<Run> within_bounds, (x, *limits, y), &bounds, sizeof(bounds))
