/* Square and cube roots of vectors. */
#ifndef INTERP_HOT_POOL_ROOTS_H
#define INTERP_HOT_POOL_ROOTS_H
#include "hot/pool_lanes.h"

#if defined(__AVX2__)
#define SQUARE_ROOT_float(v) ((lanes_float)_mm256_sqrt_ps((__m256)(v)))
#define SQUARE_ROOT_double(v) ((lanes_double)_mm256_sqrt_pd((__m256d)(v)))
#elif defined(__SSE2__)
#define SQUARE_ROOT_float(v) ((lanes_float)_mm_sqrt_ps((__m128)(v)))
#define SQUARE_ROOT_double(v) ((lanes_double)_mm_sqrt_pd((__m128d)(v)))
#endif

INLINE lanes_float square_root_float(lanes_float v) {
#if defined(SQUARE_ROOT_float)
    return SQUARE_ROOT_float(v);
#else
    for (int i = 0; i < LANES_float; i++)
        v[i] = sqrtf(v[i]);
    return v;
#endif
}

INLINE lanes_double square_root_double(lanes_double v) {
#if defined(SQUARE_ROOT_double)
    return SQUARE_ROOT_double(v);
#else
    for (int i = 0; i < LANES_double; i++)
        v[i] = sqrt(v[i]);
    return v;
#endif
}

/* The cube root of lanes that are not negative: a third of the exponent as a first guess (within 3.4 %), then three steps of
   Newton's, written so that nothing overflows. Subnormal numbers are scaled by 2^24 first; zero, infinity and NaN stay. */
INLINE lanes_float cube_root_float(lanes_float x) {
    typedef int32_t whole VECTOR(WIDTH);
    whole tiny = x < 0x1p-126f, kept = (x == 0) | (x == INFINITY) | (x != x);
    lanes_float s = (lanes_float)(((whole)(x * 0x1p24f) & tiny) | ((whole)x & ~tiny));
    lanes_float third = __builtin_convertvector((whole)s, lanes_float) * (1.f / 3);
    lanes_float y = (lanes_float)(__builtin_convertvector(third, whole) + 0x2a510554);
    for (int k = 0; k < 3; k++)
        y += (s / (y * y) - y) * (1.f / 3);
    y = (lanes_float)(((whole)(y * 0x1p-8f) & tiny) | ((whole)y & ~tiny));
    return (lanes_float)(((whole)x & kept) | ((whole)y & ~kept));
}

INLINE lanes_double cube_root_double(lanes_double v) {
    for (int i = 0; i < LANES_double; i++)
        v[i] = cbrt(v[i]);
    return v;
}
#endif
