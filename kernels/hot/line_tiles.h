/* Winograd's way: eight numbers of the input become eight others, whose products with as many made of the weights give the
   outputs of a tile, 9 - taps of them. The points are 0, 1, -1, 1/2, -1/2, 2, -2 and infinity; with sums over channels in
   chains of SHORT the results are about as exact as direct sums in one chain. */

enum { SHORT = 32, GROUP = PADDED_ROWS, MOST_BLOCK = 2, TILE_ROOM = (TRANSFORMED - 2) * PLACES + OCTET };

#if defined(__AVX2__)
enum { ROWS = 6 };
#else
enum { ROWS = 2 }; /* of a group at a time: a vector takes two registers */
#endif

typedef float quad __attribute__((vector_size(16)));

INLINE quad quad_at(const float *x) {
    quad v;
    memcpy(&v, x, sizeof v);
    return v;
}

static ptrdiff_t outputs_of(const Line *how) {
    return TRANSFORMED + 1 - how->taps;
}

static ptrdiff_t tiles_size(ptrdiff_t out_channels, ptrdiff_t in_channels, ptrdiff_t taps) {
    (void)taps;
    return pieces(out_channels, GROUP) * GROUP * TRANSFORMED * in_channels;
}

/* A number of the transformed weights of one channel. */
static double transformed_weight(const float *w, ptrdiff_t taps, int number) {
    static const double point[TRANSFORMED - 1] = {0, 1, -1, 0.5, -0.5, 2, -2};
    static const double scale[TRANSFORMED - 1] = {1, -2. / 9, -2. / 9, 32. / 45, 32. / 45, 1. / 90, 1. / 90};
    double sum = 0, power = 1;
    if (number == TRANSFORMED - 1)
        return w[taps - 1];
    for (ptrdiff_t t = 0; t < taps; t++, power *= point[number])
        sum += w[t] * power;
    return sum * scale[number];
}

/* For each group of output channels and each number: a row of GROUP weights an input channel. */
static void pack_tiles(const float *w, ptrdiff_t out_channels, ptrdiff_t in_channels, ptrdiff_t taps, float *to) {
    for (ptrdiff_t i = 0; i < out_channels; i += GROUP)
        for (int number = 0; number < TRANSFORMED; number++)
            for (ptrdiff_t c = 0; c < in_channels; c++)
                for (ptrdiff_t r = i; r < i + GROUP; r++)
                    *to++ = r < out_channels ? (float)transformed_weight(w + (r * in_channels + c) * taps, taps, number) : 0;
}

static ptrdiff_t tiles_scratch(const Line *how) {
    return MOST_BLOCK * TRANSFORMED * (how->in_channels + GROUP) * PLACES * (ptrdiff_t)sizeof(float);
}

/* Four by four numbers, twice side by side: rows become columns. */
INLINE void transposed(const octet q[4], octet v[4]) {
    octet a = SHUFFLE(octet_bits, q[0], q[1], 0, 8, 1, 9, 4, 12, 5, 13);
    octet b = SHUFFLE(octet_bits, q[0], q[1], 2, 10, 3, 11, 6, 14, 7, 15);
    octet c = SHUFFLE(octet_bits, q[2], q[3], 0, 8, 1, 9, 4, 12, 5, 13);
    octet d = SHUFFLE(octet_bits, q[2], q[3], 2, 10, 3, 11, 6, 14, 7, 15);
    v[0] = SHUFFLE(octet_bits, a, c, 0, 1, 8, 9, 4, 5, 12, 13);
    v[1] = SHUFFLE(octet_bits, a, c, 2, 3, 10, 11, 6, 7, 14, 15);
    v[2] = SHUFFLE(octet_bits, b, d, 0, 1, 8, 9, 4, 5, 12, 13);
    v[3] = SHUFFLE(octet_bits, b, d, 2, 3, 10, 11, 6, 7, 14, 15);
}

/* Four numbers of each of eight tiles, `apart` from tile to tile, as four vectors over the tiles. */
INLINE void load_tiles(const float *x, ptrdiff_t apart, octet v[4]) {
    octet q[4];
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++) {
        quad low = quad_at(x + j * apart), high = quad_at(x + (j + 4) * apart);
        q[j] = (octet){low[0], low[1], low[2], low[3], high[0], high[1], high[2], high[3]};
    }
    transposed(q, v);
}

/* The other way; four numbers are written, of which the next tile may overwrite some. */
INLINE void store_tile(float *y, octet v, int half) {
    quad q = half ? (quad){v[4], v[5], v[6], v[7]} : (quad){v[0], v[1], v[2], v[3]};
    memcpy(y, &q, sizeof q);
}

/* PLACES tiles of one channel; number by number they are `apart` in `to`. */
static void transform(const float *x, ptrdiff_t outputs, float *to, ptrdiff_t apart) {
    for (int half = 0; half < PLACES; half += OCTET) {
        octet d[TRANSFORMED];
        load_tiles(x + half * outputs, outputs, d);
        load_tiles(x + half * outputs + 4, outputs, d + 4);
        octet ones = d[2] + d[6] - 4.25f * d[4], odd_ones = d[1] + d[5] - 4.25f * d[3];
        octet halves = 4 * d[2] - 5 * d[4] + d[6], odd_halves = 2 * d[1] - 2.5f * d[3] + 0.5f * d[5];
        octet twos = 0.25f * d[2] - 1.25f * d[4] + d[6], odd_twos = 0.5f * d[1] - 2.5f * d[3] + 2 * d[5];
        float *at = to + half;
        put_octet(at, d[0] - d[6] + 5.25f * (d[4] - d[2]));
        put_octet(at + apart, ones + odd_ones);
        put_octet(at + 2 * apart, ones - odd_ones);
        put_octet(at + 3 * apart, halves + odd_halves);
        put_octet(at + 4 * apart, halves - odd_halves);
        put_octet(at + 5 * apart, twos + odd_twos);
        put_octet(at + 6 * apart, twos - odd_twos);
        put_octet(at + 7 * apart, d[7] - d[1] + 5.25f * (d[3] - d[5]));
    }
}

/* A panel of tiles of all channels. */
static void transform_panel(const Line *how, const float *x, ptrdiff_t tile, float *to) {
    ptrdiff_t outputs = outputs_of(how), span = (PLACES - 1) * outputs + TRANSFORMED, from = tile * outputs - how->before;
    ptrdiff_t skipped = from < 0 ? -from : 0, present = lesser(span, how->size - from) - skipped;
    float padded[TILE_ROOM] = {0};
    for (ptrdiff_t c = 0; c < how->in_channels; c++, x += how->size, to += PLACES) {
        const float *at = x + from;
        if (present < span) {
            if (present > 0)
                memcpy(padded + skipped, x + from + skipped, present * sizeof *padded);
            at = padded;
        }
        transform(at, outputs, to, how->in_channels * PLACES);
    }
}

/* ROWS rows of a group of weights by a panel, added up in `sums`. */
static void products(const float *w, const float *panel, ptrdiff_t depth, float *sums) {
    octet sum[ROWS][2];
#pragma GCC unroll 6
    for (int r = 0; r < ROWS; r++)
        sum[r][0] = sum[r][1] = (octet){0};
    for (ptrdiff_t k = 0; k < depth; k++, w += GROUP, panel += PLACES) {
        octet low = octet_at(panel), high = octet_at(panel + OCTET);
#pragma GCC unroll 6
        for (int r = 0; r < ROWS; r++) {
            octet f = octet_of(w[r]);
            sum[r][0] += f * low;
            sum[r][1] += f * high;
        }
    }
#pragma GCC unroll 6
    for (int r = 0; r < ROWS; r++) {
        put_octet(sums + r * PLACES, octet_at(sums + r * PLACES) + sum[r][0]);
        put_octet(sums + r * PLACES + OCTET, octet_at(sums + r * PLACES + OCTET) + sum[r][1]);
    }
}

/* The outputs of eight tiles, side by side in `to`; what is written beyond the last of them is overwritten or unused. */
INLINE void outputs(const float *sums, ptrdiff_t apart, ptrdiff_t count, float *to) {
    octet m[TRANSFORMED], y[TRANSFORMED];
#pragma GCC unroll 8
    for (int k = 0; k < TRANSFORMED; k++)
        m[k] = octet_at(sums + k * apart);
    octet even1 = m[1] + m[2], odd1 = m[1] - m[2], even2 = m[3] + m[4], odd2 = m[3] - m[4], even3 = m[5] + m[6];
    octet odd3 = m[5] - m[6];
    y[0] = m[0] + even1 + even2 + even3;
    y[1] = odd1 + 0.5f * odd2 + 2 * odd3;
    y[2] = even1 + 0.25f * even2 + 4 * even3;
    y[3] = odd1 + 0.125f * odd2 + 8 * odd3;
    y[4] = even1 + 0.0625f * even2 + 16 * even3;
    y[5] = odd1 + 0.03125f * odd2 + 32 * odd3;
    y[6] = y[7] = (octet){0};
    y[count - 1] += m[7];
    octet first[4], rest[4];
    transposed(y, first);
    transposed(y + 4, rest);
#pragma GCC unroll 8
    for (int j = 0; j < OCTET; j++) {
        store_tile(to + j * count, first[j % 4], j / 4);
        if (count > 4)
            store_tile(to + j * count + 4, rest[j % 4], j / 4);
    }
}

/* The outputs of a group of channels for a panel of tiles. */
static void finish_panel(const LineCall *call, const float *sums, ptrdiff_t image, ptrdiff_t channel, ptrdiff_t tile) {
    const Line *how = call->how;
    ptrdiff_t count = outputs_of(how), place = tile * count, length = lesser(PLACES * count, how->out - place);
    for (ptrdiff_t r = 0; r < lesser(GROUP, how->out_channels - channel); r++) {
        float v[TILE_ROOM];
        ptrdiff_t at = (image * how->out_channels + channel + r) * how->out + place;
        float bias = call->bias ? call->bias[channel + r] : 0;
        for (int half = 0; half < PLACES; half += OCTET)
            outputs(sums + r * PLACES + half, GROUP * PLACES, count, v + half * count);
        for (ptrdiff_t l = 0; l < length; l++)
            v[l] += bias;
        if (call->residual)
            for (ptrdiff_t l = 0; l < length; l++)
                v[l] += call->residual[at + l];
        activate_line(&how->activation, v, length);
        memcpy(call->y + at, v, length * sizeof *v);
    }
}

/* All output channels for some panels of tiles of an image. */
static void tiles_block(const LineCall *call, ptrdiff_t image, ptrdiff_t panel, ptrdiff_t panels, float *scratch) {
    const Line *how = call->how;
    ptrdiff_t channels = how->in_channels, each = channels * PLACES, whole = TRANSFORMED * each;
    ptrdiff_t summed = TRANSFORMED * GROUP * PLACES;
    float *sums = scratch + MOST_BLOCK * whole;
    for (ptrdiff_t p = 0; p < panels; p++)
        transform_panel(how, call->x + image * channels * how->size, (panel + p) * PLACES, scratch + p * whole);
    for (ptrdiff_t i = 0; i < how->out_channels; i += GROUP) {
        const float *w = how->weights + i * TRANSFORMED * channels;
        memset(sums, 0, panels * summed * sizeof *sums);
        for (int k = 0; k < TRANSFORMED; k++, w += GROUP * channels)
            for (ptrdiff_t p = 0; p < panels; p++)
                for (ptrdiff_t c = 0; c < channels; c += SHORT)
                    for (int r = 0; r < GROUP; r += ROWS)
                        products(w + c * GROUP + r, scratch + p * whole + k * each + c * PLACES, lesser(SHORT, channels - c),
                                 sums + p * summed + (k * GROUP + r) * PLACES);
        for (ptrdiff_t p = 0; p < panels; p++)
            finish_panel(call, sums + p * summed, image, i, (panel + p) * PLACES);
    }
}

static int tiles_items(const void *args, ptrdiff_t begin, ptrdiff_t end, void *scratch) {
    const LineCall *call = args;
    ptrdiff_t all = pieces(call->how->out, outputs_of(call->how) * PLACES);
    for (ptrdiff_t item = begin; item < end; item++) {
        ptrdiff_t panel = item % call->blocks * call->panels;
        tiles_block(call, item / call->blocks, panel, lesser(call->panels, all - panel), scratch);
    }
    return 0;
}

static void cut_tiles(LineCall *call, int threads) {
    const Line *how = call->how;
    ptrdiff_t all = pieces(how->out, outputs_of(how) * PLACES);
    call->panels = how->batch * all >= 2 * MOST_BLOCK * threads ? MOST_BLOCK : 1;
    call->blocks = pieces(all, call->panels);
    call->count = how->batch * call->blocks;
    call->cost = 1 + (ptrdiff_t)((double)call->panels * TRANSFORMED * PLACES * (double)how->in_channels
                                 * (double)how->out_channels / 25);
}
