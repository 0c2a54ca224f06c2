/* Pooling in the blocked layout: a window slides over planes of octets, eight channels at once. */
#ifndef INTERP_HOT_BLOCKED_POOL_H
#define INTERP_HOT_BLOCKED_POOL_H
#include <stddef.h>
#include "hot/isa.h"
#include "threads.h"

/* How a window is folded: the maximum, the mean, the norms for p = 1, 2, 3. */
enum BlockedFold { BLOCKED_MAX, BLOCKED_MEAN, BLOCKED_NORM1, BLOCKED_NORM2, BLOCKED_NORM3, BLOCKED_FOLDS };

/* The window along one axis; from `first` to before `last` outputs see nothing but the input. */
typedef struct BlockedPoolAxis {
    ptrdiff_t size, kernel, stride, dilation, before, after, out, first, last;
} BlockedPoolAxis;

typedef struct BlockedPool {
    BlockedPoolAxis high, wide;
    int padded;             /* whether a mean counts the declared padding */
    Task task;
    ptrdiff_t items, cost;  /* rows of the output, or planes where there is one window, and nanoseconds for one */
} BlockedPool;

typedef struct BlockedPoolCall {
    const float *x;
    float *y;
    const BlockedPool *how;
} BlockedPoolCall;

typedef struct BlockedPoolLoops {
    Task rows[BLOCKED_FOLDS];   /* over rows of the output */
    Task planes[BLOCKED_FOLDS]; /* over planes, each folded to one octet */
} BlockedPoolLoops;

extern const BlockedPoolLoops blocked_pool_baseline;
#if defined(__x86_64__)
extern const BlockedPoolLoops blocked_pool_avx2;
#endif
#endif
