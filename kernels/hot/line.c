/* Convolutions along one axis, of float: by few places, and by Winograd's tiles. */
#include "hot/line.h"
#include <string.h>
#include "hot/octet.h"
#include "hot/shuffle.h"
#include "hot/pieces.h"

#define REAL float
#include "hot/vector.h"
#include "hot/activate.h"

/* `v` has room for a whole vector after the last of its elements. */
static void activate_line(const Activation *how, float *v, ptrdiff_t n) {
    if (how->kind != ACTIVATION_NONE)
        for (ptrdiff_t l = 0; l < n; l += LANES)
            float_store(v + l, float_activate(float_load(v + l), how));
}

#include "hot/line_few.h"
#include "hot/line_tiles.h"

const LineLoops LOOPS(line) = {
    {few_size, pack_few, few_scratch, cut_few, few_items},
    {tiles_size, pack_tiles, tiles_scratch, cut_tiles, tiles_items},
};
