/* Local response in the blocked layout. */
#ifndef INTERP_HOT_BLOCKED_RESPONSE_H
#define INTERP_HOT_BLOCKED_RESPONSE_H
#include <stddef.h>
#include "hot/isa.h"
#include "threads.h"

/* Windows of `size` channels, `before` of them before the one in the middle. A strip is `strip` places with all their
   channels, whose squares have a row of `row` floats for each place: `margin` zeros at both ends. */
typedef struct BlockedResponse {
    ptrdiff_t channels, blocks, plane, size, before;
    ptrdiff_t strip, strips, margin, row;
    float alpha, beta, bias;
} BlockedResponse;

typedef struct BlockedResponseCall {
    const float *x;
    float *y;
    const BlockedResponse *how;
} BlockedResponseCall;

typedef struct BlockedResponseLoops {
    Task strips; /* over strips of all batch items; scratch for `strip` rows */
} BlockedResponseLoops;

extern const BlockedResponseLoops blocked_response_baseline;
#if defined(__x86_64__)
extern const BlockedResponseLoops blocked_response_avx2;
#endif
#endif
