/* Products of matrices of bytes, the second one packed: rows of the first are interleaved by fours. Included by integer.c. */

enum { FEW_ROWS = 32, NARROW_ROWS = 128, NARROW_BYTES = 64 << 10, NARROW_PANELS = 32 };

typedef struct {
    uint8_t *rows;
    int32_t *row_sums;
    bool summed; /* whether the sums of rows count */
} NarrowRoom;

static ptrdiff_t narrow_rows(const Integers *how) {
    ptrdiff_t fit = NARROW_BYTES / (4 * how->groups + 1) / TILE_ROWS * TILE_ROWS;
    fit = fit > NARROW_ROWS ? NARROW_ROWS : fit < FEW_ROWS ? FEW_ROWS : fit;
    return TILE_ROWS * even_piece(pieces(how->m, TILE_ROWS), fit / TILE_ROWS);
}

static ptrdiff_t narrow_matrix_room(const Integers *how, uint8_t *scratch, NarrowRoom *room) {
    ptrdiff_t rows = narrow_rows(how);
    room->rows = scratch;
    room->row_sums = (int32_t *)(scratch + aligned(4 * how->groups * rows));
    return aligned(4 * how->groups * rows) + aligned(4 * rows);
}

/* Up to four rows, four bytes of each in turn; `flip` makes unsigned ones of signed. What is beyond is zero. */
static void interleave_rows(const uint8_t *a, ptrdiff_t k, ptrdiff_t rows, int flip, uint8_t *out) {
    const __m128i flips = _mm_set1_epi8((char)flip);
    ptrdiff_t l = 0;
    if (rows == TILE_ROWS)
        for (; l + 16 <= k; l += 16) {
            __m128i r[TILE_ROWS];
            for (int i = 0; i < TILE_ROWS; i++)
                r[i] = _mm_xor_si128(_mm_loadu_si128((const __m128i *)(a + i * k + l)), flips);
            __m128i low = _mm_unpacklo_epi32(r[0], r[1]), high = _mm_unpackhi_epi32(r[0], r[1]);
            __m128i lower = _mm_unpacklo_epi32(r[2], r[3]), higher = _mm_unpackhi_epi32(r[2], r[3]);
            __m128i *to = (__m128i *)(out + TILE_ROWS * l);
            _mm_storeu_si128(to, _mm_unpacklo_epi64(low, lower));
            _mm_storeu_si128(to + 1, _mm_unpackhi_epi64(low, lower));
            _mm_storeu_si128(to + 2, _mm_unpacklo_epi64(high, higher));
            _mm_storeu_si128(to + 3, _mm_unpackhi_epi64(high, higher));
        }
    for (; l < k; l += 4)
        for (int i = 0; i < TILE_ROWS; i++)
            for (int b = 0; b < 4; b++)
                out[TILE_ROWS * l + 4 * i + b] = i < rows && l + b < k ? a[i * k + l + b] ^ flip : 0;
}

static int32_t sum_of(const uint8_t *a, ptrdiff_t k, int flip) {
    int32_t sum = 0;
    for (ptrdiff_t l = 0; l < k; l++)
        sum += a[l] ^ flip;
    return sum;
}

static void take_narrow_rows(const IntegersCall *call, ptrdiff_t batch, ptrdiff_t i, ptrdiff_t rows, const NarrowRoom *room) {
    const Integers *how = call->how;
    int flip = how->a_signed ? 128 : 0;
    const uint8_t *a = call->a + how->a_at[batch] + i * how->k;
    for (ptrdiff_t r = 0; r < rows; r += TILE_ROWS)
        interleave_rows(a + r * how->k, how->k, lesser(TILE_ROWS, rows - r), flip, room->rows + 4 * r * how->groups);
    for (ptrdiff_t r = 0; r < rows && room->summed; r++)
        room->row_sums[r] = sum_of(a + r * how->k, how->k, flip);
}

/* What is added to the sums of a row's columns from j on, and what is taken off for the sum of that row. */
static void matrix_offsets(const IntegersCall *call, ptrdiff_t batch, ptrdiff_t i, ptrdiff_t j, ptrdiff_t n, const uint32_t *w_zero,
                           int32_t row_sum, int32_t *offset) {
    const Integers *how = call->how;
    const int32_t *sums = how->line_sums + how->sums_at[batch] + j, *bias = how->result == FLOATS ? NULL : call->bias;
    uint32_t zero = (uint32_t)input_zero(call->a_zero, how->a_signed, &how->a_zero, batch, i);
    uint32_t far = (uint32_t)row_sum - zero * (uint32_t)how->k;
    if (bias)
        bias += first_of(&how->bias, batch, i) + j * how->bias_across;
    for (ptrdiff_t l = 0; l < n; l++)
        offset[l] = (int32_t)((bias ? (uint32_t)bias[l * how->bias_across] : 0) - zero * (uint32_t)sums[l] - w_zero[l] * far);
}

static void matrix_scales(const IntegersCall *call, ptrdiff_t batch, ptrdiff_t i, ptrdiff_t j, ptrdiff_t n, float *made,
                          float *made_bias) {
    const Integers *how = call->how;
    const float *bias = how->result == FLOATS ? call->bias : NULL;
    double scale[TILE_COLUMNS];
    if (how->result == SUMS)
        return;
    if (how->b_scale.along)
        scales_of(call, batch, i, j, n, scale);
    else
        for (double one = scale_of(call, batch, i), *s = scale; s < scale + n; s++)
            *s = one;
    for (ptrdiff_t l = 0; l < n; l++) {
        made[l] = (float)scale[l];
        made_bias[l] = bias ? bias[first_of(&how->bias, batch, i) + (j + l) * how->bias_across] : 0;
    }
}

/* Rows of a block by one panel. */
static void narrow_panel(const IntegersCall *call, ptrdiff_t batch, ptrdiff_t i, ptrdiff_t rows, ptrdiff_t j, ptrdiff_t n,
                         const NarrowRoom *room) {
    const Integers *how = call->how;
    const uint8_t *block = how->blocks + how->b_at[batch] + j / TILE_COLUMNS * how->block_size;
    int32_t sum[TILE_ROWS][TILE_COLUMNS] = {{0}};
    uint32_t w_zero[TILE_COLUMNS] = {0};
    bool each = room->summed || how->a_zero.along || how->a_scale.along;
    int32_t offset[TILE_ROWS][TILE_COLUMNS] = {{0}};
    float scale[TILE_ROWS][TILE_COLUMNS] = {{0}}, bias[TILE_ROWS][TILE_COLUMNS] = {{0}};
    Finish finish = begun(call);
    finish.offset = *offset, finish.scale = *scale, finish.bias = *bias, finish.step = each ? TILE_COLUMNS : 0;
    for (ptrdiff_t l = 0; l < n && room->summed; l++)
        w_zero[l] = (uint32_t)weight_zero(call->b_zero, how->b_signed, &how->b_zero, batch, j + l);
    for (ptrdiff_t r = 0; r < rows; r += TILE_ROWS) {
        ptrdiff_t some = lesser(TILE_ROWS, rows - r);
        by_rows(some, block, room->rows + 4 * r * how->groups, how->groups, sum);
        for (ptrdiff_t s = 0; s < (each ? some : r == 0); s++) {
            matrix_offsets(call, batch, i + r + s, j, n, w_zero, room->summed ? room->row_sums[r + s] : 0, offset[s]);
            matrix_scales(call, batch, i + r + s, j, n, scale[s], bias[s]);
        }
        finish_rows(&finish, true, sum, some, n, call->y, (batch * how->m + i + r) * how->n + j, how->n);
    }
}

static int narrow_items(const void *args, ptrdiff_t begin, ptrdiff_t end, void *scratch) {
    const IntegersCall *call = args;
    const Integers *how = call->how;
    NarrowRoom room;
    ptrdiff_t there = -1;
    narrow_matrix_room(how, scratch, &room);
    for (ptrdiff_t item = begin; item < end; item++) {
        ptrdiff_t column = item % call->column_blocks, row = item / call->column_blocks;
        ptrdiff_t batch = row / call->row_blocks, i = row % call->row_blocks * call->rows, j = column * call->columns;
        ptrdiff_t rows = lesser(call->rows, how->m - i), end_column = lesser(j + call->columns, how->n);
        if (there != row)
            room.summed = any_zero(call->b_zero, how->b_signed, &how->b_zero, batch, how->n);
        if (there != row)
            take_narrow_rows(call, batch, i, rows, &room);
        there = row;
        for (; j < end_column; j += TILE_COLUMNS)
            narrow_panel(call, batch, i, rows, j, lesser(TILE_COLUMNS, end_column - j), &room);
    }
    return 0;
}

static void cut_narrow_matrix(IntegersCall *call, int threads) {
    const Integers *how = call->how;
    call->rows = narrow_rows(how);
    call->row_blocks = pieces(how->m, call->rows);
    ptrdiff_t panels = pieces(how->n, TILE_COLUMNS), most = threads > 1 ? pieces(panels, 4 * threads) : NARROW_PANELS;
    call->columns = TILE_COLUMNS * even_piece(panels, lesser(NARROW_PANELS, most ? most : 1));
    call->column_blocks = pieces(how->n, call->columns);
    call->count = how->batch * call->column_blocks * call->row_blocks;
    call->cost = 1 + (ptrdiff_t)((double)call->rows * (double)lesser(call->columns, how->n) * (double)(how->k + 32) / 80);
}
