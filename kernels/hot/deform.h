/* Deformable convolutions: what a call is made of, for every instruction set. */
#ifndef INTERP_HOT_DEFORM_H
#define INTERP_HOT_DEFORM_H
#include <stddef.h>
#include "hot/isa.h"
#include "hot/taps.h"

/* Channels are those of one group. Outputs are made `block` at a time, `blocks` for each image. */
typedef struct Deform {
    Field field;
    ptrdiff_t batch, groups, in_channels, out_channels, offset_groups, plane, spots, taps, block, blocks, corners;
    ptrdiff_t kernel[FIELD_AXES], stride[FIELD_AXES], dilation[FIELD_AXES], before[FIELD_AXES], out[FIELD_AXES];
} Deform;

typedef struct DeformCall {
    const Deform *how;
    const void *x, *w, *offset, *bias, *mask; /* the last two may be NULL */
    void *y;
} DeformCall;

typedef int (*DeformTask)(const void *call, ptrdiff_t begin, ptrdiff_t end, void *scratch);

typedef struct DeformLoops {
    ptrdiff_t scratch;     /* bytes for each thread beside columns and places */
    ptrdiff_t float_spots; /* of a block, at most; half as many of double */
    DeformTask in_float, in_double; /* items are blocks */
} DeformLoops;

extern const DeformLoops deform_baseline;
#if defined(__x86_64__)
extern const DeformLoops deform_avx2;
#endif
#endif
