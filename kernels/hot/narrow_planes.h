/* Convolutions of bytes with one input channel a group, along two axes: rows of a channel, less the zero point and with their
   padding, are widened to 16 bits, one plane for each remainder of a place by the strides. So every tap reads a plane as it lies,
   and two of them are multiplied at a time; what lies between the rows of the result is left out at the end. Included by
   integer.c. */

enum { PLANE_BYTES = 12 << 10, MOST_TAPS = 128, MOST_STRIDE = 4, BESIDE = 32 };

/* Two taps: where they read in the planes, and their weights side by side. */
typedef struct {
    ptrdiff_t first, second;
    int32_t weights;
} Taps;

/* How a channel is cut: rows of the result in a block, and the planes that it reads. */
typedef struct {
    ptrdiff_t rows, blocks, pitch, height, plane, bytes;
    ptrdiff_t first[MOST_STRIDE], last[MOST_STRIDE]; /* places of a row that are no padding, by their remainder */
} Flat;

static bool is_flat(const Integers *how) {
    const Convolution *c = &how->window;
    return how->k <= MOST_TAPS && c->stride[2] <= MOST_STRIDE && c->out[0] == 1 && c->kernel[0] == 1 && c->size[0] == 1 && !c->before[0] && volume(c->out);
}

static Flat flat_of(const Convolution *c) {
    Flat flat;
    flat.pitch = pieces((c->out[2] - 1) * c->stride[2] + (c->kernel[2] - 1) * c->dilation[2] + 1, c->stride[2]);
    ptrdiff_t most = PLANE_BYTES / (2 * flat.pitch * c->stride[1] * c->stride[2]);
    flat.rows = even_piece(c->out[1], most ? most : 1);
    flat.blocks = pieces(c->out[1], flat.rows);
    flat.height = pieces((flat.rows - 1) * c->stride[1] + (c->kernel[1] - 1) * c->dilation[1] + 1, c->stride[1]);
    flat.plane = flat.height * flat.pitch + BESIDE;
    for (ptrdiff_t p = 0; p < c->stride[2]; p++) {
        ptrdiff_t beyond = c->size[2] + c->before[2] - p;
        flat.first[p] = c->before[2] > p ? lesser(pieces(c->before[2] - p, c->stride[2]), flat.pitch) : 0;
        flat.last[p] = beyond > 0 ? lesser(pieces(beyond, c->stride[2]), flat.pitch) : 0;
        flat.last[p] = flat.last[p] > flat.first[p] ? flat.last[p] : flat.first[p];
    }
    flat.bytes = aligned(2 * flat.plane * c->stride[1] * c->stride[2]);
    return flat;
}

static ptrdiff_t flat_room(const Convolution *c) {
    Flat flat = flat_of(c);
    return flat.bytes + 4 * (flat.rows * flat.pitch + BESIDE);
}

/* Sixteen places of a row, a stride of one or two apart. */
ALWAYS __m256i sixteen_places(const uint8_t *x, bool is_signed, ptrdiff_t stride) {
    if (stride == 1) {
        __m128i some = _mm_loadu_si128((const __m128i *)x);
        return is_signed ? _mm256_cvtepi8_epi16(some) : _mm256_cvtepu8_epi16(some);
    }
    __m256i both = wide_at(x);
    return is_signed ? _mm256_srai_epi16(_mm256_slli_epi16(both, 8), 8) : _mm256_and_si256(both, _mm256_set1_epi16(255));
}

/* n places of a row, a stride apart; with 16 of them more is written, and read as far as `end`. */
ALWAYS void widen_places(const uint8_t *x, const uint8_t *end, bool is_signed, ptrdiff_t n, ptrdiff_t stride, int zero, int16_t *out) {
    ptrdiff_t i = 0;
    if (stride <= 2)
        for (; i < n && end - x >= (i + 16) * stride; i += 16)
            _mm256_storeu_si256((__m256i *)(out + i), _mm256_sub_epi16(sixteen_places(x + i * stride, is_signed, stride),
                                                                       _mm256_set1_epi16((int16_t)zero)));
    for (; i < n; i++)
        out[i] = (int16_t)(byte_at(x + i * stride, is_signed) - zero);
}

static void no_places(int16_t *out, ptrdiff_t n) {
    for (ptrdiff_t i = 0; i < n; i += 16)
        _mm256_storeu_si256((__m256i *)(out + i), _mm256_setzero_si256());
}

/* One row of the input, or of padding where it is NULL, in the planes of each column's remainder. What is written beyond it is
   overwritten by the next row. */
static void take_plane_row(const Convolution *c, const Flat *flat, const uint8_t *row, const uint8_t *end, bool is_signed, int zero,
                           int16_t *out) {
    ptrdiff_t stride = c->stride[2], before = c->before[2];
    for (ptrdiff_t p = 0; p < stride; p++, out += flat->plane) {
        ptrdiff_t first = flat->first[p], last = row ? flat->last[p] : first;
        const uint8_t *from = row + first * stride + p - before;
        no_places(out, first);
        if (stride == 1 && !is_signed)
            widen_places(from, end, false, last - first, 1, zero, out + first);
        else if (stride == 2 && !is_signed)
            widen_places(from, end, false, last - first, 2, zero, out + first);
        else if (stride == 1)
            widen_places(from, end, true, last - first, 1, zero, out + first);
        else
            widen_places(from, end, is_signed, last - first, stride, zero, out + first);
        no_places(out + last, flat->pitch - last);
    }
}

/* Where the taps of a window read. */
static int places_of(const Convolution *c, ptrdiff_t k, const Flat *flat, Taps *taps) {
    for (ptrdiff_t t = 0; t < k; t++) {
        ptrdiff_t y = t / c->kernel[2] * c->dilation[1], x = t % c->kernel[2] * c->dilation[2];
        ptrdiff_t plane = y % c->stride[1] * c->stride[2] + x % c->stride[2];
        ptrdiff_t at = plane * flat->plane + y / c->stride[1] * flat->pitch + x / c->stride[2];
        if (t % 2)
            taps[t / 2].second = at;
        else
            taps[t / 2].first = taps[t / 2].second = at;
    }
    return (int)pieces(k, 2);
}

static void take_weights(const IntegersCall *call, ptrdiff_t batch, ptrdiff_t channel, Taps *taps) {
    const Integers *how = call->how;
    const uint8_t *w = call->a + how->a_at[batch] + channel * how->k;
    int zero = zero_at(call->a_zero, how->a_signed, &how->a_zero, batch, channel);
    for (ptrdiff_t t = 0; t < how->k; t++) {
        int weight = byte_at(w + t, how->a_signed) - zero;
        if (t % 2)
            taps[t / 2].weights |= (int32_t)((uint32_t)weight << 16);
        else
            taps[t / 2].weights = weight & 0xffff;
    }
}

/* Rows that lie a pitch apart, close together; what is copied beyond a row is overwritten by the next one. */
static void close_rows(const char *from, ptrdiff_t pitch, ptrdiff_t width, ptrdiff_t rows, char *to) {
    const char *end = to + rows * width;
    for (ptrdiff_t r = 0; r < rows; r++, from += pitch, to += width) {
        ptrdiff_t i = 0;
        for (; i < width && end - to >= i + 16; i += 16)
            _mm_storeu_si128((__m128i *)(to + i), _mm_loadu_si128((const __m128i *)(from + i)));
        if (i < width)
            memcpy(to + i, from + i, width - i);
    }
}

/* Sixteen sums, in order. */
ALWAYS void flat_sums(const int16_t *planes, const Taps *taps, int n, __m256i *sums) {
    __m256i low = _mm256_setzero_si256(), high = low;
    for (int t = 0; t < n; t++) {
        __m256i a = wide_at((const uint8_t *)(planes + taps[t].first)), b = wide_at((const uint8_t *)(planes + taps[t].second));
        __m256i w = _mm256_set1_epi32(taps[t].weights);
        low = _mm256_add_epi32(low, _mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), w));
        high = _mm256_add_epi32(high, _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), w));
    }
    sums[0] = _mm256_permute2x128_si256(low, high, 0x20);
    sums[1] = _mm256_permute2x128_si256(low, high, 0x31);
}

/* Sums and what becomes of them, one after another, whatever row they are in. */
ALWAYS void flat_row(const int16_t *planes, const Taps *taps, int n, ptrdiff_t count, const Finish *finish, enum Result result,
                     void *out) {
    for (ptrdiff_t q = 0; q < count; q += TILE_COLUMNS) {
        __m256i made[2];
        int32_t sum[2][TILE_COLUMNS];
        flat_sums(planes + q, taps, n, made);
        _mm256_storeu_si256((__m256i *)sum[0], made[0]);
        _mm256_storeu_si256((__m256i *)(sum[0] + 8), made[1]);
        if (result == SUMS)
            finish_sums(finish, sum[0], 0, false, TILE_COLUMNS, (int32_t *)out + q);
        else if (result == FLOATS)
            finish_floats(finish, sum[0], 0, false, TILE_COLUMNS, (float *)out + q);
        else {
            __m256i whole = nearest_sums(finish, sum[0], 0, false);
            whole = result == SIGNED_BYTES ? _mm256_packs_epi16(whole, whole) : _mm256_packus_epi16(whole, whole);
            whole = _mm256_permutevar8x32_epi32(whole, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
            _mm_storeu_si128((__m128i *)((uint8_t *)out + q), _mm256_castsi256_si128(whole));
        }
    }
}

static void take_planes(const IntegersCall *call, const Flat *flat, ptrdiff_t batch, ptrdiff_t row, int16_t *planes) {
    const Integers *how = call->how;
    const Convolution *c = &how->window;
    const uint8_t *x = call->b + how->b_at[batch], *end = call->b + how->batch * c->size[1] * c->size[2];
    int zero = zero_at(call->b_zero, how->b_signed, &how->b_zero, batch, 0);
    for (ptrdiff_t h = 0, y = row * c->stride[1] - c->before[1]; h < flat->height; h++)
        for (ptrdiff_t p = 0; p < c->stride[1]; p++, y++)
            take_plane_row(c, flat, y < 0 || y >= c->size[1] ? NULL : x + y * c->size[2], end, how->b_signed, zero,
                           planes + p * c->stride[2] * flat->plane + h * flat->pitch);
}

/* One block of rows of one output channel. */
static void flat_block(const IntegersCall *call, const Flat *flat, ptrdiff_t batch, ptrdiff_t channel, ptrdiff_t row, Taps *taps,
                       int n, char *scratch) {
    const Integers *how = call->how;
    const Convolution *c = &how->window;
    int16_t *planes = (int16_t *)scratch;
    char *made = scratch + flat->bytes;
    ptrdiff_t rows = lesser(flat->rows, c->out[1] - row), size = how->result == SUMS || how->result == FLOATS ? 4 : 1;
    take_planes(call, flat, batch, row, planes);
    take_weights(call, batch, channel, taps);
    int32_t offset = call->bias && how->result != FLOATS ? ((const int32_t *)call->bias)[first_of(&how->bias, batch, channel)] : 0;
    float scale = how->result == SUMS ? 0 : (float)scale_of(call, batch, channel), none = 0;
    Finish finish = begun(call);
    finish.offset = &offset, finish.scale = &scale, finish.step = 0;
    finish.bias = call->bias && how->result == FLOATS ? (const float *)call->bias + first_of(&how->bias, batch, channel) : &none;
    ptrdiff_t count = (rows - 1) * flat->pitch + c->out[2];
    switch (how->result) {
    case SUMS: flat_row(planes, taps, n, count, &finish, SUMS, made); break;
    case FLOATS: flat_row(planes, taps, n, count, &finish, FLOATS, made); break;
    case SIGNED_BYTES: flat_row(planes, taps, n, count, &finish, SIGNED_BYTES, made); break;
    default: flat_row(planes, taps, n, count, &finish, UNSIGNED_BYTES, made);
    }
    close_rows(made, size * flat->pitch, size * c->out[2], rows,
               (char *)call->y + size * (((batch * how->m + channel) * c->out[1] + row) * c->out[2]));
}

static int flat_items(const void *args, ptrdiff_t begin, ptrdiff_t end, void *scratch) {
    const IntegersCall *call = args;
    Flat flat = flat_of(&call->how->window);
    Taps taps[MOST_TAPS / 2];
    int n = places_of(&call->how->window, call->how->k, &flat, taps);
    for (ptrdiff_t item = begin; item < end; item++) {
        ptrdiff_t channel = item / flat.blocks;
        flat_block(call, &flat, channel / call->how->m, channel % call->how->m, item % flat.blocks * flat.rows, taps, n, scratch);
    }
    return 0;
}

static void cut_flat(IntegersCall *call) {
    Flat flat = flat_of(&call->how->window);
    call->count = call->how->batch * call->how->m * flat.blocks;
    call->cost = 100 + flat.rows * flat.pitch * call->how->k / 30;
}
