/* Direct convolution of the blocked layout. Where windows reach beyond the input, a band of its rows is copied with the
   padding around it first, small enough to stay in the second-level cache for all output channels. */
#ifndef INTERP_HOT_OCTETED_DIRECT_H
#define INTERP_HOT_OCTETED_DIRECT_H
#include "hot/blocked_tile.h"

enum {
    NEAR_BYTES = 250000, /* of input that an item reads: about half of a second-level cache */
    LEAST_PIXELS = 64,   /* of an item, so that the weights are read for many */
    MOST_PIXELS = 1536,
    CHAIN = 256,         /* products in one chain of sums; longer ones are split, for accuracy and so that weights stay near */
    PRODUCTS_PER_NS = 40,
    ITEMS = 4,           /* for each thread, so that they end together */
};

static ptrdiff_t unit_of(const BlockedConv *how) {
    return how->plain ? 1 : OCTET;
}

static ptrdiff_t planes_of(const BlockedConv *how) {
    return how->plain ? how->in_channels : how->in_blocks;
}

static ptrdiff_t reach(const BlockedConv *how, int axis, ptrdiff_t windows) {
    return (windows - 1) * how->stride[axis] + (how->kernel[axis] - 1) * how->dilation[axis] + 1;
}

static bool reaches_beyond(const BlockedConv *how) {
    bool beyond = false;
    for (int axis = 0; axis < 2; axis++)
        beyond |= how->before[axis] || reach(how, axis, how->out[axis]) > how->size[axis];
    return beyond;
}

static bool copied(const BlockedConv *how) {
    return how->padded || how->thinned;
}

static void direct_settle(BlockedConv *how) {
    ptrdiff_t bytes = planes_of(how) * unit_of(how) * (ptrdiff_t)sizeof(float);
    how->terms = planes_of(how) * how->kernel[0] * how->kernel[1];
    how->padded = reaches_beyond(how);
    how->thinned = !how->padded && !how->plain && how->kernel[0] * how->kernel[1] == 1 && how->stride[1] > 1;
    how->rows = how->out[0];
    for (int axis = 0; axis < 2; axis++) {
        how->band[axis] = how->size[axis];
        how->step[axis] = how->thinned ? 1 : how->stride[axis];
    }
    if (!copied(how) || !how->out[0] || !how->out[1])
        return;
    how->band[1] = how->thinned ? how->out[1] : reach(how, 1, how->out[1]);
    ptrdiff_t near = NEAR_BYTES / (bytes * how->band[1] + 1), enough = pieces(LEAST_PIXELS, how->out[1]);
    ptrdiff_t rows = 1 + (near - reach(how, 0, 1)) / how->step[0];
    how->rows = even_piece(how->out[0], rows > enough ? rows : enough);
    how->band[0] = how->thinned ? how->rows : reach(how, 0, how->rows);
}

static void direct_place(const BlockedConv *how, ptrdiff_t *at) {
    for (ptrdiff_t c = 0; c < planes_of(how); c++)
        for (ptrdiff_t i = 0; i < how->kernel[0]; i++)
            for (ptrdiff_t j = 0; j < how->kernel[1]; j++)
                *at++ = ((c * how->band[0] + i * how->dilation[0]) * how->band[1] + j * how->dilation[1]) * unit_of(how);
}

static ptrdiff_t direct_packed_size(const BlockedConv *how) {
    return how->groups * how->out_blocks * OCTET * how->terms * unit_of(how);
}

/* One tile of output channels after another; in each, term by term, the weights of its lanes for every channel of the term. */
static void direct_pack(const BlockedConv *how, const float *w, float *out) {
    ptrdiff_t taps = how->kernel[0] * how->kernel[1], unit = unit_of(how), channels = how->in_channels;
    for (ptrdiff_t g = 0; g < how->groups; g++, w += how->out_channels * channels * taps)
        for (ptrdiff_t o = 0; o < channel_tiles(how->out_blocks); o++) {
            ptrdiff_t first = o * FEW * OCTET, lanes = channel_tile(how->out_blocks, o) * OCTET;
            for (ptrdiff_t c = 0; c < planes_of(how) * unit; c += unit)
                for (ptrdiff_t t = 0; t < taps; t++)
                    for (ptrdiff_t i = c; i < c + unit; i++)
                        for (ptrdiff_t m = first; m < first + lanes; m++)
                            *out++ = m < how->out_channels && i < channels ? w[(m * channels + i) * taps + t] : 0;
        }
}

static ptrdiff_t direct_scratch(const BlockedConv *how) {
    return copied(how) ? planes_of(how) * unit_of(how) * how->band[0] * how->band[1] * (ptrdiff_t)sizeof(float) : 0;
}

/* The rows of some planes of the input that output rows from `row` read, with the padding around them. */
static void pad_band(const BlockedConv *how, ptrdiff_t planes, const float *x, ptrdiff_t row, ptrdiff_t rows, float *to) {
    ptrdiff_t unit = unit_of(how), width = how->size[1], columns = how->band[1], top = row * how->stride[0] - how->before[0];
    ptrdiff_t left = lesser(how->before[1], columns), inside = lesser(width, columns - left), used = reach(how, 0, rows);
    for (ptrdiff_t c = 0; c < planes; c++, x += how->size[0] * width * unit, to += how->band[0] * columns * unit)
        for (ptrdiff_t r = 0; r < used; r++) {
            float *line = to + r * columns * unit;
            if (top + r < 0 || top + r >= how->size[0]) {
                memset(line, 0, columns * unit * sizeof(float));
                continue;
            }
            memset(line, 0, left * unit * sizeof(float));
            memcpy(line + left * unit, x + (top + r) * width * unit, inside * unit * sizeof(float));
            memset(line + (left + inside) * unit, 0, (columns - left - inside) * unit * sizeof(float));
        }
}

/* The places that output rows from `row` read of some planes. */
static void thin_band(const BlockedConv *how, ptrdiff_t planes, const float *x, ptrdiff_t row, ptrdiff_t rows, float *to) {
    ptrdiff_t width = how->size[1] * OCTET, across = how->stride[1] * OCTET;
    for (ptrdiff_t c = 0; c < planes; c++, x += how->size[0] * width, to += how->band[0] * how->band[1] * OCTET)
        for (ptrdiff_t r = 0; r < rows; r++)
            for (ptrdiff_t j = 0; j < how->out[1]; j++)
                put_octet(to + (r * how->band[1] + j) * OCTET, octet_at(x + (row + r) * how->stride[0] * width + j * across));
}

/* Pixels from `first` to `end` of the result for one tile of output channels and one chain of terms. `x` is where the
   window of the pixel 0 begins. */
static void direct_chain(const BlockedConv *how, const float *x, ptrdiff_t first, ptrdiff_t end, int blocks, const float *w,
                         const ptrdiff_t *at, ptrdiff_t terms, const Finish *f, float *y) {
    ptrdiff_t unit = unit_of(how), across = how->step[1] * unit, down = how->step[0] * how->band[1] * unit;
    ptrdiff_t row = first / how->out[1], column = first % how->out[1];
    ptrdiff_t count = pieces(end - first, blocks > FEW ? PIXELS_BY_THREE : PIXELS), pixel = first;
    for (ptrdiff_t n = count; n; n--) {
        const float *p[PIXELS];
        ptrdiff_t pixels = pieces(end - pixel, n);
        for (ptrdiff_t m = 0; m < pixels; m++) {
            p[m] = x + row * down + column * across;
            if (++column == how->out[1]) {
                column = 0;
                row++;
            }
        }
        Ahead next = share_of_next(w, terms, blocks, count - n, count);
        tiles[how->plain][blocks - 1][pixels - 1](p, w, at, terms, next, f, y + pixel * OCTET);
        pixel += pixels;
    }
}

static void direct_item(const BlockedCall *call, ptrdiff_t plane, ptrdiff_t first, ptrdiff_t end, ptrdiff_t split,
                        float *scratch) {
    const BlockedConv *how = call->how;
    ptrdiff_t unit = unit_of(how), out = how->out[0] * how->out[1] * OCTET, chain = how->plain ? CHAIN : CHAIN / OCTET;
    ptrdiff_t count = channel_tiles(how->out_blocks), row = first / how->out[1], group = plane % how->groups;
    const float *x = call->x + plane * planes_of(how) * unit * how->size[0] * how->size[1];
    float bias[(FEW + 1) * OCTET];
    if (copied(how)) {
        (how->thinned ? thin_band : pad_band)(how, planes_of(how), x, row, pieces(end, how->out[1]) - row, scratch);
        x = scratch - row * how->step[0] * how->band[1] * unit;
    }
    Finish f = {out, bias, call->residual - call->y, call->residual != NULL, true, false, at_once(&how->activation)};
    chain = even_piece(how->terms, chain);
    for (ptrdiff_t o = count * split / call->splits; o < count * (split + 1) / call->splits; o++) {
        int blocks = channel_tile(how->out_blocks, o);
        ptrdiff_t block = group * how->out_blocks + o * FEW;
        const float *w = how->weights + block * OCTET * how->terms * unit;
        float *y = call->y + (plane * how->out_blocks + o * FEW) * out;
        gather_bias(call->bias, block * OCTET, how->groups * how->out_channels, blocks, bias);
        for (ptrdiff_t t = 0; t < how->terms; t += chain) {
            ptrdiff_t terms = lesser(chain, how->terms - t);
            f.first = t == 0;
            f.last = t + terms == how->terms;
            direct_chain(how, x, first, end, blocks, w + t * unit * blocks * OCTET, how->at + t, terms, &f, y);
        }
        for (int b = 0; b < blocks; b++)
            activate_stored(y + b * out + first * OCTET, end - first, afterwards(&how->activation));
    }
}

static int direct_task(const void *args, ptrdiff_t begin, ptrdiff_t end, void *scratch) {
    const BlockedCall *call = args;
    ptrdiff_t all = call->how->out[0] * call->how->out[1];
    for (ptrdiff_t item = begin; item < end; item++) {
        ptrdiff_t split = item % call->splits, rest = item / call->splits;
        ptrdiff_t first = rest % call->pixel_blocks * call->pixels;
        direct_item(call, rest / call->pixel_blocks, first, lesser(first + call->pixels, all), split, scratch);
    }
    return 0;
}

/* Whole rows where a band is copied for them. */
static int direct_run(BlockedCall *call, const Team *team, Share share) {
    const BlockedConv *how = call->how;
    ptrdiff_t pixels = how->out[0] * how->out[1], planes = how->batch * how->groups, unit = copied(how) ? how->out[1] : 1;
    ptrdiff_t near = NEAR_BYTES / (planes_of(how) * unit_of(how) * (ptrdiff_t)sizeof(float));
    ptrdiff_t most = copied(how) ? how->rows * unit : near < LEAST_PIXELS ? LEAST_PIXELS : lesser(near, MOST_PIXELS);
    ptrdiff_t blocks = pieces(pixels, most), items = planes * blocks, wanted = team->threads > 1 ? ITEMS * team->threads : 1;
    if (!items)
        return 0;
    call->splits = lesser(pieces(wanted, items), channel_tiles(how->out_blocks));
    blocks *= pieces(wanted, items * call->splits);
    call->pixels = pieces(pieces(pixels, unit), blocks) * unit;
    call->pixel_blocks = pieces(pixels, call->pixels);
    double products = (double)call->pixels * (double)how->out_blocks * OCTET * (double)how->terms * (double)unit_of(how);
    return share(team, direct_task, call, planes * call->pixel_blocks * call->splits,
                 1 + (ptrdiff_t)(products / (PRODUCTS_PER_NS * (double)call->splits)));
}
#endif
