"""Non-maximum suppression: boxes by descending score, without those that overlap one taken before."""
cimport numpy as cnp
import numpy as np
from libc.stdint cimport int64_t

cnp.import_array()

cdef extern from "hot/nms.h" nogil:
    ctypedef struct NmsLoops:
        Py_ssize_t (*greedy)(const float* boxes, const int64_t* order, Py_ssize_t count, Py_ssize_t most, float overlap,
                             int centred, float* room, int64_t* found) noexcept nogil
    const NmsLoops* picked "PICKED(nms)"

cdef const NmsLoops* loops = picked


def selected(const float[:, :, :] boxes, const float[:, :, :] scores, Py_ssize_t most, float overlap, least, bint centred):
    """(batch, class, box) of at most ``most`` boxes a class, with a score above ``least`` where that is not None."""
    cdef Py_ssize_t batch, kind, n, some = min(most, boxes.shape[1])
    cdef cnp.ndarray order, corners, room, found
    if boxes.shape[0] != scores.shape[0] or boxes.shape[1] != scores.shape[2] or boxes.shape[2] != 4:
        raise ValueError("boxes and scores disagree")
    if some <= 0:
        return np.zeros((0, 3), np.int64)
    room, found, made = np.empty(5 * (some + 8), np.float32), np.empty(some, np.int64), [np.zeros((0, 3), np.int64)]
    for batch in range(boxes.shape[0]):
        corners = np.ascontiguousarray(boxes[batch])
        for kind in range(scores.shape[1]):
            order = ordered(np.asarray(scores[batch, kind]), least)
            n = loops.greedy(<const float*> cnp.PyArray_DATA(corners), <const int64_t*> cnp.PyArray_DATA(order), len(order), some,
                             overlap, centred, <float*> cnp.PyArray_DATA(room), <int64_t*> cnp.PyArray_DATA(found))
            part = np.empty((n, 3), np.int64)
            part[:, 0], part[:, 1], part[:, 2] = batch, kind, found[:n]
            made.append(part)
    return np.concatenate(made)


cdef object ordered(score, least):
    """The numbers of boxes by descending score, equal ones in the order in which they come."""
    above = score > np.float32(least) if least is not None else score == score
    [chosen] = np.nonzero(above)
    return chosen[np.argsort(-score[chosen], kind="stable")].astype(np.int64, copy=False)
