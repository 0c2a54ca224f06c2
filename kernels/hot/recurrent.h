/* Recurrent layers: what a call is made of, for every instruction set. */
#ifndef INTERP_HOT_RECURRENT_H
#define INTERP_HOT_RECURRENT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "threads.h"
#include "hot/isa.h"

enum Cell { SIMPLE, GATED, LONG_SHORT }; /* RNN, GRU, LSTM */

enum ActivationKind {
    RELU, TANH, SIGMOID, AFFINE, LEAKY_RELU, THRESHOLDED_RELU, SCALED_TANH, HARD_SIGMOID, ELU, SOFTSIGN, SOFTPLUS, ACTIVATIONS
};

typedef struct Activation {
    int kind;
    double alpha, beta;
} Activation;

/* A layer: `gates` rows of weights for each of `hidden` units, in ONNX's order: zrh, iofc. Offsets and strides in elements. */
typedef struct Recurrent {
    int cell;
    bool coupled;       /* the forget gate is what the input gate leaves */
    bool linear_first;  /* the reset gate multiplies a product, not a factor of it */
    bool clipped;
    bool backward[2];
    double clip;
    Activation activations[2][3];
    ptrdiff_t steps, batch, inputs, hidden, gates, directions;
    ptrdiff_t x_step, x_item;                        /* of the input */
    ptrdiff_t y_step, y_item, y_direction;           /* of all hidden states */
    ptrdiff_t state_item, state_direction;           /* of the first and last ones */
    ptrdiff_t room;                                  /* steps times items whose gates are worked out at once */
    ptrdiff_t w_each, r_first, r_each;               /* elements of a direction's panels, of those for the first product */
    const void *w_panels, *r_panels;                 /* as `pack` leaves them, or NULL where a run brings the weights */
} Recurrent;

/* A run of it. What is absent is NULL. `rows` items of the batch make a block; an item of the loop is a direction's block. */
typedef struct RecurrentCall {
    const Recurrent *how;
    const void *x, *w, *r, *bias, *h, *c, *peephole;
    const int32_t *lengths;
    void *y, *last_h, *last_c;
    ptrdiff_t rows, blocks;
} RecurrentCall;

typedef struct RecurrentLoops {
    ptrdiff_t float_columns, double_columns; /* the width of a panel */
    void (*float_pack)(const float *b, ptrdiff_t row, ptrdiff_t column, ptrdiff_t k, ptrdiff_t n, float *out);
    void (*double_pack)(const double *b, ptrdiff_t row, ptrdiff_t column, ptrdiff_t k, ptrdiff_t n, double *out);
    Task float_task, double_task;
} RecurrentLoops;

/* Elements of scratch that an item of the loop needs for up to `rows` items of the batch. */
static inline ptrdiff_t recurrent_scratch(const Recurrent *how, ptrdiff_t rows) {
    ptrdiff_t each = how->gates * how->hidden;
    return each + rows * 4 * how->hidden + how->room * (each + how->inputs) + (how->w_panels ? 0 : how->w_each)
           + (how->r_panels ? 0 : how->r_each);
}

extern const RecurrentLoops recurrent_baseline;
#if defined(__x86_64__)
extern const RecurrentLoops recurrent_avx2;
#endif
#endif
