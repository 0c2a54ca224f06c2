/* Rows of numbers quantised to bytes, and back; sums and products of such; for every instruction set. */
#ifndef INTERP_HOT_QUANTIZE_H
#define INTERP_HOT_QUANTIZE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "hot/isa.h"

/* Bytes with their scale and zero point. */
typedef struct Operand {
    uint8_t *at;
    double scale;
    int zero;
    bool single;
} Operand;

/* A sum or a product of two; `late`: the result's zero point is added after rounding. */
typedef struct Pairs {
    Operand a, b, y;
    bool product, is_signed, late;
} Pairs;

typedef struct QuantizeLoops {
    /* n numbers to bytes or back. With `each` every one has a scale and a zero point of its own; zero may be NULL. */
    void (*quantise)(const float *x, const float *scale, const uint8_t *zero, bool each, bool is_signed, uint8_t *y, ptrdiff_t n);
    void (*dequantise)(const uint8_t *x, const float *scale, const uint8_t *zero, bool each, bool is_signed, float *y, ptrdiff_t n);
    /* Makes a range, which has 0 in it, hold n numbers; NaN is none. */
    void (*reach)(const float *x, ptrdiff_t n, float *least, float *most);
    /* n sums or products of bytes, each operand less its zero point and times its scale, over the result's scale. Operands that
       are `single` repeat. */
    void (*pair)(const Pairs *how, ptrdiff_t n);
    void (*lookup)(const uint8_t *x, const uint8_t *table, uint8_t *y, ptrdiff_t n);
} QuantizeLoops;

extern const QuantizeLoops quantize_baseline;
#if defined(__x86_64__)
extern const QuantizeLoops quantize_avx2;
#endif
#endif
