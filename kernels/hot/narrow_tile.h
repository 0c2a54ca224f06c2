/* Sums of a tile over weights as narrow_pack.h lays them out, and what becomes of them. Either the weights or the activations
   (unsigned bytes, in groups of four) are the tile's four rows, of which one at a time is repeated; the other are its sixteen
   columns. Included by integer.c. */

enum { TILE_ROWS = 4, TILE_COLUMNS = 16 };

ALWAYS __m256i repeated(const uint8_t *x) {
    int32_t four;
    memcpy(&four, x, sizeof four);
    return _mm256_set1_epi32(four);
}

ALWAYS __m256i wide_at(const uint8_t *x) {
    return _mm256_loadu_si256((const __m256i *)x);
}

/* In 16 bits, the sums of neighbours, which packing has made sure to fit. */
ALWAYS __m256i neighbours(bool weights_repeat, __m256i row, __m256i column) {
    return weights_repeat ? _mm256_maddubs_epi16(column, row) : _mm256_maddubs_epi16(row, column);
}

typedef struct {
    __m256i even, odd;
} Halves;

/* Four unsigned bytes in 16 bits, the first and third, then the others. */
ALWAYS Halves halves(__m256i x) {
    return (Halves){_mm256_and_si256(x, _mm256_set1_epi16(255)), _mm256_srli_epi16(x, 8)};
}

/* `rows`, `vectors` and who repeats are constants wherever this is inlined. */
ALWAYS void tile_sums(bool weights_repeat, int rows, int vectors, const uint8_t *block, const uint8_t *x, ptrdiff_t groups,
                      int32_t (*out)[TILE_COLUMNS]) {
    const Head *head = (const Head *)block;
    const uint32_t *place = (const uint32_t *)(head + 1);
    const uint8_t *w = block + weights_at(groups);
    const size_t each = weights_repeat ? 4 * TILE_ROWS : 4 * TILE_COLUMNS, step = weights_repeat ? 4 * TILE_COLUMNS : 4 * TILE_ROWS;
    const __m256i one = _mm256_set1_epi16(1);
    __m256i sum[TILE_ROWS][2];
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++)
        sum[r][0] = sum[r][1] = _mm256_setzero_si256();
    for (int32_t n = head->quads; n > 0; n--, place += 2, w += 2 * each) {
        const uint8_t *x0 = x + place[0] * step, *x1 = x + place[1] * step;
        const uint8_t *row0 = weights_repeat ? w : x0, *row1 = weights_repeat ? w + each : x1;
        const uint8_t *column0 = weights_repeat ? x0 : w, *column1 = weights_repeat ? x1 : w + each;
#pragma GCC unroll 4
        for (int r = 0; r < rows && !weights_repeat; r++) {
            __m256i a = repeated(row0 + 4 * r), b = repeated(row1 + 4 * r);
#pragma GCC unroll 2
            for (int v = 0; v < vectors; v++) {
                __m256i four = _mm256_add_epi16(_mm256_maddubs_epi16(a, wide_at(column0 + 32 * v)),
                                                _mm256_maddubs_epi16(b, wide_at(column1 + 32 * v)));
                sum[r][v] = _mm256_add_epi32(sum[r][v], _mm256_madd_epi16(four, one));
            }
            __asm__("" ::: "memory");
        }
#pragma GCC unroll 2
        for (int v = 0; v < vectors && weights_repeat; v++) {
            __m256i c = wide_at(column0 + 32 * v), d = wide_at(column1 + 32 * v);
#pragma GCC unroll 4
            for (int r = 0; r < rows; r++) {
                __m256i four = _mm256_add_epi16(_mm256_maddubs_epi16(c, repeated(row0 + 4 * r)),
                                                _mm256_maddubs_epi16(d, repeated(row1 + 4 * r)));
                sum[r][v] = _mm256_add_epi32(sum[r][v], _mm256_madd_epi16(four, one));
            }
            __asm__("" ::: "memory"); /* or what was read would be kept for the next vector, and sums spilled */
        }
    }
    for (int32_t n = head->narrows; n > 0; n--, place++, w += each) {
        const uint8_t *x0 = x + *place * step, *row = weights_repeat ? w : x0, *column = weights_repeat ? x0 : w;
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++) {
            __m256i a = repeated(row + 4 * r);
#pragma GCC unroll 2
            for (int v = 0; v < vectors; v++)
                sum[r][v] = _mm256_add_epi32(
                    sum[r][v], _mm256_madd_epi16(neighbours(weights_repeat, a, wide_at(column + 32 * v)), one));
        }
    }
    for (int32_t n = head->wides; n > 0; n--, place++, w += 2 * each) {
        const uint8_t *x0 = x + *place * step;
        Halves column[2];
#pragma GCC unroll 2
        for (int v = 0; v < vectors && weights_repeat; v++)
            column[v] = halves(wide_at(x0 + 32 * v));
#pragma GCC unroll 4
        for (int r = 0; r < rows && weights_repeat; r++) {
            __m256i even = repeated(w + 4 * r), odd = repeated(w + each + 4 * r);
#pragma GCC unroll 2
            for (int v = 0; v < vectors; v++) {
                sum[r][v] = _mm256_add_epi32(sum[r][v], _mm256_madd_epi16(even, column[v].even));
                sum[r][v] = _mm256_add_epi32(sum[r][v], _mm256_madd_epi16(odd, column[v].odd));
            }
        }
#pragma GCC unroll 4
        for (int r = 0; r < rows && !weights_repeat; r++) {
            Halves row = halves(repeated(x0 + 4 * r));
#pragma GCC unroll 2
            for (int v = 0; v < vectors; v++) {
                __m256i pair = _mm256_add_epi32(_mm256_madd_epi16(row.even, wide_at(w + 32 * v)),
                                                _mm256_madd_epi16(row.odd, wide_at(w + each + 32 * v)));
                sum[r][v] = _mm256_add_epi32(sum[r][v], pair);
            }
            __asm__("" ::: "memory");
        }
    }
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            _mm256_storeu_si256((__m256i *)(out[r] + 8 * v), sum[r][v]);
}

/* Never inlined, so that its registers are for the sums alone. */
static __attribute__((noinline)) void by_rows(ptrdiff_t rows, const uint8_t *block, const uint8_t *x, ptrdiff_t groups,
                                              int32_t (*out)[TILE_COLUMNS]) {
    switch (rows) {
    case 1: tile_sums(false, 1, 2, block, x, groups, out); return;
    case 2: tile_sums(false, 2, 2, block, x, groups, out); return;
    case 3: tile_sums(false, 3, 2, block, x, groups, out); return;
    default: tile_sums(false, TILE_ROWS, 2, block, x, groups, out);
    }
}

static __attribute__((noinline)) void by_columns(ptrdiff_t columns, const uint8_t *block, const uint8_t *x, ptrdiff_t groups,
                                                 int32_t (*out)[TILE_COLUMNS]) {
    if (columns <= 8)
        tile_sums(true, TILE_ROWS, 1, block, x, groups, out);
    else
        tile_sums(true, TILE_ROWS, 2, block, x, groups, out);
}

/* What is added to sums, what each is worth, and what is added then: for every column of a tile where they run across, else one
   for each row. With bytes also a zero point. */
typedef struct {
    const int32_t *offset;
    const float *scale, *bias;
    ptrdiff_t step; /* to those of the next row */
    int zero;
    enum Result result;
} Finish;

ALWAYS __m256i offset_sums(const Finish *how, const int32_t *sum, int v, ptrdiff_t r, bool across) {
    const uint8_t *offset = (const uint8_t *)(how->offset + r * how->step);
    return _mm256_add_epi32(wide_at((const uint8_t *)(sum + 8 * v)), across ? wide_at(offset + 32 * v) : repeated(offset));
}

ALWAYS __m256 float_sums(const Finish *how, const int32_t *sum, int v, ptrdiff_t r, bool across) {
    return _mm256_cvtepi32_ps(offset_sums(how, sum, v, r, across));
}

/* Those of a row's numbers that go with a vector of its columns. */
ALWAYS __m256 floats_of(const Finish *how, const float *numbers, int v, ptrdiff_t r, bool across) {
    return across ? _mm256_loadu_ps(numbers + r * how->step + 8 * v) : _mm256_broadcast_ss(numbers + r * how->step);
}

ALWAYS __m256 scaled_sums(const Finish *how, const int32_t *sum, int v, ptrdiff_t r, bool across) {
    return _mm256_mul_ps(float_sums(how, sum, v, r, across), floats_of(how, how->scale, v, r, across));
}

/* The nearest whole numbers of a row, half to even, in 16 bits; what is too low, and NaN, becomes the lowest. */
ALWAYS __m256i nearest_sums(const Finish *how, const int32_t *sum, ptrdiff_t r, bool across) {
    const __m256 most = _mm256_set1_ps(0x1p20f);
    __m256i low = _mm256_cvtps_epi32(_mm256_min_ps(most, scaled_sums(how, sum, 0, r, across)));
    __m256i high = _mm256_cvtps_epi32(_mm256_min_ps(most, scaled_sums(how, sum, 1, r, across)));
    return _mm256_adds_epi16(_mm256_packs_epi32(low, high), _mm256_set1_epi16((int16_t)how->zero));
}

/* Rows r and s of a tile as bytes, n of each. */
ALWAYS void finish_bytes(const Finish *how, int32_t (*sum)[TILE_COLUMNS], ptrdiff_t r, ptrdiff_t s, bool across, ptrdiff_t n,
                         uint8_t *first, uint8_t *second) {
    __m256i low = nearest_sums(how, sum[r], r, across), high = nearest_sums(how, sum[s], s, across);
    __m256i both = how->result == SIGNED_BYTES ? _mm256_packs_epi16(low, high) : _mm256_packus_epi16(low, high);
    both = _mm256_permutevar8x32_epi32(both, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    if (n == TILE_COLUMNS) {
        _mm_storeu_si128((__m128i *)second, _mm256_extracti128_si256(both, 1));
        _mm_storeu_si128((__m128i *)first, _mm256_castsi256_si128(both));
    } else {
        uint8_t made[2 * TILE_COLUMNS];
        _mm256_storeu_si256((__m256i *)made, both);
        memcpy(second, made + TILE_COLUMNS, n);
        memcpy(first, made, n);
    }
}

ALWAYS void finish_floats(const Finish *how, const int32_t *sum, ptrdiff_t r, bool across, ptrdiff_t n, float *y) {
    float made[TILE_COLUMNS], *to = n < TILE_COLUMNS ? made : y;
    for (int v = 0; v < 2; v++)
        _mm256_storeu_ps(to + 8 * v, _mm256_fmadd_ps(float_sums(how, sum, v, r, across), floats_of(how, how->scale, v, r, across),
                                                     floats_of(how, how->bias, v, r, across)));
    if (n < TILE_COLUMNS)
        memcpy(y, made, n * sizeof *made);
}

ALWAYS void finish_sums(const Finish *how, const int32_t *sum, ptrdiff_t r, bool across, ptrdiff_t n, int32_t *y) {
    int32_t made[TILE_COLUMNS], *to = n < TILE_COLUMNS ? made : y;
    for (int v = 0; v < 2; v++)
        _mm256_storeu_si256((__m256i *)(to + 8 * v), offset_sums(how, sum, v, r, across));
    if (n < TILE_COLUMNS)
        memcpy(y, made, n * sizeof *made);
}

/* The rows of a tile's sums that are there, each a `line` behind the other in the result. */
ALWAYS void finish_rows(const Finish *how, bool across, int32_t (*sum)[TILE_COLUMNS], ptrdiff_t rows, ptrdiff_t n, void *y,
                        ptrdiff_t at, ptrdiff_t line) {
    if (how->result == SUMS)
        for (ptrdiff_t r = 0; r < rows; r++)
            finish_sums(how, sum[r], r, across, n, (int32_t *)y + at + r * line);
    else if (how->result == FLOATS)
        for (ptrdiff_t r = 0; r < rows; r++)
            finish_floats(how, sum[r], r, across, n, (float *)y + at + r * line);
    else
        for (ptrdiff_t r = 0; r < rows; r += 2) {
            ptrdiff_t s = lesser(r + 1, rows - 1); /* an odd last row is written twice */
            finish_bytes(how, sum, r, s, across, n, (uint8_t *)y + at + r * line, (uint8_t *)y + at + s * line);
        }
}

static Finish begun(const IntegersCall *call) {
    Finish finish = {.result = call->how->result};
    finish.zero = call->y_zero ? byte_at(call->y_zero, call->how->result == SIGNED_BYTES) : 0;
    return finish;
}

/* Zero points of weights that were made signed, and of activations that were made unsigned. */
static int weight_zero(const uint8_t *zero, bool is_signed, const Lines *lines, ptrdiff_t batch, ptrdiff_t i) {
    return zero_at(zero, is_signed, lines, batch, i) - (is_signed ? 0 : 128);
}

static int input_zero(const uint8_t *zero, bool is_signed, const Lines *lines, ptrdiff_t batch, ptrdiff_t i) {
    return zero_at(zero, is_signed, lines, batch, i) + (is_signed ? 128 : 0);
}

/* Whether any of a factor's lines has a zero point, so that the sums of the other one's count. */
static bool any_zero(const uint8_t *zero, bool is_signed, const Lines *lines, ptrdiff_t batch, ptrdiff_t n) {
    for (ptrdiff_t i = 0; i < (lines->along ? n : 1); i++)
        if (weight_zero(zero, is_signed, lines, batch, i))
            return true;
    return false;
}
