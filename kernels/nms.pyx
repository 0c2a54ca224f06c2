"""Non-maximum suppression: boxes by descending score, without those that overlap one taken before."""
cimport numpy as cnp
import numpy as np
from libc.stdint cimport int64_t

cnp.import_array()


cdef struct Box:
    float left, top, right, bottom, area


cdef Box box_of(const float* at, bint centred) noexcept nogil:
    """The corners in order: given as any two opposite ones, or as a middle with a width and a height."""
    cdef Box b
    if centred:
        b.left, b.right = at[0] - at[2] / 2, at[0] + at[2] / 2
        b.top, b.bottom = at[1] - at[3] / 2, at[1] + at[3] / 2
    else:
        b.left, b.right = min(at[1], at[3]), max(at[1], at[3])
        b.top, b.bottom = min(at[0], at[2]), max(at[0], at[2])
    b.area = (b.right - b.left) * (b.bottom - b.top)
    return b


cdef bint overlaps(const Box* a, const Box* b, float most) noexcept nogil:
    """Whether the intersection is more than `most` of the union; never where one of them has no area."""
    cdef float width = min(a.right, b.right) - max(a.left, b.left), height = min(a.bottom, b.bottom) - max(a.top, b.top)
    cdef float shared = width * height, joint = a.area + b.area - shared
    if not (width > 0 and height > 0 and a.area > 0 and b.area > 0 and joint > 0):
        return False
    return shared / joint > most


cdef Py_ssize_t greedy(const float* boxes, const int64_t* order, Py_ssize_t count, Py_ssize_t most, float overlap, bint centred,
                       Box* taken, int64_t* found) noexcept nogil:
    """Those of the ordered boxes that overlap none taken before: how many."""
    cdef Py_ssize_t i, k, n = 0
    cdef Box b
    for i in range(count):
        if n == most:
            break
        b = box_of(boxes + 4 * order[i], centred)
        for k in range(n):
            if overlaps(&b, taken + k, overlap):
                break
        else:
            taken[n], found[n] = b, order[i]
            n += 1
    return n


def selected(const float[:, :, :] boxes, const float[:, :, :] scores, Py_ssize_t most, float overlap, least, bint centred):
    """(batch, class, box) of at most ``most`` boxes a class, with a score above ``least`` where that is not None."""
    cdef Py_ssize_t batch, kind, n, room = min(most, boxes.shape[1])
    cdef cnp.ndarray order, taken = np.empty(max(room, 1) * sizeof(Box), np.uint8), found = np.empty(max(room, 1), np.int64)
    cdef cnp.ndarray corners
    if boxes.shape[0] != scores.shape[0] or boxes.shape[1] != scores.shape[2] or boxes.shape[2] != 4:
        raise ValueError("boxes and scores disagree")
    made = []
    for batch in range(boxes.shape[0] if room > 0 else 0):
        corners = np.ascontiguousarray(boxes[batch])
        for kind in range(scores.shape[1]):
            order = ordered(np.asarray(scores[batch, kind]), least)
            n = greedy(<const float*> cnp.PyArray_DATA(corners), <const int64_t*> cnp.PyArray_DATA(order), order.shape[0], room,
                       overlap, centred, <Box*> cnp.PyArray_DATA(taken), <int64_t*> cnp.PyArray_DATA(found))
            part = np.empty((n, 3), np.int64)
            part[:, 0], part[:, 1], part[:, 2] = batch, kind, found[:n]
            made.append(part)
    return np.concatenate(made) if made else np.zeros((0, 3), np.int64)


cdef object ordered(score, least):
    """The numbers of boxes by descending score, equal ones in the order in which they come."""
    above = score > np.float32(least) if least is not None else score == score
    [chosen] = np.nonzero(above)
    return chosen[np.argsort(-score[chosen], kind="stable")].astype(np.int64, copy=False)
