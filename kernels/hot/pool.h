/* Pooling: a window slides over planes and folds what it sees. The settings of a fold, and the loops that do it. */
#ifndef INTERP_HOT_POOL_H
#define INTERP_HOT_POOL_H
#include <stddef.h>
#include <stdint.h>
#include "hot/isa.h"
#include "threads.h"

/* How a window is folded. NORM1, NORM2 and NORM3 are NORM without pow. */
enum PoolFold { MAX, MEAN, NORM1, NORM2, NORM3, NORM, FOLDS };

/* The window along one spatial axis. One step along it is `pitch` elements of the input and counts `mark` in an index. */
typedef struct PoolAxis {
    ptrdiff_t size, kernel, stride, dilation, before, after, out, pitch, mark;
} PoolAxis;

/* The spatial axes in their order, two or more: rows lie along the last, the one before it is the height, the rest is outer.
   One slab is the output at one place of the outer axes: `height.out` rows. */
typedef struct Pool {
    ptrdiff_t planes, plane, slabs; /* planes, elements of one, slabs of one */
    ptrdiff_t taps;                 /* the most places of the outer axes that a window sees */
    ptrdiff_t tile, span, rows;     /* outputs that a row buffer serves, how long it is, and how many there are */
    double p;
    int padded;                     /* whether a mean counts the declared padding */
    int axes, arrays;               /* spatial axes; how many arrays a step has */
    ptrdiff_t items, cost;          /* what there is to share, and nanoseconds for one */
    Task task;
    PoolAxis axis[62];              /* NumPy arrays have 64 axes; a step keeps only those in use */
} Pool;

/* One run: where the input, the output and the indices are. */
typedef struct PoolCall {
    void **at;
    const Pool *how;
} PoolCall;

enum { POOL_ROWS = 16 }; /* row buffers at the most */

/* Element types are in the order of step.pxd: float, double, half, brain, int8, uint8. */
enum { POOL_ELEMENTS = 6 };

typedef struct PoolLoops {
    Task slide[FOLDS][POOL_ELEMENTS]; /* over rows of the output */
    Task whole[FOLDS][POOL_ELEMENTS]; /* over planes, each folded to one element */
    Task indices[POOL_ELEMENTS];      /* the largest and where it is, over rows of the output */
} PoolLoops;

extern const PoolLoops pool_baseline;
#if defined(__x86_64__)
extern const PoolLoops pool_avx2;
#endif
#endif
