/* Rows of 16-bit elements to float and back, for every instruction set. */
#ifndef INTERP_HOT_STEP_H
#define INTERP_HOT_STEP_H
#include <stddef.h>
#include <stdint.h>
#include "hot/isa.h"

typedef struct StepLoops {
    const char *isa;
    void (*half_to_float)(const uint16_t *x, float *y, ptrdiff_t n);
    void (*float_to_half)(const float *x, uint16_t *y, ptrdiff_t n);
    void (*brain_to_float)(const uint16_t *x, float *y, ptrdiff_t n);
    void (*float_to_brain)(const float *x, uint16_t *y, ptrdiff_t n);
} StepLoops;

extern const StepLoops step_baseline;
#if defined(__x86_64__)
extern const StepLoops step_avx2;
#endif
#endif
