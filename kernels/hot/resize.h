/* Resizing: axes of a tensor taken anew from tables of positions, picked or weighted; for every instruction set. */
#ifndef INTERP_HOT_RESIZE_H
#define INTERP_HOT_RESIZE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "hot/isa.h"

enum { RESIZED = 8 }; /* axes that change at most; those between them are merged */

/* Element types that are calculated in float, then those in double; all but the two themselves are converted on the way. */
enum {
    IN_FLOAT, IN_HALF, IN_BRAIN, IN_INT8, IN_UINT8, IN_INT16, IN_UINT16, IN_BOOL,
    IN_DOUBLE, IN_INT32, IN_UINT32, IN_INT64, IN_UINT64,
};

/* An axis of `in` places that becomes one of `out`: result o is the sum over taps t of weight[t * out + o] times the place
   index[t * out + o]. `after` untouched places follow each of its own, before the next axis that changes. */
typedef struct Axis {
    ptrdiff_t in, out, taps, after;
    const ptrdiff_t *index;
    const void *weight;     /* in the type that is calculated in */
    const uint8_t *outside; /* which results lie beyond the input and are filled; or NULL */
} Axis;

/* All of it. Work is cut into blocks of `rows` results along the first axis, for each of `outer` of what stands before it;
   a block reads the places low[block] .. high[block] of that axis. */
typedef struct Resize {
    Axis axis[RESIZED];
    int axes, order[RESIZED]; /* in which the axes behind the first have their turn */
    bool rows_first, identity; /* whether the first axis goes first; whether it stays as it is */
    int type;
    ptrdiff_t outer, rows, blocks, element;
    const ptrdiff_t *low, *high;
    ptrdiff_t room, wide; /* elements of two buffers, and of one for places that are converted */
    double fill;
} Resize;

typedef struct ResizeCall {
    const Resize *how;
    const char *x;
    char *y;
} ResizeCall;

typedef int (*ResizeTask)(const void *call, ptrdiff_t begin, ptrdiff_t end, void *scratch);

typedef void (*PickedRow)(const char *x, char *y, const ptrdiff_t *index, ptrdiff_t n);

typedef struct ResizeLoops {
    ResizeTask in_float, in_double; /* items are blocks */
    /* y[o] = x[index[o]] for elements of 1, 2, 4, 8, 16, 32 bytes; and where each is taken twice. */
    PickedRow picked[6], doubled[6];
} ResizeLoops;

extern const ResizeLoops resize_baseline;
#if defined(__x86_64__)
extern const ResizeLoops resize_avx2;
#endif
#endif
