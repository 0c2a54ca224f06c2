/* Depthwise convolution for one element type, REAL: every output plane is a sum of shifted rows of one input plane.
   Rows are copied with their padding first, so that the sums need no bounds tests, and split by the stride, so that they
   read side by side. Included once for each type, after tile.h. */

#ifndef INTERP_HOT_DEPTHWISE_H
#define INTERP_HOT_DEPTHWISE_H
enum { BAND_BYTES = 1 << 16, UNROLLED = 4 };

/* The padded rows that a band of output rows reads: `rows` of them at each of the kernel's depths, each split into `stride`
   parts of `part` elements. */
typedef struct {
    ptrdiff_t out_rows, rows, part, row;
} Band;

static ptrdiff_t reach(const Convolution *how, int axis) {
    return (how->kernel[axis] - 1) * how->dilation[axis];
}

static Band band_of(const Convolution *how, size_t size) {
    Band band;
    ptrdiff_t lanes = VECTOR / (ptrdiff_t)size;
    band.part = pieces(how->out[2], lanes) * lanes + reach(how, 2) / how->stride[2] + 1;
    band.row = band.part * how->stride[2];
    ptrdiff_t room = BAND_BYTES / ((ptrdiff_t)size * band.row * how->kernel[0]) - reach(how, 1) - 1;
    band.out_rows = lesser(room > 0 ? 1 + room / how->stride[1] : 1, how->out[1]);
    band.rows = (band.out_rows - 1) * how->stride[1] + reach(how, 1) + 1;
    return band;
}

/* Padded rows of all of the kernel's depths, and where each tap reads in them. */
static ptrdiff_t depthwise_scratch(const Convolution *how, size_t size) {
    Band band = band_of(how, size);
    return how->kernel[0] * band.rows * band.row * (ptrdiff_t)size + volume(how->kernel) * (ptrdiff_t)sizeof(ptrdiff_t);
}
#endif

/* One row with its padding: element i of part f is what stands at i * stride + f, counted from the padding's first. */
static void OF(pad_row)(const Convolution *how, const Band *band, const REAL *x, REAL *to) {
    ptrdiff_t stride = how->stride[2];
    memset(to, 0, band->row * sizeof(REAL));
    for (ptrdiff_t f = 0; x && f < stride; f++, to += band->part) {
        ptrdiff_t shift = how->before[2] - f, first = shift > 0 ? pieces(shift, stride) : 0;
        ptrdiff_t room = how->size[2] + shift, end = room > 0 ? lesser(pieces(room, stride), band->part) : 0;
        const REAL *from = x + first * stride - shift;
        if (stride == 1 && end > first)
            memcpy(to + first, from, (end - first) * sizeof(REAL));
        else
            for (ptrdiff_t i = first; i < end; i++)
                to[i] = from[(i - first) * stride];
    }
}

static void OF(pad_band)(const Convolution *how, const Band *band, const REAL *x, ptrdiff_t z, ptrdiff_t y, REAL *to) {
    for (ptrdiff_t d = 0; d < how->kernel[0]; d++)
        for (ptrdiff_t r = 0; r < band->rows; r++, to += band->row) {
            ptrdiff_t depth = z * how->stride[0] + d * how->dilation[0] - how->before[0];
            ptrdiff_t row = y * how->stride[1] + r - how->before[1];
            bool there = depth >= 0 && depth < how->size[0] && row >= 0 && row < how->size[1];
            OF(pad_row)(how, band, there ? x + (depth * how->size[1] + row) * how->size[2] : NULL, to);
        }
}

/* `vectors` is a constant wherever this is inlined. */
ALWAYS void OF(taps)(int vectors, const REAL *x, const ptrdiff_t *at, const REAL *w, ptrdiff_t taps, REAL bias,
                     OF(vector) *sum) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++)
        sum[v] = OF(spread)(bias);
    for (ptrdiff_t t = 0; t < taps; t++) {
        OF(vector) f = OF(spread)(w[t]);
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++)
            sum[v] += f * OF(load)(x + at[t] + v * LANES);
    }
}

static void OF(depthwise_row)(const REAL *x, const ptrdiff_t *at, const REAL *w, ptrdiff_t taps, REAL bias, REAL *y,
                              ptrdiff_t n) {
    OF(vector) sum[UNROLLED];
    ptrdiff_t j = 0;
    for (; n - j >= UNROLLED * LANES; j += UNROLLED * LANES) {
        OF(taps)(UNROLLED, x + j, at, w, taps, bias, sum);
#pragma GCC unroll 4
        for (int v = 0; v < UNROLLED; v++)
            OF(store)(y + j + v * LANES, sum[v]);
    }
    for (; j < n; j += LANES) {
        OF(taps)(1, x + j, at, w, taps, bias, sum);
        if (n - j >= LANES)
            OF(store)(y + j, sum[0]);
        else
            memcpy(y + j, sum, (n - j) * sizeof(REAL));
    }
}

static void OF(depthwise_plane)(const Convolution *how, const Band *band, const REAL *x, const REAL *w, REAL bias, REAL *y,
                                ptrdiff_t *at, REAL *room) {
    ptrdiff_t taps = volume(how->kernel), stride = how->stride[2];
    for (ptrdiff_t t = 0; t < taps; t++) {
        ptrdiff_t tap[AXES], depth = t / (how->kernel[1] * how->kernel[2]);
        offset_of(how, t, tap);
        at[t] = (depth * band->rows + tap[1]) * band->row + tap[2] % stride * band->part + tap[2] / stride;
    }
    for (ptrdiff_t z = 0; z < how->out[0]; z++)
        for (ptrdiff_t first = 0; first < how->out[1]; first += band->out_rows) {
            OF(pad_band)(how, band, x, z, first, room);
            for (ptrdiff_t r = 0; r < lesser(band->out_rows, how->out[1] - first); r++, y += how->out[2])
                OF(depthwise_row)(room + r * how->stride[1] * band->row, at, w, taps, bias, y, how->out[2]);
        }
}

static int OF(depthwise)(const void *args, ptrdiff_t begin, ptrdiff_t end, void *scratch) {
    const ConvolutionCall *call = args;
    const Convolution *how = call->how;
    Band band = band_of(how, sizeof(REAL));
    ptrdiff_t taps = volume(how->kernel), planes = how->groups * how->out_channels;
    for (ptrdiff_t item = begin; item < end; item++) {
        ptrdiff_t channel = item % planes, from = item / planes * how->groups + channel / how->out_channels;
        OF(depthwise_plane)(how, &band, (const REAL *)call->x + from * volume(how->size), (const REAL *)call->w + channel * taps,
                            call->bias ? ((const REAL *)call->bias)[channel] : 0, (REAL *)call->y + item * volume(how->out),
                            scratch, (REAL *)((ptrdiff_t *)scratch + taps));
    }
    return 0;
}
