/* Where windows lie: the taps of one along an axis that are inside the input, and the places of the outer axes that it sees. */
#ifndef INTERP_HOT_POOL_AXES_H
#define INTERP_HOT_POOL_AXES_H
#include "hot/pool_lanes.h"

static inline ptrdiff_t between(ptrdiff_t v, ptrdiff_t low, ptrdiff_t high) {
    return v < low ? low : v > high ? high : v;
}

/* Bytes that keep what follows in cache lines of its own. */
static inline ptrdiff_t aligned(ptrdiff_t bytes) {
    return (bytes + 63) / 64 * 64;
}

/* The taps begin..end of a window and the coordinate of the first of them. */
typedef struct Taps {
    ptrdiff_t begin, end, start;
} Taps;

/* How many steps reach this far. */
static inline ptrdiff_t steps(ptrdiff_t far, ptrdiff_t step) {
    return step == 1 ? far : (far + step - 1) / step;
}

/* Those of window `o` whose coordinate is in low..high. */
static inline Taps taps_in(const PoolAxis *a, ptrdiff_t o, ptrdiff_t low, ptrdiff_t high) {
    ptrdiff_t at = o * a->stride - a->before, reach = at + (a->kernel - 1) * a->dilation;
    Taps t = {0, a->kernel, at};
    if (at < low) {
        t.begin = steps(low - at, a->dilation);
        t.begin = t.begin < a->kernel ? t.begin : a->kernel;
        t.start = at + t.begin * a->dilation;
    }
    if (reach >= high)
        t.end = between(high > at ? steps(high - at, a->dilation) : 0, t.begin, a->kernel);
    return t;
}

static inline Taps inside(const PoolAxis *a, ptrdiff_t o) {
    return taps_in(a, o, 0, a->size);
}

/* How many taps of window `o` a mean divides by: never what ceil_mode adds beyond the declared padding. */
static inline ptrdiff_t counted(const PoolAxis *a, ptrdiff_t o, int padded) {
    Taps t = padded ? taps_in(a, o, -a->before, a->size + a->after) : inside(a, o);
    return t.end - t.begin;
}

/* How many places of the outer axes the windows of a slab see, and how many of them a mean divides by. */
typedef struct Slab {
    ptrdiff_t taps, counted;
} Slab;

/* Slab `n` of all planes: where its places begin in the input, and (unless NULL) what each counts in an index. */
static inline Slab slab_of(const Pool *how, ptrdiff_t n, ptrdiff_t *tap, ptrdiff_t *mark) {
    ptrdiff_t outer = n % how->slabs, left = how->slabs;
    Slab slab = {1, 1};
    tap[0] = n / how->slabs * how->plane;
    if (mark)
        mark[0] = tap[0];
    for (const PoolAxis *a = how->axis; a < how->axis + how->axes - 2; a++) {
        left /= a->out;
        ptrdiff_t o = outer / left % a->out;
        Taps t = inside(a, o);
        ptrdiff_t many = t.end - t.begin;
        for (ptrdiff_t i = slab.taps - 1; i >= 0; i--) {
            ptrdiff_t from = tap[i], marked = mark ? mark[i] : 0;
            for (ptrdiff_t k = many - 1; k >= 0; k--) {
                tap[i * many + k] = from + (t.start + k * a->dilation) * a->pitch;
                if (mark)
                    mark[i * many + k] = marked + (t.start + k * a->dilation) * a->mark;
            }
        }
        slab.taps *= many;
        slab.counted *= counted(a, o, how->padded);
    }
    return slab;
}

enum { FAR = 4 << 20 }; /* an input of more bytes is not at hand */

/* Fetch the elements that the next rows will need while these are being folded: the processor does not guess short rows. */
INLINE void ahead(const void *x, ptrdiff_t at, ptrdiff_t count, int element) {
    ptrdiff_t bytes = between(count * size_of[element], 0, 4096);
    for (ptrdiff_t b = 0; b < bytes; b += 64)
        __builtin_prefetch((const char *)x + at * size_of[element] + b);
}
#endif
