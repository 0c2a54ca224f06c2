/* Pooling: the loops of pool.h, for each kind of number, fold and element type. */
#include "hot/pool.h"
#include "hot/pool_axes.h"
#include "hot/pool_lanes.h"
#include "hot/pool_roots.h"

#define REAL float
#define OWN FLOAT
#define REAL_IS_FLOATING 1
#include "hot/pool_kind.h"

#define REAL double
#define OWN DOUBLE
#define REAL_IS_FLOATING 1
#include "hot/pool_kind.h"

#define REAL int8_t
#define OWN INT8
#define REAL_IS_FLOATING 0
#include "hot/pool_kind.h"

#define REAL uint8_t
#define OWN UINT8
#define REAL_IS_FLOATING 0
#include "hot/pool_kind.h"

#define TASK(name, real, fold, element)                                                                        \
    static int name##_##fold##_##element(const void *call, ptrdiff_t begin, ptrdiff_t end, void *scratch) {    \
        return name##_##real(call, begin, end, scratch, fold, element);                                        \
    }
#define INDICES(real, element)                                                                                 \
    static int indices_##element(const void *call, ptrdiff_t begin, ptrdiff_t end, void *scratch) {            \
        return indices_##real(call, begin, end, scratch, element);                                             \
    }
#define FLOATING(name, fold)                                                                                   \
    TASK(name, float, fold, FLOAT)                                                                             \
    TASK(name, double, fold, DOUBLE)                                                                           \
    TASK(name, float, fold, HALF)                                                                              \
    TASK(name, float, fold, BRAIN)
/* pow in double: no power of a 16-bit number overflows on the way. */
#define POWERS(name)                                                                                           \
    TASK(name, double, NORM, FLOAT)                                                                            \
    TASK(name, double, NORM, DOUBLE)                                                                           \
    TASK(name, double, NORM, HALF)                                                                             \
    TASK(name, double, NORM, BRAIN)
#define FAMILY(name)                                                                                           \
    FLOATING(name, MAX)                                                                                        \
    TASK(name, int8_t, MAX, INT8)                                                                              \
    TASK(name, uint8_t, MAX, UINT8)                                                                            \
    FLOATING(name, MEAN)                                                                                       \
    FLOATING(name, NORM1)                                                                                      \
    FLOATING(name, NORM2)                                                                                      \
    FLOATING(name, NORM3)                                                                                      \
    POWERS(name)
FAMILY(slide)
FAMILY(whole)
INDICES(float, FLOAT)
INDICES(double, DOUBLE)
INDICES(float, HALF)
INDICES(float, BRAIN)
INDICES(int8_t, INT8)
INDICES(uint8_t, UINT8)

#define FLOATS(name, fold) {name##_##fold##_FLOAT, name##_##fold##_DOUBLE, name##_##fold##_HALF, name##_##fold##_BRAIN}
#define ALL(name)                                                                                              \
    {{name##_MAX_FLOAT, name##_MAX_DOUBLE, name##_MAX_HALF, name##_MAX_BRAIN, name##_MAX_INT8, name##_MAX_UINT8}, \
     FLOATS(name, MEAN), FLOATS(name, NORM1), FLOATS(name, NORM2), FLOATS(name, NORM3), FLOATS(name, NORM)}

const PoolLoops LOOPS(pool) = {
    .slide = ALL(slide),
    .whole = ALL(whole),
    .indices = {indices_FLOAT, indices_DOUBLE, indices_HALF, indices_BRAIN, indices_INT8, indices_UINT8},
};
