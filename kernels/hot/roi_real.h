/* The loops of roi.c in one precision: REAL, NAME, MASK (an integer as wide as REAL), BYTES and LARGER are set by it, and
   unset here. LARGER(a, b) is b where either is NaN. */
#define LANES (CELL / (ptrdiff_t)sizeof(REAL))

typedef REAL NAME(vector) __attribute__((vector_size(WIDTH), may_alias));
typedef MASK NAME(mask) __attribute__((vector_size(WIDTH), may_alias));

/* The channels of one block at one position, or of one bin. */
typedef struct {
    NAME(vector) part[VECTORS];
} NAME(cell);

#define PARTS _Pragma("GCC unroll 4") for (int v = 0; v < VECTORS; v++)

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

static void NAME(block)(const void *x, int type, ptrdiff_t plane, ptrdiff_t channels, Span positions, void *to) {
    REAL rows[LANES][STRIP], *cells = to;
    memset(rows, 0, sizeof rows);
    for (ptrdiff_t p = positions.begin; p < positions.end; p += STRIP) {
        ptrdiff_t n = positions.end - p < STRIP ? positions.end - p : STRIP;
        for (ptrdiff_t c = 0; c < channels; c++)
            NAME(read)((const char *)x + (c * plane + p) * BYTES(type), type, rows[c], n);
        for (ptrdiff_t i = 0; i < n; i++)
            for (ptrdiff_t c = 0; c < LANES; c++)
                cells[(p + i) * LANES + c] = rows[c][i];
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

static void NAME(spread)(const void *bins, ptrdiff_t n, ptrdiff_t channels, void *to, int type, ptrdiff_t plane) {
    const REAL *from = bins;
    for (ptrdiff_t c = 0; c < channels; c++) {
        char *row = (char *)to + c * plane * BYTES(type);
        if (type == PLAIN) {
            for (ptrdiff_t i = 0; i < n; i++)
                ((REAL *)row)[i] = from[i * LANES + c];
            continue;
        }
        for (ptrdiff_t i = 0; i < n; i += STRIP) {
            REAL strip[STRIP];
            ptrdiff_t most = n - i < STRIP ? n - i : STRIP;
            for (ptrdiff_t k = 0; k < most; k++)
                strip[k] = from[(i + k) * LANES + c];
            narrow_float((const float *)strip, type, row + i * BYTES(type), most);
        }
    }
}

#undef LANES
#undef PARTS
#undef REAL
#undef NAME
#undef MASK
#undef BYTES
#undef LARGER
