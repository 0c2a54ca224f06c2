/* Pooling in the blocked layout: the loops of blocked_pool.h. */
#include "hot/blocked_fold.h"

/* What of the input one row of the output sees: `rows` rows, the first at `top`, and how many count in a mean. */
typedef struct {
    const float *top;
    ptrdiff_t rows, pitch, counted;
} Strip;

/* The taps of the window at `start` that lie in 0..end, as the first of them and their number. */
INLINE ptrdiff_t taps_inside(const BlockedPoolAxis *a, ptrdiff_t start, ptrdiff_t end, ptrdiff_t *first) {
    ptrdiff_t last = start >= end ? 0 : (end - start + a->dilation - 1) / a->dilation;
    *first = start < 0 ? (-start + a->dilation - 1) / a->dilation : 0;
    last = last < a->kernel ? last : a->kernel;
    return last > *first ? last - *first : 0;
}

/* How many taps count in a mean: those inside, or `padded` those in the declared padding too. */
INLINE ptrdiff_t taps_counted(const BlockedPool *how, const BlockedPoolAxis *a, ptrdiff_t start, ptrdiff_t inside) {
    ptrdiff_t none;
    return how->padded ? taps_inside(a, start + a->before, a->size + a->before + a->after, &none) : inside;
}

static Strip strip_of(const BlockedPool *how, const float *plane, ptrdiff_t row) {
    const BlockedPoolAxis *high = &how->high;
    ptrdiff_t start = row * high->stride - high->before, first, line = how->wide.size * OCTET;
    Strip s = {.rows = taps_inside(high, start, high->size, &first), .pitch = high->dilation * line};
    s.top = plane + (s.rows ? start + first * high->dilation : 0) * line;
    s.counted = taps_counted(how, high, start, s.rows);
    return s;
}

/* One window that may reach beyond the input. */
INLINE octet clipped(const BlockedPool *how, const Strip *s, ptrdiff_t column, int fold) {
    const BlockedPoolAxis *wide = &how->wide;
    ptrdiff_t start = column * wide->stride - wide->before, first, taps = taps_inside(wide, start, wide->size, &first);
    const float *x = s->top + (taps ? start + first * wide->dilation : 0) * OCTET;
    octet v = identity(fold);
    for (ptrdiff_t i = 0; i < s->rows; i++)
        for (ptrdiff_t j = 0; j < taps; j++)
            v = two(v, term(octet_at(x + i * s->pitch + j * wide->dilation * OCTET), fold), fold);
    return finished(v, s->counted * taps_counted(how, wide, start, taps), fold);
}

/* A column of a strip of one to three rows. */
INLINE octet column(const float *x, ptrdiff_t pitch, ptrdiff_t rows, int fold) {
    octet v = term(octet_at(x), fold);
    if (rows == 2)
        v = two(v, term(octet_at(x + pitch), fold), fold);
    if (rows == 3)
        v = three(v, term(octet_at(x + pitch), fold), term(octet_at(x + 2 * pitch), fold), fold);
    return v;
}

/* Outputs side by side whose windows of two or three columns begin one or two columns further each: a column is folded once. */
INLINE void sliding(const float *x, float *y, ptrdiff_t n, ptrdiff_t pitch, ptrdiff_t rows, ptrdiff_t counted, int kernel,
                    int stride, int fold) {
    octet a = kernel > stride ? column(x, pitch, rows, fold) : octet_of(0), b = a;
    if (kernel - stride == 2)
        b = column(x + OCTET, pitch, rows, fold);
    for (ptrdiff_t i = 0; i < n; i++, x += stride * OCTET) {
        octet v;
        if (kernel - stride == 2) {
            octet c = column(x + 2 * OCTET, pitch, rows, fold);
            v = three(a, b, c, fold), a = b, b = c;
        } else if (kernel == 3) {
            octet c = column(x + 2 * OCTET, pitch, rows, fold);
            v = three(a, column(x + OCTET, pitch, rows, fold), c, fold), a = c;
        } else {
            v = two(column(x, pitch, rows, fold), column(x + OCTET, pitch, rows, fold), fold);
        }
        put_octet(y + i * OCTET, finished(v, counted, fold));
    }
}

enum { ABREAST = 4 };

/* `ABREAST` outputs side by side whose windows lie inside. */
INLINE void abreast(const BlockedPool *how, const Strip *s, const float *x, float *y, ptrdiff_t counted, int fold) {
    octet v[ABREAST];
    ptrdiff_t apart = how->wide.stride * OCTET;
    for (int k = 0; k < ABREAST; k++)
        v[k] = identity(fold);
    for (ptrdiff_t i = 0; i < s->rows; i++)
        for (ptrdiff_t j = 0; j < how->wide.kernel; j++) {
            const float *at = x + i * s->pitch + j * how->wide.dilation * OCTET;
#pragma GCC unroll 4
            for (int k = 0; k < ABREAST; k++)
                v[k] = two(v[k], term(octet_at(at + k * apart), fold), fold);
        }
    for (int k = 0; k < ABREAST; k++)
        put_octet(y + k * OCTET, finished(v[k], counted, fold));
}

/* The outputs of a row whose windows lie inside, as far as one of the loops for common windows does them: how many. */
INLINE ptrdiff_t common(const BlockedPool *how, const Strip *s, const float *x, float *y, ptrdiff_t n, ptrdiff_t counted,
                        int fold) {
    const BlockedPoolAxis *wide = &how->wide;
    if (wide->dilation > 1 && wide->kernel > 1)
        return 0;
#define SLIDING(rows_, kernel_, stride_)                                              \
    if (s->rows == rows_ && wide->kernel == kernel_ && wide->stride == stride_) {     \
        sliding(x, y, n, s->pitch, rows_, counted, kernel_, stride_, fold);           \
        return n;                                                                     \
    }
    SLIDING(3, 3, 1)
    SLIDING(2, 3, 1)
    SLIDING(3, 3, 2)
    SLIDING(2, 3, 2)
    SLIDING(2, 2, 2)
    SLIDING(1, 2, 2)
    return 0;
}

INLINE void row(const BlockedPool *how, const float *plane, float *y, ptrdiff_t at, int fold) {
    const BlockedPoolAxis *wide = &how->wide;
    Strip s = strip_of(how, plane, at);
    ptrdiff_t i = 0, counted = s.counted * wide->kernel;
    for (; i < wide->first; i++)
        put_octet(y + i * OCTET, clipped(how, &s, i, fold));
    const float *x = s.top + (i * wide->stride - wide->before) * OCTET;
    ptrdiff_t n = common(how, &s, x, y + i * OCTET, wide->last - i, counted, fold);
    for (i += n; i + ABREAST <= wide->last; i += ABREAST)
        abreast(how, &s, s.top + (i * wide->stride - wide->before) * OCTET, y + i * OCTET, counted, fold);
    for (; i < wide->out; i++)
        put_octet(y + i * OCTET, clipped(how, &s, i, fold));
}

INLINE int rows(const BlockedPoolCall *call, ptrdiff_t begin, ptrdiff_t end, int fold) {
    const BlockedPool *how = call->how;
    ptrdiff_t plane = how->high.size * how->wide.size * OCTET, line = how->wide.out * OCTET;
    for (ptrdiff_t i = begin; i < end; i++)
        row(how, call->x + i / how->high.out * plane, call->y + i * line, i % how->high.out, fold);
    return 0;
}

/* Long sums go in pieces, in lanes of their own. */
enum { PIECE = 256 };

INLINE octet piece(const float *x, ptrdiff_t n, int fold) {
    octet v[ABREAST];
    ptrdiff_t i = 0;
    for (int k = 0; k < ABREAST; k++)
        v[k] = identity(fold);
    for (; i + ABREAST <= n; i += ABREAST)
#pragma GCC unroll 4
        for (int k = 0; k < ABREAST; k++)
            v[k] = two(v[k], term(octet_at(x + (i + k) * OCTET), fold), fold);
    for (; i < n; i++)
        v[0] = two(v[0], term(octet_at(x + i * OCTET), fold), fold);
    return two(two(v[0], v[1], fold), two(v[2], v[3], fold), fold);
}

INLINE int planes(const BlockedPoolCall *call, ptrdiff_t begin, ptrdiff_t end, int fold) {
    ptrdiff_t n = call->how->high.size * call->how->wide.size;
    for (ptrdiff_t i = begin; i < end; i++) {
        const float *x = call->x + i * n * OCTET;
        octet v = identity(fold);
        for (ptrdiff_t k = 0; k < n; k += PIECE)
            v = two(v, piece(x + k * OCTET, n - k < PIECE ? n - k : PIECE, fold), fold);
        put_octet(call->y + i * OCTET, finished(v, n, fold));
    }
    return 0;
}

#define TASKS(fold)                                                                                     \
    static int rows_##fold(const void *call, ptrdiff_t begin, ptrdiff_t end, void *scratch) {           \
        return rows(call, begin, end, BLOCKED_##fold);                                                  \
    }                                                                                                   \
    static int planes_##fold(const void *call, ptrdiff_t begin, ptrdiff_t end, void *scratch) {         \
        return planes(call, begin, end, BLOCKED_##fold);                                                \
    }
TASKS(MAX)
TASKS(MEAN)
TASKS(NORM1)
TASKS(NORM2)
TASKS(NORM3)

const BlockedPoolLoops LOOPS(blocked_pool) = {
    .rows = {rows_MAX, rows_MEAN, rows_NORM1, rows_NORM2, rows_NORM3},
    .planes = {planes_MAX, planes_MEAN, planes_NORM1, planes_NORM2, planes_NORM3},
};
