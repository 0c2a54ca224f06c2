/* Products of rows with vectors, and the kernels of support vector machines, for every instruction set; all in double. */
#ifndef INTERP_HOT_MARGINS_H
#define INTERP_HOT_MARGINS_H
#include <stddef.h>
#include "hot/isa.h"

enum Bend { BEND_LINEAR, BEND_POLY, BEND_RBF, BEND_SIGMOID };
enum { TOGETHER = 4 }; /* rows that share the loads of vectors; also how many of these stand side by side */

/* k[r * lanes + i]: the inner product of row r with vector i, or the square of their distance. Element f of vector i stands at
   [i / 4][f][i % 4], and `lanes` is their number, rounded up to whole fours. */
typedef void (*Produced)(const double *x, ptrdiff_t rows, const double *vectors, ptrdiff_t lanes, ptrdiff_t features, int distance,
                         double *k);

/* From inner products or squared distances to values of the kernel, in place. */
typedef void (*Bent)(double *k, ptrdiff_t n, int bend, double gamma, double coef0, double degree);

typedef double (*Dotted)(const double *a, const double *b, ptrdiff_t n);

typedef void (*Widened)(const float *x, ptrdiff_t n, double *y);

typedef struct MarginsLoops {
    Produced produced;
    Bent bent;
    Dotted dotted;
    Widened widened;
} MarginsLoops;

extern const MarginsLoops margins_baseline;
#if defined(__x86_64__)
extern const MarginsLoops margins_avx2;
#endif
#endif
