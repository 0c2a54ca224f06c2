/* Few places: every output channel is a column of a product, whose rows are the places. The weights are read once, and the
   input lies in the first-level cache. */

enum { FEW_ROWS = 6, CHAIN = 256, MOST_PANELS = 4 };

/* A sum runs over `outer` times `inner` products: taps and channels, the more numerous inside. */
typedef struct {
    const float *x;
    ptrdiff_t plane, cross; /* from one channel to the next, from one place to the next */
    ptrdiff_t outer, inner, along_outer, along_inner;
} Walk;

static bool channels_inside(ptrdiff_t in_channels, ptrdiff_t taps) {
    return in_channels >= taps;
}

static ptrdiff_t few_size(ptrdiff_t out_channels, ptrdiff_t in_channels, ptrdiff_t taps) {
    return pieces(out_channels, PLACES) * PLACES * in_channels * taps;
}

/* Panels of PLACES output channels, zeros beyond the last. */
static void pack_few(const float *w, ptrdiff_t out_channels, ptrdiff_t in_channels, ptrdiff_t taps, float *to) {
    bool inside = channels_inside(in_channels, taps);
    ptrdiff_t outer = inside ? taps : in_channels, inner = inside ? in_channels : taps;
    for (ptrdiff_t j = 0; j < out_channels; j += PLACES)
        for (ptrdiff_t o = 0; o < outer; o++)
            for (ptrdiff_t i = 0; i < inner; i++)
                for (ptrdiff_t l = j; l < j + PLACES; l++) {
                    ptrdiff_t c = inside ? i : o, t = inside ? o : i;
                    *to++ = l < out_channels ? w[(l * in_channels + c) * taps + t] : 0;
                }
}

/* Elements of a channel that the places read, padding included. */
static ptrdiff_t reach(const Line *how) {
    return (how->out - 1) * how->stride + (how->taps - 1) * how->dilation + 1;
}

static ptrdiff_t few_scratch(const Line *how) {
    return how->in_channels * reach(how) * (ptrdiff_t)sizeof(float);
}

/* The input as the places see it: where it lies, or with its padding in `room`. */
static Walk walk_of(const Line *how, const float *x, float *room) {
    ptrdiff_t length = reach(how), from = how->before, present = lesser(length - from, how->size);
    Walk w = {x, how->size, how->stride, how->in_channels, how->taps, 0, how->dilation};
    if (from || length > how->size) {
        for (ptrdiff_t c = 0; c < how->in_channels; c++) {
            float *to = room + c * length;
            memset(to, 0, length * sizeof *to);
            if (present > 0)
                memcpy(to + from, x + c * how->size, present * sizeof *to);
        }
        w.x = room;
        w.plane = length;
    }
    w.along_outer = w.plane;
    if (channels_inside(how->in_channels, how->taps)) {
        w.outer = how->taps;
        w.inner = how->in_channels;
        w.along_outer = how->dilation;
        w.along_inner = w.plane;
    }
    return w;
}

/* Sums of `rows` places and `panels` panels, which are constants wherever this is inlined. Chains are CHAIN long at most. */
INLINE void few_sums(int rows, int panels, const Walk *w, const float *x, const float *weights, ptrdiff_t panel,
                     float total[FEW_ROWS][MOST_PANELS * PLACES]) {
    for (int r = 0; r < rows; r++)
        memset(total[r], 0, panels * PLACES * sizeof(float));
    for (ptrdiff_t o = 0; o < w->outer; o++)
        for (ptrdiff_t begin = 0; begin < w->inner; begin += CHAIN) {
            ptrdiff_t end = lesser(begin + CHAIN, w->inner);
            const float *a = x + o * w->along_outer + begin * w->along_inner, *b = weights + (o * w->inner + begin) * PLACES;
            octet sum[FEW_ROWS][MOST_PANELS][2];
#pragma GCC unroll 6
            for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
                for (int p = 0; p < panels; p++)
                    sum[r][p][0] = sum[r][p][1] = (octet){0};
            for (ptrdiff_t i = begin; i < end; i++, a += w->along_inner, b += PLACES) {
#pragma GCC unroll 4
                for (int p = 0; p < panels; p++) {
                    octet low = octet_at(b + p * panel), high = octet_at(b + p * panel + OCTET);
#pragma GCC unroll 6
                    for (int r = 0; r < rows; r++) {
                        octet f = octet_of(a[r * w->cross]);
                        sum[r][p][0] += f * low;
                        sum[r][p][1] += f * high;
                    }
                }
            }
#pragma GCC unroll 6
            for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
                for (int p = 0; p < panels; p++) {
                    float *t = total[r] + p * PLACES;
                    put_octet(t, octet_at(t) + sum[r][p][0]);
                    put_octet(t + OCTET, octet_at(t + OCTET) + sum[r][p][1]);
                }
        }
}

/* What a place's sums of some channels from `channel` become, in y. */
static void few_finish(const LineCall *call, const float *sums, float *y, const float *residual, ptrdiff_t channel,
                       ptrdiff_t count) {
    ptrdiff_t out = call->how->out;
    float v[MOST_PANELS * PLACES + OCTET];
    for (ptrdiff_t l = 0; l < count; l++)
        v[l] = sums[l] + (call->bias ? call->bias[channel + l] : 0);
    if (residual)
        for (ptrdiff_t l = 0; l < count; l++)
            v[l] += residual[l * out];
    activate_line(&call->how->activation, v, count);
    for (ptrdiff_t l = 0; l < count; l++)
        y[l * out] = v[l];
}

static void few_block(const LineCall *call, const Walk *w, ptrdiff_t image, ptrdiff_t panel, ptrdiff_t panels) {
    const Line *how = call->how;
    ptrdiff_t each = how->in_channels * how->taps * PLACES, channel = panel * PLACES;
    const float *weights = how->weights + panel * each;
    for (ptrdiff_t place = 0; place < how->out; place += FEW_ROWS) {
        int rows = (int)lesser(FEW_ROWS, how->out - place);
        for (ptrdiff_t p = 0; p < panels;) {
            float total[FEW_ROWS][MOST_PANELS * PLACES];
            const float *x = w->x + place * w->cross, *from = weights + p * each;
            ptrdiff_t left = panels - p, taken = 1;
#define SUMS(r, n) few_sums(r, n, w, x, from, each, total); taken = n; break
            switch (rows) {
            case 1:
                if (left >= 4) { SUMS(1, 4); }
                SUMS(1, 1);
            case 2:
                if (left >= 2) { SUMS(2, 2); }
                SUMS(2, 1);
            case 3:
                if (left >= 2) { SUMS(3, 2); }
                SUMS(3, 1);
            case 4: SUMS(4, 1);
            case 5: SUMS(5, 1);
            default: SUMS(6, 1);
            }
#undef SUMS
            ptrdiff_t first = channel + p * PLACES, count = lesser(taken * PLACES, how->out_channels - first);
            for (int r = 0; r < rows; r++) {
                ptrdiff_t at = (image * how->out_channels + first) * how->out + place + r;
                few_finish(call, total[r], call->y + at, call->residual ? call->residual + at : NULL, first, count);
            }
            p += taken;
        }
    }
}

static int few_items(const void *args, ptrdiff_t begin, ptrdiff_t end, void *scratch) {
    const LineCall *call = args;
    const Line *how = call->how;
    for (ptrdiff_t image = 0; image < how->batch; image++) {
        Walk w = walk_of(how, call->x + image * how->in_channels * how->size, scratch);
        for (ptrdiff_t item = begin; item < end; item++) {
            ptrdiff_t first = item * MOST_PANELS, all = pieces(how->out_channels, PLACES);
            few_block(call, &w, image, first, lesser(MOST_PANELS, all - first));
        }
    }
    return 0;
}

static void cut_few(LineCall *call, int threads) {
    const Line *how = call->how;
    double products = (double)how->in_channels * (double)how->taps * MOST_PANELS * PLACES;
    call->count = how->batch && how->out ? pieces(how->out_channels, MOST_PANELS * PLACES) : 0;
    call->cost = 1 + (ptrdiff_t)(products * (0.1 + (double)how->batch * (double)how->out / 25));
    (void)threads;
}
