/* Elements as keys, integers that are ordered as the elements are, and folds up to each element, for every instruction set. */
#ifndef INTERP_HOT_ORDER_H
#define INTERP_HOT_ORDER_H
#include <stddef.h>
#include <stdint.h>
#include "hot/isa.h"

enum { ORDER_TYPES = 13,  /* as in step.pxd: float, double, half, brain, eight kinds of integers, bool */
       ORDER_BLOCK = 256, /* keys that are looked at at once */
       ORDER_DIGITS = 256 };

/* Keys of n elements that are `stride` apart: int64_t for types of 8 bytes, int32_t for others. They fall where the elements rise
   if `falling`. Zeros of either sign have one key; that of NaN is above all others if `nan_most`, else below. */
typedef void (*OrderKeys)(const void *x, ptrdiff_t stride, ptrdiff_t n, int falling, int nan_most, void *keys);

/* Where the largest of n keys is, the first or the last of several. */
typedef int64_t (*OrderFind)(OrderKeys keys, const void *x, ptrdiff_t size, ptrdiff_t n, int falling, int last);

/* The same for m lines side by side, `stride` apart, ORDER_BLOCK at most. */
typedef void (*OrderFindRows)(OrderKeys keys, const void *x, ptrdiff_t size, ptrdiff_t stride, ptrdiff_t n, ptrdiff_t m, int falling,
                              int last, int64_t *at);

/* The positions of the k largest of n keys, the largest first, of equals the earlier one; `room` has order_room bytes. */
typedef void (*OrderTop)(OrderKeys keys, const void *x, ptrdiff_t size, ptrdiff_t stride, ptrdiff_t n, ptrdiff_t k, int falling,
                         int64_t *at, void *room);

/* Folds up to each of n rows of m elements, ORDER_BLOCK at most, that are `step` apart: with the row itself or without it. */
typedef void (*OrderFold)(const void *x, void *y, ptrdiff_t step, ptrdiff_t n, ptrdiff_t m, int exclusive);

typedef struct OrderLoops {
    OrderKeys keys[ORDER_TYPES];
    OrderFind find[2]; /* of keys of 4 and of 8 bytes */
    OrderFindRows find_rows[2];
    OrderTop top[2];
    OrderFold sums[ORDER_TYPES], products[ORDER_TYPES];
} OrderLoops;

/* Whether most of a line is wanted, so that sorting all of it is less work than keeping the best. */
static inline int order_sorts(ptrdiff_t n, ptrdiff_t k) { return n >= 256 && k > n / 16; }

/* Bytes of room for one line: keys with their places. */
static inline size_t order_room(ptrdiff_t n, ptrdiff_t k) {
    return (order_sorts(n, k) ? 2 * (size_t)n : (size_t)k) * 16;
}

extern const OrderLoops order_baseline;
#if defined(__x86_64__)
extern const OrderLoops order_avx2;
#endif
#endif
