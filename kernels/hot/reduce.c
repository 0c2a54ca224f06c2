/* Folds of rows: in lanes and blocks, so that long sums stay accurate; NaN is stronger than any number. */
#include "hot/reduce.h"
#include "hot/exponential.h"
#include "half.h"

#define EACH(n) _Pragma("GCC ivdep") for (ptrdiff_t i = 0; i < (n); i++)
#define SMALLER(a, b) ((a) < (b) ? (a) : (b))
enum { BLOCK = FOLD_BLOCK, RUN = 2048 /* elements that lanes of one type add up */, DEEP = 32 /* rows that do */ };

typedef __int128 whole;
typedef uint16_t half, brain;

#define VECTORS(real, bits)                                                                                        \
    typedef real real##s __attribute__((vector_size(32), aligned(sizeof(real)), may_alias));                       \
    typedef bits real##_bits __attribute__((vector_size(32)));                                                     \
    enum { LANES_##real = 32 / sizeof(real) };
VECTORS(float, uint32_t)
VECTORS(double, uint64_t)

#define START(name, type, value)                                                                                   \
    static void start_##name(void *to, ptrdiff_t m) { EACH(m) ((type *)to)[i] = value; }
START(zeros, double, 0)
START(ones, double, 1)

/* Sums of real numbers, in double past a block. `MANY` maps a vector of them, `ONE` a single one. */

#define SUMMED(kind, real, MANY, ONE)                                                                              \
    static double kind##_run_##real(const real *x, ptrdiff_t n) {                                                  \
        enum { L = LANES_##real };                                                                                 \
        real##s a = {0}, b = {0}, c = {0}, d = {0};                                                                \
        double sum = 0;                                                                                            \
        ptrdiff_t i = 0;                                                                                           \
        for (; i + 4 * L <= n; i += 4 * L) {                                                                       \
            a += MANY(real, *(const real##s *)(x + i));                                                            \
            b += MANY(real, *(const real##s *)(x + i + L));                                                        \
            c += MANY(real, *(const real##s *)(x + i + 2 * L));                                                    \
            d += MANY(real, *(const real##s *)(x + i + 3 * L));                                                    \
        }                                                                                                          \
        for (; i + L <= n; i += L)                                                                                 \
            a += MANY(real, *(const real##s *)(x + i));                                                            \
        a = (a + b) + (c + d);                                                                                     \
        for (int j = 0; j < L; j++)                                                                                \
            sum += a[j];                                                                                           \
        for (; i < n; i++)                                                                                         \
            sum += ONE(x[i]);                                                                                      \
        return sum;                                                                                                \
    }                                                                                                              \
    static void kind##_row_##real(const void *x, ptrdiff_t n, const double *shift, void *to) {                     \
        for (ptrdiff_t at = 0; at < n; at += RUN)                                                                  \
            *(double *)to += kind##_run_##real((const real *)x + at, SMALLER(n - at, RUN));                        \
    }                                                                                                              \
    static void kind##_rows_##real(const void *x_, ptrdiff_t stride, ptrdiff_t n, ptrdiff_t m,                     \
                                   const double *shift, void *to) {                                                \
        const real *x = x_;                                                                                        \
        double *sums = to;                                                                                         \
        real room[BLOCK];                                                                                          \
        for (ptrdiff_t at = 0; at < n; at += DEEP) {                                                               \
            ptrdiff_t k = at, end = SMALLER(n, at + DEEP);                                                         \
            EACH(m) room[i] = 0;                                                                                   \
            for (; k + 4 <= end; k += 4) {                                                                         \
                const real *a = x + k * stride, *b = a + stride, *c = b + stride, *d = c + stride;                 \
                EACH(m) room[i] += (ONE(a[i]) + ONE(b[i])) + (ONE(c[i]) + ONE(d[i]));                              \
            }                                                                                                      \
            for (; k < end; k++)                                                                                   \
                EACH(m) room[i] += ONE(x[k * stride + i]);                                                         \
            EACH(m) sums[i] += room[i];                                                                            \
        }                                                                                                          \
    }
#define MANY_AS_THEY_ARE(real, v) (v)
#define MANY_SIZES(real, v) ((real##s)((real##_bits)(v) << 1 >> 1))
#define MANY_SQUARES(real, v) ((v) * (v))
#define AS_IT_IS(v) (v)
#define SIZE_FLOAT(v) __builtin_fabsf(v)
#define SIZE_DOUBLE(v) __builtin_fabs(v)
#define SQUARE(v) ((v) * (v))
SUMMED(sum, float, MANY_AS_THEY_ARE, AS_IT_IS)
SUMMED(sum, double, MANY_AS_THEY_ARE, AS_IT_IS)
SUMMED(sizes, float, MANY_SIZES, SIZE_FLOAT)
SUMMED(sizes, double, MANY_SIZES, SIZE_DOUBLE)
SUMMED(squares, float, MANY_SQUARES, SQUARE)
SUMMED(squares, double, MANY_SQUARES, SQUARE)

/* Products in double, and sums of powers of e in blocks. */

#define MULTIPLIED(real, to_e)                                                                                     \
    static void product_row_##real(const void *x_, ptrdiff_t n, const double *shift, void *to) {                   \
        const real *x = x_;                                                                                        \
        double a = *(double *)to, b = 1, c = 1, d = 1;                                                             \
        ptrdiff_t i = 0;                                                                                           \
        for (; i + 4 <= n; i += 4)                                                                                 \
            a *= x[i], b *= x[i + 1], c *= x[i + 2], d *= x[i + 3];                                                \
        for (; i < n; i++)                                                                                         \
            a *= x[i];                                                                                             \
        *(double *)to = (a * b) * (c * d);                                                                         \
    }                                                                                                              \
    static void product_rows_##real(const void *x, ptrdiff_t stride, ptrdiff_t n, ptrdiff_t m,                     \
                                    const double *shift, void *to) {                                               \
        for (ptrdiff_t k = 0; k < n; k++)                                                                          \
            EACH(m) ((double *)to)[i] *= ((const real *)x)[k * stride + i];                                        \
    }                                                                                                              \
    static void exponentials_row_##real(const void *x_, ptrdiff_t n, const double *shift, void *to) {              \
        const real *x = x_, most = (real)*shift;                                                                   \
        real room[BLOCK];                                                                                          \
        for (ptrdiff_t at = 0; at < n; at += BLOCK) {                                                              \
            ptrdiff_t m = SMALLER(n - at, BLOCK);                                                                  \
            EACH(m) room[i] = to_e(x[at + i] - most);                                                              \
            *(double *)to += sum_run_##real(room, m);                                                              \
        }                                                                                                          \
    }                                                                                                              \
    static void exponentials_rows_##real(const void *x, ptrdiff_t stride, ptrdiff_t n, ptrdiff_t m,                \
                                         const double *shift, void *to) {                                          \
        for (ptrdiff_t k = 0; k < n; k++)                                                                          \
            EACH(m) ((double *)to)[i] += to_e(((const real *)x)[k * stride + i] - (real)shift[i]);                 \
    }
MULTIPLIED(float, exp_below)
MULTIPLIED(double, exp)

/* Extremes. A number takes the place of what it exceeds, NaN that of all. */

#define EXCEEDS(x, a) (((x) > (a)) | ((x) != (x)))
#define FALLS_BELOW(x, a) (((x) < (a)) | ((x) != (x)))

/* Lanes of v take the places of those that they win over. */
#define TAKE(real, WINS, lanes, v_)                                                                                \
    do {                                                                                                           \
        real##s v = v_;                                                                                            \
        real##_bits wins = (real##_bits)(WINS(v, lanes));                                                          \
        lanes = (real##s)(((real##_bits)v & wins) | ((real##_bits)lanes & ~wins));                                 \
    } while (0)

#define EXTREME_LANES(kind, real, WINS, start)                                                                     \
    START(kind##_##real, real, start)                                                                              \
    static void kind##_row_##real(const void *x_, ptrdiff_t n, const double *shift, void *to) {                    \
        enum { L = LANES_##real };                                                                                 \
        const real *x = x_;                                                                                        \
        real found = *(real *)to;                                                                                  \
        real##s most[4];                                                                                           \
        ptrdiff_t i = 0;                                                                                           \
        for (int k = 0; k < 4; k++)                                                                                \
            most[k] = (real##s){0} + found;                                                                        \
        for (; i + 4 * L <= n; i += 4 * L)                                                                         \
            for (int k = 0; k < 4; k++)                                                                            \
                TAKE(real, WINS, most[k], *(const real##s *)(x + i + k * L));                                      \
        for (int k = 0; k < 4; k++)                                                                                \
            for (int j = 0; j < L; j++)                                                                            \
                found = WINS(most[k][j], found) ? most[k][j] : found;                                              \
        for (; i < n; i++)                                                                                         \
            found = WINS(x[i], found) ? x[i] : found;                                                              \
        *(real *)to = found;                                                                                       \
    }                                                                                                              \
    static void kind##_rows_##real(const void *x_, ptrdiff_t stride, ptrdiff_t n, ptrdiff_t m,                     \
                                   const double *shift, void *to) {                                                \
        enum { L = LANES_##real };                                                                                 \
        real *most = to;                                                                                           \
        for (ptrdiff_t k = 0, deep; k < n; k += deep) {                                                            \
            const real *x = (const real *)x_ + k * stride;                                                         \
            ptrdiff_t i = 0;                                                                                       \
            deep = SMALLER(n - k, 4);                                                                              \
            for (; i + L <= m; i += L) {                                                                           \
                real##s lanes = *(real##s *)(most + i);                                                            \
                for (ptrdiff_t j = 0; j < deep; j++)                                                               \
                    TAKE(real, WINS, lanes, *(const real##s *)(x + j * stride + i));                               \
                *(real##s *)(most + i) = lanes;                                                                    \
            }                                                                                                      \
            for (; i < m; i++)                                                                                     \
                for (ptrdiff_t j = 0; j < deep; j++)                                                               \
                    most[i] = WINS(x[j * stride + i], most[i]) ? x[j * stride + i] : most[i];                      \
        }                                                                                                          \
    }
EXTREME_LANES(largest, float, EXCEEDS, -INFINITY)
EXTREME_LANES(largest, double, EXCEEDS, -INFINITY)
EXTREME_LANES(least, float, FALLS_BELOW, INFINITY)
EXTREME_LANES(least, double, FALLS_BELOW, INFINITY)

#define EXTREME(kind, type, WINS, start)                                                                           \
    START(kind##_##type, type, start)                                                                              \
    static void kind##_row_##type(const void *x, ptrdiff_t n, const double *shift, void *to) {                     \
        type found = *(type *)to;                                                                                  \
        EACH(n) found = WINS(((const type *)x)[i], found) ? ((const type *)x)[i] : found;                          \
        *(type *)to = found;                                                                                       \
    }                                                                                                              \
    static void kind##_rows_##type(const void *x_, ptrdiff_t stride, ptrdiff_t n, ptrdiff_t m,                     \
                                   const double *shift, void *to) {                                                \
        type *most = to;                                                                                           \
        for (ptrdiff_t k = 0; k < n; k++) {                                                                        \
            const type *x = (const type *)x_ + k * stride;                                                         \
            EACH(m) most[i] = WINS(x[i], most[i]) ? x[i] : most[i];                                                \
        }                                                                                                          \
    }

#define EXTREMES_OF(type, lowest, highest)                                                                      \
    EXTREME(largest, type, EXCEEDS, lowest)                                                                        \
    EXTREME(least, type, FALLS_BELOW, highest)
EXTREMES_OF(int8_t, INT8_MIN, INT8_MAX)
EXTREMES_OF(uint8_t, 0, UINT8_MAX)
EXTREMES_OF(int32_t, INT32_MIN, INT32_MAX)
EXTREMES_OF(uint32_t, 0, UINT32_MAX)
EXTREMES_OF(int64_t, INT64_MIN, INT64_MAX)
EXTREMES_OF(uint64_t, 0, UINT64_MAX)
typedef uint8_t truth;
START(largest_truth, truth, 0)
START(least_truth, truth, 1)

/* Sums and products of integers, which wrap around, and exact sums. */

#define WRAPPED(kind, type, made, OP, ONE)                                                                         \
    static void kind##_row_##type(const void *x, ptrdiff_t n, const double *shift, void *to) {                     \
        made found = *(made *)to;                                                                                  \
        EACH(n) found = found OP ONE(made, ((const type *)x)[i]);                                                  \
        *(made *)to = found;                                                                                       \
    }                                                                                                              \
    static void kind##_rows_##type(const void *x_, ptrdiff_t stride, ptrdiff_t n, ptrdiff_t m,                     \
                                   const double *shift, void *to) {                                                \
        made *found = to;                                                                                          \
        for (ptrdiff_t k = 0; k < n; k++) {                                                                        \
            const type *x = (const type *)x_ + k * stride;                                                         \
            EACH(m) found[i] = found[i] OP ONE(made, x[i]);                                                        \
        }                                                                                                          \
    }
#define CAST(type, v) ((type)(v))
#define CAST_SIZE(type, v) ((v) < 0 ? (type)0 - (type)(v) : (type)(v))
#define CAST_SQUARE(type, v) ((type)(v) * (type)(v))
#define WRAPPED_SUMS(type, made)                                                                                   \
    START(nothing_##type, made, 0)                                                                                 \
    START(one_##type, made, 1)                                                                                     \
    WRAPPED(sum, type, made, +, CAST)                                                                              \
    WRAPPED(sizes, type, made, +, CAST_SIZE)                                                                       \
    WRAPPED(squares, type, made, +, CAST_SQUARE)                                                                   \
    WRAPPED(product, type, made, *, CAST)                                                                          \
    WRAPPED(exact, type, whole, +, CAST)
WRAPPED_SUMS(int32_t, uint32_t)
WRAPPED_SUMS(uint32_t, uint32_t)
WRAPPED_SUMS(int64_t, uint64_t)
WRAPPED_SUMS(uint64_t, uint64_t)
START(exactly_nothing, whole, 0)

/* Elements on the way in */

static void load_half(const void *x, void *y, ptrdiff_t n) { half_row_to_float(x, y, n); }
static void load_brain(const void *x, void *y, ptrdiff_t n) { brain_row_to_float(x, y, n); }
#define LOADED(type)                                                                                               \
    static void load_##type(const void *x, void *y, ptrdiff_t n) {                                                 \
        EACH(n) ((double *)y)[i] = (double)((const type *)x)[i];                                                   \
    }
LOADED(int32_t)
LOADED(uint32_t)
LOADED(int64_t)
LOADED(uint64_t)

/* Results on the way out */

static void ended(const double *from, const double *shift, ptrdiff_t m, double count, int end, double *made) {
    switch (end) {
    case END_MEAN:
        EACH(m) made[i] = from[i] / count;
        break;
    case END_ROOT:
        EACH(m) made[i] = sqrt(from[i]);
        break;
    case END_LOGARITHM:
        EACH(m) made[i] = log(from[i]);
        break;
    case END_SHIFTED_LOGARITHM:
        EACH(m) made[i] = isfinite(shift[i]) ? log(from[i]) + shift[i] : shift[i];
        break;
    default:
        EACH(m) made[i] = from[i];
    }
}

#define ENDED_REAL(type, STORE)                                                                                    \
    static void end_##type(const void *from, const double *shift, ptrdiff_t m, double count, int end, void *y) {   \
        double made[BLOCK];                                                                                        \
        ended(from, shift, m, count, end, made);                                                                   \
        EACH(m) ((type *)y)[i] = STORE(made[i]);                                                                   \
    }
#define TO_FLOAT(v) ((float)(v))
#define TO_HALF(v) float_to_half((float)(v))
#define TO_BRAIN(v) float_to_brain((float)(v))
ENDED_REAL(float, TO_FLOAT)
ENDED_REAL(double, AS_IT_IS)
ENDED_REAL(half, TO_HALF)
ENDED_REAL(brain, TO_BRAIN)

/* Integers are cut off towards zero, and stay at the ends of their range; NaN is 0. */
#define ENDED_WHOLE(type, lowest, highest, beyond)                                                                 \
    static type cut_##type(double v) {                                                                             \
        return v >= beyond ? highest : v <= (double)lowest ? lowest : v != v ? 0 : (type)v;                        \
    }                                                                                                              \
    ENDED_REAL(type, cut_##type)                                                                                   \
    static void own_##type(const void *from, const double *shift, ptrdiff_t m, double count, int end, void *y) {   \
        memcpy(y, from, (size_t)m * sizeof(type));                                                                 \
    }                                                                                                              \
    static void mean_##type(const void *from, const double *shift, ptrdiff_t m, double count, int end, void *y) {  \
        for (ptrdiff_t i = 0; i < m; i++)                                                                          \
            ((type *)y)[i] = count > 0 ? (type)(((const whole *)from)[i] / (whole)count) : 0;                      \
    }
ENDED_WHOLE(int32_t, INT32_MIN, INT32_MAX, 0x1p31)
ENDED_WHOLE(uint32_t, 0, UINT32_MAX, 0x1p32)
ENDED_WHOLE(int64_t, INT64_MIN, INT64_MAX, 0x1p63)
ENDED_WHOLE(uint64_t, 0, UINT64_MAX, 0x1p64)

#define ENDED_OWN(type)                                                                                            \
    static void own_##type(const void *from, const double *shift, ptrdiff_t m, double count, int end, void *y) {   \
        memcpy(y, from, (size_t)m * sizeof(type));                                                                 \
    }
ENDED_OWN(float)
ENDED_OWN(double)
ENDED_OWN(uint8_t)
static void own_half(const void *from, const double *shift, ptrdiff_t m, double count, int end, void *y) {
    float_row_to_half(from, y, m);
}
static void own_brain(const void *from, const double *shift, ptrdiff_t m, double count, int end, void *y) {
    float_row_to_brain(from, y, m);
}

#define FOLD(kind, type, start) {kind##_row_##type, kind##_rows_##type, start}
#define REALS(kind, start) FOLD(kind, float, start), FOLD(kind, double, start), FOLD(kind, float, start), FOLD(kind, float, start)
#define INTEGERS(kind, start)                                                                                      \
    [8] = FOLD(kind, int32_t, start##_int32_t), [9] = FOLD(kind, uint32_t, start##_uint32_t),                      \
    [10] = FOLD(kind, int64_t, start##_int64_t), [11] = FOLD(kind, uint64_t, start##_uint64_t)
#define OWN(kind, type) FOLD(kind, type, start_##kind##_##type)
#define EXTREMES(kind)                                                                                             \
    {OWN(kind, float), OWN(kind, double), OWN(kind, float), OWN(kind, float), OWN(kind, int8_t), OWN(kind, uint8_t), \
     [12] = FOLD(kind, uint8_t, start_##kind##_truth), INTEGERS(kind, start_##kind)}
#define WHOLES(name) [8] = name##_int32_t, [9] = name##_uint32_t, [10] = name##_int64_t, [11] = name##_uint64_t

const ReduceLoops LOOPS(reduce) = {
    .fold = {{REALS(sum, start_zeros), INTEGERS(sum, start_nothing)},
             {REALS(sizes, start_zeros), INTEGERS(sizes, start_nothing)},
             {REALS(squares, start_zeros), INTEGERS(squares, start_nothing)},
             {REALS(product, start_ones), INTEGERS(product, start_one)},
             {REALS(exponentials, start_zeros)},
             EXTREMES(largest),
             EXTREMES(least)},
    .whole = {[8] = FOLD(exact, int32_t, start_exactly_nothing), [9] = FOLD(exact, uint32_t, start_exactly_nothing),
              [10] = FOLD(exact, int64_t, start_exactly_nothing), [11] = FOLD(exact, uint64_t, start_exactly_nothing)},
    .widened = {[2] = load_half, [3] = load_brain, WHOLES(load)},
    .from_double = {end_float, end_double, end_half, end_brain, WHOLES(end)},
    .own = {own_float, own_double, own_half, own_brain, own_uint8_t, own_uint8_t, [12] = own_uint8_t, WHOLES(own)},
    .mean = {WHOLES(mean)},
};
