/* Local response in the blocked layout: the loops of blocked_response.h. All squares of a window are added anew for each
   channel, since a sliding sum would keep the rounding errors of large neighbours that have left it. */
#include <math.h>
#include "hot/blocked_response.h"
#include "hot/octet.h"

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

/* x / t ^ 0.75: from the processor's estimate of roots one step of Newton's, with its second order, to float precision. */
INLINE octet over_three_quarters(octet x, octet t) {
#if defined(__AVX2__)
    octet_bits far = (t < octet_of(0x1p-60f)) | (t > octet_of(0x1p60f)) | (t != t);
    if (__builtin_expect(!_mm256_testz_si256((__m256i)far, (__m256i)far), 0))
        return divided_by_power(x, t, 0.75f);
    octet half = (octet)_mm256_rsqrt_ps((__m256)t);
    octet y = half * half * (octet)_mm256_rsqrt_ps((__m256)half);
    octet quarter = t * y, error = 1 - quarter * quarter * (quarter * y);
    return x * (y + y * (error * (0.25f + 0.15625f * error)));
#else
    return divided_by_power(x, t, 0.75f);
#endif
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
        if (how->size == 5)
            strip(how, call->x + at, call->y + at, n, 5, squares);
        else
            strip(how, call->x + at, call->y + at, n, how->size, squares);
    }
    return 0;
}

const BlockedResponseLoops LOOPS(blocked_response) = {strips};
