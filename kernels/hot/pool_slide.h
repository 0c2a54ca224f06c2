/* Rows of the output of a pool. Vertical first: the rows of the input under a window are folded into one, between margins
   of the identity; then the window slides along that. Included once for each kind of number, after pool_fold.h. */

/* What a task knows of the row it is at. */
typedef struct FN(Sliding) {
    const Pool *how;
    const void *x;
    void *y;
    REAL *row;               /* the row buffer: its element 0 is input column `column` */
    REAL *inverse, *columns; /* one over what a mean divides by, and its part along the row */
    ptrdiff_t column, from, to, count; /* columns of the input in the buffer; outputs that it serves */
    ptrdiff_t readable, room;          /* where the input ends, and how far the output may be written */
    ptrdiff_t divisor;                 /* of the other axes, as `inverse` has it */
} FN(Sliding);

/* Fold `count` rows, `pitch` apart, into columns from..to of the row buffer, beside what is there or as the first. */
INLINE void FN(vertical)(const FN(Sliding) *s, ptrdiff_t at, ptrdiff_t pitch, ptrdiff_t count, int first, int fold, int element) {
    const void *x = s->x;
    double p = s->how->p;
    ptrdiff_t width = s->to - s->from, w = 0;
    REAL *row = s->row + (s->from - s->column);
#define TERM(k) FN(term)(FN(load)(x, at + (k) * pitch + w, element), fold, p)
    if (count == 3 && first)
        for (; w + LANES <= width; w += LANES)
            FN(store)(row, w, FN(three)(TERM(0), TERM(1), TERM(2), fold), OWN);
    else if (count == 2 && first)
        for (; w + LANES <= width; w += LANES)
            FN(store)(row, w, FN(two)(TERM(0), TERM(1), fold), OWN);
    else
        for (; w + LANES <= width; w += LANES) {
            ptrdiff_t k = !!first;
            vec v = first ? TERM(0) : FN(load)(row, w, OWN);
            for (; k + 2 <= count; k += 2)
                v = FN(three)(TERM(k), TERM(k + 1), v, fold);
            FN(store)(row, w, k < count ? FN(two)(TERM(k), v, fold) : v, OWN);
        }
#undef TERM
    if (w == width)
        return;
    vec v = first ? FN(identity)(fold) : FN(load)(row, w, OWN);
    for (ptrdiff_t k = 0; k < count; k++) {
        ptrdiff_t i = at + k * pitch + w;
        vec u = i + LANES <= s->readable ? FN(load)(x, i, element) : FN(load_some)(x, i, width - w, element);
        u = FN(term)(u, fold, p);
        v = first && k == 0 ? u : FN(two)(u, v, fold);
    }
    FN(store)(row, w, v, OWN);
    FN(store)(row, width, FN(identity)(fold), OWN);
}

/* The windows that begin at b, one `stride` after the other. */
INLINE vec FN(windows)(const REAL *b, ptrdiff_t n, ptrdiff_t kernel, ptrdiff_t stride, ptrdiff_t dilation, int fold) {
    vec v;
    ptrdiff_t k;
    if (stride == 1) {
#define AT(k) FN(load)(b, (k) * dilation, OWN)
        if (kernel == 2)
            return FN(two)(AT(0), AT(1), fold);
        if (kernel == 3)
            return FN(three)(AT(0), AT(1), AT(2), fold);
        v = AT(0);
        for (k = 1; k + 2 <= kernel; k += 2)
            v = FN(three)(AT(k), AT(k + 1), v, fold);
        return k < kernel ? FN(two)(AT(k), v, fold) : v;
#undef AT
    }
    if (stride == 2 && dilation == 1) {
#define EVENS(k) FN(evens)(FN(load)(b, k, OWN), FN(load)(b, (k) + LANES, OWN))
#define ODDS(k) FN(odds)(FN(load)(b, k, OWN), FN(load)(b, (k) + LANES, OWN))
        if (kernel == 1)
            return FN(ordered)(EVENS(0));
        if (kernel == 2)
            return FN(ordered)(FN(two)(EVENS(0), ODDS(0), fold));
        if (kernel == 3)
            return FN(ordered)(FN(three)(EVENS(0), ODDS(0), EVENS(2), fold));
        v = FN(two)(EVENS(0), ODDS(0), fold);
        for (k = 2; k + 2 <= kernel; k += 2)
            v = FN(three)(EVENS(k), ODDS(k), v, fold);
        return FN(ordered)(k < kernel ? FN(two)(EVENS(k), v, fold) : v);
#undef EVENS
#undef ODDS
    }
    v = FN(identity)(fold);
    for (k = 0; k < kernel; k++) {
        vec u = v;
        for (ptrdiff_t i = 0; i < LANES && i < n; i++)
            u[i] = b[i * stride + k * dilation];
        v = FN(two)(u, v, fold);
    }
    return v;
}

/* Slide along the row buffer; the results are row `at` of the output. */
INLINE void FN(horizontal)(const FN(Sliding) *s, ptrdiff_t at, ptrdiff_t kernel, ptrdiff_t stride, ptrdiff_t dilation, int fold,
                           int element) {
    for (ptrdiff_t i = 0; i < s->count; i += LANES) {
        vec v = FN(windows)(s->row + i * stride, s->count - i, kernel, stride, dilation, fold);
        if (fold == MEAN)
            v *= FN(load)(s->inverse, i, OWN);
        v = FN(root)(v, fold, s->how->p);
        if (at + i + LANES <= s->room || i + LANES <= s->count)
            FN(store)(s->y, at + i, v, element);
        else
            FN(store_some)(s->y, at + i, v, s->count - i, element);
    }
}

/* Get ready for outputs i… of each row: where the buffer lies, its margins, and the divisors along the row. */
INLINE void FN(place)(FN(Sliding) *s, ptrdiff_t i, int fold) {
    const Pool *how = s->how;
    const PoolAxis *a = &how->axis[how->axes - 1];
    s->count = a->out - i < how->tile ? a->out - i : how->tile;
    s->column = i * a->stride - a->before;
    ptrdiff_t end = s->column + (s->count - 1) * a->stride + (a->kernel - 1) * a->dilation + 1;
    s->from = between(s->column, 0, a->size);
    s->to = between(end, s->from, a->size);
    for (ptrdiff_t k = 0; k < how->span; k += LANES)
        FN(store)(s->row, k, FN(identity)(fold), OWN);
    if (fold == MEAN)
        for (ptrdiff_t k = 0; k < s->count; k++)
            s->columns[k] = (REAL)counted(a, i + k, how->padded);
    s->divisor = -1;
}

/* Rows begin..end of the output, all rows of all slabs of all planes in one line. */
INLINE int FN(slide)(const PoolCall *call, ptrdiff_t begin, ptrdiff_t end, void *scratch, int fold, int element) {
    const Pool *how = call->how;
    const PoolAxis *high = &how->axis[how->axes - 2], *wide = high + 1;
    ptrdiff_t *tap = scratch;
    FN(Sliding) s = {.how = how, .x = call->at[0], .y = call->at[1], .readable = how->planes * how->plane};
    s.row = (REAL *)((char *)scratch + aligned(how->taps * (ptrdiff_t)sizeof *tap));
    s.columns = s.row + how->span;
    s.inverse = s.columns + how->tile + LANES;
    for (ptrdiff_t i = 0; i < wide->out; i += how->tile) {
        FN(place)(&s, i, fold);
        s.room = how->tile < wide->out ? 0 : end * wide->out;
        Slab slab = {0};
        for (ptrdiff_t r = begin; r < end; r++) {
            ptrdiff_t o = r % high->out;
            if (r == begin || o == 0)
                slab = slab_of(how, r / high->out, tap, NULL);
            Taps t = inside(high, o);
            if (t.begin == t.end || slab.taps == 0)
                for (ptrdiff_t w = 0; w < s.to - s.from; w += LANES)
                    FN(store)(s.row + (s.from - s.column), w, FN(identity)(fold), OWN);
            else
                for (ptrdiff_t k = 0; k < slab.taps; k++)
                    FN(vertical)(&s, tap[k] + t.start * high->pitch + s.from, high->dilation * high->pitch, t.end - t.begin, k == 0,
                                 fold, element);
            if (fold == MEAN) {
                ptrdiff_t divisor = slab.counted * counted(high, o, how->padded);
                if (divisor != s.divisor)
                    for (ptrdiff_t k = 0; k < s.count; k++)
                        s.inverse[k] = 1 / ((REAL)divisor * s.columns[k]);
                s.divisor = divisor;
            }
            ptrdiff_t at = r * wide->out + i, K = wide->kernel, S = wide->stride, D = wide->dilation;
            if (D == 1 && S == 2 && K == 2)
                FN(horizontal)(&s, at, 2, 2, 1, fold, element);
            else if (D == 1 && S == 2 && K == 3)
                FN(horizontal)(&s, at, 3, 2, 1, fold, element);
            else if (D == 1 && S == 1 && K == 3)
                FN(horizontal)(&s, at, 3, 1, 1, fold, element);
            else if (D == 1 && S == 2)
                FN(horizontal)(&s, at, K, 2, 1, fold, element);
            else if (S == 1)
                FN(horizontal)(&s, at, K, 1, D, fold, element);
            else
                FN(horizontal)(&s, at, K, S, D, fold, element);
        }
    }
    return 0;
}
