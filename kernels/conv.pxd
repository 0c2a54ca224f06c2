"""The windows of convolutions, for other files of kernels."""
from .activate cimport Activation

cdef extern from "hot/conv.h" nogil:
    enum:
        AXES
    ctypedef struct Convolution:
        Py_ssize_t batch, groups, in_channels, out_channels
        Py_ssize_t size[3]
        Py_ssize_t kernel[3]
        Py_ssize_t stride[3]
        Py_ssize_t dilation[3]
        Py_ssize_t before[3]
        Py_ssize_t out[3]
        const void* panels
        Activation activation

cdef int settle(Convolution* c, x, w, y, Py_ssize_t group, stride, dilation, before) except -1
