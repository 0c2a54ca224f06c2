/* Matrix products with weights of four bits: what a call is made of, for every instruction set. */
#ifndef INTERP_HOT_NIBBLES_H
#define INTERP_HOT_NIBBLES_H
#include <stddef.h>
#include <stdint.h>
#include "threads.h"
#include "hot/isa.h"

/* y = a b + bias: a of m x k, b of k x n in panels. A byte of a panel's row is a column of its left half, in the low bits, and
   the one as far to the right in its right half; what it stands for is (number - zero) * scale, by blocks along k. */
typedef struct Nibbles {
    ptrdiff_t m, n, k, block;
    const uint8_t *codes;
    const float *scales, *zeros; /* a row of a panel for each block */
} Nibbles;

typedef struct NibblesCall {
    const Nibbles *how;
    const float *a, *bias; /* bias may be NULL */
    float *y;
    ptrdiff_t count, cost;
} NibblesCall;

typedef struct NibblesLoops {
    ptrdiff_t columns, scratch; /* the width of a panel; bytes for each thread */
    void (*cut)(NibblesCall *call);
    Task task;
} NibblesLoops;

extern const NibblesLoops nibbles_baseline;
#if defined(__x86_64__)
extern const NibblesLoops nibbles_avx2;
#endif
#endif
