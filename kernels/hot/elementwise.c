/* Rows of elementwise arithmetic. Every loop is plain C that compilers turn into vectors. */
#include "hot/elementwise.h"
#include "hot/maps.h"
#include "hot/pairs.h"

#define FLOATS(name) [F32] = name##_float, [F64] = name##_double, [F16] = name##_half, [BF16] = name##_brain
#define SIGNED(name) [I8] = name##_int8_t, [I16] = name##_int16_t, [I32] = name##_int32_t, [I64] = name##_int64_t
#define UNSIGNED(name) [U8] = name##_uint8_t, [U16] = name##_uint16_t, [U32] = name##_uint32_t, [U64] = name##_uint64_t
#define SIGNLESS(name) /* the same bits whatever the sign */                                          \
    [I8] = name##_uint8_t, [I16] = name##_uint16_t, [I32] = name##_uint32_t, [I64] = name##_uint64_t, \
    UNSIGNED(name)
#define WRAPPED(name) {FLOATS(name), SIGNLESS(name)}
#define NUMBERS(name) {FLOATS(name), SIGNED(name), UNSIGNED(name)}

const ElementwiseLoops LOOPS(elementwise) = {
    .pair = {
        [ADD] = WRAPPED(add), [SUB] = WRAPPED(sub), [MUL] = WRAPPED(mul), [DIV] = NUMBERS(divide), [MAX] = NUMBERS(larger),
        [MIN] = NUMBERS(smaller), [POW] = {FLOATS(power)}, [PRELU] = {FLOATS(prelu)}, [LESS] = NUMBERS(less),
        [LESS_EQUAL] = NUMBERS(less_equal), [GREATER] = NUMBERS(greater), [GREATER_EQUAL] = NUMBERS(greater_equal),
        [EQUAL] = {FLOATS(equal), SIGNLESS(equal), [BOOLEAN] = equal_uint8_t}, [AND] = {SIGNLESS(both), [BOOLEAN] = both_uint8_t},
        [OR] = {SIGNLESS(either), [BOOLEAN] = either_uint8_t}, [XOR] = {SIGNLESS(differ), [BOOLEAN] = differ_uint8_t},
        [LEFT] = {SIGNLESS(left)}, [RIGHT] = {SIGNED(right), UNSIGNED(right)}, [FMOD] = NUMBERS(rest),
        [MOD] = {FLOATS(modulo), SIGNED(modulo), UNSIGNED(rest)}, [SWIGLU] = {FLOATS(swiglu)},
    },
    .map = {
        [RELU] = {FLOATS(relu), SIGNED(relu)}, [LEAKY_RELU] = {FLOATS(leaky_relu)}, [ABS] = {FLOATS(absolute), SIGNED(absolute)},
        [NEG] = WRAPPED(negative), [SQRT] = {FLOATS(root)}, [RECIPROCAL] = {FLOATS(reciprocal)}, [FLOOR] = {FLOATS(lower)},
        [CEIL] = {FLOATS(upper)}, [ROUND] = {FLOATS(even)}, [SIGN] = NUMBERS(sign), [EXP] = {FLOATS(exponential)},
        [LOG] = {FLOATS(logarithm)}, [SIGMOID] = {FLOATS(sigmoid)}, [TANH] = {FLOATS(tangent)}, [ERF] = {FLOATS(error)},
        [ELU] = {FLOATS(elu)}, [HARD_SIGMOID] = {FLOATS(hard_sigmoid)}, [HARD_SWISH] = {FLOATS(hard_swish)},
        [CLIP] = {FLOATS(clip)}, [NOT] = {[BOOLEAN] = negation_boolean}, [BITWISE_NOT] = {SIGNLESS(turned)},
        [IS_NAN] = {FLOATS(not_a_number)}, [IS_INF] = {FLOATS(infinite)}, [SIN] = {FLOATS(sinus)}, [COS] = {FLOATS(cosinus)},
        [TAN] = {FLOATS(slope)}, [ASIN] = {FLOATS(arc_sinus)}, [ACOS] = {FLOATS(arc_cosinus)}, [ATAN] = {FLOATS(arc_tangent)},
        [SINH] = {FLOATS(sinus_h)}, [COSH] = {FLOATS(cosinus_h)}, [ASINH] = {FLOATS(area_sinus)},
        [ACOSH] = {FLOATS(area_cosinus)}, [ATANH] = {FLOATS(area_tangent)}, [SOFTPLUS] = {FLOATS(softplus)},
        [SOFTSIGN] = {FLOATS(softsign)}, [SWISH] = {FLOATS(swish)}, [GELU] = {FLOATS(gelu)}, [GELU_TANH] = {FLOATS(gelu_tanh)},
        [MISH] = {FLOATS(mish)}, [SELU] = {FLOATS(selu)}, [CELU] = {FLOATS(celu)}, [SHRINK] = {FLOATS(shrunk)},
        [THRESHOLDED_RELU] = {FLOATS(thresholded)}, [RAISE] = {FLOATS(raised)},
    },
};
