"""What a list of offsets names, taken out of an array or put into one: by the bytes that elements have where nothing is
calculated, by type where updates are added, multiplied or compared. And the offsets that checked indices come to."""
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy
from .step cimport (BOOL, BRAIN, DOUBLE, FLOAT, HALF, INT8, INT16, INT32, INT64, OK, OUT_OF_RANGE, UINT8, UINT16, UINT32, UINT64,
                    Element, Run, Step, bound, code_of, floats, out_of_range, step)
from .threads cimport Task, Team, share

cdef enum:
    BYTES = 1 << 16  # that one thread copies

FOLDS = ("none", "add", "mul", "max", "min")

cdef struct pair:
    uint64_t low, high
ctypedef fused word:
    uint8_t
    uint16_t
    uint32_t
    uint64_t
    pair
ctypedef fused number:
    float
    double
    int8_t
    int16_t
    int32_t
    int64_t
    uint8_t
    uint16_t
    uint32_t
    uint64_t


cdef void take(const word* x, word* y, const Py_ssize_t* offsets, Py_ssize_t n, Py_ssize_t size, Py_ssize_t stride,
               int fold) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        if size == 1:
            y[i * stride] = x[offsets[i]]
        else:
            memcpy(y + i * stride, x + offsets[i], size * sizeof(word))


cdef void place(const word* u, word* y, const Py_ssize_t* offsets, Py_ssize_t n, Py_ssize_t size, Py_ssize_t stride,
                int fold) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        if size == 1:
            y[offsets[i]] = u[i * stride]
        else:
            memcpy(y + offsets[i], u + i * stride, size * sizeof(word))


cdef void folded(const number* u, number* y, const Py_ssize_t* offsets, Py_ssize_t n, Py_ssize_t size, Py_ssize_t stride,
                 int fold) noexcept nogil:
    """Each update on what stands there; NaN wins, whole numbers wrap around."""
    cdef Py_ssize_t i, k
    cdef const number* from_
    cdef number* to
    for i in range(n):
        from_, to = u + i * stride, y + offsets[i]
        for k in range(size):
            if fold == MAX:
                if from_[k] > to[k] or from_[k] != from_[k]:
                    to[k] = from_[k]
            elif fold == MIN:
                if from_[k] < to[k] or from_[k] != from_[k]:
                    to[k] = from_[k]
            elif number is float or number is double:
                to[k] = to[k] + from_[k] if fold == ADD else to[k] * from_[k]
            else:
                to[k] = <number> (<uint64_t> to[k] + <uint64_t> from_[k] if fold == ADD else
                                  <uint64_t> to[k] * <uint64_t> from_[k])


cdef Move mover(Py_ssize_t width, bint out) noexcept:
    """The code that moves elements of so many bytes; NULL for other widths."""
    if width == 1:
        return <Move> take[uint8_t] if out else <Move> place[uint8_t]
    if width == 2:
        return <Move> take[uint16_t] if out else <Move> place[uint16_t]
    if width == 4:
        return <Move> take[uint32_t] if out else <Move> place[uint32_t]
    if width == 8:
        return <Move> take[uint64_t] if out else <Move> place[uint64_t]
    return NULL if width != 16 else <Move> take[pair] if out else <Move> place[pair]


cdef Move folder(Element code) noexcept:
    """The code that folds numbers of a type, 16-bit ones as float; NULL where there is none."""
    if code == FLOAT or code == HALF or code == BRAIN:
        return <Move> folded[float]
    if code == DOUBLE:
        return <Move> folded[double]
    if code == INT8:
        return <Move> folded[int8_t]
    if code == INT16:
        return <Move> folded[int16_t]
    if code == INT32:
        return <Move> folded[int32_t]
    if code == INT64:
        return <Move> folded[int64_t]
    if code == UINT8 or code == BOOL:
        return <Move> folded[uint8_t]
    if code == UINT16:
        return <Move> folded[uint16_t]
    if code == UINT32:
        return <Move> folded[uint32_t]
    return <Move> folded[uint64_t] if code == UINT64 else NULL


cdef int resolved(const index* at, Py_ssize_t n, Py_ssize_t size, Py_ssize_t step, Py_ssize_t start, Py_ssize_t along,
                  Py_ssize_t* offsets) noexcept nogil:
    """Where elements are: `along` apart, and `step` for each position that an index tells."""
    cdef Py_ssize_t i, k
    for i in range(n):
        k = <Py_ssize_t> at[i] + (size if at[i] < 0 else 0)
        if k < 0 or k >= size:
            return OUT_OF_RANGE
        offsets[i] = start + k * step + i * along
    return OK


cdef int named(const index* at, Py_ssize_t n, const Py_ssize_t* sizes, Py_ssize_t axes) noexcept nogil:
    """Say which index is out of range: the first one, whichever thread came upon it."""
    cdef Py_ssize_t i
    for i in range(n):
        if at[i] < -sizes[i % axes] or at[i] >= sizes[i % axes]:
            return out_of_range(<Py_ssize_t> at[i], sizes[i % axes])
    return OUT_OF_RANGE


cdef struct Copying:
    const char* x
    char* y
    Py_ssize_t bytes


cdef int some_bytes(const Copying* on, Py_ssize_t begin, Py_ssize_t end, void* scratch) noexcept nogil:
    memcpy(on.y + begin * BYTES, on.x + begin * BYTES, min(end * BYTES, on.bytes) - begin * BYTES)
    return OK


cdef int copied_first(const Team* with_, const void* x, void* y, Py_ssize_t bytes) noexcept nogil:
    """The data where the result will be, unless it stands there already."""
    cdef Copying on = Copying(<const char*> x, <char*> y, bytes)
    if x == y or not bytes:
        return OK
    return share(with_, <Task> some_bytes, &on, (bytes + BYTES - 1) // BYTES, BYTES // 20)


cdef Step written(Run run, tuple arrays, const void* how, size_t size):
    if not arrays[len(arrays) - 1].flags.writeable:
        raise ValueError("the result's buffer is read-only")
    return bound(run, arrays, how, size)


cdef Step updating(Run run, data, indices, updates, y, void* how, size_t size, Move* move, int* fold, Py_ssize_t* width,
                   Py_ssize_t* bytes):
    """A step that copies the data and updates it; 16-bit numbers that are folded go through float, rounded once at the end."""
    cdef Element code = code_of(data)
    if not y.flags.writeable:
        raise ValueError("the result's buffer is read-only")
    if fold[0] == NONE:
        move[0] = mover(data.itemsize, False)
        return None if move[0] == NULL else bound(run, (data, updates, y, indices), how, size)
    move[0] = folder(code)
    if move[0] == NULL:
        return None
    if code == BOOL:  # a sum of truths is whether one is there, their product whether all are
        fold[0] = MAX if fold[0] in (ADD, MAX) else MIN
    if code != HALF and code != BRAIN:
        return bound(run, (data, updates, y, indices), how, size)
    width[0], bytes[0] = sizeof(float), data.size * sizeof(float)
    return step(floats(run, NULL), (data, updates, y), how, size, (indices,))
