/* Matrix products of float and of double. */
#include "hot/gemm.h"

#define REAL float
#include "hot/gemm_real.h"
#undef REAL
#define REAL double
#include "hot/gemm_real.h"
#undef REAL

static void cut(ProductCall *call, size_t size, int threads) {
    const Product *how = call->how;
    ptrdiff_t columns = PANEL_BYTES / (ptrdiff_t)size;
    ptrdiff_t most = in_streams(how, size) ? lesser(STREAM_BLOCK, 1 + how->n / threads) / columns : PANEL_BLOCK;
    call->columns = columns * even_piece(pieces(how->n, columns), most > 0 ? most : 1);
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
