/* Rows of one operand u to one result; alpha and beta are the settings, in the type of the elements. */
#ifndef INTERP_HOT_MAPS_H
#define INTERP_HOT_MAPS_H
#include <math.h>
#include "hot/elementwise.h"
#include "hot/exponential.h"
#include "hot/circular.h"
#include "hot/curves.h"
#include "hot/rows.h"

#define MAP_TO(name, type, made, result)                                                         \
    static int name##_##type(const void *x_, void *y_, ptrdiff_t n, const double *settings) {    \
        const type *x = x_, alpha = (type)settings[0], beta = (type)settings[1];                 \
        (void)alpha, (void)beta;                                                                 \
        made *y = y_;                                                                            \
        EACH { type u = x[i]; y[i] = (made)(result); }                                           \
        return FINE;                                                                             \
    }
#define MAP(name, type, result) MAP_TO(name, type, type, result)

/* 16-bit operands through blocks of floats. `narrow` is NULL where the result is boolean. */
static int map_widened(Map row, Widen widen, Narrow narrow, const uint16_t *x, void *y, ptrdiff_t n, const double *settings) {
    float u[BLOCK];
    for (ptrdiff_t i = 0; i < n; i += BLOCK) {
        ptrdiff_t m = n - i < BLOCK ? n - i : BLOCK;
        widen(x + i, u, m);
        row(u, narrow ? (void *)u : (boolean *)y + i, m, settings);
        if (narrow)
            narrow(u, (uint16_t *)y + i, m);
    }
    return FINE;
}

#define MAP_16(name, made)                                                                                          \
    static int name##_half(const void *x, void *y, ptrdiff_t n, const double *settings) {                           \
        return map_widened(name##_float, half_row_to_float, made ? float_row_to_half : NULL, x, y, n, settings);    \
    }                                                                                                               \
    static int name##_brain(const void *x, void *y, ptrdiff_t n, const double *settings) {                          \
        return map_widened(name##_float, brain_row_to_float, made ? float_row_to_brain : NULL, x, y, n, settings);  \
    }
#define MAP_FLOATS(name, on_float, on_double) MAP(name, float, on_float) MAP(name, double, on_double) MAP_16(name, 1)
#define SAME(name, result) MAP_FLOATS(name, result, result)
#define MATH(name, function) MAP_FLOATS(name, function##f(u), function(u))
/* On floats in vectors, and on those of them for which `ends` holds as everywhere else. */
#if defined(__AVX2__)
#define CURVES(name, ends, on_lanes, on_float, on_double) \
    CURVE(name, ends, on_lanes, on_float) MAP(name, double, on_double) MAP_16(name, 1)
#define NOWHERE (Words){0}
#else
#define CURVES(name, ends, on_lanes, on_float, on_double) MAP_FLOATS(name, on_float, on_double)
#endif
#define MAP_SIGNED(name, result) \
    MAP(name, int8_t, result) MAP(name, int16_t, result) MAP(name, int32_t, result) MAP(name, int64_t, result)
#define MAP_UNSIGNED(name, result) \
    MAP(name, uint8_t, result) MAP(name, uint16_t, result) MAP(name, uint32_t, result) MAP(name, uint64_t, result)
#define MAP_TRUTH(name, result) MAP_TO(name, float, boolean, result) MAP_TO(name, double, boolean, result) MAP_16(name, 0)

#define BETWEEN(x, low, high) ((x) < (low) ? (low) : (x) > (high) ? (high) : (x))
SAME(relu, u < 0 ? 0 : u)
MAP_SIGNED(relu, u < 0 ? 0 : u)
SAME(leaky_relu, u < 0 ? u * alpha : u)
MAP_FLOATS(absolute, fabsf(u), fabs(u))
MAP_SIGNED(absolute, u < 0 ? -(uint64_t)u : (uint64_t)u)
SAME(negative, -u)
MAP_UNSIGNED(negative, 0ull - u)
MATH(root, sqrt)
SAME(reciprocal, 1 / u)
MATH(lower, floor)
MATH(upper, ceil)
MATH(even, rint)
SAME(sign, u > 0 ? 1 : u < 0 ? -1 : u)
MAP_SIGNED(sign, (u > 0) - (u < 0))
MAP_UNSIGNED(sign, u > 0)
MAP_UNSIGNED(turned, ~u)
MAP_TRUTH(not_a_number, u != u)
MAP_TRUTH(infinite, (alpha != 0 && u == -INFINITY) || (beta != 0 && u == INFINITY))
MAP(negation, boolean, !u)

/* Exponentials and their kin. */
CURVES(exponential, beyond(u, EXP_END), exp_lanes(u), exp_of(u), exp(u))
MAP_FLOATS(logarithm, log_of(u), log(u))
CURVES(sigmoid, beyond(u, EXP_END), sigmoid_lanes(u), sigmoid_of(u), 1 / (1 + exp(-u)))
CURVES(tangent, NOWHERE, tanh_lanes(u), tanh_of(u), tanh(u))
CURVES(error, NOWHERE, erf_lanes(u), erf_of(u), erf(u))
MAP_FLOATS(sinus_h, sinh_of(u), sinh(u))
MAP_FLOATS(cosinus_h, cosh_of(u), cosh(u))
MATH(area_sinus, asinh)
MATH(area_cosinus, acosh)
MATH(area_tangent, atanh)
MATH(arc_sinus, asin)
MATH(arc_cosinus, acos)
MAP_FLOATS(arc_tangent, atan_of(u), atan(u))

/* Powers to one exponent, which may be finer than the elements. */
MAP(square, float, u * u)
MAP(square, double, u * u)
MAP(cube, float, u * u * u)
MAP(cube, double, u * u * u)
MAP(half_power, float, u == -INFINITY ? INFINITY : sqrtf(u) + 0)
MAP(half_power, double, u == -INFINITY ? INFINITY : sqrt(u) + 0)
#define RAISED(type, function)                                                                                \
    static int raised_##type(const void *x_, void *y_, ptrdiff_t n, const double *settings) {                 \
        const type *x = x_;                                                                                   \
        type *y = y_;                                                                                         \
        double exact = settings[0];                                                                           \
        type v = (type)exact;                                                                                 \
        if (v == 2)                                                                                           \
            return square_##type(x_, y_, n, settings);                                                        \
        if (v == 3)                                                                                           \
            return cube_##type(x_, y_, n, settings);                                                          \
        if (exact == 0.5)                                                                                     \
            return half_power_##type(x_, y_, n, settings);                                                    \
        for (ptrdiff_t i = 0; i < n; i++)                                                                     \
            y[i] = v == exact || v != v ? function(x[i], v) : (type)pow(x[i], exact);                         \
        return FINE;                                                                                          \
    }
RAISED(float, powf)
RAISED(double, pow)
MAP_16(raised, 1)

/* Beyond what `circular.h` reduces well the library is slower, and right. */
#define CIRCULAR(name, function, near)                                                                \
    static int name##_float(const void *x_, void *y_, ptrdiff_t n, const double *settings) {          \
        const float *x = x_;                                                                          \
        float *y = y_;                                                                                \
        int beyond = 0;                                                                               \
        EACH beyond |= fabsf(x[i]) > FARTHEST;                                                        \
        if (beyond)                                                                                   \
            for (ptrdiff_t i = 0; i < n; i++)                                                         \
                y[i] = function##f(x[i]);                                                             \
        else                                                                                          \
            EACH y[i] = near(x[i]);                                                                   \
        return FINE;                                                                                  \
    }                                                                                                 \
    MAP(name, double, function(u)) MAP_16(name, 1)
CIRCULAR(sinus, sin, sin_near)
CIRCULAR(cosinus, cos, cos_near)
CIRCULAR(slope, tan, tan_near)

/* Activations with settings, or of several exponentials. */
MAP_FLOATS(elu, u < 0 ? alpha * expm1_of(u) : u, u < 0 ? alpha * expm1(u) : u)
MAP_FLOATS(selu, beta * (u > 0 ? u : alpha * expm1_of(u)), beta * (u > 0 ? u : alpha * expm1(u)))
#define UP_TO_ZERO(x) ((x) > 0 ? 0 : (x))
MAP_FLOATS(celu, (u > 0 ? u : 0) + UP_TO_ZERO(alpha * expm1_of(u / alpha)),
           (u > 0 ? u : 0) + UP_TO_ZERO(alpha * expm1(u / alpha)))
SAME(hard_sigmoid, BETWEEN(alpha * u + beta, 0, 1))
SAME(hard_swish, u * BETWEEN(u / 6 + (float)0.5, 0, 1))
/* The upper limit wins where it is below the lower one. */
SAME(clip, (u < alpha ? alpha : u) > beta ? beta : (u < alpha ? alpha : u))
SAME(thresholded, u > alpha ? u : 0)
SAME(shrunk, u < -alpha ? u + beta : u > alpha ? u - beta : u != u ? u : 0)
MAP_FLOATS(softsign, u / (1 + fabsf(u)), u / (1 + fabs(u)))
MAP_FLOATS(softplus, (u > 0 ? u : 0) + log1p_of(exp_of(-fabsf(u))), (u > 0 ? u : 0) + log1p(exp(-fabs(u))))
CURVES(swish, beyond(alpha * u, EXP_END), u * sigmoid_lanes(alpha * u), u * sigmoid_of(alpha * u), u / (1 + exp(-alpha * u)))
CURVES(gelu, NOWHERE, u * 0.5f * (1.f + erf_lanes(u * 0.70710678f)), u * 0.5f * (1 + erf_of(u * 0.70710678f)),
       u * 0.5 * erfc(u * -0.70710678118654752))
/* (1 + tanh z) / 2 is the sigmoid of 2 z. */
#define CUBIC(u) (1.59576912f * (u + 0.044715f * u * u * u))
CURVES(gelu_tanh, beyond(CUBIC(u), EXP_END), u * sigmoid_lanes(CUBIC(u)), u * sigmoid_of(CUBIC(u)),
       u / (1 + exp(-1.5957691216057308 * (u + 0.044715 * u * u * u))))

/* x tanh(ln(1 + e^x)) is x times n / (n + 2) with n = e^x (e^x + 2); from 20 on that is x. */
#define GATED(x, e) ((x) * ((e) * ((e) + 2) / ((e) * ((e) + 2) + 2)))
CURVES(mish, beyond(u, EXP_END), GATED(u, exp_lanes(lanes_at_most(20.f, u))), GATED(u, exp_of(u > 20 ? 20 : u)),
       GATED(u, exp(u > 20 ? 20 : u)))
#endif
