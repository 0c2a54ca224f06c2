/* Rows of normalizations, for every instruction set and floating type. */
#ifndef INTERP_HOT_NORMALIZATION_H
#define INTERP_HOT_NORMALIZATION_H
#include <stddef.h>
#include "hot/isa.h"

/* (x - mean) * scale + shift over a row of one channel, or over channels side by side. */
typedef void (*Scaled)(const void *x, void *y, ptrdiff_t n, const double *mean, const double *scale, const double *shift);

/* A row of one channel, over the root of the squares in the rows low..high beside it, `step` elements apart:
   x / (bias + alpha * sum)^beta. */
typedef void (*Responded)(const void *x, void *y, ptrdiff_t n, ptrdiff_t low, ptrdiff_t high, ptrdiff_t step, double alpha,
                          double beta, double bias);

/* The softmax, or its logarithm, of n elements, each `inner` apart; `inner` such lines side by side. */
typedef void (*Softened)(const void *x, void *y, ptrdiff_t n, ptrdiff_t inner, int logarithm);

typedef struct NormalizationLoops {
    Scaled row[4], channels[4]; /* float, double, half, brain */
    Responded response[4];
    Softened soft[2];
} NormalizationLoops;

extern const NormalizationLoops normalization_baseline;
#if defined(__x86_64__)
extern const NormalizationLoops normalization_avx2;
#endif
#endif
