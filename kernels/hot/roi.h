/* Loops over regions of interest, for every instruction set.

   The map stands in blocks of channels: at every position a cell of CELL bytes, which holds as many channels as fit; lanes
   without a channel are zero. */
#ifndef INTERP_HOT_ROI_H
#define INTERP_HOT_ROI_H
#include <stddef.h>
#include "hot/isa.h"

#define CELL 128 /* two cache lines: with one, short loops over positions cost more than what they do */

/* The element types at the edges; the arithmetic is in float or double. */
enum { PLAIN, HALVES, BRAINS };

/* Positions begin to end - 1. */
typedef struct Span {
    ptrdiff_t begin, end;
} Span;

/* The positions along one axis from which a bin interpolates: for each its weight, summed over the samples, or the largest
   and the least of them. `outside` says that samples lie off the map. */
typedef struct Taps {
    ptrdiff_t count;
    const ptrdiff_t *at;
    const void *weight, *least;
    int outside;
} Taps;

/* Everything void is float in one table and double in the other; x and y are of the type that `type` tells. */
typedef struct RealLoops {
    /* n elements from x to y. */
    void (*read)(const void *x, int type, void *y, ptrdiff_t n);
    /* Positions begin to end - 1 of some channels, whose planes are `plane` elements apart, into cells. */
    void (*block)(const void *x, int type, ptrdiff_t plane, ptrdiff_t channels, Span positions, void *cells);
    /* The largest value of every bin; `empty` for one without a cell. */
    void (*most)(const void *cells, ptrdiff_t width, const Span *rows, ptrdiff_t high, const Span *columns, ptrdiff_t wide,
                 double empty, void *bins);
    /* The weighted sum of every bin over `samples`. */
    void (*mean)(const void *cells, ptrdiff_t width, const Taps *rows, ptrdiff_t high, const Taps *columns, ptrdiff_t wide,
                 double samples, void *bins);
    /* The largest weighted value of every bin; samples off the map count as `empty`. */
    void (*most_weighted)(const void *cells, ptrdiff_t width, const Taps *rows, ptrdiff_t high, const Taps *columns,
                          ptrdiff_t wide, double empty, void *bins);
    /* n bins into the rows of their channels, which are `plane` elements apart. */
    void (*spread)(const void *bins, ptrdiff_t n, ptrdiff_t channels, void *y, int type, ptrdiff_t plane);
} RealLoops;

typedef struct RoiLoops {
    RealLoops single, twice;
} RoiLoops;

extern const RoiLoops roi_baseline;
#if defined(__x86_64__)
extern const RoiLoops roi_avx2;
#endif
#endif
