/* Between planes of single channels and the blocked layout, (N, blocks of 8 channels, places, 8). */
#ifndef INTERP_HOT_BLOCKED_LAYOUT_H
#define INTERP_HOT_BLOCKED_LAYOUT_H
#include <stddef.h>
#include "hot/isa.h"

/* Some places of one block of channels: `present` planes, `plane` elements apart, and their octets. */
typedef void (*BlockPlaces)(const float *x, float *y, ptrdiff_t plane, ptrdiff_t count, ptrdiff_t present);

typedef struct BlockedLayoutLoops {
    BlockPlaces block, unblock;
} BlockedLayoutLoops;

extern const BlockedLayoutLoops blocked_layout_baseline;
#if defined(__x86_64__)
extern const BlockedLayoutLoops blocked_layout_avx2;
#endif
#endif
