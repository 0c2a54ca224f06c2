/* Planes, each folded to one element. Included once for each kind of number, after pool_fold.h. */

/* Sums are added up in blocks, and blocks in pairs: their error grows with the logarithm of a plane's length. */
enum { FN(BLOCK) = 64 * 4 * LANES };

/* One vector that holds the fold of `n` elements from `at` on in its lanes. */
INLINE vec FN(folded)(const void *x, ptrdiff_t at, ptrdiff_t n, ptrdiff_t readable, int fold, double p, int element) {
    vec sum = FN(identity)(fold), halves[8 * sizeof n];
    ptrdiff_t i = 0;
    int depth = 0;
    for (size_t blocks = 1; i + LANES <= n; blocks++) {
        ptrdiff_t stop = n - i < FN(BLOCK) ? n : i + FN(BLOCK);
        vec none = FN(identity)(fold), part[4] = {none, none, none, none};
#define TERM(k) FN(term)(FN(load)(x, at + i + (k) * LANES, element), fold, p)
        for (; i + 4 * LANES <= stop; i += 4 * LANES)
            for (int k = 0; k < 4; k++)
                part[k] = FN(two)(TERM(k), part[k], fold);
        for (; i + LANES <= stop; i += LANES)
            part[0] = FN(two)(TERM(0), part[0], fold);
#undef TERM
        vec block = FN(two)(FN(two)(part[0], part[1], fold), FN(two)(part[2], part[3], fold), fold);
        if (n <= FN(BLOCK)) {
            sum = block;
            break;
        }
        for (size_t pairs = blocks; pairs % 2 == 0; pairs /= 2)
            block = FN(two)(halves[--depth], block, fold);
        halves[depth++] = block;
    }
    while (depth)
        sum = FN(two)(halves[--depth], sum, fold);
    if (i < n) {
        vec last = at + i + LANES <= readable ? FN(load)(x, at + i, element) : FN(load_some)(x, at + i, n - i, element);
        vec rest = FN(first)(FN(term)(last, fold, p), n - i, FN(identity)(fold));
        sum = FN(two)(rest, sum, fold);
    }
    return sum;
}

INLINE int FN(whole)(const PoolCall *call, ptrdiff_t begin, ptrdiff_t end, void *scratch, int fold, int element) {
    const Pool *how = call->how;
    const void *x = call->at[0];
    ptrdiff_t readable = how->planes * how->plane, n = how->plane;
    (void)scratch;
    for (ptrdiff_t c = begin; c < end; c += LANES) {
        ptrdiff_t some = end - c < LANES ? end - c : LANES;
        vec planes[LANES];
        for (ptrdiff_t k = 0; k < LANES; k++)
            planes[k] = k < some ? FN(folded)(x, (c + k) * n, n, readable, fold, how->p, element) : FN(identity)(fold);
        vec v = FN(folded_lanes)(planes, fold);
        if (fold == MEAN)
            v /= FN(all)((REAL)n);
        FN(store_some)(call->at[1], c, FN(root)(v, fold, how->p), some, element);
    }
    return 0;
}
