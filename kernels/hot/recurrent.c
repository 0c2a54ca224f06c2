/* Recurrent layers of float and of double. */
#include "hot/recurrent.h"
#include "hot/exponential.h"
#include "hot/gemm.h"

static inline float float_logistic(float x) {
    return sigmoid_of(x);
}

static inline float float_tanh(float x) {
    return tanh_of(x);
}

static inline double double_logistic(double x) {
    return 1 / (1 + exp(-x));
}

static inline double double_tanh(double x) {
    return tanh(x);
}

#define REAL float
#include "hot/product.h"
#include "hot/recurrent_cell.h"
#include "hot/recurrent_walk.h"
#undef REAL
#define REAL double
#include "hot/product.h"
#include "hot/recurrent_cell.h"
#include "hot/recurrent_walk.h"
#undef REAL

const RecurrentLoops LOOPS(recurrent) = {
    PANEL_BYTES / sizeof(float), PANEL_BYTES / sizeof(double), float_pack, double_pack, float_sequences, double_sequences,
};
