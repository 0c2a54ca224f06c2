"""Steps over Cells: arrays of strings seen in other shapes, gathered, looked up, turned to labels; maps made of rows."""
cimport cython
cimport numpy as cnp
import numpy as np
from cpython.dict cimport PyDict_Copy, PyDict_GetItemWithError, PyDict_SetItem
from cpython.float cimport PyFloat_FromDouble
from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.ref cimport Py_INCREF, PyObject
from libc.stdint cimport int64_t
from libc.string cimport memset
from .program cimport Cell
from .step cimport DOUBLE, FLOAT, INT64, Later, Step, code_of

cnp.import_array()

cdef cnp.ndarray strings_in(x):
    """The Python strings of a Cell, or of a constant, one behind the other."""
    value = (<Cell> x).value if isinstance(x, Cell) else x
    if not isinstance(value, np.ndarray):
        raise TypeError(f"strings are due, {type(value).__name__} came")
    if cnp.PyArray_TYPE(<cnp.ndarray> value) == cnp.NPY_OBJECT and cnp.PyArray_ISCARRAY_RO(<cnp.ndarray> value):
        return value
    if (<cnp.ndarray> value).descr.kind not in (b"O", b"U", b"S"):
        raise TypeError(f"strings are due, {value.dtype} came")
    return np.ascontiguousarray(value, object)


# Views

@cython.final
cdef class View:
    """Strings in another shape; () stands for the same."""
    cdef tuple shape

    def __init__(self, tuple shape):
        self.shape = shape

    def __call__(self, Cell x, Cell y):
        y.value = x.value.reshape(self.shape) if self.shape else x.value.view()


def viewed(x, tuple shape, y) -> Later:
    """The same strings in a shape that may have one -1: a step."""
    return Later(View(shape), x, y)


# Gather along an axis, and labels

@cython.final
cdef class Take:
    """Strings at the places that indices name along an axis; as rows, the shape of the indices does not count."""
    cdef int axis
    cdef bint rows

    def __init__(self, int axis, bint rows):
        self.axis, self.rows = axis, rows

    def __call__(self, x, cnp.ndarray indices, Cell y):
        cdef cnp.ndarray a = strings_in(x), made
        cdef cnp.npy_intp shape[64]
        cdef int d, axes = cnp.PyArray_NDIM(a), rank = 0, axis = self.axis + axes if self.axis < 0 else self.axis
        if not 0 <= axis < axes:
            raise ValueError(f"axis {self.axis} is outside of {axes} dimensions")
        cdef Py_ssize_t i, j, k, at, size = cnp.PyArray_DIM(a, axis), outer = 1, inner = 1, n = cnp.PyArray_SIZE(indices)
        if axes + cnp.PyArray_NDIM(indices) > 64:
            raise ValueError(f"the result would have {axes + cnp.PyArray_NDIM(indices) - 1} axes")
        places = np.ascontiguousarray(indices, np.int64)
        cdef const int64_t* index = <const int64_t*> cnp.PyArray_DATA(<cnp.ndarray> places)
        for d in range(axis):
            outer *= cnp.PyArray_DIM(a, d)
            shape[rank] = cnp.PyArray_DIM(a, d)
            rank += 1
        for d in range(cnp.PyArray_NDIM(indices)):
            shape[rank] = cnp.PyArray_DIM(indices, d)
            rank += 1
        for d in range(axis + 1, axes):
            inner *= cnp.PyArray_DIM(a, d)
            shape[rank] = cnp.PyArray_DIM(a, d)
            rank += 1
        for k in range(n):
            if not -size <= index[k] < size:
                raise ValueError(f"an index is out of range: {index[k]}, where the size is {size}")
        made = objects(rank, shape)
        for i in range(outer):
            for k in range(n):
                at = index[k] + size if index[k] < 0 else index[k]
                for j in range(inner):
                    put_at(items(made), (i * n + k) * inner + j, nth(items(a), (i * size + at) * inner + j))
        y.value = made.reshape(*((<object> a).shape[:axes - 1] or (1,)), n) if self.rows else made


def taken(x, indices, int axis, y, *, bint rows=False) -> Later:
    """Strings by index along an axis: a step. As ``rows``, of the last axis, a vector is one row, and so are all indices."""
    return Later(Take(axis, rows), x, indices, y)


@cython.final
cdef class Label:
    """A step that numbers classes, and then the names of those numbers."""
    cdef Step inner
    cdef cnp.ndarray numbers
    cdef list names

    def __init__(self, Step inner, numbers, list names):
        self.inner, self.numbers, self.names = inner, numbers, names

    def __call__(self, cnp.ndarray x, Cell y, z):
        cdef Py_ssize_t i, n = cnp.PyArray_SIZE(self.numbers)
        cdef const int64_t* number = <const int64_t*> cnp.PyArray_DATA(self.numbers)
        cdef cnp.ndarray made = objects(cnp.PyArray_NDIM(self.numbers), cnp.PyArray_DIMS(self.numbers))
        self.inner.at[0] = cnp.PyArray_DATA(x)
        if z is not None:
            self.inner.at[2] = cnp.PyArray_DATA(<cnp.ndarray> z)
        self.inner(1)
        for i in range(n):
            put_at(items(made), i, self.names[number[i]])
        y.value = made


def labelled(step: Step, x, numbers, list names, y, z) -> Later:
    """Names of classes in the place of the numbers that a step over (x, numbers, z) writes: a step."""
    if not (step.arrays[0] is x and step.arrays[1] is numbers and numbers.dtype == np.int64):
        raise ValueError("a step that numbers classes has the features first, then the numbers")
    return Later(Label(step, numbers, names), x, y, z)


# ZipMap

@cython.final
cdef class Zip:
    """A dictionary for each row, from labels to the row's numbers."""
    cdef dict blank
    cdef tuple keys

    def __init__(self, tuple keys):
        self.keys, self.blank = keys, dict.fromkeys(keys)

    def __call__(self, cnp.ndarray x, Cell y):
        cdef Py_ssize_t i, k, n = len(self.keys), rows = cnp.PyArray_SIZE(x) // n
        cdef const float* row = <const float*> cnp.PyArray_DATA(x)
        cdef list made = PyList_New(rows)
        for i in range(rows):
            each = PyDict_Copy(self.blank)
            for k in range(n):
                PyDict_SetItem(each, self.keys[k], PyFloat_FromDouble(row[k]))
            row += n
            Py_INCREF(each)
            PyList_SET_ITEM(made, i, each)
        y.value = made


def zipped(x, tuple keys, y) -> Later:
    """A map for each row of floats: a step."""
    if code_of(x) != FLOAT or x.ndim not in (1, 2) or x.shape[x.ndim - 1] != len(keys) or not keys:
        raise ValueError(f"{len(keys)} labels for rows of {x.dtype}{list(x.shape)}")
    return Later(Zip(keys), x, y)


# Look-ups

@cython.final
cdef class Find:
    """For each string what a dictionary has for it, or something else, as integers, floats or objects."""
    cdef dict places
    cdef object other

    def __init__(self, dict values, other):
        self.places, self.other = values, other

    def __call__(self, x, y):
        cdef cnp.ndarray a = strings_in(x), into
        cdef Py_ssize_t i, n = cnp.PyArray_SIZE(a)
        cdef int code
        into = objects(cnp.PyArray_NDIM(a), cnp.PyArray_DIMS(a)) if isinstance(y, Cell) else y
        code = cnp.PyArray_TYPE(into)
        if cnp.PyArray_SIZE(into) != n:
            raise ValueError(f"{n} strings came, {cnp.PyArray_SIZE(into)} were announced")
        for i in range(n):
            found = self.of(nth(items(a), i))
            if code == cnp.NPY_OBJECT:
                put_at(items(into), i, found)
            elif code == cnp.NPY_INT64 or code == cnp.NPY_LONGLONG:
                (<int64_t*> cnp.PyArray_DATA(into))[i] = found
            elif code == cnp.NPY_FLOAT32:
                (<float*> cnp.PyArray_DATA(into))[i] = found
            else:
                into.flat[i] = found
        if isinstance(y, Cell):
            (<Cell> y).value = into

    cdef inline of(self, text):
        cdef PyObject* found = PyDict_GetItemWithError(self.places, text)
        return <object> found if found != NULL else self.other


def found(x, dict values, other, y) -> Later:
    """What a dictionary says for each string, else ``other``: a step."""
    return Later(Find(values, other), x, y)


@cython.final
cdef class Hot:
    """Rows of 0 with a 1 at the place of each string."""
    cdef dict places
    cdef Py_ssize_t width
    cdef bint strict

    def __init__(self, dict places, Py_ssize_t width, bint strict):
        self.places, self.width, self.strict = places, width, strict

    def __call__(self, x, cnp.ndarray y):
        cdef cnp.ndarray a = strings_in(x)
        cdef Py_ssize_t i, n = cnp.PyArray_SIZE(a), at
        cdef float* row = <float*> cnp.PyArray_DATA(y)
        cdef PyObject* place
        if cnp.PyArray_SIZE(y) != n * self.width:
            raise ValueError(f"{n} strings of {self.width} categories do not fill {list((<object> y).shape)}")
        memset(row, 0, n * self.width * sizeof(float))
        for i in range(n):
            text = nth(items(a), i)
            place = PyDict_GetItemWithError(self.places, text)
            if place != NULL:
                at = <object> place
                row[i * self.width + at] = 1
            elif self.strict:
                raise ValueError(f"{text} is none of the categories")


def one_hot(x, dict places, Py_ssize_t width, bint strict, y) -> Later:
    """A row of 0 for each string, with a 1 at its place; a string without a place is an error where ``strict``: a step."""
    if code_of(y) != FLOAT or not y.flags.c_contiguous or not all([0 <= p < width for p in places.values()]):
        raise ValueError(f"no {width} categories in {y.dtype}{list(y.shape)}")
    return Later(Hot(places, width, strict), x, y)
