/* The loops of roi.c in one precision: REAL, NAME, MASK (an integer as wide as REAL), BYTES, LARGER, LOWER and UPPER are set by
   it, and unset here. LARGER(a, b) is b where either is NaN; LOWER and UPPER interleave the halves of two vectors. */
#define LANES (CELL / (ptrdiff_t)sizeof(REAL))
#define ACROSS (WIDTH / (int)sizeof(REAL))

typedef REAL NAME(vector) __attribute__((vector_size(WIDTH), may_alias));
typedef MASK NAME(mask) __attribute__((vector_size(WIDTH), may_alias));

/* The channels of one block at one position, or of one bin. */
typedef struct {
    NAME(vector) part[VECTORS];
} NAME(cell);

#define PARTS _Pragma("GCC unroll 8") for (int v = 0; v < VECTORS; v++)

static inline NAME(vector) NAME(select)(NAME(mask) where, NAME(vector) a, NAME(vector) b) {
    return (NAME(vector))(((NAME(mask))a & where) | ((NAME(mask))b & ~where));
}

#ifndef LARGER
#define LARGER(a, b) NAME(select)((a) > (b), a, b)
#endif

/* The larger of two; NaN where one is. All bits set are a NaN. */
static inline NAME(vector) NAME(larger)(NAME(vector) x, NAME(vector) so_far) {
    return (NAME(vector))((NAME(mask))LARGER(x, so_far) | (NAME(mask))(x != x));
}

/* Rows of a square to columns: every round interleaves its halves. */
static inline void NAME(turn)(NAME(vector) *square) {
    for (int round = 1; round < ACROSS; round *= 2) {
        NAME(vector) from[ACROSS];
        memcpy(from, square, sizeof from);
#pragma GCC unroll 8
        for (int i = 0; i < ACROSS / 2; i++) {
            square[2 * i] = SHUFFLE(NAME(mask), from[i], from[i + ACROSS / 2], LOWER);
            square[2 * i + 1] = SHUFFLE(NAME(mask), from[i], from[i + ACROSS / 2], UPPER);
        }
    }
}

/* A matrix of `rows` rows to one of `columns` rows; rows stand so many elements apart. */
static __attribute__((noinline, noclone)) void NAME(transpose)(const REAL *x, ptrdiff_t from, ptrdiff_t rows, ptrdiff_t columns, REAL *y, ptrdiff_t to) {
    ptrdiff_t r = 0;
    for (; r + ACROSS <= rows; r += ACROSS) {
        ptrdiff_t c = 0;
        for (; c + ACROSS <= columns; c += ACROSS) {
            NAME(vector) square[ACROSS];
#pragma GCC unroll 8
            for (int i = 0; i < ACROSS; i++)
                memcpy(square + i, x + (r + i) * from + c, WIDTH);
            NAME(turn)(square);
#pragma GCC unroll 8
            for (int i = 0; i < ACROSS; i++)
                memcpy(y + (c + i) * to + r, square + i, WIDTH);
        }
        for (; c < columns; c++)
            for (int i = 0; i < ACROSS; i++)
                y[c * to + r + i] = x[(r + i) * from + c];
    }
    for (; r < rows; r++)
        for (ptrdiff_t c = 0; c < columns; c++)
            y[c * to + r] = x[r * from + c];
}

static void NAME(block)(const void *x, int type, ptrdiff_t plane, ptrdiff_t channels, Span positions, void *to) {
    REAL rows[LANES][STRIP], *cells = to;
    memset(rows, 0, sizeof rows);
    for (ptrdiff_t p = positions.begin; p < positions.end; p += STRIP) {
        ptrdiff_t n = positions.end - p < STRIP ? positions.end - p : STRIP;
        for (ptrdiff_t c = 0; c < channels; c++)
            NAME(read)((const char *)x + (c * plane + p) * BYTES(type), type, rows[c], n);
        NAME(transpose)(rows[0], STRIP, LANES, n, cells + p * LANES, LANES);
    }
}

static void NAME(most)(const void *map, ptrdiff_t width, const Span *rows, ptrdiff_t high, const Span *columns, ptrdiff_t wide,
                       double empty, void *bins) {
    const NAME(cell) *cells = map;
    NAME(cell) *out = bins;
    for (ptrdiff_t r = 0; r < high; r++)
        for (ptrdiff_t c = 0; c < wide; c++, out++) {
            Span span = columns[c];
            int any = rows[r].begin < rows[r].end && span.begin < span.end;
            NAME(vector) found[VECTORS];
            PARTS found[v] = (NAME(vector)){0} + (any ? -(REAL)INFINITY : (REAL)empty);
            for (ptrdiff_t y = rows[r].begin; y < rows[r].end; y++)
                for (ptrdiff_t x = span.begin; x < span.end; x++) {
                    const NAME(cell) *cell = cells + y * width + x;
                    PARTS found[v] = NAME(larger)(cell->part[v], found[v]);
                }
            PARTS out->part[v] = found[v];
        }
}

static void NAME(mean)(const void *map, ptrdiff_t width, const Taps *rows, ptrdiff_t high, const Taps *columns, ptrdiff_t wide,
                       double samples, void *bins) {
    const NAME(cell) *cells = map;
    NAME(cell) *out = bins;
    for (ptrdiff_t r = 0; r < high; r++)
        for (ptrdiff_t c = 0; c < wide; c++, out++) {
            const REAL *down = rows[r].weight, *across = columns[c].weight;
            NAME(vector) sum[VECTORS] = {{0}};
            for (ptrdiff_t i = 0; i < rows[r].count; i++) {
                const NAME(cell) *row = cells + rows[r].at[i] * width;
                NAME(vector) part[VECTORS] = {{0}};
                for (ptrdiff_t k = 0; k < columns[c].count; k++) {
                    const NAME(cell) *cell = row + columns[c].at[k];
                    PARTS part[v] += across[k] * cell->part[v];
                }
                PARTS sum[v] += down[i] * part[v];
            }
            PARTS out->part[v] = sum[v] / (REAL)samples;
        }
}

static void NAME(most_weighted)(const void *map, ptrdiff_t width, const Taps *rows, ptrdiff_t high, const Taps *columns,
                                ptrdiff_t wide, double empty, void *bins) {
    const NAME(cell) *cells = map;
    NAME(cell) *out = bins;
    for (ptrdiff_t r = 0; r < high; r++)
        for (ptrdiff_t c = 0; c < wide; c++, out++) {
            const Taps *down = rows + r, *across = columns + c;
            int outside = down->outside || across->outside || !down->count || !across->count;
            NAME(vector) found[VECTORS];
            PARTS found[v] = (NAME(vector)){0} + (outside ? (REAL)empty : -(REAL)INFINITY);
            for (ptrdiff_t i = 0; i < down->count; i++)
                for (ptrdiff_t k = 0; k < across->count; k++) {
                    const NAME(cell) *cell = cells + down->at[i] * width + across->at[k];
                    REAL weight = ((const REAL *)down->weight)[i] * ((const REAL *)across->weight)[k];
                    REAL least = ((const REAL *)down->least)[i] * ((const REAL *)across->least)[k];
                    PARTS found[v] = NAME(larger)(weight * cell->part[v], found[v]);
                    PARTS found[v] = NAME(larger)(least * cell->part[v], found[v]); /* the larger one of a negative value */
                }
            PARTS out->part[v] = found[v];
        }
}

static void NAME(spread)(const void *bins, ptrdiff_t n, ptrdiff_t channels, void *y, int type, ptrdiff_t plane) {
    if (type == PLAIN) {
        NAME(transpose)(bins, LANES, n, channels, y, plane);
        return;
    }
    for (ptrdiff_t i = 0; i < n; i += STRIP) {
        REAL rows[LANES][STRIP];
        ptrdiff_t strip = n - i < STRIP ? n - i : STRIP;
        NAME(transpose)((const REAL *)bins + i * LANES, LANES, strip, channels, rows[0], STRIP);
        for (ptrdiff_t c = 0; c < channels; c++)
            narrow_float((const float *)rows[c], type, (char *)y + (c * plane + i) * BYTES(type), strip);
    }
}

#undef LANES
#undef ACROSS
#undef PARTS
#undef REAL
#undef NAME
#undef MASK
#undef BYTES
#undef LARGER
#undef LOWER
#undef UPPER
