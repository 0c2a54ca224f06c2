/* Transposed convolution whose kernel is as large as its stride, of a blocked input: no two products meet, so that each pixel
   makes columns, one for each output channel and tap, which are put where they belong. */
#ifndef INTERP_HOT_BLOCKED_TRANSPOSE_H
#define INTERP_HOT_BLOCKED_TRANSPOSE_H
#include <stdbool.h>
#include <stddef.h>
#include "activation.h"
#include "threads.h"
#include "hot/isa.h"

typedef struct BlockedTranspose {
    ptrdiff_t batch, in_blocks, pixels, width, columns, column_blocks;
    ptrdiff_t image, down, across; /* floats of one result, and from a pixel's place to that of the one below, or beside */
    bool plain;                    /* the result is not blocked */
    ptrdiff_t piece, pieces;       /* pixels of an item, and how many items cover an image */
    const ptrdiff_t *at;           /* of each input block, from the first one's pixel */
    const ptrdiff_t *to;           /* of each column, from its pixel's place; of a blocked result the first of eight counts */
    const ptrdiff_t *channel;      /* of each column, or -1 where there is none */
    const float *weights;          /* tile after tile of columns, as blocked_tile.h reads them */
    Activation activation;
} BlockedTranspose;

typedef struct BlockedTransposeCall {
    const BlockedTranspose *how;
    const float *x, *bias; /* bias may be NULL */
    float *y;
} BlockedTransposeCall;

typedef struct BlockedTransposeLoops {
    Task task; /* items are pieces of images; scratch for one float a column */
    void (*pack)(const float *w, ptrdiff_t depth, ptrdiff_t column_blocks, float *out); /* rows of column_blocks * 8 */
} BlockedTransposeLoops;

extern const BlockedTransposeLoops blocked_transpose_baseline;
#if defined(__x86_64__)
extern const BlockedTransposeLoops blocked_transpose_avx2;
#endif
#endif
