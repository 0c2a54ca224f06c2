"""Linear models and support vector machines: rows against vectors, then from margins to scores, votes and probabilities."""
from libc.string cimport memset
import numpy as np
from .scores cimport Outcome, outcome_of, read, rows_of, settle, settle_rows, side_by_side
from .step cimport FLOAT, OK, Element, Run, bound, team
from .threads cimport Task, Team, share

cdef extern from "hot/margins.h" nogil:
    cdef enum:
        BEND_RBF, TOGETHER
    ctypedef void (*Produced)(const double* x, Py_ssize_t rows, const double* vectors, Py_ssize_t lanes, Py_ssize_t features,
                              int distance, double* k) noexcept nogil
    ctypedef void (*Bent)(double* k, Py_ssize_t n, int bend, double gamma, double coef0, double degree) noexcept nogil
    ctypedef double (*Dotted)(const double* a, const double* b, Py_ssize_t n) noexcept nogil
    ctypedef void (*Widened)(const float* x, Py_ssize_t n, double* y) noexcept nogil
    ctypedef struct MarginsLoops:
        Produced produced
        Bent bent
        Dotted dotted
        Widened widened
    const MarginsLoops* picked "PICKED(margins)"

cdef extern from "hot/exponential_wide.h" nogil:
    double logistic(double x) noexcept nogil

cdef const MarginsLoops* loops = picked
cdef enum:
    GROUP = 16  # rows of a linear model whose scores are settled together
cdef tuple KERNELS = ("LINEAR", "POLY", "RBF", "SIGMOID")

cdef struct Model:
    const double* vectors    # n of them, four side by side, and some of zeros up to `lanes`
    const double* shift      # added to the scores, or to the margins of pairs
    const double* coefficients  # one row of n for each class but one; NULL where the vectors are the classes' own
    const Py_ssize_t* ends   # of the vectors of each class
    const double* prob_a     # from margins to probabilities; NULL where there are none
    const double* prob_b
    Py_ssize_t n, lanes, features, classes
    int bend, one_class
    double gamma, coef0, degree


cdef class Machine:
    """Vectors and what is made of their products with a row.

    Without ``coefficients`` each vector is a class or a target, whose score is the product and its ``shift``. With them,
    ``ends`` says where the vectors of each class end: of one class they are summed to one score; of several, each pair of
    classes has a margin, from which votes and, with ``probabilities`` (a, b), probabilities follow as in LIBSVM.
    """

    cdef Model model
    cdef const double* padded
    cdef tuple keep

    def __init__(self, const double[:, :] vectors, const double[::1] shift, const double[:, ::1] coefficients=None, ends=None,
                 str kernel="LINEAR", parameters=(0.0, 0.0, 0.0), probabilities=None, bint one_class=False):
        cdef Model* m = &self.model
        cdef const double[:, :, ::1] four
        cdef const double[::1] a, b
        cdef const Py_ssize_t[::1] last
        if kernel not in KERNELS:
            raise ValueError(f"kernel_type is {kernel}; it is one of {', '.join(KERNELS)}")
        m.n, m.features, m.bend, m.one_class = vectors.shape[0], vectors.shape[1], KERNELS.index(kernel), one_class
        m.gamma, m.coef0, m.degree = parameters
        m.lanes = (m.n + TOGETHER - 1) // TOGETHER * TOGETHER
        padded = np.zeros((m.lanes, m.features))
        padded[:m.n] = vectors
        packed = np.ascontiguousarray(padded.reshape(-1, TOGETHER, m.features).swapaxes(1, 2))
        four = packed
        m.vectors, m.shift = &four[0, 0, 0], &shift[0]
        m.classes = m.n
        if coefficients is not None:
            last = ends
            m.classes = last.shape[0]
            if not (m.classes > 0 and m.n > 0 and coefficients.shape[1] == m.n and last[m.classes - 1] == m.n
                    and coefficients.shape[0] == max(m.classes - 1, 1) and (np.diff(ends, prepend=0) >= 0).all()):
                raise ValueError(f"{m.n} vectors with {coefficients.shape[0]} x {coefficients.shape[1]} coefficients, "
                                 f"of {m.classes} classes that end at {list(ends)}")
            m.coefficients, m.ends = &coefficients[0, 0], &last[0]
        if shift.shape[0] < self.margins:
            raise ValueError(f"{shift.shape[0]} intercepts for {self.margins} scores")
        if probabilities is not None:
            a, b = probabilities
            if not (a.shape[0] >= self.margins and b.shape[0] >= self.margins and m.classes > 1 and coefficients is not None):
                raise ValueError(f"{a.shape[0]} and {b.shape[0]} coefficients of probabilities for {self.margins} margins")
            m.prob_a, m.prob_b = &a[0], &b[0]
        shifts = np.full(m.lanes, -np.inf)
        if coefficients is None:
            shifts[:m.n] = shift[:m.n]
        a = shifts
        self.padded = &a[0]
        self.keep = (shifts, packed, shift, coefficients, ends, probabilities)

    @property
    def margins(self) -> int:
        """How many sums a row has before they become scores."""
        cdef Py_ssize_t pairs = self.model.classes * (self.model.classes - 1) // 2
        return max(pairs, 1) if self.model.coefficients != NULL else self.model.n

    @property
    def scores(self) -> int:
        """How many raw scores a row has."""
        return self.model.classes if self.model.prob_a != NULL else self.margins


cdef struct How:
    Model model
    Outcome outcome
    Element code
    Py_ssize_t room  # doubles for one row beside its features and products
    bint together  # whether rows are settled together
    const double* shift  # for all lanes, then

cdef struct Call:
    const How* how
    void** at


cdef Py_ssize_t vote(const double* margins, Py_ssize_t classes, double* votes) noexcept nogil:
    """The class that wins most pairs, the first of equal ones."""
    cdef Py_ssize_t i, j, at = 0, best = 0
    memset(votes, 0, classes * sizeof(double))
    for i in range(classes):
        for j in range(i + 1, classes):
            votes[i if margins[at] > 0 else j] += 1
            at += 1
    for i in range(classes):
        if votes[i] > votes[best]:
            best = i
    return best


cdef void probable(const Model* m, const double* margins, double* p, double* room) noexcept nogil:
    """Probabilities of the classes from those of pairs, by the second method of Wu, Lin and Weng (2004), as LIBSVM has it."""
    cdef Py_ssize_t k = m.classes, i, j, at = 0, turn
    cdef double* q = room
    cdef double* qp = room + k * k
    cdef double r, gap, worst, whole
    memset(q, 0, k * k * sizeof(double))
    for i in range(k):
        p[i] = 1.0 / k
        for j in range(i + 1, k):
            r = min(max(1 - logistic(margins[at] * m.prob_a[at] + m.prob_b[at]), 1e-7), 1 - 1e-7)
            q[i * k + i] += (1 - r) * (1 - r)
            q[j * k + j] += r * r
            q[i * k + j] = q[j * k + i] = -r * (1 - r)
            at += 1
    for turn in range(max(100, k)):
        whole = worst = 0
        for i in range(k):
            qp[i] = 0
            for j in range(k):
                qp[i] += q[i * k + j] * p[j]
            whole += p[i] * qp[i]
        for i in range(k):
            worst = max(worst, qp[i] - whole, whole - qp[i])
        if worst < 0.005 / k:
            break
        for i in range(k):
            gap = (whole - qp[i]) / q[i * k + i]
            p[i] += gap
            whole = (whole + gap * (gap * q[i * k + i] + 2 * qp[i])) / (1 + gap) / (1 + gap)
            for j in range(k):
                qp[j] = (qp[j] + gap * q[i * k + j]) / (1 + gap)
                p[j] /= 1 + gap


cdef void pairwise(const Model* m, const double* k, double* margins, double* sums) noexcept nogil:
    """The margin of each pair of classes: what the vectors of each say with the coefficients that they have for the other."""
    cdef Py_ssize_t i, j, start = 0, at = 0, rows = m.classes - 1
    for i in range(m.classes):
        for j in range(rows):
            sums[i * rows + j] = loops.dotted(k + start, m.coefficients + j * m.n + start, m.ends[i] - start)
        start = m.ends[i]
    for i in range(m.classes):
        for j in range(i + 1, m.classes):
            margins[at] = m.shift[at] + sums[i * rows + j - 1] + sums[j * rows + i]
            at += 1


cdef void scored(const Call* call, Py_ssize_t row, const double* k, double* room) noexcept nogil:
    """From a row's products to its label and scores. The room is for margins, or scores, then for sums or probabilities."""
    cdef const How* how = call.how
    cdef const Model* m = &how.model
    cdef Py_ssize_t i, best = -1
    cdef double* margins = room
    cdef double* rest = room + max(m.classes * (m.classes - 1) // 2, m.classes) + 2
    if m.coefficients == NULL:
        for i in range(m.n):
            margins[i] = k[i] + m.shift[i]
    elif m.classes == 1:
        margins[0] = loops.dotted(k, m.coefficients, m.n) + m.shift[0]
    else:
        pairwise(m, k, margins, rest)
        best = vote(margins, m.classes, rest)
        if m.prob_a != NULL:
            probable(m, margins, rest, rest + m.classes + 2)
            margins = rest
    if m.one_class:
        margins[0] = 1 if margins[0] > 0 else -1
    settle(&how.outcome, row, margins, best, call.at)


cdef int some_rows(const Call* call, Py_ssize_t begin, Py_ssize_t end, double* scratch) noexcept nogil:
    cdef const How* how = call.how
    cdef const Model* m = &how.model
    cdef double* x = scratch
    cdef double* k = scratch + TOGETHER * m.features
    cdef double* room = k + TOGETHER * m.lanes
    cdef Py_ssize_t group, row, r, rows
    for group in range(begin, end):
        row = group * TOGETHER
        rows = min(<Py_ssize_t> TOGETHER, how.outcome.rows - row)
        for r in range(rows):
            read[double](call.at[0], how.code, (row + r) * m.features, m.features, x + r * m.features)
        loops.produced(x, rows, m.vectors, m.lanes, m.features, m.bend == BEND_RBF, k)
        loops.bent(k, rows * m.lanes, m.bend, m.gamma, m.coef0, m.degree)
        for r in range(rows):
            scored(call, row + r, k + r * m.lanes, room)
    return OK


cdef int some_linear(const Call* call, Py_ssize_t begin, Py_ssize_t end, double* x) noexcept nogil:
    """Groups of rows whose scores are their products with vectors, settled together."""
    cdef const How* how = call.how
    cdef const Model* m = &how.model
    cdef double* k = x + GROUP * m.features
    cdef float* e = <float*> (k + GROUP * m.lanes)
    cdef Py_ssize_t* best = <Py_ssize_t*> (e + GROUP * m.lanes)
    cdef Py_ssize_t group, row, r, rows
    for group in range(begin, end):
        row = group * GROUP
        rows = min(<Py_ssize_t> GROUP, how.outcome.rows - row)
        if how.code == FLOAT:
            loops.widened(<const float*> call.at[0] + row * m.features, rows * m.features, x)
        else:
            read[double](call.at[0], how.code, row * m.features, rows * m.features, x)
        r = 0
        while r < rows:
            loops.produced(x + r * m.features, min(<Py_ssize_t> TOGETHER, rows - r), m.vectors, m.lanes, m.features, False,
                           k + r * m.lanes)
            r += TOGETHER
        settle_rows(&how.outcome, row, rows, k, how.shift, m.lanes, e, best, call.at)
    return OK


cdef int all_rows(void** at, const How* how) noexcept nogil:
    cdef const Team* crew = team(at, 1 + (how.outcome.label_at != 0) + (how.outcome.score_at != 0))
    cdef Call call = Call(how, at)
    cdef Py_ssize_t each = how.model.n * (how.model.features // 4 + 4) + 100
    if how.together:
        return share(crew, <Task> some_linear, &call, (how.outcome.rows + GROUP - 1) // GROUP, each * 4)
    return share(crew, <Task> some_rows, &call, (how.outcome.rows + TOGETHER - 1) // TOGETHER, each * 2)


def scores(x, machine: Machine, rule, labels, y, z):
    """What a machine says of every row: its label into ``y``, its scores into ``z``, where they are not None: a step."""
    cdef How how
    cdef Machine m = machine
    cdef Py_ssize_t rows = 0, columns = 0, c = m.model.classes
    how.code = rows_of(x, &rows, &columns)
    how.model = m.model
    if columns != m.model.features:
        raise ValueError(f"rows of {columns} features where the model has {m.model.features}")
    if rule.scores != m.scores:
        raise ValueError(f"a rule for {rule.scores} scores where there are {m.scores}")
    how.outcome = outcome_of(rule, rows, c if m.model.coefficients != NULL and c > 1 else rule.classes, labels, y, z)
    how.together = m.model.coefficients == NULL and not m.model.one_class and side_by_side(&how.outcome)
    how.shift = m.padded
    room = max(c * (c - 1) // 2, c) + 2 + 2 * c * c + 3 * c + 8 if m.model.coefficients != NULL else c + 8
    size = (GROUP if how.together else TOGETHER) * (m.model.features + 2 * m.model.lanes) + room + GROUP
    arrays = tuple([a for a in (x, y, z) if a is not None])
    return bound(<Run> all_rows, arrays, &how, sizeof(how), 8 * size, (machine, labels))
