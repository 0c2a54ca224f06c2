/* Attention of float, with 16-bit elements widened a block at a time, and of double. */
#include "hot/attention.h"
#include <math.h>
#include "half.h"
#include "hot/curves.h"
#include "hot/gemm.h"

#define REAL float
#define TO_E exp_below
#define TANH tanh_of
#include "hot/attend.h"
#undef REAL
#undef TO_E
#undef TANH
#define REAL double
#define TO_E exp
#define TANH tanh
#include "hot/attend.h"
#undef REAL

static ptrdiff_t scratch(const Attention *how) {
    return how->type == 1 ? double_room(how, NULL, NULL) : float_room(how, NULL, NULL);
}

static ptrdiff_t cost(const Attention *how) {
    ptrdiff_t pairs = how->rows * (how->past + how->keys);
    return nanoseconds(pairs, how->size + how->v_size, how->type == 1 ? 8 : 4) + pairs * (how->type == 1 ? 8 : 1);
}

const AttentionLoops LOOPS(attention) = {float_items, double_items, scratch, cost};
