/* Products of bytes, signed or not: what a call is made of, for every instruction set. */
#ifndef INTERP_HOT_INTEGER_H
#define INTERP_HOT_INTEGER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "threads.h"
#include "hot/conv.h"
#include "hot/isa.h"

/* Numbers that go with the rows, or the columns, of a factor: `at` has where those of each of the batch begin (NULL: all at
   the first), `along` is 1 where each row has its own, 0 where one is for all. */
typedef struct Lines {
    const ptrdiff_t *at;
    ptrdiff_t along;
} Lines;

enum Result { SUMS, FLOATS, UNSIGNED_BYTES, SIGNED_BYTES };

/* The sums over k of (a - a_zero) (b - b_zero) for each of a batch, exact in 32 bits; or those, plus a bias, times the scales.
   b are matrices of k x n, or patches of images, where `patches` is true: then each of the batch is a group of an image. */
typedef struct Integers {
    ptrdiff_t batch, m, n, k;
    bool a_signed, b_signed, patches, planes; /* planes: each of the batch has one channel, and few rows of a */
    const ptrdiff_t *a_at, *b_at;     /* where the factors of each of the batch begin, in bytes or, if packed, in halves */
    const int16_t *a_rows, *b_panels; /* a factor that is packed, or NULL */
    const uint8_t *blocks;            /* or one packed as blocks, a's with patches, else b's, in `groups` of four, or NULL */
    const int32_t *line_sums;         /* of each of its lines, and with patches where those of each of the batch begin */
    const ptrdiff_t *sums_at;
    ptrdiff_t groups, block_size;
    Lines a_zero, b_zero, a_scale, b_scale, bias;
    ptrdiff_t bias_across;            /* 1 where each column has a bias, with an `along` of 0 */
    enum Result result;
    Convolution window;
} Integers;

/* A run of it. What is absent is NULL. */
typedef struct IntegersCall {
    const Integers *how;
    const uint8_t *a, *b, *a_zero, *b_zero, *y_zero;
    const float *a_scale, *b_scale, *y_scale;
    const void *bias; /* of int32, or of float where the result is */
    void *y;
    uint8_t *image;  /* with blocks and patches: where the padded image is laid out, and which of the batch it is */
    ptrdiff_t batch, rows, row_blocks, columns, column_blocks, count, cost;
} IntegersCall;

/* Weights as they come: where the next line, tap and channel of each is. `width` lines are a block. */
typedef struct Weights {
    ptrdiff_t lines, taps, channels, line_step, tap_step, channel_step, width;
    bool is_signed;
} Weights;

/* Products with one factor packed as blocks, for instruction sets that multiply unsigned by signed bytes. */
typedef struct NarrowLoops {
    ptrdiff_t rows, columns; /* the lines of a block, of a convolution's weights and of a matrix */
    /* Bytes of a packed block, and those that packing needs beside; it fills in the blocks and the sum of each line. */
    ptrdiff_t (*packed_block)(const Weights *how), (*packing_room)(const Weights *how);
    void (*pack)(const Weights *how, const uint8_t *w, uint8_t *out, int32_t *sums, uint8_t *room);
    ptrdiff_t (*scratch)(const Integers *how);
    /* Cuts a product, or the convolution of one of the batch, whose image has so many rows to lay out. */
    void (*cut)(IntegersCall *call, int threads), (*cut_image)(IntegersCall *call, int threads);
    ptrdiff_t (*image_rows)(const Integers *how);
    Task task, row_task, image_task;
} NarrowLoops;

typedef struct IntegerLoops {
    ptrdiff_t columns; /* the width of a panel */
    /* How many halves a row takes, with the zeros that make its length even. */
    ptrdiff_t (*depth)(ptrdiff_t k);
    void (*pack_rows)(const uint8_t *a, bool is_signed, ptrdiff_t rows, ptrdiff_t k, int16_t *out);
    void (*pack_panels)(const uint8_t *b, bool is_signed, ptrdiff_t k, ptrdiff_t n, int16_t *out);
    ptrdiff_t (*scratch)(const Integers *how);
    void (*cut)(IntegersCall *call, int threads);
    Task task, planes_task; /* the second one for planes */
    const NarrowLoops *narrow; /* or NULL */
} IntegerLoops;

extern const IntegerLoops integer_baseline;
#if defined(__x86_64__)
extern const IntegerLoops integer_avx2;
#endif
#endif
