/* The largest element of every window and where it is: the first of equals, the first NaN where there is one.
   Included once for each kind of number, after pool_fold.h. */

/* Look at one tap of `count` windows: elements `stride` apart, whose indices begin at `where` and grow by `step`. */
INLINE void FN(look)(const REAL *x, ptrdiff_t stride, REAL *best, int64_t *index, ptrdiff_t count, int64_t where, int64_t step) {
    for (ptrdiff_t i = 0; i < count; i++) {
        REAL v = x[i * stride], b = best[i];
        /* A NaN is larger than any number, and nothing than a NaN; a window that has seen nothing takes even the lowest. */
        int larger = (index[i] < 0) | (!(v <= b) & (b == b));
        best[i] = larger ? v : b;
        index[i] = larger ? where + i * step : index[i];
    }
}

/* A row of the input as numbers: where it lies, or widened into `room`. */
INLINE const REAL *FN(numbers)(const void *x, ptrdiff_t at, ptrdiff_t n, REAL *room, int element) {
    if (element == OWN)
        return (const REAL *)x + at;
    for (ptrdiff_t i = 0; i < n; i++)
        room[i] = FN(get)(x, at + i, element);
    return room;
}

INLINE int FN(indices)(const PoolCall *call, ptrdiff_t begin, ptrdiff_t end, void *scratch, int element) {
    const Pool *how = call->how;
    const PoolAxis *high = &how->axis[how->axes - 2], *wide = high + 1;
    ptrdiff_t *tap = scratch, *mark = tap + how->taps, n = wide->out;
    REAL *best = (REAL *)((char *)scratch + aligned(2 * how->taps * (ptrdiff_t)sizeof *tap)), *room = best + n;
    Slab slab = {0};
    for (ptrdiff_t r = begin; r < end; r++) {
        int64_t *index = (int64_t *)call->at[2] + r * n;
        if (r == begin || r % high->out == 0)
            slab = slab_of(how, r / high->out, tap, mark);
        for (ptrdiff_t i = 0; i < n; i++)
            best[i] = FN(LOWEST), index[i] = -1;
        Taps t = inside(high, r % high->out);
        for (ptrdiff_t k = 0; k < slab.taps * (t.end - t.begin); k++) {
            ptrdiff_t place = k / (t.end - t.begin), h = t.start + k % (t.end - t.begin) * high->dilation;
            const REAL *row = FN(numbers)(call->at[0], tap[place] + h * high->pitch, wide->size, room, element);
            for (ptrdiff_t j = 0; j < wide->kernel; j++) {
                ptrdiff_t at = j * wide->dilation - wide->before, S = wide->stride;
                ptrdiff_t first = at < 0 ? (-at + S - 1) / S : 0, last = between(at < wide->size ? (wide->size - 1 - at) / S + 1 : 0, 0, n);
                if (first < last)
                    FN(look)(row + at + first * S, S, best + first, index + first, last - first,
                             mark[place] + h * high->mark + (at + first * S) * wide->mark, S * wide->mark);
            }
        }
        for (ptrdiff_t i = 0; i < n; i++)
            FN(put)(call->at[1], r * n + i, best[i], element);
    }
    return 0;
}
