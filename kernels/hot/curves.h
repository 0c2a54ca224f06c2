/* Exponentials and their kin on eight floats at a time: the polynomials of exponential.h without what only the ends need.
   Lanes near the ends are worked out again, each by itself, so that what becomes of a number never depends on its neighbours. */
#ifndef INTERP_HOT_CURVES_H
#define INTERP_HOT_CURVES_H
#include "hot/exponential.h"

#if defined(__AVX2__)
#include <immintrin.h>
#include <stddef.h>

typedef float Lanes __attribute__((vector_size(32), aligned(4), may_alias));
typedef int32_t Words __attribute__((vector_size(32), aligned(4), may_alias));

#define AT_ONCE 4 /* vectors whose ends are looked for together */
#define EXP_END 87.f

static inline Lanes lanes_at_least(float low, Lanes x) { /* NaN stays */
    return (Lanes)_mm256_max_ps(_mm256_set1_ps(low), (__m256)x);
}

static inline Lanes lanes_at_most(float high, Lanes x) {
    return (Lanes)_mm256_min_ps(_mm256_set1_ps(high), (__m256)x);
}

static inline Lanes lanes_size(Lanes x) {
    return (Lanes)((Words)x & 0x7fffffff);
}

/* Whether x is beyond an end, or no number. */
static inline Words beyond(Lanes x, float end) {
    return ((Words)x & 0x7fffffff) > bits_of(end);
}

/* e^x where |x| is at most EXP_END. */
static inline Lanes exp_lanes(Lanes x) {
    const float magic = 12582912.f;
    Lanes t = x * 1.44269504088896341f + magic, n = t - magic;
    Lanes r = x - n * 0.693359375f;
    r = r + n * 2.12194440e-4f;
    Lanes p = 1.9875691500e-4f * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * (r * r) + r + 1.f;
    return (Lanes)((Words)p + ((Words)t << 23));
}

/* e^x for x of 0 and less, 0 below -87; NaN stays. */
static inline Lanes exp_below_lanes(Lanes x) {
    Lanes y = exp_lanes(lanes_at_least(-EXP_END, x));
    return (Lanes)(((Words)y & (Words)(x >= -EXP_END)) | (Words)(x != x));
}

static inline Lanes sigmoid_lanes(Lanes x) {
    return 1.f / (1.f + exp_lanes(-x));
}

static inline Lanes tanh_lanes(Lanes x) {
    Lanes s = x * x, one = (Lanes)(((Words)x & (int32_t)0x80000000) | bits_of(1.f));
    Lanes p = -2.76076847742355e-16f * s + 2.00018790482477e-13f;
    p = p * s - 8.60467152213735e-11f;
    p = p * s + 5.12229709037114e-08f;
    p = p * s + 1.48572235717979e-05f;
    p = p * s + 6.37261928875436e-04f;
    p = p * s + 4.89352455891786e-03f;
    Lanes q = 1.19825839466702e-06f * s + 1.18534705686654e-04f;
    q = q * s + 2.26843463243900e-03f;
    q = q * s + 4.89352518554385e-03f;
    Lanes y = lanes_at_most(1.f, lanes_at_least(-1.f, x * p / q));
    return (Lanes)_mm256_blendv_ps((__m256)y, (__m256)one, (__m256)(lanes_size(x) > 7.90531110763549805f));
}

static inline Lanes erf_lanes(Lanes x) {
    Lanes a = lanes_size(x), s = a * a, t = lanes_at_most(3.925f, a);
    Lanes r = -1.72853470e-5f * t + 3.83197126e-4f;
    r = r * t - 3.88396438e-3f;
    r = r * t + 2.42546219e-2f;
    r = r * t - 1.06777877e-1f;
    r = r * t - 6.34846687e-1f;
    r = r * t - 1.28717512e-1f;
    r = r * t - t;
    Lanes p = -5.96761703e-4f * s + 4.99119423e-3f;
    p = p * s - 2.67681349e-2f;
    p = p * s + 1.12819925e-1f;
    p = p * s - 3.76125336e-1f;
    p = p * s + 1.28379166e-1f;
    p = p * a + a;
    Lanes far_ = 1.f - exp_lanes(r), y = (Lanes)_mm256_blendv_ps((__m256)p, (__m256)far_, (__m256)(a > 0.921875f));
    return (Lanes)((Words)y | ((Words)x & (int32_t)0x80000000));
}

/* e to the power of x less the largest of a row, none of which is above it, into y; returns their sum. */
static float powers_row(const float *x, float most, float *y, ptrdiff_t n) {
    Lanes a = {0}, b = {0};
    float sum = 0, rest[8] = {0};
    ptrdiff_t i = 0;
    for (; i + 16 <= n; i += 16) {
        Lanes u = exp_below_lanes(*(const Lanes *)(x + i) - most), v = exp_below_lanes(*(const Lanes *)(x + i + 8) - most);
        *(Lanes *)(y + i) = u;
        *(Lanes *)(y + i + 8) = v;
        a += u;
        b += v;
    }
    a += b;
    for (int l = 0; l < 8; l++)
        sum += a[l];
    for (; i < n; i += 8) {
        ptrdiff_t m = n - i < 8 ? n - i : 8;
        memcpy(rest, x + i, (size_t)m * 4);
        Lanes u = exp_below_lanes(*(const Lanes *)rest - most);
        memcpy(rest, &u, 32);
        memcpy(y + i, rest, (size_t)m * 4);
        for (int l = 0; l < m; l++)
            sum += rest[l];
    }
    return sum;
}

/* Rows of y = on_lanes(u), with on_one(u) where `ends` holds of a lane. */
#define CURVE(name, ends, on_lanes, on_one)                                                                   \
    static int name##_float(const void *x_, void *y_, ptrdiff_t n, const double *settings) {                  \
        const float *x = x_, alpha = (float)settings[0];                                                      \
        float *y = y_, rest[8 * AT_ONCE];                                                                     \
        (void)alpha;                                                                                          \
        for (ptrdiff_t i = 0; i < n; i += 8 * AT_ONCE) {                                                      \
            ptrdiff_t m = n - i < 8 * AT_ONCE ? n - i : 8 * AT_ONCE;                                          \
            const float *from = x + i;                                                                        \
            float *to = y + i;                                                                                \
            if (m < 8 * AT_ONCE) {                                                                            \
                memset(rest, 0, sizeof rest);                                                                 \
                memcpy(rest, from, (size_t)m * 4);                                                            \
                from = to = rest;                                                                             \
            }                                                                                                 \
            Lanes made[AT_ONCE], was[AT_ONCE];                                                                \
            Words any = {0}, end[AT_ONCE];                                                                    \
            _Pragma("GCC unroll 4") for (int k = 0; k < AT_ONCE; k++) {                                       \
                Lanes u = *(const Lanes *)(from + 8 * k);                                                     \
                was[k] = u;                                                                                   \
                end[k] = (ends);                                                                              \
                any |= end[k];                                                                                \
                made[k] = (on_lanes);                                                                         \
            }                                                                                                 \
            if (_mm256_movemask_epi8((__m256i)any))                                                           \
                for (int k = 0; k < AT_ONCE; k++)                                                             \
                    for (int l = 0; l < 8; l++)                                                               \
                        if (end[k][l]) {                                                                      \
                            float u = was[k][l];                                                              \
                            made[k][l] = (on_one);                                                            \
                        }                                                                                     \
            _Pragma("GCC unroll 4") for (int k = 0; k < AT_ONCE; k++) *(Lanes *)(to + 8 * k) = made[k];       \
            if (to == rest)                                                                                   \
                memcpy(y + i, rest, (size_t)m * 4);                                                           \
        }                                                                                                     \
        return 0;                                                                                             \
    }
#endif
#endif
