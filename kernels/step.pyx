"""Steps: a compiled call bound to its buffers, run now or kept by a program."""
cimport numpy as cnp
import numpy as np
from libc.stdint cimport uint16_t, uintptr_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy
from posix.stdlib cimport posix_memalign
from .threads cimport Task, Team, share

cnp.import_array()

cdef extern from "hot/step.h" nogil:
    ctypedef struct StepLoops:
        const char* isa
        void (*half_to_float)(const uint16_t* x, float* y, Py_ssize_t n) noexcept nogil
        void (*float_to_half)(const float* x, uint16_t* y, Py_ssize_t n) noexcept nogil
        void (*brain_to_float)(const uint16_t* x, float* y, Py_ssize_t n) noexcept nogil
        void (*float_to_brain)(const float* x, uint16_t* y, Py_ssize_t n) noexcept nogil
    const StepLoops* picked "PICKED(step)"

cdef extern from *:
    """
    static _Thread_local Py_ssize_t failed_index, failed_size = -1;
    """
    Py_ssize_t failed_index, failed_size
    int USER_DEFINED "NPY_USERDEF"

cdef const StepLoops* loops = picked
cdef int BFLOAT16 = -1  # the number of the type, once one has been seen: its package is imported late
MEANING = {OUT_OF_RANGE: "an index is out of range", DIVISION_BY_ZERO: "an integer is divided by zero, or the least one by -1",
           NO_MEMORY: "memory ran out", CANCELLED: "the run was cancelled"}


class KernelFailed(RuntimeError):
    """A kernel stopped: where, then why."""


cdef int out_of_range(Py_ssize_t index, Py_ssize_t size) noexcept nogil:
    """A status whose error will name the index and the size; said by the thread that runs the step, no worker."""
    global failed_index, failed_size
    failed_index, failed_size = index, size
    return OUT_OF_RANGE


def meaning(int status):
    """What a status says, to the thread on which the step ran."""
    global failed_size
    size, failed_size = failed_size, -1
    if status == OUT_OF_RANGE and size >= 0:
        return f"{MEANING[status]}: {failed_index}, where the size is {size}"
    return MEANING[status]


def isa() -> str:
    """The instruction set that the hot loops run on."""
    return loops.isa.decode()


cdef Kernel floats(Run single, Run double_, Run half_=NULL, Run brain_=NULL) noexcept:
    """The code for each floating type; 16-bit types without code of their own are widened whole."""
    cdef Kernel k
    cdef int i
    for i in range(ELEMENTS + 1):
        k.run[i] = NULL
    k.run[<int> FLOAT], k.run[<int> DOUBLE], k.run[<int> HALF], k.run[<int> BRAIN] = single, double_, half_, brain_
    return k


cdef bint is_brain(cnp.ndarray a) noexcept:
    """Whether an array, of a type that NumPy does not have, is of bfloat16."""
    global BFLOAT16
    if BFLOAT16 < 0 and a.dtype.name == "bfloat16":
        BFLOAT16 = cnp.PyArray_TYPE(a)
    return cnp.PyArray_TYPE(a) == BFLOAT16


cdef Element code_of(a) noexcept:
    """The element type of an array; ELEMENTS where no kernel knows it."""
    cdef int n = cnp.PyArray_TYPE(<cnp.ndarray> a) if cnp.PyArray_Check(a) else cnp.NPY_VOID
    if n == cnp.NPY_FLOAT32:
        return FLOAT
    if n == cnp.NPY_FLOAT64:
        return DOUBLE
    if n == cnp.NPY_FLOAT16:
        return HALF
    if n >= USER_DEFINED:
        return BRAIN if is_brain(a) else ELEMENTS
    if n == cnp.NPY_INT8:
        return INT8
    if n == cnp.NPY_UINT8:
        return UINT8
    if n == cnp.NPY_INT16:
        return INT16
    if n == cnp.NPY_UINT16:
        return UINT16
    if n == cnp.NPY_INT32:
        return INT32
    if n == cnp.NPY_UINT32:
        return UINT32
    if n == cnp.NPY_INT64 or n == cnp.NPY_LONGLONG:
        return INT64
    if n == cnp.NPY_UINT64 or n == cnp.NPY_ULONGLONG:
        return UINT64
    return BOOL if n == cnp.NPY_BOOL else ELEMENTS


cdef void widen(const element* x, float* y, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    if element is half:
        loops.half_to_float(<const uint16_t*> x, y, n)
    elif element is brain:
        loops.brain_to_float(<const uint16_t*> x, y, n)
    else:
        for i in range(n):
            y[i] = <float> x[i]


cdef void narrow(const float* x, element* y, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    if element is half:
        loops.float_to_half(x, <uint16_t*> y, n)
    elif element is brain:
        loops.float_to_brain(x, <uint16_t*> y, n)
    else:
        for i in range(n):
            y[i] = <element> x[i]


cdef class Step:
    """A kernel bound to its buffers. ``at`` holds what a program may move, ``how`` what never moves."""

    def __dealloc__(self):
        free(self.at)

    def __call__(self, threads: int = 1) -> None:
        """Run at once."""
        cdef void* kept = self.at[len(self.arrays)]
        cdef void* scratch = NULL
        cdef size_t each = (self.scratch + 63) // 64 * 64
        cdef int status
        cdef Team alone
        if posix_memalign(&scratch, 64, each * threads + 64):
            raise MemoryError(f"{each * threads} bytes of scratch")
        alone = Team(threads, <char*> scratch, each)
        self.at[len(self.arrays)] = &alone
        with nogil:
            status = self.fn(self.at, self.how)
        self.at[len(self.arrays)] = kept
        free(scratch)
        if status:
            raise KernelFailed(meaning(status))


cdef class Later:
    """A call put off, run by Python: what an operator written in NumPy becomes. It is called with its arrays.

    The arrays are those of the run, so the function fills the buffers among them and keeps none.
    """

    def __init__(self, fn, *arrays):
        self.fn, self.arrays = fn, list(arrays)

    def __call__(self, threads: int = 1):
        return self.fn(*self.arrays)


cdef Step step(Kernel kernel, tuple arrays, const void* how, size_t size, tuple others=(), Py_ssize_t scratch=0,
               object keep=None):
    """Bind a kernel to arrays of one element type, the written one last, and to ``others`` of types of their own."""
    cdef cnp.ndarray a, first = arrays[0]
    cdef Element code = code_of(first)
    for a in arrays:
        if code_of(a) != code:
            raise TypeError(f"{a.dtype} beside {first.dtype}")
    if not cnp.PyArray_ISWRITEABLE(a):
        raise ValueError("the result's buffer is read-only")
    if kernel.run[<int> code] != NULL:
        return bound(kernel.run[<int> code], arrays + others, how, size, scratch, keep)
    if (code == HALF or code == BRAIN) and kernel.run[<int> FLOAT] != NULL:
        return widened(bound(kernel.run[<int> FLOAT], arrays + others, how, size, scratch, keep), len(arrays), code)
    raise TypeError(f"no kernel for {first.dtype}")


cdef Py_ssize_t MOST_SCRATCH = 1 << 46  # no product with a number of threads overflows


cdef Step bound(Run fn, tuple arrays, const void* how, size_t size, Py_ssize_t scratch=0, object keep=None):
    """Bind compiled code to arrays as they are; it must know their types and check their shapes before."""
    cdef Step s = Step()
    cdef Py_ssize_t i, n = len(arrays)
    cdef cnp.ndarray a
    if not 0 <= scratch <= MOST_SCRATCH:
        raise MemoryError(f"{scratch} bytes of scratch for each thread are more than any machine has")
    s.fn, s.arrays, s.scratch, s.keep = fn, arrays, scratch, keep
    s.at = <void**> calloc((n + 1) * sizeof(void*) + size, 1)
    if s.at == NULL:
        raise MemoryError
    s.how = s.at + n + 1
    memcpy(s.how, how, size)
    for i in range(n):
        a = arrays[i]
        if not cnp.PyArray_ISCARRAY_RO(a):
            raise ValueError("kernels read contiguous, aligned arrays in the machine's byte order")
        s.at[i] = cnp.PyArray_DATA(a)
    return s


cdef int copy(void** at, const size_t* size) noexcept nogil:
    memcpy(at[1], at[0], size[0])
    return OK


def copied(x, y) -> Step:
    """The same bytes elsewhere: a step."""
    cdef size_t size = x.nbytes
    if x.dtype != y.dtype or x.nbytes != y.nbytes or x.dtype.hasobject:
        raise ValueError(f"{x.dtype}{list(x.shape)} cannot be copied to {y.dtype}{list(y.shape)}")
    return bound(<Run> copy, (x, y), &size, sizeof(size))


cdef enum:
    MOST = 8  # arrays of one element type that a widened step may have

cdef struct Wide:
    Run fn
    void* how
    void** at
    Py_ssize_t count, others
    Py_ssize_t sizes[MOST]


cdef int through_float(element** at, const Wide* w) noexcept nogil:
    """Widen every input, run the float kernel on them, narrow the result."""
    cdef const Team* team = <const Team*> at[w.count + w.others]
    cdef float* room = <float*> team.scratch
    cdef Team rest = team[0]
    cdef Py_ssize_t i
    cdef int status
    for i in range(w.count):
        w.at[i] = room
        if i < w.count - 1:
            widen(at[i], room, w.sizes[i])
        room += (w.sizes[i] + 15) // 16 * 16
    for i in range(w.others):
        w.at[w.count + i] = at[w.count + i]
    rest.threads, rest.scratch = 1, <char*> room
    w.at[w.count + w.others] = &rest
    status = w.fn(w.at, w.how)
    narrow(<float*> w.at[w.count - 1], at[w.count - 1], w.sizes[w.count - 1])
    return status


cdef Step widened(Step inner, Py_ssize_t count, int code):
    """The step of a 16-bit type over one for float that was bound to the same arrays."""
    cdef Wide w
    cdef Py_ssize_t i
    if count > MOST:
        raise ValueError(f"a widened step has at most {MOST} arrays")
    w.fn, w.how, w.at, w.count, w.others = inner.fn, inner.how, inner.at, count, len(inner.arrays) - count
    for i in range(count):
        w.sizes[i] = inner.arrays[i].size
    room = sum([(a.size + 15) // 16 * 64 for a in inner.arrays[:count]])
    return bound(<Run> through_float[half] if code == HALF else <Run> through_float[brain], inner.arrays, &w, sizeof(w),
                 inner.scratch + room, (inner,))
