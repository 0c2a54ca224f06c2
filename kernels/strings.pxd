"""Arrays of Python strings, for other files of kernels."""
cimport numpy as cnp
from cpython.ref cimport PyObject

cdef extern from "objects.h":
    object nth(PyObject** all, Py_ssize_t i)
    void put_at(PyObject** all, Py_ssize_t i, object value)

cdef cnp.ndarray strings_in(x)
cdef inline cnp.ndarray objects(int ndim, cnp.npy_intp* shape):
    """A new array of objects, to be filled."""
    return cnp.PyArray_EMPTY(ndim, shape, cnp.NPY_OBJECT, 0)
cdef inline PyObject** items(cnp.ndarray a) noexcept:
    return <PyObject**> cnp.PyArray_DATA(a)
