"""Products of bytes, of matrices and by patches of images: exact in 32 bits, as they are, scaled, or quantised again."""
import math
cimport numpy as cnp
import numpy as np
from libc.stdint cimport int16_t, int32_t, uint8_t
from .conv cimport Convolution, settle
from .step cimport Run, bound, team
from .threads cimport Task, Team, share
from .conv import check, depthwise
from .gemm import parts, starts

cnp.import_array()

cdef extern from "hot/integer.h" nogil:
    enum:
        SUMS, FLOATS, UNSIGNED_BYTES, SIGNED_BYTES
    ctypedef struct Lines:
        const Py_ssize_t* at
        Py_ssize_t along
    ctypedef struct Integers:
        Py_ssize_t batch, m, n, k
        bint a_signed, b_signed, patches, planes
        const Py_ssize_t* a_at
        const Py_ssize_t* b_at
        const int16_t* a_rows
        const int16_t* b_panels
        const uint8_t* blocks
        const int32_t* line_sums
        const Py_ssize_t* sums_at
        Py_ssize_t groups, block_size
        Lines a_zero, b_zero, a_scale, b_scale, bias
        Py_ssize_t bias_across
        int result
        Convolution window
    ctypedef struct IntegersCall:
        const Integers* how
        const uint8_t* a
        const uint8_t* b
        const uint8_t* a_zero
        const uint8_t* b_zero
        const uint8_t* y_zero
        const float* a_scale
        const float* b_scale
        const float* y_scale
        const void* bias
        void* y
        uint8_t* image
        Py_ssize_t batch, count, cost
    ctypedef struct Weights:
        Py_ssize_t lines, taps, channels, line_step, tap_step, channel_step, width
        bint is_signed
    ctypedef struct NarrowLoops:
        Py_ssize_t rows, columns
        Py_ssize_t (*packed_block)(const Weights* how) noexcept nogil
        Py_ssize_t (*packing_room)(const Weights* how) noexcept nogil
        void (*pack)(const Weights* how, const uint8_t* w, uint8_t* out, int32_t* sums, uint8_t* room) noexcept nogil
        Py_ssize_t (*scratch)(const Integers* how) noexcept nogil
        void (*cut)(IntegersCall* call, int threads) noexcept nogil
        void (*cut_image)(IntegersCall* call, int threads) noexcept nogil
        Py_ssize_t (*image_rows)(const Integers* how) noexcept nogil
        Task task, row_task, image_task
    ctypedef struct IntegerLoops:
        Py_ssize_t columns
        Py_ssize_t (*depth)(Py_ssize_t k) noexcept nogil
        void (*pack_rows)(const uint8_t* a, bint is_signed, Py_ssize_t rows, Py_ssize_t k, int16_t* out) noexcept nogil
        void (*pack_panels)(const uint8_t* b, bint is_signed, Py_ssize_t k, Py_ssize_t n, int16_t* out) noexcept nogil
        Py_ssize_t (*scratch)(const Integers* how) noexcept nogil
        void (*cut)(IntegersCall* call, int threads) noexcept nogil
        Task task, planes_task
        const NarrowLoops* narrow
    const IntegerLoops* picked "PICKED(integer)"

cdef const IntegerLoops* loops = picked
BYTES = (np.dtype(np.uint8), np.dtype(np.int8))


class Blocks:
    """Constant weights in blocks of lines for products in 16 bits, where the processor has such; of a batch, or in groups."""

    def __init__(self, w, Py_ssize_t batch, Py_ssize_t lines, Py_ssize_t taps, Py_ssize_t channels, steps, columns):
        cdef Weights how
        cdef cnp.ndarray blocks, sums, room, source = np.ascontiguousarray(w)
        cdef Py_ssize_t i, each
        how.lines, how.taps, how.channels, how.is_signed = lines, taps, channels, signed(w.dtype)
        how.line_step, how.tap_step, how.channel_step = steps
        how.width = loops.narrow.columns if columns else loops.narrow.rows
        self.size, self.groups = loops.narrow.packed_block(&how), taps * ((channels + 3) // 4)
        self.each = each = (lines + how.width - 1) // how.width * self.size
        self.blocks = blocks = np.empty(batch * each, np.uint8)
        self.sums = sums = np.zeros(batch * lines, np.int32)
        room = np.empty(loops.narrow.packing_room(&how), np.uint8)
        for i in range(batch):
            loops.narrow.pack(&how, <const uint8_t*> cnp.PyArray_DATA(source) + i * lines * taps * channels,
                              <uint8_t*> cnp.PyArray_DATA(blocks) + i * each, <int32_t*> cnp.PyArray_DATA(sums) + i * lines,
                              <uint8_t*> cnp.PyArray_DATA(room))


class Panels:
    """A constant second factor, or a batch of them, in blocks or widened, as the micro-kernel reads them."""

    def __init__(self, b):
        batch, k, n = parts(b.shape, False)
        self.dtype, self.ndim, self.shape = b.dtype, b.ndim, (*batch, k, n)
        self.blocks = self.halves = None
        if loops.narrow != NULL:
            self.blocks = Blocks(b, math.prod(batch), n, 1, k, (1, 0, n), True)
        else:
            self.halves = panels_of(np.ascontiguousarray(b), math.prod(batch), k, n)


def panels_of(cnp.ndarray b, Py_ssize_t batch, Py_ssize_t k, Py_ssize_t n):
    cdef Py_ssize_t i, each = (n + loops.columns - 1) // loops.columns * loops.columns * loops.depth(k)
    cdef cnp.ndarray out = np.empty((batch, each), np.int16)
    cdef bint is_signed = signed(b.dtype)
    for i in range(batch):
        loops.pack_panels(<const uint8_t*> cnp.PyArray_DATA(b) + i * k * n, is_signed, k, n,
                          <int16_t*> cnp.PyArray_DATA(out) + i * each)
    return out


class Rows:
    """Constant weights of a convolution, in blocks or widened, as the micro-kernel reads them, for so many groups."""

    def __init__(self, w, group=1):
        self.dtype, self.ndim, self.shape, self.group = w.dtype, w.ndim, w.shape, group
        self.blocks = self.halves = None
        k, taps = math.prod(w.shape[1:]), math.prod(w.shape[2:])
        if loops.narrow != NULL:
            self.blocks = Blocks(w, group, w.shape[0] // group, taps, w.shape[1], (k, 1, taps), False)
        else:
            self.halves = rows_of(np.ascontiguousarray(w), w.shape[0], k)


def rows_of(cnp.ndarray w, Py_ssize_t rows, Py_ssize_t k):
    cdef cnp.ndarray out = np.empty((rows, loops.depth(k)), np.int16)
    loops.pack_rows(<const uint8_t*> cnp.PyArray_DATA(w), signed(w.dtype), rows, k, <int16_t*> cnp.PyArray_DATA(out))
    return out


def signed(dtype):
    """Whether bytes are signed; anything but bytes is refused."""
    if dtype not in BYTES:
        raise TypeError(f"a factor of {dtype}; it must be of int8 or uint8")
    return dtype == np.int8


cdef struct Bound:
    Integers product
    int a, b, a_zero, b_zero, y_zero, a_scale, b_scale, y_scale, bias, y, arrays  # where each stands; -1 for what is absent


cdef inline void* there(void** at, int place) noexcept nogil:
    return NULL if place < 0 else at[place]


cdef int run(void** at, const Bound* how) noexcept nogil:
    cdef const Team* workers = team(at, how.arrays)
    cdef IntegersCall call
    call.how = &how.product
    call.a, call.b = <const uint8_t*> there(at, how.a), <const uint8_t*> there(at, how.b)
    call.a_zero, call.b_zero = <const uint8_t*> there(at, how.a_zero), <const uint8_t*> there(at, how.b_zero)
    call.y_zero, call.y_scale = <const uint8_t*> there(at, how.y_zero), <const float*> there(at, how.y_scale)
    call.a_scale, call.b_scale = <const float*> there(at, how.a_scale), <const float*> there(at, how.b_scale)
    call.bias, call.y = there(at, how.bias), at[how.y]
    if how.product.blocks != NULL:
        return image_by_image(workers, &call) if how.product.patches else narrow(workers, &call)
    loops.cut(&call, workers.threads)
    return share(workers, loops.planes_task if how.product.planes else loops.task, &call, call.count, call.cost)


cdef int narrow(const Team* workers, IntegersCall* call) noexcept nogil:
    loops.narrow.cut(call, workers.threads)
    return share(workers, loops.narrow.task, call, call.count, call.cost)


cdef int image_by_image(const Team* workers, IntegersCall* call) noexcept nogil:
    """Lay out the image of each of the batch in the first thread's scratch, then let all of them read it."""
    cdef Py_ssize_t rows = loops.narrow.image_rows(call.how)
    call.image = <uint8_t*> workers.scratch
    for call.batch in range(call.how.batch):
        loops.narrow.cut_image(call, workers.threads)
        share(workers, loops.narrow.row_task, call, rows, 1 + call.how.window.size[2])
        share(workers, loops.narrow.image_task, call, call.count, call.cost)
    return 0


def product(a, b, y, **scaling):
    """The product of matrices of bytes, or of batches that broadcast, into ``y``: a step. ``b`` may be `Panels`.

    ``scaling`` has `a_zero`, `b_zero`, `bias` and, unless ``y`` is of int32, `a_scale` and `b_scale`; for bytes also `y_scale`
    and `y_zero`. What is a's has one element or one for each row, (…, m, 1); what is b's, or the bias, one for each column,
    (…, 1, n) or (n,).
    """
    cdef Bound how
    cdef Integers* p = &how.product
    (lead, m, k), (trail, inner, n) = parts(a.shape, False), parts(b.shape, False)
    batch = lead if lead == trail else np.broadcast_shapes(lead, trail)
    if k != inner or y.shape != (*batch, m, n):
        raise ValueError(f"{a.shape} times {b.shape} is not {y.shape}")
    blocks = b.blocks if isinstance(b, Panels) else None
    each = k * n if not isinstance(b, Panels) else b.halves.shape[1] if blocks is None else blocks.each
    a_at = starts(lead, batch, m * k)
    b_at = starts(trail, batch, each)
    rows = {name: scaling.get(name) for name in ("a_zero", "a_scale")}
    columns = {name: scaling.get(name) for name in ("b_zero", "b_scale", "bias")}
    if b.ndim == 2 and all([r is None or r.size == 1 for r in rows.values()]) and columns_alone(columns):
        batch, m, a_at, b_at = (), m * len(a_at), a_at[:1], b_at[:1]  # one factor for all of a batch: one taller product
    p.batch, p.m, p.n, p.k, p.patches, p.planes = len(a_at), m, n, k, False, False
    p.a_rows = p.b_panels = NULL
    keep = [a_at, b_at, b]
    lines(&p.a_zero, rows["a_zero"], batch, (m, 1), keep)
    lines(&p.a_scale, rows["a_scale"], batch, (m, 1), keep)
    lines(&p.b_zero, columns["b_zero"], batch, (1, n), keep)
    lines(&p.b_scale, columns["b_scale"], batch, (1, n), keep)
    lines(&p.bias, columns["bias"], batch, (1, n), keep)
    p.bias_across, p.bias.along = p.bias.along, 0
    return bind(how, a, b, y, a_at, b_at, None if blocks is None else at_lines(b_at, each, n, keep), scaling, keep)


cdef at_lines(cnp.ndarray b_at, Py_ssize_t each, Py_ssize_t n, list keep):
    """Where the sums of the lines of each of the batch begin, given where its blocks do."""
    at = b_at // max(each, 1) * n
    keep.append(at)
    return at


def columns_alone(columns):
    """Whether what goes with columns is the same for all of a batch."""
    return all([c is None or c.size == 1 or c.ndim == 1 or c.ndim == 2 for c in columns.values()])


cdef int lines(Lines* out, given, batch, full, list keep) except -1:
    """Where the numbers of each row or column are, of an array that repeats where it has sizes of 1."""
    cdef cnp.ndarray at
    out.at, out.along = NULL, 0
    if given is None or given.size == 1:
        return 0
    *lead, rows, columns = (1, *given.shape) if given.ndim == 1 else given.shape
    if (rows, columns) not in (full, (1, 1)):
        raise ValueError(f"{given.shape} does not fit the {full} of a factor")
    if not batch and math.prod(lead) != 1:
        raise ValueError(f"{given.shape} does not fit a factor without a batch")
    at = starts(tuple(lead), batch, rows * columns) if batch else np.zeros(1, np.intp)
    keep.append(at)
    out.at, out.along = <const Py_ssize_t*> cnp.PyArray_DATA(at), rows * columns > 1
    return 0


def convolution(x, w, y, Py_ssize_t group, stride, dilation, before, **scaling):
    """Sums of ``w`` over windows of ``x``, both of bytes, into ``y``: a step. ``w`` may be `Rows`, unless it is `conv.depthwise`.

    ``scaling`` is that of `product`, with a for the weights, one element or one for each output channel, and b for the input.
    Padding counts as the input's zero point.
    """
    cdef Bound how
    cdef Integers* p = &how.product
    check(x.shape, w.shape, None, y.shape, group, (stride, dilation, before))
    if isinstance(w, Rows) and depthwise(w.shape, group):
        raise TypeError("weights of convolutions by planes are taken as they are")
    settle(&p.window, x.shape, w.shape, y.shape, group, stride, dilation, before)
    blocks = w.blocks if isinstance(w, Rows) else None
    if isinstance(w, Rows) and w.group != group:
        raise TypeError(f"weights packed for {w.group} groups beside {group}")
    images, m, n = x.shape[0], w.shape[0] // group, math.prod(y.shape[2:])
    k, plane = math.prod(w.shape[1:]), w.shape[1] * math.prod(x.shape[2:])
    groups = np.tile(np.arange(group, dtype=np.intp), images)
    each = k * m if not isinstance(w, Rows) else w.halves.shape[1] * m if blocks is None else blocks.each
    a_at, b_at, channel = groups * each, np.arange(images * group, dtype=np.intp) * plane, groups * m
    p.batch, p.m, p.n, p.k, p.patches, p.planes = images * group, m, n, k, True, depthwise(w.shape, group)
    if blocks is None:
        p.patches = not_in_place(&p.window)
    p.a_rows = p.b_panels = NULL
    keep = [a_at, b_at, channel, w]
    channels(&p.a_zero, scaling.get("a_zero"), w.shape[0], channel)
    channels(&p.a_scale, scaling.get("a_scale"), w.shape[0], channel)
    channels(&p.bias, scaling.get("bias"), w.shape[0], channel)
    for name in ("b_zero", "b_scale"):
        if scaling.get(name) is not None and scaling[name].size != 1:
            raise ValueError(f"an input has one scale and zero point, not {scaling[name].shape}")
    p.b_zero = p.b_scale = Lines(NULL, 0)
    p.bias_across = 0
    return bind(how, w, x, y, a_at, b_at, channel, scaling, keep)


cdef bint not_in_place(const Convolution* c) noexcept:
    """Whether patches are other than the input itself: a tap a kernel, every pixel in turn."""
    cdef int axis
    for axis in range(3):
        if c.kernel[axis] != 1 or c.stride[axis] != 1 or c.before[axis] or c.size[axis] != c.out[axis]:
            return True
    return False


cdef int channels(Lines* out, given, Py_ssize_t count, cnp.ndarray channel) except -1:
    """Numbers of output channels: one for all, or one for each."""
    out.at, out.along = NULL, 0
    if given is None or given.size == 1 != count:
        return 0
    if given.size != count:
        raise ValueError(f"{given.shape} for {count} output channels")
    out.at, out.along = <const Py_ssize_t*> cnp.PyArray_DATA(channel), 1
    return 0


ROLES = {"a_zero": None, "b_zero": None, "y_zero": None, "a_scale": np.float32, "b_scale": np.float32, "y_scale": np.float32,
         "bias": None}


cdef int take_blocks(Integers* p, blocks, cnp.ndarray sums_at) except -1:
    cdef cnp.ndarray data = blocks.blocks, sums = blocks.sums
    p.blocks, p.line_sums = <const uint8_t*> cnp.PyArray_DATA(data), <const int32_t*> cnp.PyArray_DATA(sums)
    p.groups, p.block_size = blocks.groups, blocks.size
    p.sums_at = NULL if sums_at is None else <const Py_ssize_t*> cnp.PyArray_DATA(sums_at)
    return 0


cdef bind(Bound how, a, b, y, cnp.ndarray a_at, cnp.ndarray b_at, cnp.ndarray channel, dict scaling, list keep):
    cdef Integers* p = &how.product
    cdef cnp.ndarray halves
    cdef Py_ssize_t scratch
    p.a_signed, p.b_signed = signed(a.dtype), signed(b.dtype)
    p.a_at, p.b_at = <const Py_ssize_t*> cnp.PyArray_DATA(a_at), <const Py_ssize_t*> cnp.PyArray_DATA(b_at)
    p.result = {"i4": SUMS, "f4": FLOATS, "u1": UNSIGNED_BYTES, "i1": SIGNED_BYTES}[y.dtype.str[1:]]
    agree(a, b, y, scaling, p.result)
    if not y.flags.writeable:
        raise ValueError("the result's buffer is read-only")
    packed = a if isinstance(a, Rows) else b if isinstance(b, Panels) else None
    p.blocks = NULL
    if packed is not None and packed.blocks is not None:
        take_blocks(p, packed.blocks, channel)
    elif packed is not None:
        halves = packed.halves
        if packed is a:
            p.a_rows = <const int16_t*> cnp.PyArray_DATA(halves)
        else:
            p.b_panels = <const int16_t*> cnp.PyArray_DATA(halves)
    scratch = loops.scratch(p) if p.blocks == NULL else loops.narrow.scratch(p)
    arrays, place = [], {}
    given = {"a": None if isinstance(a, Rows) else a, "b": None if isinstance(b, Panels) else b, "y": y, **scaling}
    for name, array in given.items():
        if array is not None:
            place[name] = len(arrays)
            arrays.append(array)
    how.a, how.b, how.y = place.get("a", -1), place.get("b", -1), place["y"]
    how.a_zero, how.b_zero, how.y_zero = place.get("a_zero", -1), place.get("b_zero", -1), place.get("y_zero", -1)
    how.a_scale, how.b_scale, how.y_scale = place.get("a_scale", -1), place.get("b_scale", -1), place.get("y_scale", -1)
    how.bias, how.arrays = place.get("bias", -1), len(arrays)
    return bound(<Run> run, tuple(arrays), &how, sizeof(how), scratch, tuple(keep))


def agree(a, b, y, scaling, result):
    """Refuse types that do not belong together, and what a result of this type lacks or has no use for."""
    if unknown := set(scaling) - set(ROLES):
        raise TypeError(f"no such parts of a product: {sorted(unknown)}")
    due = {"a_zero": a.dtype, "b_zero": b.dtype, "y_zero": y.dtype, "bias": np.float32 if result == FLOATS else np.int32}
    there = {name for name, x in scaling.items() if x is not None}
    for name in there:
        if scaling[name].dtype != (ROLES[name] or due[name]):
            raise TypeError(f"{name} is of {scaling[name].dtype}, it must be of {np.dtype(ROLES[name] or due[name])}")
    wanted = set() if result == SUMS else {"a_scale", "b_scale"} | (set() if result == FLOATS else {"y_scale"})
    if missing := wanted - there:
        raise TypeError(f"a result of {y.dtype} needs {sorted(missing)}")
    if extra := there & {"a_scale", "b_scale", "y_scale", "y_zero"} - wanted - (set() if result in (SUMS, FLOATS) else {"y_zero"}):
        raise TypeError(f"a result of {y.dtype} has no {sorted(extra)}")
    for name in there & {"y_scale", "y_zero"}:
        if scaling[name].size != 1:
            raise ValueError(f"{name} is one number, not {scaling[name].shape}")
