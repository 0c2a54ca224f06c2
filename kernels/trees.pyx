"""Ensembles of decision trees: packed once into nodes of one kind, walked eight rows or eight trees at a time."""
from libc.math cimport NAN
from libc.stdint cimport INT32_MAX, INT32_MIN, int32_t
import numpy as np
from .scores cimport Outcome, outcome_of, read, rows_of, settle
from .step cimport DOUBLE, FLOAT, HALF, OK, Element, Run, bound, team
from .threads cimport Task, Team, share

cdef extern from "hot/trees.h" nogil:
    cdef enum:
        FOLD_SUM, FOLD_MIN, FOLD_MAX, MOST_LEVELS, ALIKE
    ctypedef struct Node32:
        float limit
        int32_t feature, below, step
    ctypedef struct Node64:
        double limit
        int32_t feature, below, step, nothing
    ctypedef struct Trees:
        const void* nodes
        const int32_t* roots
        const int32_t* depths
        const int32_t* starts
        const int32_t* targets
        const double* weights
        const double* lone
        Py_ssize_t count, features, scores
        int fold
        const int32_t* levels
        const int32_t* tops
        const int32_t* nan_below
        const void* limits
        const int32_t* columns
        const int32_t* exits
        const float* votes
    ctypedef void (*Voted)(const Trees* trees, const void* x, Py_ssize_t rows, Py_ssize_t first, Py_ssize_t last,
                           double* scores, void* room) noexcept nogil
    ctypedef struct TreesLoops:
        Voted* voted
    const TreesLoops* picked "PICKED(trees)"

cdef const TreesLoops* loops = picked
cdef enum:
    BLOCK = 64   # rows, and more where the trees are large, that walk through a tree before the next tree
    LANES = 8    # rows that walk together
    LARGE = 1 << 17  # bytes of nodes that do not stay in the nearest cache
    WIDE = 1 << 17   # bytes of features of a block
    MOST_ROWS = 1024
    TOP = 5      # levels of which a deep tree is known by number, not by walking
    GROVE = 128  # trees that one thread takes at a time where there are few rows


cdef class Forest:
    """Trees of one floating type. Every node sends a row to ``below`` if its feature is at most ``limit``, else to ``above``;
    NaN goes below where ``nan_below`` says so. A node that goes to itself is a leaf.

    Node i has the votes ``starts[i]`` to ``starts[i + 1]``: for one of ``scores`` targets, with a weight. They are folded
    ("SUM", "AVERAGE", "MIN", "MAX"), and ``base`` is added. Indices, and that no walk is endless, are checked here.
    """

    cdef Trees trees
    cdef double divisor
    cdef readonly bint wide
    cdef readonly Py_ssize_t longest, bytes
    cdef const double* base
    cdef tuple keep

    def __init__(self, limit, const int32_t[::1] feature, const unsigned char[::1] nan_below, const int32_t[::1] below,
                 const int32_t[::1] above, const int32_t[::1] roots, const int32_t[::1] starts, const int32_t[::1] targets,
                 const double[::1] weights, const double[::1] base, str fold):
        cdef Py_ssize_t i, n = len(limit), votes = targets.shape[0]
        if not (0 < n < INT32_MAX and n == feature.shape[0] == nan_below.shape[0] == below.shape[0] == above.shape[0]
                and starts.shape[0] == n + 1 and votes == weights.shape[0] < INT32_MAX and base.shape[0] > 0):
            raise ValueError("the fields of nodes, or of votes, differ in length")
        self.trees.features = 0
        for i in range(n):
            if not (0 <= below[i] < n and 0 <= above[i] < n and feature[i] >= 0 and 0 <= starts[i] <= starts[i + 1] <= votes):
                raise ValueError(f"node {i} has a child, a feature or votes that there are not")
            if below[i] != i or above[i] != i:
                self.trees.features = max(self.trees.features, feature[i] + 1)
        for i in range(votes):
            if not 0 <= targets[i] < base.shape[0]:
                raise ValueError(f"a vote is for number {targets[i]} of {base.shape[0]}")
        depths = heights(below, above, roots)
        self.wide, self.longest = limit.dtype == np.float64, max(depths, default=0)
        nodes = packed_nodes(limit, np.asarray(feature), np.asarray(nan_below), np.asarray(below), np.asarray(above))
        self.bytes = nodes.nbytes
        self._point(nodes, roots, depths, starts, targets, weights, base, fold)
        self._crown(limit, np.asarray(feature), np.asarray(nan_below), below, above)

    cdef _point(self, nodes, const int32_t[::1] roots, const int32_t[::1] depths, const int32_t[::1] starts,
                const int32_t[::1] targets, const double[::1] weights, const double[::1] base, str fold):
        cdef const unsigned char[::1] raw = nodes.view(np.uint8)
        cdef const double[::1] lone
        cdef Trees* t = &self.trees
        alone = np.array([-1.0])
        leaves = (nodes["below"] == np.arange(len(nodes))) & (nodes["step"] == 0)
        if base.shape[0] == 1 and (np.diff(np.asarray(starts))[leaves] == 1).all() and fold in ("SUM", "AVERAGE"):
            alone = np.zeros(len(nodes))
            alone[leaves] = np.asarray(weights)[np.asarray(starts)[:len(nodes)][leaves]]
            lone = alone
            t.lone = &lone[0]
        else:
            t.lone = NULL
        t.nodes, t.count, t.scores = &raw[0], roots.shape[0], base.shape[0]
        t.fold = {"SUM": FOLD_SUM, "AVERAGE": FOLD_SUM, "MIN": FOLD_MIN, "MAX": FOLD_MAX}[fold]
        if t.count:
            t.roots, t.depths = &roots[0], &depths[0]
        t.starts = &starts[0]
        if targets.shape[0]:
            t.targets, t.weights = &targets[0], &weights[0]
        self.base, self.divisor = &base[0], roots.shape[0] if fold == "AVERAGE" and t.count else 1
        self.keep = (nodes, roots, depths, starts, targets, weights, base, alone)


    cdef _crown(self, limit, feature, nan_below, const int32_t[::1] below, const int32_t[::1] above):
        """The first levels of every tree as tables, where NaN goes the same way at all of its nodes."""
        cdef Trees* t = &self.trees
        cdef Py_ssize_t i, n = t.count
        cdef int32_t[::1] levels = np.zeros(n + 1, np.int32), tops = np.zeros(n + 1, np.int32), nans = np.zeros(n + 1, np.int32)
        cdef int32_t[::1] source, exits, columns
        cdef const unsigned char[::1] raw, nan = np.where(np.isnan(limit), np.uint8(2), nan_below)  # nothing is at most NaN
        cdef const double[::1] lone
        cdef const float[::1] votes
        size = 0
        for i in range(n):
            tops[i], levels[i] = size, t.depths[i] if t.depths[i] <= MOST_LEVELS else TOP
            size += max(1 << levels[i], LANES)
            if size > INT32_MAX // 64:
                return
        source, exits = np.full(size, -1, np.int32), np.zeros(size, np.int32)
        for i in range(n):
            nans[i] = nan[t.roots[i]] & 1
            if not crowned(below, above, nan, nans[i], t.roots[i], 0, levels[i], &source[tops[i]], &exits[tops[i]]):
                levels[i] = 0
        inner = np.asarray(source)
        asked = np.where(inner < 0, 0, feature[inner]).astype(np.int64) * (ALIKE // limit.itemsize)
        if not size or asked.max() > INT32_MAX:
            return
        columns = asked.astype(np.int32)
        limits = np.where(inner < 0, limit.dtype.type(np.inf), limit[inner])
        raw = limits.view(np.uint8)
        t.levels, t.tops, t.nan_below, t.columns, t.exits, t.limits = &levels[0], &tops[0], &nans[0], &columns[0], &exits[0], &raw[0]
        self.keep += (levels, tops, nans, columns, exits, limits)
        if t.lone != NULL and t.fold == FOLD_SUM:
            exact = self.keep[7][np.asarray(exits)]
            votes = exact.astype(np.float32)
            if (np.asarray(votes) == exact).all():
                t.votes = &votes[0]
                self.keep += (votes,)


cdef bint crowned(const int32_t[::1] below, const int32_t[::1] above, const unsigned char[::1] nan, int32_t nan_below, int32_t at,
                  Py_ssize_t place, int32_t levels, int32_t* source, int32_t* exits) noexcept:
    """Fill in the levels under a node; whether NaN goes the same way everywhere. A leaf stands at all places under it."""
    cdef bint leaf = below[at] == at and above[at] == at
    if place >= (1 << levels) - 1:
        exits[place - (1 << levels) + 1] = at
        return True
    if not leaf:
        source[place] = at
        if nan[at] != nan_below:
            return False
    return (crowned(below, above, nan, nan_below, at if leaf else below[at], 2 * place + 1, levels, source, exits)
            and crowned(below, above, nan, nan_below, at if leaf else above[at], 2 * place + 2, levels, source, exits))


cdef packed_nodes(limit, feature, nan_below, below, above):
    """Nodes as the loops read them."""
    kind = [("limit", limit.dtype), ("feature", "i4"), ("below", "i4"), ("step", "i4")]
    if limit.dtype == np.float64:
        kind.append(("nothing", "i4"))
    nodes = np.zeros(len(limit), np.dtype(kind))
    if nodes.itemsize != (sizeof(Node64) if limit.dtype == np.float64 else sizeof(Node32)):
        raise TypeError(f"no trees of {limit.dtype}")
    nodes["limit"], nodes["below"], nodes["step"] = limit, below, above - below
    nodes["feature"] = np.where((below == np.arange(len(below))) & (above == below), 0, feature)
    nodes["feature"] |= np.where(nan_below, np.int32(INT32_MIN), np.int32(0))
    return nodes


cdef heights(const int32_t[::1] below, const int32_t[::1] above, const int32_t[::1] roots):
    """How many steps it is from each root to its farthest leaf; ValueError where a node leads back to itself."""
    cdef Py_ssize_t n = below.shape[0], i, top
    cdef int32_t at, child, side
    cdef int32_t[::1] height = np.full(n, -1, np.int32)
    cdef int32_t[::1] stack = np.empty(2 * n + 2, np.int32)
    cdef unsigned char[::1] opened = np.zeros(n, np.uint8)
    for i in range(roots.shape[0]):
        if not 0 <= roots[i] < n:
            raise ValueError(f"the root of tree {i} is node {roots[i]} of {n}")
        top, stack[0] = 1, roots[i]
        while top:
            at = stack[top - 1]
            if height[at] >= 0 or below[at] == at and above[at] == at:
                height[at] = max(height[at], 0)
                top -= 1
            elif opened[at]:
                height[at] = 1 + max(height[below[at]], height[above[at]])
                top -= 1
            else:
                opened[at] = 1
                for side in range(2):
                    child = above[at] if side else below[at]
                    if height[child] < 0:
                        if opened[child]:
                            raise ValueError(f"node {child} of the trees leads back to itself")
                        stack[top] = child
                        top += 1
    return np.asarray(height)[np.asarray(roots)]


cdef struct How:
    Trees trees
    Voted voted
    Outcome outcome
    Element code          # of the features
    bint shallow  # whether the first levels of trees are all
    bint wide, as_they_are  # whether the trees read doubles; whether they read the input where it lies
    Py_ssize_t columns, block, padded  # rows of a block, and up to a multiple of those that walk together
    Py_ssize_t room, own  # bytes that a walk needs for itself; where they are where few rows are walked
    const double* base
    double divisor

cdef struct Call:
    const How* how
    void** at
    char* x         # of the few rows that all groves see
    double* groves  # the scores of each grove


cdef char* features_of(const How* how, void** at, Py_ssize_t row, Py_ssize_t n, char* room) noexcept nogil:
    """Rows of features in the type of the trees: where they lie, or in ``room``."""
    cdef Py_ssize_t first = row * how.columns, width = 8 if how.wide else 4
    if how.as_they_are:
        return <char*> at[0] + first * width
    if how.wide:
        read[double](at[0], how.code, first, n * how.columns, <double*> room)
    else:
        read[float](at[0], how.code, first, n * how.columns, <float*> room)
    return room


cdef void begun(const How* how, double* scores, Py_ssize_t n) noexcept nogil:
    """Scores without any vote: NaN for a least or largest one."""
    cdef Py_ssize_t i
    for i in range(n):
        scores[i] = 0 if how.trees.fold == FOLD_SUM else NAN


cdef void ended(const How* how, void** at, Py_ssize_t row, const double* scores, double* room) noexcept nogil:
    """From the votes of a row to what is written of it."""
    cdef Py_ssize_t i
    for i in range(how.trees.scores):
        room[i] = (0 if scores[i] != scores[i] and how.trees.fold != FOLD_SUM else scores[i] / how.divisor) + how.base[i]
    settle(&how.outcome, row, room, -1, at)


cdef int some_rows(const Call* call, Py_ssize_t begin, Py_ssize_t end, double* scratch) noexcept nogil:
    cdef const How* how = call.how
    cdef Py_ssize_t block, row, n, i, width = how.trees.scores
    cdef double* scores = scratch + width + 1
    cdef char* x
    for block in range(begin, end):
        row = block * how.block
        n = min(how.block, how.outcome.rows - row)
        x = features_of(how, call.at, row, n, <char*> (scores + how.padded * width) + how.room)
        begun(how, scores, n * width)
        how.voted(&how.trees, x, n, 0, how.trees.count, scores, scores + how.padded * width)
        for i in range(n):
            ended(how, call.at, row + i, scores + i * width, scratch)
    return OK


cdef int some_groves(const Call* call, Py_ssize_t begin, Py_ssize_t end, char* scratch) noexcept nogil:
    cdef const How* how = call.how
    cdef Py_ssize_t g, n = how.padded * how.trees.scores
    for g in range(begin, end):
        begun(how, call.groves + g * n, n)
        how.voted(&how.trees, call.x, how.outcome.rows, g * GROVE, min((g + 1) * GROVE, how.trees.count), call.groves + g * n,
                  scratch + how.own)
    return OK


cdef double joined(int fold, double a, double b) noexcept nogil:
    if fold == FOLD_SUM:
        return a + b
    if fold == FOLD_MIN:
        return a if a <= b or b != b else b
    return a if a >= b or b != b else b


cdef int voted(void** at, const How* how) noexcept nogil:
    """All rows: shared by rows where there are many, else by trees."""
    cdef const Team* crew = team(at, 1 + (how.outcome.label_at != 0) + (how.outcome.score_at != 0))
    cdef Call call = Call(how, at, NULL, NULL)
    cdef Py_ssize_t rows = how.outcome.rows, groves = (how.trees.count + GROVE - 1) // GROVE
    cdef Py_ssize_t i, g, width = how.trees.scores, per_tree = how.trees.count * (3 if how.shallow else 12)
    cdef double* scratch = <double*> crew.scratch
    if rows > BLOCK or groves < 2:
        return share(crew, <Task> some_rows, &call, (rows + how.block - 1) // how.block, per_tree * min(rows, how.block))
    call.groves = scratch + width + 1
    call.x = features_of(how, at, 0, rows, <char*> (call.groves + groves * how.padded * width))
    share(crew, <Task> some_groves, &call, groves, per_tree // max(how.trees.count, 1) * GROVE * rows)
    for g in range(1, groves):
        for i in range(rows * width):
            call.groves[i] = joined(how.trees.fold, call.groves[i], call.groves[g * how.padded * width + i])
    for i in range(rows):
        ended(how, at, i, call.groves + i * width, scratch)
    return OK


def walked(x, forest: Forest, rule, labels, y, z):
    """What the trees say of every row: its label into ``y``, its scores into ``z``, where they are not None: a step."""
    cdef How how
    cdef Forest trees = forest
    cdef Py_ssize_t rows = 0, scratch, groves
    how.code = rows_of(x, &rows, &how.columns)
    how.trees, how.wide, how.base, how.divisor = trees.trees, trees.wide, trees.base, trees.divisor
    if trees.trees.features > how.columns:
        raise ValueError(f"the trees ask for feature {trees.trees.features - 1} of rows of {how.columns}")
    if rule.scores != trees.trees.scores:
        raise ValueError(f"a rule for {rule.scores} scores where trees have {trees.trees.scores}")
    how.trees.features = how.columns
    how.as_they_are = how.code == (DOUBLE if how.wide else FLOAT)
    how.voted = loops.voted[how.wide]
    how.outcome = outcome_of(rule, rows, rule.classes, labels, y, z)
    how.shallow = trees.longest <= MOST_LEVELS
    wide = 8 if how.wide else 4
    most = max(min(WIDE // max(how.columns * wide, 1), MOST_ROWS), BLOCK) if trees.bytes > LARGE else BLOCK
    pieces = 2 * max((rows + 2 * most - 1) // (2 * most), 1)  # as many for each of two threads
    how.block = how.padded = max((rows + pieces * LANES - 1) // (pieces * LANES), 1) * LANES if rows > BLOCK else BLOCK
    if how.columns > 4 * how.trees.count + 64:
        how.trees.limits = NULL  # it would take longer to lay rows side by side than to walk
    how.room = (how.padded * (how.columns * wide + 4) + 7) // 8 * 8
    groves = (how.trees.count + GROVE - 1) // GROVE if rows <= BLOCK else 1
    how.own = 8 * (how.trees.scores + 1 + max(groves, 1) * how.padded * how.trees.scores)
    how.own += 0 if how.as_they_are else 8 * how.block * how.columns
    return bound(<Run> voted, tuple([a for a in (x, y, z) if a is not None]), &how, sizeof(how), how.own + how.room,
                 (forest, labels))
