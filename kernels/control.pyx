"""Control flow: bodies are programs, run as steps."""
cimport numpy as cnp
import numpy as np
from libc.stdint cimport INT64_MAX, int64_t
from libc.string cimport memcpy, memset
from .program cimport Code, Program, begin, go_on
from .step cimport OK, OUT_OF_RANGE, STATUSES, Run, Step, bound
from .step import MEANING

cnp.import_array()

cdef enum:
    GOES_ON = <int> STATUSES + 1  # what a loop returns that does not end

ENDLESS = MEANING[GOES_ON] = ("the loop has not ended after as many iterations as it may make; "
                              "interp.load(..., most_iterations=N) allows more")

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
    Py_ssize_t carried, captured, scans, rows  # rows: how many a scan output has
    int64_t most                               # iterations, beyond which a loop is taken for endless
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
        if how.scans and done >= how.rows:
            break
        if done == how.most:
            return GOES_ON
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


def repeat(most, condition, list carried, list captured, list ends, list scans, Program body,
           int64_t most_iterations=INT64_MAX) -> Step:
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
    how.rows, how.most = scans[0].shape[0] if scans else 0, most_iterations
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


# Scan

cdef struct Way:
    Py_ssize_t outer, inner, whole  # an element has `outer` pieces of `inner` bytes, a batch item `whole` bytes
    bint backward
    char* buffer  # for an element that is in pieces; else it is used where it lies

cdef struct Walk:
    Code* body
    Py_ssize_t states, inputs, captured, outputs, length, batch
    bint ragged
    void** slots          # the body's: states, elements, captured; states, elements
    void** spare          # a second buffer for each state
    Py_ssize_t* sizes     # bytes of each state
    Way* ways             # of the inputs, then of the outputs


cdef inline char* element_of(const Way* way, void* sequence, Py_ssize_t item, Py_ssize_t position) noexcept nogil:
    """Where the first piece of an element lies."""
    return <char*> sequence + item * way.whole + position * way.inner


cdef int walked(void** at, const Walk* how) noexcept nogil:
    """Run the body on every element of every batch item; states alternate between two buffers."""
    cdef Py_ssize_t c, i, count, n = how.states
    cdef void** starts = at + how.ragged
    cdef void** ends = starts + n + how.inputs + how.captured
    cdef int64_t length
    cdef int status
    for c in range(how.captured):
        how.slots[n + how.inputs + c] = starts[n + how.inputs + c]
    for i in range(how.batch):
        count = how.length
        if how.ragged:
            length = (<int64_t*> at[0])[i]
            if not 0 <= length <= count:
                return OUT_OF_RANGE
            count = length
        status = one_sequence(how, starts, ends, i, count)
        if status:
            return status
    return OK


cdef int one_sequence(const Walk* how, void** starts, void** ends, Py_ssize_t item, Py_ssize_t count) noexcept nogil:
    cdef Py_ssize_t c, t, n = how.states
    cdef void** results = how.slots + n + how.inputs + how.captured
    cdef int status
    for t in range(count):
        for c in range(n):
            how.slots[c] = results[c] if t else <char*> starts[c] + item * how.sizes[c]
        for c in range(n):
            results[c] = <char*> ends[c] + item * how.sizes[c] if t % 2 == 0 else how.spare[c]
        for c in range(how.inputs):
            how.slots[n + c] = picked_up(how, how.ways + c, starts[n + c], item, count - 1 - t if how.ways[c].backward else t)
        for c in range(how.outputs):
            results[n + c] = how.ways[how.inputs + c].buffer
            if results[n + c] == NULL:
                results[n + c] = element_of(how.ways + how.inputs + c, ends[n + c], item, placed(how, c, count, t))
        begin(how.body, how.slots)
        status = go_on(how.body)
        if status:
            return status
        for c in range(how.outputs):
            put_down(how, how.ways + how.inputs + c, ends[n + c], item, placed(how, c, count, t))
    for c in range(n):
        if count % 2 == 0:  # the last values stand in the spare buffers, or have never been touched
            memcpy(<char*> ends[c] + item * how.sizes[c], results[c] if count else <char*> starts[c] + item * how.sizes[c],
                   how.sizes[c])
    for c in range(how.outputs):
        for t in range(count, how.length):
            padded(how, how.ways + how.inputs + c, ends[n + c], item, t)
    return OK


cdef inline Py_ssize_t placed(const Walk* how, Py_ssize_t c, Py_ssize_t count, Py_ssize_t t) noexcept nogil:
    return count - 1 - t if how.ways[how.inputs + c].backward else t


cdef void* picked_up(const Walk* how, const Way* way, void* sequence, Py_ssize_t item, Py_ssize_t position) noexcept nogil:
    """An element of an input; one in pieces is put together."""
    cdef char* first = element_of(way, sequence, item, position)
    cdef Py_ssize_t i
    if way.buffer == NULL:
        return first
    for i in range(way.outer):
        memcpy(way.buffer + i * way.inner, first + i * how.length * way.inner, way.inner)
    return way.buffer


cdef void put_down(const Walk* how, const Way* way, void* sequence, Py_ssize_t item, Py_ssize_t position) noexcept nogil:
    """An element of an output that is in pieces goes where it belongs."""
    cdef char* first = element_of(way, sequence, item, position)
    cdef Py_ssize_t i
    if way.buffer != NULL:
        for i in range(way.outer):
            memcpy(first + i * how.length * way.inner, way.buffer + i * way.inner, way.inner)


cdef void padded(const Walk* how, const Way* way, void* sequence, Py_ssize_t item, Py_ssize_t position) noexcept nogil:
    """Zeros beyond the end of a sequence that is shorter than others."""
    cdef Py_ssize_t i
    for i in range(way.outer):
        memset(element_of(way, sequence, item, position) + i * how.length * way.inner, 0, way.inner)


def scan(lengths, list states, list inputs, list captured, list ends, list outputs, Program body, Py_ssize_t length,
         list axes, list backward, Py_ssize_t batch=1, bint batched=False) -> Step:
    """A compiled body over the elements of ``inputs``, each along its axis of ``length``: a step.

    ``axes`` and ``backward`` are for the inputs, then for the outputs. Where ``batched``, the first axis of everything but
    ``captured`` is that of the batch, and ``lengths`` may have an int64 for each item.
    """
    cdef Walk how
    cdef cnp.ndarray a, slots, sizes, spare, ways
    skip = int(batched)
    elements = [way_of(x, axis, skip, length, batch) for x, axis in zip([*inputs, *outputs], axes, strict=True)]
    for x in [*states, *ends]:
        if batched and x.shape[:1] != (batch,):
            raise ValueError(f"a state of shape {x.shape} beside a batch of {batch}")
    m = len(inputs)
    probe = [*(np.empty(x.shape[skip:], x.dtype) for x in states), *(e for e, _ in elements[:m]), *captured,
             *(np.empty(x.shape[skip:], x.dtype) for x in ends), *(e for e, _ in elements[m:])]
    if not (body.compiled and body.fits(probe)) or [x.shape for x in states] != [x.shape for x in ends]:
        raise ValueError("the body is compiled, and for these arrays")
    if lengths is not None and (lengths.dtype != np.int64 or lengths.shape != (batch,)):
        raise ValueError(f"lengths are an int64 for each of {batch} sequences, not {lengths.dtype}{list(lengths.shape)}")
    spares = [np.empty(x.shape[skip:], x.dtype) for x in states]
    slots = np.zeros(len(probe) + 1, np.uintp)
    spare = np.array([x.ctypes.data for x in spares] + [0], np.uintp)
    sizes = np.array([x.nbytes for x in spares] + [0], np.intp)
    ways = np.zeros((len(elements) + 1) * sizeof(Way), np.uint8)
    how.ways = <Way*> cnp.PyArray_DATA(ways)
    for k, ((e, (outer, inner, whole)), back) in enumerate(zip(elements, backward, strict=True)):
        a = e
        how.ways[<Py_ssize_t> k] = Way(outer, inner, whole, back, cnp.PyArray_BYTES(a))
        if outer == 1:
            how.ways[<Py_ssize_t> k].buffer = NULL
    how.body, how.states, how.inputs, how.captured, how.outputs = &body.code, len(states), m, len(captured), len(outputs)
    how.length, how.batch, how.ragged = length, batch, lengths is not None
    how.slots, how.spare = <void**> cnp.PyArray_DATA(slots), <void**> cnp.PyArray_DATA(spare)
    how.sizes = <Py_ssize_t*> cnp.PyArray_DATA(sizes)
    arrays = (*((lengths,) if lengths is not None else ()), *states, *inputs, *captured, *ends, *outputs)
    return bound(<Run> walked, arrays, &how, sizeof(how), 0, (body, slots, spare, sizes, spares, ways, elements))


def way_of(x, int axis, int skip, Py_ssize_t length, Py_ssize_t batch):
    """An array for one element along an axis behind the batch's; its pieces, their bytes, and those of a batch item."""
    shape = x.shape[skip:]
    if skip and x.shape[:1] != (batch,) or not 0 <= axis < len(shape) or shape[axis] != length:
        raise ValueError(f"no axis {axis} of {length} in {shape}")
    element = np.empty(shape[:axis] + shape[axis + 1:], x.dtype)
    outer = int(np.prod(shape[:axis]))
    return element, (outer, element.nbytes // max(outer, 1), element.nbytes * length)
