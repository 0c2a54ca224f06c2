"""Rotary embeddings: pairs of a head's elements, turned by the angle of their position."""
import numpy as np
from libc.stdint cimport int64_t
from libc.string cimport memcpy
from .step cimport OK, Run, Step, floats, out_of_range, step, team
from .threads cimport Task, Team, share

cdef struct Rotary:
    Py_ssize_t heads, rows, size, pairs, table, count
    Py_ssize_t batch_step, head_step, row_step
    bint interleaved, by_position

cdef struct Rotating:
    const float* x
    const float* cos
    const float* sin
    const int64_t* positions
    float* y
    const Rotary* how


cdef void neighbours(const float* x, const float* cos, const float* sin, Py_ssize_t n, float* y) noexcept nogil:
    cdef Py_ssize_t i
    cdef float a, b
    for i in range(n):
        a, b = x[2 * i], x[2 * i + 1]
        y[2 * i] = cos[i] * a - sin[i] * b
        y[2 * i + 1] = sin[i] * a + cos[i] * b


cdef void halves(const float* x, const float* cos, const float* sin, Py_ssize_t n, float* y) noexcept nogil:
    cdef Py_ssize_t i
    cdef float a, b
    for i in range(n):
        a, b = x[i], x[n + i]
        y[i] = cos[i] * a - sin[i] * b
        y[n + i] = sin[i] * a + cos[i] * b


cdef int some_tokens(const Rotating* on, Py_ssize_t begin, Py_ssize_t end, void* scratch) noexcept nogil:
    """All heads of some tokens, of which a batch has `rows`."""
    cdef const Rotary* how = on.how
    cdef Py_ssize_t i, head, at, turned = 2 * how.pairs
    cdef const float* cos
    cdef const float* sin
    for i in range(begin, end):
        at = on.positions[i] if how.by_position else i
        if not 0 <= at < how.table:
            return out_of_range(at, how.table)
        cos, sin = on.cos + at * how.pairs, on.sin + at * how.pairs
        for head in range(how.heads):
            at = i // how.rows * how.batch_step + i % how.rows * how.row_step + head * how.head_step
            if how.interleaved:
                neighbours(on.x + at, cos, sin, how.pairs, on.y + at)
            else:
                halves(on.x + at, cos, sin, how.pairs, on.y + at)
            memcpy(on.y + at + turned, on.x + at + turned, (how.size - turned) * sizeof(float))
    return OK


cdef int rotated(void** at, const Rotary* how) noexcept nogil:
    cdef Rotating on
    on.x, on.cos, on.sin, on.y = <const float*> at[0], <const float*> at[1], <const float*> at[2], <float*> at[3]
    on.positions, on.how = <const int64_t*> at[4] if how.by_position else NULL, how
    return share(team(at, 5 if how.by_position else 4), <Task> some_tokens, &on, how.count, how.heads * how.size // 2 + 20)


def rotary(x, cos, sin, positions, y, heads, bint interleaved) -> Step:
    """Pairs (a, b) of each head become (a cos - b sin, a sin + b cos): a step.

    x is (batch, heads, rows, size), or with ``heads`` given (batch, rows, heads * size). Cosines and sines are rows of a
    table, one for each pair, by position, or without positions by batch item and row. What is behind the pairs stays.
    """
    cdef Rotary how
    if x.ndim == 4:
        batch, how.heads, how.rows, how.size = x.shape
        how.head_step, how.row_step = how.rows * how.size, how.size
    elif x.ndim == 3 and heads and heads > 0 and x.shape[2] % heads == 0:
        (batch, how.rows, how.row_step), how.heads = x.shape, heads
        how.size = how.head_step = how.row_step // how.heads
    else:
        raise ValueError(f"{x.shape} has no {heads} heads")
    how.batch_step, how.pairs, how.count = how.rows * how.heads * how.size, cos.shape[cos.ndim - 1], batch * how.rows
    how.interleaved, how.by_position = interleaved, positions is not None
    how.table = cos.shape[0] if how.by_position else how.count
    due = (how.table, how.pairs) if how.by_position else (batch, how.rows, how.pairs)
    if cos.shape != due or sin.shape != due or 2 * how.pairs > how.size or y.shape != x.shape:
        raise ValueError(f"{x.shape} to {y.shape} by tables of {cos.shape} and {sin.shape}")
    if how.by_position and (positions.dtype != np.int64 or positions.shape != (batch, how.rows)):
        raise ValueError(f"positions of {positions.dtype}{list(positions.shape)} for {batch} x {how.rows} tokens")
    return step(floats(<Run> rotated, NULL), (x, cos, sin, y), &how, sizeof(how), (positions,) if how.by_position else ())
