/* What becomes of the raw scores of classifiers and regressors: post-transforms, and the second class of binary ones. */
#include <math.h>
#include "hot/exponential.h"
#include "hot/exponential_wide.h"
#include "hot/scores.h"
#if defined(__AVX2__)
#include <immintrin.h>
#endif

/* The quantile of the normal distribution by Winitzki's formula for erf^-1, within 0.2 %: what every runtime calculates, and
   onnx.reference. */
static inline double probit(double p) {
    const double a = 0.147, pi = 3.14159265358979323846;
    double x = 2 * p - 1, l = log((1 - x) * (1 + x)), v = 2 / (pi * a) + l / 2;
    return copysign(sqrt(2 * (sqrt(v * v - l / a) - v)), x);
}

/* The softmax; with `zero`, scores of 0 stay 0. */
static inline void softmax_of(double *s, ptrdiff_t n, int zero) {
    double most = -INFINITY, sum = 0;
    for (ptrdiff_t i = 0; i < n; i++)
        most = s[i] > most ? s[i] : most;
    if (zero) {
        double none = exponential(-most);
        for (ptrdiff_t i = 0; i < n; i++)
            s[i] = fabs(s[i]) <= 1e-7 ? s[i] * none : exponential(s[i] - most);
    } else
        for (ptrdiff_t i = 0; i < n; i++)
            s[i] = exponential(s[i] - most);
    for (ptrdiff_t i = 0; i < n; i++)
        sum += s[i];
    for (ptrdiff_t i = 0; i < n; i++)
        s[i] = sum == 0 ? 0.5 : s[i] / sum;
}

static inline void transformed(double *s, ptrdiff_t n, int transform) {
    if (transform == SOFTMAX || transform == SOFTMAX_ZERO)
        softmax_of(s, n, transform == SOFTMAX_ZERO);
    for (ptrdiff_t i = 0; i < n && transform == LOGISTIC; i++)
        s[i] = logistic(s[i]);
    for (ptrdiff_t i = 0; i < n && transform == PROBIT; i++)
        s[i] = probit(s[i]);
}

/* As onnxruntime has it, softmax leaves the two scores made of one as they are. */
static ptrdiff_t finished(const Verdict *v, double *s) {
    double raw = s[0];
    if (v->scores != 1 || v->second == ALONE) {
        transformed(s, v->scores, v->transform);
        return v->scores;
    }
    s[0] = v->second == NEGATED && v->transform != PROBIT ? -raw : 1 - raw;
    s[1] = raw;
    if (v->transform == LOGISTIC)
        s[0] = -raw;
    if (v->transform == LOGISTIC || v->transform == PROBIT)
        transformed(s, 2, v->transform);
    return 2;
}

/* Adds the shift and tells the largest number of a row, in four parts; NaN is passed over. */
static inline double most_of(double *s, const double *shift, ptrdiff_t lanes) {
    double most[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
    for (ptrdiff_t i = 0; i < lanes; i += 4)
        for (int k = 0; k < 4; k++) {
            s[i + k] += shift[i + k];
            most[k] = s[i + k] > most[k] ? s[i + k] : most[k];
        }
    most[0] = most[1] > most[0] ? most[1] : most[0];
    most[2] = most[3] > most[2] ? most[3] : most[2];
    return most[2] > most[0] ? most[2] : most[0];
}

/* Which of four numbers are equal to one. */
static inline unsigned equal(const double *s, double x) {
#ifdef __AVX2__
    return (unsigned)_mm256_movemask_pd(_mm256_cmp_pd(_mm256_loadu_pd(s), _mm256_set1_pd(x), _CMP_EQ_OQ));
#else
    return (unsigned)((s[0] == x) | (s[1] == x) << 1 | (s[2] == x) << 2 | (s[3] == x) << 3);
#endif
}

/* Where the largest number stands first; nothing exceeds a NaN in the first place. */
static inline ptrdiff_t first_most(const double *s, ptrdiff_t lanes, double most) {
    if (s[0] != s[0])
        return 0;
    for (ptrdiff_t begin = 0; begin < lanes; begin += 64) {
        uint64_t there = 0;
        for (ptrdiff_t i = begin; i < lanes && i < begin + 64; i += 4)
            there |= (uint64_t)equal(s + i, most) << (i - begin);
        if (there)
            return begin + __builtin_ctzll(there);
    }
    return 0;
}

static void together(const Verdict *v, double *s, const double *shift, ptrdiff_t rows, ptrdiff_t lanes, ptrdiff_t *best,
                     float *e) {
    const int softmax = v->transform == SOFTMAX;
    for (ptrdiff_t r = 0; r < rows; r++) {
        double *row = s + r * lanes, most = most_of(row, shift, lanes), less = softmax ? most : 0;
        best[r] = first_most(row, lanes, most);
        for (ptrdiff_t i = 0; i < lanes; i++)
            e[r * lanes + i] = (float)(row[i] - less);
    }
    if (softmax)
        for (ptrdiff_t i = 0; i < rows * lanes; i++)
            e[i] = exp_of(e[i]);
    else if (v->transform == LOGISTIC)
        for (ptrdiff_t i = 0; i < rows * lanes; i++) {
            float small = exp_of(-fabsf(e[i]));
            e[i] = (e[i] < 0 ? small : 1) / (1 + small);
        }
    for (ptrdiff_t r = 0; r < rows && softmax; r++) {
        float *row = e + r * lanes, sum[4] = {0}, share;
        for (ptrdiff_t i = 0; i < lanes; i += 4)
            for (int k = 0; k < 4; k++)
                sum[k] += row[i + k];
        share = 1 / ((sum[0] + sum[1]) + (sum[2] + sum[3]));
        for (ptrdiff_t i = 0; i < lanes; i++)
            row[i] *= share;
    }
}

static void joined(const float *e, ptrdiff_t rows, ptrdiff_t lanes, ptrdiff_t n, float *y) {
    for (ptrdiff_t r = 0; r < rows; r++)
        for (ptrdiff_t i = 0; i < n; i++)
            y[r * n + i] = e[r * lanes + i];
}

const ScoresLoops LOOPS(scores) = {finished, together, joined};
