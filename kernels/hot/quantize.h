/* Rows of numbers quantised to bytes, and back, for every instruction set. */
#ifndef INTERP_HOT_QUANTIZE_H
#define INTERP_HOT_QUANTIZE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "hot/isa.h"

typedef struct QuantizeLoops {
    /* n numbers to bytes or back. With `each` every one has a scale and a zero point of its own; zero may be NULL. */
    void (*quantise)(const float *x, const float *scale, const uint8_t *zero, bool each, bool is_signed, uint8_t *y, ptrdiff_t n);
    void (*dequantise)(const uint8_t *x, const float *scale, const uint8_t *zero, bool each, bool is_signed, float *y, ptrdiff_t n);
    /* Makes a range, which has 0 in it, hold n numbers; NaN is none. */
    void (*reach)(const float *x, ptrdiff_t n, float *least, float *most);
} QuantizeLoops;

extern const QuantizeLoops quantize_baseline;
#if defined(__x86_64__)
extern const QuantizeLoops quantize_avx2;
#endif
#endif
