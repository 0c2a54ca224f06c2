/* The micro-kernel of matrix products for one element type, REAL: a tile of ROWS x COLUMNS sums kept in registers.
   Included once for each type. Factors are addressed by strides, so that packed panels, plain matrices and transposed
   ones are all read by the same loop. */
#include "hot/vector.h"

#ifndef INTERP_HOT_TILE_H
#define INTERP_HOT_TILE_H
#include <stdbool.h>
#include <string.h>
#include "hot/pieces.h"

#if defined(__AVX2__)
enum { ROWS = 6 }; /* twelve sums, two of b and one of a fill sixteen registers */
#else
enum { ROWS = 4 };
#endif
enum {
    PANEL_BYTES = 2 * VECTOR,
    DEPTH = 256,       /* products in one chain of sums; longer ones are split, for the caches and for accuracy */
    ROW_BLOCK = 96,    /* rows of the first factor that stay in the second-level cache; a multiple of ROWS */
    DIRECT_ROWS = 30,  /* up to so many rows, reading a factor where it lies beats packing it */
    PANEL_BLOCK = 16,  /* panels of the second factor that do */
    FETCH_ROWS = 12,   /* from so many rows on there is time to fetch the next panel ahead */
    LINE = 64,         /* bytes that come at once */
    GEMV_PANELS = 4,   /* panels that a single row meets at once: enough sums to hide the latency of the adder */
};

/* How many rows an item has: all of them, or fewer where the blocks of columns are too few for the threads. */
static inline ptrdiff_t row_share(ptrdiff_t rows, ptrdiff_t blocks, int threads) {
    ptrdiff_t groups = pieces(rows, ROWS);
    if (threads < 2 || !groups || !blocks)
        return groups * ROWS;
    return pieces(groups, lesser(pieces(4 * threads, blocks), groups)) * ROWS;
}

/* How many of the rows left the next tile takes: two of nearly the same height beat a full one and a low one, whose few sums
   wait for each other. */
static inline ptrdiff_t tile_rows(ptrdiff_t left, bool anywhere) {
    return anywhere && left > ROWS && left < 2 * ROWS ? (left + 1) / 2 : lesser(left, ROWS);
}

/* What so many sums of `depth` products take, roughly. */
static inline ptrdiff_t nanoseconds(ptrdiff_t sums, ptrdiff_t depth, size_t size) {
    return 1 + (ptrdiff_t)((double)sums * (double)(depth + 8) * (double)size / (5.0 * VECTOR));
}
#endif

#define COLUMNS (2 * LANES)

/* A factor in groups of rows (the first) or of columns (the second): `step` from one group to the next, `cross` within a
   group, `along` from one product of a sum to the next. */
typedef struct {
    const REAL *at;
    ptrdiff_t step, cross, along;
} OF(Factor);

/* Where sums go, and what becomes of them: y = alpha * sums + beta * c + residual at first, y += alpha * sums after that.
   The residual lies as y does and may be y itself. The last sums are cut off below zero if asked, or `then` is called for
   finished rows, while they are near. */
typedef struct OF(Epilogue) {
    REAL *y;
    ptrdiff_t y_row;
    const REAL *c; /* or NULL */
    ptrdiff_t c_row, c_column; /* 0 where c repeats; c_column is else 1 */
    REAL alpha, beta;
    bool first;
    const REAL *residual; /* or NULL */
    void (*then)(const struct OF(Epilogue) *e, ptrdiff_t i, ptrdiff_t j, ptrdiff_t rows, ptrdiff_t n); /* or NULL */
    const void *how; /* for `then` */
    bool rectifies;
} OF(Epilogue);

/* The sums, with 0 for those below; NaN stays. */
ALWAYS OF(vector) OF(rectified)(OF(vector) v) {
    __typeof__(v < v) below = v < (OF(vector)){0};
    return (OF(vector))((__typeof__(below))v & ~below);
}

/* One vector of one row, at row i and column j. */
ALWAYS void OF(finish)(const OF(Epilogue) *e, ptrdiff_t i, ptrdiff_t j, OF(vector) sum) {
    REAL *y = e->y + i * e->y_row + j;
    sum *= OF(spread)(e->alpha);
    if (!e->first)
        sum += OF(load)(y);
    else {
        if (e->c) {
            const REAL *c = e->c + i * e->c_row + j * e->c_column;
            sum += OF(spread)(e->beta) * (e->c_column ? OF(load)(c) : OF(spread)(*c));
        }
        if (e->residual)
            sum += OF(load)(e->residual + i * e->y_row + j);
    }
    OF(store)(y, e->rectifies ? OF(rectified)(sum) : sum);
}

/* The same for the first `n` of a row's sums, fewer than a panel has. */
static void OF(finish_some)(const OF(Epilogue) *e, ptrdiff_t i, ptrdiff_t j, const REAL *sums, ptrdiff_t n) {
    REAL *y = e->y + i * e->y_row + j;
    for (ptrdiff_t l = 0; l < n; l++) {
        REAL sum = e->alpha * sums[l];
        if (!e->first)
            sum += y[l];
        if (e->first && e->c)
            sum += e->beta * e->c[i * e->c_row + (j + l) * e->c_column];
        if (e->first && e->residual)
            sum += e->residual[i * e->y_row + j + l];
        y[l] = e->rectifies && sum < 0 ? 0 : sum;
    }
}

ALWAYS void OF(finish_row)(const OF(Epilogue) *e, ptrdiff_t i, ptrdiff_t j, const OF(vector) *sums, ptrdiff_t n) {
    if (n >= COLUMNS) {
        OF(finish)(e, i, j, sums[0]);
        OF(finish)(e, i, j + LANES, sums[1]);
    } else {
        REAL kept[COLUMNS];
        OF(store)(kept, sums[0]);
        OF(store)(kept + LANES, sums[1]);
        OF(finish_some)(e, i, j, kept, n);
    }
}

/* The sums of a tile whose columns are all there, with all of c: what holds for every row is asked once. */
ALWAYS void OF(finish_tile)(int rows, int vectors, const OF(Epilogue) *e, ptrdiff_t i, ptrdiff_t j, OF(vector) (*sum)[2]) {
    ptrdiff_t row = e->y_row, c_row = e->c_row, at = i * row + j;
    REAL *y = e->y + at;
    const REAL *plus = e->first ? e->residual : e->y, *c = e->first ? e->c : NULL;
#define EACH                           \
    _Pragma("GCC unroll 6")            \
    for (int r = 0; r < rows; r++)     \
        _Pragma("GCC unroll 2")        \
        for (int v = 0; v < vectors; v++)
    if (e->alpha != 1)
        EACH sum[r][v] *= OF(spread)(e->alpha);
    if (c && e->c_column) {
        c += i * c_row + j;
        EACH sum[r][v] += OF(load)(c + r * c_row + v * LANES);
    } else if (c) {
        c += i * c_row;
        EACH sum[r][v] += OF(spread)(c[r * c_row]);
    }
    if (plus)
        EACH sum[r][v] += OF(load)(plus + at + r * row + v * LANES);
    if (e->rectifies)
        EACH sum[r][v] = OF(rectified)(sum[r][v]);
    EACH OF(store)(y + r * row + v * LANES, sum[r][v]);
#undef EACH
}

/* `rows` and `vectors` are constants wherever this is inlined, so that the sums are registers. */
ALWAYS void OF(sums)(int rows, int vectors, const REAL *a, ptrdiff_t cross, ptrdiff_t along, const REAL *b, ptrdiff_t b_along,
                     ptrdiff_t depth, const OF(Epilogue) *e, ptrdiff_t i, ptrdiff_t j, ptrdiff_t n,
                     const char *ahead, ptrdiff_t hop) {
    OF(vector) sum[ROWS][2];
    const REAL *lower = a + 3 * cross; /* two pointers reach six rows without a multiplication */
#pragma GCC unroll 6
    for (int r = 0; r < ROWS; r++)
        sum[r][0] = sum[r][1] = (OF(vector)){0};
    for (ptrdiff_t k = 0; k < depth; k++) {
        OF(vector) b0 = OF(load)(b), b1 = vectors > 1 ? OF(load)(b + LANES) : b0;
#pragma GCC unroll 6
        for (int r = 0; r < rows; r++) {
            OF(vector) f = OF(spread)(r < 3 ? a[r * cross] : lower[(r - 3) * cross]);
            sum[r][0] += f * b0;
            if (vectors > 1)
                sum[r][1] += f * b1;
        }
        __builtin_prefetch(ahead);
        ahead += hop;
        a += along;
        lower += along;
        b += b_along;
    }
    if (n >= vectors * LANES && (!e->c || e->beta == 1)) {
        OF(finish_tile)(rows, vectors, e, i, j, sum);
        return;
    }
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++)
        OF(finish_row)(e, i + r, j, sum[r], n);
}

static void OF(tile)(ptrdiff_t rows, const OF(Factor) *a, const REAL *at, const OF(Factor) *b, const REAL *bt, ptrdiff_t depth,
                     const OF(Epilogue) *e, ptrdiff_t i, ptrdiff_t j, ptrdiff_t n, const char *ahead, ptrdiff_t hop) {
#define TILE(r) \
    if (n > LANES) \
        OF(sums)(r, 2, at, a->cross, a->along, bt, b->along, depth, e, i, j, n, ahead, hop); \
    else \
        OF(sums)(r, 1, at, a->cross, a->along, bt, b->along, depth, e, i, j, n, ahead, hop)
    switch (rows) {
    case 1: TILE(1); break;
    case 2: TILE(2); break;
    case 3: TILE(3); break;
    case 4: TILE(4); break;
#if defined(__AVX2__)
    case 5: TILE(5); break;
    default: TILE(6);
#endif
    }
#undef TILE
    if (e->then)
        e->then(e, i, j, rows, lesser(n, COLUMNS));
}

/* A block of sums: panels of b in the outer loop, so that one stays in the first-level cache for all rows. Meanwhile the next
   panel is fetched, bit by bit: it comes from memory while sums are made, not before. */
static void OF(block)(const OF(Factor) *a, const OF(Factor) *b, ptrdiff_t rows, ptrdiff_t columns, ptrdiff_t depth,
                      const OF(Epilogue) *e) {
    bool anywhere = a->step == ROWS * a->cross; /* a tile may begin at any row */
    bool packed = b->along == COLUMNS;
    ptrdiff_t line = b->along * (ptrdiff_t)sizeof(REAL), hop = packed ? line / pieces(rows, ROWS) : line;
    for (ptrdiff_t j = 0, some; j < columns; j += COLUMNS) {
        const REAL *panel = b->at + j / COLUMNS * b->step;
        bool last = columns - j <= COLUMNS;
        const char *ahead = (const char *)(last ? panel : panel + b->step);
        for (ptrdiff_t i = 0; i < rows; i += some) {
            some = tile_rows(rows - i, anywhere);
            ptrdiff_t step = last || (i && !packed) ? 0 : hop;
            OF(tile)(some, a, a->at + (anywhere ? i * a->cross : i / ROWS * a->step), b, panel, depth, e, i, j, columns - j,
                     ahead, step);
            ahead += packed ? depth * step : 0;
        }
    }
}

/* The epilogue for a block that begins at row i and column j. */
ALWAYS OF(Epilogue) OF(from)(const OF(Epilogue) *e, ptrdiff_t i, ptrdiff_t j) {
    OF(Epilogue) moved = *e;
    moved.y += i * e->y_row + j;
    if (e->c)
        moved.c += i * e->c_row + j * e->c_column;
    if (e->residual)
        moved.residual += i * e->y_row + j;
    return moved;
}
