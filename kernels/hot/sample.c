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

#define SAMPLED(real) \
    static void real##_plane(const real *x, real *y, const ptrdiff_t *begin, const ptrdiff_t *at, const real *weight, \
                             ptrdiff_t spots) { \
        for (ptrdiff_t s = 0; s < spots; s++) { \
            ptrdiff_t i = begin[s], end = begin[s + 1]; \
            real sum = 0; \
            if (end - i == 4) \
                sum = (weight[i] * x[at[i]] + weight[i + 1] * x[at[i + 1]]) \
                      + (weight[i + 2] * x[at[i + 2]] + weight[i + 3] * x[at[i + 3]]); \
            else \
                for (; i < end; i++) \
                    sum += weight[i] * x[at[i]]; \
            y[s] = sum; \
        } \
    } \
    static int real##_blocks(const void *call_, ptrdiff_t first, ptrdiff_t last, void *scratch) { \
        const SampleCall *call = call_; \
        const Sample *how = call->how; \
        double x[FIELD_AXES], *wide = scratch; \
        ptrdiff_t *begin = (ptrdiff_t *)(wide + how->most), *at = begin + how->block + 1; \
        real *weight = (real *)(at + (how->block + 1) * how->most); \
        for (ptrdiff_t item = first; item < last; item++) { \
            ptrdiff_t image = item / how->blocks, spot = item % how->blocks * how->block; \
            ptrdiff_t spots = how->spots - spot < how->block ? how->spots - spot : how->block, count = 0; \
            for (ptrdiff_t s = 0; s < spots; s++) { \
                Taps taps = {0, at + count, wide}; \
                position(call, image * how->spots + spot + s, x); \
                spread(&how->field, x, &taps); \
                begin[s] = count; \
                for (ptrdiff_t t = 0; t < taps.count; t++) \
                    weight[count + t] = (real)wide[t]; \
                count += taps.count; \
            } \
            begin[spots] = count; \
            for (ptrdiff_t c = image * how->channels; c < (image + 1) * how->channels; c++) \
                real##_plane((const real *)call->x + c * how->plane, (real *)call->y + c * how->spots + spot, begin, at, weight, \
                             spots); \
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
