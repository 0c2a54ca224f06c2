/* Resizing of every element type: conversions, and rows that are picked. The weighting is in resize_real.h. */
#include "hot/resize.h"
#include <math.h>
#include "half.h"

static void float_from(int type, const void *x_, float *y, ptrdiff_t n);
static void double_from(int type, const void *x_, double *y, ptrdiff_t n);
static void float_to(int type, const float *x, void *y_, ptrdiff_t n);
static void double_to(int type, const double *x, void *y_, ptrdiff_t n);

#define REAL float
#include "hot/resize_real.h"
#undef REAL
#define REAL double
#include "hot/resize_real.h"
#undef REAL

#define WIDENED(type) \
    do { \
        const type *x = x_; \
        for (ptrdiff_t i = 0; i < n; i++) \
            y[i] = x[i]; \
    } while (0)

/* Halves to even, and held to what the type has. Just past the largest one is the first number that it has not. */
#define NARROWED(type, least, past, most, round) \
    do { \
        type *y = y_; \
        for (ptrdiff_t i = 0; i < n; i++) { \
            __typeof__(*x) v = round(x[i]); \
            y[i] = v >= past ? most : v > least ? (type)v : (type)least; \
        } \
    } while (0)

static void float_from(int type, const void *x_, float *y, ptrdiff_t n) {
    switch (type) {
    case IN_HALF: half_row_to_float(x_, y, n); return;
    case IN_BRAIN: brain_row_to_float(x_, y, n); return;
    case IN_INT8: WIDENED(int8_t); return;
    case IN_INT16: WIDENED(int16_t); return;
    case IN_UINT16: WIDENED(uint16_t); return;
    default: WIDENED(uint8_t);
    }
}

static void double_from(int type, const void *x_, double *y, ptrdiff_t n) {
    switch (type) {
    case IN_INT32: WIDENED(int32_t); return;
    case IN_UINT32: WIDENED(uint32_t); return;
    case IN_INT64: WIDENED(int64_t); return;
    default: WIDENED(uint64_t);
    }
}

static void float_to(int type, const float *x, void *y_, ptrdiff_t n) {
    switch (type) {
    case IN_HALF: float_row_to_half(x, y_, n); return;
    case IN_BRAIN: float_row_to_brain(x, y_, n); return;
    case IN_INT8: NARROWED(int8_t, -128.f, 128.f, 127, rintf); return;
    case IN_INT16: NARROWED(int16_t, -32768.f, 32768.f, 32767, rintf); return;
    case IN_UINT16: NARROWED(uint16_t, 0.f, 65536.f, 65535, rintf); return;
    case IN_BOOL: NARROWED(uint8_t, 0.f, 2.f, 1, rintf); return;
    default: NARROWED(uint8_t, 0.f, 256.f, 255, rintf);
    }
}

static void double_to(int type, const double *x, void *y_, ptrdiff_t n) {
    switch (type) {
    case IN_INT32: NARROWED(int32_t, -0x1p31, 0x1p31, INT32_MAX, rint); return;
    case IN_UINT32: NARROWED(uint32_t, 0., 0x1p32, UINT32_MAX, rint); return;
    case IN_INT64: NARROWED(int64_t, -0x1p63, 0x1p63, INT64_MAX, rint); return;
    default: NARROWED(uint64_t, 0., 0x1p64, UINT64_MAX, rint);
    }
}

typedef struct {
    char bytes[16];
} Wide;

typedef struct {
    char bytes[32];
} Octet;

#define PICKED_ROW(name, type) \
    static void name(const char *x_, char *y_, const ptrdiff_t *index, ptrdiff_t n) { \
        const type *x = (const type *)x_; \
        type *restrict y = (type *)y_; \
        for (ptrdiff_t o = 0; o < n; o++) \
            y[o] = x[index[o]]; \
    } \
    static void name##_doubled(const char *x_, char *y_, const ptrdiff_t *index, ptrdiff_t n) { \
        const type *restrict x = (const type *)x_ + index[0]; \
        type *restrict y = (type *)y_; \
        for (ptrdiff_t o = 0; o < n / 2; o++) \
            y[2 * o] = y[2 * o + 1] = x[o]; \
        if (n % 2) \
            y[n - 1] = x[n / 2]; \
    }
PICKED_ROW(picked_1, uint8_t)
PICKED_ROW(picked_2, uint16_t)
PICKED_ROW(picked_4, uint32_t)
PICKED_ROW(picked_8, uint64_t)
PICKED_ROW(picked_16, Wide)
PICKED_ROW(picked_32, Octet)

const ResizeLoops LOOPS(resize) = {
    float_blocks, double_blocks, {picked_1, picked_2, picked_4, picked_8, picked_16, picked_32},
    {picked_1_doubled, picked_2_doubled, picked_4_doubled, picked_8_doubled, picked_16_doubled,
     picked_32_doubled},
};
