/* Convolutions in the blocked layout, (batch, blocks of 8 channels, height, width, 8): what a call is made of, for every
   instruction set. Only the input of a direct one may be plain, (batch, channels, height, width). */
#ifndef INTERP_HOT_BLOCKED_H
#define INTERP_HOT_BLOCKED_H
#include <stdbool.h>
#include <stddef.h>
#include "activation.h"
#include "threads.h"
#include "hot/isa.h"

typedef enum { DIRECT, WINOGRAD, DEPTHWISE, WAYS } BlockedWay;

/* Channels are those of one group, blocks are of 8 of them. `before` is the padding before each axis; what follows the input
   is padding as far as the result needs it. */
typedef struct BlockedConv {
    ptrdiff_t batch, groups, in_channels, in_blocks, out_channels, out_blocks;
    ptrdiff_t size[2], kernel[2], stride[2], dilation[2], before[2], out[2];
    bool plain;           /* the input is not blocked */
    bool padded;          /* windows reach beyond the input, so that a band of it is copied with its padding */
    bool thinned;         /* windows of one place skip others, so that those of a band which are read are copied together */
    ptrdiff_t step[2];    /* from one window to the next in what is read */
    ptrdiff_t band[2];    /* rows and columns of the largest band, or of the input where it is read in place */
    ptrdiff_t rows;       /* of the result, that belong to a band */
    ptrdiff_t tiles;      /* of the result in Winograd's way, that are transformed together */
    ptrdiff_t terms;      /* of a sum: vectors of input channels, or single ones of a plain input, times taps */
    const ptrdiff_t *at;  /* where each term lies, from a window's first element */
    const float *weights; /* as `pack` leaves them */
    Activation activation;
} BlockedConv;

/* A run of it, and how it is cut: each item is some pixels (tiles, rows) of one group of one image, and one of `splits` parts
   of its output channels. */
typedef struct BlockedCall {
    const BlockedConv *how;
    const float *x, *bias, *residual; /* the last two may be NULL; the residual may be y */
    float *y;
    ptrdiff_t pixels, pixel_blocks, splits;
} BlockedCall;

/* `share` of threads.h, which lies in another module. */
typedef int (*Share)(const Team *team, Task task, const void *args, ptrdiff_t count, ptrdiff_t cost);

/* One way: `settle` fills in what follows from the sizes, the number of terms among it, `place` says where those lie. */
typedef struct BlockedPath {
    void (*settle)(BlockedConv *how);
    void (*place)(const BlockedConv *how, ptrdiff_t *at);
    ptrdiff_t (*packed_size)(const BlockedConv *how);
    void (*pack)(const BlockedConv *how, const float *w, float *out);
    ptrdiff_t (*scratch)(const BlockedConv *how); /* bytes for each thread */
    int (*run)(BlockedCall *call, const Team *team, Share share);
} BlockedPath;

typedef struct BlockedLoops {
    BlockedPath path[WAYS];
} BlockedLoops;

extern const BlockedLoops blocked_baseline;
#if defined(__x86_64__)
extern const BlockedLoops blocked_avx2;
#endif
#endif
