/* Transposed convolution of one element type, REAL: products of weights and pixels, added where their taps lie.
   Included once for each type. */
#include "hot/columns.h"

#ifndef INTERP_HOT_TRANSPOSE_REAL_H
#define INTERP_HOT_TRANSPOSE_REAL_H

/* Some pixels that lie side by side in a row of the input. */
typedef struct {
    ptrdiff_t at[2], column, count;
} Stretch;

static Stretch stretch_at(const Transpose *how, ptrdiff_t pixel, ptrdiff_t left) {
    ptrdiff_t row = pixel / how->size[2], column = pixel % how->size[2], rest = how->size[2] - column;
    return (Stretch){{row / how->size[1], row % how->size[1]}, column, rest < left ? rest : left};
}

/* The row of the output that a tap reaches from a row of the input, or -1. */
static ptrdiff_t row_of(const Transpose *how, const Stretch *s, const ptrdiff_t *tap) {
    ptrdiff_t row = 0;
    for (int axis = 0; axis < 2; axis++) {
        ptrdiff_t at = s->at[axis] * how->stride[axis] + tap[axis] * how->dilation[axis] - how->before[axis];
        if (at < 0 || at >= how->out[axis])
            return -1;
        row = row * how->out[axis] + at;
    }
    return row;
}

/* The pixels of a stretch, from `first` to before `last`, whose tap lies inside a row of the output. */
static ptrdiff_t reach(const Transpose *how, ptrdiff_t start, ptrdiff_t count, ptrdiff_t *last) {
    ptrdiff_t stride = how->stride[2], n = how->out[2], first = start < 0 ? (-start + stride - 1) / stride : 0;
    *last = start >= n ? 0 : (n - start + stride - 1) / stride;
    *last = *last < count ? *last : count;
    return first < *last ? first : *last;
}
#endif

/* Adds a row of products at every `stride`th place; the compiler makes vectors of the common strides. */
static void OF(add)(REAL *restrict y, const REAL *restrict x, ptrdiff_t n, ptrdiff_t stride) {
    if (stride == 1)
        for (ptrdiff_t i = 0; i < n; i++)
            y[i] += x[i];
    else
        for (ptrdiff_t i = 0; i < n; i++)
            y[i * stride] += x[i];
}

/* Two taps side by side with a stride of two: their rows interlace. */
static void OF(add_pair)(REAL *restrict y, const REAL *restrict a, const REAL *restrict b, ptrdiff_t n) {
    for (ptrdiff_t i = 0; i < n; i++) {
        y[2 * i] += a[i];
        y[2 * i + 1] += b[i];
    }
}

static void OF(put_pair)(REAL *restrict y, const REAL *restrict a, const REAL *restrict b, ptrdiff_t n, REAL bias) {
    for (ptrdiff_t i = 0; i < n; i++) {
        y[2 * i] = a[i] + bias;
        y[2 * i + 1] = b[i] + bias;
    }
}

static void OF(put)(REAL *restrict y, const REAL *restrict x, ptrdiff_t n, ptrdiff_t stride, REAL bias) {
    for (ptrdiff_t i = 0; i < n; i++)
        y[i * stride] = x[i] + bias;
}

/* One row of taps of one channel: `sums` has a row of `apart` elements for each, the products of a stretch of pixels. */
static void OF(add_taps)(const Transpose *how, REAL *y, const REAL *sums, ptrdiff_t apart, const Stretch *s, REAL bias) {
    ptrdiff_t stride = how->stride[2], taps = how->kernel[2], last, next_last;
    bool pairs = stride == 2 && how->dilation[2] == 1;
    for (ptrdiff_t t = 0; t < taps; t++, sums += apart) {
        ptrdiff_t start = s->column * stride + t * how->dilation[2] - how->before[2], first = reach(how, start, s->count, &last);
        if (pairs && t + 1 < taps && first == reach(how, start + 1, s->count, &next_last) && last == next_last) {
            REAL *to = y + start + first * stride;
            if (how->apart)
                OF(put_pair)(to, sums + first, sums + apart + first, last - first, bias);
            else
                OF(add_pair)(to, sums + first, sums + apart + first, last - first);
            t++;
            sums += apart;
        } else if (how->apart)
            OF(put)(y + start + first * stride, sums + first, last - first, stride, bias);
        else
            OF(add)(y + start + first * stride, sums + first, last - first, stride);
    }
}

/* The products of a block of pixels, a row for each tap of each channel, added to the planes of the channels. */
static void OF(add_block)(const Transpose *how, REAL *y, const REAL *sums, ptrdiff_t pixel, ptrdiff_t pixels, ptrdiff_t channels,
                          const REAL *bias) {
    ptrdiff_t plane = how->out[0] * how->out[1] * how->out[2];
    for (ptrdiff_t c = 0; c < channels; c++, y += plane)
        for (ptrdiff_t a = 0; a < how->kernel[0]; a++)
            for (ptrdiff_t b = 0; b < how->kernel[1]; b++, sums += how->kernel[2] * pixels)
                for (ptrdiff_t p = 0; p < pixels;) {
                    Stretch s = stretch_at(how, pixel + p, pixels - p);
                    ptrdiff_t row = row_of(how, &s, (ptrdiff_t[]){a, b});
                    if (row >= 0)
                        OF(add_taps)(how, y + row * how->out[2], sums + p, pixels, &s, bias ? bias[c] : 0);
                    p += s.count;
                }
}

/* Some output channels of a group of an image. */
static void OF(planes)(const TransposeCall *call, ptrdiff_t image, ptrdiff_t group, ptrdiff_t from, char *scratch) {
    const Transpose *how = call->how;
    ptrdiff_t taps = how->kernel[0] * how->kernel[1] * how->kernel[2], in = how->size[0] * how->size[1] * how->size[2];
    ptrdiff_t out = how->out[0] * how->out[1] * how->out[2], channels = lesser(call->channels, how->out_channels - from);
    ptrdiff_t m = group * how->out_channels + from, c = group * how->in_channels, rows = channels * taps;
    const REAL *x = (const REAL *)call->x + (image * how->groups * how->in_channels + c) * in;
    const REAL *w = (const REAL *)call->w + (c * how->out_channels + from) * taps;
    const REAL *bias = call->bias ? (const REAL *)call->bias + m : NULL;
    REAL *y = (REAL *)call->y + (image * how->groups * how->out_channels + m) * out;
    REAL *sums = (REAL *)(scratch + (PANEL_BLOCK + 1) * DEPTH * PANEL_BYTES);
    if (!how->apart)
        for (ptrdiff_t i = 0; i < channels; i++)
            for (ptrdiff_t k = 0; k < out; k++)
                y[i * out + k] = bias ? bias[i] : 0;
    for (ptrdiff_t pixel = 0; pixel < in; pixel += how->pixels) {
        ptrdiff_t pixels = lesser(how->pixels, in - pixel);
        OF(Epilogue) e = {sums, pixels, NULL, 0, 0, 1, 1, true};
        OF(multiplied)(w, 1, how->out_channels * taps, x + pixel, in, rows, pixels, how->in_channels, e, scratch);
        OF(add_block)(how, y, sums, pixel, pixels, channels, bias);
    }
}

static int OF(channel_blocks)(const void *call_, ptrdiff_t begin, ptrdiff_t end, void *scratch) {
    const TransposeCall *call = call_;
    const Transpose *how = call->how;
    for (ptrdiff_t item = begin; item < end; item++) {
        ptrdiff_t block = item % call->blocks, rest = item / call->blocks;
        OF(planes)(call, rest / how->groups, rest % how->groups, block * call->channels, scratch);
    }
    return 0;
}
