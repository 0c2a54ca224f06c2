/* Sine, cosine, tangent and its inverse for float, as polynomials that compilers turn into vectors. */
#ifndef INTERP_HOT_CIRCULAR_H
#define INTERP_HOT_CIRCULAR_H
#include <stdint.h>
#include <string.h>

#define FARTHEST 1e6f /* up to here a quarter of a turn times a whole number is exact */

/* The quarter turns in x, and what remains of it, on [-pi/4, pi/4]. */
static inline float turned(float x, int32_t *quarters) {
    const double magic = 6755399441055744.0; /* adding it rounds to a whole number */
    double d = x, shifted = d * 0.63661977236758134 + magic, n = shifted - magic;
    int64_t bits;
    memcpy(&bits, &shifted, 8);
    *quarters = (int32_t)bits;
    return (float)(d - n * 1.57079632673412561417 - n * 6.07710050650619224932e-11);
}

static inline float sin_part(float r, float s) {
    return r + r * s * (-1.6666654611e-1f + s * (8.3321608736e-3f - s * 1.9515295891e-4f));
}

static inline float cos_part(float s) {
    return 1.f - 0.5f * s + s * s * (4.166664568298827e-2f + s * (-1.388731625493765e-3f + s * 2.443315711809948e-5f));
}

static inline float sin_near(float x) {
    int32_t k;
    float r = turned(x, &k), s = r * r, y = k & 1 ? cos_part(s) : sin_part(r, s);
    return x == 0.f ? x : k & 2 ? -y : y;
}

static inline float cos_near(float x) {
    int32_t k;
    float r = turned(x, &k), s = r * r, y = k & 1 ? sin_part(r, s) : cos_part(s);
    return (k + 1) & 2 ? -y : y;
}

static inline float tan_near(float x) {
    int32_t k;
    float r = turned(x, &k), s = r * r, a = sin_part(r, s), b = cos_part(s);
    return x == 0.f ? x : k & 1 ? -b / a : a / b;
}

/* The angle of a slope: slopes above tan(pi/8) and tan(3 pi/8) are turned by an eighth and a quarter of a turn. */
static inline float atan_of(float x) {
    float a = x < 0.f ? -x : x;
    float above = a > 2.41421356f ? -1.f : a > 0.41421356f ? a - 1.f : a;
    float below = a > 2.41421356f ? a : a > 0.41421356f ? a + 1.f : 1.f;
    float turn = a > 2.41421356f ? 1.57079633f : a > 0.41421356f ? 0.785398163f : 0.f;
    float t = above / below, s = t * t;
    float p = 8.05374449538e-2f;
    p = p * s - 1.38776856032e-1f;
    p = p * s + 1.99777106478e-1f;
    p = p * s - 3.33329491539e-1f;
    float y = turn + (p * s * t + t);
    return x == 0.f ? x : x < 0.f ? -y : y;
}
#endif
