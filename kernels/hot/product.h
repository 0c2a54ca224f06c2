/* Matrix products for one element type, REAL. Included once for each. */
#include "hot/tile.h"

#ifndef INTERP_HOT_PRODUCT_H
#define INTERP_HOT_PRODUCT_H
#if defined(__AVX2__)
/* Eight rows of eight, `column` apart, turned. */
static inline void turn_square(const float *b, ptrdiff_t column, float *out, ptrdiff_t row) {
    __m256 pair[8], four[8];
    for (int i = 0; i < 8; i += 2) {
        __m256 first = _mm256_loadu_ps(b + i * column), second = _mm256_loadu_ps(b + (i + 1) * column);
        pair[i] = _mm256_unpacklo_ps(first, second);
        pair[i + 1] = _mm256_unpackhi_ps(first, second);
    }
    for (int i = 0; i < 8; i += 4)
        for (int h = 0; h < 2; h++) {
            four[i + 2 * h] = _mm256_shuffle_ps(pair[i + h], pair[i + h + 2], 0x44);
            four[i + 2 * h + 1] = _mm256_shuffle_ps(pair[i + h], pair[i + h + 2], 0xee);
        }
    for (int i = 0; i < 4; i++) {
        _mm256_storeu_ps(out + i * row, _mm256_permute2f128_ps(four[i], four[i + 4], 0x20));
        _mm256_storeu_ps(out + (i + 4) * row, _mm256_permute2f128_ps(four[i], four[i + 4], 0x31));
    }
}
#endif
#endif

/* LANES columns of k numbers that lie side by side, `column` apart, into the rows of a panel. */
static void OF(turn)(const REAL *b, ptrdiff_t column, ptrdiff_t k, REAL *out) {
    ptrdiff_t l = 0;
#if defined(__AVX2__)
    if (sizeof(REAL) == sizeof(float))
        for (; k - l >= LANES; l += LANES)
            turn_square((const float *)b + l, column, (float *)out + l * COLUMNS, COLUMNS);
#endif
    for (; l < k; l++)
        for (ptrdiff_t j = 0; j < LANES; j++)
            out[l * COLUMNS + j] = b[l + j * column];
}

/* One panel: `n` columns of b, zeros beyond them. */
ALWAYS void OF(pack_panel)(const REAL *b, ptrdiff_t row, ptrdiff_t column, ptrdiff_t k, ptrdiff_t n, REAL *out) {
    if (column == 1 && n == COLUMNS) {
        for (ptrdiff_t l = 0; l < k; l++)
            memcpy(out + l * COLUMNS, b + l * row, COLUMNS * sizeof(REAL));
        return;
    }
    if (n < COLUMNS)
        memset(out, 0, k * COLUMNS * sizeof(REAL));
    ptrdiff_t j = 0;
    if (row == 1)
        for (; n - j >= LANES; j += LANES)
            OF(turn)(b + j * column, column, k, out + j);
    for (; j < n; j++)
        for (ptrdiff_t l = 0; l < k; l++)
            out[l * COLUMNS + j] = b[l * row + j * column];
}

static void OF(pack)(const REAL *b, ptrdiff_t row, ptrdiff_t column, ptrdiff_t k, ptrdiff_t n, REAL *out) {
    for (ptrdiff_t j = 0; j < n; j += COLUMNS)
        OF(pack_panel)(b + j * column, row, column, k, lesser(COLUMNS, n - j), out + j * k);
}

/* A single row against several panels at once: the panels are read once, and nothing else counts. */
static void OF(gemv)(const REAL *a, ptrdiff_t along, const OF(Factor) *b, ptrdiff_t depth, const OF(Epilogue) *e, ptrdiff_t j) {
    OF(vector) sum[GEMV_PANELS][2];
    const REAL *row[GEMV_PANELS];
#pragma GCC unroll 4
    for (int p = 0; p < GEMV_PANELS; p++) {
        sum[p][0] = sum[p][1] = (OF(vector)){0};
        row[p] = b->at + (j / COLUMNS + p) * b->step;
    }
    for (ptrdiff_t k = 0; k < depth; k++) {
        OF(vector) f = OF(spread)(a[k * along]);
#pragma GCC unroll 4
        for (int p = 0; p < GEMV_PANELS; p++) {
            sum[p][0] += f * OF(load)(row[p] + k * b->along);
            sum[p][1] += f * OF(load)(row[p] + k * b->along + LANES);
        }
    }
#pragma GCC unroll 4
    for (int p = 0; p < GEMV_PANELS; p++)
        OF(finish_row)(e, 0, j + p * COLUMNS, sum[p], COLUMNS);
    if (e->then)
        e->then(e, 0, j, 1, GEMV_PANELS * COLUMNS);
}

/* Sums over `depth` products for a block of the result. */
static void OF(part)(const OF(Factor) *a, const OF(Factor) *b, ptrdiff_t rows, ptrdiff_t columns, ptrdiff_t depth,
                     const OF(Epilogue) *e) {
    ptrdiff_t j = 0;
    if (rows == 1)
        for (; columns - j >= GEMV_PANELS * COLUMNS; j += GEMV_PANELS * COLUMNS)
            OF(gemv)(a->at, a->along, b, depth, e, j);
    OF(Factor) rest = *b;
    OF(Epilogue) moved = OF(from)(e, 0, j);
    rest.at += j / COLUMNS * b->step;
    for (ptrdiff_t i = 0; i < rows; i += ROW_BLOCK) {
        OF(Factor) some = *a;
        OF(Epilogue) down = OF(from)(&moved, i, 0);
        some.at += i / ROWS * a->step;
        OF(block)(&some, &rest, lesser(ROW_BLOCK, rows - i), columns - j, depth, &down);
    }
}

/* The same where b is as a run brings it: packed into scratch, or read where it lies if too few rows would use the copy. */
static void OF(part_unpacked)(const Product *how, const REAL *b, const OF(Factor) *a, ptrdiff_t rows, ptrdiff_t columns,
                              ptrdiff_t depth, const OF(Epilogue) *e, REAL *scratch) {
    ptrdiff_t direct = how->b_column == 1 && rows <= DIRECT_ROWS ? columns / COLUMNS * COLUMNS : 0;
    if (direct) {
        OF(Factor) plain = {b, COLUMNS, 1, how->b_row};
        OF(part)(a, &plain, rows, direct, depth, e);
    }
    if (direct < columns) {
        OF(Factor) panels = {scratch, depth * COLUMNS, 1, COLUMNS};
        OF(Epilogue) moved = OF(from)(e, 0, direct);
        OF(pack)(b + direct * how->b_column, how->b_row, how->b_column, depth, columns - direct, scratch);
        OF(part)(a, &panels, rows, columns - direct, depth, &moved);
    }
}
