/* Matrix products: what a call is made of, for every instruction set. */
#ifndef INTERP_HOT_GEMM_H
#define INTERP_HOT_GEMM_H
#include <stdbool.h>
#include <stddef.h>
#include "threads.h"
#include "hot/isa.h"

/* y = activation of alpha * a b + beta * c + residual for each of a batch: a of m x k, b of k x n, by strides in elements.
   c repeats for the batch; the residual lies as y does. */
typedef struct Product {
    ptrdiff_t batch, m, n, k;
    ptrdiff_t a_row, a_column, b_row, b_column, c_row, c_column;
    const ptrdiff_t *a_at, *b_at; /* where the factors of each of the batch begin, in elements */
    const void *panels;           /* b as `pack` leaves it, or NULL where a run brings it */
    double alpha, beta;
    int activation; /* an ActivationKind */
    double act_alpha, act_beta;
} Product;

/* A run of it, and how it is cut among threads: columns in blocks that fit the cache, rows only where those are too few. */
typedef struct ProductCall {
    const Product *how;
    const void *a, *b, *c, *residual; /* c and residual may be NULL */
    void *y;
    ptrdiff_t rows, row_blocks, columns, column_blocks, count, cost;
} ProductCall;

typedef struct GemmLoops {
    ptrdiff_t float_columns, double_columns; /* the width of a panel */
    ptrdiff_t scratch;                       /* bytes for each thread where b is not packed */
    /* b of k x n into panels: `out` has room for n rounded up to whole panels. */
    void (*float_pack)(const float *b, ptrdiff_t row, ptrdiff_t column, ptrdiff_t k, ptrdiff_t n, float *out);
    void (*double_pack)(const double *b, ptrdiff_t row, ptrdiff_t column, ptrdiff_t k, ptrdiff_t n, double *out);
    /* Fills in the cut for elements of `size` bytes; then the tasks take the call, `count` items of `cost`. */
    void (*cut)(ProductCall *call, size_t size, int threads);
    Task float_task, double_task;
} GemmLoops;

extern const GemmLoops gemm_baseline;
#if defined(__x86_64__)
extern const GemmLoops gemm_avx2;
#endif
#endif
