/* Transposed convolutions: what a call is made of, for every instruction set. */
#ifndef INTERP_HOT_TRANSPOSE_H
#define INTERP_HOT_TRANSPOSE_H
#include <stdbool.h>
#include <stddef.h>
#include "hot/isa.h"

enum { TRANSPOSE_AXES = 3 }; /* spatial ones; fewer come with leading ones of size 1 */

/* Channels are those of one group. An input at i adds the kernel's tap t to the output at i * stride + t * dilation - before. */
typedef struct Transpose {
    ptrdiff_t batch, groups, in_channels, out_channels;
    ptrdiff_t size[TRANSPOSE_AXES], kernel[TRANSPOSE_AXES], stride[TRANSPOSE_AXES], dilation[TRANSPOSE_AXES],
        before[TRANSPOSE_AXES], out[TRANSPOSE_AXES];
    ptrdiff_t pixels; /* of a product */
    bool apart;       /* every output gets one product of each input channel */
} Transpose;

typedef struct TransposeCall {
    const Transpose *how;
    ptrdiff_t channels, blocks; /* output channels of a block, and how many blocks */
    const void *x, *w, *bias; /* bias may be NULL */
    void *y;
} TransposeCall;

typedef int (*TransposeTask)(const void *call, ptrdiff_t begin, ptrdiff_t end, void *scratch);

typedef struct TransposeLoops {
    ptrdiff_t scratch;      /* bytes for each thread beside the products */
    ptrdiff_t float_pixels; /* of a product, at most; half as many of double */
    TransposeTask in_float, in_double; /* items are blocks of channels */
} TransposeLoops;

extern const TransposeLoops transpose_baseline;
#if defined(__x86_64__)
extern const TransposeLoops transpose_avx2;
#endif
#endif
