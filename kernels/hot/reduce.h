/* Folds of rows, for every instruction set and element type: sums, products, extremes. */
#ifndef INTERP_HOT_REDUCE_H
#define INTERP_HOT_REDUCE_H
#include <stddef.h>
#include "hot/isa.h"

enum FoldKind { FOLD_SUM, FOLD_SIZES, FOLD_SQUARES, FOLD_PRODUCT, FOLD_EXPONENTIALS, FOLD_LARGEST, FOLD_LEAST, FOLD_KINDS };
enum { FOLD_TYPES = 13,  /* as in step.pxd: float, double, half, brain, eight kinds of integers, bool */
       FOLD_BLOCK = 1024,/* accumulators side by side */
       FOLD_WIDTH = 16,  /* bytes that each of them may take */
       FOLD_ROOM = 4096 /* elements that are widened at once */ };

/* Fold n elements, less `shift` where they are exponents, into one accumulator. */
typedef void (*FoldRow)(const void *x, ptrdiff_t n, const double *shift, void *to);

/* Fold n rows of m elements, `stride` apart, into m accumulators, FOLD_BLOCK at most. */
typedef void (*FoldRows)(const void *x, ptrdiff_t stride, ptrdiff_t n, ptrdiff_t m, const double *shift, void *to);

/* Elements of another type as those that a fold computes with. */
typedef void (*FoldLoad)(const void *x, void *y, ptrdiff_t n);

/* What becomes of accumulators once all is folded. */
enum FoldEnd { END_AS_IS, END_MEAN, END_ROOT, END_LOGARITHM, END_SHIFTED_LOGARITHM };
typedef void (*FoldEnding)(const void *from, const double *shift, ptrdiff_t m, double count, int end, void *y);

/* Accumulators that hold what the fold of nothing is. */
typedef void (*FoldStart)(void *to, ptrdiff_t m);

typedef struct Fold {
    FoldRow row;
    FoldRows rows;
    FoldStart start;
} Fold;

typedef struct ReduceLoops {
    Fold fold[FOLD_KINDS][FOLD_TYPES]; /* sums of floats go to doubles, all others to their own type */
    Fold whole[FOLD_TYPES];            /* exact sums of integers, for their mean */
    FoldLoad widened[FOLD_TYPES];      /* to float from 16-bit types, to double from integers */
    FoldEnding from_double[FOLD_TYPES], own[FOLD_TYPES], mean[FOLD_TYPES];
} ReduceLoops;

extern const ReduceLoops reduce_baseline;
#if defined(__x86_64__)
extern const ReduceLoops reduce_avx2;
#endif
#endif
