/* Products of bytes, exact in 32 bits. Both factors are widened to 16 bits, less their zero points, and multiplied two at a
   time: the processor adds the two products in 32 bits, and nothing saturates. A factor that was packed before, when its
   zero points were not known, is set right by the sums of the other one's rows or columns. */
#include <string.h>
#include "hot/integer.h"
#include "hot/pixels.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define ALWAYS static inline __attribute__((always_inline))
#if defined(__AVX2__)
enum { VECTOR = 32, ROWS = 6 };
#else
enum { VECTOR = 16, ROWS = 4 };
#endif
enum {
    LANES = VECTOR / sizeof(int32_t),
    COLUMNS = 2 * LANES,      /* of a panel, which has pairs of rows of b, interleaved */
    ROWS_BYTES = 128 << 10,   /* of a that stay in the second-level cache */
    PANELS_BYTES = 256 << 10, /* of b that do, where they are packed in a run */
    MOST_ROWS = 96,
    MOST_PANELS = 16,
};

typedef uint32_t lanes __attribute__((vector_size(VECTOR), aligned(4), may_alias)); /* sums may wrap around */

/* In each lane, the sum of the products of the two halves of a and b. */
ALWAYS lanes pairs(lanes a, lanes b) {
#if defined(__AVX2__)
    return (lanes)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
    return (lanes)_mm_madd_epi16((__m128i)a, (__m128i)b);
#else
    typedef int32_t whole __attribute__((vector_size(VECTOR)));
    whole low = ((whole)(a << 16) >> 16) * ((whole)(b << 16) >> 16), high = ((whole)a >> 16) * ((whole)b >> 16);
    return (lanes)(low + high);
#endif
}

ALWAYS lanes load(const int16_t *x) {
    return *(const lanes *)x;
}

ALWAYS lanes both(const int16_t *x) {
    uint32_t pair;
    memcpy(&pair, x, sizeof pair);
    return pair - (lanes){0};
}

static ptrdiff_t depth_of(ptrdiff_t k) {
    return k + (k & 1);
}

ALWAYS int byte_at(const uint8_t *x, bool is_signed) {
    return is_signed ? (int8_t)*x : *x;
}

/* Packing */

ALWAYS void widened(const uint8_t *x, bool is_signed, ptrdiff_t n, int zero, int16_t *out) {
    for (ptrdiff_t i = 0; i < n; i++)
        out[i] = (int16_t)(byte_at(x + i, is_signed) - zero);
}

static void pack_row(const uint8_t *a, bool is_signed, ptrdiff_t k, int zero, int16_t *out) {
    if (is_signed)
        widened(a, true, k, zero, out);
    else
        widened(a, false, k, zero, out);
    if (k & 1)
        out[k] = 0;
}

static void pack_rows(const uint8_t *a, bool is_signed, ptrdiff_t rows, ptrdiff_t k, int16_t *out) {
    for (ptrdiff_t i = 0; i < rows; i++)
        pack_row(a + i * k, is_signed, k, 0, out + i * depth_of(k));
}

ALWAYS void interleave(const int16_t *even, const int16_t *odd, int16_t *out) {
    for (int j = 0; j < COLUMNS; j++) {
        out[2 * j] = even[j];
        out[2 * j + 1] = odd[j];
    }
}

ALWAYS void matrix_row(const uint8_t *b, bool is_signed, ptrdiff_t n, const int16_t *zero, int16_t *out) {
    if (n == COLUMNS)
        for (int j = 0; j < COLUMNS; j++)
            out[j] = (int16_t)(byte_at(b + j, is_signed) - zero[j]);
    else
        for (ptrdiff_t j = 0; j < n; j++)
            out[j] = (int16_t)(byte_at(b + j, is_signed) - zero[j]);
}

/* One panel of a matrix: n columns from b on, zeros beyond them and beyond the last row. */
ALWAYS void matrix_panel(const uint8_t *b, bool is_signed, ptrdiff_t row, ptrdiff_t k, ptrdiff_t n, const int16_t *zero,
                         int16_t *out) {
    int16_t even[COLUMNS] = {0}, odd[COLUMNS] = {0};
    for (ptrdiff_t l = 0; l < k; l += 2, out += 2 * COLUMNS) {
        matrix_row(b + l * row, is_signed, n, zero, even);
        if (l + 1 < k)
            matrix_row(b + (l + 1) * row, is_signed, n, zero, odd);
        else
            memset(odd, 0, sizeof odd);
        interleave(even, odd, out);
    }
}

static void pack_panel(const uint8_t *b, bool is_signed, ptrdiff_t row, ptrdiff_t k, ptrdiff_t n, const int16_t *zero, int16_t *out) {
    if (is_signed)
        matrix_panel(b, true, row, k, n, zero, out);
    else
        matrix_panel(b, false, row, k, n, zero, out);
}

static void pack_panels(const uint8_t *b, bool is_signed, ptrdiff_t k, ptrdiff_t n, int16_t *out) {
    const int16_t none[COLUMNS] = {0};
    for (ptrdiff_t j = 0; j < n; j += COLUMNS)
        pack_panel(b + j, is_signed, n, k, lesser(COLUMNS, n - j), none, out + j * depth_of(k));
}

/* One tap of one channel for a panel's pixels. */
ALWAYS void patch_row(const uint8_t *x, bool is_signed, int zero, const Run *runs, const Inside *in, int n, ptrdiff_t stride,
                      int16_t *out) {
    if (n == 1 && in->count == COLUMNS && stride == 1) {
        for (int j = 0; j < COLUMNS; j++)
            out[j] = (int16_t)(byte_at(x + in->from + j, is_signed) - zero);
        return;
    }
    memset(out, 0, COLUMNS * sizeof *out);
    for (int r = 0; r < n; r++) {
        int16_t *to = out + runs[r].to + in[r].first;
        const uint8_t *from = x + in[r].from;
        for (ptrdiff_t j = 0; j < in[r].count; j++)
            to[j] = (int16_t)(byte_at(from + j * stride, is_signed) - zero);
    }
}

/* One panel of patches: `pixels` of them from `pixel`. Padding is worth the zero point, of which nothing is left. */
ALWAYS void patch_panel(const Convolution *how, const uint8_t *x, bool is_signed, ptrdiff_t pixel, ptrdiff_t pixels, int zero,
                        Inside *in, int16_t *out) {
    Run runs[COLUMNS];
    ptrdiff_t taps = volume(how->kernel), plane = volume(how->size), k = how->in_channels * taps, tap[AXES];
    int n = runs_of(how, pixel, pixels, runs);
    offset_of(how, 0, tap);
    for (ptrdiff_t t = 0; t < taps; t++, next_offset(how, tap))
        for (int r = 0; r < n; r++)
            in[t * n + r] = inside(how, runs + r, tap);
    int16_t rows[2][COLUMNS] = {{0}};
    for (ptrdiff_t l = 0, t = 0; l < k; l++) {
        patch_row(x, is_signed, zero, runs, in + t * n, n, how->stride[2], rows[l & 1]);
        if (l & 1)
            interleave(rows[0], rows[1], out + (l - 1) * COLUMNS);
        if (++t == taps)
            t = 0, x += plane;
    }
    if (k & 1) {
        memset(rows[1], 0, sizeof rows[1]);
        interleave(rows[0], rows[1], out + (k - 1) * COLUMNS);
    }
}

/* The sums of a tile; `rows` is a constant wherever this is inlined, so that they are registers. */
ALWAYS void sums(int rows, const int16_t *a, ptrdiff_t depth, const int16_t *b, int32_t (*out)[COLUMNS]) {
    lanes sum[ROWS][2];
    const int16_t *lower = a + 3 * depth; /* two pointers reach six rows without a multiplication */
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++)
        sum[r][0] = sum[r][1] = (lanes){0};
    for (ptrdiff_t l = 0; l < depth; l += 2, b += 2 * COLUMNS) {
        lanes b0 = load(b), b1 = load(b + COLUMNS);
#pragma GCC unroll 6
        for (int r = 0; r < rows; r++) {
            lanes f = both((r < 3 ? a + r * depth : lower + (r - 3) * depth) + l);
            sum[r][0] += pairs(f, b0);
            sum[r][1] += pairs(f, b1);
        }
    }
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++) {
        *(lanes *)out[r] = sum[r][0];
        *(lanes *)(out[r] + LANES) = sum[r][1];
    }
}

/* Never inlined, so that its registers are for the sums alone. */
static __attribute__((noinline)) void tile(ptrdiff_t rows, const int16_t *a, ptrdiff_t depth, const int16_t *b, int32_t (*out)[COLUMNS]) {
    switch (rows) {
    case 1: sums(1, a, depth, b, out); return;
    case 2: sums(2, a, depth, b, out); return;
    case 3: sums(3, a, depth, b, out); return;
#if defined(__AVX2__)
    case 4: sums(4, a, depth, b, out); return;
    case 5: sums(5, a, depth, b, out); return;
#endif
    default: sums(ROWS, a, depth, b, out);
    }
}

#include "hot/integer_blocks.h"
#include "hot/integer_planes.h"
#if defined(__AVX2__)
#include "hot/narrow_pack.h"
#include "hot/narrow_tile.h"
#include "hot/narrow_matrix.h"
#include "hot/narrow_image.h"
#include "hot/narrow_planes.h"
#endif

static ptrdiff_t scratch_of(const Integers *how) {
    Room room;
#if defined(__AVX2__)
    if (how->planes && is_flat(how))
        return flat_room(&how->window);
#endif
    return how->planes ? 4 * (how->window.out[2] + COLUMNS) : laid_out(how, NULL, &room);
}

static int plane_items(const void *args, ptrdiff_t begin, ptrdiff_t end, void *scratch) {
#if defined(__AVX2__)
    if (is_flat(((const IntegersCall *)args)->how))
        return flat_items(args, begin, end, scratch);
#endif
    return plane_rows(args, begin, end, scratch);
}

static void cut_planes(IntegersCall *call) {
    const Convolution *window = &call->how->window;
#if defined(__AVX2__)
    if (is_flat(call->how)) {
        cut_flat(call);
        return;
    }
#endif
    call->count = call->how->batch * call->how->m * window->out[0] * window->out[1];
    call->cost = 1 + window->out[2] * call->how->k / 4;
}

static void cut(IntegersCall *call, int threads) {
    if (call->how->planes)
        cut_planes(call);
    else
        cut_blocks(call, threads);
}

#if defined(__AVX2__)
static ptrdiff_t narrow_scratch(const Integers *how) {
    NarrowRoom matrix;
    ImageRoom image;
    return how->patches ? image_room(how, NULL, &image) : narrow_matrix_room(how, NULL, &matrix);
}

static const NarrowLoops narrow = {TILE_ROWS, TILE_COLUMNS, packed_block, packing_room, pack_lines, narrow_scratch,
                                   cut_narrow_matrix, cut_image, image_lines, narrow_items, image_rows, image_items};
#define NARROW &narrow
#else
#define NARROW NULL
#endif

const IntegerLoops LOOPS(integer) = {COLUMNS, depth_of, pack_rows, pack_panels, scratch_of, cut, items, plane_items, NARROW};
