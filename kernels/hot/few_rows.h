/* Products of few rows with a factor that a run brings, which is read once where it lies, for one element type, REAL.
   Included once for each, after tile.h. */
#ifndef INTERP_HOT_FEW_ROWS_H
#define INTERP_HOT_FEW_ROWS_H
#include "hot/gemm.h"

enum {
    STREAMS = 8,         /* rows of the second factor that a single row meets at once */
    DOT_ROWS = 3,        /* rows and columns of a tile of dot products: twelve sums */
    DOT_COLUMNS = 4,
    MOST_DOT_ROWS = 12,  /* up to so many rows, dot products beat turning the second factor */
    STREAM_BYTES = 2048, /* of a row of the second factor from which on it is read from end to end */
    STREAM_BLOCK = 8192, /* sums of a single row, to stay in the first-level cache */
};

static inline bool in_streams(const Product *how, size_t size) {
    return !how->panels && how->m == 1 && how->b_column == 1 && how->n * (ptrdiff_t)size >= STREAM_BYTES;
}

static inline bool by_dots(const Product *how) {
    return !how->panels && how->m <= MOST_DOT_ROWS && how->b_row == 1 && how->a_column == 1;
}
#endif

/* out += a b for `rows` rows of b, a constant wherever this is inlined. */
ALWAYS void OF(streamed)(int rows, const REAL *a, ptrdiff_t along, const REAL *b, ptrdiff_t b_row, ptrdiff_t n, REAL *out) {
    OF(vector) f[STREAMS];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
        f[r] = OF(spread)(a[r * along]);
    ptrdiff_t j = 0;
    for (; n - j >= LANES; j += LANES) {
        OF(vector) sum = f[0] * OF(load)(b + j);
#pragma GCC unroll 8
        for (int r = 1; r < rows; r++)
            sum += f[r] * OF(load)(b + r * b_row + j);
        OF(store)(out + j, OF(load)(out + j) + sum);
    }
    for (; j < n; j++) {
        REAL sum = 0;
        for (int r = 0; r < rows; r++)
            sum += a[r * along] * b[r * b_row + j];
        out[j] += sum;
    }
}

/* One row by all rows of b, a few of them at once from end to end, as memory likes it. Sums are kept in `room`. */
static void OF(stream)(const REAL *a, ptrdiff_t along, const REAL *b, ptrdiff_t b_row, ptrdiff_t k, ptrdiff_t n,
                       const OF(Epilogue) *e, REAL *room) {
    ptrdiff_t l = 0;
    memset(room, 0, n * sizeof(REAL));
    for (; k - l >= STREAMS; l += STREAMS)
        OF(streamed)(STREAMS, a + l * along, along, b + l * b_row, b_row, n, room);
    for (; l < k; l++)
        OF(streamed)(1, a + l * along, along, b + l * b_row, b_row, n, room);
    for (ptrdiff_t j = 0; j < n; j += COLUMNS) {
        OF(vector) sums[2];
        REAL rest[COLUMNS] = {0};
        const REAL *from = n - j < COLUMNS ? memcpy(rest, room + j, (n - j) * sizeof(REAL)) : room + j;
        sums[0] = OF(load)(from);
        sums[1] = OF(load)(from + LANES);
        OF(finish_row)(e, 0, j, sums, n - j);
    }
    if (e->then)
        e->then(e, 0, 0, 1, n);
}

/* The sums of the lanes of four vectors. */
ALWAYS void OF(add_lanes)(const OF(vector) *v, REAL *out) {
#if defined(__AVX2__)
    if (sizeof(REAL) == sizeof(float)) {
        __m256 pairs = _mm256_hadd_ps(_mm256_hadd_ps((__m256)v[0], (__m256)v[1]), _mm256_hadd_ps((__m256)v[2], (__m256)v[3]));
        _mm_storeu_ps((float *)out, _mm_add_ps(_mm256_castps256_ps128(pairs), _mm256_extractf128_ps(pairs, 1)));
        return;
    }
#endif
    for (int i = 0; i < 4; i++) {
        out[i] = 0;
        for (int l = 0; l < LANES; l++)
            out[i] += v[i][l];
    }
}

/* Dot products of `rows` rows and four columns that lie side by side, `step` apart; beyond the last column is the last again. */
ALWAYS void OF(dots)(int rows, const REAL *a, ptrdiff_t a_row, const REAL *b, ptrdiff_t step, ptrdiff_t depth,
                     const OF(Epilogue) *e, ptrdiff_t i, ptrdiff_t j, ptrdiff_t n) {
    OF(vector) sum[DOT_ROWS][DOT_COLUMNS];
    const REAL *column[DOT_COLUMNS];
#pragma GCC unroll 4
    for (int c = 0; c < DOT_COLUMNS; c++) {
        column[c] = b + lesser(c, n - 1) * step;
#pragma GCC unroll 3
        for (int r = 0; r < rows; r++)
            sum[r][c] = (OF(vector)){0};
    }
    ptrdiff_t k = 0;
    for (; depth - k >= LANES; k += LANES) {
#pragma GCC unroll 3
        for (int r = 0; r < rows; r++) {
            OF(vector) f = OF(load)(a + r * a_row + k);
#pragma GCC unroll 4
            for (int c = 0; c < DOT_COLUMNS; c++)
                sum[r][c] += f * OF(load)(column[c] + k);
        }
    }
#pragma GCC unroll 3
    for (int r = 0; r < rows; r++) {
        REAL sums[DOT_COLUMNS];
        OF(add_lanes)(sum[r], sums);
        for (ptrdiff_t l = k; l < depth; l++)
            for (int c = 0; c < DOT_COLUMNS; c++)
                sums[c] += a[r * a_row + l] * column[c][l];
        OF(finish_some)(e, i + r, j, sums, lesser(n, DOT_COLUMNS));
    }
}

/* Rows by columns that lie side by side both: a few of each at once. */
static void OF(dotted)(const REAL *a, ptrdiff_t a_row, const REAL *b, ptrdiff_t step, ptrdiff_t rows, ptrdiff_t columns,
                       ptrdiff_t depth, const OF(Epilogue) *e) {
    for (ptrdiff_t j = 0; j < columns; j += DOT_COLUMNS)
        for (ptrdiff_t i = 0; i < rows; i += DOT_ROWS) {
#define DOTS(r) OF(dots)(r, a + i * a_row, a_row, b + j * step, step, depth, e, i, j, columns - j)
            if (rows - i >= DOT_ROWS)
                DOTS(3);
            else if (rows - i == 2)
                DOTS(2);
            else
                DOTS(1);
#undef DOTS
        }
    if (e->then)
        e->then(e, 0, 0, rows, columns);
}
