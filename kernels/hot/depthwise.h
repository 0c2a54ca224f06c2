/* Depthwise convolution for one element type, REAL: every output plane is a sum of shifted rows of one input plane.
   Rows are copied with their padding first, so that the sums need no bounds tests, and split by the stride, so that they
   read side by side. Included once for each type, after tile.h. */

#ifndef INTERP_HOT_DEPTHWISE_H
#define INTERP_HOT_DEPTHWISE_H
enum {
    BAND_BYTES = 1 << 16, /* padded rows, to stay in the second-level cache */
    UNROLLED = 4,
};

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

/* What of a row goes into one of its parts: `count` elements from x[from], every `stride`th, to places from `first`. */
typedef struct {
    ptrdiff_t first, count, from;
} Part;

/* Padded rows of all of the kernel's depths, the parts of a row, and where each tap reads in them; where a residual is added,
   a plane of sums before. */
static ptrdiff_t depthwise_scratch(const Convolution *how, size_t size, bool residual) {
    Band band = band_of(how, size);
    return (how->kernel[0] * band.rows * band.row + residual * volume(how->out)) * (ptrdiff_t)size
           + how->stride[2] * (ptrdiff_t)sizeof(Part) + volume(how->kernel) * (ptrdiff_t)sizeof(ptrdiff_t);
}

/* Element i of part f is what stands at i * stride + f, counted from the padding's first. */
static void place_parts(const Convolution *how, const Band *band, Part *parts) {
    for (ptrdiff_t f = 0; f < how->stride[2]; f++) {
        ptrdiff_t shift = how->before[2] - f, first = shift > 0 ? pieces(shift, how->stride[2]) : 0;
        ptrdiff_t room = how->size[2] + shift, end = room > 0 ? lesser(pieces(room, how->stride[2]), band->part) : 0;
        parts[f] = (Part){first, end > first ? end - first : 0, first * how->stride[2] - shift};
    }
}

static void place_taps(const Convolution *how, const Band *band, ptrdiff_t *at) {
    for (ptrdiff_t t = 0; t < volume(how->kernel); t++) {
        ptrdiff_t tap[AXES], depth = t / (how->kernel[1] * how->kernel[2]), stride = how->stride[2];
        offset_of(how, t, tap);
        at[t] = (depth * band->rows + tap[1]) * band->row + tap[2] % stride * band->part + tap[2] / stride;
    }
}
#endif

/* n elements, every `stride`th of x, side by side. */
ALWAYS void OF(gather)(const REAL *x, ptrdiff_t stride, REAL *y, ptrdiff_t n) {
    if (n < LANES || stride > 2) {
        for (ptrdiff_t i = 0; i < n; i++)
            y[i] = x[i * stride];
        return;
    }
    for (ptrdiff_t i = 0; i < n; i += LANES) {
        ptrdiff_t at = lesser(i, n - LANES); /* the last vector overlaps the one before */
        if (stride == 1)
            OF(store)(y + at, OF(load)(x + at));
        else
            OF(every_second)(x + 2 * at, y + at);
    }
}

/* The rows that an output row or a band of them reads, between padding that is zero already. */
static void OF(pad_band)(const Convolution *how, const Band *band, const Part *parts, const REAL *x, ptrdiff_t z, ptrdiff_t y,
                         REAL *to) {
    for (ptrdiff_t d = 0; d < how->kernel[0]; d++)
        for (ptrdiff_t r = 0; r < band->rows; r++, to += band->row) {
            ptrdiff_t depth = z * how->stride[0] + d * how->dilation[0] - how->before[0];
            ptrdiff_t row = y * how->stride[1] + r - how->before[1];
            if (depth < 0 || depth >= how->size[0] || row < 0 || row >= how->size[1]) {
                memset(to, 0, band->row * sizeof(REAL));
                continue;
            }
            const REAL *from = x + (depth * how->size[1] + row) * how->size[2];
            for (ptrdiff_t f = 0; f < how->stride[2]; f++)
                OF(gather)(from + parts[f].from, how->stride[2], to + f * band->part + parts[f].first, parts[f].count);
        }
}

/* What is settled for all planes. */
typedef struct {
    const Convolution *how;
    Band band;
    const Part *parts;
    const ptrdiff_t *at; /* where each tap reads */
    ptrdiff_t taps;
    const Activation *activation; /* or NULL */
} OF(Planes);

static __attribute__((noinline)) void OF(activate_sums)(OF(vector) *sums, int n, const Activation *activation) {
    for (int v = 0; v < n; v++)
        sums[v] = OF(activate)(sums[v], activation);
}

/* Sums for `rows` rows, `down` apart, of `vectors` vectors, `across` apart: both numbers constants wherever this is inlined. */
ALWAYS void OF(taps)(int rows, int vectors, const OF(Planes) *all, const REAL *x, ptrdiff_t down, ptrdiff_t across,
                     const REAL *w, REAL bias, OF(vector) *sum) {
#pragma GCC unroll 8
    for (int v = 0; v < rows * vectors; v++)
        sum[v] = OF(spread)(bias);
    for (ptrdiff_t t = 0; t < all->taps; t++) {
        OF(vector) f = OF(spread)(w[t]);
#pragma GCC unroll 8
        for (int v = 0; v < rows * vectors; v++)
            sum[v] += f * OF(load)(x + all->at[t] + v / vectors * down + v % vectors * across);
    }
    if (all->activation) {
        OF(vector) kept[2 * UNROLLED]; /* not `sum`: what is passed on by its address would not stay in registers */
#pragma GCC unroll 8
        for (int v = 0; v < rows * vectors; v++)
            kept[v] = sum[v];
        OF(activate_sums)(kept, rows * vectors, all->activation);
#pragma GCC unroll 8
        for (int v = 0; v < rows * vectors; v++)
            sum[v] = kept[v];
    }
}

/* A vector of a row of n. A short row's spills into the next, which is written after it, but never beyond the plane. */
ALWAYS void OF(put)(REAL *y, ptrdiff_t n, const REAL *end, OF(vector) sum) {
    if (n >= LANES || end - y >= LANES)
        OF(store)(y, sum);
    else
        for (ptrdiff_t i = 0; i < n; i++)
            y[i] = sum[i];
}

/* UNROLLED rows at once: as many sums as hide the latency of the adder, however short the rows are. */
static void OF(depthwise_rows)(const OF(Planes) *all, const REAL *x, ptrdiff_t down, const REAL *w, REAL bias, REAL *y,
                               ptrdiff_t n, const REAL *end) {
    OF(vector) sum[2 * UNROLLED];
    if (n <= LANES) {
        OF(taps)(UNROLLED, 1, all, x, down, 0, w, bias, sum);
#pragma GCC unroll 4
        for (int r = 0; r < UNROLLED; r++)
            OF(put)(y + r * n, n, end, sum[r]);
        return;
    }
    for (ptrdiff_t i = 0; i < n; i += 2 * LANES) {
        ptrdiff_t left = lesser(i, n - LANES), right = lesser(i + LANES, n - LANES); /* the last vectors may overlap */
        OF(taps)(UNROLLED, 2, all, x + left, down, right - left, w, bias, sum);
#pragma GCC unroll 4
        for (int r = 0; r < UNROLLED; r++) {
            OF(store)(y + r * n + left, sum[2 * r]);
            OF(store)(y + r * n + right, sum[2 * r + 1]);
        }
    }
}

static void OF(depthwise_row)(const OF(Planes) *all, const REAL *x, const REAL *w, REAL bias, REAL *y, ptrdiff_t n,
                              const REAL *end) {
    OF(vector) sum[UNROLLED];
    ptrdiff_t j = 0;
    for (; n - j >= UNROLLED * LANES; j += UNROLLED * LANES) {
        OF(taps)(1, UNROLLED, all, x + j, 0, LANES, w, bias, sum);
#pragma GCC unroll 4
        for (int v = 0; v < UNROLLED; v++)
            OF(store)(y + j + v * LANES, sum[v]);
    }
    for (; j < n; j += LANES) {
        ptrdiff_t last = n < LANES ? 0 : lesser(j, n - LANES);
        OF(taps)(1, 1, all, x + last, 0, 0, w, bias, sum);
        OF(put)(y + last, n, end, sum[0]);
    }
}

static void OF(depthwise_plane)(const OF(Planes) *all, const REAL *x, const REAL *w, REAL bias, REAL *y, REAL *room) {
    const Convolution *how = all->how;
    const Band *band = &all->band;
    ptrdiff_t down = how->stride[1] * band->row, n = how->out[2];
    const REAL *end = y + volume(how->out);
    for (ptrdiff_t z = 0; z < how->out[0]; z++)
        for (ptrdiff_t first = 0; first < how->out[1]; first += band->out_rows) {
            ptrdiff_t rows = lesser(band->out_rows, how->out[1] - first);
            OF(pad_band)(how, band, all->parts, x, z, first, room);
            for (ptrdiff_t r = 0; rows >= UNROLLED && r < rows; r += UNROLLED) {
                ptrdiff_t last = lesser(r, rows - UNROLLED); /* the last rows overlap those before */
                OF(depthwise_rows)(all, room + last * down, down, w, bias, y + last * n, n, end);
            }
            for (ptrdiff_t r = 0; rows < UNROLLED && r < rows; r++)
                OF(depthwise_row)(all, room + r * down, w, bias, y + r * n, n, end);
            y += rows * n;
        }
}

/* A plane of sums and the residual, through the activation. Sums overlap where they are made, so that they cannot be added there. */
static void OF(add_plane)(const REAL *sums, const REAL *residual, REAL *y, ptrdiff_t n, const Activation *activation) {
    ptrdiff_t i = 0;
    for (; n - i >= LANES; i += LANES)
        OF(store)(y + i, OF(activate)(OF(load)(sums + i) + OF(load)(residual + i), activation));
    OF(vector) rest = {0};
    for (ptrdiff_t l = i; l < n; l++)
        rest[l - i] = sums[l] + residual[l];
    rest = OF(activate)(rest, activation);
    for (ptrdiff_t l = i; l < n; l++)
        y[l] = rest[l - i];
}

static int OF(depthwise)(const void *args, ptrdiff_t begin, ptrdiff_t end, void *scratch) {
    const ConvolutionCall *call = args;
    const Convolution *how = call->how;
    ptrdiff_t taps = volume(how->kernel), planes = how->groups * how->out_channels, size = volume(how->out), *at = scratch;
    Part *parts = (Part *)(at + taps);
    OF(Planes) all = {how, band_of(how, sizeof(REAL)), parts, at, taps,
                      how->activation.kind && !call->residual ? &how->activation : NULL};
    REAL *room = (REAL *)(parts + how->stride[2]);
    ptrdiff_t padded = how->kernel[0] * all.band.rows * all.band.row;
    place_taps(how, &all.band, at);
    place_parts(how, &all.band, parts);
    memset(room, 0, padded * sizeof(REAL)); /* beside the rows this padding stays */
    for (ptrdiff_t item = begin; item < end; item++) {
        ptrdiff_t channel = item % planes, from = item / planes * how->groups + channel / how->out_channels;
        REAL *y = (REAL *)call->y + item * size, *sums = call->residual ? room + padded : y;
        OF(depthwise_plane)(&all, (const REAL *)call->x + from * volume(how->size), (const REAL *)call->w + channel * taps,
                            call->bias ? ((const REAL *)call->bias)[channel] : 0, sums, room);
        if (call->residual)
            OF(add_plane)(sums, (const REAL *)call->residual + item * size, y, size, &how->activation);
    }
    return 0;
}
