/* Rows of the output of a pool. Vertical first: the rows of the input under a window are folded into a row buffer, between
   margins of the identity; then the window slides along that. Included once for each kind of number, after pool_fold.h. */

enum { FN(INVERSES) = 8 }; /* how many divisors a task has at hand */

/* Some rows of the input that are folded into a row buffer, beside what is there or as the first. */
typedef struct FN(Rows) {
    REAL *into;
    ptrdiff_t at, count;
    int first, pair;
} FN(Rows);

/* What a task knows of the rows it is at. */
typedef struct FN(Sliding) {
    const Pool *how;
    const void *x;
    void *y;
    int fold;
    REAL *rows, *row;                      /* the row buffers, `span` apart: element 0 is input column `column` */
    REAL *columns, *inverse;               /* what a mean divides by along the row, and one over divisors */
    ptrdiff_t column, from, to;            /* columns of the input in a buffer */
    ptrdiff_t count, width;                /* outputs that a buffer serves, and those of a whole row */
    ptrdiff_t readable, room;              /* where the input ends, and how far the output may be written */
    const FN(Rows) *list;                  /* the rows of a block, where no buffer is needed */
    ptrdiff_t step, next;                  /* from one row under a window to the next; how much the next windows add */
    ptrdiff_t divisors[POOL_ROWS];         /* what the other axes divide by, for each row buffer */
    ptrdiff_t inverted[FN(INVERSES)];      /* and for each row of `inverse` */
} FN(Sliding);

typedef void (*FN(Vertical))(const FN(Sliding) *s, const FN(Rows) *rows, ptrdiff_t n);
typedef void (*FN(Horizontal))(FN(Sliding) *s, ptrdiff_t at, ptrdiff_t n);

#define TERM(k) FN(term)(FN(load)(x, at + (k) * pitch + w, element), fold, p)

/* Windows three high, a row apart, share two of their rows. Even ones begin a pair and odd ones end it, and each is folded
   in the same order without the other, so that it does not matter how rows are shared among threads. */
enum { FN(ALONE), FN(EVEN), FN(ODD) };

/* Both of a pair. */
INLINE void FN(vertical_pair)(const void *x, REAL *even, REAL *odd, ptrdiff_t at, ptrdiff_t pitch, ptrdiff_t stop, int fold, double p,
                              int element) {
    for (ptrdiff_t w = 0; w < stop; w += LANES) {
        vec both = FN(two)(TERM(1), TERM(2), fold);
        FN(store)(even, w, FN(two)(TERM(0), both, fold), OWN);
        FN(store)(odd, w, FN(two)(TERM(3), both, fold), OWN);
    }
}

/* Fold rows into columns from..to of row buffers. Vectors may reach past a row into the next, whose elements the margin then
   takes the place of, but not past the input. */
INLINE void FN(vertical)(const FN(Sliding) *s, const FN(Rows) *rows, ptrdiff_t n, int fold, int element) {
    const void *x = s->x;
    double p = s->how->p;
    ptrdiff_t pitch = s->step, next = s->next, readable = s->readable, width = s->to - s->from, rest = width % LANES;
    for (const FN(Rows) *end = rows + n; rows < end; rows++) {
        REAL *row = rows->into;
        ptrdiff_t at = rows->at, count = rows->count, stop = width, w = 0;
        if (next)
            ahead(x, at + count * pitch, next, element);
        if (rest && at + (count - 1) * pitch + width - rest + LANES > readable)
            stop = width - rest;
        if (rows->pair == FN(EVEN) && rows + 1 < end && rows[1].pair == FN(ODD) && at + 3 * pitch + width + LANES <= readable) {
            FN(vertical_pair)(x, row, rows[1].into, at, pitch, width, fold, p, element);
            FN(store)(row, width, FN(identity)(fold), OWN);
            FN(store)((++rows)->into, width, FN(identity)(fold), OWN);
            continue;
        }
        if (rows->pair == FN(EVEN))
            for (; w < stop; w += LANES)
                FN(store)(row, w, FN(two)(TERM(0), FN(two)(TERM(1), TERM(2), fold), fold), OWN);
        else if (rows->pair == FN(ODD))
            for (; w < stop; w += LANES)
                FN(store)(row, w, FN(two)(TERM(2), FN(two)(TERM(0), TERM(1), fold), fold), OWN);
        else if (count == 3 && rows->first)
            for (; w < stop; w += LANES)
                FN(store)(row, w, FN(three)(TERM(0), TERM(1), TERM(2), fold), OWN);
        else if (count == 2 && rows->first)
            for (; w < stop; w += LANES)
                FN(store)(row, w, FN(two)(TERM(0), TERM(1), fold), OWN);
        else
            for (; w < stop; w += LANES) {
                ptrdiff_t k = rows->first;
                vec v = k ? TERM(0) : FN(load)(row, w, OWN);
                for (; k + 2 <= count; k += 2)
                    v = FN(three)(TERM(k), TERM(k + 1), v, fold);
                FN(store)(row, w, k < count ? FN(two)(TERM(k), v, fold) : v, OWN);
            }
        if (w < width) {
            vec v = rows->first ? FN(identity)(fold) : FN(load)(row, w, OWN);
            for (ptrdiff_t k = 0; k < count; k++)
                v = FN(two)(FN(term)(FN(load_some)(x, at + k * pitch + w, rest, element), fold, p), v, fold);
            FN(store)(row, w, v, OWN);
        }
        if (rest)
            FN(store)(row, width, FN(identity)(fold), OWN);
    }
}
#undef TERM

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
        vec a = FN(load)(b, 0, OWN), c = FN(load)(b, LANES, OWN);
        KEPT(a);
        KEPT(c);
        v = FN(evens)(a, c);
        if (kernel == 1)
            return FN(ordered)(v);
        vec w = FN(odds)(a, c);
#define EVENS(k) FN(evens)(FN(load)(b, k, OWN), FN(load)(b, (k) + LANES, OWN))
#define ODDS(k) FN(odds)(FN(load)(b, k, OWN), FN(load)(b, (k) + LANES, OWN))
        if (kernel == 2)
            return FN(ordered)(FN(two)(v, w, fold));
        if (kernel == 3)
            return FN(ordered)(FN(three)(v, w, EVENS(2), fold));
        v = FN(two)(v, w, fold);
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

/* What a mean is multiplied by along a row where the other axes divide by this. */
INLINE const REAL *FN(inverse_of)(FN(Sliding) *s, ptrdiff_t divisor) {
    ptrdiff_t slot = divisor % FN(INVERSES);
    REAL *inverse = s->inverse + slot * (s->how->tile + LANES);
    if (divisor != s->inverted[slot])
        for (ptrdiff_t k = 0; k < s->count; k++)
            inverse[k] = 1 / ((REAL)divisor * s->columns[k]);
    s->inverted[slot] = divisor;
    return inverse;
}

/* Slide along `rows` row buffers; the results are rows of the output, from `at` on. */
INLINE void FN(horizontal)(FN(Sliding) *s, ptrdiff_t at, ptrdiff_t rows, ptrdiff_t kernel, ptrdiff_t stride, ptrdiff_t dilation,
                           int fold, int element) {
    const Pool *how = s->how;
    void *y = s->y;
    int stored = fold == MAX && element == BRAIN ? CHOSEN_BRAIN : element;
    ptrdiff_t count = s->count, width = s->width, room = s->room;
    for (ptrdiff_t r = 0; r < rows; r++, at += width) {
        const REAL *row = s->row + r * how->span, *inverse = fold == MEAN ? FN(inverse_of)(s, s->divisors[r]) : NULL;
        ptrdiff_t rest = count % LANES, stop = rest && at + count - rest + LANES > room ? count - rest : count, i = 0;
#define RESULT                                                                                            \
    vec v = FN(windows)(row + i * stride, count - i, kernel, stride, dilation, fold);                     \
    v = FN(root)(fold == MEAN ? v * FN(load)(inverse, i, OWN) : v, fold, how->p);
        for (; i < stop; i += LANES) {
            RESULT
            FN(store)(y, at + i, v, stored);
        }
        if (i < count) {
            RESULT
            FN(store_some)(y, at + i, v, rest, stored);
        }
#undef RESULT
    }
}

/* Windows two wide and two apart that lie inside the input: pairs of columns, which need no row buffers. */
INLINE void FN(pairs)(FN(Sliding) *s, ptrdiff_t at, ptrdiff_t n, int fold, int element) {
    const void *x = s->x;
    void *y = s->y;
    int stored = fold == MAX && element == BRAIN ? CHOSEN_BRAIN : element;
    double p = s->how->p;
    ptrdiff_t count = s->count, pitch = s->step;
    for (ptrdiff_t r = 0; r < n; r++, at += s->width) {
        const FN(Rows) rows = s->list[r];
        const REAL *inverse = fold == MEAN ? FN(inverse_of)(s, s->divisors[r]) : NULL;
        if (s->next)
            ahead(x, rows.at + rows.count * pitch, s->next, element);
        for (ptrdiff_t i = 0; i < count; i += LANES) {
            if (i + LANES > count)
                i = count - LANES;
#define TERM(k, w) FN(term)(FN(load)(x, rows.at + 2 * i + (w) + (k) * pitch, element), fold, p)
            vec a = TERM(0, 0), b = TERM(0, LANES);
            for (ptrdiff_t k = 1; k < rows.count; k++) {
                a = FN(two)(TERM(k, 0), a, fold);
                b = FN(two)(TERM(k, LANES), b, fold);
            }
#undef TERM
            vec v = FN(ordered)(FN(two)(FN(evens)(a, b), FN(odds)(a, b), fold));
            FN(store)(y, at + i, FN(root)(fold == MEAN ? v * FN(load)(inverse, i, OWN) : v, fold, p), stored);
        }
    }
}

/* Slide along row buffers, with the kernels and strides that are common known to the compiler. */
INLINE void FN(along)(FN(Sliding) *s, ptrdiff_t at, ptrdiff_t rows, int fold, int element) {
    const PoolAxis *a = &s->how->axis[s->how->axes - 1];
    ptrdiff_t K = a->kernel, S = a->stride, D = a->dilation;
    if (D == 1 && S == 2 && K == 2)
        FN(horizontal)(s, at, rows, 2, 2, 1, fold, element);
    else if (D == 1 && S == 2 && K == 3)
        FN(horizontal)(s, at, rows, 3, 2, 1, fold, element);
    else if (D == 1 && S == 1 && K == 3)
        FN(horizontal)(s, at, rows, 3, 1, 1, fold, element);
    else if (D == 1 && S == 2)
        FN(horizontal)(s, at, rows, K, 2, 1, fold, element);
    else if (S == 1)
        FN(horizontal)(s, at, rows, K, 1, D, fold, element);
    else
        FN(horizontal)(s, at, rows, K, S, D, fold, element);
}

/* Get ready for outputs i… of each row: where the buffers lie, their margins, and the divisors along the row. */
static void FN(place)(FN(Sliding) *s, ptrdiff_t i) {
    const Pool *how = s->how;
    const PoolAxis *a = &how->axis[how->axes - 1];
    s->count = a->out - i < how->tile ? a->out - i : how->tile;
    s->column = i * a->stride - a->before;
    ptrdiff_t end = s->column + (s->count - 1) * a->stride + (a->kernel - 1) * a->dilation + 1;
    s->from = between(s->column, 0, a->size);
    s->to = between(end, s->from, a->size);
    s->row = s->rows + (s->column - s->from) % LANES + (s->from > s->column ? LANES : 0);
    for (ptrdiff_t k = 0; k < how->span * how->rows; k += LANES)
        FN(store)(s->rows, k, FN(identity)(s->fold), OWN);
    if (s->fold == MEAN)
        for (ptrdiff_t k = 0; k < s->count; k++)
            s->columns[k] = (REAL)counted(a, i + k, how->padded);
    for (int k = 0; k < FN(INVERSES); k++)
        s->inverted[k] = -1;
}

/* Fold into a row buffer what windows see at places of the outer axes. */
static void FN(fold_slab)(FN(Sliding) *s, FN(Vertical) vertical, FN(Rows) rows, const ptrdiff_t *tap, ptrdiff_t taps) {
    ptrdiff_t at = rows.at;
    if (rows.count == 0 || taps == 0)
        for (ptrdiff_t w = 0; w < s->to - s->from; w += LANES)
            FN(store)(rows.into, w, FN(identity)(s->fold), OWN);
    else
        for (ptrdiff_t k = 0; k < taps; k++) {
            rows.at = tap[k] + at, rows.first = k == 0;
            vertical(s, &rows, 1);
        }
}

/* Rows begin..end of the output, all rows of all slabs of all planes in one line: a few rows are folded, then the window
   slides along them, which is long enough after for the buffers to be read without waiting for the writes. */
static int FN(slide)(const PoolCall *call, ptrdiff_t begin, ptrdiff_t end, void *scratch, int fold, FN(Vertical) vertical,
                     FN(Horizontal) along, FN(Horizontal) pairs) {
    const Pool *how = call->how;
    const PoolAxis high = how->axis[how->axes - 2], wide = how->axis[how->axes - 1];
    ptrdiff_t *tap = scratch, tile = how->tile, span = how->span, padded = how->padded;
    int pairs_of_three = high.kernel == 3 && high.stride == high.dilation;
    FN(Rows) list[POOL_ROWS];
    FN(Sliding) s = {.how = how, .x = call->at[0], .y = call->at[1], .fold = fold, .readable = how->planes * how->plane,
                     .width = wide.out, .step = high.dilation * high.pitch};
    s.next = s.readable * (ptrdiff_t)sizeof(REAL) > FAR ? high.stride * high.pitch : 0;
    s.rows = (REAL *)((char *)scratch + aligned(how->taps * (ptrdiff_t)sizeof *tap));
    s.columns = s.rows + span * how->rows;
    s.inverse = s.columns + tile;
    for (ptrdiff_t i = 0; i < wide.out; i += tile) {
        ptrdiff_t n = begin / high.out, o = begin % high.out;
        Slab slab = slab_of(how, n, tap, NULL);
        FN(place)(&s, i);
        s.room = tile < wide.out ? 0 : end * wide.out;
        int paired = wide.kernel == 2 && wide.stride == 2 && wide.dilation == 1 && s.count >= LANES && s.column >= 0
                     && s.column + 2 * s.count <= wide.size;
        REAL *first = s.row + (s.from - s.column);
        for (ptrdiff_t r = begin, rows; r < end; r += rows) {
            rows = end - r < how->rows ? end - r : how->rows;
            FN(Rows) *next = list;
            for (ptrdiff_t k = 0; k < rows; k++, o++) {
                if (o == high.out)
                    slab = slab_of(how, ++n, tap, NULL), o = 0;
                Taps t = inside(&high, o);
                *next = (FN(Rows)){first + k * span, tap[0] + t.start * high.pitch + s.from, t.end - t.begin, 1, FN(ALONE)};
                if (pairs_of_three && next->count == 3)
                    next->pair = o % 2 ? FN(ODD) : FN(EVEN);
                if (fold == MEAN)
                    s.divisors[k] = slab.counted * (padded ? counted(&high, o, 1) : next->count);
                if (slab.taps == 1 && next->count)
                    next++;
                else
                    FN(fold_slab)(&s, vertical, (FN(Rows)){next->into, next->at - tap[0], next->count, 1, FN(ALONE)}, tap, slab.taps);
            }
            s.list = list;
            if (paired && next == list + rows)
                pairs(&s, r * wide.out + i, rows);
            else {
                vertical(&s, list, next - list);
                along(&s, r * wide.out + i, rows);
            }
        }
    }
    return 0;
}
