/* A product in which columns that were just made take part, for one element type, REAL. Included once for each. */
#include "hot/product.h"

/* a b plus what the epilogue adds: a of m x k by strides, b of k rows of n elements, at most PANEL_BLOCK panels of them. */
static void OF(multiplied)(const REAL *a, ptrdiff_t a_row, ptrdiff_t a_column, const REAL *b, ptrdiff_t b_row, ptrdiff_t m,
                           ptrdiff_t n, ptrdiff_t k, OF(Epilogue) e, void *scratch) {
    Product how = {.b_row = b_row, .b_column = 1};
    ptrdiff_t most = even_piece(k, DEPTH), at = 0;
    do {
        ptrdiff_t depth = lesser(most, k - at);
        OF(Factor) left = {a + at * a_column, ROWS * a_row, a_row, a_column};
        OF(part_unpacked)(&how, b + at * b_row, &left, m, n, depth, &e, scratch);
        e.first = false;
        at += depth;
    } while (at < k);
}
