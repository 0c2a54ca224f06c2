/* Scale and shift by channel: the loop of affine.h. */
#include <string.h>
#include "hot/affine.h"

#define REAL float
#include "hot/vector.h"
#include "hot/activate.h"

enum { OCTET = 8, PARTS = OCTET * sizeof(float) / VECTOR };

ALWAYS void octet(const float *x, float *y, const float_vector *scale, const float_vector *shift, const Activation *activation) {
    for (int p = 0; p < (int)PARTS; p++)
        float_store(y + p * LANES, float_activate(float_load(x + p * LANES) * scale[p] + shift[p], activation));
}

ALWAYS void affine(const float *x, float *y, ptrdiff_t n, const float *scale_, const float *shift_,
                   const Activation *activation) {
    float_vector scale[PARTS], shift[PARTS];
    ptrdiff_t i = 0;
    for (int p = 0; p < (int)PARTS; p++)
        scale[p] = float_load(scale_ + p * LANES), shift[p] = float_load(shift_ + p * LANES);
    for (; i + 2 * OCTET <= n; i += 2 * OCTET) {
        octet(x + i, y + i, scale, shift, activation);
        octet(x + i + OCTET, y + i + OCTET, scale, shift, activation);
    }
    for (; i < n; i += OCTET) {
        float room[OCTET] = {0};
        size_t bytes = (size_t)(n - i < OCTET ? n - i : OCTET) * sizeof(float);
        memcpy(room, x + i, bytes);
        octet(room, room, scale, shift, activation);
        memcpy(y + i, room, bytes);
    }
}

static void octets(const float *x, float *y, ptrdiff_t n, const float scale[8], const float shift[8],
                   const Activation *activation) {
    switch (activation->kind) {
    case ACTIVATION_NONE: affine(x, y, n, scale, shift, &(Activation){ACTIVATION_NONE, 0, 0}); break;
    case ACTIVATION_RELU: affine(x, y, n, scale, shift, &(Activation){ACTIVATION_RELU, 0, 0}); break;
    case ACTIVATION_SWISH: affine(x, y, n, scale, shift, &(Activation){ACTIVATION_SWISH, activation->alpha, 0}); break;
    default: affine(x, y, n, scale, shift, activation);
    }
}

const AffineLoops LOOPS(affine) = {octets};
