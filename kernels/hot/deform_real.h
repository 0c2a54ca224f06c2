/* Deformable convolution of one element type, REAL: columns of interpolated values, then a product with the weights.
   Included once for each type. */
#include "hot/columns.h"

/* What a block works in: columns of values, and the places that make them. */
typedef struct {
    void *panels;
    REAL *columns;
    double *wide;
    ptrdiff_t *begin, *at;
    REAL *weight;
} OF(Room);

static OF(Room) OF(room_of)(const Deform *how, char *scratch) {
    OF(Room) r;
    r.panels = scratch;
    r.columns = (REAL *)(scratch + (PANEL_BLOCK + 1) * DEPTH * PANEL_BYTES);
    r.wide = (double *)(r.columns + (how->groups * how->in_channels * how->taps * how->block + 1) / 2 * 2);
    r.begin = (ptrdiff_t *)(r.wide + how->corners);
    r.at = r.begin + how->block + 1;
    r.weight = (REAL *)(r.at + (how->block + 1) * how->corners);
    return r;
}

/* Where a tap of the kernel reads for some outputs, by the offsets of its group, and what the mask makes of the weights. */
static void OF(places)(const DeformCall *call, ptrdiff_t image, ptrdiff_t group, ptrdiff_t tap, ptrdiff_t spot, ptrdiff_t spots,
                       const OF(Room) *r) {
    const Deform *how = call->how;
    ptrdiff_t axes = how->field.axes, row = (image * how->offset_groups + group) * how->taps + tap, count = 0;
    const REAL *offset = (const REAL *)call->offset + row * axes * how->spots;
    const REAL *mask = call->mask ? (const REAL *)call->mask + row * how->spots : NULL;
    for (ptrdiff_t s = 0; s < spots; s++) {
        double x[FIELD_AXES];
        ptrdiff_t place = spot + s, t = tap;
        for (ptrdiff_t a = axes - 1; a >= 0; place /= how->out[a], t /= how->kernel[a], a--)
            x[a] = (double)(place % how->out[a] * how->stride[a] - how->before[a] + t % how->kernel[a] * how->dilation[a])
                   + (double)offset[a * how->spots + spot + s];
        Taps taps = {0, r->at + count, r->wide};
        spread(&how->field, x, &taps);
        r->begin[s] = count;
        for (ptrdiff_t i = 0; i < taps.count; i++)
            r->weight[count + i] = (REAL)(r->wide[i] * (mask ? (double)mask[spot + s] : 1));
        count += taps.count;
    }
    r->begin[spots] = count;
}

/* Some outputs of an image: a row of columns for each tap of each channel, then the products. */
static void OF(one_block)(const DeformCall *call, ptrdiff_t image, ptrdiff_t spot, ptrdiff_t spots, const OF(Room) *r) {
    const Deform *how = call->how;
    ptrdiff_t channels = how->groups * how->in_channels, together = channels / how->offset_groups;
    ptrdiff_t depth = how->in_channels * how->taps;
    for (ptrdiff_t group = 0; group < how->offset_groups; group++)
        for (ptrdiff_t tap = 0; tap < how->taps; tap++) {
            OF(places)(call, image, group, tap, spot, spots, r);
            for (ptrdiff_t c = group * together; c < (group + 1) * together; c++) {
                const REAL *x = (const REAL *)call->x + (image * channels + c) * how->plane;
                REAL *column = r->columns + (c * how->taps + tap) * spots;
                for (ptrdiff_t s = 0; s < spots; s++) {
                    REAL sum = 0;
                    for (ptrdiff_t i = r->begin[s]; i < r->begin[s + 1]; i++)
                        sum += r->weight[i] * x[r->at[i]];
                    column[s] = sum;
                }
            }
        }
    for (ptrdiff_t group = 0; group < how->groups; group++) {
        ptrdiff_t m = group * how->out_channels;
        REAL *y = (REAL *)call->y + (image * how->groups * how->out_channels + m) * how->spots + spot;
        OF(Epilogue) e = {y, how->spots, call->bias ? (const REAL *)call->bias + m : NULL, 1, 0, 1, 1, true};
        OF(multiplied)((const REAL *)call->w + m * depth, depth, 1, r->columns + group * depth * spots, spots, how->out_channels,
                       spots, depth, e, r->panels);
    }
}

static int OF(blocks_of)(const void *call_, ptrdiff_t begin, ptrdiff_t end, void *scratch) {
    const DeformCall *call = call_;
    const Deform *how = call->how;
    OF(Room) r = OF(room_of)(how, scratch);
    for (ptrdiff_t item = begin; item < end; item++) {
        ptrdiff_t spot = item % how->blocks * how->block;
        OF(one_block)(call, item / how->blocks, spot, lesser(how->block, how->spots - spot), &r);
    }
    return 0;
}
