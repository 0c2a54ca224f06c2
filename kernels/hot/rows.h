/* What rows of elementwise loops share: element types, and 16-bit numbers that pass through blocks of floats. */
#ifndef INTERP_HOT_ROWS_H
#define INTERP_HOT_ROWS_H
#include <stddef.h>
#include <stdint.h>
#include "half.h"

typedef unsigned char boolean;
enum { FINE = 0, DIVISION = 2 /* DIVISION_BY_ZERO of step.pxd */, BLOCK = 512 };

/* The result may overwrite an operand, element by element: no iteration reads what another wrote. */
#define EACH _Pragma("GCC ivdep") for (ptrdiff_t i = 0; i < n; i++)

typedef void (*Widen)(const uint16_t *x, float *y, ptrdiff_t n);
typedef void (*Narrow)(const float *x, uint16_t *y, ptrdiff_t n);
#endif
