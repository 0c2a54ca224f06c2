/* Exponentials and their kin for float, as polynomials that compilers turn into vectors: relative errors below 3e-7. */
#ifndef INTERP_HOT_EXPONENTIAL_H
#define INTERP_HOT_EXPONENTIAL_H
#include <math.h>
#include <stdint.h>
#include <string.h>

static inline int32_t bits_of(float x) {
    int32_t i;
    memcpy(&i, &x, 4);
    return i;
}

static inline float float_of(int32_t i) {
    float x;
    memcpy(&x, &i, 4);
    return x;
}

static inline float power_of_two(int32_t k) {
    return float_of((int32_t)((uint32_t)(k + 127) << 23));
}

/* e^r on [-ln 2 / 2, ln 2 / 2]. */
static inline float exp_near(float r) {
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    return p * (r * r) + r + 1.f;
}

/* e^x: that times a power of two, in two steps so that the ends overflow and fade as they
   should. */
static inline float exp_of(float x) {
    const float magic = 12582912.f; /* adding it rounds to a whole number */
    x = x < -104.f ? -104.f : x;
    x = x > 89.f ? 89.f : x;
    float shifted = x * 1.44269504088896341f + magic;
    int32_t k = bits_of(shifted) - bits_of(magic);
    float n = shifted - magic;
    float r = x - n * 0.693359375f;
    r = r + n * 2.12194440e-4f;
    int32_t half = k >> 1;
    return exp_near(r) * power_of_two(half) * power_of_two(k - half);
}

/* e^x - 1, as exact near zero as elsewhere. */
static inline float expm1_of(float x) {
    float p = 1.9875691500e-4f;
    p = p * x + 1.3981999507e-3f;
    p = p * x + 8.3334519073e-3f;
    p = p * x + 4.1665795894e-2f;
    p = p * x + 1.6666665459e-1f;
    p = p * x + 5.0000001201e-1f;
    float near_ = p * (x * x) + x, far_ = exp_of(x) - 1.f;
    return x > -0.34657359f && x < 0.34657359f ? near_ : far_;
}

/* sinh and cosh; above 88, where e^x ends before they do, as the product of two halves. */
static inline float sinh_of(float x) {
    float a = x < 0.f ? -x : x, t = expm1_of(a), h = exp_of(0.5f * a);
    float y = a > 88.f ? 0.5f * h * h : 0.5f * (t + t / (t + 1.f));
    return x == 0.f ? x : x < 0.f ? -y : y;
}

static inline float cosh_of(float x) {
    float a = x < 0.f ? -x : x, e = exp_of(a), h = exp_of(0.5f * a);
    return a > 88.f ? 0.5f * h * h : 0.5f * (e + 1.f / e);
}

/* e^x for x of 0 and less, without the subnormal end: what is below 2^-126 is 0. */
static inline float exp_below(float x) {
    const float magic = 12582912.f;
    float c = x < -88.f ? -88.f : x;
    float shifted = c * 1.44269504088896341f + magic;
    float n = shifted - magic;
    float r = c - n * 0.693359375f;
    r = r + n * 2.12194440e-4f;
    float p = exp_near(r) * power_of_two(bits_of(shifted) - bits_of(magic));
    return x < -87.f ? 0.f : p;
}

static inline float sigmoid_of(float x) {
    return 1.f / (1.f + exp_of(-x));
}

/* A rational function of odd degree; beyond 7.9 the nearest float is 1. */
static inline float tanh_of(float x) {
    float c = x < -7.90531110763549805f ? -7.90531110763549805f : x;
    c = c > 7.90531110763549805f ? 7.90531110763549805f : c;
    float s = c * c;
    float p = -2.76076847742355e-16f;
    p = p * s + 2.00018790482477e-13f;
    p = p * s - 8.60467152213735e-11f;
    p = p * s + 5.12229709037114e-08f;
    p = p * s + 1.48572235717979e-05f;
    p = p * s + 6.37261928875436e-04f;
    p = p * s + 4.89352455891786e-03f;
    float q = 1.19825839466702e-06f;
    q = q * s + 1.18534705686654e-04f;
    q = q * s + 2.26843463243900e-03f;
    q = q * s + 4.89352518554385e-03f;
    float y = c * p / q;
    y = y > 1.f ? 1.f : y;
    return y < -1.f ? -1.f : y;
}

/* ln x: the exponent, and a polynomial of the rest on [sqrt 1/2, sqrt 2]. */
static inline float log_of(float x) {
    int tiny = x < 1.17549435e-38f;
    float scaled = tiny ? x * 8388608.f : x;
    int32_t bits = bits_of(scaled);
    int32_t low = (bits & 0x7fffff) < 0x3504f3; /* below sqrt 2 */
    int32_t exponent = (bits >> 23) - 126 - low - (tiny ? 23 : 0);
    float m = float_of((bits & 0x7fffff) | (low ? 0x3f800000 : 0x3f000000)) - 1.f, e = (float)exponent, s = m * m;
    float p = 7.0376836292e-2f;
    p = p * m - 1.1514610310e-1f;
    p = p * m + 1.1676998740e-1f;
    p = p * m - 1.2420140846e-1f;
    p = p * m + 1.4249322787e-1f;
    p = p * m - 1.6668057665e-1f;
    p = p * m + 2.0000714765e-1f;
    p = p * m - 2.4999993993e-1f;
    p = p * m + 3.3333331174e-1f;
    p = p * m * s - 2.12194440e-4f * e;
    p = m + (p - 0.5f * s) + 0.693359375f * e;
    p = x > 3.40282347e38f ? x : p;
    p = x == 0.f ? -INFINITY : p;
    return x >= 0.f ? p : NAN;
}

/* ln(1 + x): what rounding 1 + x loses is made up for. */
static inline float log1p_of(float x) {
    float u = 1.f + x;
    return u == 1.f ? x : log_of(u) * (x / (u - 1.f));
}

/* An odd polynomial near zero, 1 - e^polynomial beyond. */
static inline float erf_of(float x) {
    float a = x < 0.f ? -x : x, s = a * a;
    float t = a > 3.925f ? 3.925f : a;
    float r = -1.72853470e-5f;
    r = r * t + 3.83197126e-4f;
    r = r * t - 3.88396438e-3f;
    r = r * t + 2.42546219e-2f;
    r = r * t - 1.06777877e-1f;
    r = r * t - 6.34846687e-1f;
    r = r * t - 1.28717512e-1f;
    r = r * t - t;
    float far_ = 1.f - exp_below(r);
    float p = -5.96761703e-4f;
    p = p * s + 4.99119423e-3f;
    p = p * s - 2.67681349e-2f;
    p = p * s + 1.12819925e-1f;
    p = p * s - 3.76125336e-1f;
    p = p * s + 1.28379166e-1f;
    float near_ = p * a + a;
    float y = a > 0.921875f ? far_ : near_;
    return x < 0.f ? -y : y;
}
#endif
