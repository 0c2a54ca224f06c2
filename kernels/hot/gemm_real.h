/* Products of a batch in blocks that threads share, for one element type, REAL. Included once for each. */
#include "hot/product.h"
#include "hot/few_rows.h"
#include "hot/activate_rows.h"

/* A block of the result, of one of the batch: chains of at most DEPTH products, added up in y. */
static void OF(piece)(const ProductCall *call, ptrdiff_t batch, ptrdiff_t i, ptrdiff_t j, ptrdiff_t rows, ptrdiff_t columns,
                      void *scratch) {
    const Product *how = call->how;
    const REAL *a = (const REAL *)call->a + how->a_at[batch] + i * how->a_row;
    ptrdiff_t from = batch * how->m * how->n;
    OF(Epilogue) all = {(REAL *)call->y + from, how->n, call->c, how->c_row, how->c_column, (REAL)how->alpha, (REAL)how->beta,
                        true, call->residual ? (const REAL *)call->residual + from : NULL, NULL, NULL};
    Activation activation = {how->activation, how->act_alpha, how->act_beta};
    OF(Epilogue) e = OF(from)(&all, i, j);
    bool streams = in_streams(how, sizeof(REAL)), dots = by_dots(how);
    ptrdiff_t most = even_piece(how->k, streams ? how->k : dots ? DEPTH * LANES : DEPTH), k = 0;
    do {
        ptrdiff_t depth = lesser(most, how->k - k);
        OF(Factor) left = {a + k * how->a_column, ROWS * how->a_row, how->a_row, how->a_column};
        if (k + depth == how->k)
            OF(end_in)(&e, &activation);
        if (how->panels) {
            const REAL *panels = (const REAL *)how->panels + how->b_at[batch] + j * how->k;
            OF(Factor) right = {panels + k * COLUMNS, how->k * COLUMNS, 1, COLUMNS};
            OF(part)(&left, &right, rows, columns, depth, &e);
        } else {
            const REAL *b = (const REAL *)call->b + how->b_at[batch] + k * how->b_row + j * how->b_column;
            if (streams)
                OF(stream)(left.at, left.along, b, how->b_row, depth, columns, &e, scratch);
            else if (dots)
                OF(dotted)(left.at, left.cross, b, how->b_column, rows, columns, depth, &e);
            else
                OF(part_unpacked)(how, b, &left, rows, columns, depth, &e, scratch);
        }
        e.first = false;
        k += depth;
    } while (k < how->k);
}

static int OF(pieces)(const void *args, ptrdiff_t begin, ptrdiff_t end, void *scratch) {
    const ProductCall *call = args;
    const Product *how = call->how;
    for (ptrdiff_t item = begin; item < end; item++) {
        ptrdiff_t i = item % call->row_blocks * call->rows, rest = item / call->row_blocks;
        ptrdiff_t j = rest % call->column_blocks * call->columns;
        OF(piece)(call, rest / call->column_blocks, i, j, lesser(call->rows, how->m - i), lesser(call->columns, how->n - j),
                  scratch);
    }
    return 0;
}
