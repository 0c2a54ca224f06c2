/* Matrix products of float with weights of four bits: panels become floats a chunk at a time, in the first-level cache. */
#include "hot/nibbles.h"
#include "hot/gemm.h"

#define REAL float
#include "hot/product.h"

/* One row of a panel: the numbers of its columns. */
ALWAYS void numbers(const uint8_t *codes, float_vector *left, float_vector *right) {
#if defined(__AVX2__)
    __m256i pairs = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)codes));
    *left = (float_vector)_mm256_cvtepi32_ps(_mm256_and_si256(pairs, _mm256_set1_epi32(15)));
    *right = (float_vector)_mm256_cvtepi32_ps(_mm256_srli_epi32(pairs, 4));
#else
    for (int l = 0; l < LANES; l++) {
        (*left)[l] = (float)(codes[l] & 15);
        (*right)[l] = (float)(codes[l] >> 4);
    }
#endif
}

/* Rows of a panel from row k on, `depth` of them. */
static void widened(const Nibbles *how, ptrdiff_t panel, ptrdiff_t k, ptrdiff_t depth, float *out) {
    ptrdiff_t blocks = pieces(how->k, how->block), end = k + depth;
    const uint8_t *codes = how->codes + (panel * blocks * how->block + k) * LANES;
    while (k < end) {
        ptrdiff_t block = k / how->block, stop = lesser((block + 1) * how->block, end), at = (panel * blocks + block) * COLUMNS;
        float_vector scale[2] = {float_load(how->scales + at), float_load(how->scales + at + LANES)};
        float_vector zero[2] = {float_load(how->zeros + at), float_load(how->zeros + at + LANES)};
        for (; k < stop; k++, codes += LANES, out += COLUMNS) {
            float_vector left, right;
            numbers(codes, &left, &right);
            float_store(out, (left - zero[0]) * scale[0]);
            float_store(out + LANES, (right - zero[1]) * scale[1]);
        }
    }
}

/* The sums of a single row, without the way through memory: scaled block by block. */
static void one_row(const Nibbles *how, const float *a, ptrdiff_t panel, float_vector *sums) {
    ptrdiff_t blocks = pieces(how->k, how->block);
    const uint8_t *codes = how->codes + panel * blocks * how->block * LANES;
    sums[0] = sums[1] = (float_vector){0};
    for (ptrdiff_t block = 0, k = 0; block < blocks; block++) {
        ptrdiff_t stop = lesser((block + 1) * how->block, how->k), at = (panel * blocks + block) * COLUMNS;
        float_vector zero[2] = {float_load(how->zeros + at), float_load(how->zeros + at + LANES)};
        float_vector even[2] = {{0}, {0}}, odd[2] = {{0}, {0}}, left, right;
        for (; k < stop; k++, codes += LANES) {
            float_vector f = float_spread(a[k]);
            numbers(codes, &left, &right);
            even[0] += f * (left - zero[0]);
            even[1] += f * (right - zero[1]);
            if (++k < stop) {
                f = float_spread(a[k]);
                numbers(codes += LANES, &left, &right);
                odd[0] += f * (left - zero[0]);
                odd[1] += f * (right - zero[1]);
            }
        }
        sums[0] += (even[0] + odd[0]) * float_load(how->scales + at);
        sums[1] += (even[1] + odd[1]) * float_load(how->scales + at + LANES);
    }
}

static int panels(const void *args, ptrdiff_t begin, ptrdiff_t end, void *scratch) {
    const NibblesCall *call = args;
    const Nibbles *how = call->how;
    for (ptrdiff_t panel = begin; panel < end; panel++) {
        ptrdiff_t j = panel * COLUMNS, most = even_piece(how->k, DEPTH), k = 0;
        float_Epilogue all = {call->y, how->n, call->bias, 0, 1, 1, 1, true}, e = float_from(&all, 0, j);
        if (how->m == 1) {
            float_vector sums[2];
            one_row(how, call->a, panel, sums);
            float_finish_row(&e, 0, 0, sums, how->n - j);
            continue;
        }
        do {
            ptrdiff_t depth = lesser(most, how->k - k);
            float_Factor a = {call->a + k, ROWS * how->k, how->k, 1}, b = {scratch, depth * COLUMNS, 1, COLUMNS};
            widened(how, panel, k, depth, scratch);
            float_block(&a, &b, how->m, lesser(COLUMNS, how->n - j), depth, &e);
            e.first = false;
            k += depth;
        } while (k < how->k);
    }
    return 0;
}

static void cut(NibblesCall *call) {
    call->count = call->how->m ? pieces(call->how->n, COLUMNS) : 0;
    call->cost = nanoseconds((call->how->m + 2) * COLUMNS, call->how->k, sizeof(float));
}

const NibblesLoops LOOPS(nibbles) = {PANEL_BYTES / sizeof(float), DEPTH * PANEL_BYTES, cut, panels};
