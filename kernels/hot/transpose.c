/* Transposed convolutions of float and of double. */
#include "hot/gemm.h"
#include "hot/transpose.h"

#define REAL float
#include "hot/transpose_real.h"
#undef REAL
#define REAL double
#include "hot/transpose_real.h"
#undef REAL

const TransposeLoops LOOPS(transpose) = {
    (PANEL_BLOCK + 1) * DEPTH * PANEL_BYTES, PANEL_BLOCK * PANEL_BYTES / sizeof(float), float_channel_blocks,
    double_channel_blocks,
};
