/* Winograd's way, F(4x4, 3x3): tiles of 4 x 4 results out of 6 x 6 inputs, with 36 products a channel in place of 144.

   The points are 0, +-3/4, +-3/2 and infinity. With them, and with sums over channels in short chains, it errs no more than a
   direct sum does; with the usual 0, +-1, +-2 and infinity it errs ten times as much. */
#ifndef INTERP_HOT_WINOGRAD_H
#define INTERP_HOT_WINOGRAD_H
#include "hot/blocked_tile.h"

enum {
    SIDE = 4,            /* of a tile of the result */
    SPAN = 6,            /* of what it reads */
    POINTS = SPAN * SPAN,
    TILES_BYTES = 900000,        /* that transformed tiles take */
    MANY_TILES_BYTES = 8000000,  /* where reading the weights again costs more than going to the third-level cache */
    HEAVY_BYTES = 2000000,       /* weights of which that is true */
    SPREAD = 16,         /* floats beside each point's matrix, so that they do not meet in the same lines of a cache */
    CHANNEL_CHAIN = 8,   /* octets of channels in one chain of sums */
    TRANSFORM_NS = 40,   /* that a tile of an octet takes */
};

#define A 0.75f
#define B 1.5f

static ptrdiff_t tile_rows(const BlockedConv *how) {
    return pieces(how->out[0], SIDE);
}

static ptrdiff_t tile_columns(const BlockedConv *how) {
    return pieces(how->out[1], SIDE);
}

static void winograd_settle(BlockedConv *how) {
    ptrdiff_t channels = (how->in_blocks + how->out_blocks) * OCTET, all = tile_rows(how) * tile_columns(how);
    double weights = (double)sizeof(float) * POINTS * OCTET * OCTET * (double)how->in_blocks * (double)how->out_blocks;
    ptrdiff_t room = weights > HEAVY_BYTES ? MANY_TILES_BYTES : TILES_BYTES;
    ptrdiff_t most = room / ((ptrdiff_t)sizeof(float) * POINTS * channels) / PIXELS * PIXELS;
    how->terms = how->in_blocks;
    how->tiles = even_piece(all, most < 4 * PIXELS ? 4 * PIXELS : most);
}

static void winograd_place(const BlockedConv *how, ptrdiff_t *at) {
    for (ptrdiff_t c = 0; c < how->in_blocks; c++)
        at[c] = c * how->tiles * OCTET;
}

static ptrdiff_t winograd_packed_size(const BlockedConv *how) {
    return how->groups * POINTS * how->out_blocks * how->in_blocks * OCTET * OCTET;
}

enum { MOST_LANES = (FEW + 1) * OCTET };

/* One axis of the kernels of some output channels at the points. */
static void kernels_at_points(const double (*g)[MOST_LANES], int step, double (*out)[MOST_LANES], int out_step) {
    const double a = A, b = B, by_a = 1 / (2 * a * a * (a * a - b * b)), by_b = 1 / (2 * b * b * (b * b - a * a));
    for (int l = 0; l < MOST_LANES; l++) {
        double first = g[0][l], second = g[step][l], third = g[2 * step][l];
        double even_a = (first + a * a * third) * by_a, odd_a = a * second * by_a;
        double even_b = (first + b * b * third) * by_b, odd_b = b * second * by_b;
        out[0][l] = first / (a * a * b * b);
        out[out_step][l] = even_a + odd_a;
        out[2 * out_step][l] = even_a - odd_a;
        out[3 * out_step][l] = even_b + odd_b;
        out[4 * out_step][l] = even_b - odd_b;
        out[5 * out_step][l] = third;
    }
}

/* The kernels of an input channel and `lanes` output channels, of which `there` are, `step` apart, at all points. */
static void pack_kernels(const float *w, ptrdiff_t step, ptrdiff_t there, ptrdiff_t lanes, float *out, ptrdiff_t point) {
    double taps[9][MOST_LANES] = {{0}}, half[3 * SPAN][MOST_LANES], whole[POINTS][MOST_LANES];
    for (ptrdiff_t l = 0; l < there; l++)
        for (int i = 0; i < 9; i++)
            taps[i][l] = w[l * step + i];
    for (int j = 0; j < 3; j++)
        kernels_at_points(taps + j, 3, half + j, 3);
    for (int i = 0; i < SPAN; i++)
        kernels_at_points(half + 3 * i, 1, whole + SPAN * i, 1);
    for (int k = 0; k < POINTS; k++)
        for (ptrdiff_t l = 0; l < lanes; l++)
            out[k * point + l] = (float)whole[k][l];
}

/* Point after point, in each one tile of output channels after another, in each channel by channel. */
static void winograd_pack(const BlockedConv *how, const float *w, float *out) {
    ptrdiff_t channels = how->in_blocks * OCTET, point = how->out_blocks * OCTET * channels, step = how->in_channels * 9;
    for (ptrdiff_t g = 0; g < how->groups; g++, w += how->out_channels * step, out += POINTS * point)
        for (ptrdiff_t o = 0; o < channel_tiles(how->out_blocks); o++) {
            ptrdiff_t first = o * FEW * OCTET, lanes = channel_tile(how->out_blocks, o) * OCTET;
            ptrdiff_t there = lesser(lanes, how->out_channels - first);
            for (ptrdiff_t c = 0; c < channels; c++)
                pack_kernels(w + first * step + c * 9, step, c < how->in_channels ? there : 0, lanes,
                             out + first * channels + c * lanes, point);
        }
}

/* Floats from one point to the next of the transformed inputs, and of the sums. */
static ptrdiff_t input_points(const BlockedConv *how) {
    return how->in_blocks * how->tiles * OCTET + SPREAD;
}

static ptrdiff_t sum_points(const BlockedConv *how) {
    return how->out_blocks * how->tiles * OCTET + SPREAD;
}

static ptrdiff_t winograd_scratch(const BlockedConv *how) {
    return POINTS * (input_points(how) + sum_points(how)) * (ptrdiff_t)sizeof(float);
}

/* One axis of an input at the points. */
INLINE void input_at_points(octet *d, int step) {
    octet d0 = d[0], d1 = d[step], d2 = d[2 * step], d3 = d[3 * step], d4 = d[4 * step], d5 = d[5 * step];
    octet even_a = d4 - B * B * d2, odd_a = d3 - B * B * d1, even_b = d4 - A * A * d2, odd_b = d3 - A * A * d1;
    d[0] = d4 + A * A * B * B * d0 - (A * A + B * B) * d2;
    d[step] = even_a + A * odd_a;
    d[2 * step] = even_a - A * odd_a;
    d[3 * step] = even_b + B * odd_b;
    d[4 * step] = even_b - B * odd_b;
    d[5 * step] = d5 + A * A * B * B * d1 - (A * A + B * B) * d3;
}

/* One axis of a result out of the sums at the points. */
INLINE void result_of_points(const octet *m, int step, octet *y, int y_step) {
    octet even_a = m[step] + m[2 * step], odd_a = m[step] - m[2 * step];
    octet even_b = m[3 * step] + m[4 * step], odd_b = m[3 * step] - m[4 * step];
    y[0] = m[0] + even_a + even_b;
    y[y_step] = A * odd_a + B * odd_b;
    y[2 * y_step] = A * A * even_a + B * B * even_b;
    y[3 * y_step] = m[5 * step] + A * A * A * odd_a + B * B * B * odd_b;
}

/* Some tiles of one octet of input channels, from tile number `first`. */
static void transform_inputs(const BlockedConv *how, const float *x, ptrdiff_t first, ptrdiff_t count, float *to) {
    ptrdiff_t height = how->size[0], width = how->size[1], columns = tile_columns(how), step = input_points(how);
    for (ptrdiff_t t = first; t < first + count; t++, to += OCTET) {
        ptrdiff_t top = t / columns * SIDE - how->before[0], left = t % columns * SIDE - how->before[1];
        octet d[POINTS];
        if (top >= 0 && left >= 0 && top + SPAN <= height && left + SPAN <= width) {
            for (int i = 0; i < SPAN; i++)
                for (int j = 0; j < SPAN; j++)
                    d[i * SPAN + j] = octet_at(x + ((top + i) * width + left + j) * OCTET);
        } else
            for (ptrdiff_t i = 0; i < SPAN; i++)
                for (ptrdiff_t j = 0; j < SPAN; j++) {
                    bool inside = top + i >= 0 && top + i < height && left + j >= 0 && left + j < width;
                    d[i * SPAN + j] = inside ? octet_at(x + ((top + i) * width + left + j) * OCTET) : (octet){0};
                }
#pragma GCC unroll 6
        for (int j = 0; j < SPAN; j++)
            input_at_points(d + j, SPAN);
#pragma GCC unroll 6
        for (int i = 0; i < SPAN; i++)
            input_at_points(d + SPAN * i, 1);
#pragma GCC unroll 36
        for (int k = 0; k < POINTS; k++)
            put_octet(to + k * step, d[k]);
    }
}

/* The sums over channels at one point, for `count` tiles and one tile of output channels. */
static void sum_channels(const BlockedConv *how, const float *w, int blocks, ptrdiff_t count, const float *x, float *y) {
    Finish f = {how->tiles * OCTET, NULL, 0, false, true, false, &no_activation};
    for (ptrdiff_t c = 0; c < how->in_blocks; c += CHANNEL_CHAIN) {
        ptrdiff_t terms = lesser(CHANNEL_CHAIN, how->in_blocks - c), tile = 0;
        ptrdiff_t calls = pieces(count, blocks > FEW ? PIXELS_BY_THREE : PIXELS);
        const float *of_chain = w + c * OCTET * blocks * OCTET;
        f.first = c == 0;
        for (ptrdiff_t n = calls; n; n--) {
            const float *p[PIXELS];
            ptrdiff_t pixels = pieces(count - tile, n);
            for (ptrdiff_t m = 0; m < pixels; m++)
                p[m] = x + (tile + m) * OCTET;
            Ahead next = share_of_next(of_chain, terms, blocks, calls - n, calls);
            tiles[false][blocks - 1][pixels - 1](p, of_chain, how->at + c, terms, next, &f, y + tile * OCTET);
            tile += pixels;
        }
    }
}

/* Some tiles of one octet of output channels: bias, residual and activation are added while they are written. */
static void transform_sums(const BlockedCall *call, const float *bias, ptrdiff_t first, ptrdiff_t count, const float *from,
                           float *y) {
    const BlockedConv *how = call->how;
    ptrdiff_t columns = tile_columns(how), step = sum_points(how), residual = call->residual ? call->residual - call->y : 0;
    const Activation *activation = &how->activation;
    octet base = octet_at(bias);
    for (ptrdiff_t t = first; t < first + count; t++, from += OCTET) {
        ptrdiff_t top = t / columns * SIDE, left = t % columns * SIDE;
        ptrdiff_t rows = lesser(SIDE, how->out[0] - top), across = lesser(SIDE, how->out[1] - left);
        octet m[POINTS], half[SIDE * SPAN], whole[SIDE * SIDE];
#pragma GCC unroll 36
        for (int k = 0; k < POINTS; k++)
            m[k] = octet_at(from + k * step);
#pragma GCC unroll 6
        for (int j = 0; j < SPAN; j++)
            result_of_points(m + j, SPAN, half + j, SPAN);
#pragma GCC unroll 4
        for (int i = 0; i < SIDE; i++)
            result_of_points(half + i * SPAN, 1, whole + i * SIDE, 1);
        for (ptrdiff_t i = 0; i < rows; i++) {
            float *to = y + ((top + i) * how->out[1] + left) * OCTET;
            for (ptrdiff_t j = 0; j < across; j++) {
                octet v = whole[i * SIDE + j] + base;
                if (call->residual)
                    v += octet_at(to + j * OCTET + residual);
                put_octet(to + j * OCTET, activation->kind == ACTIVATION_RELU ? rectified(v) : v);
            }
            activate_stored(to, across, activation);
        }
    }
}

/* The three steps for one block of tiles, of one group of one image. Each is a loop that threads may share. */
typedef struct {
    const BlockedCall *call;
    ptrdiff_t plane, first, count;
    float *inputs, *sums;
} Tiles;

static int inputs_task(const void *args, ptrdiff_t begin, ptrdiff_t end, void *scratch) {
    const Tiles *t = args;
    const BlockedConv *how = t->call->how;
    ptrdiff_t plane = how->size[0] * how->size[1] * OCTET;
    (void)scratch;
    for (ptrdiff_t c = begin; c < end; c++)
        transform_inputs(how, t->call->x + (t->plane * how->in_blocks + c) * plane, t->first, t->count,
                         t->inputs + c * how->tiles * OCTET);
    return 0;
}

static int sums_task(const void *args, ptrdiff_t begin, ptrdiff_t end, void *scratch) {
    const Tiles *t = args;
    const BlockedConv *how = t->call->how;
    ptrdiff_t many = channel_tiles(how->out_blocks), channels = how->in_blocks * OCTET;
    (void)scratch;
    for (ptrdiff_t item = begin; item < end; item++) {
        ptrdiff_t k = item / many, o = item % many;
        const float *w = how->weights + (((t->plane % how->groups * POINTS + k) * how->out_blocks) + o * FEW) * OCTET * channels;
        sum_channels(how, w, channel_tile(how->out_blocks, o), t->count, t->inputs + k * input_points(how),
                     t->sums + k * sum_points(how) + o * FEW * how->tiles * OCTET);
    }
    return 0;
}

static int results_task(const void *args, ptrdiff_t begin, ptrdiff_t end, void *scratch) {
    const Tiles *t = args;
    const BlockedConv *how = t->call->how;
    (void)scratch;
    for (ptrdiff_t o = begin; o < end; o++) {
        float bias[OCTET];
        ptrdiff_t group = t->plane % how->groups;
        gather_bias(t->call->bias, (group * how->out_blocks + o) * OCTET, how->groups * how->out_channels, 1, bias);
        transform_sums(t->call, bias, t->first, t->count, t->sums + o * how->tiles * OCTET,
                       t->call->y + (t->plane * how->out_blocks + o) * how->out[0] * how->out[1] * OCTET);
    }
    return 0;
}

static Tiles tiles_of(const BlockedCall *call, ptrdiff_t item, void *scratch) {
    const BlockedConv *how = call->how;
    ptrdiff_t all = tile_rows(how) * tile_columns(how), first = item % call->pixel_blocks * call->pixels;
    return (Tiles){call, item / call->pixel_blocks, first, lesser(call->pixels, all - first), scratch,
                   (float *)scratch + POINTS * input_points(how)};
}

static int tiles_task(const void *args, ptrdiff_t begin, ptrdiff_t end, void *scratch) {
    const BlockedCall *call = args;
    const BlockedConv *how = call->how;
    for (ptrdiff_t item = begin; item < end; item++) {
        Tiles t = tiles_of(call, item, scratch);
        inputs_task(&t, 0, how->in_blocks, NULL);
        sums_task(&t, 0, POINTS * channel_tiles(how->out_blocks), NULL);
        results_task(&t, 0, how->out_blocks, NULL);
    }
    return 0;
}

/* Blocks of tiles are shared where there are enough of them, else each of a block's three steps. */
static int winograd_run(BlockedCall *call, const Team *team, Share share) {
    const BlockedConv *how = call->how;
    ptrdiff_t all = tile_rows(how) * tile_columns(how);
    if (!all)
        return 0;
    call->pixels = how->tiles;
    call->pixel_blocks = pieces(all, how->tiles);
    ptrdiff_t count = how->batch * how->groups * call->pixel_blocks;
    ptrdiff_t cost = how->tiles * how->in_blocks * how->out_blocks * POINTS;
    if (team->threads < 2 || count >= 4 * team->threads || count % team->threads == 0)
        return share(team, tiles_task, call, count, 1 + cost);
    int status = 0;
    for (ptrdiff_t item = 0; item < count && !status; item++) {
        Tiles t = tiles_of(call, item, team->scratch);
        ptrdiff_t many = POINTS * channel_tiles(how->out_blocks);
        status = share(team, inputs_task, &t, how->in_blocks, 1 + TRANSFORM_NS * t.count);
        status = status ? status : share(team, sums_task, &t, many, 1 + cost / many);
        status = status ? status : share(team, results_task, &t, how->out_blocks, 1 + TRANSFORM_NS * t.count);
    }
    return status;
}
#undef A
#undef B
#endif
