/* Weighted resizing in one type, REAL: pass after pass, an axis each. Included once for each. */
#ifndef INTERP_HOT_RESIZE_REAL_H
#define INTERP_HOT_RESIZE_REAL_H
#include <string.h>
#define OF(name) JOINED(REAL, name)

/* Places that stand behind one of axis k, where the axes that `done` marks have their new size already. */
static ptrdiff_t behind(const Resize *how, int k, unsigned done) {
    ptrdiff_t n = how->axis[k].after;
    for (int j = k + 1; j < how->axes; j++)
        n *= (done >> j & 1 ? how->axis[j].out : how->axis[j].in) * how->axis[j].after;
    return n;
}
#endif

/* Whole rows of n elements: result o along an axis whose first place in reach is `low`. */
static void OF(blend)(const REAL *x, REAL *restrict y, ptrdiff_t n, const Axis *axis, ptrdiff_t o, ptrdiff_t low) {
    const REAL *weight = (const REAL *)axis->weight + o;
    const ptrdiff_t *index = axis->index + o, out = axis->out;
#define ROW(t) x + (index[(t) * out] - low) * n
#define WEIGHT(t) weight[(t) * out]
    ptrdiff_t t = 0;
    if (axis->taps == 1) {
        const REAL *a = ROW(0), v = WEIGHT(0);
        for (ptrdiff_t i = 0; i < n; i++)
            y[i] = v * a[i];
        return;
    }
    if (axis->taps >= 4) {
        const REAL *a = ROW(0), *b = ROW(1), *c = ROW(2), *d = ROW(3), v = WEIGHT(0), w = WEIGHT(1), p = WEIGHT(2), q = WEIGHT(3);
        for (ptrdiff_t i = 0; i < n; i++)
            y[i] = (v * a[i] + w * b[i]) + (p * c[i] + q * d[i]);
        t = 4;
    } else {
        const REAL *a = ROW(0), *b = ROW(1), v = WEIGHT(0), w = WEIGHT(1);
        for (ptrdiff_t i = 0; i < n; i++)
            y[i] = v * a[i] + w * b[i];
        t = 2;
    }
    for (; t + 1 < axis->taps; t += 2) {
        const REAL *a = ROW(t), *b = ROW(t + 1), v = WEIGHT(t), w = WEIGHT(t + 1);
        for (ptrdiff_t i = 0; i < n; i++)
            y[i] += v * a[i] + w * b[i];
    }
    for (; t < axis->taps; t++) {
        const REAL *a = ROW(t), v = WEIGHT(t);
        for (ptrdiff_t i = 0; i < n; i++)
            y[i] += v * a[i];
    }
#undef ROW
#undef WEIGHT
}

/* One row along an axis whose places are single elements. */
static void OF(across)(const REAL *x, REAL *restrict y, const Axis *axis) {
    const REAL *w = axis->weight;
    const ptrdiff_t *at = axis->index, n = axis->out;
    if (axis->taps == 2) {
        for (ptrdiff_t o = 0; o < n; o++)
            y[o] = w[o] * x[at[o]] + w[n + o] * x[at[n + o]];
    } else if (axis->taps == 4) {
        for (ptrdiff_t o = 0; o < n; o++)
            y[o] = (w[o] * x[at[o]] + w[n + o] * x[at[n + o]])
                   + (w[2 * n + o] * x[at[2 * n + o]] + w[3 * n + o] * x[at[3 * n + o]]);
    } else {
        for (ptrdiff_t o = 0; o < n; o++)
            y[o] = w[o] * x[at[o]];
        for (ptrdiff_t t = 1; t < axis->taps; t++)
            for (ptrdiff_t o = 0; o < n; o++)
                y[o] += w[t * n + o] * x[at[t * n + o]];
    }
}

/* The same for places that are octets, with two taps. */
static void OF(octets)(const REAL *x, REAL *restrict y, const Axis *axis) {
    const REAL *w = axis->weight;
    const ptrdiff_t *at = axis->index, n = axis->out;
    for (ptrdiff_t o = 0; o < n; o++) {
        const REAL *a = x + 8 * at[o], *b = x + 8 * at[n + o], v = w[o], u = w[n + o];
        for (ptrdiff_t i = 0; i < 8; i++)
            y[8 * o + i] = v * a[i] + u * b[i];
    }
}

/* One axis of `before` times as much. */
static void OF(pass)(const REAL *x, REAL *y, ptrdiff_t before, ptrdiff_t after, const Axis *axis) {
    for (ptrdiff_t b = 0; b < before; b++, x += axis->in * after, y += axis->out * after)
        if (after == 1)
            OF(across)(x, y, axis);
        else if (after == 8 && axis->taps == 2)
            OF(octets)(x, y, axis);
        else
            for (ptrdiff_t o = 0; o < axis->out; o++)
                OF(blend)(x, y + o * after, after, axis, o, 0);
}

/* The value that stands beyond the input, in the results of a block that lie there along any axis. */
static void OF(filled)(const Resize *how, REAL *y, ptrdiff_t first, ptrdiff_t rows) {
    ptrdiff_t slab = behind(how, 0, ~0u);
    for (int k = 0; k < how->axes; k++) {
        const Axis *axis = how->axis + k;
        if (!axis->outside)
            continue;
        ptrdiff_t n = behind(how, k, ~0u), count = k ? rows * slab / n : rows, places = k ? axis->out : rows;
        for (ptrdiff_t p = 0; p < count; p++)
            if (axis->outside[k ? p % places : first + p])
                for (ptrdiff_t i = 0; i < n; i++)
                    y[p * n + i] = (REAL)how->fill;
    }
}

/* The axes behind the first, of `rows` rows in x; the last pass writes to `end`, if there is one. */
static const REAL *OF(passes)(const Resize *how, const REAL *x, ptrdiff_t rows, REAL **room, REAL *end) {
    unsigned done = 0;
    for (int i = 0; i < how->axes - 1; i++) {
        int k = how->order[i];
        ptrdiff_t after = behind(how, k, done), before = rows * behind(how, 0, done) / (how->axis[k].in * after);
        REAL *y = i == how->axes - 2 && end ? end : room[i % 2];
        OF(pass)(x, y, before, after, how->axis + k);
        x = y;
        done |= 1u << k;
    }
    return x;
}

static void OF(one_block)(const ResizeCall *call, ptrdiff_t outer, ptrdiff_t block, REAL *scratch) {
    const Resize *how = call->how;
    const Axis *axis = how->axis;
    ptrdiff_t first = block * how->rows, rows = axis->out - first < how->rows ? axis->out - first : how->rows;
    ptrdiff_t low = how->low[block], reach = how->high[block] - low + 1, in = behind(how, 0, 0), out = behind(how, 0, ~0u);
    bool plain = how->type == IN_FLOAT || how->type == IN_DOUBLE;
    const char *from = call->x + (outer * axis->in + low) * in * how->element;
    char *to = call->y + (outer * axis->out + first) * out * how->element;
    REAL *room[2] = {scratch, scratch + how->room}, *wide = scratch + 2 * how->room;
    REAL *end = plain ? (REAL *)to : wide + how->wide;
    const REAL *x = plain ? (const REAL *)from : wide;
    if (!plain)
        OF(from)(how->type, from, wide, reach * in);
    if (how->identity) {
        OF(passes)(how, x, rows, room, end);
    } else if (how->rows_first) {
        REAL *y = how->axes == 1 ? end : room[1];
        for (ptrdiff_t r = 0; r < rows; r++)
            OF(blend)(x, y + r * in, in, axis, first + r, low);
        OF(passes)(how, y, rows, room, end);
    } else {
        x = OF(passes)(how, x, reach, room, NULL);
        for (ptrdiff_t r = 0; r < rows; r++)
            OF(blend)(x, end + r * out, out, axis, first + r, low);
    }
    OF(filled)(how, end, first, rows);
    if (!plain)
        OF(to)(how->type, end, to, rows * out);
}

static int OF(blocks)(const void *call_, ptrdiff_t begin, ptrdiff_t end, void *scratch) {
    const ResizeCall *call = call_;
    for (ptrdiff_t item = begin; item < end; item++)
        OF(one_block)(call, item / call->how->blocks, item % call->how->blocks, scratch);
    return 0;
}
