/* Products of rows with vectors, and the kernels of support vector machines. */
#include <math.h>
#include "hot/exponential_wide.h"
#include "hot/margins.h"

typedef double four __attribute__((vector_size(32), aligned(8)));

/* Each lane has a vector of its own: element f of vector 4 b + i stands at [b][f][i]. */
static inline __attribute__((always_inline)) void blocks_with(const double *x, int rows, const double *vectors, int blocks,
                                                              ptrdiff_t features, int distance, double *k, ptrdiff_t lanes) {
    four total[2][TOGETHER] = {{{0}}};
    for (ptrdiff_t f = 0; f < features; f++)
        for (int b = 0; b < blocks; b++) {
            four v = *(const four *)(vectors + (b * features + f) * 4);
            for (int r = 0; r < rows; r++) {
                four d = distance ? x[r * features + f] - v : v * x[r * features + f];
                total[b][r] += distance ? d * d : d;
            }
        }
    for (int b = 0; b < blocks; b++)
        for (int r = 0; r < rows; r++)
            *(four *)(k + r * lanes + b * 4) = total[b][r];
}

static inline __attribute__((always_inline)) void rows_with(const double *x, int rows, const double *vectors, ptrdiff_t lanes,
                                                            ptrdiff_t features, int distance, double *k) {
    ptrdiff_t i = 0;
    for (; i + 8 <= lanes; i += 8)
        blocks_with(x, rows, vectors + i * features, 2, features, distance, k + i, lanes);
    for (; i < lanes; i += 4)
        blocks_with(x, rows, vectors + i * features, 1, features, distance, k + i, lanes);
}

static void produced(const double *x, ptrdiff_t rows, const double *vectors, ptrdiff_t lanes, ptrdiff_t features, int distance,
                     double *k) {
    if (rows == TOGETHER && distance)
        rows_with(x, TOGETHER, vectors, lanes, features, 1, k);
    else if (rows == TOGETHER)
        rows_with(x, TOGETHER, vectors, lanes, features, 0, k);
    else
        for (ptrdiff_t r = 0; r < rows; r++)
            rows_with(x + r * features, 1, vectors, lanes, features, distance, k + r * lanes);
}

static inline double raised(double x, double degree) {
    if (degree == 2)
        return x * x;
    return degree == 3 ? x * x * x : pow(x, degree);
}

static void bent(double *k, ptrdiff_t n, int bend, double gamma, double coef0, double degree) {
    if (bend == BEND_RBF)
        for (ptrdiff_t i = 0; i < n; i++)
            k[i] = exponential(-gamma * k[i]);
    for (ptrdiff_t i = 0; i < n && bend == BEND_POLY; i++)
        k[i] = raised(gamma * k[i] + coef0, degree);
    for (ptrdiff_t i = 0; i < n && bend == BEND_SIGMOID; i++)
        k[i] = tanh(gamma * k[i] + coef0);
}

static double dotted(const double *a, const double *b, ptrdiff_t n) {
    four total = {0};
    double rest = 0;
    ptrdiff_t i = 0;
    for (; i + 4 <= n; i += 4)
        total += *(const four *)(a + i) * *(const four *)(b + i);
    for (; i < n; i++)
        rest += a[i] * b[i];
    return (total[0] + total[1]) + (total[2] + total[3]) + rest;
}

static void widened(const float *x, ptrdiff_t n, double *y) {
    for (ptrdiff_t i = 0; i < n; i++)
        y[i] = x[i];
}

const MarginsLoops LOOPS(margins) = {produced, bent, dotted, widened};
