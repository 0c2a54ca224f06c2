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

#define SLIDE(real, fold, element)                                                                             \
    static void vertical_##fold##_##element(const Sliding_##real *s, const Rows_##real *rows, ptrdiff_t n) {   \
        vertical_##real(s, rows, n, fold, element);                                                            \
    }                                                                                                          \
    static void along_##fold##_##element(Sliding_##real *s, ptrdiff_t at, ptrdiff_t n) {                       \
        along_##real(s, at, n, fold, element);                                                                 \
    }                                                                                                          \
    static void pairs_##fold##_##element(Sliding_##real *s, ptrdiff_t at, ptrdiff_t n) {                       \
        pairs_##real(s, at, n, fold, element);                                                                 \
    }                                                                                                          \
    static int slide_##fold##_##element(const void *call, ptrdiff_t begin, ptrdiff_t end, void *scratch) {     \
        return slide_##real(call, begin, end, scratch, fold, vertical_##fold##_##element,                      \
                            along_##fold##_##element, pairs_##fold##_##element);                               \
    }
#define WHOLE(real, fold, element)                                                                             \
    static int whole_##fold##_##element(const void *call, ptrdiff_t begin, ptrdiff_t end, void *scratch) {     \
        return whole_##real(call, begin, end, scratch, fold, element);                                         \
    }
#define INDICES(real, element)                                                                                 \
    static int indices_##element(const void *call, ptrdiff_t begin, ptrdiff_t end, void *scratch) {            \
        return indices_##real(call, begin, end, scratch, element);                                             \
    }
#define BOTH(real, fold, element) SLIDE(real, fold, element) WHOLE(real, fold, element)
#define FLOATING(fold) BOTH(float, fold, FLOAT) BOTH(double, fold, DOUBLE) BOTH(float, fold, HALF) BOTH(float, fold, BRAIN)
FLOATING(MAX)
BOTH(int8_t, MAX, INT8)
BOTH(uint8_t, MAX, UINT8)
FLOATING(MEAN)
FLOATING(NORM1)
FLOATING(NORM2)
FLOATING(NORM3)
/* pow in double: no power of a 16-bit number overflows on the way. */
BOTH(double, NORM, FLOAT)
BOTH(double, NORM, DOUBLE)
BOTH(double, NORM, HALF)
BOTH(double, NORM, BRAIN)
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
