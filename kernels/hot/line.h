/* Convolutions along one axis, of float: what a call is made of, for every instruction set. */
#ifndef INTERP_HOT_LINE_H
#define INTERP_HOT_LINE_H
#include <stdbool.h>
#include <stddef.h>
#include "activation.h"
#include "threads.h"
#include "hot/isa.h"

enum {
    PLACES = 16,       /* tiles, or output channels, that are worked out side by side */
    TRANSFORMED = 8,   /* numbers that a tile of Winograd's way becomes */
    PADDED_ROWS = 6,   /* output channels in a group of weights for Winograd's way, some of them zeros in the last */
};

typedef struct Line {
    ptrdiff_t batch, in_channels, out_channels, taps, size, out, stride, dilation, before;
    Activation activation; /* of the sum, after bias and residual */
    const float *weights;  /* as packed for the way that is taken */
} Line;

/* A run of it. bias and residual may be NULL; `blocks` of so many `panels` are the items of an image for Winograd's way. */
typedef struct LineCall {
    const Line *how;
    const float *x, *bias, *residual;
    float *y;
    ptrdiff_t panels, blocks, count, cost;
} LineCall;

/* Fills in the cut among threads; the task then takes the call, `count` items of `cost`. */
typedef struct LineWay {
    ptrdiff_t (*packed_size)(ptrdiff_t out_channels, ptrdiff_t in_channels, ptrdiff_t taps);
    void (*pack)(const float *w, ptrdiff_t out_channels, ptrdiff_t in_channels, ptrdiff_t taps, float *to);
    ptrdiff_t (*scratch)(const Line *how); /* bytes for each thread */
    void (*cut)(LineCall *call, int threads);
    Task task;
} LineWay;

typedef struct LineLoops {
    LineWay few, tiles;
} LineLoops;

extern const LineLoops line_baseline;
#if defined(__x86_64__)
extern const LineLoops line_avx2;
#endif
#endif
