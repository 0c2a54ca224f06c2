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

/* The first n lanes of v, `other` in the rest. */
INLINE vec FN(first)(vec v, ptrdiff_t n, vec other) {
    for (int i = 0; i < LANES; i++)
        v[i] = i < n ? v[i] : other[i];
    return v;
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
