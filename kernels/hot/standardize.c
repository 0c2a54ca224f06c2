/* Rows less their mean over their standard deviation: two passes over the row for its statistics, and one to write it. */
#include "hot/standardize.h"
#include <math.h>
#include "half.h"
#define REAL float
#include "hot/lines.h"
#undef REAL
#define REAL double
#include "hot/lines.h"
#undef REAL

#define EACH(n) _Pragma("GCC ivdep") for (ptrdiff_t i = 0; i < (n); i++)

/* A sum over a long row, in blocks. */
#define OVER_BLOCKS(sum, n, of_block)                                                                              \
    for (ptrdiff_t at = 0, m; at < (n); at += m) {                                                                 \
        m = (n) - at < LINE_BLOCK ? (n) - at : LINE_BLOCK;                                                         \
        sum += of_block;                                                                                           \
    }

#define STANDARDIZED(real)                                                                                         \
    static void scaled_##real(const real *x, real *y, ptrdiff_t n, real mean, real spread, const real *scale,      \
                              const real *shift) {                                                                 \
        if (scale && shift)                                                                                        \
            EACH(n) y[i] = (x[i] - mean) * spread * scale[i] + shift[i];                                           \
        else if (scale)                                                                                            \
            EACH(n) y[i] = (x[i] - mean) * spread * scale[i];                                                      \
        else                                                                                                       \
            EACH(n) y[i] = (x[i] - mean) * spread + (shift ? shift[i] : 0);                                        \
    }                                                                                                              \
    static void row_##real(const void *x_, void *y_, const Row *how, const void *scale_, const void *shift_,       \
                           void *room, double *statistics) {                                                       \
        const real *x = x_, *scale = scale_, *shift = shift_;                                                      \
        real *y = y_;                                                                                              \
        double sum = 0, squares = 0;                                                                               \
        if (how->centered)                                                                                         \
            OVER_BLOCKS(sum, how->n, real##_total(x + at, m))                                                      \
        const real mean = (real)(sum / (double)how->n);                                                            \
        OVER_BLOCKS(squares, how->n, real##_squares(x + at, mean, m))                                              \
        statistics[0] = mean;                                                                                      \
        statistics[1] = 1 / sqrt(squares / (double)how->n + how->epsilon);                                         \
        const real spread = (real)statistics[1];                                                                   \
        if (how->plane == 1) {                                                                                     \
            scaled_##real(x, y, how->n, mean, spread, scale, shift);                                               \
            return;                                                                                                \
        }                                                                                                          \
        for (ptrdiff_t s = 0; s * how->plane < how->n; s++) {                                                      \
            const real k = scale ? spread * scale[s] : spread, b = shift ? shift[s] : 0;                           \
            const real *from = x + s * how->plane;                                                                 \
            real *to = y + s * how->plane;                                                                         \
            EACH(how->plane) to[i] = (from[i] - mean) * k + b;                                                     \
        }                                                                                                          \
    }
STANDARDIZED(float)
STANDARDIZED(double)

static void row_half(const void *x, void *y, const Row *how, const void *scale, const void *shift, void *room,
                     double *statistics) {
    half_row_to_float(x, room, how->n);
    row_float(room, room, how, scale, shift, NULL, statistics);
    float_row_to_half(room, y, how->n);
}

static void row_brain(const void *x, void *y, const Row *how, const void *scale, const void *shift, void *room,
                      double *statistics) {
    brain_row_to_float(x, room, how->n);
    row_float(room, room, how, scale, shift, NULL, statistics);
    float_row_to_brain(room, y, how->n);
}

const StandardizeLoops LOOPS(standardize) = {{row_float, row_double, row_half, row_brain}};
