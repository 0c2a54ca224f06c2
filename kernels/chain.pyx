"""Chains of elementwise operations: each piece of the result goes through all of them while it is in the cache."""
from .elementwise cimport FIRST, NEITHER, SECOND, Map, Pair, cost_of, map_of, pair_of
from .elementwise import MAPS, PAIRS, TRUTHS, binary
from .step cimport ELEMENTS, OK, Element, Run, bound, code_of, team
from .threads cimport Task, share

cdef extern from "hot/chain.h" nogil:
    ctypedef struct ChainLoops:
        void (*spread[9])(const char* x, Py_ssize_t along, int repeats, char* y, Py_ssize_t rows, Py_ssize_t n) noexcept nogil
    const ChainLoops* picked "PICKED(chain)"

cdef const ChainLoops* loops = picked

cdef enum:
    AXES = 16     # that operands may have once neighbours are merged
    OPERANDS = 16
    CALLS = 32
    REGISTERS = 48  # operands, then the result of each call
    PIECE = 1024  # elements that pass through all calls at once
    FEW = 32       # elements of a row, below which a call for each costs more than they do
    SHORT = 64     # shorter rows are taken several at a time

ctypedef const char* Address
ctypedef void* Pointer

cdef enum Way:
    DIRECT  # a piece of the operand lies side by side
    ALONE   # one element serves a whole piece
    SPREAD  # rows of a piece are gathered into a register

cdef struct Operand:
    Way way
    Py_ssize_t along          # from one row of a piece to the next, in bytes
    bint repeats              # one element serves a row
    Py_ssize_t[AXES] step     # along the axes around the pieces, the slowest first, in bytes

cdef struct Call:
    Pair pair  # or NULL
    Map map
    int a, b, y, room, repeats
    bint alone  # all that it works on is one element
    double[2] settings

cdef struct Chain:
    Operand[OPERANDS] operand
    Call[CALLS] call
    int operands, calls, axes, rooms
    Py_ssize_t width, n, row, piece, pieces, count, cost  # elements of a run of rows, of a row and of a piece
    Py_ssize_t[AXES] size

cdef struct Running:
    void** at
    const Chain* how

cdef struct Place:
    Py_ssize_t[AXES] index
    Address[OPERANDS] at      # where the operands of this run of rows begin
    Address[OPERANDS] spread  # what lies in their registers: rows that repeat need no second copy


cdef void place(const Running* on, Place* p, Py_ssize_t run) noexcept nogil:
    """Where the operands of a run of rows begin."""
    cdef const Chain* how = on.how
    cdef int i, k
    for i in range(how.operands):
        p.at[i] = <const char*> on.at[i]
    for k in range(how.axes - 1, -1, -1):
        p.index[k] = run % how.size[k]
        run = run // how.size[k]
        for i in range(how.operands):
            p.at[i] += p.index[k] * how.operand[i].step[k]


cdef void operands_of(const Chain* how, Place* p, Py_ssize_t first, Py_ssize_t n, void** register,
                      char* scratch) noexcept nogil:
    """The registers of the operands for the elements from `first` on of a run of rows."""
    cdef const Operand* o
    cdef const char* x
    cdef int i
    for i in range(how.operands):
        o = how.operand + i
        x = p.at[i]
        if o.way == DIRECT:
            x += first * how.width
        elif o.way == SPREAD:
            x += first // how.row * o.along
            if p.spread[i] != x or o.along:
                p.spread[i] = x
                loops.spread[how.width](x, o.along, o.repeats, scratch + i * PIECE * how.width, n // how.row, how.row)
            x = scratch + i * PIECE * how.width
        register[i] = <void*> x


cdef int some_pieces(const Running* on, Py_ssize_t begin, Py_ssize_t end, char* scratch) noexcept nogil:
    """Pieces of the result, one after the other, each through all calls."""
    cdef const Chain* how = on.how
    cdef const Call* c
    cdef Pointer[REGISTERS] register
    cdef char* rooms = scratch + how.operands * PIECE * how.width
    cdef Py_ssize_t i, run = begin // how.pieces, piece = begin % how.pieces, first, n
    cdef Place p
    cdef int k, status
    for k in range(how.operands):
        p.spread[k] = NULL
    place(on, &p, run)
    for i in range(begin, end):
        first = piece * how.piece
        n = min(how.piece, how.n - first)
        operands_of(how, &p, first, n, register, scratch)
        for k in range(how.calls):
            c = how.call + k
            register[c.y] = rooms + c.room * PIECE * how.width
            if k == how.calls - 1:
                register[c.y] = <char*> on.at[how.operands] + (run * how.n + first) * how.width
            if c.pair != NULL:
                status = c.pair(register[c.a], register[c.b], register[c.y], 1 if c.alone else n, c.repeats, c.settings[0])
            else:
                status = c.map(register[c.a], register[c.y], 1 if c.alone else n, c.settings)
            if status:
                return status
        piece += 1
        if piece == how.pieces:
            piece, run = 0, run + 1
            if i + 1 < end:
                place(on, &p, run)
    return OK


cdef int all_pieces(void** at, const Chain* how) noexcept nogil:
    cdef Running on = Running(at, how)
    return share(team(at, how.operands + 1), <Task> some_pieces, &on, how.count, how.cost)


cdef int settle(Chain* how, list shapes, tuple shape) except -1:
    """Fill in how the operands broadcast to the result, and how it is cut into pieces."""
    cdef Py_ssize_t[AXES] size
    cdef Py_ssize_t[OPERANDS][AXES] step
    cdef Py_ssize_t[OPERANDS] made, along
    cdef Py_ssize_t n, own
    cdef int i, k, axes = 0, rank = len(shape), inner
    cdef bint merges
    for i in range(how.operands):
        made[i] = how.width
        if len(shapes[i]) > rank:
            raise ValueError(f"{shapes[i]} does not broadcast to {shape}")
    for k in range(rank):  # from the last axis on, merging each with the one before it where steps allow
        n, merges = shape[rank - 1 - k], axes > 0
        for i in range(how.operands):
            own = shapes[i][len(shapes[i]) - 1 - k] if k < len(shapes[i]) else 1
            if own != n and own != 1:
                raise ValueError(f"{shapes[i]} does not broadcast to {shape}")
            along[i] = 0 if own == 1 else made[i]
            made[i] *= own
            merges = merges and along[i] == step[i][axes - 1] * size[axes - 1]
        if n == 1:
            continue
        if merges:
            size[axes - 1] *= n
        elif axes == AXES:
            raise ValueError(f"{shapes} broadcast along more than {AXES} axes")
        else:
            size[axes] = n
            for i in range(how.operands):
                step[i][axes] = along[i]
            axes += 1
    if not axes:
        size[0], axes = 1, 1
        for i in range(how.operands):
            step[i][0] = how.width
    inner = 2 if axes > 1 and size[0] < SHORT else 1
    cut(how, size, inner)
    for i in range(how.operands):
        operand(how, i, step[i], inner)
    how.axes = axes - inner
    for k in range(how.axes):
        how.size[k] = size[axes - 1 - k]
        how.count *= how.size[k]
        for i in range(how.operands):
            how.operand[i].step[k] = step[i][axes - 1 - k]
    return 0


cdef void cut(Chain* how, const Py_ssize_t* size, int inner) noexcept:
    """Pieces of a long row, or of several short ones."""
    how.row = size[0]
    if inner == 2:
        how.n = size[0] * size[1]
        how.piece = max(PIECE // max(size[0], 1), 1) * size[0]
    else:
        how.n, how.piece = size[0], PIECE
    how.pieces = (how.n + how.piece - 1) // how.piece if how.n else 1
    how.count = how.pieces if how.n else 0


cdef void operand(Chain* how, int i, const Py_ssize_t* step, int inner) noexcept:
    """How a piece of an operand lies."""
    cdef Operand* o = how.operand + i
    o.repeats, o.along = step[0] == 0, step[1] if inner == 2 else 0
    if inner == 1 or o.along == (0 if o.repeats else how.row * how.width):
        o.way = ALONE if o.repeats else DIRECT
    else:
        o.way = SPREAD


cdef int calls_of(Chain* how, tuple program, Element code) except -1:
    """Fill in the calls of a program, and the room that each result needs until it is last read."""
    cdef int[REGISTERS] last
    cdef bint[REGISTERS] alone
    cdef bint[CALLS] taken
    cdef Call* c
    cdef int i, k, room
    cdef double cost = 0
    for k, (name, a, b, _, _) in enumerate(program):
        last[<int> a] = last[how.operands + k] = k
        last[<int> (a if b is None else b)] = k
    for k in range(how.operands):
        alone[k] = how.operand[k].way == ALONE
    for k in range(CALLS):
        taken[k] = False
    for k, (name, a, b, alpha, beta) in enumerate(program):
        c = how.call + k
        c.a, c.b, c.y, c.settings = a, a if b is None else b, how.operands + k, [alpha, beta]
        c.pair, c.map = NULL if b is None else pair_of(name, code), map_of(name, code) if b is None else NULL
        if c.pair == NULL and c.map == NULL:
            raise TypeError(f"no loops of {name} for this type")
        c.alone = alone[c.y] = alone[c.a] and alone[c.b]
        c.repeats = NEITHER if c.alone or not (alone[c.a] or alone[c.b]) else FIRST if alone[c.a] else SECOND
        room = 0
        while taken[room]:
            room += 1
        c.room, taken[room] = room, True
        how.rooms = max(how.rooms, room + 1)
        for i in (c.a, c.b):
            if i >= how.operands and last[i] == k:
                taken[how.call[i - how.operands].room] = False
        cost += cost_of(name, code)
    how.cost = <Py_ssize_t> (cost * min(how.n, how.piece) / 10) + 4 * how.calls
    return 0


def chain(program, operands, y):
    """``y`` by a program of calls on operands that broadcast to it: a step.

    A call is a tuple of its name, of `PAIRS` or `MAPS`, the registers that it reads, None in place of the second where it
    reads one, and two settings. The operands are the first registers; each call adds one, and the last is the result.
    """
    cdef Chain how
    cdef Element code = code_of(y)
    how.operands, how.calls, how.rooms, how.width = len(operands), len(program), 0, y.itemsize
    if not 0 < how.operands <= OPERANDS or not 0 < how.calls <= CALLS:
        raise ValueError(f"a chain has up to {OPERANDS} operands and {CALLS} calls, not {len(operands)} and {len(program)}")
    if code == ELEMENTS or y.itemsize == 1 or any([x.dtype != y.dtype for x in operands]):
        raise TypeError(f"no chain of {', '.join([str(x.dtype) for x in operands])} to {y.dtype}")
    for k, (name, a, b, _, _) in enumerate(program):
        if name in TRUTHS or name not in (MAPS if b is None else PAIRS):
            raise ValueError(f"no call in a chain: {name}")
        if not 0 <= a < how.operands + k or b is not None and not 0 <= b < how.operands + k:
            raise ValueError(f"{name} reads registers {a} and {b} of {how.operands + k}")
    if not y.flags.writeable:
        raise ValueError("the result's buffer is read-only")
    settle(&how, [x.shape for x in operands], y.shape)
    calls_of(&how, tuple(program), code)
    if how.call[how.calls - 1].alone and how.n > 1:
        raise ValueError("the result of a chain has the shape of what its last call reads")
    return bound(<Run> all_pieces, (*operands, y), &how, sizeof(how), (how.operands + how.rooms) * PIECE * how.width)


def pair(str name, a, b, y, double setting=0):
    """An operation of `PAIRS` on two arrays of one type: a step, None where no loop is compiled for it.

    Short rows of an operand that repeats are spread out once for many of them.
    """
    if name not in TRUTHS and a.shape != b.shape and y.ndim > 1 and 1 < y.shape[y.ndim - 1] < FEW and y.itemsize > 1 \
            and a.dtype == b.dtype == y.dtype and pair_of(name, code_of(y)) != NULL:
        return chain(((name, 0, 1, setting, 0),), (a, b), y)
    return binary(name, a, b, y, setting)
