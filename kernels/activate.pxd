"""The activations of fused operators, for other files of kernels."""

cdef extern from "activation.h" nogil:
    ctypedef struct Activation:
        int kind
        double alpha, beta

cdef int activation(Activation* how, str name, alpha, beta) except -1
