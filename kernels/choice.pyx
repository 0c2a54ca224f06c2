"""Elements of one array where a condition holds, of another where it does not; all three broadcast."""
from .step cimport BOOL, OK, Run, Step, bound, code_of, team
from .threads cimport Task, share

cdef extern from "hot/choice.h" nogil:
    ctypedef void (*Choose)(const char* condition, const char* x, const char* y, char* z, Py_ssize_t n, int repeats) noexcept nogil
    ctypedef struct ChoiceLoops:
        Choose[5] choose
    const ChoiceLoops* picked "PICKED(choice)"

cdef const ChoiceLoops* loops = picked

cdef enum:
    AXES = 8  # that operands may have once neighbours are merged
    WIDTHS = 5  # elements of 1, 2, 4, 8 and 16 bytes
    PIECE = 8192  # elements that one call of a row function takes

cdef struct How:
    Choose row
    int repeats, axes  # a bit for each operand that is one element along a row
    Py_ssize_t n, pieces, count, width  # elements of a row, its pieces, pieces of all rows, bytes of an element
    Py_ssize_t[AXES] size  # of the axes around the rows
    Py_ssize_t[AXES][3] step  # of each operand along them, in bytes

cdef struct Operands:
    const char* at[3]
    char* z
    const How* how


cdef int some(const Operands* on, Py_ssize_t begin, Py_ssize_t end, void* scratch) noexcept nogil:
    """Pieces of rows, one after the other."""
    cdef const How* how = on.how
    cdef Py_ssize_t row, rest, first, i
    cdef const char* at[3]
    cdef int k, j
    for i in range(begin, end):
        row, first = i // how.pieces, i % how.pieces * PIECE
        rest = row
        for j in range(3):
            at[j] = on.at[j] if how.repeats >> j & 1 else on.at[j] + first * (how.width if j else 1)
        for k in range(how.axes - 1, -1, -1):
            for j in range(3):
                at[j] += rest % how.size[k] * how.step[k][j]
            rest = rest // how.size[k]
        how.row(at[0], at[1], at[2], on.z + (row * how.n + first) * how.width, min(how.n - first, <Py_ssize_t> PIECE),
                how.repeats)
    return OK


cdef int run(void** at, const How* how) noexcept nogil:
    cdef Operands on
    cdef int j
    for j in range(3):
        on.at[j] = <const char*> at[j]
    on.z, on.how = <char*> at[3], how
    return share(team(at, 4), <Task> some, &on, how.count, min(how.n, <Py_ssize_t> PIECE) // 2 + 4)


cdef bint settle(How* how, tuple operands, z) except -1:
    """Fill in how three operands broadcast to a result; False where they have too many axes of their own."""
    cdef Py_ssize_t[AXES + 1] size
    cdef Py_ssize_t[AXES + 1][3] along
    cdef Py_ssize_t[3] n, grown = [1, 1, 1], step
    cdef Py_ssize_t most
    cdef int k, j, axes = 0, rank = z.ndim
    cdef bint merges
    if rank != max(a.ndim for a in operands):
        raise ValueError(f"{', '.join(str(a.shape) for a in operands)} do not broadcast to {z.shape}")
    for k in range(rank):  # from the last axis on, merging each with the one before it where all steps allow
        most = z.shape[rank - 1 - k]
        for j in range(3):
            n[j] = operands[j].shape[operands[j].ndim - 1 - k] if k < operands[j].ndim else 1
        if any(n[j] != 1 and n[j] != most for j in range(3)) or (most != 1 and n[0] == 1 and n[1] == 1 and n[2] == 1):
            raise ValueError(f"{', '.join(str(a.shape) for a in operands)} do not broadcast to {z.shape}")
        if most == 1:
            continue
        merges = axes > 0
        for j in range(3):
            step[j] = 0 if n[j] == 1 else grown[j]
            grown[j] *= n[j]
            merges = merges and step[j] == along[axes - 1][j] * size[axes - 1]
        if merges:
            size[axes - 1] *= most
        elif axes == AXES + 1:
            return False
        else:
            size[axes] = most
            for j in range(3):
                along[axes][j] = step[j]
            axes += 1
    if not axes:
        size[0], along[0][0], along[0][1], along[0][2], axes = 1, 1, 1, 1, 1
    how.n, how.axes, how.repeats, how.width = size[0], axes - 1, 0, z.itemsize
    for j in range(3):
        how.repeats |= (along[0][j] == 0) << j
    how.pieces = max((how.n + PIECE - 1) // PIECE, 1)
    how.count = how.pieces if how.n else 0
    for k in range(axes - 1):  # the slowest first
        how.size[k] = size[axes - 1 - k]
        how.count *= how.size[k]
        for j in range(3):
            how.step[k][j] = along[axes - 1 - k][j] * (how.width if j else 1)
    return True


def where(condition, x, y, z):
    """`z` is `x` where the condition holds, else `y`: a step, None for elements that are no plain bytes or too many axes."""
    cdef How how
    cdef int k = (1, 2, 4, 8, 16).index(z.itemsize) if z.itemsize in (1, 2, 4, 8, 16) and not z.dtype.hasobject else -1
    if code_of(condition) != BOOL or x.dtype != z.dtype or y.dtype != z.dtype:
        raise TypeError(f"{x.dtype} or {y.dtype} by a {condition.dtype} is no {z.dtype}")
    if not z.flags.writeable:
        raise ValueError("the result's buffer is read-only")
    if k < 0 or not settle(&how, (condition, x, y), z):
        return None
    how.row = loops.choose[k]
    return bound(<Run> run, (condition, x, y, z), &how, sizeof(how))
