/* Where a position between the elements of a plane reads, and how much each place counts. */
#ifndef INTERP_HOT_TAPS_H
#define INTERP_HOT_TAPS_H
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

enum { FIELD_AXES = 8 };
enum { NEAREST, LINEAR, CUBIC };
enum { ZEROS, BORDER, REFLECTION };

/* A plane of any number of axes, and how it is read between and beyond its elements. */
typedef struct Field {
    int axes, mode, padding;
    bool aligned;
    ptrdiff_t size[FIELD_AXES], stride[FIELD_AXES];
} Field;

/* The places that count at one position: offsets into the plane. */
typedef struct Taps {
    ptrdiff_t count, *at;
    double *weight;
} Taps;

/* A position mirrored at both borders until it lies between them. */
static inline double mirrored(double x, double low, double high) {
    double range = high - low, beyond;
    if (!(range > 0))
        return low;
    beyond = fmod(x < low ? low - x : x - low, 2 * range);
    return beyond <= range ? low + beyond : high - (beyond - range);
}

/* The same for a place near the plane. */
static inline ptrdiff_t mirrored_place(ptrdiff_t i, ptrdiff_t n, bool aligned) {
    if (n == 1)
        return 0;
    while (i < 0 || i >= n)
        i = aligned ? (i < 0 ? -i : 2 * (n - 1) - i) : (i < 0 ? -1 - i : 2 * n - 1 - i);
    return i;
}

/* The weights around a position that lies `t` behind a place: Keys' curve with a coefficient of -0.75. */
static inline void curve(double t, double *w) {
    const double a = -0.75;
    double u = 1 - t;
    w[0] = ((a * (t + 1) - 5 * a) * (t + 1) + 8 * a) * (t + 1) - 4 * a;
    w[1] = ((a + 2) * t - (a + 3)) * t * t + 1;
    w[2] = ((a + 2) * u - (a + 3)) * u * u + 1;
    w[3] = ((a * (u + 1) - 5 * a) * (u + 1) + 8 * a) * (u + 1) - 4 * a;
}

/* The places along one axis that count at x, and their weights; a position that is no number counts one place with NaN. */
static inline int along(const Field *field, int axis, double x, ptrdiff_t *at, double *weight) {
    ptrdiff_t n = field->size[axis];
    double low = field->aligned ? 0 : -0.5, high = field->aligned ? n - 1 : n - 0.5, w[4];
    int taps = field->mode == NEAREST ? 1 : field->mode == LINEAR ? 2 : 4, count = 0;
    if (field->mode == NEAREST)
        x = rint(x);
    if (x < low || x > high) {
        if (field->padding == BORDER && taps < 4)
            x = x < low ? 0 : n - 1;
        else if (field->padding == BORDER) /* a curve leaves the border gradually */
            x = x < -3 ? -3 : x > n + 2 ? n + 2 : x;
        else if (field->padding == REFLECTION)
            x = isinf(x) ? NAN : mirrored(x, low, high);
        else if (!(x > -4 && x < n + 3))
            return 0;
    }
    if (isnan(x)) {
        if (n == 0)
            return 0;
        at[0] = 0, weight[0] = NAN;
        return 1;
    }
    double floored = floor(x);
    ptrdiff_t first = (ptrdiff_t)floored - (taps == 4);
    w[0] = 1;
    if (taps == 2)
        w[1] = x - floored, w[0] = 1 - w[1];
    else if (taps == 4)
        curve(x - floored, w);
    for (int t = 0; t < taps; t++) {
        ptrdiff_t place = first + t;
        if (w[t] == 0)
            continue;
        if (place < 0 || place >= n) {
            if (field->padding == ZEROS)
                continue;
            place = field->padding == BORDER ? (place < 0 ? 0 : n - 1) : mirrored_place(place, n, field->aligned);
        }
        at[count] = place * field->stride[axis];
        weight[count++] = w[t];
    }
    return count;
}

/* All places that count at a position, each with the product of its weights along the axes. */
static inline void spread(const Field *field, const double *x, Taps *taps) {
    taps->count = 1, taps->at[0] = 0, taps->weight[0] = 1;
    for (int axis = 0; axis < field->axes; axis++) {
        ptrdiff_t at[4];
        double weight[4];
        int count = along(field, axis, x[axis], at, weight);
        for (int t = count - 1; t >= 0; t--) /* the first copy is the one that is read: it is written last */
            for (ptrdiff_t i = 0; i < taps->count; i++) {
                taps->at[t * taps->count + i] = taps->at[i] + at[t];
                taps->weight[t * taps->count + i] = taps->weight[i] * weight[t];
            }
        taps->count *= count;
    }
}
#endif
