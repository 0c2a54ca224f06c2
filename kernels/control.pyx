"""Control flow: bodies are programs, run as steps."""
cimport numpy as cnp
import numpy as np
from libc.stdint cimport INT64_MAX, int64_t
from libc.string cimport memcpy
from .program cimport Code, Program, begin, go_on
from .step cimport OK, Run, Step, bound

cnp.import_array()

cdef struct Choice:
    Code* first
    Code* second


cdef int chosen(void** at, const Choice* how) noexcept nogil:
    """Run one of two programs on the arrays after the condition."""
    cdef Code* code = how.first if (<char*> at[0])[0] else how.second
    begin(code, at + 1)
    return go_on(code)


def choose(condition, Program first, Program second, list arrays) -> Step:
    """One of two compiled programs, by a condition known when it runs: a step."""
    if not (first.compiled and second.compiled and first.fits(arrays) and second.fits(arrays)):
        raise ValueError("both bodies are compiled, and for these arrays")
    if condition.dtype != np.bool_ or condition.size != 1:
        raise ValueError(f"a condition is one bool, not {condition.dtype}{list(condition.shape)}")
    cdef Choice how = Choice(&first.code, &second.code)
    return bound(<Run> chosen, (condition, *arrays), &how, sizeof(how), 0, (first, second))


cdef struct Repeat:
    Code* body
    Py_ssize_t carried, captured, scans, most  # most: how many rows a scan output has
    bint limited, conditional
    void** slots          # the body's: iteration, condition, carried, captured; condition, carried, scans
    Py_ssize_t* sizes     # bytes of each carried value, then of one row of each scan output
    void** spare          # a second buffer for each carried value
    int64_t* iteration
    char* condition       # as the body reads it, as the body writes it


cdef int repeated(void** at, const Repeat* how) noexcept nogil:
    """Run the body until the count or the condition ends it; what is carried alternates between two buffers."""
    cdef Py_ssize_t c, done = 0, n = how.carried
    cdef int64_t limit = (<int64_t*> at[0])[0] if how.limited else INT64_MAX
    cdef void** starts = at + how.limited + how.conditional
    cdef void** ends = starts + n + how.captured
    cdef void** results = how.slots + 2 + n + how.captured + 1
    cdef int status
    how.condition[0] = (<char*> at[how.limited])[0] if how.conditional else 1
    for c in range(how.captured):
        how.slots[2 + n + c] = starts[n + c]
    while done < limit and how.condition[0]:
        if how.scans and done >= how.most:
            break
        how.iteration[0] = done
        for c in range(n):
            how.slots[2 + c] = results[c] if done else starts[c]
        for c in range(n):
            results[c] = ends[c] if done % 2 == 0 else how.spare[c]
        for c in range(how.scans):
            results[n + c] = <char*> ends[n + c] + done * how.sizes[n + c]
        begin(how.body, how.slots)
        status = go_on(how.body)
        if status:
            return status
        how.condition[0] = how.condition[1]
        done += 1
    for c in range(n):
        if done % 2 == 0:  # the last values stand in the spare buffers, or have never been touched
            memcpy(ends[c], results[c] if done else starts[c], how.sizes[c])
    return OK


def repeat(most, condition, list carried, list captured, list ends, list scans, Program body) -> Step:
    """A compiled body over and over, up to ``most`` times and while ``condition``, either of which may be None: a step.

    ``ends`` receive the carried values, ``scans`` a row an iteration: as many as ``most`` says, so the body has no condition then.
    """
    cdef Repeat how
    cdef cnp.ndarray a, slots, sizes, spare
    iteration, flags = np.zeros(1, np.int64), np.zeros(2, np.bool_)
    probe = [iteration.reshape(()), flags[:1].reshape(()), *carried, *captured, flags[1:].reshape(()), *ends,
             *(s[0, ...] if s.shape[0] else np.empty(s.shape[1:], s.dtype) for s in scans)]
    if not (body.compiled and body.fits(probe)):
        raise ValueError("the body is compiled, and for these arrays")
    for x, kind in (most, np.int64), (condition, np.bool_):
        if x is not None and (x.size != 1 or x.dtype != kind):
            raise ValueError(f"a count is one int64 and a condition one bool, not {x.dtype}{list(x.shape)}")
    if len({s.shape[0] for s in scans}) > 1:
        raise ValueError("scan outputs of one loop have one length")
    spares = [np.empty_like(a) for a in carried]
    slots = np.zeros(len(probe) + 1, np.uintp)
    spare = np.array([a.ctypes.data for a in spares] + [0], np.uintp)
    sizes = np.array([a.nbytes for a in carried] + [s.nbytes // max(s.shape[0], 1) for s in scans] + [0], np.intp)
    how.body, how.carried, how.captured, how.scans = &body.code, len(carried), len(captured), len(scans)
    how.most = scans[0].shape[0] if scans else 0
    how.limited, how.conditional = most is not None, condition is not None
    how.slots, how.sizes = <void**> cnp.PyArray_DATA(slots), <Py_ssize_t*> cnp.PyArray_DATA(sizes)
    how.spare = <void**> cnp.PyArray_DATA(spare)
    a = iteration
    how.iteration = <int64_t*> cnp.PyArray_DATA(a)
    a = flags
    how.condition = <char*> cnp.PyArray_DATA(a)
    how.slots[0], how.slots[1], how.slots[2 + how.carried + how.captured] = how.iteration, how.condition, how.condition + 1
    arrays = (*(x for x in (most, condition) if x is not None), *carried, *captured, *ends, *scans)
    return bound(<Run> repeated, arrays, &how, sizeof(how), 0, (body, iteration, flags, slots, spare, sizes, spares))
