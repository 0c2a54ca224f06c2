/* Local response in the blocked layout: the loops of blocked_response.h. All squares of a window are added anew for each
   channel, since a sliding sum would keep the rounding errors of large neighbours that have left it. */
#include <math.h>
#include "hot/blocked_response.h"
#include "hot/octet.h"

enum { TOGETHER = 2 }; /* places that share cache lines */

/* The octet of one place whose lanes are channels; lanes beyond the channels become zeros. */
INLINE octet channels_at(const float *x, ptrdiff_t present) {
    octet v = octet_at(x);
    if (present >= OCTET)
        return v;
    octet_bits lane = {0, 1, 2, 3, 4, 5, 6, 7};
    return (octet)((octet_bits)v & (lane < (int)present));
}

static void divide_by_power(octet *x, const octet *t, float beta) {
    for (int i = 0; i < OCTET; i++) {
        float r = sqrtf((*t)[i]);
        (*x)[i] /= beta == 0.75f ? r * sqrtf(r) : beta == 0.5f ? r : powf((*t)[i], beta);
    }
}

INLINE octet divided_by_power(octet x, octet t, float beta) {
    divide_by_power(&x, &t, beta);
    return x;
}

#if defined(__AVX2__)
/* All bits of the lanes whose t is no number from 2^-60 to 2^60. */
INLINE octet_bits far_out(octet t) {
    enum { LEAST = 0x21800000, MOST = 0x5d800000 };
    return (octet_bits)t - (int)(LEAST + 0x80000000u) > (int)(MOST - LEAST + 0x80000000u);
}

INLINE int anywhere(octet_bits v) {
    return !_mm256_testz_si256((__m256i)v, (__m256i)v);
}

/* x / t ^ 0.75: from the processor's estimate of roots one step of Newton's, with its second order, to float precision. */
INLINE octet near_three_quarters(octet x, octet t) {
    octet half = (octet)_mm256_rsqrt_ps((__m256)t);
    octet y = half * half * (octet)_mm256_rsqrt_ps((__m256)half);
    octet quarter = t * y, error = 1 - quarter * quarter * (quarter * y);
    return x * (y + y * (error * (0.25f + 0.15625f * error)));
}
#endif

INLINE octet over_three_quarters(octet x, octet t) {
#if defined(__AVX2__)
    if (__builtin_expect(!anywhere(far_out(t)), 1))
        return near_three_quarters(x, t);
#endif
    return divided_by_power(x, t, 0.75f);
}

INLINE void strip(const BlockedResponse *how, const float *x, float *y, ptrdiff_t n, ptrdiff_t size, float *squares) {
    ptrdiff_t plane = how->plane * OCTET;
    octet alpha = octet_of(how->alpha), bias = octet_of(how->bias);
    for (ptrdiff_t b = 0; b < how->blocks; b++)
        for (ptrdiff_t i = 0; i < n; i++) {
            octet v = channels_at(x + b * plane + i * OCTET, how->channels - b * OCTET);
            put_octet(squares + i * how->row + how->margin + b * OCTET, v * v);
        }
    for (ptrdiff_t b = 0; b < how->blocks; b++)
        for (ptrdiff_t i = 0; i < n; i++) {
            const float *first = squares + i * how->row + how->margin + b * OCTET - how->before;
            octet v = channels_at(x + b * plane + i * OCTET, how->channels - b * OCTET), sum = octet_at(first);
            for (ptrdiff_t k = 1; k < size; k++)
                sum += octet_at(first + k);
            sum = bias + alpha * sum;
            put_octet(y + b * plane + i * OCTET,
                      how->beta == 0.75f ? over_three_quarters(v, sum) : divided_by_power(v, sum, how->beta));
        }
}

#if defined(__AVX2__)
/* Windows of five, at `places` places: on the way along the channels the squares of the block before and of the one behind are
   at hand. The first half of `before` is the second one of the block before, the other one the first of the block. */
INLINE void fives(const BlockedResponse *how, const float *x, float *y, int places) {
    ptrdiff_t plane = how->plane * OCTET, blocks = how->blocks, last = how->channels - (blocks - 1) * OCTET;
    octet alpha = octet_of(how->alpha), bias = octet_of(how->bias), value[TOGETHER], square[TOGETHER];
    __m256i before[TOGETHER];
#pragma GCC unroll 2
    for (int i = 0; i < places; i++) {
        value[i] = channels_at(x + i * OCTET, how->channels);
        square[i] = value[i] * value[i];
        before[i] = _mm256_permute2x128_si256((__m256i)square[i], (__m256i)square[i], 0x08);
    }
    for (ptrdiff_t b = 1; b <= blocks; b++, y += plane) {
        octet t[TOGETHER], own[TOGETHER];
        octet_bits far = {0};
        x += plane;
#pragma GCC unroll 2
        for (int i = 0; i < places; i++) {
            octet next = {0};
            if (b < blocks)
                next = b < blocks - 1 ? octet_at(x + i * OCTET) : channels_at(x + i * OCTET, last);
            octet squares = next * next;
            __m256i mine = (__m256i)square[i], after = _mm256_permute2x128_si256(mine, (__m256i)squares, 0x21);
            octet sum = ((octet)_mm256_alignr_epi8(mine, before[i], 8) + (octet)_mm256_alignr_epi8(mine, before[i], 12))
                        + ((octet)_mm256_alignr_epi8(after, mine, 4) + (octet)_mm256_alignr_epi8(after, mine, 8)) + square[i];
            own[i] = value[i], t[i] = bias + alpha * sum;
            far |= far_out(t[i]);
            value[i] = next, square[i] = squares, before[i] = after;
        }
        if (__builtin_expect(anywhere(far), 0))
            for (int i = 0; i < places; i++)
                put_octet(y + i * OCTET, divided_by_power(own[i], t[i], 0.75f));
        else
#pragma GCC unroll 2
            for (int i = 0; i < places; i++)
                put_octet(y + i * OCTET, near_three_quarters(own[i], t[i]));
    }
}

static void strip_of_fives(const BlockedResponse *how, const float *x, float *y, ptrdiff_t n) {
    ptrdiff_t i = 0;
    for (; i + TOGETHER <= n; i += TOGETHER)
        fives(how, x + i * OCTET, y + i * OCTET, TOGETHER);
    for (; i < n; i++)
        fives(how, x + i * OCTET, y + i * OCTET, 1);
}
#endif

static int strips(const void *call_, ptrdiff_t begin, ptrdiff_t end, void *scratch) {
    const BlockedResponseCall *call = call_;
    const BlockedResponse *how = call->how;
    float *squares = scratch;
    for (ptrdiff_t i = 0; i < how->strip; i++) {
        memset(squares + i * how->row, 0, (size_t)how->margin * sizeof(float));
        memset(squares + (i + 1) * how->row - how->margin, 0, (size_t)how->margin * sizeof(float));
    }
    for (ptrdiff_t i = begin; i < end; i++) {
        ptrdiff_t first = i % how->strips * how->strip, rest = how->plane - first, n = rest < how->strip ? rest : how->strip;
        ptrdiff_t at = (i / how->strips * how->blocks * how->plane + first) * OCTET;
#if defined(__AVX2__)
        if (how->size == 5 && how->before == 2 && how->beta == 0.75f) {
            strip_of_fives(how, call->x + at, call->y + at, n);
            continue;
        }
#endif
            strip(how, call->x + at, call->y + at, n, how->size, squares);
    }
    return 0;
}

const BlockedResponseLoops LOOPS(blocked_response) = {strips};
