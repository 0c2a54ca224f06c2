/* Transposed convolution without overlaps: the loops of blocked_transpose.h. */
#include "hot/blocked_transpose.h"
#include "hot/blocked_tile.h"

enum { CHAIN = 32 }; /* input blocks in one chain of sums */

static void pack(const float *w, ptrdiff_t depth, ptrdiff_t column_blocks, float *out) {
    for (ptrdiff_t o = 0; o < channel_tiles(column_blocks); o++) {
        ptrdiff_t lanes = channel_tile(column_blocks, o) * OCTET;
        for (ptrdiff_t k = 0; k < depth; k++, out += lanes)
            memcpy(out, w + k * column_blocks * OCTET + o * FEW * OCTET, lanes * sizeof *out);
    }
}

/* The sums of some pixels for some blocks of columns from `column` on, to their places. */
static void scatter(const BlockedTranspose *how, const float *sums, ptrdiff_t pixels, ptrdiff_t blocks, ptrdiff_t column,
                    float *const *places) {
    for (ptrdiff_t b = 0; b < blocks; b++, column += OCTET, sums += PIXELS * OCTET) {
        const ptrdiff_t *to = how->to + column;
        ptrdiff_t lanes = lesser(OCTET, how->columns - column);
        for (ptrdiff_t m = 0; m < pixels; m++)
            if (!how->plain)
                put_octet(places[m] + *to, octet_at(sums + m * OCTET));
            else
                for (ptrdiff_t l = 0; l < lanes; l++)
                    places[m][to[l]] = sums[m * OCTET + l];
    }
}

static void piece(const BlockedTranspose *how, const float *x, ptrdiff_t first, ptrdiff_t end, const float *bias, float *y) {
    for (ptrdiff_t o = 0; o < channel_tiles(how->column_blocks); o++) {
        int blocks = channel_tile(how->column_blocks, o);
        ptrdiff_t most = blocks > FEW ? PIXELS_BY_THREE : PIXELS, column = o * FEW * OCTET, row = first / how->width;
        ptrdiff_t beside = first % how->width, pixels;
        const float *w = how->weights + column * how->in_blocks * OCTET;
        for (ptrdiff_t pixel = first; pixel < end; pixel += pixels) {
            const float *p[PIXELS];
            float *places[PIXELS], room[(FEW + 1) * PIXELS * OCTET];
            pixels = lesser(most, end - pixel);
            for (ptrdiff_t m = 0; m < pixels; m++) {
                p[m] = x + (pixel + m) * OCTET;
                places[m] = y + row * how->down + beside * how->across;
                if (++beside == how->width)
                    beside = 0, row++;
            }
            for (ptrdiff_t t = 0; t < how->in_blocks; t += CHAIN) {
                ptrdiff_t terms = lesser(CHAIN, how->in_blocks - t);
                Finish f = {PIXELS * OCTET, bias + column, 0, false, t == 0, t + terms == how->in_blocks, &how->activation};
                const float *of_chain = w + t * OCTET * blocks * OCTET;
                tiles[0][blocks - 1][pixels - 1](p, of_chain, how->at + t, terms, share_of_next(of_chain, terms, blocks, 0, 1),
                                                 &f, room);
            }
            scatter(how, room, pixels, blocks, column, places);
        }
    }
}

static int task(const void *args, ptrdiff_t begin, ptrdiff_t end, void *scratch) {
    const BlockedTransposeCall *call = args;
    const BlockedTranspose *how = call->how;
    float *bias = scratch;
    for (ptrdiff_t c = 0; c < how->column_blocks * OCTET; c++)
        bias[c] = call->bias && how->channel[c] >= 0 ? call->bias[how->channel[c]] : 0;
    for (ptrdiff_t i = begin; i < end; i++) {
        ptrdiff_t image = i / how->pieces, first = i % how->pieces * how->piece;
        piece(how, call->x + image * how->in_blocks * how->pixels * OCTET, first, lesser(first + how->piece, how->pixels), bias,
              call->y + image * how->image);
    }
    return 0;
}

const BlockedTransposeLoops LOOPS(blocked_transpose) = {task, pack};
