"""N-grams of strings or integers, counted in rows."""
cimport cython
cimport numpy as cnp
import numpy as np
from cpython.dict cimport PyDict_GetItemWithError
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset
from .lookup cimport Keys, Table, place_of
from .step cimport FLOAT, INT32, INT64, OK, Element, Later, Run, bound, code_of, team
from .strings cimport items, nth, strings_in
from .threads cimport Task, Team, share

cnp.import_array()

cdef struct Branch:
    int64_t key    # the node that it leaves and the item that it follows; -1 where there is none
    int64_t child

cdef struct Tree:
    const Branch* branches
    uint64_t mask         # one less than the places for branches, a power of two
    const int64_t* gram   # that ends at each node; -1 for none
    const int64_t* index  # the coordinate of each n-gram
    const float* weight
    Py_ssize_t grams, longest, size

cdef enum:
    TF, IDF, TFIDF
cdef tuple MODES = ("TF", "IDF", "TFIDF")


cdef inline uint64_t start_of(int64_t key, uint64_t mask) noexcept nogil:
    return ((<uint64_t> key * <uint64_t> 0x9E3779B97F4A7C15) >> 20) & mask


cdef inline int64_t follow(const Tree* t, int64_t node, int64_t item) noexcept nogil:
    """The node behind a branch, or -1."""
    cdef int64_t key = node << 32 | item
    cdef uint64_t at = start_of(key, t.mask)
    while t.branches[at].key != key:
        if t.branches[at].key < 0:
            return -1
        at = (at + 1) & t.mask
    return t.branches[at].child


cdef class Grams:
    """The n-grams that are counted, as tuples of items with the number of each, and the coordinate and weight of each number.

    They are kept as a tree whose branches are the items.
    """

    cdef Tree tree
    cdef readonly dict known  # the number of each item
    cdef Keys numbers         # where the items are integers
    cdef tuple keep

    def __init__(self, dict grams, const int64_t[::1] index, const float[::1] weight, Py_ssize_t size):
        cdef int64_t node, child, key
        cdef uint64_t at
        cdef Py_ssize_t most = sum(map(len, grams)), places = 16
        while places < 2 * (most + 1):
            places *= 2
        branches, ends = np.full((places, 2), -1, np.int64), np.full(most + 1, -1, np.int64)
        cdef int64_t[:, ::1] branch = branches
        cdef int64_t[::1] end = ends
        self.known, nodes = {}, 1
        self.tree.mask, self.tree.longest = places - 1, max(map(len, grams), default=0)
        for gram, number in grams.items():
            node = 0
            for item in gram:
                key = node << 32 | <int64_t> self.known.setdefault(item, len(self.known))
                at = start_of(key, self.tree.mask)
                while branch[at, 0] >= 0 and branch[at, 0] != key:
                    at = (at + 1) & self.tree.mask
                if branch[at, 0] < 0:
                    branch[at, 0], branch[at, 1] = key, nodes
                    nodes += 1
                node = branch[at, 1]
            end[node] = number
        if nodes >= 2**31 or not all([0 <= n < index.shape[0] == weight.shape[0] for n in grams.values()]):
            raise ValueError(f"{index.shape[0]} coordinates and {weight.shape[0]} weights of {len(grams)} n-grams")
        if index.shape[0] and not 0 <= np.min(index) <= np.max(index) < size:
            raise ValueError(f"coordinates go from {np.min(index)} to {np.max(index)}, there are {size}")
        self.tree.branches, self.tree.gram = <const Branch*> &branch[0, 0], &end[0]
        if index.shape[0]:
            self.tree.index, self.tree.weight = &index[0], &weight[0]
        self.tree.grams, self.tree.size = index.shape[0], size
        if all([isinstance(k, int) for k in self.known]):
            self.numbers = Keys(np.array(list(self.known), np.int64), -1)
        self.keep = (branches, ends, index, weight)


cdef struct Count:
    Tree tree
    Table numbers
    Element code
    Py_ssize_t rows, columns, skips
    int mode


cdef void counted(const Count* how, const int64_t* row, float* y, int64_t* counts, int64_t* seen) noexcept nogil:
    """Add what one row of numbered items has. ``counts`` are 0 before and after."""
    cdef const Tree* t = &how.tree
    cdef Py_ssize_t apart, begin, at, depth, found = 0, k, n = how.columns
    cdef int64_t node, gram
    memset(y, 0, t.size * sizeof(float))
    for apart in range(1, max(min(how.skips + 1, n - 1), <Py_ssize_t> 1) + 1):
        for begin in range(n):
            node, at, depth = 0, begin, 0
            while at < n and row[at] >= 0 and depth < t.longest:
                node = follow(t, node, row[at])
                if node < 0:
                    break
                gram, depth, at = t.gram[node], depth + 1, at + apart
                if gram >= 0 and (depth > 1 or apart == 1):
                    if not counts[gram]:
                        seen[found] = gram
                        found += 1
                    counts[gram] += 1
                if n - at <= 0:
                    break
    for k in range(found):
        gram = seen[k]
        y[t.index[gram]] += <float> (1 if how.mode == IDF else counts[gram]) * (1 if how.mode == TF else t.weight[gram])
        counts[gram] = 0


cdef struct Call:
    const Count* how
    void** at


cdef int some_rows(const Call* call, Py_ssize_t begin, Py_ssize_t end, int64_t* room) noexcept nogil:
    cdef const Count* how = call.how
    cdef Py_ssize_t r, i
    cdef int64_t* counts = room + how.columns
    memset(counts, 0, how.tree.grams * sizeof(int64_t))
    for r in range(begin, end):
        for i in range(how.columns):
            room[i] = place_of(&how.numbers, (<const int32_t*> call.at[0])[r * how.columns + i] if how.code == INT32
                               else (<const int64_t*> call.at[0])[r * how.columns + i])
        counted(how, room, <float*> call.at[1] + r * how.tree.size, counts, counts + how.tree.grams)
    return OK


cdef int all_rows(void** at, const Count* how) noexcept nogil:
    cdef Call call = Call(how, at)
    return share(team(at, 2), <Task> some_rows, &call, how.rows, how.columns * 20 * min(how.skips + 1, how.columns + 1))


@cython.final
cdef class Strings:
    """N-grams counted in rows of strings."""
    cdef Grams grams
    cdef Count how

    def __call__(self, x, cnp.ndarray y):
        cdef cnp.ndarray a = strings_in(x)
        cdef Count how = self.how
        cdef Py_ssize_t r, i, rank = cnp.PyArray_NDIM(a), K = how.tree.grams
        cdef int64_t* room
        cdef PyObject* number
        if rank not in (1, 2):
            raise ValueError(f"the input has the shape [C] or [N, C], not {list(x.value.shape)}")
        how.columns = cnp.PyArray_DIM(a, rank - 1)
        how.rows = cnp.PyArray_DIM(a, 0) if rank == 2 else 1
        if cnp.PyArray_SIZE(y) != how.rows * how.tree.size:
            raise ValueError(f"{how.rows} rows came where {(<object> y).shape} was announced")
        room = <int64_t*> malloc((how.columns + 2 * K + 1) * sizeof(int64_t))
        if room == NULL:
            raise MemoryError
        try:
            memset(room + how.columns, 0, K * sizeof(int64_t))
            for r in range(how.rows):
                for i in range(how.columns):
                    number = PyDict_GetItemWithError(self.grams.known, nth(items(a), r * how.columns + i))
                    room[i] = <object> number if number != NULL else -1
                counted(&how, room, <float*> cnp.PyArray_DATA(y) + r * how.tree.size, room + how.columns, room + how.columns + K)
        finally:
            free(room)


def counts(x, Grams grams, Py_ssize_t skips, mode, y):
    """How often each row has each n-gram, with up to so many items left out between any two: a step.

    ``mode`` is "TF" for counts, "IDF" for the weights of those that are there, "TFIDF" for weighted counts.
    """
    cdef Count how
    cdef Strings strings
    if mode not in MODES:
        raise ValueError(f"mode is {mode}; it is one of {', '.join(MODES)}")
    if not y.flags.c_contiguous or code_of(y) != FLOAT or y.ndim < 1 or y.shape[y.ndim - 1] != grams.tree.size or skips < 0:
        raise ValueError(f"{grams.tree.size} counts, {skips} skipped, do not give {y.dtype}{list(y.shape)}")
    how.tree, how.skips, how.mode = grams.tree, min(skips, <Py_ssize_t> 2**62), MODES.index(mode)
    if not isinstance(x, np.ndarray):
        strings = Strings()
        strings.grams, strings.how = grams, how
        return Later(strings, x, y)
    how.code = code_of(x)
    if how.code not in (INT32, INT64) or grams.numbers is None or x.ndim not in (1, 2):
        raise TypeError(f"no n-grams of {x.dtype}{list(x.shape)}")
    how.numbers = grams.numbers.table
    how.columns, how.rows = x.shape[x.ndim - 1], x.shape[0] if x.ndim == 2 else 1
    if y.size != how.rows * how.tree.size:
        raise ValueError(f"{how.rows} rows do not give {list(y.shape)}")
    return bound(<Run> all_rows, (x, y), &how, sizeof(how), (how.columns + 2 * how.tree.grams + 1) * 8, grams)
