/* Deformable convolutions of float and of double. */
#include "hot/deform.h"
#include "hot/gemm.h"

#define REAL float
#include "hot/deform_real.h"
#undef REAL
#define REAL double
#include "hot/deform_real.h"
#undef REAL

const DeformLoops LOOPS(deform) = {
    (PANEL_BLOCK + 1) * DEPTH * PANEL_BYTES, PANEL_BLOCK * PANEL_BYTES / sizeof(float), float_blocks_of, double_blocks_of,
};
