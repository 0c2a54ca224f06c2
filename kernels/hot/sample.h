/* Sampling between elements: what a call is made of, for every instruction set. */
#ifndef INTERP_HOT_SAMPLE_H
#define INTERP_HOT_SAMPLE_H
#include <stddef.h>
#include <stdint.h>
#include "hot/isa.h"
#include "hot/taps.h"

/* Planes of x, `channels` for each of a batch, read at `spots` positions; positions come in blocks of `block`. */
typedef struct Sample {
    Field field;
    ptrdiff_t batch, channels, spots, block, blocks, plane, most; /* the most places that count at a position */
    int grid_type, bytes; /* of positions (as IN_FLOAT …), and of an element that is only picked */
    char strange[16];     /* the element at a position that is no number */
} Sample;

enum { GRID_FLOAT, GRID_DOUBLE, GRID_HALF, GRID_BRAIN };

typedef struct SampleCall {
    const Sample *how;
    const char *x, *grid;
    char *y;
} SampleCall;

typedef int (*SampleTask)(const void *call, ptrdiff_t begin, ptrdiff_t end, void *scratch);

typedef struct SampleLoops {
    SampleTask in_float, in_double, picked; /* items are blocks of positions */
} SampleLoops;

extern const SampleLoops sample_baseline;
#if defined(__x86_64__)
extern const SampleLoops sample_avx2;
#endif
#endif
