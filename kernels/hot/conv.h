/* Convolutions: what a call is made of, for every instruction set. */
#ifndef INTERP_HOT_CONV_H
#define INTERP_HOT_CONV_H
#include <stdbool.h>
#include <stddef.h>
#include "activation.h"
#include "threads.h"
#include "hot/isa.h"

enum { AXES = 3 }; /* spatial ones; fewer come with leading ones of size 1 */

/* Channels are those of one group. `before` is the padding before each axis. */
typedef struct Convolution {
    ptrdiff_t batch, groups, in_channels, out_channels;
    ptrdiff_t size[AXES], kernel[AXES], stride[AXES], dilation[AXES], before[AXES], out[AXES];
    const void *panels; /* the weights as `pack` leaves them, or NULL where a run brings them */
    Activation activation;
} Convolution;

/* A run of it, and how it is cut among threads: pixels in blocks that fit the cache, output channels only
   where those are too few. */
typedef struct ConvolutionCall {
    const Convolution *how;
    const void *x, *w, *bias, *residual; /* bias and residual may be NULL; the residual lies as y does and may be y itself */
    void *y;
    ptrdiff_t rows, row_blocks, pixels, pixel_blocks, count, cost;
} ConvolutionCall;

/* A way to do it: `cut` fills in the cut for elements of `size` bytes; the tasks take the call, `count` items of `cost`. */
typedef struct Way {
    void (*cut)(ConvolutionCall *call, size_t size, int threads);
    Task float_task, double_task;
} Way;

typedef struct ConvLoops {
    /* How many elements the packed weights are, and the packing of those of `groups` groups. */
    ptrdiff_t (*packed_size)(ptrdiff_t groups, ptrdiff_t out_channels, ptrdiff_t depth);
    void (*float_pack)(const float *w, ptrdiff_t groups, ptrdiff_t out_channels, ptrdiff_t in_channels, ptrdiff_t taps,
                       float *out);
    void (*double_pack)(const double *w, ptrdiff_t groups, ptrdiff_t out_channels, ptrdiff_t in_channels, ptrdiff_t taps,
                        double *out);
    /* Bytes for each thread, and what the two ways need. */
    ptrdiff_t (*depthwise_scratch)(const Convolution *how, size_t size, bool residual);
    ptrdiff_t scratch;
    Way products, depthwise; /* the second for one input channel a group: sums of planes, with weights as they are */
} ConvLoops;

extern const ConvLoops conv_baseline;
#if defined(__x86_64__)
extern const ConvLoops conv_avx2;
#endif
#endif
