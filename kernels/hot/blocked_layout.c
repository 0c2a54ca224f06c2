/* Between planes and octets: the loops of blocked_layout.h. */
#include "hot/blocked_layout.h"
#include "hot/octet.h"
#include "hot/shuffle.h"

/* Vectors hold four places of a channel, with AVX2 also those of the channel four further: then transposing squares of four
   by four within each half makes octets, and the halves go straight from and to memory. */
#if defined(__AVX2__)
enum { QUADS = 2 };
typedef float quads __attribute__((vector_size(32)));
typedef int picks __attribute__((vector_size(32)));
#define PICKED_FROM(a, b, i, j, k, l) SHUFFLE(picks, a, b, i, j, k, l, i + 4, j + 4, k + 4, l + 4)
#define FROM_B 8
INLINE quads quads_at(const float *low, const float *high) {
    return (quads)_mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(low)), _mm_loadu_ps(high), 1);
}
INLINE void put_quads(float *low, float *high, quads v) {
    _mm_storeu_ps(low, _mm256_castps256_ps128((__m256)v));
    _mm_storeu_ps(high, _mm256_extractf128_ps((__m256)v, 1));
}
#else
enum { QUADS = 1 };
typedef float quads __attribute__((vector_size(16)));
typedef int picks __attribute__((vector_size(16)));
#define PICKED_FROM(a, b, i, j, k, l) SHUFFLE(picks, a, b, i, j, k, l)
#define FROM_B 4
INLINE quads quads_at(const float *low, const float *high) {
    quads v;
    memcpy(&v, low, sizeof v);
    return v;
}
INLINE void put_quads(float *low, float *high, quads v) {
    memcpy(low, &v, sizeof v);
}
#endif

INLINE void transposed(quads v[4]) {
    quads a = PICKED_FROM(v[0], v[1], 0, FROM_B, 1, FROM_B + 1), b = PICKED_FROM(v[2], v[3], 0, FROM_B, 1, FROM_B + 1);
    quads c = PICKED_FROM(v[0], v[1], 2, FROM_B + 2, 3, FROM_B + 3), d = PICKED_FROM(v[2], v[3], 2, FROM_B + 2, 3, FROM_B + 3);
    v[0] = PICKED_FROM(a, b, 0, 1, FROM_B, FROM_B + 1);
    v[1] = PICKED_FROM(a, b, 2, 3, FROM_B + 2, FROM_B + 3);
    v[2] = PICKED_FROM(c, d, 0, 1, FROM_B, FROM_B + 1);
    v[3] = PICKED_FROM(c, d, 2, 3, FROM_B + 2, FROM_B + 3);
}

static void block(const float *const planes[8], float *octets, ptrdiff_t count, ptrdiff_t present) {
    ptrdiff_t i = 0;
    if (present == OCTET)
        for (; i + 4 <= count; i += 4)
#pragma GCC unroll 2
            for (int c = 0; c < OCTET / QUADS; c += 4) {
                quads v[4];
#pragma GCC unroll 4
                for (int j = 0; j < 4; j++)
                    v[j] = quads_at(planes[c + j] + i, planes[(c + j + 4) % OCTET] + i);
                transposed(v);
#pragma GCC unroll 4
                for (int j = 0; j < 4; j++)
                    memcpy(octets + (i + j) * OCTET + c, &v[j], sizeof v[j]);
            }
    for (; i < count; i++)
        for (int c = 0; c < OCTET; c++)
            octets[i * OCTET + c] = c < present ? planes[c][i] : 0;
}

static void unblock(const float *octets, float *const planes[8], ptrdiff_t count, ptrdiff_t present) {
    float *own[OCTET]; /* no store can reach these addresses, so that they stay in registers */
    ptrdiff_t i = 0;
    for (int c = 0; c < OCTET; c++)
        own[c] = planes[c < present ? c : 0];
    if (present == OCTET)
        for (; i + 4 <= count; i += 4)
#pragma GCC unroll 2
            for (int c = 0; c < OCTET / QUADS; c += 4) {
                quads v[4];
#pragma GCC unroll 4
                for (int j = 0; j < 4; j++)
                    memcpy(&v[j], octets + (i + j) * OCTET + c, sizeof v[j]);
                transposed(v);
#pragma GCC unroll 4
                for (int j = 0; j < 4; j++)
                    put_quads(own[c + j] + i, own[(c + j + 4) % OCTET] + i, v[j]);
            }
    for (int c = 0; c < present; c++)
        for (ptrdiff_t j = i; j < count; j++)
            own[c][j] = octets[j * OCTET + c];
}

const BlockedLayoutLoops LOOPS(blocked_layout) = {block, unblock};
