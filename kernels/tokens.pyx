"""Strings changed, left out or cut into tokens: steps over Cells."""
cimport cython
cimport numpy as cnp
import numpy as np
from cpython.unicode cimport PyUnicode_Substring
from .program cimport Cell
from .step cimport Later
from .strings cimport items, nth, objects, put_at, strings_in

cnp.import_array()


@cython.final
cdef class Normalised:
    """Strings in another case, without stopwords."""
    cdef object stops, fold, change

    def __init__(self, stops, fold, change):
        self.stops, self.fold, self.change = stops, fold, change

    def __call__(self, x, Cell y):
        cdef cnp.ndarray a = strings_in(x), made
        cdef Py_ssize_t i, n = cnp.PyArray_SIZE(a), rank = cnp.PyArray_NDIM(a)
        cdef cnp.npy_intp shape[2]
        cdef list kept = []
        if rank not in (1, 2) or rank == 2 and cnp.PyArray_DIM(a, 0) != 1:
            raise ValueError(f"the input has the shape [C] or [1, C], not {list((<object> a).shape)}")
        for i in range(n):
            text = nth(items(a), i)
            if self.stops and (text if self.fold is None else self.fold(text)) in self.stops:
                continue
            kept.append(text if self.change is None else self.change(text))
        if not kept:
            kept.append("")
        n = len(kept)
        shape[0], shape[rank - 1] = 1, n
        made = objects(rank, shape)
        for i in range(n):
            put_at(items(made), i, kept[i])
        y.value = made


def normalised(x, stops, fold, change, y) -> Later:
    """What is left without the stopwords, compared as ``fold`` has them, as ``change`` makes it; or one empty string: a step."""
    return Later(Normalised(stops, fold, change), x, y)


@cython.final
cdef class Runs:
    """Cuts a string into the longest runs of some characters, or into those characters: a function of a string.

    ``letters`` are meant, or with ``but`` all others. Texts with lone surrogates, which stand for bytes, go to ``other``.
    """
    cdef bint ascii[128]
    cdef bint beyond, alone
    cdef frozenset odd
    cdef object other

    def __init__(self, letters, bint but, bint alone, other):
        cdef Py_ssize_t i
        codes = frozenset(map(ord, letters))
        for i in range(128):
            self.ascii[i] = (i in codes) != but
        self.beyond, self.alone, self.other = but, alone, other
        self.odd = frozenset([c for c in codes if c >= 128])

    def __call__(self, str text):
        cdef Py_ssize_t i, begin = -1, n = len(text)
        cdef Py_UCS4 c
        cdef bint within
        cdef list found = []
        for i in range(n):
            c = text[i]
            if c < 128:
                within = self.ascii[c]
            elif 0xD800 <= c < 0xE000:
                return self.other(text)
            else:
                within = self.beyond != (<long> c in self.odd) if self.odd else self.beyond
            if within and self.alone:
                found.append(PyUnicode_Substring(text, i, i + 1))
            elif within and begin < 0:
                begin = i
            elif not within and begin >= 0:
                found.append(PyUnicode_Substring(text, begin, i))
                begin = -1
        if begin >= 0:
            found.append(PyUnicode_Substring(text, begin, n))
        return found


@cython.final
cdef class Tokens:
    """A row of tokens for each string."""
    cdef object cut, pad, begin, end
    cdef Py_ssize_t least

    def __init__(self, cut, Py_ssize_t least, pad, marks):
        self.cut, self.least, self.pad = cut, least, pad
        self.begin, self.end = marks or (None, None)

    def __call__(self, x, Cell y):
        cdef cnp.ndarray a = strings_in(x), made
        cdef Py_ssize_t i, k, n = cnp.PyArray_SIZE(a), longest = 0, rank = cnp.PyArray_NDIM(a)
        cdef cnp.npy_intp shape[3]
        cdef list rows = [], row
        if rank not in (1, 2):
            raise ValueError(f"the input has the shape [C] or [N, C], not {list((<object> a).shape)}")
        for i in range(n):
            row = self.cut(nth(items(a), i))
            if self.least > 1:
                row = [t for t in row if len(t) >= self.least]
            longest = max(longest, len(row))
            rows.append(row)
        if longest and self.begin is not None:
            rows = [[self.begin, *row, self.end] for row in rows]
            longest += 2
        for i in range(rank):
            shape[i] = cnp.PyArray_DIM(a, i)
        shape[rank] = longest
        made = objects(rank + 1, shape)
        for i in range(n):
            row = rows[i]
            for k in range(longest):
                put_at(items(made), i * longest + k, row[k] if k < len(row) else self.pad)
        y.value = made


def tokens(x, cut, Py_ssize_t least, pad, marks, y) -> Later:
    """The tokens that ``cut`` finds in each string, of at least so many characters and between marks, if asked: a step."""
    return Later(Tokens(cut, least, pad, marks), x, y)
