/* The exponential and the logistic function for double. */
#ifndef INTERP_HOT_EXPONENTIAL_WIDE_H
#define INTERP_HOT_EXPONENTIAL_WIDE_H
#include <math.h>
#include <stdint.h>
#include <string.h>

/* e^x within a few units in the last place, as a polynomial that compilers turn into vectors. */
static inline double exponential(double x) {
    const double magic = 6755399441055744.0; /* adding it rounds to a whole number */
    double c = x < -708.0 ? -708.0 : x, shifted, n, r, p, power;
    int64_t bits, whole;
    c = c > 709.0 ? 709.0 : c;
    shifted = c * 1.4426950408889634 + magic;
    n = shifted - magic;
    r = c - n * 0.693147180369123816490;
    r = r - n * 1.90821492927058770002e-10;
    p = 1.0 / 479001600;
    p = p * r + 1.0 / 39916800;
    p = p * r + 1.0 / 3628800;
    p = p * r + 1.0 / 362880;
    p = p * r + 1.0 / 40320;
    p = p * r + 1.0 / 5040;
    p = p * r + 1.0 / 720;
    p = p * r + 1.0 / 120;
    p = p * r + 1.0 / 24;
    p = p * r + 1.0 / 6;
    p = p * r + 0.5;
    p = p * (r * r) + r + 1;
    memcpy(&whole, &shifted, 8);
    memcpy(&bits, &magic, 8);
    bits = (int64_t)((uint64_t)(whole - bits + 1023) << 52);
    memcpy(&power, &bits, 8);
    p = x < -708.0 ? 0 : p * power;
    return x > 709.0 ? INFINITY : p;
}

static inline double logistic(double x) {
    double e = exponential(-fabs(x));
    return (x < 0 ? e : 1) / (1 + e);
}

#endif
