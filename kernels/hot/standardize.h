/* Rows less their mean over their standard deviation, scaled and shifted, for every instruction set and floating type. */
#ifndef INTERP_HOT_STANDARDIZE_H
#define INTERP_HOT_STANDARDIZE_H
#include <stddef.h>
#include "hot/isa.h"

/* A row of n elements, of which `plane` that follow each other share a factor of scale and of shift. */
typedef struct {
    ptrdiff_t n, plane;
    double epsilon;
    int centered; /* else the mean is taken to be 0 */
} Row;

/* The row, its mean, and one over its deviation. Factors are wide (double for double, else float), or NULL; so is the room
   for a row of 16-bit elements. */
typedef void (*Standardized)(const void *x, void *y, const Row *how, const void *scale, const void *shift, void *room,
                             double *statistics);

typedef struct StandardizeLoops {
    Standardized row[4]; /* float, double, half, brain */
} StandardizeLoops;

extern const StandardizeLoops standardize_baseline;
#if defined(__x86_64__)
extern const StandardizeLoops standardize_avx2;
#endif
#endif
