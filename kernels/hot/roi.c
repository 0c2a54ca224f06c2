/* Loops over regions of interest, in float and in double. */
#include "hot/roi.h"
#include "half.h"
#include "hot/shuffle.h"
#include <math.h>
#ifdef __AVX2__
#include <immintrin.h>
#define WIDTH 32
#else
#define WIDTH 16
#endif
#define VECTORS (CELL / WIDTH)
#define STRIP 64 /* positions or bins that are turned at a time */

static void narrow_float(const float *x, int type, void *y, ptrdiff_t n) {
    (type == HALVES ? float_row_to_half : float_row_to_brain)(x, y, n);
}

static void read_float(const void *x, int type, void *y, ptrdiff_t n) {
    if (type == PLAIN)
        memcpy(y, x, n * sizeof(float));
    else
        (type == HALVES ? half_row_to_float : brain_row_to_float)(x, y, n);
}

static void read_double(const void *x, int type, void *y, ptrdiff_t n) {
    memcpy(y, x, n * sizeof(double));
}

#define REAL float
#define NAME(word) word##_float
#define MASK int
#define BYTES(type) ((type) == PLAIN ? 4 : 2)
#ifdef __AVX2__
#define LARGER(a, b) ((vector_float)_mm256_max_ps((__m256)(a), (__m256)(b)))
#define LOWER 0, 8, 1, 9, 2, 10, 3, 11
#define UPPER 4, 12, 5, 13, 6, 14, 7, 15
#else
#define LOWER 0, 4, 1, 5
#define UPPER 2, 6, 3, 7
#endif
#include "hot/roi_real.h"

#define REAL double
#define NAME(word) word##_double
#define MASK long long
#define BYTES(type) 8
#ifdef __AVX2__
#define LARGER(a, b) ((vector_double)_mm256_max_pd((__m256d)(a), (__m256d)(b)))
#define LOWER 0, 4, 1, 5
#define UPPER 2, 6, 3, 7
#else
#define LOWER 0, 2
#define UPPER 1, 3
#endif
#include "hot/roi_real.h"

const RoiLoops LOOPS(roi) = {
    {read_float, block_float, most_float, mean_float, most_weighted_float, spread_float},
    {read_double, block_double, most_double, mean_double, most_weighted_double, spread_double},
};
