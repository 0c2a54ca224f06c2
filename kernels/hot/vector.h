/* Vectors of one element type, REAL, in the width of the instruction set. Included once for each type, before what uses them. */
#ifndef INTERP_HOT_VECTOR_H
#define INTERP_HOT_VECTOR_H
#include <stddef.h>
#include "hot/isa.h"
#if defined(__AVX2__)
#include <immintrin.h>
enum { VECTOR = 32 }; /* bytes */
#else
enum { VECTOR = 16 };
#endif

#define OF(name) JOINED(REAL, name)
#define ALWAYS static inline __attribute__((always_inline))
#define LANES ((ptrdiff_t)(VECTOR / sizeof(REAL)))
#endif

typedef REAL OF(vector) __attribute__((vector_size(VECTOR), aligned(sizeof(REAL)), may_alias));

ALWAYS OF(vector) OF(load)(const REAL *x) {
    return *(const OF(vector) *)x;
}

ALWAYS void OF(store)(REAL *y, OF(vector) v) {
    *(OF(vector) *)y = v;
}

ALWAYS OF(vector) OF(spread)(REAL x) {
    return x - (OF(vector)){0};
}
