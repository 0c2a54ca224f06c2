/* Rows of elements to another type: whole numbers wrap around, floats are rounded to even, or towards zero to whole numbers. */
#include "hot/cast.h"
#include "hot/rows.h"

typedef _Bool truth;

/* A float to a whole number. Where that has no place for it the standard leaves the result open: it is what processors
   answer for 32 or 64 bits, the least number, cut to the bits of the type. */
static inline int32_t whole_32(double x) {
    return x > -2147483649.0 && x < 2147483648.0 ? (int32_t)x : INT32_MIN;
}

static inline int64_t whole_64(double x) {
    return x >= -9223372036854775808.0 && x < 9223372036854775808.0 ? (int64_t)x : INT64_MIN;
}

static inline uint64_t natural_64(double x) {
    return x >= 9223372036854775808.0 && x < 18446744073709551616.0 ? (uint64_t)x : (uint64_t)whole_64(x);
}

/* The float next to a double whose last bit tells that something was lost: rounded again, the result is as if rounded once. */
static inline float odd(double x) {
    float f = (float)x;
    uint32_t bits = bits_of_float(f);
    double back = f;
    bits -= (back > x) == (x > 0) && back != x; /* towards zero */
    return x != x || back == x ? f : float_of_bits(bits | 1);
}

/* The same for what a double has no place for. */
static inline double odd_double(uint64_t x) {
    return (double)(x >> 53 ? (x & ~(uint64_t)0xfff) | (uint64_t)((x & 0xfff) != 0) << 12 : x);
}

#define NARROWED_float(u) (u)
#define NARROWED_double(u) odd(u)
#define NARROWED_int8_t(u) (float)(u)
#define NARROWED_uint8_t(u) (float)(u)
#define NARROWED_int16_t(u) (float)(u)
#define NARROWED_uint16_t(u) (float)(u)
#define NARROWED_int32_t(u) odd(u)
#define NARROWED_uint32_t(u) odd(u)
#define NARROWED_int64_t(u) odd(u < 0 ? -odd_double(-(uint64_t)u) : odd_double((uint64_t)u))
#define NARROWED_uint64_t(u) odd(odd_double(u))
#define NARROWED_truth(u) (float)(u)

#define CAST(from, to, result)                                                     \
    static void from##_##to(const void *x_, void *y_, ptrdiff_t n) {               \
        const from *x = x_;                                                        \
        to *y = y_;                                                                \
        EACH { from u = x[i]; y[i] = (to)(result); }                               \
    }
#define TO_16(from, to, narrow)                                                    \
    static void from##_##to(const void *x_, void *y_, ptrdiff_t n) {               \
        const from *x = x_;                                                        \
        uint16_t *y = y_;                                                          \
        float block[BLOCK];                                                        \
        for (ptrdiff_t k = 0; k < n; k += BLOCK) {                                 \
            ptrdiff_t m = n - k < BLOCK ? n - k : BLOCK;                           \
            for (ptrdiff_t i = 0; i < m; i++)                                      \
                block[i] = NARROWED_##from(x[k + i]);                              \
            narrow(block, y + k, m);                                               \
        }                                                                          \
    }
#define FROM_16(from, to, size, widen)                                             \
    static void from##_##to(const void *x_, void *y_, ptrdiff_t n) {               \
        const uint16_t *x = x_;                                                    \
        float block[BLOCK];                                                        \
        for (ptrdiff_t k = 0; k < n; k += BLOCK) {                                 \
            ptrdiff_t m = n - k < BLOCK ? n - k : BLOCK;                           \
            widen(x + k, block, m);                                                \
            float_##to(block, (char *)y_ + k * (ptrdiff_t)(size), m);              \
        }                                                                          \
    }

#define FROM_FLOAT(from)                                                                                                \
    CAST(from, float, u) CAST(from, double, u) CAST(from, truth, u != 0) TO_16(from, half, float_row_to_half)            \
    TO_16(from, brain, float_row_to_brain) CAST(from, int8_t, whole_32(u)) CAST(from, uint8_t, whole_32(u))             \
    CAST(from, int16_t, whole_32(u)) CAST(from, uint16_t, whole_32(u)) CAST(from, int32_t, whole_32(u))                 \
    CAST(from, uint32_t, whole_64(u)) CAST(from, int64_t, whole_64(u)) CAST(from, uint64_t, natural_64(u))
#define FROM_WHOLE(from)                                                                                                \
    CAST(from, float, u) CAST(from, double, u) CAST(from, truth, u != 0) TO_16(from, half, float_row_to_half)            \
    TO_16(from, brain, float_row_to_brain) CAST(from, int8_t, u) CAST(from, uint8_t, u) CAST(from, int16_t, u)          \
    CAST(from, uint16_t, u) CAST(from, int32_t, u) CAST(from, uint32_t, u) CAST(from, int64_t, u) CAST(from, uint64_t, u)
#define FROM_NARROW(from, widen)                                                                                        \
    FROM_16(from, float, 4, widen) FROM_16(from, double, 8, widen) FROM_16(from, truth, 1, widen)                        \
    FROM_16(from, half, 2, widen) FROM_16(from, brain, 2, widen) FROM_16(from, int8_t, 1, widen)                        \
    FROM_16(from, uint8_t, 1, widen) FROM_16(from, int16_t, 2, widen) FROM_16(from, uint16_t, 2, widen)                 \
    FROM_16(from, int32_t, 4, widen) FROM_16(from, uint32_t, 4, widen) FROM_16(from, int64_t, 8, widen)                 \
    FROM_16(from, uint64_t, 8, widen)

FROM_FLOAT(float)
FROM_FLOAT(double)
FROM_NARROW(half, half_row_to_float)
FROM_NARROW(brain, brain_row_to_float)
FROM_WHOLE(int8_t)
FROM_WHOLE(uint8_t)
FROM_WHOLE(int16_t)
FROM_WHOLE(uint16_t)
FROM_WHOLE(int32_t)
FROM_WHOLE(uint32_t)
FROM_WHOLE(int64_t)
FROM_WHOLE(uint64_t)
FROM_WHOLE(truth)

#define TO_ALL(from)                                                                                                     \
    {[F32] = from##_float, [F64] = from##_double, [F16] = from##_half, [BF16] = from##_brain, [I8] = from##_int8_t,      \
     [U8] = from##_uint8_t, [I16] = from##_int16_t, [U16] = from##_uint16_t, [I32] = from##_int32_t,                     \
     [U32] = from##_uint32_t, [I64] = from##_int64_t, [U64] = from##_uint64_t, [BOOLEAN] = from##_truth}

const CastLoops LOOPS(cast) = {{
    [F32] = TO_ALL(float), [F64] = TO_ALL(double), [F16] = TO_ALL(half), [BF16] = TO_ALL(brain), [I8] = TO_ALL(int8_t),
    [U8] = TO_ALL(uint8_t), [I16] = TO_ALL(int16_t), [U16] = TO_ALL(uint16_t), [I32] = TO_ALL(int32_t),
    [U32] = TO_ALL(uint32_t), [I64] = TO_ALL(int64_t), [U64] = TO_ALL(uint64_t), [BOOLEAN] = TO_ALL(truth),
}};
