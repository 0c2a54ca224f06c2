/* The epilogue of matrix products that ends in an activation, for one element type, REAL. Included once for each, after tile.h. */
#include "hot/activate.h"

/* The rows of n sums that are finished. */
static void OF(activate_rows)(const OF(Epilogue) *e, ptrdiff_t i, ptrdiff_t j, ptrdiff_t rows, ptrdiff_t n) {
    const Activation *activation = e->how;
    for (ptrdiff_t r = 0; r < rows; r++) {
        REAL *y = e->y + (i + r) * e->y_row + j, *end = y + n;
        for (; end - y >= LANES; y += LANES)
            OF(store)(y, OF(activate)(OF(load)(y), activation));
        if (y < end) {
            REAL rest[LANES] = {0};
            memcpy(rest, y, (end - y) * sizeof(REAL));
            OF(store)(rest, OF(activate)(OF(load)(rest), activation));
            memcpy(y, rest, (end - y) * sizeof(REAL));
        }
    }
}

/* Have the sums that come next, the last ones, go through an activation. */
static void OF(end_in)(OF(Epilogue) *e, const Activation *activation) {
    e->rectifies = activation->kind == ACTIVATION_RELU;
    e->then = activation->kind && !e->rectifies ? OF(activate_rows) : NULL;
    e->how = activation;
}
