/* What becomes of the raw scores of classifiers and regressors: post-transforms, the second class of binary ones, winners. */
#ifndef INTERP_SCORES_H
#define INTERP_SCORES_H
#include <math.h>
#include <stddef.h>
#include <stdint.h>

enum Transform { TRANSFORM_NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO, PROBIT, TRANSFORMS };

/* What a lone score of the class that `winner` calls 1 leaves for the other class. */
enum Second { ALONE, COMPLEMENT, NEGATED };

typedef struct Verdict {
    int transform, second;
    ptrdiff_t scores;   /* raw ones of a row */
    ptrdiff_t positive; /* the score that decides between two classes; -1: the largest of all wins */
    double limit;       /* above which it decides for class 1 */
} Verdict;

static inline double logistic(double x) {
    double e = exp(-fabs(x));
    return x < 0 ? e / (1 + e) : 1 / (1 + e);
}

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
    for (ptrdiff_t i = 0; i < n; i++) {
        s[i] = zero && fabs(s[i]) <= 1e-7 ? s[i] * exp(-most) : exp(s[i] - most);
        sum += s[i];
    }
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

/* The class that wins, by raw scores; the first of equal ones. */
static inline ptrdiff_t winner(const Verdict *v, const double *s) {
    ptrdiff_t best = 0;
    if (v->positive >= 0)
        return s[v->positive] > v->limit;
    for (ptrdiff_t i = 1; i < v->scores; i++)
        best = s[i] > s[best] ? i : best;
    return best;
}

/* Raw scores become those of the output, in place, with room for two; how many there are then. As onnxruntime has it, softmax
   leaves the two scores made of one as they are. */
static inline ptrdiff_t finished(const Verdict *v, double *s) {
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

#endif
