/* Rows of two operands u and v to one result; alpha is a setting, in the type of the elements. */
#ifndef INTERP_HOT_PAIRS_H
#define INTERP_HOT_PAIRS_H
#include <math.h>
#include "hot/elementwise.h"
#include "hot/exponential.h"
#include "hot/rows.h"

#define PAIR(name, type, made, result)                                                                                    \
    static int name##_##type(const void *a_, const void *b_, void *y_, ptrdiff_t n, int repeats, double setting) {        \
        const type *a = a_, *b = b_, alpha = (type)setting;                                                               \
        (void)alpha;                                                                                                      \
        made *y = y_;                                                                                                     \
        if (repeats == NEITHER)                                                                                           \
            EACH { type u = a[i], v = b[i]; y[i] = result; }                                                              \
        else if (repeats == SECOND) {                                                                                     \
            type v = b[0];                                                                                                \
            EACH { type u = a[i]; y[i] = result; }                                                                        \
        } else {                                                                                                          \
            type u = a[0];                                                                                                \
            EACH { type v = b[i]; y[i] = result; }                                                                        \
        }                                                                                                                 \
        return FINE;                                                                                                      \
    }

/* 16-bit operands through blocks of floats. `narrow` is NULL where the result is boolean. */
static int pair_widened(Pair row, Widen widen, Narrow narrow, const uint16_t *a, const uint16_t *b, void *y, ptrdiff_t n,
                        int repeats, double setting) {
    float u[BLOCK], v[BLOCK], w[BLOCK];
    if (repeats == FIRST)
        widen(a, u, 1);
    if (repeats == SECOND)
        widen(b, v, 1);
    for (ptrdiff_t i = 0; i < n; i += BLOCK) {
        ptrdiff_t m = n - i < BLOCK ? n - i : BLOCK;
        if (repeats != FIRST)
            widen(a + i, u, m);
        if (repeats != SECOND)
            widen(b + i, v, m);
        row(u, v, narrow ? (void *)w : (boolean *)y + i, m, repeats, setting);
        if (narrow)
            narrow(w, (uint16_t *)y + i, m);
    }
    return FINE;
}

#define PAIR_16(name, made)                                                                                               \
    static int name##_half(const void *a, const void *b, void *y, ptrdiff_t n, int repeats, double setting) {             \
        return pair_widened(name##_float, half_row_to_float, made ? float_row_to_half : NULL, a, b, y, n, repeats,        \
                            setting);                                                                                     \
    }                                                                                                                     \
    static int name##_brain(const void *a, const void *b, void *y, ptrdiff_t n, int repeats, double setting) {            \
        return pair_widened(name##_float, brain_row_to_float, made ? float_row_to_brain : NULL, a, b, y, n, repeats,      \
                            setting);                                                                                     \
    }

#define PAIR_FLOATS(name, on_float, on_double) \
    PAIR(name, float, float, on_float) PAIR(name, double, double, on_double) PAIR_16(name, 1)
#define PAIR_UNSIGNED(name, result)                                                             \
    PAIR(name, uint8_t, uint8_t, (uint8_t)(result)) PAIR(name, uint16_t, uint16_t, (uint16_t)(result)) \
    PAIR(name, uint32_t, uint32_t, (uint32_t)(result)) PAIR(name, uint64_t, uint64_t, (uint64_t)(result))
#define PAIR_SIGNED(name, result)                                                           \
    PAIR(name, int8_t, int8_t, (int8_t)(result)) PAIR(name, int16_t, int16_t, (int16_t)(result)) \
    PAIR(name, int32_t, int32_t, (int32_t)(result)) PAIR(name, int64_t, int64_t, (int64_t)(result))
#define PAIR_COMPARED(name, result)                                                                       \
    PAIR(name, float, boolean, result) PAIR(name, double, boolean, result) PAIR_16(name, 0)               \
    PAIR(name, int8_t, boolean, result) PAIR(name, int16_t, boolean, result) PAIR(name, int32_t, boolean, result)    \
    PAIR(name, int64_t, boolean, result) PAIR(name, uint8_t, boolean, result) PAIR(name, uint16_t, boolean, result)  \
    PAIR(name, uint32_t, boolean, result) PAIR(name, uint64_t, boolean, result)

/* Whole numbers wrap around, as everywhere in the standard: the unsigned loops serve signed ones too. The 1u keeps 16 bits
   from becoming a signed product. */
PAIR_FLOATS(add, u + v, u + v)
PAIR_UNSIGNED(add, u + v)
PAIR_FLOATS(sub, u - v, u - v)
PAIR_UNSIGNED(sub, u - v)
PAIR_FLOATS(mul, u * v, u * v)
PAIR_UNSIGNED(mul, 1u * u * v)
PAIR_FLOATS(divide, u / v, u / v)
/* NaN wins: the sum of both is NaN where one is. */
#define LARGER (u != u || v != v ? u + v : u > v ? u : v)
#define SMALLER (u != u || v != v ? u + v : u < v ? u : v)
PAIR_FLOATS(larger, LARGER, LARGER)
PAIR_SIGNED(larger, u > v ? u : v)
PAIR_UNSIGNED(larger, u > v ? u : v)
PAIR_FLOATS(smaller, SMALLER, SMALLER)
PAIR_SIGNED(smaller, u < v ? u : v)
PAIR_UNSIGNED(smaller, u < v ? u : v)
PAIR(power, float, float, powf(u, v))
PAIR(power, double, double, pow(u, v))
PAIR_16(power, 1)
PAIR_FLOATS(prelu, u < 0 ? u * v : u, u < 0 ? u * v : u)
PAIR_FLOATS(swiglu, u * sigmoid_of(alpha * u) * v, u / (1 + exp(-alpha * u)) * v)
PAIR_COMPARED(less, u < v)
PAIR_COMPARED(less_equal, u <= v)
PAIR(equal, float, boolean, u == v)
PAIR(equal, double, boolean, u == v)
PAIR_16(equal, 0)
PAIR(equal, uint8_t, boolean, u == v)
PAIR(equal, uint16_t, boolean, u == v)
PAIR(equal, uint32_t, boolean, u == v)
PAIR(equal, uint64_t, boolean, u == v)

/* Comparisons the other way around. */
#define TURNED(name, as, type)                                                                                      \
    static int name##_##type(const void *a, const void *b, void *y, ptrdiff_t n, int repeats, double setting) {     \
        return as##_##type(b, a, y, n, repeats == FIRST ? SECOND : repeats == SECOND ? FIRST : NEITHER, setting);   \
    }
#define ALL_TURNED(name, as)                                                                              \
    TURNED(name, as, float) TURNED(name, as, double) TURNED(name, as, half) TURNED(name, as, brain)       \
    TURNED(name, as, int8_t) TURNED(name, as, int16_t) TURNED(name, as, int32_t) TURNED(name, as, int64_t) \
    TURNED(name, as, uint8_t) TURNED(name, as, uint16_t) TURNED(name, as, uint32_t) TURNED(name, as, uint64_t)
ALL_TURNED(greater, less)
ALL_TURNED(greater_equal, less_equal)

PAIR_UNSIGNED(both, u & v)
PAIR_UNSIGNED(either, u | v)
PAIR_UNSIGNED(differ, u ^ v)

/* Shifts; by as many bits as there are, or more, or by less than none, only the sign remains. */
#define BITS(x) (8 * sizeof(x))
PAIR_UNSIGNED(left, v < BITS(u) ? 1ull * u << v : 0)
PAIR_UNSIGNED(right, v < BITS(u) ? u >> v : 0)
PAIR_SIGNED(right, u >> (v >= 0 && (size_t)v < BITS(u) ? v : (int)BITS(u) - 1))

/* Quotients and rests of whole numbers, the former rounded towards zero. The processor would trap on a divisor of zero, and on
   the least number by -1. */
#define DIVIDED(name, type, fails, result)                                                                               \
    static int name##_##type(const void *a_, const void *b_, void *y_, ptrdiff_t n, int repeats, double setting) {       \
        const type *a = a_, *b = b_;                                                                                     \
        type *y = y_;                                                                                                    \
        for (ptrdiff_t i = 0; i < n; i++) {                                                                              \
            type u = a[repeats == FIRST ? 0 : i], v = b[repeats == SECOND ? 0 : i];                                      \
            if (fails)                                                                                                   \
                return DIVISION;                                                                                         \
            y[i] = (type)(result);                                                                                       \
        }                                                                                                                \
        return FINE;                                                                                                     \
    }
#define DIVIDED_SIGNED(type, least)                                        \
    DIVIDED(divide, type, v == 0 || (v == -1 && u == least), u / v)        \
    DIVIDED(rest, type, v == 0, v == -1 ? 0 : u % v)                       \
    DIVIDED(modulo, type, v == 0, v == -1 ? 0 : u % v + ((u % v != 0 && (u % v < 0) != (v < 0)) ? v : 0))
#define DIVIDED_UNSIGNED(type)                   \
    DIVIDED(divide, type, v == 0, u / v)         \
    DIVIDED(rest, type, v == 0, u % v)
DIVIDED_SIGNED(int8_t, INT8_MIN)
DIVIDED_SIGNED(int16_t, INT16_MIN)
DIVIDED_SIGNED(int32_t, INT32_MIN)
DIVIDED_SIGNED(int64_t, INT64_MIN)
DIVIDED_UNSIGNED(uint8_t)
DIVIDED_UNSIGNED(uint16_t)
DIVIDED_UNSIGNED(uint32_t)
DIVIDED_UNSIGNED(uint64_t)

static inline double floored(double u, double v) {
    double r = fmod(u, v);
    return r == 0 ? copysign(0, v) : (r < 0) != (v < 0) ? r + v : r;
}
PAIR_FLOATS(rest, (float)fmod(u, v), fmod(u, v))
PAIR_FLOATS(modulo, (float)floored(u, v), floored(u, v))
#endif
