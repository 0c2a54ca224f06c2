"""Part of program.pyx: where programs wait between runs."""


cdef class Shelf:
    """Idle programs, the last used at the end: a run takes one that fits, so two at once have one each.

    It keeps a few; when feeds come again whose program was let go, it keeps twice as many, as long as all take less than
    ``room`` bytes. So shapes that recur are bound once, and those that never do take no more memory than a few programs.
    """
    cdef list idle
    cdef dict gone
    cdef Py_ssize_t most, room, held

    def __init__(self, most, room):
        self.idle, self.gone, self.most, self.room = [], {}, most, room

    @cython.critical_section
    def take(self, list feeds):
        """An idle program for feeds like these, or None."""
        cdef Py_ssize_t i
        for i in range(len(self.idle) - 1, -1, -1):
            if (<Program> self.idle[i]).fits(feeds):
                return self.out(i)

    @cython.critical_section
    def oldest(self, list feeds):
        """The program unused for longest, where no more can be kept: one for these feeds may take its place. Else None."""
        if self.gone.pop(shapes_of(feeds), False):
            self.most = min(2 * self.most, MOST_KEPT)
        if len(self.idle) >= self.most or self.idle and self.held > self.room:
            return self.let_go()

    @cython.critical_section
    def put(self, Program program):
        """Keep a program for later runs, and let those unused for longest go."""
        self.idle.append(program)
        self.held += program.held
        while len(self.idle) > self.most or len(self.idle) > 1 and self.held > self.room:
            self.let_go()

    cdef Program out(self, Py_ssize_t i):
        cdef Program program = self.idle.pop(i)
        self.held -= program.held
        return program

    cdef Program let_go(self):
        """Take the program that was unused for longest, and remember what it was for."""
        cdef Program program = self.out(0)
        self.gone[shapes_of(program.slots[:program.fed])] = True
        if len(self.gone) > MOST_KEPT:
            del self.gone[next(iter(self.gone))]
        return program


cdef tuple shapes_of(list arrays):
    return tuple([getattr(a, "shape", None) for a in arrays])
