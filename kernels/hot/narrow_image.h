/* Convolutions of bytes with packed weights: the image, with its padding, is laid out by fours of channels; from it patches of
   sixteen pixels are copied for a block, which all output channels then read. Included by integer.c. */

enum { PATCHES_BYTES = 160 << 10, MOST_PATCHES = 16, NEAR_BYTES = 24 << 10,
       OVER = 64 /* bytes that copies of pixels may read or write beyond theirs */ };

typedef struct {
    ptrdiff_t fours, size[AXES]; /* of channels, and of the image with its padding, as far as windows reach */
} Padded;

static Padded padded_of(const Convolution *c) {
    Padded made = {pieces(c->in_channels, 4), {0}};
    for (int axis = 0; axis < AXES; axis++)
        made.size[axis] = (c->out[axis] - 1) * c->stride[axis] + (c->kernel[axis] - 1) * c->dilation[axis] + 1;
    return made;
}

static ptrdiff_t padded_bytes(const Convolution *c) {
    Padded image = padded_of(c);
    return volume(c->out) ? aligned(4 * image.fours * volume(image.size)) + OVER : 0;
}

/* n pixels of four rows, side by side. */
static void interleave_pixels(const uint8_t *const *row, ptrdiff_t n, int flip, uint8_t *out) {
    const __m128i flips = _mm_set1_epi8((char)flip);
    ptrdiff_t i = 0;
    for (; i + 16 <= n; i += 16) {
        __m128i r[4];
        for (int c = 0; c < 4; c++)
            r[c] = _mm_xor_si128(_mm_loadu_si128((const __m128i *)(row[c] + i)), flips);
        __m128i low = _mm_unpacklo_epi8(r[0], r[1]), high = _mm_unpackhi_epi8(r[0], r[1]);
        __m128i lower = _mm_unpacklo_epi8(r[2], r[3]), higher = _mm_unpackhi_epi8(r[2], r[3]);
        __m128i *to = (__m128i *)(out + 4 * i);
        _mm_storeu_si128(to, _mm_unpacklo_epi16(low, lower));
        _mm_storeu_si128(to + 1, _mm_unpackhi_epi16(low, lower));
        _mm_storeu_si128(to + 2, _mm_unpacklo_epi16(high, higher));
        _mm_storeu_si128(to + 3, _mm_unpackhi_epi16(high, higher));
    }
    for (; i < n; i++)
        for (int c = 0; c < 4; c++)
            out[4 * i + c] = row[c][i] ^ flip;
}

/* Rows of the padded image: four channels of one row an item. Padding is worth the zero point. */
static int image_rows(const void *args, ptrdiff_t begin, ptrdiff_t end, void *scratch) {
    const IntegersCall *call = args;
    const Integers *how = call->how;
    const Convolution *c = &how->window;
    Padded image = padded_of(c);
    ptrdiff_t width = image.size[2], plane = volume(c->size), before = c->before[2];
    ptrdiff_t from = lesser(before, width), inside = lesser(c->size[2], width - from);
    int flip = how->b_signed ? 128 : 0, zero = input_zero(call->b_zero, how->b_signed, &how->b_zero, call->batch, 0);
    for (ptrdiff_t item = begin; item < end; item++) {
        uint8_t *out = call->image + 4 * item * width;
        ptrdiff_t y = item % image.size[1] - c->before[1], z = item / image.size[1] % image.size[0] - c->before[0];
        ptrdiff_t channel = item / (image.size[1] * image.size[0]) * 4;
        if (y < 0 || y >= c->size[1] || z < 0 || z >= c->size[0] || inside <= 0) {
            memset(out, zero, 4 * width);
            continue;
        }
        const uint8_t *row[4];
        for (int i = 0; i < 4; i++) /* weights of channels that are not there are zero */
            row[i] = call->b + how->b_at[call->batch] + lesser(channel + i, c->in_channels - 1) * plane +
                     (z * c->size[1] + y) * c->size[2];
        memset(out, zero, 4 * from);
        interleave_pixels(row, inside, flip, out + 4 * from);
        memset(out + 4 * (from + inside), zero, 4 * (width - from - inside));
    }
    return 0;
}

/* n pixels of four bytes, a stride apart; what is written beyond them is overwritten by the next ones. */
ALWAYS void copy_pixels(const uint8_t *from, ptrdiff_t n, ptrdiff_t stride, uint8_t *to) {
    if (stride == 1)
        for (ptrdiff_t i = 0; i < n; i += 4)
            memcpy(to + 4 * i, from + 4 * i, 16);
    else if (stride == 2)
        for (ptrdiff_t i = 0; i < n; i += 8) {
            __m256 low = _mm256_loadu_ps((const float *)(from + 8 * i)), high = _mm256_loadu_ps((const float *)(from + 8 * i + 32));
            __m256d even = _mm256_castps_pd(_mm256_shuffle_ps(low, high, 0x88));
            _mm256_storeu_pd((double *)(to + 4 * i), _mm256_permute4x64_pd(even, 0xd8));
        }
    else
        for (ptrdiff_t i = 0; i < n; i++)
            memcpy(to + 4 * i, from + 4 * i * stride, 4);
}

/* One patch: every group of sixteen pixels from `pixel` on. */
static void take_patch(const IntegersCall *call, const Padded *image, ptrdiff_t pixel, ptrdiff_t pixels, uint8_t *out) {
    const Convolution *c = &call->how->window;
    Run runs[TILE_COLUMNS];
    ptrdiff_t taps = volume(c->kernel), plane = volume(image->size), stride = c->stride[2], tap[AXES], start[TILE_COLUMNS];
    int n = runs_of(c, pixel, pixels, runs);
    for (int r = 0; r < n; r++)
        start[r] = ((runs[r].at[0] + c->before[0]) * image->size[1] + runs[r].at[1] + c->before[1]) * image->size[2] +
                   runs[r].at[2] + c->before[2];
    offset_of(c, 0, tap);
    for (ptrdiff_t t = 0; t < taps; t++, next_offset(c, tap)) {
        const uint8_t *from = call->image + 4 * ((tap[0] * image->size[1] + tap[1]) * image->size[2] + tap[2]);
        for (ptrdiff_t f = 0; f < image->fours; f++, from += 4 * plane, out += 4 * TILE_COLUMNS) {
            if (n == 1 && pixels == TILE_COLUMNS && stride == 1) {
                memcpy(out, from + 4 * start[0], 4 * TILE_COLUMNS);
                continue;
            }
            for (int r = 0; r < n; r++)
                copy_pixels(from + 4 * start[r], runs[r].count, stride, out + 4 * runs[r].to);
        }
    }
}

/* The sums of a patch's pixels; where channels are no multiple of four, the last ones are repeated, and do not count. */
static void sum_pixels(const Integers *how, const uint8_t *patch, int32_t *sums) {
    ptrdiff_t channels = how->window.in_channels, fours = pieces(channels, 4);
    memset(sums, 0, TILE_COLUMNS * sizeof *sums);
    for (ptrdiff_t g = 0; g < how->groups; g++, patch += 4 * TILE_COLUMNS) {
        int there = (int)lesser(4, channels - g % fours * 4);
        for (int l = 0; l < TILE_COLUMNS; l++)
            for (int i = 0; i < there; i++)
                sums[l] += patch[4 * l + i];
    }
}

static ptrdiff_t most_patches(const Integers *how) {
    ptrdiff_t fit = PATCHES_BYTES / (4 * TILE_COLUMNS * how->groups + 1);
    fit = fit > MOST_PATCHES ? MOST_PATCHES : fit < 1 ? 1 : fit;
    return even_piece(pieces(how->n, TILE_COLUMNS), fit);
}

/* What a thread has beside the image: patches, with the sums of their pixels if any weight has a zero point; and for each output
   channel what its sums lack, its weights' zero point and the scale. */
typedef struct {
    uint8_t *patches;
    int32_t *pixel_sums, *offsets, *zeros;
    float *scales;
    bool summed;
} ImageRoom;

static ptrdiff_t image_room(const Integers *how, uint8_t *scratch, ImageRoom *room) {
    ptrdiff_t used = padded_bytes(&how->window), lines = aligned(4 * how->m);
    room->patches = scratch + used;
    used += aligned(4 * TILE_COLUMNS * how->groups * most_patches(how)) + OVER;
    room->pixel_sums = (int32_t *)(scratch + used);
    used += aligned(4 * TILE_COLUMNS * most_patches(how));
    room->offsets = (int32_t *)(scratch + used);
    room->zeros = (int32_t *)(scratch + used + lines);
    room->scales = (float *)(scratch + used + 2 * lines);
    return used + 3 * lines;
}

static void take_lines(const IntegersCall *call, const ImageRoom *room) {
    const Integers *how = call->how;
    ptrdiff_t batch = call->batch;
    uint32_t zero = (uint32_t)input_zero(call->b_zero, how->b_signed, &how->b_zero, batch, 0);
    for (ptrdiff_t i = 0; i < how->m; i++) {
        uint32_t w_zero = (uint32_t)weight_zero(call->a_zero, how->a_signed, &how->a_zero, batch, i);
        uint32_t bias = call->bias ? (uint32_t)((const int32_t *)call->bias)[first_of(&how->bias, batch, i)] : 0;
        uint32_t line = (uint32_t)how->line_sums[how->sums_at[batch] + i];
        room->offsets[i] = (int32_t)(bias + zero * (w_zero * (uint32_t)how->k - line));
        room->zeros[i] = (int32_t)w_zero;
        room->scales[i] = how->result == SUMS ? 0 : (float)scale_of(call, batch, i);
    }
}

/* Four output channels from i on of a patch, whose first pixel is j. */
static void four_channels(const IntegersCall *call, ptrdiff_t i, ptrdiff_t j, ptrdiff_t p, ptrdiff_t n, const ImageRoom *room,
                          Finish *finish) {
    const Integers *how = call->how;
    ptrdiff_t channels = lesser(TILE_ROWS, how->m - i);
    const uint8_t *block = how->blocks + how->a_at[call->batch] + i / TILE_ROWS * how->block_size;
    int32_t sum[TILE_ROWS][TILE_COLUMNS];
    by_columns(n, block, room->patches + 4 * p * how->groups, how->groups, sum);
    for (ptrdiff_t s = 0; s < channels && room->summed; s++)
        for (int l = 0; l < TILE_COLUMNS; l++)
            sum[s][l] = (int32_t)((uint32_t)sum[s][l] - (uint32_t)room->zeros[i + s] * (uint32_t)room->pixel_sums[p + l]);
    finish->offset = room->offsets + i;
    finish->scale = room->scales + i;
    finish_rows(finish, false, sum, channels, n, call->y, (call->batch * how->m + i) * how->n + j + p, how->n);
}

/* Some output channels of a block of pixels. What is read again and again stays in the first-level cache: as many patches as fit,
   or the weights where not even one does. */
static void channels_by_pixels(const IntegersCall *call, ptrdiff_t i, ptrdiff_t end, ptrdiff_t j, ptrdiff_t pixels,
                               const ImageRoom *room) {
    ptrdiff_t near = NEAR_BYTES / (4 * TILE_COLUMNS * call->how->groups + 1) * TILE_COLUMNS;
    Finish finish = begun(call);
    const float none = 0;
    finish.bias = &none;
    finish.step = 1;
    for (ptrdiff_t first = 0; first < pixels; first += near ? near : pixels)
        for (ptrdiff_t c = i; c < end; c += TILE_ROWS)
            for (ptrdiff_t p = first; p < (near ? lesser(first + near, pixels) : pixels); p += TILE_COLUMNS)
                four_channels(call, c, j, p, lesser(TILE_COLUMNS, pixels - p), room, &finish);
}

static int image_items(const void *args, ptrdiff_t begin, ptrdiff_t end, void *scratch) {
    const IntegersCall *call = args;
    const Integers *how = call->how;
    Padded image = padded_of(&how->window);
    ImageRoom room;
    ptrdiff_t there = -1;
    image_room(how, scratch, &room);
    take_lines(call, &room);
    room.summed = any_zero(call->a_zero, how->a_signed, &how->a_zero, call->batch, how->m);
    for (ptrdiff_t item = begin; item < end; item++) {
        ptrdiff_t block = item / call->row_blocks, i = item % call->row_blocks * call->rows, j = block * call->columns;
        ptrdiff_t pixels = lesser(call->columns, how->n - j);
        for (ptrdiff_t p = 0; p < pixels && block != there; p += TILE_COLUMNS) {
            uint8_t *patch = room.patches + 4 * p * how->groups;
            take_patch(call, &image, j + p, lesser(TILE_COLUMNS, pixels - p), patch);
            if (room.summed)
                sum_pixels(how, patch, room.pixel_sums + p);
        }
        there = block;
        channels_by_pixels(call, i, lesser(i + call->rows, how->m), j, pixels, &room);
    }
    return 0;
}

/* One image of one group: its rows, then its pixels. */
static void cut_image(IntegersCall *call, int threads) {
    const Integers *how = call->how;
    call->columns = TILE_COLUMNS * most_patches(how);
    call->column_blocks = pieces(how->n, call->columns);
    call->rows = TILE_ROWS * pieces(how->m, TILE_ROWS);
    if (threads > 1 && call->column_blocks < 3 * threads)
        call->rows = TILE_ROWS * pieces(pieces(how->m, TILE_ROWS), 2 * threads);
    call->row_blocks = pieces(how->m, call->rows);
    call->count = call->column_blocks * call->row_blocks;
    call->cost = 1 + (ptrdiff_t)((double)call->rows * (double)lesser(call->columns, how->n) * (double)(4 * how->groups + 32) / 80);
}

static ptrdiff_t image_lines(const Integers *how) {
    Padded image = padded_of(&how->window);
    return volume(how->window.out) ? image.fours * image.size[0] * image.size[1] : 0;
}
