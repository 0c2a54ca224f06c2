"""Programs: steps in order, run without the interpreter; a program is itself a step, so a body is a program too."""
from bisect import bisect_right

cimport cython
cimport numpy as cnp
import numpy as np
from libc.stdint cimport uintptr_t
from libc.stdlib cimport calloc, free
from posix.stdlib cimport posix_memalign
from .step cimport CANCELLED, NO_MEMORY, OK, Later, Step
from .step import KernelFailed, meaning

cnp.import_array()

cdef extern from *:
    """
    #include <time.h>
    #ifdef CLOCK_MONOTONIC_COARSE
    #define CHEAP_CLOCK CLOCK_MONOTONIC_COARSE
    #else
    #define CHEAP_CLOCK CLOCK_MONOTONIC
    #endif
    static long milliseconds(void) {
        struct timespec t;
        clock_gettime(CHEAP_CLOCK, &t);
        return t.tv_sec * 1000 + t.tv_nsec / 1000000 + 1;
    }
    static double seconds(void) {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return t.tv_sec + t.tv_nsec * 1e-9;
    }
    static int pending_exception(void) { return PyErr_Occurred() ? -1 : 0; }
    """
    long milliseconds() noexcept nogil
    double seconds() noexcept nogil
    int pending_exception() except -1
    int PyErr_CheckSignals() noexcept

cdef enum:
    FIXED = -1
    FOREIGN = -2
    BETWEEN_LOOKS = 50  # milliseconds between two looks at pending signals
    LINE = 64
    MOST_KEPT = 256  # idle programs of one shelf: a run looks through them
    A_STEP = 1024  # bytes that a bound step or a stand-in takes, about


cdef void begin(Code* c, void** slots) noexcept nogil:
    """Point the steps at the arrays of this run."""
    cdef Py_ssize_t i
    for i in range(c.moves):
        c.patches[i].at[0] = <char*> slots[c.patches[i].slot] + c.patches[i].offset
    c.next = 0


cdef int go_on(Code* c) noexcept nogil:
    """Run up to the next Python step, the end, or a failure."""
    cdef Entry* e = c.entries + c.next
    cdef int status
    while e.fn != NULL:
        status = e.fn(e.at, e.how)
        c.next = e - c.entries
        if status:
            return status
        if c.cancelled[0]:
            return CANCELLED
        c.ticks += 1
        if not c.ticks & 7 and due(c) and look():
            return CANCELLED
        e += 1
    c.next = e - c.entries
    return OK


cdef inline bint due(Code* c) noexcept nogil:
    """Whether it is time to look at pending signals again."""
    cdef long now = milliseconds()
    if now - c.looked < BETWEEN_LOOKS:
        return False
    cdef bint began = c.looked != 0
    c.looked = now
    return began


cdef int look() noexcept with gil:
    """Let Python handle a signal; what its handler raises stays pending."""
    return PyErr_CheckSignals()


cdef inline bint within(const char* p, cnp.ndarray a):
    """Whether an address lies in an array; an empty one has its first."""
    return 0 <= p - cnp.PyArray_BYTES(a) < max(cnp.PyArray_NBYTES(a), 1)


cdef inline own(value):
    """A result that is no view, so that nobody else can change it."""
    return value.copy() if isinstance(value, np.ndarray) and value.base is not None else value


cdef inline fresh(cnp.ndarray a):
    return cnp.PyArray_EMPTY(cnp.PyArray_NDIM(a), cnp.PyArray_DIMS(a), cnp.PyArray_TYPE(a), 0)


cdef class Cancel:
    """Stops the runs of a session that are under way."""

    @cython.critical_section
    def enter(self):
        self.running += 1

    @cython.critical_section
    def leave(self):
        self.running -= 1
        if not self.running:
            self.now = 0

    @cython.critical_section
    def __call__(self):
        self.now = self.running > 0


cdef class Cell:
    """Where a value stands that is no plain array: strings, sequences, optionals, maps. Only Python steps touch it.

    One that is fed may say which shape an array there has to have, and that it holds ``text``.
    """

    def __init__(self, shape=None, bint text=False):
        self.shape, self.text = shape, text

    cdef bint holds(self, value):
        """Whether this is a value for it, as far as it knows."""
        if self.text and not (isinstance(value, np.ndarray) and (<cnp.ndarray> value).descr.kind in b"OUS"):
            return False
        return self.shape is None or getattr(value, "shape", None) == self.shape


cdef class Program:
    """Steps over ``slots``, stand-ins for the arrays of a run: those fed, then those filled. One run at a time.

    An array outside slots, room and constants is refused: it would be a copy made while binding, stale by the second run.
    ``constants`` are the addresses of arrays that never move; whoever builds a program keeps those arrays alive.
    """

    def __init__(self, list steps, list labels, list slots, Py_ssize_t fed, Room room, set constants, int threads, Cancel cancel):
        cdef Py_ssize_t i, k, slot, offset = 0, n = len(steps)
        cdef Py_ssize_t each = 0, hungriest = 0
        self.steps, self.labels, self.slots, self.fed, self.room = steps, labels, slots, fed, room
        self.waiting, self.cancel = [], cancel
        self.cells = [k for k in range(len(slots)) if isinstance(slots[k], Cell)]
        self.inner = [a for s in steps if isinstance(s, Later) for a in s.arrays if isinstance(a, Cell) and a.value is None]
        self.code.entries = <Entry*> calloc(n + 1, sizeof(Entry))
        self.at = <void**> calloc(len(slots) + 1, sizeof(void*))
        if self.code.entries == NULL or self.at == NULL:
            raise MemoryError
        self.code.cancelled, self.code.next = &cancel.now, n
        patches = []
        starts = sorted([(<uintptr_t> cnp.PyArray_DATA(<cnp.ndarray> a), k) for k, a in enumerate(slots) if isinstance(a, np.ndarray)])
        for i in range(n):
            made = steps[i]
            for k, a in enumerate(made.arrays):
                slot = self.place(a, constants, starts, &offset)
                if slot == FOREIGN:
                    raise ValueError(f"{labels[i]}: bound to memory that is not the program's")
                if slot >= 0:
                    patches.append((i, k, slot, offset))
            if isinstance(made, Later):
                self.waiting.append((<Later> made, []))
            else:
                self.code.entries[i] = Entry((<Step> made).fn, (<Step> made).at, (<Step> made).how)
                if (<Step> made).scratch > each:
                    each, hungriest = (<Step> made).scratch, i
        self.hire(threads, each, hungriest)
        self.patch(patches)
        self.held = (n + len(slots)) * A_STEP  # no page of a stand-in is ever touched

    def hire(self, int threads, Py_ssize_t each, Py_ssize_t hungriest):
        """Give every thread scratch of its own, as much as the hungriest step needs."""
        cdef Py_ssize_t i
        each = (each + LINE - 1) // LINE * LINE
        try:
            self.room.grow(each * threads)
        except MemoryError:
            raise MemoryError(f"{self.labels[hungriest]}: no memory for {each * threads} bytes of scratch") from None
        self.team = Team(threads, self.room.memory, each)
        for i in range(len(self.steps)):
            if self.code.entries[i].fn != NULL:
                self.code.entries[i].at[len(self.steps[i].arrays)] = &self.team

    def patch(self, list patches):
        """Note what has to be pointed elsewhere at every run."""
        cdef Py_ssize_t i, k, slot, offset
        later = {i: moving for i, moving in zip([i for i, s in enumerate(self.steps) if isinstance(s, Later)], self.waiting)}
        self.code.patches = <Patch*> calloc(len(patches) + 1, sizeof(Patch))
        if self.code.patches == NULL:
            raise MemoryError
        for i, k, slot, offset in patches:
            if self.code.entries[i].fn != NULL:
                self.code.patches[self.code.moves] = Patch(self.code.entries[i].at + k, slot, offset)
                self.code.moves += 1
            else:
                mine = (<Later> self.steps[i]).arrays[k]
                later[i][1].append((k, slot, None if mine.shape == self.slots[slot].shape else mine.shape, mine))

    cdef Py_ssize_t place(self, a, set constants, list starts, Py_ssize_t* offset) except? -3:
        """The slot that an array lies in, and how far; FIXED where it never moves."""
        cdef char* p
        cdef Py_ssize_t k
        if not isinstance(a, np.ndarray):
            return FIXED
        p = cnp.PyArray_BYTES(<cnp.ndarray> a)
        if within(p, self.room.block):
            return FIXED
        k = bisect_right(starts, (<uintptr_t> p, len(self.slots))) - 1
        if k >= 0:
            k = starts[k][1]
            if within(p, self.slots[k]):
                offset[0] = p - cnp.PyArray_BYTES(<cnp.ndarray> self.slots[k])
                return k
        return FIXED if <uintptr_t> p in constants else FOREIGN

    def __dealloc__(self):
        free(self.code.entries)
        free(self.code.patches)
        free(self.at)

    @property
    def compiled(self) -> bool:
        """Whether no step needs the interpreter, and no value stands in a cell."""
        return not self.waiting and not self.cells

    @property
    def memory(self) -> int:
        """Bytes of the room that it works in."""
        return self.room.size

    cdef bint fits(self, list arrays):
        """Whether arrays, the first of the slots or all, have the shapes and types this program was bound for."""
        cdef cnp.ndarray a, b
        cdef Py_ssize_t i, k
        if len(arrays) < self.fed or len(arrays) > len(self.slots):
            return False
        for i in range(len(arrays)):
            if isinstance(self.slots[i], Cell):
                if not (<Cell> self.slots[i]).holds(arrays[i]):
                    return False
                continue
            if not isinstance(arrays[i], np.ndarray):
                return False
            a, b = arrays[i], self.slots[i]
            if cnp.PyArray_NDIM(a) != cnp.PyArray_NDIM(b) or a.descr is not b.descr and a.dtype != b.dtype:
                return False
            for k in range(cnp.PyArray_NDIM(a)):
                if cnp.PyArray_DIM(a, k) != cnp.PyArray_DIM(b, k):
                    return False
        return True

    def run(self, list feeds, list outs=None, watch=None) -> list:
        """Fill ``outs``, or fresh arrays. Feeds that are not contiguous and aligned are copied.

        ``watch.before(k, arrays)`` and ``watch.after(k, arrays, started, seconds)`` are called around every step, where there
        is one, with the arrays of this run in the order of the slots.
        """
        cdef Py_ssize_t i
        cdef list arrays = []
        for a in feeds:
            if isinstance(a, np.ndarray) and not cnp.PyArray_ISCARRAY_RO(<cnp.ndarray> a) and (<cnp.ndarray> a).descr.kind != b"O":
                a = np.require(a, requirements="CA")
            arrays.append(a)
        if outs is None:
            outs = [None if isinstance(a, Cell) else fresh(a) for a in self.slots[self.fed:]]
        for a in outs:
            if a is not None and not cnp.PyArray_ISCARRAY(<cnp.ndarray?> a):
                raise ValueError("results go into contiguous, aligned, writeable arrays")
        arrays += outs
        if len(arrays) != len(self.slots) or not self.fits(arrays):
            raise ValueError("arrays of other shapes or types than the program's")
        for i in range(len(arrays)):
            if not isinstance(self.slots[i], Cell):
                self.at[i] = cnp.PyArray_DATA(<cnp.ndarray> arrays[i])
        if self.waiting or self.cells:
            self.lend(arrays)
        self.team.scratch = self.room.memory  # another program that has the room may have let it grow
        begin(&self.code, self.at)
        try:
            if watch is None:
                self.finish()
            else:
                self.follow(watch, arrays)
            for i in self.cells:
                if i >= self.fed:
                    outs[i - self.fed] = own((<Cell> self.slots[i]).value)
        finally:
            self.code.next = len(self.steps)
            if self.waiting or self.cells:
                self.lend(None)
        return outs

    cdef finish(self):
        """Run to the end, the Python steps among the others."""
        cdef int status
        while True:
            with nogil:
                status = go_on(&self.code)
            if status:
                self.fail(status)
            if self.code.next == len(self.steps):
                return
            self.call_later()
            self.code.next += 1

    cdef fail(self, int status):
        pending_exception()
        raise KernelFailed(f"{self.where()}: {meaning(status)}")

    cdef call_later(self):
        """The Python step that comes next."""
        try:
            made = self.steps[self.code.next]
            (<Later> made).fn(*(<Later> made).arrays)
        except Exception as e:
            raise KernelFailed(f"{self.where()}: {e}") from e
        if self.cancel.now:
            raise KernelFailed(f"{self.where()}: {meaning(CANCELLED)}")

    cdef follow(self, watch, list arrays):
        """Run to the end, one step at a time, each between two words to a watch."""
        cdef Entry* e
        cdef int status
        cdef double began, took
        for k in range(len(self.steps)):
            self.code.next = k
            watch.before(k, arrays)
            e = self.code.entries + <Py_ssize_t> k
            if e.fn != NULL:
                with nogil:
                    began = seconds()
                    status = e.fn(e.at, e.how)
                    took = seconds() - began
                if status or self.cancel.now:
                    self.fail(status or CANCELLED)
            else:
                began = seconds()
                self.call_later()
                took = seconds() - began
            watch.after(k, arrays, began, took)

    cdef lend(self, list arrays):
        """Hand the arrays of a run to the Python steps; the stand-ins again when it is over, so that none is kept alive."""
        cdef Later later
        for later, moving in self.waiting:
            for k, slot, shape, mine in moving:
                if arrays is None:
                    later.arrays[k] = mine
                else:
                    later.arrays[k] = arrays[slot] if shape is None else arrays[slot].reshape(shape)
        for cell in self.inner:
            (<Cell> cell).value = None
        for k in self.cells:
            (<Cell> self.slots[k]).value = arrays[k] if arrays is not None and k < self.fed else None

    cdef str where(self):
        """The label of the step that failed, after those of the steps it lies in."""
        cdef Program inner
        label, made = self.labels[self.code.next], self.steps[self.code.next]
        for body in (<Step> made).keep or () if isinstance(made, Step) else ():
            if isinstance(body, Program):
                inner = body
                if inner.code.next < len(inner.steps):
                    label = f"{label} / {inner.where()}"
                    inner.code.next = len(inner.steps)
        return label


include "shelf.pxi"
