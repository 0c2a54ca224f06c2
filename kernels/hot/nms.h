/* Boxes that others drive out, for every instruction set. */
#ifndef INTERP_HOT_NMS_H
#define INTERP_HOT_NMS_H
#include <stddef.h>
#include <stdint.h>
#include "hot/isa.h"

typedef struct NmsLoops {
    /* Of `count` boxes of four numbers, in the order given, those that share at most `overlap` of what they cover with each
       one taken before: how many, at most `most`, and which. `room` has five numbers for each of `most` + 8. */
    ptrdiff_t (*greedy)(const float *boxes, const int64_t *order, ptrdiff_t count, ptrdiff_t most, float overlap, int centred,
                        float *room, int64_t *found);
} NmsLoops;

extern const NmsLoops nms_baseline;
#if defined(__x86_64__)
extern const NmsLoops nms_avx2;
#endif
#endif
