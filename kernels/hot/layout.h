/* Moving elements without looking at them, for every instruction set: by the bytes that one has. */
#ifndef INTERP_HOT_LAYOUT_H
#define INTERP_HOT_LAYOUT_H
#include <stddef.h>
#include "hot/isa.h"

/* Lines of elements: steps in bytes along the line, and for tiles `across` elements a line beside each other in the result,
   `read_across` apart in the source. */
typedef struct Lines {
    ptrdiff_t read, write, across, read_across;
} Lines;

/* n elements, or lines of a tile, from x to y. */
typedef void (*Mover)(const char *x, char *y, ptrdiff_t n, const Lines *how);
/* Rows of `bytes` bytes that the indices first..last name; -1, or the position of the first index that is out of range. */
typedef ptrdiff_t (*Gatherer)(const char *x, const void *index, char *y, ptrdiff_t first, ptrdiff_t last, ptrdiff_t size,
                              ptrdiff_t bytes);

enum { WIDTHS = 5 }; /* elements of 1, 2, 4, 8 and 16 bytes */

typedef struct LayoutLoops {
    Mover solid; /* bytes that lie side by side in both */
    Mover strided[WIDTHS];
    Mover tiled[WIDTHS];
    Gatherer gathered[2]; /* by indices of 4 and of 8 bytes */
} LayoutLoops;

extern const LayoutLoops layout_baseline;
#if defined(__x86_64__)
extern const LayoutLoops layout_avx2;
#endif
#endif
