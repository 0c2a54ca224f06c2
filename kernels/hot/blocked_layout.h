/* Between planes of single channels and the blocked layout, (N, blocks of 8 channels, places, 8). */
#ifndef INTERP_HOT_BLOCKED_LAYOUT_H
#define INTERP_HOT_BLOCKED_LAYOUT_H
#include <stddef.h>
#include "hot/isa.h"

/* Some places of one block of channels: where they begin in each of the planes that are present, and their octets. */
typedef struct BlockedLayoutLoops {
    void (*block)(const float *const planes[8], float *octets, ptrdiff_t count, ptrdiff_t present);
    void (*unblock)(const float *octets, float *const planes[8], ptrdiff_t count, ptrdiff_t present);
} BlockedLayoutLoops;

extern const BlockedLayoutLoops blocked_layout_baseline;
#if defined(__x86_64__)
extern const BlockedLayoutLoops blocked_layout_avx2;
#endif
#endif
