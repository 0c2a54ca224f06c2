/* Rows of elements to another type, for every instruction set. */
#ifndef INTERP_HOT_CAST_H
#define INTERP_HOT_CAST_H
#include <stddef.h>
#include "hot/isa.h"

/* Element types, by the codes of step.pxd. */
enum { F32, F64, F16, BF16, I8, U8, I16, U16, I32, U32, I64, U64, BOOLEAN, CODES };

typedef void (*Cast)(const void *x, void *y, ptrdiff_t n);

typedef struct CastLoops {
    Cast cast[CODES][CODES]; /* from, to */
} CastLoops;

extern const CastLoops cast_baseline;
#if defined(__x86_64__)
extern const CastLoops cast_avx2;
#endif
#endif
