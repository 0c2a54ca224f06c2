/* Activations of sums in registers, for one element type, REAL. Included once for each type, after vector.h. */
#include "activation.h"
#include "hot/exponential.h"
#include "hot/exponential_wide.h"

#ifndef INTERP_HOT_ACTIVATE_H
#define INTERP_HOT_ACTIVATE_H
/* The greater and the lesser of a bound and x; NaN in x stays. */
#if defined(__AVX2__)
#define AT_LEAST(bound, x)                                                                                        \
    (sizeof(REAL) == 4 ? (OF(vector))_mm256_max_ps((__m256)(bound), (__m256)(x))                                   \
                       : (OF(vector))_mm256_max_pd((__m256d)(bound), (__m256d)(x)))
#define AT_MOST(bound, x)                                                                                         \
    (sizeof(REAL) == 4 ? (OF(vector))_mm256_min_ps((__m256)(bound), (__m256)(x))                                   \
                       : (OF(vector))_mm256_min_pd((__m256d)(bound), (__m256d)(x)))
#elif defined(__SSE2__)
#include <emmintrin.h>
#define AT_LEAST(bound, x)                                                                                        \
    (sizeof(REAL) == 4 ? (OF(vector))_mm_max_ps((__m128)(bound), (__m128)(x))                                      \
                       : (OF(vector))_mm_max_pd((__m128d)(bound), (__m128d)(x)))
#define AT_MOST(bound, x)                                                                                         \
    (sizeof(REAL) == 4 ? (OF(vector))_mm_min_ps((__m128)(bound), (__m128)(x))                                      \
                       : (OF(vector))_mm_min_pd((__m128d)(bound), (__m128d)(x)))
#else
#define AT_LEAST(bound, x) OF(at_least)(bound, x)
#define AT_MOST(bound, x) OF(at_most)(bound, x)
#endif

static inline float float_tanh(float x) { return tanh_of(x); }
static inline double double_tanh(double x) { return tanh(x); }
static inline float float_exp(float x) { return exp_of(x); }
static inline double double_exp(double x) { return exponential(x); }
static inline float float_expm1(float x) { return expm1_of(x); }
static inline double double_expm1(double x) { return expm1(x); }
static inline float float_sigmoid(float x) { return sigmoid_of(x); }
static inline double double_sigmoid(double x) { return logistic(x); }
static inline float float_gelu(float x) { return x * 0.5f * (1 + erf_of(x * 0.70710678f)); }
static inline double double_gelu(double x) { return x * 0.5 * erfc(x * -0.70710678118654752); }
#endif

#if !defined(__SSE2__)
ALWAYS OF(vector) OF(at_least)(OF(vector) bound, OF(vector) x) {
    for (int l = 0; l < LANES; l++)
        x[l] = bound[l] > x[l] ? bound[l] : x[l];
    return x;
}

ALWAYS OF(vector) OF(at_most)(OF(vector) bound, OF(vector) x) {
    for (int l = 0; l < LANES; l++)
        x[l] = bound[l] < x[l] ? bound[l] : x[l];
    return x;
}
#endif

/* 1 / (1 + e^-x) of a vector; for float by instructions that compilers do not find in comparisons. e^88 stands in for more. */
ALWAYS OF(vector) OF(sigmoids)(OF(vector) x) {
#define OF_ALL(number) OF(spread)((REAL)(number))
    typedef int32_t bits __attribute__((vector_size(VECTOR)));
    if (sizeof(REAL) == sizeof(float)) {
        OF(vector) magic = OF_ALL(12582912.f), c = AT_MOST(OF_ALL(88.f), AT_LEAST(OF_ALL(-87.f), -x));
        OF(vector) shifted = c * OF_ALL(1.44269504088896341f) + magic, n = shifted - magic;
        OF(vector) r = c - n * OF_ALL(0.693359375f) + n * OF_ALL(2.12194440e-4f), p = OF_ALL(1.9875691500e-4f);
        p = p * r + OF_ALL(1.3981999507e-3f);
        p = p * r + OF_ALL(8.3334519073e-3f);
        p = p * r + OF_ALL(4.1665795894e-2f);
        p = p * r + OF_ALL(1.6666665459e-1f);
        p = p * r + OF_ALL(5.0000001201e-1f);
        p = p * (r * r) + r + OF_ALL(1);
        return OF_ALL(1) / (OF_ALL(1) + (OF(vector))((bits)p + ((bits)shifted << 23)));
    }
    for (int l = 0; l < (int)LANES; l++)
        x[l] = OF(sigmoid)(x[l]);
    return x;
#undef OF_ALL
}

/* Exponentials and their kin of n elements, a multiple of LANES, in place: lane by lane as written, in vectors as compiled. */
ALWAYS void OF(curve)(REAL *x, ptrdiff_t n, int kind, REAL alpha) {
#define EACH(result)                        \
    for (ptrdiff_t i = 0; i < n; i++) {     \
        REAL u = x[i];                      \
        x[i] = (result);                    \
    }                                       \
    break
#define EACH_VECTOR(result)                             \
    for (ptrdiff_t i = 0; i < n; i += LANES) {          \
        OF(vector) u = OF(load)(x + i);                 \
        OF(store)(x + i, (result));                     \
    }                                                   \
    break
    switch (kind) {
    case ACTIVATION_SIGMOID: EACH_VECTOR(OF(sigmoids)(u));
    case ACTIVATION_TANH: EACH(OF(tanh)(u));
    case ACTIVATION_SWISH: EACH_VECTOR(u * OF(sigmoids)(OF(spread)(alpha) * u));
    case ACTIVATION_GELU: EACH(OF(gelu)(u));
    case ACTIVATION_GELU_TANH:
        EACH_VECTOR(u * OF(sigmoids)(OF(spread)((REAL)1.5957691216057308) * (u + OF(spread)((REAL)0.044715) * u * u * u)));
    case ACTIVATION_MISH: { /* x tanh(ln(1 + e^x)); from 20 on that is x */
        EACH(({
            REAL e = OF(exp)(u > 20 ? 20 : u);
            u * (e * (e + 2) / (e * (e + 2) + 2));
        }));
    }
    case ACTIVATION_ELU: EACH(u < 0 ? alpha * OF(expm1)(u) : u);
    }
#undef EACH
#undef EACH_VECTOR
}

static __attribute__((noinline)) OF(vector) OF(activate_curve)(OF(vector) v, int kind, REAL alpha) {
    REAL x[LANES];
    OF(store)(x, v);
    OF(curve)(x, LANES, kind, alpha);
    return OF(load)(x);
}

/* Many at once: one does not wait for the other. */
static __attribute__((noinline)) void OF(activate_curves)(REAL *x, ptrdiff_t n, int kind, REAL alpha) {
    OF(curve)(x, n, kind, alpha);
}

/* What a sum becomes. The kinds that cost a few instructions are inline. */
ALWAYS OF(vector) OF(activate)(OF(vector) v, const Activation *how) {
    OF(vector) zero = {0}, alpha = OF(spread)((REAL)how->alpha), beta = OF(spread)((REAL)how->beta), one = OF(spread)(1);
    switch (how->kind) {
    case ACTIVATION_NONE: return v;
    case ACTIVATION_RELU: return AT_LEAST(zero, v);
    case ACTIVATION_LEAKY_RELU: return AT_LEAST(zero, v) + alpha * AT_MOST(zero, v);
    case ACTIVATION_CLIP: return AT_MOST(beta, AT_LEAST(alpha, v));
    case ACTIVATION_HARD_SIGMOID: return AT_MOST(one, AT_LEAST(zero, alpha * v + beta));
    case ACTIVATION_HARD_SWISH:
        return v * AT_MOST(one, AT_LEAST(zero, v * OF(spread)((REAL)1 / 6) + OF(spread)((REAL)0.5)));
    }
    int swish = how->kind == ACTIVATION_SWISH, gelu = how->kind == ACTIVATION_GELU_TANH;
    if (sizeof(REAL) == sizeof(float) && (swish || gelu || how->kind == ACTIVATION_SIGMOID)) {
        OF(vector) u = v;
        if (swish)
            u = alpha * v;
        if (gelu)
            u = OF(spread)((REAL)1.5957691216057308) * (v + OF(spread)((REAL)0.044715) * v * v * v);
        u = OF(sigmoids)(u);
        if (swish || gelu)
            u = v * u;
        return u;
    }
    return OF(activate_curve)(v, how->kind, (REAL)how->alpha);
}
