/* Sampling of planes at the positions of a grid. */
#include "hot/sample.h"
#include <string.h>
#include "half.h"

static double number(const char *grid, int type, ptrdiff_t i) {
    switch (type) {
    case GRID_FLOAT: return ((const float *)grid)[i];
    case GRID_DOUBLE: return ((const double *)grid)[i];
    case GRID_HALF: return half_to_float(((const uint16_t *)grid)[i]);
    default: return brain_to_float(((const uint16_t *)grid)[i]);
    }
}

/* The position that the grid has for a spot, in places of the plane; the grid names the last axis first. */
static void position(const SampleCall *call, ptrdiff_t spot, double *x) {
    const Field *field = &call->how->field;
    for (int axis = 0; axis < field->axes; axis++) {
        double g = number(call->grid, call->how->grid_type, (spot + 1) * field->axes - 1 - axis), n = (double)field->size[axis];
        x[axis] = field->aligned ? (g + 1) / 2 * (n - 1) : ((g + 1) * n - 1) / 2;
    }
}

/* How a block is read: `most` places for each spot, of which `count` count. Spots with two neighbours in each of two rows, as
   nearly all have between the pixels of an image, are read by pairs; `odd` has the numbers of the others. */
#define SAMPLED(real) \
    typedef struct { \
        ptrdiff_t spots, most, odds, *count, *at, *odd; \
        real *weight; \
    } real##_reading; \
    typedef real real##_quad __attribute__((vector_size(4 * sizeof(real)), aligned(sizeof(real)), may_alias)); \
    typedef real real##_pair __attribute__((vector_size(2 * sizeof(real)), aligned(sizeof(real)), may_alias)); \
    static void real##_spot(const real *x, real *y, const real##_reading *r, ptrdiff_t s) { \
        real sum = 0; \
        for (ptrdiff_t i = s * r->most; i < s * r->most + r->count[s]; i++) \
            sum += r->weight[i] * x[r->at[i]]; \
        y[s] = sum; \
    } \
    static void real##_plane(const real *x, real *y, const real##_reading *r) { \
        for (ptrdiff_t s = 0, k = 0; k <= r->odds; k++) { \
            for (ptrdiff_t end = k < r->odds ? r->odd[k] : r->spots; s < end; s++) { \
                real##_pair a = *(const real##_pair *)(x + r->at[4 * s]), b = *(const real##_pair *)(x + r->at[4 * s + 1]); \
                real##_quad p = (real##_quad){a[0], a[1], b[0], b[1]} * *(const real##_quad *)(r->weight + 4 * s); \
                y[s] = (p[0] + p[1]) + (p[2] + p[3]); \
            } \
            if (k < r->odds) \
                real##_spot(x, y, r, s++); \
        } \
    } \
    static void real##_settle(const Field *field, const double *x, double *wide, real##_reading *r, ptrdiff_t s) { \
        Taps taps = {0, r->at + s * r->most, wide}; \
        real *weight = r->weight + s * r->most; \
        spread(field, x, &taps); \
        bool pairs = r->most == 4 && taps.count == 4 && taps.at[2] == taps.at[0] + 1 && taps.at[3] == taps.at[1] + 1; \
        r->count[s] = taps.count; \
        for (ptrdiff_t t = 0; t < taps.count; t++) \
            weight[pairs ? t % 2 * 2 + t / 2 : t] = (real)wide[t]; \
        if (!pairs) \
            r->odd[r->odds++] = s; \
    } \
    static int real##_blocks(const void *call_, ptrdiff_t first, ptrdiff_t last, void *scratch) { \
        const SampleCall *call = call_; \
        const Sample *how = call->how; \
        double x[FIELD_AXES], *wide = scratch; \
        real##_reading r = {0, how->most, 0, (ptrdiff_t *)(wide + how->most)}; \
        r.odd = r.count + how->block; \
        r.at = r.odd + how->block; \
        r.weight = (real *)(r.at + how->block * how->most); \
        for (ptrdiff_t item = first; item < last; item++) { \
            ptrdiff_t image = item / how->blocks, spot = item % how->blocks * how->block; \
            r.spots = how->spots - spot < how->block ? how->spots - spot : how->block; \
            r.odds = 0; \
            for (ptrdiff_t s = 0; s < r.spots; s++) { \
                position(call, image * how->spots + spot + s, x); \
                real##_settle(&how->field, x, wide, &r, s); \
            } \
            for (ptrdiff_t c = image * how->channels; c < (image + 1) * how->channels; c++) \
                real##_plane((const real *)call->x + c * how->plane, (real *)call->y + c * how->spots + spot, &r); \
        } \
        return 0; \
    }
SAMPLED(float)
SAMPLED(double)

enum { NOTHING = -1, STRANGE = -2 };

typedef struct {
    char bytes[16];
} Wide;

#define PICKED_PLANE(name, type) \
    static void name(const char *x, char *y, const ptrdiff_t *at, ptrdiff_t spots, const char *strange) { \
        for (ptrdiff_t s = 0; s < spots; s++) \
            ((type *)y)[s] = at[s] >= 0 ? ((const type *)x)[at[s]] : at[s] == STRANGE ? *(const type *)strange : (type){0}; \
    }
PICKED_PLANE(plane_1, uint8_t)
PICKED_PLANE(plane_2, uint16_t)
PICKED_PLANE(plane_4, uint32_t)
PICKED_PLANE(plane_8, uint64_t)
PICKED_PLANE(plane_16, Wide)

/* The nearest element of every position, of any type. */
static int picked_blocks(const void *call_, ptrdiff_t first, ptrdiff_t last, void *scratch) {
    const SampleCall *call = call_;
    const Sample *how = call->how;
    ptrdiff_t *at = scratch, place, bytes = how->bytes;
    double x[FIELD_AXES], weight;
    void (*plane)(const char *, char *, const ptrdiff_t *, ptrdiff_t, const char *) =
        bytes == 1 ? plane_1 : bytes == 2 ? plane_2 : bytes == 4 ? plane_4 : bytes == 8 ? plane_8 : plane_16;
    for (ptrdiff_t item = first; item < last; item++) {
        ptrdiff_t image = item / how->blocks, spot = item % how->blocks * how->block;
        ptrdiff_t spots = how->spots - spot < how->block ? how->spots - spot : how->block;
        for (ptrdiff_t s = 0; s < spots; s++) {
            Taps taps = {0, &place, &weight};
            position(call, image * how->spots + spot + s, x);
            spread(&how->field, x, &taps);
            at[s] = !taps.count ? NOTHING : isnan(weight) ? STRANGE : place;
        }
        for (ptrdiff_t c = image * how->channels; c < (image + 1) * how->channels; c++)
            plane(call->x + c * how->plane * bytes, call->y + (c * how->spots + spot) * bytes, at, spots, how->strange);
    }
    return 0;
}

const SampleLoops LOOPS(sample) = {float_blocks, double_blocks, picked_blocks};
