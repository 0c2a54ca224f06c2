/* What each fold does to an element, to two of them and to the result. Included once for each kind of number, REAL. */


INLINE vec FN(identity)(int fold) {
    return FN(all)(fold == MAX ? FN(LOWEST) : 0);
}

/* An element as it is folded. */
INLINE vec FN(term)(vec x, int fold, double p) {
#if REAL_IS_FLOATING
    vec a = (vec)((bits)x & ((bits){0} - 1) >> 1);
    switch (fold) {
    case NORM1: return a;
    case NORM2: return x * x;
    case NORM3: return a * (x * x);
    case NORM:
        for (int i = 0; i < LANES; i++)
            a[i] = (REAL)pow(a[i], p);
        return a;
    }
#endif
    return x;
}

INLINE vec FN(two)(vec a, vec b, int fold) {
    return fold == MAX ? FN(larger)(a, b) : a + b;
}

INLINE vec FN(three)(vec a, vec b, vec c, int fold) {
    return fold == MAX ? FN(largest)(a, b, c) : a + b + c;
}

/* The first n lanes of v, those of `other` in the rest. */
INLINE vec FN(first)(vec v, ptrdiff_t n, vec other) {
    bits keep;
    memcpy(&keep, first_bytes + WIDTH - n * (ptrdiff_t)sizeof(REAL), sizeof keep);
    return (vec)(((bits)v & keep) | ((bits)other & ~keep));
}

/* The lanes of each of LANES vectors folded to one. */
INLINE vec FN(folded_lanes)(vec *v, int fold) {
    int n = LANES;
#if defined(__AVX2__)
    for (; n > 2; n /= 2)
#else
    for (; n > 1; n /= 2)
#endif
        for (int i = 0; i < n / 2; i++)
            v[i] = FN(two)(FN(evens)(v[2 * i], v[2 * i + 1]), FN(odds)(v[2 * i], v[2 * i + 1]), fold);
#if defined(__AVX2__)
    v[0] = FN(two)(FN(lows)(v[0], v[1]), FN(highs)(v[0], v[1]), fold);
#endif
    return v[0];
}

/* The sum of powers as a norm. */
INLINE vec FN(root)(vec s, int fold, double p) {
#if REAL_IS_FLOATING
    switch (fold) {
    case NORM2: return FN(square_root)(s);
    case NORM3: return FN(cube_root)(s);
    case NORM:
        for (int i = 0; i < LANES; i++)
            s[i] = (REAL)pow(s[i], 1 / p);
    }
#endif
    return s;
}
