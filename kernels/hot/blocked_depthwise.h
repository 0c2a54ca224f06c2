/* Depthwise convolution of the blocked layout: every octet of channels is a plane of its own, and every sum a vector. */
#ifndef INTERP_HOT_BLOCKED_DEPTHWISE_H
#define INTERP_HOT_BLOCKED_DEPTHWISE_H
#include "hot/blocked_direct.h"

enum {
    RUN = 8,             /* results of a row that are calculated together */
    NARROW = 48,         /* columns of a result up to which copying the input between its padding beats looking for its edges */
    BAND_ROWS = 64,      /* of a copy, at the most */
    OCTETS_PER_NS = 4,   /* of products */
};

static void depthwise_settle(BlockedConv *how) {
    how->terms = 0;
    how->padded = how->stride[1] == 1 && how->out[1] <= NARROW && how->out[0] && how->out[1] && reaches_beyond(how);
    how->rows = how->padded ? lesser(how->out[0], BAND_ROWS) : how->out[0];
    how->band[0] = reach(how, 0, how->rows);
    how->band[1] = reach(how, 1, how->out[1]);
}

static void depthwise_place(const BlockedConv *how, ptrdiff_t *at) {
    (void)how;
    (void)at;
}

static ptrdiff_t depthwise_packed_size(const BlockedConv *how) {
    return how->out_blocks * OCTET * how->kernel[0] * how->kernel[1];
}

static void depthwise_pack(const BlockedConv *how, const float *w, float *out) {
    ptrdiff_t taps = how->kernel[0] * how->kernel[1];
    for (ptrdiff_t block = 0; block < how->out_blocks; block++)
        for (ptrdiff_t t = 0; t < taps; t++)
            for (ptrdiff_t c = block * OCTET; c < (block + 1) * OCTET; c++)
                *out++ = c < how->out_channels ? w[c * taps + t] : 0;
}

static ptrdiff_t depthwise_scratch(const BlockedConv *how) {
    return how->padded ? how->band[0] * how->band[1] * OCTET * (ptrdiff_t)sizeof(float) : 0;
}

/* What a run of results reads: some rows and columns of the kernel, from the first input of each. */
typedef struct {
    const float *x, *w;
    ptrdiff_t rows, columns, down, along, across, w_row; /* floats, but for the numbers of rows and columns */
    octet bias;
    const float *residual; /* or NULL */
    const Activation *activation;
} Run;

/* `count`, and where they are known the others, are constants wherever this is inlined. */
INLINE void run_sums(int count, ptrdiff_t rows, ptrdiff_t columns, ptrdiff_t along, ptrdiff_t across, const Run *run, float *y) {
    octet sum[RUN];
    const float *x = run->x, *w = run->w;
#pragma GCC unroll 8
    for (int m = 0; m < count; m++)
        sum[m] = run->bias;
#pragma GCC unroll 5
    for (ptrdiff_t i = 0; i < rows; i++, x += run->down, w += run->w_row)
#pragma GCC unroll 5
        for (ptrdiff_t j = 0; j < columns; j++) {
            octet weight = octet_at(w + j * OCTET);
#pragma GCC unroll 8
            for (int m = 0; m < count; m++)
                sum[m] += octet_at(x + j * along + m * across) * weight;
        }
    if (run->residual)
#pragma GCC unroll 8
        for (int m = 0; m < count; m++)
            sum[m] += octet_at(run->residual + m * OCTET);
    if (run->activation->kind == ACTIVATION_RELU)
#pragma GCC unroll 8
        for (int m = 0; m < count; m++)
            sum[m] = rectified(sum[m]);
#pragma GCC unroll 8
    for (int m = 0; m < count; m++)
        put_octet(y + m * OCTET, sum[m]);
    activate_stored(y, count, run->activation);
}

static void run_any(const Run *run, float *y) {
    run_sums(1, run->rows, run->columns, run->along, run->across, run, y);
}

#define RUNS(size, stride) \
    static void run_##size##_##stride(int count, const Run *run, float *y) { \
        if (count == RUN && run->rows == size) { \
            run_sums(RUN, size, size, OCTET, stride * OCTET, run, y); \
            return; \
        } \
        switch (count) { \
        case 1: run_sums(1, run->rows, size, OCTET, stride * OCTET, run, y); return; \
        case 2: run_sums(2, run->rows, size, OCTET, stride * OCTET, run, y); return; \
        case 3: run_sums(3, run->rows, size, OCTET, stride * OCTET, run, y); return; \
        case 4: run_sums(4, run->rows, size, OCTET, stride * OCTET, run, y); return; \
        case 5: run_sums(5, run->rows, size, OCTET, stride * OCTET, run, y); return; \
        case 6: run_sums(6, run->rows, size, OCTET, stride * OCTET, run, y); return; \
        case 7: run_sums(7, run->rows, size, OCTET, stride * OCTET, run, y); return; \
        default: run_sums(RUN, run->rows, size, OCTET, stride * OCTET, run, y); \
        } \
    }
RUNS(3, 1)
RUNS(3, 2)
RUNS(5, 1)
RUNS(5, 2)
#undef RUNS

static void run_some(int count, const Run *given, float *y) {
    Run run = *given;
    for (int m = 0; m < count; m++, run.x += run.across, y += OCTET) {
        run_any(&run, y);
        run.residual += run.residual ? OCTET : 0;
    }
}

typedef void (*Runs)(int count, const Run *run, float *y);

/* The taps of a kernel's axis that fall into the input: from *first, so many, at a window that starts at `start`. */
static ptrdiff_t taps_inside(ptrdiff_t start, ptrdiff_t kernel, ptrdiff_t dilation, ptrdiff_t size, ptrdiff_t *first) {
    ptrdiff_t begin = start < 0 ? pieces(-start, dilation) : 0;
    ptrdiff_t end = start < size ? lesser(kernel, pieces(size - start, dilation)) : 0;
    *first = begin;
    return end > begin ? end - begin : 0;
}

/* How many of a row's windows come before the first that lies inside, and before the first after it that does not. */
static void inner_windows(const BlockedConv *how, ptrdiff_t *begin, ptrdiff_t *end) {
    ptrdiff_t room = how->size[1] - (how->kernel[1] - 1) * how->dilation[1] - 1 + how->before[1];
    *begin = lesser(pieces(how->before[1], how->stride[1]), how->out[1]);
    *end = room < 0 ? 0 : lesser(room / how->stride[1] + 1, how->out[1]);
    if (*end < *begin)
        *end = *begin;
}

static void depthwise_row(const BlockedConv *how, Runs runs, const float *x, const float *w, Run *run, float *y) {
    ptrdiff_t begin, end, first, kernel = how->kernel[1], dilation = how->dilation[1], stride = how->stride[1];
    const float *residual = run->residual;
    inner_windows(how, &begin, &end);
    for (ptrdiff_t o = 0; o < how->out[1];) {
        ptrdiff_t start = o * stride - how->before[1], count = 1;
        run->residual = residual ? residual + o * OCTET : NULL;
        if (o >= begin && o < end) {
            count = lesser(end - o, RUN);
            run->columns = kernel;
            run->x = x + start * OCTET;
            run->w = w;
            runs((int)count, run, y + o * OCTET);
        } else {
            run->columns = taps_inside(start, kernel, dilation, how->size[1], &first);
            run->x = x + (run->columns ? (start + first * dilation) * OCTET : 0);
            run->w = w + first * OCTET;
            run_any(run, y + o * OCTET);
        }
        o += count;
    }
    run->residual = residual;
}

/* Rows of the result from the input as it lies at x; `at` is where they are in it. */
static void depthwise_rows(const BlockedConv *how, Runs runs, const float *x, ptrdiff_t at, ptrdiff_t rows, const float *w,
                           Run *run, float *y) {
    ptrdiff_t width = how->size[1] * OCTET, out = how->out[1] * OCTET, first;
    run->down = how->dilation[0] * width;
    for (ptrdiff_t r = at; r < at + rows; r++, y += out) {
        ptrdiff_t start = r * how->stride[0] - how->before[0];
        run->rows = taps_inside(start, how->kernel[0], how->dilation[0], how->size[0], &first);
        ptrdiff_t from = run->rows ? start + first * how->dilation[0] : 0;
        depthwise_row(how, runs, x + from * width, w + first * run->w_row, run, y);
        activate_stored(y, how->out[1], afterwards(&how->activation));
        run->residual += run->residual ? out : 0;
    }
}

static int depthwise_task(const void *args, ptrdiff_t begin, ptrdiff_t end, void *scratch) {
    const BlockedCall *call = args;
    const BlockedConv *how = call->how;
    ptrdiff_t kernel = how->kernel[1], stride = how->stride[1];
    BlockedConv copy = *how;
    Runs runs = run_some;
    if (how->dilation[1] == 1 && (kernel == 3 || kernel == 5) && stride < 3)
        runs = kernel == 3 ? stride == 1 ? run_3_1 : run_3_2 : stride == 1 ? run_5_1 : run_5_2;
    copy.before[0] = copy.before[1] = 0;
    copy.size[1] = how->band[1];
    for (ptrdiff_t item = begin; item < end; item++) {
        ptrdiff_t plane = item / call->pixel_blocks, block = plane % how->out_blocks;
        ptrdiff_t row = item % call->pixel_blocks * call->pixels, rows = lesser(call->pixels, how->out[0] - row);
        ptrdiff_t place = (plane * how->out[0] + row) * how->out[1] * OCTET;
        const float *x = call->x + plane * how->size[0] * how->size[1] * OCTET;
        const float *w = how->weights + block * how->kernel[0] * kernel * OCTET;
        float bias[OCTET];
        gather_bias(call->bias, block * OCTET, how->out_channels, 1, bias);
        Run run = {.along = how->dilation[1] * OCTET, .across = stride * OCTET, .w_row = kernel * OCTET, .bias = octet_at(bias),
                   .residual = call->residual ? call->residual + place : NULL, .activation = at_once(&how->activation)};
        if (how->padded) {
            pad_band(how, 1, x, row, rows, scratch);
            copy.size[0] = reach(how, 0, rows);
            depthwise_rows(&copy, runs, scratch, 0, rows, w, &run, call->y + place);
        } else
            depthwise_rows(how, runs, x, row, rows, w, &run, call->y + place);
    }
    return 0;
}

static int depthwise_run(BlockedCall *call, const Team *team, Share share) {
    const BlockedConv *how = call->how;
    ptrdiff_t planes = how->batch * how->out_blocks, wanted = team->threads > 1 ? 4 * team->threads : 1;
    if (!planes || !how->out[0])
        return 0;
    call->pixels = lesser(how->rows, pieces(how->out[0], pieces(wanted, planes)));
    call->pixel_blocks = pieces(how->out[0], call->pixels);
    double products = (double)call->pixels * (double)how->out[1] * (double)(how->kernel[0] * how->kernel[1]);
    return share(team, depthwise_task, call, planes * call->pixel_blocks, 1 + (ptrdiff_t)(products / OCTETS_PER_NS));
}
#endif
