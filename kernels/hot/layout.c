/* Moving elements without looking at them: rows, strided lines, tiles of a transposition, gathered rows. */
#include "hot/layout.h"
#include <stdint.h>
#include <string.h>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

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
        if (read == 2 * (ptrdiff_t)sizeof(type) && write == (ptrdiff_t)sizeof(type)) {   \
            const type *from = (const type *)x;                                          \
            type *restrict to = (type *)y;                                               \
            for (ptrdiff_t i = 0; i < n; i++)                                            \
                to[i] = from[2 * i];                                                     \
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

#if defined(__AVX2__)
/* Four elements of eight lines to four rows of eight: squares of four are turned within the halves of vectors. */
static inline void turn(const char *x, ptrdiff_t step, char *y, ptrdiff_t write) {
    __m256 v[4];
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++)
        v[k] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps((const float *)(x + k * step))),
                                    _mm_loadu_ps((const float *)(x + (k + 4) * step)), 1);
    __m256 a = _mm256_unpacklo_ps(v[0], v[1]), b = _mm256_unpackhi_ps(v[0], v[1]);
    __m256 c = _mm256_unpacklo_ps(v[2], v[3]), d = _mm256_unpackhi_ps(v[2], v[3]);
    _mm256_storeu_ps((float *)y, _mm256_shuffle_ps(a, c, 0x44));
    _mm256_storeu_ps((float *)(y + write), _mm256_shuffle_ps(a, c, 0xee));
    _mm256_storeu_ps((float *)(y + 2 * write), _mm256_shuffle_ps(b, d, 0x44));
    _mm256_storeu_ps((float *)(y + 3 * write), _mm256_shuffle_ps(b, d, 0xee));
}

/* Elements of four bytes, sixteen columns and four lines at a time. */
static void turned(const char *x, char *y, ptrdiff_t n, const Lines *how) {
    ptrdiff_t step = how->read_across, write = how->write, columns = how->across / 16 * 16, lines = n / 4 * 4;
    for (ptrdiff_t j = 0; j < columns; j += 16)
        for (ptrdiff_t i = 0; i < lines; i += 4) {
            turn(x + i * 4 + j * step, step, y + i * write + j * 4, write);
            turn(x + i * 4 + (j + 8) * step, step, y + i * write + (j + 8) * 4, write);
        }
    Lines rest = *how;
    if (columns < how->across) {
        rest.across = how->across - columns;
        tiled_uint32_t(x + columns * step, y + columns * 4, lines, &rest);
    }
    tiled_uint32_t(x + lines * 4, y + lines * write, n - lines, how);
}
#else
#define turned tiled_uint32_t
#endif

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
const LayoutLoops LOOPS(layout) = {
    solid, BY_WIDTH(strided), {tiled_uint8_t, tiled_uint16_t, turned, tiled_uint64_t, tiled_Pair64},
    {gathered_int32_t, gathered_int64_t}};
