"""Part of program.pyx: where programs wait between runs, and the memory that they have together."""


cdef class Room:
    """The memory that a run works in: a block for the values between operators, and scratch for every thread.

    Programs that wait on one shelf may have it together, for one of them runs at a time.
    """

    def __init__(self, block):
        self.block = block

    cdef int grow(self, Py_ssize_t scratch) except -1:
        """See to so much scratch at least."""
        cdef void* made = NULL
        if scratch > self.scratch or self.memory == NULL:
            if posix_memalign(&made, LINE, scratch + LINE):
                raise MemoryError
            free(self.memory)
            self.memory, self.scratch = <char*> made, scratch
        return 0

    @property
    def size(self) -> int:
        """Bytes of the block and of scratch."""
        return self.block.nbytes + self.scratch

    def __dealloc__(self):
        free(self.memory)


cdef class Shelf:
    """Idle programs, the last used at the end: a run takes one that fits, so two at once have one each.

    It keeps a few; when feeds come again whose program was let go, it keeps twice as many, as long as all take less than
    ``most_bytes``. So shapes that recur are bound once, and those that never do take no more memory than a few programs.
    Programs have a room together where one is large enough; a run takes it as well.
    """
    cdef list idle
    cdef dict gone
    cdef Py_ssize_t most, most_bytes, held

    def __init__(self, most, most_bytes):
        self.idle, self.gone, self.most, self.most_bytes = [], {}, most, most_bytes

    @cython.critical_section
    def take(self, list feeds):
        """An idle program for feeds like these, or None."""
        cdef Py_ssize_t i
        for i in range(len(self.idle) - 1, -1, -1):
            if not (<Program> self.idle[i]).room.busy and (<Program> self.idle[i]).fits(feeds):
                (<Program> self.idle[i]).room.busy = True
                return self.out(i)

    def bind(self, list feeds, make):
        """A new program, of ``make(feeds, old, beside)``: it may take over the old one, or work in the room of another."""
        cdef Program made = None, old = self.oldest(feeds), beside = None if old is not None else self.newest()
        cdef Room room = old.room if old is not None else beside.room if beside is not None else None
        try:
            made = make(feeds, old, beside)
        finally:
            if room is not None and (made is None or made.room is not room):
                room.busy = False
        made.room.busy = True
        return made

    @cython.critical_section
    def oldest(self, list feeds):
        """The program unused for longest, where no more can be kept: one for these feeds may take its place. Else None."""
        if self.gone.pop(shapes_of(feeds), False):
            self.most = min(2 * self.most, MOST_KEPT)
        if len(self.idle) >= self.most or self.idle and self.held > self.most_bytes:
            for i in range(len(self.idle)):
                if not (<Program> self.idle[i]).room.busy:
                    (<Program> self.idle[i]).room.busy = True
                    return self.let_go(i)

    @cython.critical_section
    def newest(self):
        """The program used last whose room is free, or None."""
        for program in reversed(self.idle):
            if not (<Program> program).room.busy:
                (<Program> program).room.busy = True
                return program

    @cython.critical_section
    def put(self, Program program):
        """Keep a program for later runs, and let those unused for longest go."""
        cdef Room room = program.room
        self.idle.append(program)
        room.busy = False
        room.idle += 1
        self.held += program.held + room.size - room.counted
        room.counted = room.size
        while len(self.idle) > self.most or len(self.idle) > 1 and self.held > self.most_bytes:
            self.let_go(0)

    cdef Program out(self, Py_ssize_t i):
        cdef Program program = self.idle.pop(i)
        cdef Room room = program.room
        room.idle -= 1
        self.held -= program.held
        if not room.idle:
            self.held -= room.counted
            room.counted = 0
        return program

    cdef Program let_go(self, Py_ssize_t i):
        """Take a program that was unused for long, and remember what it was for."""
        cdef Program program = self.out(i)
        self.gone[shapes_of(program.slots[:program.fed])] = True
        if len(self.gone) > MOST_KEPT:
            del self.gone[next(iter(self.gone))]
        return program


cdef tuple shapes_of(list arrays):
    return tuple([getattr(a, "shape", None) for a in arrays])
