/* How loops are cut into pieces. */
#ifndef INTERP_HOT_PIECES_H
#define INTERP_HOT_PIECES_H
#include <stddef.h>

static inline ptrdiff_t lesser(ptrdiff_t a, ptrdiff_t b) {
    return a < b ? a : b;
}

static inline ptrdiff_t pieces(ptrdiff_t whole, ptrdiff_t most) {
    return most == 1 ? whole : most ? (whole + most - 1) / most : 0; /* divisions are slow, and 1 is common */
}

/* The length of the pieces of `whole`, as equal as they can be, none longer than `most`. */
static inline ptrdiff_t even_piece(ptrdiff_t whole, ptrdiff_t most) {
    return whole > most ? pieces(whole, pieces(whole, most)) : whole;
}
#endif
