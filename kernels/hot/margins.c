/* Products of rows with vectors, and the kernels of support vector machines. */
#include <math.h>
#include <stdint.h>
#include <string.h>
#include "hot/margins.h"

typedef double four __attribute__((vector_size(32), aligned(8)));

static inline double sum(four v) {
    return (v[0] + v[1]) + (v[2] + v[3]);
}

static inline __attribute__((always_inline)) void rows_with(const double *x, int rows, const double *vectors, ptrdiff_t n,
                                                            ptrdiff_t width, int distance, double *k) {
    for (ptrdiff_t i = 0; i < n; i++) {
        const double *s = vectors + i * width;
        four total[TOGETHER] = {{0}};
        for (ptrdiff_t f = 0; f < width; f += 4)
            for (int r = 0; r < rows; r++) {
                four a = *(const four *)(x + r * width + f), b = *(const four *)(s + f);
                total[r] += distance ? (a - b) * (a - b) : a * b;
            }
        for (int r = 0; r < rows; r++)
            k[r * n + i] = sum(total[r]);
    }
}

static void produced(const double *x, ptrdiff_t rows, const double *vectors, ptrdiff_t n, ptrdiff_t width, int distance,
                     double *k) {
    if (rows == TOGETHER && distance)
        rows_with(x, TOGETHER, vectors, n, width, 1, k);
    else if (rows == TOGETHER)
        rows_with(x, TOGETHER, vectors, n, width, 0, k);
    else
        for (ptrdiff_t r = 0; r < rows; r++)
            rows_with(x + r * width, 1, vectors, n, width, distance, k + r * n);
}

/* e^x within a few units in the last place, as a polynomial that compilers turn into vectors. */
static inline double exponential(double x) {
    const double magic = 6755399441055744.0; /* adding it rounds to a whole number */
    double c = x < -708.0 ? -708.0 : x, shifted, n, r, p, power;
    int64_t bits, whole;
    c = c > 709.0 ? 709.0 : c;
    shifted = c * 1.4426950408889634 + magic;
    n = shifted - magic;
    r = c - n * 0.693147180369123816490;
    r = r - n * 1.90821492927058770002e-10;
    p = 1.0 / 479001600;
    p = p * r + 1.0 / 39916800;
    p = p * r + 1.0 / 3628800;
    p = p * r + 1.0 / 362880;
    p = p * r + 1.0 / 40320;
    p = p * r + 1.0 / 5040;
    p = p * r + 1.0 / 720;
    p = p * r + 1.0 / 120;
    p = p * r + 1.0 / 24;
    p = p * r + 1.0 / 6;
    p = p * r + 0.5;
    p = p * (r * r) + r + 1;
    memcpy(&whole, &shifted, 8);
    memcpy(&bits, &magic, 8);
    bits = (int64_t)((uint64_t)(whole - bits + 1023) << 52);
    memcpy(&power, &bits, 8);
    p = x < -708.0 ? 0 : p * power;
    return x > 709.0 ? INFINITY : p;
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
    return sum(total) + rest;
}

const MarginsLoops LOOPS(margins) = {produced, bent, dotted};
