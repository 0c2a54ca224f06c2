/* Convolutions of bytes with one input channel a group: sums of rows, each shifted and times one weight. Included by integer.c. */

ALWAYS void add_shifted(const uint8_t *x, bool is_signed, ptrdiff_t n, ptrdiff_t stride, int zero, int weight, uint32_t *sum) {
    if (stride == 1)
        for (ptrdiff_t i = 0; i < n; i++)
            sum[i] += (uint32_t)((byte_at(x + i, is_signed) - zero) * weight);
    else
        for (ptrdiff_t i = 0; i < n; i++)
            sum[i] += (uint32_t)((byte_at(x + i * stride, is_signed) - zero) * weight);
}

/* One row of one output channel: taps outside of the input add nothing. */
static void plane_row(const IntegersCall *call, ptrdiff_t batch, ptrdiff_t channel, ptrdiff_t row, uint32_t *sum) {
    const Integers *how = call->how;
    const Convolution *window = &how->window;
    const uint8_t *x = call->b + how->b_at[batch], *w = call->a + how->a_at[batch] + channel * how->k;
    int x_zero = zero_at(call->b_zero, how->b_signed, &how->b_zero, batch, 0);
    int w_zero = zero_at(call->a_zero, how->a_signed, &how->a_zero, batch, channel);
    Run run = {0, window->out[2], {row / window->out[1] * window->stride[0] - window->before[0],
                                   row % window->out[1] * window->stride[1] - window->before[1], -window->before[2]}};
    ptrdiff_t tap[AXES];
    offset_of(window, 0, tap);
    memset(sum, 0, run.count * sizeof *sum);
    for (ptrdiff_t t = 0; t < how->k; t++, next_offset(window, tap)) {
        Inside in = inside(window, &run, tap);
        int weight = byte_at(w + t, how->a_signed) - w_zero;
        if (in.count <= 0)
            continue;
        if (how->b_signed)
            add_shifted(x + in.from, true, in.count, window->stride[2], x_zero, weight, sum + in.first);
        else
            add_shifted(x + in.from, false, in.count, window->stride[2], x_zero, weight, sum + in.first);
    }
}

static int plane_rows(const void *args, ptrdiff_t begin, ptrdiff_t end, void *scratch) {
    const IntegersCall *call = args;
    const Integers *how = call->how;
    ptrdiff_t rows = how->window.out[0] * how->window.out[1], width = how->window.out[2];
    int32_t *sum = scratch;
    for (ptrdiff_t item = begin; item < end; item++) {
        ptrdiff_t row = item % rows, channel = item / rows % how->m, batch = item / rows / how->m;
        double scale = call->a_scale ? scale_of(call, batch, channel) : 0;
        plane_row(call, batch, channel, row, (uint32_t *)sum);
        for (ptrdiff_t p = 0; p < width; p += COLUMNS) {
            ptrdiff_t n = lesser(COLUMNS, width - p);
            add_bias(call, batch, channel, row * width + p, n, sum + p);
            finish(call, batch, channel, row * width + p, n, sum + p, &scale);
        }
    }
    return 0;
}
