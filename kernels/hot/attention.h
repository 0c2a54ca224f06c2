/* Scaled dot product attention, a block of keys at a time, for every instruction set, of float and of double. */
#ifndef INTERP_HOT_ATTENTION_H
#define INTERP_HOT_ATTENTION_H
#include <stddef.h>
#include <stdint.h>
#include "hot/isa.h"

enum {
    KEYS = 256,    /* in a block */
    QUERIES = 96,  /* whose scores of a block of keys are kept at once; a multiple of the rows of every tile */
    FEW = 4,       /* rows for which packing keys and values does not pay */
};

enum { ZERO, UNKNOWN, FORGIVEN };

/* Where the elements of an array are: steps from one batch item, head and row to the next. */
typedef struct {
    ptrdiff_t batch, head, row;
} Strides;

typedef struct {
    ptrdiff_t batch, heads, group, queries, past, keys, size, v_size; /* `group` query heads share a head of keys */
    Strides q, k, v, y, mask;
    ptrdiff_t mask_keys;           /* how many keys the mask knows; the others are hidden */
    ptrdiff_t left, right;         /* keys that a query sees on either side of its own position; -1 for all */
    ptrdiff_t rows;                /* queries of an item */
    int lost;                      /* what a query gets that sees no key: 0 or NaN; FORGIVEN also where a score is no number: 0 */
    int type, mask_type;           /* float, double, half, brain are 0 to 3; of the mask also bool, 4, and none, -1 */
    double scale, cap;             /* a cap of 0 is none */
} Attention;

typedef struct {
    const Attention *how;
    const void *q, *k, *v, *past_k, *past_v, *mask;
    const int64_t *valid; /* keys that count, by batch item, or NULL */
    void *y;
} AttentionCall;

/* Items of a run: each is some queries of a head. */
typedef int (*AttentionTask)(const void *call, ptrdiff_t begin, ptrdiff_t end, void *scratch);

typedef struct AttentionLoops {
    AttentionTask float_task, double_task;
    ptrdiff_t (*scratch)(const Attention *how); /* bytes that an item needs */
    ptrdiff_t (*cost)(const Attention *how);    /* nanoseconds that it takes */
} AttentionLoops;

extern const AttentionLoops attention_baseline;
#if defined(__x86_64__)
extern const AttentionLoops attention_avx2;
#endif
#endif
