/* Elements of arrays of Python objects; one that was never set is None. */
#ifndef INTERP_OBJECTS_H
#define INTERP_OBJECTS_H
#include <Python.h>

static inline PyObject *nth(PyObject **all, Py_ssize_t i) {
    return Py_NewRef(all[i] ? all[i] : Py_None);
}

static inline void put_at(PyObject **all, Py_ssize_t i, PyObject *value) {
    PyObject *old = all[i];
    all[i] = Py_NewRef(value);
    Py_XDECREF(old);
}
#endif
