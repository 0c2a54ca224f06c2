/* Matrix products of float and of double. */
#include "hot/gemm.h"

#define REAL float
#include "hot/gemm_real.h"
#undef REAL
#define REAL double
#include "hot/gemm_real.h"
#undef REAL

/* How many panels an item has: as many as the cache, or fewer, so that threads share columns rather than rows, each of which
   would read all of b. */
static ptrdiff_t panels_at_once(const Product *how, ptrdiff_t columns, size_t size, int threads) {
    if (in_streams(how, size))
        return 1 + lesser(STREAM_BLOCK, how->n / threads) / columns;
    ptrdiff_t each = threads > 1 ? how->batch * pieces(how->n, columns) / (4 * threads) : PANEL_BLOCK;
    return each < GEMV_PANELS ? GEMV_PANELS : lesser(each, PANEL_BLOCK);
}

static void cut(ProductCall *call, size_t size, int threads) {
    const Product *how = call->how;
    ptrdiff_t columns = PANEL_BYTES / (ptrdiff_t)size;
    call->columns = columns * even_piece(pieces(how->n, columns), panels_at_once(how, columns, size, threads));
    call->column_blocks = pieces(how->n, call->columns);
    call->rows = row_share(how->m, how->batch * call->column_blocks, threads);
    call->row_blocks = pieces(how->m, call->rows);
    call->count = how->batch * call->column_blocks * call->row_blocks;
    call->cost = nanoseconds(call->rows * lesser(call->columns, how->n), how->k, size);
}

const GemmLoops LOOPS(gemm) = {
    PANEL_BYTES / sizeof(float), PANEL_BYTES / sizeof(double), (PANEL_BLOCK + 1) * DEPTH * PANEL_BYTES,
    float_pack, double_pack, cut, float_pieces, double_pieces,
};
