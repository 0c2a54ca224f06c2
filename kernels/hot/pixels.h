/* Where the windows of a convolution read: pixels in stretches of an output row, and the part of each inside the input. */
#ifndef INTERP_HOT_PIXELS_H
#define INTERP_HOT_PIXELS_H
#include <stdbool.h>
#include "hot/conv.h"
#include "hot/pieces.h"

/* A stretch of a panel's pixels that lie side by side in one output row, and where the first one's window starts. */
typedef struct {
    ptrdiff_t to, count, at[AXES];
} Run;

static ptrdiff_t volume(const ptrdiff_t *sizes) {
    return sizes[0] * sizes[1] * sizes[2];
}

static int runs_of(const Convolution *how, ptrdiff_t pixel, ptrdiff_t pixels, Run *runs) {
    int n = 0;
    for (ptrdiff_t to = 0; to < pixels; n++) {
        ptrdiff_t column = (pixel + to) % how->out[2], row = (pixel + to) / how->out[2];
        Run *run = runs + n;
        run->to = to;
        run->count = lesser(how->out[2] - column, pixels - to);
        run->at[0] = row / how->out[1] * how->stride[0] - how->before[0];
        run->at[1] = row % how->out[1] * how->stride[1] - how->before[1];
        run->at[2] = column * how->stride[2] - how->before[2];
        to += run->count;
    }
    return n;
}

/* The pixels of a run whose tap lies inside the input: from `first`, `count` of them, and where the first one reads. */
typedef struct {
    ptrdiff_t first, count, from;
} Inside;

static Inside inside(const Convolution *how, const Run *run, const ptrdiff_t *tap) {
    ptrdiff_t stride = how->stride[2], x = run->at[2] + tap[2], z = run->at[0] + tap[0], y = run->at[1] + tap[1];
    if (z < 0 || z >= how->size[0] || y < 0 || y >= how->size[1] || x >= how->size[2])
        return (Inside){0, 0, 0};
    ptrdiff_t first = x < 0 ? pieces(-x, stride) : 0, end = run->count;
    if (x + (end - 1) * stride >= how->size[2])
        end = pieces(how->size[2] - x, stride);
    return (Inside){first, end > first ? end - first : 0, (z * how->size[1] + y) * how->size[2] + x + first * stride};
}

/* Whether the panels of patches are the input itself: kernels of one tap, every pixel in turn. */
static bool reads_in_place(const Convolution *how) {
    for (int axis = 0; axis < AXES; axis++)
        if (how->kernel[axis] != 1 || how->stride[axis] != 1 || how->before[axis] || how->size[axis] != how->out[axis])
            return false;
    return true;
}

static void offset_of(const Convolution *how, ptrdiff_t tap, ptrdiff_t *offset) {
    for (int axis = AXES - 1; axis >= 0; axis--) {
        offset[axis] = tap % how->kernel[axis] * how->dilation[axis];
        tap /= how->kernel[axis];
    }
}

static void next_offset(const Convolution *how, ptrdiff_t *offset) {
    for (int axis = AXES - 1; axis >= 0; axis--) {
        offset[axis] += how->dilation[axis];
        if (offset[axis] < how->kernel[axis] * how->dilation[axis])
            return;
        offset[axis] = 0;
    }
}
#endif
