/* Moving elements without looking at them: rows, strided lines, tiles of a transposition, gathered rows. */
#include "hot/layout.h"
#include <stdint.h>
#include <string.h>

typedef struct Pair64 {
    uint64_t low, high;
} Pair64;

typedef uint8_t Vector __attribute__((vector_size(32), aligned(1), may_alias));

/* Long runs by vectors: the processor's own string move, which memcpy takes for them, is ten times slower on some machines
   where source and result lie alike within their pages. */
__attribute__((optimize("no-tree-loop-distribute-patterns")))
static void solid(const char *x, char *y, ptrdiff_t n, const Lines *how) {
    if (x == y) /* a copy onto itself is done */
        return;
    for (; n >= 128; n -= 128, x += 128, y += 128) {
        Vector a = ((const Vector *)x)[0], b = ((const Vector *)x)[1], c = ((const Vector *)x)[2], d = ((const Vector *)x)[3];
        ((Vector *)y)[0] = a, ((Vector *)y)[1] = b, ((Vector *)y)[2] = c, ((Vector *)y)[3] = d;
    }
    memcpy(y, x, (size_t)n);
}

#define STRIDED(type)                                                                    \
    static void strided_##type(const char *x, char *y, ptrdiff_t n, const Lines *how) {  \
        ptrdiff_t read = how->read, write = how->write;                                  \
        if (read == 0 && write == (ptrdiff_t)sizeof(type)) {                             \
            type one = *(const type *)x;                                                 \
            for (ptrdiff_t i = 0; i < n; i++)                                            \
                ((type *)y)[i] = one;                                                    \
            return;                                                                      \
        }                                                                                \
        for (ptrdiff_t i = 0; i < n; i++, x += read, y += write)                         \
            *(type *)y = *(const type *)x;                                               \
    }

/* Lines of the source run across those of the result: sixteen columns at a time, so that both stay in the cache. */
#define TILED(type)                                                                               \
    static void tiled_##type(const char *x, char *y, ptrdiff_t n, const Lines *how) {             \
        enum { COLUMNS = 16 };                                                                    \
        ptrdiff_t step = how->read_across, write = how->write;                                    \
        ptrdiff_t whole = how->across / COLUMNS * COLUMNS;                                        \
        for (ptrdiff_t from = 0; from < whole; from += COLUMNS)                                   \
            for (ptrdiff_t i = 0; i < n; i++) {                                                   \
                type *to = (type *)(y + i * write) + from;                                        \
                const char *at = x + i * (ptrdiff_t)sizeof(type) + from * step;                   \
                for (int j = 0; j < COLUMNS; j++)                                                 \
                    to[j] = *(const type *)(at + j * step);                                       \
            }                                                                                     \
        for (ptrdiff_t i = 0; i < n; i++)                                                         \
            for (ptrdiff_t j = whole; j < how->across; j++)                                       \
                ((type *)(y + i * write))[j] = *(const type *)(x + i * (ptrdiff_t)sizeof(type) + j * step); \
    }

#define ALL(WHAT) WHAT(uint8_t) WHAT(uint16_t) WHAT(uint32_t) WHAT(uint64_t) WHAT(Pair64)
ALL(STRIDED)
ALL(TILED)

#define GATHERED(type)                                                                                                    \
    static ptrdiff_t gathered_##type(const char *x, const void *index_, char *y, ptrdiff_t first, ptrdiff_t last,         \
                                     ptrdiff_t size, ptrdiff_t bytes) {                                                   \
        const type *index = index_;                                                                                       \
        for (ptrdiff_t i = first; i < last; i++, y += bytes) {                                                            \
            ptrdiff_t k = index[i] + (index[i] < 0 ? size : 0);                                                           \
            if (k < 0 || k >= size)                                                                                       \
                return i;                                                                                                 \
            if (bytes == 4)                                                                                               \
                memcpy(y, x + k * 4, 4);                                                                                  \
            else if (bytes == 8)                                                                                          \
                memcpy(y, x + k * 8, 8);                                                                                  \
            else                                                                                                          \
                solid(x + k * bytes, y, bytes, NULL);                                                                     \
        }                                                                                                                 \
        return -1;                                                                                                        \
    }
GATHERED(int32_t)
GATHERED(int64_t)

#define BY_WIDTH(name) {name##_uint8_t, name##_uint16_t, name##_uint32_t, name##_uint64_t, name##_Pair64}
const LayoutLoops LOOPS(layout) = {solid, BY_WIDTH(strided), BY_WIDTH(tiled), {gathered_int32_t, gathered_int64_t}};
