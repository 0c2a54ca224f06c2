/* The micro-kernel of blocked convolutions: sums for a tile of pixels by blocks of output channels, kept in registers. */
#ifndef INTERP_HOT_OCTETED_TILE_H
#define INTERP_HOT_OCTETED_TILE_H
#include "hot/blocked.h"
#include "hot/octet.h"
#include "hot/pieces.h"
#define REAL float
#include "hot/vector.h"
#include "hot/activate.h"
#undef REAL

#if defined(__AVX2__)
enum { PIXELS = 6, PIXELS_BY_THREE = 4 }; /* twelve sums, the weights and a pixel fill sixteen registers */
#else
enum { PIXELS = 2, PIXELS_BY_THREE = 1 };
#endif
enum { FEW = 2 }; /* blocks of output channels in a tile; the last tile of an odd number has one more */

INLINE octet activated(octet v, const Activation *how) {
#if defined(__AVX2__)
    return (octet)float_activate((float_vector)v, how);
#else
    union {
        octet whole;
        float_vector half[2];
    } both = {v};
    both.half[0] = float_activate(both.half[0], how);
    both.half[1] = float_activate(both.half[1], how);
    return both.whole;
#endif
}

INLINE octet rectified(octet v) {
    return activated(v, &(Activation){ACTIVATION_RELU, 0, 0});
}

/* Octets that are stored already. Activations that are not a single instruction come after all else, so that they cost the
   loops no registers; and exponentials come many at once, so that none waits for the one before. */
INLINE void activate_stored(float *y, ptrdiff_t octets, const Activation *how) {
    if (how->kind > ACTIVATION_HARD_SWISH)
        float_activate_curves(y, octets * OCTET, how->kind, (float)how->alpha);
    else if (how->kind > ACTIVATION_RELU)
        for (ptrdiff_t i = 0; i < octets; i++)
            put_octet(y + i * OCTET, activated(octet_at(y + i * OCTET), how));
}

static const Activation no_activation = {ACTIVATION_NONE, 0, 0};

/* What is applied to a few results as they are stored: exponentials are not, but to long runs of them. */
INLINE const Activation *at_once(const Activation *how) {
    return how->kind > ACTIVATION_HARD_SWISH ? &no_activation : how;
}

/* What is applied to long runs. */
INLINE const Activation *afterwards(const Activation *how) {
    return how->kind > ACTIVATION_HARD_SWISH ? how : &no_activation;
}

/* What becomes of the sums of a tile. The first part of a sum meets the bias and the residual, which lies `residual` floats
   from the result and may be it; later parts are added to what is there; the last one is activated. */
typedef struct {
    ptrdiff_t plane; /* floats from one block of output channels to the next */
    const float *bias; /* or NULL */
    ptrdiff_t residual;
    bool has_residual, first, last;
    const Activation *activation;
} Finish;

#define EACH_SUM                                \
    _Pragma("GCC unroll 6")                      \
    for (int m = 0; m < pixels; m++)             \
        _Pragma("GCC unroll 3")                  \
        for (int b = 0; b < blocks; b++)
#define PLACE (y + m * OCTET + b * f->plane)

INLINE void finish(int pixels, int blocks, const Finish *f, octet sum[PIXELS][FEW + 1], float *y) {
    if (f->first) {
        if (f->bias)
            EACH_SUM sum[m][b] += octet_at(f->bias + b * OCTET);
        if (f->has_residual)
            EACH_SUM sum[m][b] += octet_at(PLACE + f->residual);
    } else
        EACH_SUM sum[m][b] += octet_at(PLACE);
    if (f->last && f->activation->kind == ACTIVATION_RELU)
        EACH_SUM sum[m][b] = rectified(sum[m][b]);
    EACH_SUM put_octet(PLACE, sum[m][b]);
    if (f->last)
        for (int b = 0; b < blocks; b++)
            activate_stored(y + b * f->plane, pixels, f->activation);
}

/* The weights that come next, to be fetched while sums are made: `hop` bytes for each term. */
typedef struct {
    const char *at;
    ptrdiff_t hop;
} Ahead;

/* A share of the weights behind those of so many terms, for the tile `number` of `count`. */
INLINE Ahead share_of_next(const float *w, ptrdiff_t terms, int blocks, ptrdiff_t number, ptrdiff_t count) {
    ptrdiff_t each = blocks * OCTET * OCTET * (ptrdiff_t)sizeof(float), hop = each / count;
    return (Ahead){(const char *)w + terms * (each + number * hop), hop};
}

/* `pixels`, `blocks` and `unit` are constants wherever this is inlined, so that the sums are registers. */
INLINE void sums(int pixels, int blocks, int unit, const float *const *x, const float *w, const ptrdiff_t *at, ptrdiff_t terms,
                 Ahead next, const Finish *f, float *y) {
    octet sum[PIXELS][FEW + 1];
    const float *p[PIXELS];
#pragma GCC unroll 6
    for (int m = 0; m < pixels; m++) {
        p[m] = x[m];
#pragma GCC unroll 3
        for (int b = 0; b < blocks; b++)
            sum[m][b] = (octet){0};
    }
    for (ptrdiff_t t = 0; t < terms; t++) {
        ptrdiff_t from = at[t];
        if (unit == OCTET && pixels == PIXELS) { /* what the next tile reads lies in as many planes as there are terms */
            __builtin_prefetch(p[0] + from + PIXELS * OCTET);
            __builtin_prefetch(p[0] + from + PIXELS * OCTET + 16);
            __builtin_prefetch(p[0] + from + PIXELS * OCTET + 32);
        }
        if (unit == OCTET) {
            __builtin_prefetch(next.at);
            next.at += next.hop;
        }
#pragma GCC unroll 8
        for (int i = 0; i < unit; i++, w += blocks * OCTET) {
            octet weights[FEW + 1];
#pragma GCC unroll 3
            for (int b = 0; b < blocks; b++)
                weights[b] = octet_at(w + b * OCTET);
#pragma GCC unroll 6
            for (int m = 0; m < pixels; m++) {
                octet value = octet_of(p[m][from + i]);
#pragma GCC unroll 3
                for (int b = 0; b < blocks; b++)
                    sum[m][b] += value * weights[b];
            }
        }
    }
    finish(pixels, blocks, f, sum, y);
}
#undef EACH_SUM
#undef PLACE

typedef void (*Tile)(const float *const *x, const float *w, const ptrdiff_t *at, ptrdiff_t terms, Ahead next, const Finish *f,
                     float *y);

#define TILE(pixels, blocks, unit) \
    static void tile_##pixels##_##blocks##_##unit(const float *const *x, const float *w, const ptrdiff_t *at, \
                                                  ptrdiff_t terms, Ahead next, const Finish *f, float *y) { \
        sums(pixels, blocks, unit, x, w, at, terms, next, f, y); \
    }
#define TILES(pixels) \
    TILE(pixels, 1, 8) \
    TILE(pixels, 2, 8) \
    TILE(pixels, 1, 1) \
    TILE(pixels, 2, 1)

TILES(1)
TILES(2)
TILE(1, 3, 8)
TILE(1, 3, 1)
#if defined(__AVX2__)
TILES(3)
TILES(4)
TILES(5)
TILES(6)
TILE(2, 3, 8)
TILE(2, 3, 1)
TILE(3, 3, 8)
TILE(3, 3, 1)
TILE(4, 3, 8)
TILE(4, 3, 1)
#define EACH(blocks, unit) \
    {tile_1_##blocks##_##unit, tile_2_##blocks##_##unit, tile_3_##blocks##_##unit, tile_4_##blocks##_##unit, \
     tile_5_##blocks##_##unit, tile_6_##blocks##_##unit}
#define EACH_BY_THREE(unit) {tile_1_3_##unit, tile_2_3_##unit, tile_3_3_##unit, tile_4_3_##unit}
#else
#define EACH(blocks, unit) {tile_1_##blocks##_##unit, tile_2_##blocks##_##unit}
#define EACH_BY_THREE(unit) {tile_1_3_##unit}
#endif

/* By whether the input is plain, blocks of output channels less one, pixels less one. */
static const Tile tiles[2][FEW + 1][PIXELS] = {
    {EACH(1, 8), EACH(2, 8), EACH_BY_THREE(8)},
    {EACH(1, 1), EACH(2, 1), EACH_BY_THREE(1)},
};
#undef EACH
#undef EACH_BY_THREE
#undef TILES
#undef TILE

/* How many tiles cover the output channels of a group, and the blocks of the tile that begins with block FEW * number. */
INLINE ptrdiff_t channel_tiles(ptrdiff_t blocks) {
    return blocks < FEW ? blocks : blocks / FEW;
}

INLINE int channel_tile(ptrdiff_t blocks, ptrdiff_t number) {
    return (int)(number == channel_tiles(blocks) - 1 ? blocks - FEW * number : FEW);
}

/* The bias of a tile of output channels, with zeros where no channel is. */
INLINE void gather_bias(const float *bias, ptrdiff_t first, ptrdiff_t channels, int blocks, float *out) {
    memset(out, 0, blocks * OCTET * sizeof(float));
    if (bias && first < channels)
        memcpy(out, bias + first, lesser(channels - first, blocks * OCTET) * sizeof(float));
}
#endif
