/* Rows of normalizations: scale and shift by channel, local response, softmax. */
#include "hot/normalization.h"
#include "hot/curves.h"
#include "half.h"
#define REAL float
#include "hot/lines.h"
#undef REAL
#define REAL double
#include "hot/lines.h"
#undef REAL

enum { BLOCK = 256 };
#define EACH(n) _Pragma("GCC ivdep") for (ptrdiff_t i = 0; i < (n); i++)

/* Rows of 16-bit elements pass through floats, a block at a time. */
typedef uint16_t half;
typedef uint16_t brain;
#define SMALLER(a, b) ((a) < (b) ? (a) : (b))
static inline void float_load(const float *x, float *y, ptrdiff_t n) { memcpy(y, x, (size_t)n * sizeof *x); }
static inline void double_load(const double *x, double *y, ptrdiff_t n) { memcpy(y, x, (size_t)n * sizeof *x); }
static inline void half_load(const half *x, float *y, ptrdiff_t n) { half_row_to_float(x, y, n); }
static inline void brain_load(const brain *x, float *y, ptrdiff_t n) { brain_row_to_float(x, y, n); }
static inline void float_store(const float *x, float *y, ptrdiff_t n) { memcpy(y, x, (size_t)n * sizeof *x); }
static inline void double_store(const double *x, double *y, ptrdiff_t n) { memcpy(y, x, (size_t)n * sizeof *x); }
static inline void half_store(const float *x, half *y, ptrdiff_t n) { float_row_to_half(x, y, n); }
static inline void brain_store(const float *x, brain *y, ptrdiff_t n) { float_row_to_brain(x, y, n); }

/* Scale and shift */

#define SCALED(type)                                                                                               \
    static void row_##type(const void *x_, void *y_, ptrdiff_t n, const double *mean, const double *scale,         \
                           const double *shift) {                                                                  \
        const type *x = x_, m = (type)*mean, k = (type)*scale, b = (type)*shift;                                   \
        type *y = y_;                                                                                              \
        EACH(n) y[i] = (x[i] - m) * k + b;                                                                         \
    }                                                                                                              \
    static void channels_##type(const void *x_, void *y_, ptrdiff_t n, const double *mean, const double *scale,    \
                                const double *shift) {                                                             \
        const type *x = x_;                                                                                        \
        type *y = y_;                                                                                              \
        EACH(n) y[i] = (type)((x[i] - mean[i]) * scale[i] + shift[i]);                                             \
    }
SCALED(float)
SCALED(double)

#define SCALED_16(type)                                                                                            \
    static void row_##type(const void *x, void *y, ptrdiff_t n, const double *mean, const double *scale,           \
                           const double *shift) {                                                                  \
        float room[BLOCK];                                                                                         \
        for (ptrdiff_t at = 0; at < n; at += BLOCK) {                                                              \
            ptrdiff_t m = SMALLER(n - at, BLOCK);                                                                  \
            type##_load((const type *)x + at, room, m);                                                            \
            row_float(room, room, m, mean, scale, shift);                                                          \
            type##_store(room, (type *)y + at, m);                                                                 \
        }                                                                                                          \
    }                                                                                                              \
    static void channels_##type(const void *x, void *y, ptrdiff_t n, const double *mean, const double *scale,      \
                                const double *shift) {                                                             \
        float room[BLOCK];                                                                                         \
        for (ptrdiff_t at = 0; at < n; at += BLOCK) {                                                              \
            ptrdiff_t m = SMALLER(n - at, BLOCK);                                                                  \
            type##_load((const type *)x + at, room, m);                                                            \
            channels_float(room, room, m, mean + at, scale + at, shift + at);                                      \
            type##_store(room, (type *)y + at, m);                                                                 \
        }                                                                                                          \
    }
SCALED_16(half)
SCALED_16(brain)

/* Local response: all squares of a window are added anew for each channel, since a sliding sum would keep the rounding errors
   of large neighbours that have left it. */

#define RESPONSE(type, real, root, power)                                                                          \
    static void response_##type(const void *x_, void *y_, ptrdiff_t n, ptrdiff_t low, ptrdiff_t high,              \
                                ptrdiff_t step, double alpha_, double beta, double bias_) {                        \
        const type *x = x_;                                                                                        \
        const real alpha = (real)alpha_, bias = (real)bias_;                                                       \
        real sum[BLOCK], other[BLOCK], made[BLOCK];                                                                \
        for (ptrdiff_t at = 0; at < n; at += BLOCK) {                                                              \
            ptrdiff_t m = SMALLER(n - at, BLOCK);                                                                  \
            EACH(m) sum[i] = 0;                                                                                    \
            for (ptrdiff_t k = low; k <= high; k++) {                                                              \
                type##_load(x + k * step + at, other, m);                                                          \
                EACH(m) sum[i] += other[i] * other[i];                                                             \
            }                                                                                                      \
            type##_load(x + at, other, m);                                                                         \
            if (beta == 0.75)                                                                                      \
                EACH(m) {                                                                                          \
                    real r = root(bias + alpha * sum[i]);                                                          \
                    made[i] = other[i] / (r * root(r));                                                            \
                }                                                                                                  \
            else if (beta == 0.5)                                                                                  \
                EACH(m) made[i] = other[i] / root(bias + alpha * sum[i]);                                          \
            else                                                                                                   \
                EACH(m) made[i] = other[i] / power(bias + alpha * sum[i], (real)beta);                             \
            type##_store(made, (type *)y_ + at, m);                                                                \
        }                                                                                                          \
    }
RESPONSE(float, float, sqrtf, powf)
RESPONSE(double, double, sqrt, pow)
RESPONSE(half, float, sqrtf, powf)
RESPONSE(brain, float, sqrtf, powf)

/* Softmax: lines of a few elements at a time, so that sums run in lanes. Where lines stand side by side each is a lane. */

/* Powers of e of what is left of a line's elements without the largest, and their sum. */
#define POWERS(real, to_e)                                                                                         \
    static real real##_powers(const real *x, real most, real *y, ptrdiff_t n) {                                    \
        EACH(n) y[i] = to_e(x[i] - most);                                                                          \
        return real##_total(y, n);                                                                                 \
    }
POWERS(double, exp)
#if defined(__AVX2__)
#define float_powers powers_row
#else
POWERS(float, exp_below)
#endif

#define SOFT(real, to_e, ln)                                                                                \
    static void line_##real(const real *x, real *y, ptrdiff_t n, int logarithm) {                                  \
        real most = real##_largest(x, n), sum = 0, room[BLOCK];                                                    \
        if (logarithm) {                                                                                           \
            for (ptrdiff_t at = 0; at < n; at += BLOCK) {                                                          \
                ptrdiff_t m = SMALLER(n - at, BLOCK);                                                              \
                EACH(m) room[i] = to_e(x[at + i] - most);                                                          \
                sum += real##_total(room, m);                                                                      \
            }                                                                                                      \
            sum = ln(sum);                                                                                         \
            EACH(n) y[i] = x[i] - most - sum;                                                                      \
            return;                                                                                                \
        }                                                                                                          \
        sum = 1 / real##_powers(x, most, y, n);                                                                    \
        EACH(n) y[i] *= sum;                                                                                       \
    }                                                                                                              \
    static void soft_##real(const void *x_, void *y_, ptrdiff_t n, ptrdiff_t inner, int logarithm) {               \
        real most[BLOCK], sum[BLOCK];                                                                              \
        if (inner == 1) {                                                                                          \
            line_##real(x_, y_, n, logarithm);                                                                     \
            return;                                                                                                \
        }                                                                                                          \
        for (ptrdiff_t at = 0; at < inner; at += BLOCK) {                                                          \
            ptrdiff_t m = SMALLER(inner - at, BLOCK);                                                              \
            const real *x = (const real *)x_ + at;                                                                 \
            real *y = (real *)y_ + at;                                                                             \
            EACH(m) most[i] = x[i], sum[i] = 0;                                                                    \
            for (ptrdiff_t k = 1; k < n; k++)                                                                      \
                EACH(m) most[i] = x[k * inner + i] > most[i] ? x[k * inner + i] : most[i];                         \
            for (ptrdiff_t k = 0; k < n; k++)                                                                      \
                EACH(m) {                                                                                          \
                    real e = to_e(x[k * inner + i] - most[i]);                                                     \
                    y[k * inner + i] = logarithm ? x[k * inner + i] : e;                                           \
                    sum[i] += e;                                                                                   \
                }                                                                                                  \
            if (logarithm)                                                                                         \
                EACH(m) most[i] += ln(sum[i]);                                                                     \
            for (ptrdiff_t k = 0; k < n; k++)                                                                      \
                EACH(m) y[k * inner + i] = logarithm ? y[k * inner + i] - most[i] : y[k * inner + i] / sum[i];     \
        }                                                                                                          \
    }
SOFT(float, exp_below, log_of)
SOFT(double, exp, log)

#define FOUR(name) {name##_float, name##_double, name##_half, name##_brain}
const NormalizationLoops LOOPS(normalization) = {FOUR(row), FOUR(channels), FOUR(response), {soft_float, soft_double}};
