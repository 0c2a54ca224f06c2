/* What each fold does to octets. */
#ifndef INTERP_HOT_BLOCKED_FOLD_H
#define INTERP_HOT_BLOCKED_FOLD_H
#include <math.h>
#include "hot/blocked_pool.h"
#include "hot/octet.h"

/* The larger, b where they cannot be compared; and the lanes in which there is a NaN. */
#if defined(__AVX2__)
INLINE octet larger_or_second(octet a, octet b) {
    return (octet)_mm256_max_ps((__m256)a, (__m256)b);
}
INLINE octet_bits unordered(octet a, octet b) {
    return (octet_bits)_mm256_cmp_ps((__m256)a, (__m256)b, _CMP_UNORD_Q);
}
#else
INLINE octet larger_or_second(octet a, octet b) {
    octet_bits first = a > b;
    return (octet)(((octet_bits)a & first) | ((octet_bits)b & ~first));
}
INLINE octet_bits unordered(octet a, octet b) {
    return (a != a) | (b != b);
}
#endif

INLINE octet identity(int fold) {
    return octet_of(fold == BLOCKED_MAX ? -INFINITY : 0);
}

/* An element as it is folded. */
INLINE octet term(octet x, int fold) {
    octet a = (octet)((octet_bits)x & 0x7fffffff);
    switch (fold) {
    case BLOCKED_NORM1: return a;
    case BLOCKED_NORM2: return x * x;
    case BLOCKED_NORM3: return a * (x * x);
    }
    return x;
}

/* The fold of two and of three. */
INLINE octet two(octet a, octet b, int fold) {
    if (fold != BLOCKED_MAX)
        return a + b;
    return (octet)((octet_bits)larger_or_second(a, b) | unordered(a, a));
}

INLINE octet three(octet a, octet b, octet c, int fold) {
    if (fold != BLOCKED_MAX)
        return a + b + c;
    return (octet)((octet_bits)larger_or_second(a, larger_or_second(b, c)) | unordered(a, b));
}

/* The result of a fold in which `count` elements count. */
INLINE octet finished(octet v, ptrdiff_t count, int fold) {
    switch (fold) {
    case BLOCKED_MEAN: return v / (float)count;
    case BLOCKED_NORM2:
#if defined(__AVX2__)
        return (octet)_mm256_sqrt_ps((__m256)v);
#else
        for (int i = 0; i < OCTET; i++)
            v[i] = sqrtf(v[i]);
        return v;
#endif
    case BLOCKED_NORM3:
        for (int i = 0; i < OCTET; i++)
            v[i] = cbrtf(v[i]);
    }
    return v;
}
#endif
