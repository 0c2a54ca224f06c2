/* Rows of numbers quantised to bytes, and back; sums and products of such. */
#include "hot/quantize.h"

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

static void reach(const float *x, ptrdiff_t n, float *least, float *most) {
    float low[LANES], high[LANES];
    ptrdiff_t i = 0;
    for (int l = 0; l < LANES; l++)
        low[l] = *least, high[l] = *most;
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

ALWAYS uint8_t nearest_byte(double v, bool is_signed) {
    const double whole = 0x1.8p52; /* beyond which a double has no fraction */
    double least = is_signed ? -128 : 0, most = is_signed ? 127 : 255;
    v = v > least ? v : least;
    v = v < most ? v : most;
    return (uint8_t)(int)(v + whole - whole);
}

ALWAYS void pairs(const Operand *a, const Operand *b, const Operand *y, bool product, bool is_signed, bool a_single, bool b_single,
                  ptrdiff_t n) {
    Operand left = *a, right = *b, result = *y;
    double both = left.scale * right.scale / result.scale;
    for (ptrdiff_t i = 0; i < n; i++) {
        int l = byte_at(left.at + (a_single ? 0 : i), is_signed) - left.zero;
        int r = byte_at(right.at + (b_single ? 0 : i), is_signed) - right.zero;
        double v = product ? l * r * both : (l * left.scale + r * right.scale) / result.scale;
        result.at[i] = nearest_byte(v + result.zero, is_signed);
    }
}

ALWAYS void signed_pairs(const Operand *a, const Operand *b, const Operand *y, bool product, bool is_signed, ptrdiff_t n) {
    if (a->single)
        pairs(a, b, y, product, is_signed, true, false, n);
    else if (b->single)
        pairs(a, b, y, product, is_signed, false, true, n);
    else
        pairs(a, b, y, product, is_signed, false, false, n);
}

static void pair(const Operand *a, const Operand *b, const Operand *y, bool product, bool is_signed, ptrdiff_t n) {
    if (product && is_signed)
        signed_pairs(a, b, y, true, true, n);
    else if (product)
        signed_pairs(a, b, y, true, false, n);
    else if (is_signed)
        signed_pairs(a, b, y, false, true, n);
    else
        signed_pairs(a, b, y, false, false, n);
}

const QuantizeLoops LOOPS(quantize) = {quantise, dequantise, reach, pair};
