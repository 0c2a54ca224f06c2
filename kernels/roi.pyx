"""Regions of interest: the largest or the mean of every bin of them, over a map whose channels stand in blocks.

A run copies what the regions reach of the map into cells, which hold some channels of one position, so that channels fill
vectors; then regions are shared among threads.
"""
import numpy as np
from libc.math cimport NAN, ceil, floor, isfinite, isnan, round
from libc.stdint cimport int64_t, uintptr_t
from .step cimport BRAIN, HALF, OK, OUT_OF_RANGE, Run, Step, code_of, floats, real, step, team
from .threads cimport Task, Team, share

cdef enum:
    FAR = 1 << 30    # coordinates beyond are held to it: no map is as large
    MOST_SAMPLES = 1 << 16
    BINS = 256       # bins that are gathered before their channels are written, unless a row has more

cdef const RoiLoops* loops = picked

cdef struct Map:
    void** at
    const RealLoops* loops
    char* cells
    Span* reached    # rows of each image that some region needs
    int type
    Py_ssize_t bytes, lanes, images, channels, blocks, height, width, regions, high, wide, lines

cdef struct Max:
    Map map
    double scale

cdef struct Align:
    Map map
    double scale
    Py_ssize_t ratio, down, across  # taps that a bin may have along each axis
    bint shifted, most


# The map

cdef Py_ssize_t clamped(Py_ssize_t n, Py_ssize_t limit) noexcept nogil:
    return 0 if n < 0 else limit if n > limit else n


cdef void unreached(const Map* m) noexcept nogil:
    cdef Py_ssize_t image
    for image in range(m.images):
        m.reached[image].begin = m.reached[image].end = 0


cdef void reach(const Map* m, Py_ssize_t image, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    """Note that a region needs these rows of an image."""
    cdef Span* rows = m.reached + image
    if begin < end:
        rows.begin = begin if rows.end == 0 else min(rows.begin, begin)
        rows.end = max(rows.end, end)


cdef char* cells_of(const Map* m, Py_ssize_t image, Py_ssize_t block) noexcept nogil:
    return m.cells + (image * m.blocks + block) * m.height * m.width * CELL


cdef Py_ssize_t channels_of(const Map* m, Py_ssize_t block) noexcept nogil:
    return min(m.lanes, m.channels - block * m.lanes)


cdef int fill(const Map* m, Py_ssize_t begin, Py_ssize_t end, void* scratch) noexcept nogil:
    """Copy what is reached of some (image, block) pairs into cells."""
    cdef Py_ssize_t item, image, block
    cdef Span positions
    for item in range(begin, end):
        image, block = item // m.blocks, item % m.blocks
        positions.begin, positions.end = m.reached[image].begin * m.width, m.reached[image].end * m.width
        m.loops.block(<char*> m.at[0] + (image * m.channels + block * m.lanes) * m.height * m.width * m.bytes, m.type,
                      m.height * m.width, channels_of(m, block), positions, cells_of(m, image, block))
    return OK


cdef void spread(const Map* m, Py_ssize_t region, Py_ssize_t block, Py_ssize_t line, Py_ssize_t lines, void* bins) noexcept nogil:
    """Write some rows of bins of one region to their channels."""
    cdef Py_ssize_t plane = m.high * m.wide, first = (region * m.channels + block * m.lanes) * plane + line * m.wide
    m.loops.spread(bins, lines * m.wide, channels_of(m, block), <char*> m.at[2] + first * m.bytes, m.type, plane)


# The largest value of every bin

cdef Py_ssize_t rounded(real coordinate) noexcept nogil:
    """Half away from zero; what is far off any map stays there."""
    coordinate = <real> round(coordinate)
    return -FAR if coordinate < -FAR else FAR if coordinate > FAR else <Py_ssize_t> coordinate


cdef Span bin_of(Py_ssize_t start, real size, Py_ssize_t index, Py_ssize_t limit) noexcept nogil:
    cdef Span span
    cdef real begin = index * size, end = (index + 1) * size
    span.begin = clamped(<Py_ssize_t> floor(begin) + start, limit)
    span.end = clamped(<Py_ssize_t> ceil(end) + start, limit)
    return span


cdef real bin_size(real start, real end, Py_ssize_t bins) noexcept nogil:
    return <real> max(rounded(end) - rounded(start) + 1, 1) / bins


cdef bint corners(const Max* how, Py_ssize_t region, real* box) noexcept nogil:
    """The batch index and the scaled corners of a region; False where one of them is no number."""
    cdef int i
    how.map.loops.read(<char*> how.map.at[1] + region * 5 * how.map.bytes, how.map.type, box, 5)
    for i in range(1, 5):
        box[i] *= <real> how.scale
        if isnan(box[i]):
            return False
    return True


cdef int survey_max(const Max* how, real* box) noexcept nogil:
    """Check the batch index of every region and note which rows it needs."""
    cdef const Map* m = &how.map
    cdef real size
    cdef Py_ssize_t region, start
    cdef bint known
    unreached(m)
    for region in range(m.regions):
        known = corners(how, region, box)
        if not (box[0] >= 0 and box[0] < m.images):
            return OUT_OF_RANGE
        if known:
            size, start = bin_size(box[2], box[4], m.high), rounded(box[2])
            reach(m, <Py_ssize_t> box[0], bin_of(start, size, 0, m.height).begin,
                  bin_of(start, size, m.high - 1, m.height).end)
    return OK


cdef void divide(const Map* m, const real* box, Span* rows, Span* columns, double empty) noexcept nogil:
    """The rows and columns of a region's bins; none where its corners are no numbers."""
    cdef Py_ssize_t i
    cdef real size
    if isnan(empty):
        for i in range(m.high + m.wide):
            rows[i].begin = rows[i].end = 0
        return
    size = bin_size(box[2], box[4], m.high)
    for i in range(m.high):
        rows[i] = bin_of(rounded(box[2]), size, i, m.height)
    size = bin_size(box[1], box[3], m.wide)
    for i in range(m.wide):
        columns[i] = bin_of(rounded(box[1]), size, i, m.width)


cdef int most(const Max* how, Py_ssize_t begin, Py_ssize_t end, real* scratch) noexcept nogil:
    """The bins of some (region, block) pairs."""
    cdef const Map* m = &how.map
    cdef Span* rows = <Span*> (<char*> scratch + m.lines * m.wide * CELL)
    cdef Span* columns = rows + m.high
    cdef real box[5]
    cdef Py_ssize_t item, region, line, lines, last = -1
    cdef double empty = 0
    cdef bint known
    for item in range(begin, end):
        region = item // m.blocks
        if region != last:
            last, known = region, corners(how, region, &box[0])
            empty = 0 if known else NAN
            divide(m, &box[0], rows, columns, empty)
        line = 0
        while line < m.high:
            lines = min(m.lines, m.high - line)
            m.loops.most(cells_of(m, <Py_ssize_t> box[0], item % m.blocks), m.width, rows + line, lines, columns, m.wide,
                         empty, scratch)
            spread(m, region, item % m.blocks, line, lines, scratch)
            line += lines
    return OK


# The mean, or the largest weighted value, of samples in every bin

cdef struct Box:
    double top, left, height, width
    bint known


cdef Box box_of(const Align* how, Py_ssize_t region, real* corner) noexcept nogil:
    """Where a region starts and how large it is; not known where a number of it is not finite."""
    cdef Box box
    cdef real shift = 0.5 if how.shifted else 0, height, width
    cdef int i
    how.map.loops.read(<char*> how.map.at[1] + region * 4 * how.map.bytes, how.map.type, corner, 4)
    for i in range(4):
        corner[i] = corner[i] * <real> how.scale - shift
    height, width = corner[3] - corner[1], corner[2] - corner[0]
    box.known = isfinite(height) and isfinite(width) and isfinite(corner[0]) and isfinite(corner[1])
    box.top, box.left, box.height, box.width = corner[1], corner[0], height, width
    if not how.shifted:
        box.height, box.width = max(box.height, 1), max(box.width, 1)
    return box


cdef int survey_align(const Align* how, real* corner) noexcept nogil:
    """Check the batch index of every region and note which rows it needs."""
    cdef const Map* m = &how.map
    cdef const int64_t* batch = <const int64_t*> how.map.at[3]
    cdef double low, high
    cdef Py_ssize_t region
    cdef Box box
    unreached(m)
    for region in range(m.regions):
        if not 0 <= batch[region] < m.images:
            return OUT_OF_RANGE
        box = box_of(how, region, corner)
        low, high = min(box.top, box.top + box.height), max(box.top, box.top + box.height)
        if box.known and max(-low, high) < FAR // 1024:
            reach(m, batch[region], clamped(<Py_ssize_t> floor(low) - 1, m.height), clamped(<Py_ssize_t> ceil(high) + 2, m.height))
        elif box.known:  # so far out float cannot tell rows apart
            reach(m, batch[region], 0, m.height)
    return OK


cdef void tap(Taps* taps, Py_ssize_t place, real weight) noexcept nogil:
    """Add a weight at a place; places come in ascending order, a sample's two at once, so a known one is among the last two."""
    cdef Py_ssize_t* at = <Py_ssize_t*> taps.at
    cdef real* sums = <real*> taps.weight
    cdef real* least = <real*> taps.least
    cdef Py_ssize_t k, n = taps.count
    for k in range(max(n - 2, 0), n):
        if at[k] == place:
            if least != NULL:
                sums[k], least[k] = max(sums[k], weight), min(least[k], weight)
            else:
                sums[k] += weight
            return
    at[n], sums[n], taps.count = place, weight, n + 1
    if least != NULL:
        least[n] = weight


cdef void sample(Taps* taps, real position, Py_ssize_t limit) noexcept nogil:
    """Interpolate along one axis at a position: between the two places around it, or outside."""
    cdef Py_ssize_t low
    if limit == 0 or not (position >= -1 and position <= limit):
        taps.outside = True
        return
    position = max(position, 0)
    low = <Py_ssize_t> position
    if low >= limit - 1:
        tap(taps, limit - 1, <real> 1)
        tap(taps, limit - 1, <real> 0)
        return
    tap(taps, low, 1 - (position - low))
    tap(taps, low + 1, position - low)


cdef void samples(Taps* taps, real start, real size, real grid, Py_ssize_t limit) noexcept nogil:
    """Interpolate at `grid` positions of one bin, in ascending order. Those of a large bin that lie outside are not visited."""
    cdef double apart = <double> size / grid, first = 0
    cdef Py_ssize_t i, count
    taps.count, taps.outside = 0, False
    if grid < 1:
        return
    if apart > 0 and grid * apart > 2 * limit + 8:
        first = min(max(floor((-1 - <double> start) / apart) - 2, 0), grid - 1)
        count = <Py_ssize_t> min(grid - first, (limit + 1) / apart + 6)
        taps.outside = True
    else:
        count = <Py_ssize_t> grid
    for i in range(count):
        sample(taps, start + <real> (first + (i if apart >= 0 else count - 1 - i) + 0.5) * size / grid, limit)


cdef real lay(const Align* how, real start, real size, Py_ssize_t bins, Py_ssize_t limit, Py_ssize_t each, Taps* taps,
              Py_ssize_t* at) noexcept nogil:
    """The taps of every bin along one axis, and how many samples a bin has along it."""
    cdef real step = size / bins, grid = how.ratio if how.ratio else <real> ceil(step)
    cdef real* weights = <real*> (at + bins * each)
    cdef Py_ssize_t i
    for i in range(bins):
        taps[i].at, taps[i].weight = at + i * each, weights + i * each
        taps[i].least = weights + (bins + i) * each if how.most else NULL
        samples(taps + i, start + i * step, step, grid, limit)
    return grid


cdef int align(const Align* how, Py_ssize_t begin, Py_ssize_t end, real* scratch) noexcept nogil:
    """The bins of some (region, block) pairs."""
    cdef const Map* m = &how.map
    cdef const int64_t* batch = <const int64_t*> how.map.at[3]
    cdef Taps* rows = <Taps*> (<char*> scratch + m.lines * m.wide * CELL)
    cdef Taps* columns = rows + m.high
    cdef Py_ssize_t* down = <Py_ssize_t*> (columns + m.wide)
    cdef Py_ssize_t* across = down + 3 * how.down * m.high
    cdef real corner[4]
    cdef Py_ssize_t item, region, block, line, lines, i, last = -1
    cdef double grid = 1
    cdef Box box
    box.known = False
    for item in range(begin, end):
        region, block = item // m.blocks, item % m.blocks
        if region != last:
            last, box = region, box_of(how, region, &corner[0])
            if box.known:
                grid = lay(how, <real> box.top, <real> box.height, m.high, m.height, how.down, rows, down)
                grid = max(grid * lay(how, <real> box.left, <real> box.width, m.wide, m.width, how.across, columns, across), 1)
            else:
                for i in range(m.high + m.wide):
                    rows[i].count = rows[i].outside = 0
        line = 0
        while line < m.high:
            lines = min(m.lines, m.high - line)
            if how.most:
                m.loops.most_weighted(cells_of(m, batch[region], block), m.width, rows + line, lines, columns, m.wide,
                                      0 if box.known else NAN, scratch)
            else:
                m.loops.mean(cells_of(m, batch[region], block), m.width, rows + line, lines, columns, m.wide,
                             grid if box.known else NAN, scratch)
            spread(m, region, block, line, lines, scratch)
            line += lines
    return OK


# Steps

cdef int pooled(const Map* m, Task task, const void* how, const Team* team) noexcept nogil:
    """Fill the cells that the regions reach, pool."""
    cdef Py_ssize_t image, area = 0
    for image in range(m.images):
        area = max(area, (m.reached[image].end - m.reached[image].begin) * m.width)
    share(team, <Task> fill, m, m.images * m.blocks, 20 + area * 15)
    return share(team, task, how, m.regions * m.blocks, 50 + 40 * m.high * m.wide)


cdef int run_max(real** at, const Max* how) noexcept nogil:
    cdef Max call = how[0]
    cdef real box[5]
    call.map.at = <void**> at
    return survey_max(&call, &box[0]) or pooled(&call.map, <Task> most[real], &call, team(<void**> at, 3))


cdef int run_align(real** at, const Align* how) noexcept nogil:
    cdef Align call = how[0]
    cdef real corner[4]
    call.map.at = <void**> at
    return survey_align(&call, &corner[0]) or pooled(&call.map, <Task> align[real], &call, team(<void**> at, 4))


cdef object mapped(Map* m, x, rois, y, int row):
    """Check maps, regions and results, describe them, and make the cells: what the step keeps."""
    if x.ndim != 4 or rois.ndim != 2 or y.ndim != 4:
        raise ValueError(f"x, rois and the result have 4, 2 and 4 dimensions, not {x.ndim}, {rois.ndim} and {y.ndim}")
    if rois.shape[1] != row:
        raise ValueError(f"a region has {row} numbers, not {rois.shape[1]}")
    if y.shape[:2] != (rois.shape[0], x.shape[1]) or 0 in y.shape[2:]:
        raise ValueError(f"{rois.shape[0]} regions of {x.shape[1]} channels do not fill {y.shape}")
    code = code_of(x)
    m.bytes = x.itemsize
    m.loops = &loops.twice if m.bytes == 8 else &loops.single
    m.type = HALVES if code == HALF else BRAINS if code == BRAIN else PLAIN
    m.lanes = CELL // max(m.bytes, 4)
    m.images, m.channels, m.height, m.width = x.shape
    m.regions, _, m.high, m.wide = y.shape
    m.blocks = (m.channels + m.lanes - 1) // m.lanes
    m.lines = min(max(BINS // m.wide, 1), m.high)
    cells = np.empty(x.shape[0] * int(m.blocks) * x.shape[2] * x.shape[3] * CELL + CELL, np.uint8)
    reached = np.empty((m.images, 2), np.intp)
    m.cells = <char*> ((<uintptr_t> cells.ctypes.data + CELL - 1) // CELL * CELL)
    m.reached = <Span*> <uintptr_t> reached.ctypes.data
    return cells, reached


def max_roi(x, rois, y, double scale):
    """The largest value in every bin of every region: a step. A row of rois is a batch index and two corners."""
    cdef Max how
    how.scale = scale
    keep = mapped(&how.map, x, rois, y, 5)
    room = y.shape[3] * int(how.map.lines) * CELL + (y.shape[2] + y.shape[3]) * sizeof(Span)
    return step(floats(<Run> run_max[float], <Run> run_max[double], <Run> run_max[float], <Run> run_max[float]),
                (x, rois, y), &how, sizeof(how), (), room, keep)


def roi_align(x, rois, batch_indices, y, double scale, sampling_ratio, bint half_pixel, bint most):
    """The mean, or with `most` the largest weighted value, of samples in every bin of every region: a step."""
    cdef Align how
    keep = mapped(&how.map, x, rois, y, 4)
    if batch_indices.dtype != np.int64 or batch_indices.shape != rois.shape[:1]:
        raise ValueError(f"batch_indices must be int64 of shape {rois.shape[:1]}, not {batch_indices.dtype} {batch_indices.shape}")
    if not 0 <= sampling_ratio <= MOST_SAMPLES:
        raise ValueError(f"sampling_ratio is {sampling_ratio}; it must be from 0 to {MOST_SAMPLES}")
    how.scale, how.ratio, how.shifted, how.most = scale, sampling_ratio, half_pixel, most
    limit = 2 * sampling_ratio or max(x.shape[2:])
    how.down, how.across = min(x.shape[2], limit), min(x.shape[3], limit)
    room = y.shape[3] * int(how.map.lines) * CELL + (y.shape[2] + y.shape[3]) * sizeof(Taps)
    room += 24 * (y.shape[2] * int(how.down) + y.shape[3] * int(how.across))
    return step(floats(<Run> run_align[float], <Run> run_align[double], <Run> run_align[float], <Run> run_align[float]),
                (x, rois, y), &how, sizeof(how), (batch_indices,), room, keep)
