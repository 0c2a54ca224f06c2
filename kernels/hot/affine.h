/* Scale and shift by channel, and an activation: planes of one channel each, or of octets of channels. */
#ifndef INTERP_HOT_AFFINE_H
#define INTERP_HOT_AFFINE_H
#include <stddef.h>
#include "hot/isa.h"
#include "activation.h"

/* y = activated(x * scale + shift) on n elements; every eighth of them has the same scale and shift. */
typedef void (*Affine)(const float *x, float *y, ptrdiff_t n, const float scale[8], const float shift[8],
                       const Activation *activation);

typedef struct AffineLoops {
    Affine octets;
} AffineLoops;

extern const AffineLoops affine_baseline;
#if defined(__x86_64__)
extern const AffineLoops affine_avx2;
#endif
#endif
