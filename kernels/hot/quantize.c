/* Rows of numbers quantised to bytes, and back; sums and products of such. */
#include "hot/quantize.h"
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#define ALWAYS static inline __attribute__((always_inline))

ALWAYS int byte_at(const uint8_t *x, bool is_signed) {
    return is_signed ? (int8_t)*x : *x;
}

/* Bounds are whole, so that they may come before the rounding; NaN becomes the lower one. */
ALWAYS uint8_t nearest(float v, int zero, bool is_signed) {
    const float whole = 0x1.8p23f; /* beyond which a float has no fraction */
    float least = (float)((is_signed ? -128 : 0) - zero), most = (float)((is_signed ? 127 : 255) - zero);
    v = v > least ? v : least;
    v = v < most ? v : most;
    return (uint8_t)((int)(v + whole - whole) + zero);
}

ALWAYS void to_bytes(const float *x, const float *scale, const uint8_t *zero, bool each, bool is_signed, uint8_t *y, ptrdiff_t n) {
    float s = *scale;
    int z = zero ? byte_at(zero, is_signed) : 0;
    if (!each)
        for (ptrdiff_t i = 0; i < n; i++)
            y[i] = nearest(x[i] / s, z, is_signed);
    else if (zero)
        for (ptrdiff_t i = 0; i < n; i++)
            y[i] = nearest(x[i] / scale[i], byte_at(zero + i, is_signed), is_signed);
    else
        for (ptrdiff_t i = 0; i < n; i++)
            y[i] = nearest(x[i] / scale[i], 0, is_signed);
}

static void quantise(const float *x, const float *scale, const uint8_t *zero, bool each, bool is_signed, uint8_t *y, ptrdiff_t n) {
    if (is_signed)
        to_bytes(x, scale, zero, each, true, y, n);
    else
        to_bytes(x, scale, zero, each, false, y, n);
}

ALWAYS void to_floats(const uint8_t *x, const float *scale, const uint8_t *zero, bool each, bool is_signed, float *y, ptrdiff_t n) {
    float s = *scale;
    int z = zero ? byte_at(zero, is_signed) : 0;
    if (!each)
        for (ptrdiff_t i = 0; i < n; i++)
            y[i] = (float)(byte_at(x + i, is_signed) - z) * s;
    else if (zero)
        for (ptrdiff_t i = 0; i < n; i++)
            y[i] = (float)(byte_at(x + i, is_signed) - byte_at(zero + i, is_signed)) * scale[i];
    else
        for (ptrdiff_t i = 0; i < n; i++)
            y[i] = (float)byte_at(x + i, is_signed) * scale[i];
}

static void dequantise(const uint8_t *x, const float *scale, const uint8_t *zero, bool each, bool is_signed, float *y, ptrdiff_t n) {
    if (is_signed)
        to_floats(x, scale, zero, each, true, y, n);
    else
        to_floats(x, scale, zero, each, false, y, n);
}

enum { LANES = 16 };

#if defined(__AVX2__)
/* Of NaN and a number the processor takes the second. */
static ptrdiff_t reach_lanes(const float *x, ptrdiff_t n, float *low, float *high) {
    __m256 least[4], most[4];
    ptrdiff_t i = 0;
    for (int v = 0; v < 4; v++)
        least[v] = _mm256_loadu_ps(low), most[v] = _mm256_loadu_ps(high);
    for (; i + 32 <= n; i += 32)
#pragma GCC unroll 4
        for (int v = 0; v < 4; v++) {
            __m256 some = _mm256_loadu_ps(x + i + 8 * v);
            least[v] = _mm256_min_ps(some, least[v]);
            most[v] = _mm256_max_ps(some, most[v]);
        }
    for (int v = 0; v < 2; v++) {
        _mm256_storeu_ps(low + 8 * v, _mm256_min_ps(least[v], least[v + 2]));
        _mm256_storeu_ps(high + 8 * v, _mm256_max_ps(most[v], most[v + 2]));
    }
    return i;
}
#endif

static void reach(const float *x, ptrdiff_t n, float *least, float *most) {
    float low[LANES], high[LANES];
    ptrdiff_t i = 0;
    for (int l = 0; l < LANES; l++)
        low[l] = *least, high[l] = *most;
#if defined(__AVX2__)
    i = reach_lanes(x, n, low, high);
#endif
    for (; i + LANES <= n; i += LANES)
        for (int l = 0; l < LANES; l++) {
            low[l] = x[i + l] < low[l] ? x[i + l] : low[l];
            high[l] = x[i + l] > high[l] ? x[i + l] : high[l];
        }
    for (int l = 0; i < n; i++, l++) {
        low[l] = x[i] < low[l] ? x[i] : low[l];
        high[l] = x[i] > high[l] ? x[i] : high[l];
    }
    for (int l = 0; l < LANES; l++) {
        *least = low[l] < *least ? low[l] : *least;
        *most = high[l] > *most ? high[l] : *most;
    }
}

enum { SOME = 64 };

/* In float: the factors are of eight bits, and the result is. Two loops, so that a product is rounded before the zero point is
   added: else ties would be none. */
ALWAYS void pairs(const Pairs *how, bool product, bool is_signed, bool a_single, bool b_single, ptrdiff_t n) {
    const uint8_t *a = how->a.at, *b = how->b.at;
    uint8_t *y = how->y.at;
    const float whole = 0x1.8p23f; /* beyond which a float has no fraction */
    int a_zero = how->a.zero, b_zero = how->b.zero, late = how->late ? how->y.zero : 0;
    float early = (float)(how->y.zero - late), least = (float)((is_signed ? -128 : 0) - late), most = least + 255;
    float left = (float)(how->a.scale / how->y.scale), right = (float)(how->b.scale / how->y.scale);
    float both = (float)(how->a.scale * how->b.scale / how->y.scale);
    float made[SOME];
    for (ptrdiff_t first = 0, m; first < n; first += m, y += m, a += a_single ? 0 : m, b += b_single ? 0 : m) {
        m = n - first < SOME ? n - first : SOME;
        for (ptrdiff_t i = 0; i < m; i++) {
            int l = byte_at(a + (a_single ? 0 : i), is_signed) - a_zero, r = byte_at(b + (b_single ? 0 : i), is_signed) - b_zero;
            made[i] = product ? (float)(l * r) * both : (float)l * left + (float)r * right;
        }
        for (ptrdiff_t i = 0; i < m; i++) {
            float v = made[i] + early;
            v = v > least ? v : least;
            v = v < most ? v : most;
            y[i] = (uint8_t)((int)(v + whole - whole) + late);
        }
    }
}

ALWAYS void signed_pairs(const Pairs *how, bool product, bool is_signed, ptrdiff_t n) {
    if (how->a.single)
        pairs(how, product, is_signed, true, false, n);
    else if (how->b.single)
        pairs(how, product, is_signed, false, true, n);
    else
        pairs(how, product, is_signed, false, false, n);
}

static void pair(const Pairs *how, ptrdiff_t n) {
    if (how->product && how->is_signed)
        signed_pairs(how, true, true, n);
    else if (how->product)
        signed_pairs(how, true, false, n);
    else if (how->is_signed)
        signed_pairs(how, false, true, n);
    else
        signed_pairs(how, false, false, n);
}

static void lookup(const uint8_t *x, const uint8_t *table, uint8_t *y, ptrdiff_t n) {
    for (ptrdiff_t i = 0; i < n; i++)
        y[i] = table[x[i]];
}

const QuantizeLoops LOOPS(quantize) = {quantise, dequantise, reach, pair, lookup};
