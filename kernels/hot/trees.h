/* Walks through decision trees: many rows through one tree, or one row through many, eight at a time. */
#ifndef INTERP_HOT_TREES_H
#define INTERP_HOT_TREES_H
#include <stddef.h>
#include <stdint.h>
#include "hot/isa.h"

/* Where to go from a node: to `below` if the feature is at most `limit`, else `step` further. A leaf goes to itself. The sign
   bit of `feature` sends NaN to `below`. */
typedef struct Node32 {
    float limit;
    int32_t feature, below, step;
} Node32;
typedef struct Node64 {
    double limit;
    int32_t feature, below, step, nothing;
} Node64;

enum Fold { FOLD_SUM, FOLD_MIN, FOLD_MAX };

typedef struct Trees {
    const void *nodes;
    const int32_t *roots, *depths;
    const int32_t *starts, *targets; /* the votes of node i are starts[i] .. starts[i + 1] */
    const double *weights;
    const double *lone; /* the vote of each leaf where all have one, for the only target; else NULL */
    ptrdiff_t count, features, scores;
    int fold;
    /* The first levels of each tree, as if it were complete: node i has the children 2 i + 1 and 2 i + 2. */
    const int32_t *levels;   /* how many; 0 where they are not there */
    const int32_t *tops;     /* where those of a tree begin */
    const int32_t *nan_below; /* whether NaN goes to `below` at all nodes of a tree, or at none */
    const void *limits;
    const int32_t *columns;  /* the feature that each compares, times the rows that go together */
    const int32_t *exits;    /* the node behind each way through them */
    const float *votes;      /* or the only vote of the leaf there, where `lone` has them and all are floats; else NULL */
} Trees;

enum { MOST_LEVELS = 6, ALIKE = 32 }; /* ALIKE: bytes of one feature of the rows that go together */

/* Fold the votes of the trees first..last for rows that lie one after the other into `scores`, a row of them for each; up to
   a multiple of eight rows are written. The room is for features of as many rows, and for their numbers. */
typedef void (*Voted)(const Trees *trees, const void *x, ptrdiff_t rows, ptrdiff_t first, ptrdiff_t last, double *scores,
                      void *room);

typedef struct TreesLoops {
    Voted voted[2]; /* float, double */
} TreesLoops;

extern const TreesLoops trees_baseline;
#if defined(__x86_64__)
extern const TreesLoops trees_avx2;
#endif
#endif
