/* Products of bytes, block by block: packing what a block reads, and what becomes of its sums. Included by integer.c. */

/* What a thread has packed, and for which of the items: the next one may read the same. */
typedef struct {
    int16_t *rows, *panels, *ones;
    int32_t *row_sums;
    double *row_scales; /* where columns have none */
    Inside *inside;
    ptrdiff_t row_block, column_block; /* of which item, with the batch; -1 for none */
} Room;

static ptrdiff_t first_of(const Lines *lines, ptrdiff_t batch, ptrdiff_t i) {
    return (lines->at ? lines->at[batch] : 0) + i * lines->along;
}

/* The zero point of one row or column. */
static int zero_at(const uint8_t *zero, bool is_signed, const Lines *lines, ptrdiff_t batch, ptrdiff_t i) {
    return zero ? byte_at(zero + first_of(lines, batch, i), is_signed) : 0;
}

static ptrdiff_t most_rows(const Integers *how) {
    ptrdiff_t fit = ROWS_BYTES / (2 * depth_of(how->k) + 1) / ROWS * ROWS;
    fit = fit > MOST_ROWS ? MOST_ROWS : fit < ROWS ? ROWS : fit;
    return ROWS * even_piece(pieces(how->m, ROWS), fit / ROWS);
}

static ptrdiff_t most_columns(const Integers *how) {
    ptrdiff_t fit = how->b_panels ? MOST_PANELS : PANELS_BYTES / (2 * COLUMNS * depth_of(how->k) + 1);
    fit = fit > MOST_PANELS ? MOST_PANELS : fit < 1 ? 1 : fit;
    return COLUMNS * even_piece(pieces(how->n, COLUMNS), fit);
}

static ptrdiff_t aligned(ptrdiff_t bytes) {
    return (bytes + 63) / 64 * 64;
}

/* The parts of a thread's scratch; with no scratch, only how much it takes. */
static ptrdiff_t laid_out(const Integers *how, char *scratch, Room *room) {
    ptrdiff_t depth = depth_of(how->k), used = 0;
    ptrdiff_t rows = how->a_rows ? 0 : most_rows(how), columns = how->b_panels ? 0 : most_columns(how);
    room->rows = (int16_t *)(scratch + used);
    used += aligned(2 * rows * depth);
    room->panels = (int16_t *)(scratch + used);
    used += aligned(2 * columns * depth);
    room->row_sums = (int32_t *)(scratch + used);
    used += aligned(4 * most_rows(how));
    room->row_scales = (double *)(scratch + used);
    used += aligned(8 * most_rows(how));
    room->ones = (int16_t *)(scratch + used);
    used += how->a_rows ? aligned(2 * depth) : 0;
    room->inside = (Inside *)(scratch + used);
    used += how->patches ? aligned(COLUMNS * volume(how->window.kernel) * (ptrdiff_t)sizeof(Inside)) : 0;
    room->row_block = room->column_block = -1;
    return used;
}

/* Rows of the first factor, and their sums where the second one's zero points are still in it. */
static void take_rows(const IntegersCall *call, ptrdiff_t batch, ptrdiff_t i, ptrdiff_t rows, Room *room) {
    const Integers *how = call->how;
    ptrdiff_t depth = depth_of(how->k);
    for (ptrdiff_t r = 0; r < rows; r++) {
        int16_t *to = room->rows + r * depth;
        pack_row(call->a + how->a_at[batch] + (i + r) * how->k, how->a_signed, how->k,
                 zero_at(call->a_zero, how->a_signed, &how->a_zero, batch, i + r), to);
        uint32_t sum = 0;
        if (how->b_panels && call->b_zero)
            for (ptrdiff_t l = 0; l < depth; l++)
                sum += (uint32_t)to[l];
        room->row_sums[r] = (int32_t)sum;
    }
}

static void take_columns(const IntegersCall *call, ptrdiff_t batch, ptrdiff_t j, ptrdiff_t columns, Room *room) {
    const Integers *how = call->how;
    const uint8_t *b = call->b + how->b_at[batch];
    for (ptrdiff_t p = 0; p < columns; p += COLUMNS) {
        int16_t *to = room->panels + p * depth_of(how->k), zero[COLUMNS] = {0};
        ptrdiff_t n = lesser(COLUMNS, columns - p);
        for (ptrdiff_t l = 0; l < n; l++)
            zero[l] = (int16_t)zero_at(call->b_zero, how->b_signed, &how->b_zero, batch, j + p + l);
        if (!how->patches)
            pack_panel(b + j + p, how->b_signed, how->n, how->k, n, zero, to);
        else if (how->b_signed)
            patch_panel(&how->window, b, true, j + p, n, zero[0], room->inside, to);
        else
            patch_panel(&how->window, b, false, j + p, n, zero[0], room->inside, to);
    }
}

/* Takes so many of a panel off a row of sums, in whole columns: those that are not there do no harm. */
ALWAYS void take_off(int32_t times, const int32_t *what, int32_t *sum) {
    for (int l = 0; l < COLUMNS; l++)
        sum[l] = (int32_t)((uint32_t)sum[l] - (uint32_t)times * (uint32_t)what[l]);
}

/* What zero points that were not known at packing have added to the sums of one row, taken off again. `other` has the zero
   points of b's columns, or the sums of the columns, whichever a packed factor needs. */
static void set_right(const IntegersCall *call, ptrdiff_t batch, ptrdiff_t i, int32_t row_sum, const int32_t *other, int32_t *sum) {
    const Integers *how = call->how;
    if (how->b_panels && call->b_zero)
        take_off(row_sum, other, sum);
    if (how->a_rows && call->a_zero)
        take_off(zero_at(call->a_zero, how->a_signed, &how->a_zero, batch, i), other, sum);
}

static void add_bias(const IntegersCall *call, ptrdiff_t batch, ptrdiff_t i, ptrdiff_t j, ptrdiff_t n, int32_t *sum) {
    const Integers *how = call->how;
    if (!call->bias || how->result == FLOATS)
        return;
    const int32_t *bias = (const int32_t *)call->bias + first_of(&how->bias, batch, i) + j * how->bias_across;
    if (how->bias_across)
        for (ptrdiff_t l = 0; l < n; l++)
            sum[l] = (int32_t)((uint32_t)sum[l] + (uint32_t)bias[l]);
    else
        for (int l = 0; l < COLUMNS; l++)
            sum[l] = (int32_t)((uint32_t)sum[l] + (uint32_t)*bias);
}

/* What the sums of a row are worth, where columns have no scales of their own. */
static double scale_of(const IntegersCall *call, ptrdiff_t batch, ptrdiff_t i) {
    double left = call->a_scale[first_of(&call->how->a_scale, batch, i)], below = call->y_scale ? *call->y_scale : 1;
    return left * call->b_scale[first_of(&call->how->b_scale, batch, 0)] / below;
}

static void scales_of(const IntegersCall *call, ptrdiff_t batch, ptrdiff_t i, ptrdiff_t j, ptrdiff_t n, double *scale) {
    double left = call->a_scale[first_of(&call->how->a_scale, batch, i)], below = call->y_scale ? *call->y_scale : 1;
    const float *right = call->b_scale + first_of(&call->how->b_scale, batch, j);
    for (ptrdiff_t l = 0; l < n; l++)
        scale[l] = left * right[l] / below;
}

/* The byte nearest to each sum times its scale, half to even, plus the zero point. NaN becomes the lowest. */
ALWAYS void to_bytes(const int32_t *sum, const double *scale, bool each, ptrdiff_t n, int zero, int least, int most, uint8_t *y) {
    const float whole = 0x1.8p23f, low = (float)(least - zero), high = (float)(most - zero); /* a float beyond has no fraction */
    for (ptrdiff_t l = 0; l < n; l++) {
        float v = (float)sum[l] * (float)scale[each ? l : 0];
        v = v > low ? v : low;
        v = v < high ? v : high;
        y[l] = (uint8_t)((int32_t)(v + whole - whole) + zero);
    }
}

/* Said outright where there is such an instruction, so that all ways round alike. */
ALWAYS float times_plus(float x, float scale, float bias) {
#if defined(__FMA__)
    return __builtin_fmaf(x, scale, bias);
#else
    return x * scale + bias;
#endif
}

static void to_floats(const int32_t *sum, const double *scale, bool each, ptrdiff_t n, const float *bias, ptrdiff_t across,
                      float *y) {
    for (ptrdiff_t l = 0; l < n; l++)
        y[l] = times_plus((float)sum[l], (float)scale[each ? l : 0], bias ? bias[l * across] : 0);
}

/* One row of a tile's sums, at row i and column j of the result, with a scale for the row or for each column. */
static void finish(const IntegersCall *call, ptrdiff_t batch, ptrdiff_t i, ptrdiff_t j, ptrdiff_t n, const int32_t *sum,
                   const double *scale) {
    const Integers *how = call->how;
    ptrdiff_t at = (batch * how->m + i) * how->n + j;
    bool each = how->b_scale.along, is_signed = how->result == SIGNED_BYTES;
    int zero = call->y_zero ? byte_at(call->y_zero, is_signed) : 0, least = is_signed ? -128 : 0;
    uint8_t *y = (uint8_t *)call->y + at;
    if (how->result == SUMS)
        memcpy((int32_t *)call->y + at, sum, n * sizeof *sum);
    else if (how->result == FLOATS) {
        const float *bias = call->bias;
        to_floats(sum, scale, each, n, bias ? bias + first_of(&how->bias, batch, i) + j * how->bias_across : NULL,
                  how->bias_across, (float *)call->y + at);
    } else if (n == COLUMNS && !each)
        to_bytes(sum, scale, false, COLUMNS, zero, least, least + 255, y);
    else if (n == COLUMNS)
        to_bytes(sum, scale, true, COLUMNS, zero, least, least + 255, y);
    else
        to_bytes(sum, scale, each, n, zero, least, least + 255, y);
}

static void block(const IntegersCall *call, ptrdiff_t batch, ptrdiff_t i, ptrdiff_t rows, ptrdiff_t j, ptrdiff_t n,
                  const int16_t *a, const int16_t *b, const Room *room) {
    const Integers *how = call->how;
    ptrdiff_t depth = depth_of(how->k);
    int32_t sum[ROWS][COLUMNS], other[1][COLUMNS] = {{0}};
    double scale[COLUMNS];
    if (how->a_rows && call->a_zero)
        tile(1, room->ones, depth, b, other);
    for (ptrdiff_t l = 0; l < n && how->b_panels && call->b_zero; l++)
        other[0][l] = zero_at(call->b_zero, how->b_signed, &how->b_zero, batch, j + l);
    for (ptrdiff_t r = 0; r < rows; r += ROWS) {
        ptrdiff_t some = lesser(ROWS, rows - r);
        tile(some, a + r * depth, depth, b, sum);
        for (ptrdiff_t s = 0; s < some; s++) {
            set_right(call, batch, i + r + s, room->row_sums[r + s], *other, sum[s]);
            add_bias(call, batch, i + r + s, j, n, sum[s]);
            if (how->b_scale.along && (how->a_scale.along || r + s == 0))
                scales_of(call, batch, i + r + s, j, n, scale);
            finish(call, batch, i + r + s, j, n, sum[s], how->b_scale.along ? scale : room->row_scales + r + s);
        }
    }
}

/* The item's place: rows of one block in turn where the second factor has to be packed, else columns. */
static void item_of(const IntegersCall *call, ptrdiff_t item, ptrdiff_t *batch, ptrdiff_t *row, ptrdiff_t *column) {
    bool rows_first = !call->how->b_panels;
    ptrdiff_t inner = rows_first ? call->row_blocks : call->column_blocks, outer = rows_first ? call->column_blocks : call->row_blocks;
    ptrdiff_t first = item % inner, rest = item / inner;
    *batch = rest / outer;
    *row = rows_first ? first : rest % outer;
    *column = rows_first ? rest % outer : first;
}

static int items(const void *args, ptrdiff_t begin, ptrdiff_t end, void *scratch) {
    const IntegersCall *call = args;
    const Integers *how = call->how;
    ptrdiff_t depth = depth_of(how->k);
    Room room;
    laid_out(how, scratch, &room);
    for (ptrdiff_t l = 0; how->a_rows && l < depth; l++)
        room.ones[l] = 1;
    for (ptrdiff_t r = 0; how->a_rows && r < call->rows; r++)
        room.row_sums[r] = 0;
    for (ptrdiff_t item = begin; item < end; item++) {
        ptrdiff_t batch, row, column;
        item_of(call, item, &batch, &row, &column);
        ptrdiff_t i = row * call->rows, j = column * call->columns;
        ptrdiff_t rows = lesser(call->rows, how->m - i), columns = lesser(call->columns, how->n - j);
        if (!how->a_rows && room.row_block != batch * call->row_blocks + row)
            take_rows(call, batch, i, rows, &room);
        if (!how->b_panels && room.column_block != batch * call->column_blocks + column)
            take_columns(call, batch, j, columns, &room);
        if (call->a_scale && room.row_block != batch * call->row_blocks + row)
            for (ptrdiff_t r = 0; r < rows; r++)
                room.row_scales[r] = scale_of(call, batch, i + r);
        room.row_block = batch * call->row_blocks + row;
        room.column_block = batch * call->column_blocks + column;
        const int16_t *a = how->a_rows ? how->a_rows + how->a_at[batch] + i * depth : room.rows;
        const int16_t *b = how->b_panels ? how->b_panels + how->b_at[batch] + j * depth : room.panels;
        for (ptrdiff_t p = 0; p < columns; p += COLUMNS)
            block(call, batch, i, rows, j + p, lesser(COLUMNS, columns - p), a, b + p * depth, &room);
    }
    return 0;
}

static void cut_blocks(IntegersCall *call, int threads) {
    const Integers *how = call->how;
    call->rows = most_rows(how);
    call->columns = most_columns(how);
    call->column_blocks = pieces(how->n, call->columns);
    call->row_blocks = pieces(how->m, call->rows);
    if (threads > 1 && call->rows && how->batch * call->column_blocks * call->row_blocks < 2 * threads) {
        call->rows = ROWS * pieces(pieces(call->rows, ROWS), 2);
        call->row_blocks = pieces(how->m, call->rows);
    }
    call->count = how->batch * call->column_blocks * call->row_blocks;
    call->cost = 1 + (ptrdiff_t)((double)call->rows * (double)lesser(call->columns, how->n) * (double)(how->k + 32) / (2.5 * VECTOR));
}
