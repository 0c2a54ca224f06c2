"""The loops of hot/roi.h."""

cdef extern from "hot/roi.h" nogil:
    enum: CELL, PLAIN, HALVES, BRAINS
    ctypedef struct Span:
        Py_ssize_t begin, end
    ctypedef struct Taps:
        Py_ssize_t count
        const Py_ssize_t* at
        const void* weight
        const void* least
        int outside
    ctypedef struct RealLoops:
        void (*read)(const void* x, int type, void* y, Py_ssize_t n) noexcept nogil
        void (*block)(const void* x, int type, Py_ssize_t plane, Py_ssize_t channels, Span positions, void* cells) noexcept nogil
        void (*most)(const void* cells, Py_ssize_t width, const Span* rows, Py_ssize_t high, const Span* columns,
                     Py_ssize_t wide, double empty, void* bins) noexcept nogil
        void (*mean)(const void* cells, Py_ssize_t width, const Taps* rows, Py_ssize_t high, const Taps* columns,
                     Py_ssize_t wide, double samples, void* bins) noexcept nogil
        void (*most_weighted)(const void* cells, Py_ssize_t width, const Taps* rows, Py_ssize_t high, const Taps* columns,
                              Py_ssize_t wide, double empty, void* bins) noexcept nogil
        void (*spread)(const void* bins, Py_ssize_t n, Py_ssize_t channels, void* y, int type, Py_ssize_t plane) noexcept nogil
    ctypedef struct RoiLoops:
        RealLoops single, twice
    const RoiLoops* picked "PICKED(roi)"
