/* Rows of elementwise arithmetic, for every instruction set: one function an operation and element type. */
#ifndef INTERP_HOT_ELEMENTWISE_H
#define INTERP_HOT_ELEMENTWISE_H
#include <stddef.h>
#include "hot/isa.h"

/* Element types, by the codes of step.pxd. */
enum { F32, F64, F16, BF16, I8, U8, I16, U16, I32, U32, I64, U64, BOOLEAN, CODES };

enum { ADD, SUB, MUL, DIV, MAX, MIN, POW, PRELU, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, EQUAL, AND, OR, XOR, LEFT, RIGHT, MOD,
       FMOD, SWIGLU, PAIRS };
enum { RELU, LEAKY_RELU, ABS, NEG, SQRT, RECIPROCAL, FLOOR, CEIL, ROUND, SIGN, EXP, LOG, SIGMOID, TANH, ERF, ELU, HARD_SIGMOID,
       HARD_SWISH, CLIP, NOT, BITWISE_NOT, IS_NAN, IS_INF, SIN, COS, TAN, ASIN, ACOS, ATAN, SINH, COSH, ASINH, ACOSH, ATANH,
       SOFTPLUS, SOFTSIGN, SWISH, GELU, GELU_TANH, MISH, SELU, CELU, SHRINK, THRESHOLDED_RELU, RAISE, MAPS };
enum { NEITHER, FIRST, SECOND }; /* which operand is one element that repeats along the row */

/* n results; the result may stand where an operand stands. 0, or a status. */
typedef int (*Pair)(const void *a, const void *b, void *y, ptrdiff_t n, int repeats, double setting);
typedef int (*Map)(const void *x, void *y, ptrdiff_t n, const double *settings);

typedef struct ElementwiseLoops {
    Pair pair[PAIRS][CODES];
    Map map[MAPS][CODES];
} ElementwiseLoops;

extern const ElementwiseLoops elementwise_baseline;
#if defined(__x86_64__)
extern const ElementwiseLoops elementwise_avx2;
#endif
#endif
