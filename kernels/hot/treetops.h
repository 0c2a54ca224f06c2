/* The first levels of a tree for several rows at once: every node is compared, then the outcomes are picked level by level. */
#if defined(__AVX2__)
#include <immintrin.h>
#endif
#pragma GCC diagnostic ignored "-Wpsabi" /* vectors are passed to inlined functions only */

#define TOPS(real, whole)                                                                                             \
    typedef real all_##real __attribute__((vector_size(ALIKE), aligned(sizeof(real))));                               \
    typedef whole mask_##real __attribute__((vector_size(ALIKE)));                                                    \
    enum { TOGETHER_##real = ALIKE / sizeof(real) };                                                                  \
                                                                                                                      \
    typedef struct Top_##real {                                                                                       \
        const real *limits, *x;                                                                                       \
        const int32_t *columns;                                                                                       \
        int nan_below;                                                                                                \
    } Top_##real;                                                                                                     \
                                                                                                                      \
    INLINE mask_##real pick_##real(mask_##real below, mask_##real yes, mask_##real no) {                              \
        return PICK(mask_##real, below, yes, no);                                                                     \
    }                                                                                                                 \
    /* Which rows go below at node i; then which do so one, two … levels further down, where b has the levels between. */ \
    INLINE mask_##real at0_##real(const Top_##real *t, int i, const mask_##real *b) {                                 \
        all_##real x = *(const all_##real *)(t->x + t->columns[i]);                                                   \
        return t->nan_below ? ~(mask_##real)(x > t->limits[i]) : (mask_##real)(x <= t->limits[i]);                    \
    }                                                                                                                 \
    LEVEL(real, at0, at1)                                                                                             \
    LEVEL(real, at1, at2)                                                                                             \
    LEVEL(real, at2, at3)                                                                                             \
    LEVEL(real, at3, at4)                                                                                             \
    LEVEL(real, at4, at5)                                                                                             \
                                                                                                                      \
    /* The way of each row through the levels, as a number. */                                                        \
    INLINE mask_##real way_##real(const Top_##real *t, int levels, mask_##real *b) {                                  \
        mask_##real way = {0};                                                                                        \
        b[0] = at0_##real(t, 0, b);                                                                                   \
        if (levels > 1)                                                                                               \
            b[1] = at1_##real(t, 0, b);                                                                               \
        if (levels > 2)                                                                                               \
            b[2] = at2_##real(t, 0, b);                                                                               \
        if (levels > 3)                                                                                               \
            b[3] = at3_##real(t, 0, b);                                                                               \
        if (levels > 4)                                                                                               \
            b[4] = at4_##real(t, 0, b);                                                                               \
        if (levels > 5)                                                                                               \
            b[5] = at5_##real(t, 0, b);                                                                               \
        for (int k = 0; k < levels; k++)                                                                              \
            way = way + way + 1 + b[k];                                                                               \
        return way;                                                                                                   \
    }

#define INLINE static inline __attribute__((always_inline))
#define LEVEL(real, one, next)                                                                                        \
    INLINE mask_##real next##_##real(const Top_##real *t, int i, const mask_##real *b) {                              \
        return pick_##real(b[0], one##_##real(t, 2 * i + 1, b + 1), one##_##real(t, 2 * i + 2, b + 1));               \
    }
#if defined(__AVX2__)
#define PICK(mask, below, yes, no) (mask) _mm256_blendv_epi8((__m256i)(no), (__m256i)(yes), (__m256i)(below))
#else
#define PICK(mask, below, yes, no) ((no) ^ (((yes) ^ (no)) & (below)))
#endif

TOPS(float, int32_t)
TOPS(double, int64_t)

/* The vote behind each way: eight of them are one look-up, more are picked like nodes. */
INLINE mask_float eight(const float *votes, mask_float way) {
#if defined(__AVX2__)
    return (mask_float)_mm256_permutevar8x32_ps(_mm256_loadu_ps(votes), (__m256i)way);
#else
    all_float found;
    for (int i = 0; i < 8; i++)
        found[i] = votes[way[i] & 7];
    return (mask_float)found;
#endif
}
INLINE mask_float sixteen(const float *votes, mask_float way, const mask_float *b) {
    return pick_float(b[0], eight(votes, way), eight(votes + 8, way));
}
INLINE mask_float thirty_two(const float *votes, mask_float way, const mask_float *b) {
    return pick_float(b[0], sixteen(votes, way, b + 1), sixteen(votes + 16, way, b + 1));
}
INLINE mask_float votes_of(const float *votes, int levels, mask_float way, const mask_float *b) {
    if (levels < 4)
        return eight(votes, way);
    if (levels == 4)
        return sixteen(votes, way, b);
    if (levels == 5)
        return thirty_two(votes, way, b);
    return pick_float(b[0], thirty_two(votes, way, b + 1), thirty_two(votes + 32, way, b + 1));
}
