/* float16 and bfloat16: to float and back, rounding to even, NaN kept quiet. */
#ifndef INTERP_HALF_H
#define INTERP_HALF_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __F16C__
#include <immintrin.h>
#endif

static inline float float_of_bits(uint32_t bits) {
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

static inline uint32_t bits_of_float(float f) {
    uint32_t bits;
    memcpy(&bits, &f, 4);
    return bits;
}

static inline float half_to_float(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, rest = h & 0x7fffu;
    if (rest >= 0x7c00u) /* infinity, NaN */
        return float_of_bits(sign | 0x7f800000u | ((rest & 0x3ffu) << 13));
    if (rest >= 0x400u)
        return float_of_bits(sign | ((rest << 13) + 0x38000000u));
    return float_of_bits(sign | bits_of_float((float)rest * 0x1p-24f)); /* subnormal */
}

static inline uint16_t float_to_half(float f) {
    uint32_t bits = bits_of_float(f), sign = (bits >> 16) & 0x8000u;
    bits &= 0x7fffffffu;
    if (bits > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u | ((bits >> 13) & 0x3ffu)); /* as the processor does it */
    if (bits >= 0x477ff000u)
        return (uint16_t)(sign | 0x7c00u);
    if (bits < 0x38800000u) /* subnormal: adding 1/2 lets the float unit round */
        return (uint16_t)(sign | (bits_of_float(float_of_bits(bits) + 0.5f) - 0x3f000000u));
    return (uint16_t)(sign | ((bits + 0xc8000fffu + ((bits >> 13) & 1u)) >> 13));
}

static inline float brain_to_float(uint16_t b) {
    return float_of_bits((uint32_t)b << 16);
}

static inline uint16_t float_to_brain(float f) {
    uint32_t bits = bits_of_float(f);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)((bits >> 16) | 0x40u);
    return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

/* Rows of them: eight at a time where the machine converts them itself. */
static inline void half_row_to_float(const uint16_t *x, float *y, ptrdiff_t n) {
    ptrdiff_t i = 0;
#ifdef __F16C__
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(y + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(x + i))));
#endif
    for (; i < n; i++)
        y[i] = half_to_float(x[i]);
}

static inline void float_row_to_half(const float *x, uint16_t *y, ptrdiff_t n) {
    ptrdiff_t i = 0;
#ifdef __F16C__
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((__m128i *)(y + i), _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT));
#endif
    for (; i < n; i++)
        y[i] = float_to_half(x[i]);
}

static inline void brain_row_to_float(const uint16_t *x, float *y, ptrdiff_t n) {
    for (ptrdiff_t i = 0; i < n; i++)
        y[i] = brain_to_float(x[i]);
}

static inline void float_row_to_brain(const float *x, uint16_t *y, ptrdiff_t n) {
    for (ptrdiff_t i = 0; i < n; i++)
        y[i] = float_to_brain(x[i]);
}
#endif
