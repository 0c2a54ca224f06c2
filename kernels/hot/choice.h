/* Rows of one operand or another by a condition, for every instruction set: one function for elements of 1, 2, 4, 8, 16 bytes. */
#ifndef INTERP_HOT_CHOICE_H
#define INTERP_HOT_CHOICE_H
#include <stddef.h>
#include "hot/isa.h"

enum { CONDITION = 1, FIRST = 2, SECOND = 4 }; /* bits: which operands are one element that repeats along the row */

typedef void (*Choose)(const char *condition, const char *x, const char *y, char *z, ptrdiff_t n, int repeats);

typedef struct ChoiceLoops {
    Choose choose[5];
} ChoiceLoops;

extern const ChoiceLoops choice_baseline;
#if defined(__x86_64__)
extern const ChoiceLoops choice_avx2;
#endif
#endif
