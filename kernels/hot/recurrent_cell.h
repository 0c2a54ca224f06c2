/* One step of one item of a batch, for one element type, REAL: activations, and the three kinds of cell. Included once for
   each. `g` holds what the input and the hidden state give to every gate, but for a GRU's hidden gate, where `p` is apart. */

#define EACH(formula) \
    for (ptrdiff_t i = 0; i < n; i++) { \
        REAL v = x[i]; \
        x[i] = (formula); \
    } \
    return

static void OF(activate)(const Activation *how, REAL *restrict x, ptrdiff_t n) {
    REAL alpha = (REAL)how->alpha, beta = (REAL)how->beta;
    switch (how->kind) {
    case RELU: EACH(v < 0 ? 0 : v);
    case TANH: EACH(OF(tanh)(v));
    case SIGMOID: EACH(OF(logistic)(v));
    case AFFINE: EACH(alpha * v + beta);
    case LEAKY_RELU: EACH(v < 0 ? alpha * v : v);
    case THRESHOLDED_RELU: EACH(v < alpha ? 0 : v);
    case SCALED_TANH: EACH(alpha * OF(tanh)(beta * v));
    case HARD_SIGMOID:
        for (ptrdiff_t i = 0; i < n; i++) {
            REAL v = alpha * x[i] + beta;
            x[i] = v < 0 ? 0 : v > 1 ? 1 : v;
        }
        return;
    case ELU: EACH(v < 0 ? alpha * (REAL)expm1((double)v) : v);
    case SOFTSIGN: EACH(v / (1 + (v < 0 ? -v : v)));
    default: EACH((v > 0 ? v : 0) + (REAL)log1p(exp((double)(v > 0 ? -v : v)))); /* SOFTPLUS */
    }
}
#undef EACH

/* Clip where the layer does so, then activate. */
static void OF(gate)(const Recurrent *how, const Activation *f, REAL *restrict x, ptrdiff_t n) {
    REAL most = (REAL)how->clip;
    if (how->clipped)
        for (ptrdiff_t i = 0; i < n; i++)
            x[i] = x[i] < -most ? -most : x[i] > most ? most : x[i];
    OF(activate)(f, x, n);
}

static void OF(add)(REAL *restrict x, const REAL *restrict y, ptrdiff_t n) {
    for (ptrdiff_t i = 0; i < n; i++)
        x[i] += y[i];
}

static void OF(add_product)(REAL *restrict x, const REAL *restrict y, const REAL *restrict z, ptrdiff_t n) {
    for (ptrdiff_t i = 0; i < n; i++)
        x[i] += y[i] * z[i];
}

static void OF(simple)(const Recurrent *how, const Activation *f, const REAL *restrict g, REAL *restrict h) {
    memcpy(h, g, how->hidden * sizeof *h);
    OF(gate)(how, f, h, how->hidden);
}

/* The gates z and r of a GRU; `reset` becomes what the second product is of, r times h. */
static void OF(reset)(const Recurrent *how, const Activation *f, REAL *restrict g, const REAL *restrict h, REAL *restrict reset) {
    ptrdiff_t n = how->hidden;
    OF(gate)(how, f, g, 2 * n);
    for (ptrdiff_t i = 0; i < n; i++)
        reset[i] = g[n + i] * h[i];
}

/* The rest of it: `p` is the second product, to which `bias` is added before the reset gate is applied if that comes last. */
static void OF(update)(const Recurrent *how, const Activation *f, REAL *restrict g, const REAL *restrict p,
                       const REAL *restrict bias, REAL *restrict h) {
    ptrdiff_t n = how->hidden;
    const REAL *z = g, *r = g + n;
    REAL *made = g + 2 * n;
    if (how->linear_first)
        for (ptrdiff_t i = 0; i < n; i++)
            made[i] += r[i] * (p[i] + (bias ? bias[i] : 0));
    else
        OF(add)(made, p, n);
    OF(gate)(how, f + 1, made, n);
    for (ptrdiff_t i = 0; i < n; i++)
        h[i] = (1 - z[i]) * made[i] + z[i] * h[i];
}

/* The cell that nearly all models have, in one pass. */
static void OF(usual)(ptrdiff_t n, const REAL *restrict g, REAL *restrict h, REAL *restrict c) {
    for (ptrdiff_t i = 0; i < n; i++) {
        REAL in = OF(logistic)(g[i]), out = OF(logistic)(g[n + i]), forget = OF(logistic)(g[2 * n + i]);
        REAL cell = forget * c[i] + in * OF(tanh)(g[3 * n + i]);
        c[i] = cell;
        h[i] = out * OF(tanh)(cell);
    }
}

static void OF(long_short)(const Recurrent *how, const Activation *f, REAL *restrict g, const REAL *restrict peephole,
                           REAL *restrict h, REAL *restrict c) {
    ptrdiff_t n = how->hidden;
    REAL *in = g, *out = g + n, *forget = g + 2 * n, *cell = g + 3 * n;
    if (!peephole && !how->coupled && !how->clipped && f[0].kind == SIGMOID && f[1].kind == TANH && f[2].kind == TANH) {
        OF(usual)(n, g, h, c);
        return;
    }
    if (peephole) { /* the output gate sees the new cell */
        OF(add_product)(in, peephole, c, n);
        OF(add_product)(forget, peephole + 2 * n, c, n);
        OF(gate)(how, f, in, n);
        OF(gate)(how, f, forget, n);
    } else
        OF(gate)(how, f, g, 3 * n);
    OF(gate)(how, f + 1, cell, n);
    if (how->coupled)
        for (ptrdiff_t i = 0; i < n; i++)
            forget[i] = 1 - in[i];
    for (ptrdiff_t i = 0; i < n; i++)
        h[i] = c[i] = forget[i] * c[i] + in[i] * cell[i];
    if (peephole) {
        OF(add_product)(out, peephole + n, c, n);
        OF(gate)(how, f, out, n);
    }
    OF(gate)(how, f + 2, h, n);
    for (ptrdiff_t i = 0; i < n; i++)
        h[i] *= out[i];
}
