/* Rows of operands that repeat, for every instruction set. */
#ifndef INTERP_HOT_CHAIN_H
#define INTERP_HOT_CHAIN_H
#include <stddef.h>
#include "hot/isa.h"

/* So many rows of n elements, one after the other: one element of x repeated, or all those of a row, `along` bytes apart. */
typedef void (*Spread)(const char *x, ptrdiff_t along, int repeats, char *y, ptrdiff_t rows, ptrdiff_t n);

typedef struct ChainLoops {
    Spread spread[9]; /* by the bytes of an element */
} ChainLoops;

extern const ChainLoops chain_baseline;
#if defined(__x86_64__)
extern const ChainLoops chain_avx2;
#endif
#endif
