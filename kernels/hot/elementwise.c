/* Rows of elementwise arithmetic. Every loop is plain C that compilers turn into vectors. */
#include "hot/elementwise.h"
#include "hot/exponential.h"
#include "half.h"
#include <limits.h>

typedef unsigned char boolean;
enum { FINE = 0, DIVISION = 2 /* DIVISION_BY_ZERO of step.pxd */, BLOCK = 512 };

/* The result may overwrite an operand, element by element: no iteration reads what another wrote. */
#define EACH _Pragma("GCC ivdep") for (ptrdiff_t i = 0; i < n; i++)

/* Two operands u and v to one result. */
#define PAIR(name, type, made, result)                                                                       \
    static int name##_##type(const void *a_, const void *b_, void *y_, ptrdiff_t n, int repeats) {           \
        const type *a = a_, *b = b_;                                                                         \
        made *y = y_;                                                                                        \
        if (repeats == NEITHER)                                                                              \
            EACH { type u = a[i], v = b[i]; y[i] = result; }                                                 \
        else if (repeats == SECOND) {                                                                        \
            type v = b[0];                                                                                   \
            EACH { type u = a[i]; y[i] = result; }                                                           \
        } else {                                                                                             \
            type u = a[0];                                                                                   \
            EACH { type v = b[i]; y[i] = result; }                                                           \
        }                                                                                                    \
        return FINE;                                                                                         \
    }

/* 16-bit operands through blocks of floats. `narrow` is NULL where the result is boolean. */
typedef void (*Widen)(const uint16_t *x, float *y, ptrdiff_t n);
typedef void (*Narrow)(const float *x, uint16_t *y, ptrdiff_t n);

static int pair_widened(Pair row, Widen widen, Narrow narrow, const uint16_t *a, const uint16_t *b, void *y, ptrdiff_t n,
                        int repeats) {
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
        row(u, v, narrow ? (void *)w : (boolean *)y + i, m, repeats);
        if (narrow)
            narrow(w, (uint16_t *)y + i, m);
    }
    return FINE;
}

#define PAIR_16(name, made)                                                                                          \
    static int name##_half(const void *a, const void *b, void *y, ptrdiff_t n, int repeats) {                        \
        return pair_widened(name##_float, half_row_to_float, made ? float_row_to_half : NULL, a, b, y, n, repeats);   \
    }                                                                                                                \
    static int name##_brain(const void *a, const void *b, void *y, ptrdiff_t n, int repeats) {                       \
        return pair_widened(name##_float, brain_row_to_float, made ? float_row_to_brain : NULL, a, b, y, n, repeats); \
    }

#define PAIR_FLOATS(name, on_float, on_double) \
    PAIR(name, float, float, on_float) PAIR(name, double, double, on_double) PAIR_16(name, 1)
/* Whole numbers wrap around, as everywhere in the standard. */
#define PAIR_WHOLE(name, sign)                              \
    PAIR(name, int32_t, int32_t, (int32_t)((uint32_t)u sign (uint32_t)v)) \
    PAIR(name, int64_t, int64_t, (int64_t)((uint64_t)u sign (uint64_t)v))
#define PAIR_COMPARED(name, result)                                                                    \
    PAIR(name, float, boolean, result) PAIR(name, double, boolean, result) PAIR(name, int32_t, boolean, result) \
    PAIR(name, int64_t, boolean, result) PAIR_16(name, 0)

PAIR_FLOATS(add, u + v, u + v)
PAIR_WHOLE(add, +)
PAIR_FLOATS(sub, u - v, u - v)
PAIR_WHOLE(sub, -)
PAIR_FLOATS(mul, u * v, u * v)
PAIR_WHOLE(mul, *)
PAIR_FLOATS(divide, u / v, u / v)
/* NaN wins: the sum of both is NaN where one is. */
#define LARGER (u != u || v != v ? u + v : u > v ? u : v)
#define SMALLER (u != u || v != v ? u + v : u < v ? u : v)
PAIR_FLOATS(larger, LARGER, LARGER)
PAIR(larger, int32_t, int32_t, u > v ? u : v)
PAIR(larger, int64_t, int64_t, u > v ? u : v)
PAIR_FLOATS(smaller, SMALLER, SMALLER)
PAIR(smaller, int32_t, int32_t, u < v ? u : v)
PAIR(smaller, int64_t, int64_t, u < v ? u : v)
PAIR(raise, float, float, powf(u, v))
PAIR(raise, double, double, pow(u, v))

/* Powers; squares are products. */
#define POWER(type)                                                                                     \
    static int power_##type(const void *a, const void *b, void *y, ptrdiff_t n, int repeats) {          \
        if (repeats == SECOND && *(const type *)b == 2)                                                 \
            return mul_##type(a, a, y, n, NEITHER);                                                     \
        return raise_##type(a, b, y, n, repeats);                                                       \
    }
POWER(float)
POWER(double)
PAIR_16(power, 1)
PAIR_FLOATS(prelu, u < 0 ? u * v : u, u < 0 ? u * v : u)
PAIR_COMPARED(less, u < v)
PAIR_COMPARED(less_equal, u <= v)
PAIR_COMPARED(greater, u > v)
PAIR_COMPARED(greater_equal, u >= v)
PAIR_COMPARED(equal, u == v)
PAIR(equal, boolean, boolean, u == v)
PAIR(both, boolean, boolean, u & v)
PAIR(either, boolean, boolean, u | v)
PAIR(differ, boolean, boolean, u ^ v)

/* Quotients of whole numbers, rounded towards zero; the processor would trap on two of them. */
#define QUOTIENT(type, least)                                                                            \
    static int divide_##type(const void *a_, const void *b_, void *y_, ptrdiff_t n, int repeats) {       \
        const type *a = a_, *b = b_;                                                                     \
        type *y = y_;                                                                                    \
        for (ptrdiff_t i = 0; i < n; i++) {                                                              \
            type u = a[repeats == FIRST ? 0 : i], v = b[repeats == SECOND ? 0 : i];                      \
            if (v == 0 || (v == -1 && u == least))                                                       \
                return DIVISION;                                                                         \
            y[i] = u / v;                                                                                \
        }                                                                                                \
        return FINE;                                                                                     \
    }
QUOTIENT(int32_t, INT32_MIN)
QUOTIENT(int64_t, INT64_MIN)

/* One operand u to one result; alpha and beta are the settings, in the type of the elements. */
#define MAP(name, type, result)                                                                  \
    static int name##_##type(const void *x_, void *y_, ptrdiff_t n, const double *settings) {    \
        const type *x = x_, alpha = (type)settings[0], beta = (type)settings[1];                 \
        (void)alpha, (void)beta;                                                                 \
        type *y = y_;                                                                            \
        EACH { type u = x[i]; y[i] = result; }                                                   \
        return FINE;                                                                             \
    }

static int map_widened(Map row, Widen widen, Narrow narrow, const uint16_t *x, uint16_t *y, ptrdiff_t n, const double *settings) {
    float u[BLOCK];
    for (ptrdiff_t i = 0; i < n; i += BLOCK) {
        ptrdiff_t m = n - i < BLOCK ? n - i : BLOCK;
        widen(x + i, u, m);
        row(u, u, m, settings);
        narrow(u, y + i, m);
    }
    return FINE;
}

#define MAP_FLOATS(name, on_float, on_double)                                                        \
    MAP(name, float, on_float) MAP(name, double, on_double)                                          \
    static int name##_half(const void *x, void *y, ptrdiff_t n, const double *settings) {            \
        return map_widened(name##_float, half_row_to_float, float_row_to_half, x, y, n, settings);   \
    }                                                                                                \
    static int name##_brain(const void *x, void *y, ptrdiff_t n, const double *settings) {           \
        return map_widened(name##_float, brain_row_to_float, float_row_to_brain, x, y, n, settings); \
    }
#define SAME(name, result) MAP_FLOATS(name, result, result)

#define BETWEEN(x, low, high) ((x) < (low) ? (low) : (x) > (high) ? (high) : (x))
SAME(relu, u < 0 ? 0 : u)
SAME(leaky_relu, u < 0 ? u * alpha : u)
MAP_FLOATS(absolute, fabsf(u), fabs(u))
SAME(negative, -u)
MAP_FLOATS(root, sqrtf(u), sqrt(u))
SAME(reciprocal, 1 / u)
MAP_FLOATS(lower, floorf(u), floor(u))
MAP_FLOATS(upper, ceilf(u), ceil(u))
MAP_FLOATS(exponential, exp_of(u), exp(u))
MAP_FLOATS(logarithm, log_of(u), log(u))
MAP_FLOATS(sigmoid, sigmoid_of(u), 1 / (1 + exp(-u)))
MAP_FLOATS(tangent, tanh_of(u), tanh(u))
MAP_FLOATS(error, erf_of(u), erf(u))
MAP_FLOATS(elu, u < 0 ? alpha * (exp_of(u) - 1) : u, u < 0 ? alpha * expm1(u) : u)
SAME(hard_sigmoid, BETWEEN(alpha * u + beta, 0, 1))
SAME(hard_swish, u * BETWEEN(u / 6 + (float)0.5, 0, 1))
/* The upper limit wins where it is below the lower one. */
SAME(clip, (u < alpha ? alpha : u) > beta ? beta : (u < alpha ? alpha : u))

static int negation(const void *x_, void *y_, ptrdiff_t n, const double *settings) {
    const boolean *x = x_;
    boolean *y = y_;
    EACH y[i] = !x[i];
    return FINE;
}

#define FLOATS(name) [F32] = name##_float, [F64] = name##_double, [F16] = name##_half, [BF16] = name##_brain
#define NUMBERS(name) {FLOATS(name), [I32] = name##_int32_t, [I64] = name##_int64_t}

const ElementwiseLoops LOOPS(elementwise) = {
    .pair = {
        [ADD] = NUMBERS(add), [SUB] = NUMBERS(sub), [MUL] = NUMBERS(mul), [DIV] = NUMBERS(divide),
        [MAX] = NUMBERS(larger), [MIN] = NUMBERS(smaller), [POW] = {FLOATS(power)}, [PRELU] = {FLOATS(prelu)},
        [LESS] = NUMBERS(less), [LESS_EQUAL] = NUMBERS(less_equal), [GREATER] = NUMBERS(greater),
        [GREATER_EQUAL] = NUMBERS(greater_equal),
        [EQUAL] = {FLOATS(equal), [I32] = equal_int32_t, [I64] = equal_int64_t, [BOOLEAN] = equal_boolean},
        [AND] = {[BOOLEAN] = both_boolean}, [OR] = {[BOOLEAN] = either_boolean}, [XOR] = {[BOOLEAN] = differ_boolean},
    },
    .map = {
        [RELU] = {FLOATS(relu)}, [LEAKY_RELU] = {FLOATS(leaky_relu)}, [ABS] = {FLOATS(absolute)}, [NEG] = {FLOATS(negative)},
        [SQRT] = {FLOATS(root)}, [RECIPROCAL] = {FLOATS(reciprocal)}, [FLOOR] = {FLOATS(lower)}, [CEIL] = {FLOATS(upper)},
        [EXP] = {FLOATS(exponential)}, [LOG] = {FLOATS(logarithm)}, [SIGMOID] = {FLOATS(sigmoid)}, [TANH] = {FLOATS(tangent)},
        [ERF] = {FLOATS(error)}, [ELU] = {FLOATS(elu)}, [HARD_SIGMOID] = {FLOATS(hard_sigmoid)},
        [HARD_SWISH] = {FLOATS(hard_swish)}, [CLIP] = {FLOATS(clip)}, [NOT] = {[BOOLEAN] = negation},
    },
};
