"""Rows of features in, raw scores, labels and transformed scores out: what classifiers and regressors of all kinds share."""
from libc.stdint cimport int32_t, int64_t
from .step cimport DOUBLE, FLOAT, HALF, INT32, INT64, Element, code_of, half, narrow, real, widen

cdef extern from "hot/scores.h" nogil:
    ctypedef Py_ssize_t (*Finished)(const Verdict* v, double* s) noexcept nogil
    ctypedef void (*Together)(const Verdict* v, double* s, const double* shift, Py_ssize_t rows, Py_ssize_t lanes,
                             Py_ssize_t* best, float* e) noexcept nogil
    ctypedef void (*Joined)(const float* e, Py_ssize_t rows, Py_ssize_t lanes, Py_ssize_t n, float* y) noexcept nogil
    cdef enum:
        TRANSFORM_NONE, SOFTMAX, LOGISTIC
    ctypedef struct ScoresLoops:
        Finished finished
        Together together
        Joined joined
    const ScoresLoops* picked "PICKED(scores)"

cdef const ScoresLoops* loops = picked
cdef tuple TRANSFORM_NAMES = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


class Rule:
    """What becomes of the raw scores of a row.

    ``transform`` is the standard's name of a post-transform. ``second`` says what a lone score leaves for the other of two
    classes: "alone" nothing, "complement" 1 - score, "negated" -score. The largest score wins; with ``positive`` class 1 wins
    where that score is above ``limit``, else class 0.
    """

    def __init__(self, transform: str, scores: int, second: str = "alone", positive: int = -1, limit: float = 0.0):
        if transform not in TRANSFORM_NAMES:
            raise ValueError(f"post_transform is {transform}; it is one of {', '.join(TRANSFORM_NAMES)}")
        if scores < 1 or not -1 <= positive < scores:
            raise ValueError(f"{scores} scores, of which number {positive} decides")
        self.transform, self.scores, self.second = TRANSFORM_NAMES.index(transform), scores, second
        self.positive, self.limit = positive, limit

    @property
    def width(self) -> int:
        """How many scores a row of the output has."""
        return 2 if self.scores == 1 and self.second != "alone" else self.scores

    @property
    def classes(self) -> int:
        """How many classes may win."""
        return 2 if self.positive >= 0 else self.scores


cdef Outcome outcome_of(rule, Py_ssize_t rows, Py_ssize_t classes, labels, y, z) except *:
    """What to do with the scores of all rows; ``y`` and ``z`` stand behind the input in the step's arrays, where they are.

    ``classes`` may win.
    """
    cdef Outcome o
    cdef int64_t[::1] each
    o.verdict = Verdict(rule.transform, ("alone", "complement", "negated").index(rule.second), rule.scores, rule.positive,
                        rule.limit)
    o.rows, o.width, o.labels = rows, rule.width, NULL
    o.label_at, o.score_at = 1 if y is not None else 0, 1 + (y is not None) if z is not None else 0
    o.code = FLOAT
    if y is not None:
        each = labels
        if code_of(y) != INT64 or y.size != rows or not y.flags.writeable or each.shape[0] < classes:
            raise ValueError(f"{y.dtype}{y.shape} for {each.shape[0]} labels of {rows} rows")
        o.labels = &each[0]
    if z is not None:
        o.code = code_of(z)
        if z.size != rows * o.width or o.code not in (FLOAT, DOUBLE, HALF) or not z.flags.writeable:
            raise ValueError(f"{z.dtype}{z.shape} for {o.width} scores of {rows} rows")
    return o


cdef Py_ssize_t winner(const Verdict* v, const double* s) noexcept nogil:
    """The class that wins, by raw scores; the first of equal ones."""
    cdef Py_ssize_t i, best = 0
    if v.positive >= 0:
        return s[v.positive] > v.limit
    for i in range(1, v.scores):
        if s[i] > s[best]:
            best = i
    return best


cdef void settle(const Outcome* o, Py_ssize_t row, double* s, Py_ssize_t best, void** at) noexcept nogil:
    """Write a row's label and scores. ``s`` has room for two and is changed; ``best`` wins, or by the scores where it is -1."""
    if o.label_at:
        (<int64_t*> at[o.label_at])[row] = o.labels[best if best >= 0 else winner(&o.verdict, s)]
    if o.score_at:
        loops.finished(&o.verdict, s)
        write(s, o.width, at[o.score_at], row * o.width, o.code)


cdef bint side_by_side(const Outcome* o) noexcept nogil:
    """Whether rows of scores may be settled together: the largest wins, and none comes for a second class."""
    cdef const Verdict* v = &o.verdict
    return (v.positive < 0 and o.width == v.scores and v.transform in (TRANSFORM_NONE, SOFTMAX, LOGISTIC)
            and (o.score_at == 0 or o.code == FLOAT))


cdef void settle_rows(const Outcome* o, Py_ssize_t first, Py_ssize_t rows, double* s, const double* shift, Py_ssize_t lanes,
                      float* e, Py_ssize_t* best, void** at) noexcept nogil:
    """Write labels and scores of rows, as `settle` does: a multiple of four lanes each, shifted to -infinity behind the scores."""
    cdef Py_ssize_t r
    loops.together(&o.verdict, s, shift, rows, lanes, best, e)
    if o.label_at:
        for r in range(rows):
            (<int64_t*> at[o.label_at])[first + r] = o.labels[best[r]]
    if o.score_at:
        loops.joined(e, rows, lanes, o.width, <float*> at[o.score_at] + first * o.width)


cdef void write(const double* s, Py_ssize_t n, void* z, Py_ssize_t first, Element code) noexcept nogil:
    """Scores as elements of the output's type."""
    cdef Py_ssize_t i
    cdef float single
    if code == DOUBLE:
        for i in range(n):
            (<double*> z)[first + i] = s[i]
    elif code == FLOAT:
        for i in range(n):
            (<float*> z)[first + i] = <float> s[i]
    else:
        for i in range(n):
            single = <float> s[i]
            narrow[half](&single, <half*> z + first + i, 1)


cdef Element rows_of(x, Py_ssize_t* rows, Py_ssize_t* columns) except *:
    """How many rows of how many features an array has, one row where it has one axis; and what their type is."""
    cdef Element code = code_of(x)
    if code not in (FLOAT, DOUBLE, HALF, INT32, INT64):
        raise TypeError(f"no kernel for {x.dtype}")
    if x.ndim not in (1, 2):
        raise ValueError(f"rows of features have one axis or two, not the shape {x.shape}")
    rows[0], columns[0] = x.shape[0] if x.ndim == 2 else 1, x.shape[x.ndim - 1]
    return code


cdef void read(const void* x, Element code, Py_ssize_t begin, Py_ssize_t n, real* y) noexcept nogil:
    """Elements of any type that `rows_of` lets pass, as real numbers."""
    cdef Py_ssize_t i
    cdef float wide = 0
    if code == FLOAT:
        for i in range(n):
            y[i] = (<const float*> x)[begin + i]
    elif code == DOUBLE:
        for i in range(n):
            y[i] = <real> (<const double*> x)[begin + i]
    elif code == INT32:
        for i in range(n):
            y[i] = <real> (<const int32_t*> x)[begin + i]
    elif code == INT64:
        for i in range(n):
            y[i] = <real> (<const int64_t*> x)[begin + i]
    else:
        for i in range(n):
            widen[half](<const half*> x + begin + i, &wide, 1)
            y[i] = wide
