/* What becomes of the raw scores of classifiers and regressors: post-transforms, and the second class of binary ones. */
#include <math.h>
#include "hot/exponential_wide.h"
#include "hot/scores.h"

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

const ScoresLoops LOOPS(scores) = {finished};
