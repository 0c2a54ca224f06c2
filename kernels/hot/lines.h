/* Folds of a line of elements of one type, REAL, in lanes. Included once for each type. */
#ifndef INTERP_HOT_LINES_H
#define INTERP_HOT_LINES_H
#include <stddef.h>
#include <stdint.h>
#include "hot/isa.h"
#define LINE(name) JOINED(REAL, name)

/* The larger of both in every lane of a; a where either is NaN. */
#define LINE_LARGER(a, b)                                                        \
    do {                                                                         \
        __typeof__(a) other = b;                                                 \
        __typeof__(a > other) mask = other > a;                                  \
        a = (__typeof__(a))(((__typeof__(mask))other & mask) | ((__typeof__(mask))a & ~mask)); \
    } while (0)

enum { LINE_BYTES = 32, LINE_BLOCK = 4096 }; /* so many elements are added up in REAL, blocks of them in double */
#endif

#define LINE_LANES ((ptrdiff_t)(LINE_BYTES / sizeof(REAL)))
typedef REAL LINE(lanes) __attribute__((vector_size(LINE_BYTES), aligned(sizeof(REAL)), may_alias));

/* The largest of n > 0 elements, NaN passed over but for the first element. */
static REAL LINE(largest)(const REAL *x, ptrdiff_t n) {
    REAL most = x[0];
    ptrdiff_t i = 0;
    if (n >= 2 * LINE_LANES) {
        LINE(lanes) a = *(const LINE(lanes) *)x, b = a;
        for (; i + 2 * LINE_LANES <= n; i += 2 * LINE_LANES) {
            LINE_LARGER(a, *(const LINE(lanes) *)(x + i));
            LINE_LARGER(b, *(const LINE(lanes) *)(x + i + LINE_LANES));
        }
        LINE_LARGER(a, b);
        for (int j = 0; j < LINE_LANES; j++)
            most = a[j] > most ? a[j] : most;
    }
    for (; i < n; i++)
        most = x[i] > most ? x[i] : most;
    return most;
}

static REAL LINE(total)(const REAL *x, ptrdiff_t n) {
    LINE(lanes) a = {0}, b = {0};
    REAL sum = 0;
    ptrdiff_t i = 0;
    for (; i + 2 * LINE_LANES <= n; i += 2 * LINE_LANES) {
        a += *(const LINE(lanes) *)(x + i);
        b += *(const LINE(lanes) *)(x + i + LINE_LANES);
    }
    a += b;
    for (int j = 0; j < LINE_LANES; j++)
        sum += a[j];
    for (; i < n; i++)
        sum += x[i];
    return sum;
}

/* The squares of the distances from a number. */
static REAL LINE(squares)(const REAL *x, REAL from, ptrdiff_t n) {
    LINE(lanes) a = {0}, b = {0};
    REAL sum = 0;
    ptrdiff_t i = 0;
    for (; i + 2 * LINE_LANES <= n; i += 2 * LINE_LANES) {
        LINE(lanes) u = *(const LINE(lanes) *)(x + i) - from, w = *(const LINE(lanes) *)(x + i + LINE_LANES) - from;
        a += u * u;
        b += w * w;
    }
    a += b;
    for (int j = 0; j < LINE_LANES; j++)
        sum += a[j];
    for (; i < n; i++)
        sum += (x[i] - from) * (x[i] - from);
    return sum;
}

/* The sum of the products of two lines. */
static REAL LINE(dot)(const REAL *x, const REAL *y, ptrdiff_t n) {
    LINE(lanes) a = {0}, b = {0};
    REAL sum = 0;
    ptrdiff_t i = 0;
    for (; i + 2 * LINE_LANES <= n; i += 2 * LINE_LANES) {
        a += *(const LINE(lanes) *)(x + i) * *(const LINE(lanes) *)(y + i);
        b += *(const LINE(lanes) *)(x + i + LINE_LANES) * *(const LINE(lanes) *)(y + i + LINE_LANES);
    }
    a += b;
    for (int j = 0; j < LINE_LANES; j++)
        sum += a[j];
    for (; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}
