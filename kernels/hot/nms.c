/* Boxes that others drive out: each is held against those taken before, a few at a time. */
#include "hot/nms.h"

enum { TOGETHER = 8 };

typedef struct {
    float left, top, right, bottom, area;
} Box;

#define LESSER(a, b) ((a) < (b) ? (a) : (b))
#define LARGER(a, b) ((a) > (b) ? (a) : (b))

/* The corners in order: given as any two opposite ones, or as a middle with a width and a height. */
static Box box_of(const float *at, int centred) {
    Box b;
    if (centred) {
        b.left = at[0] - at[2] / 2, b.right = at[0] + at[2] / 2;
        b.top = at[1] - at[3] / 2, b.bottom = at[1] + at[3] / 2;
    } else {
        b.left = LESSER(at[1], at[3]), b.right = LARGER(at[1], at[3]);
        b.top = LESSER(at[0], at[2]), b.bottom = LARGER(at[0], at[2]);
    }
    b.area = (b.right - b.left) * (b.bottom - b.top);
    return b;
}

/* Whether the box shares more than `most` of the union with one of those taken; never where one has no area. */
static int overlaps(const Box *b, const float *room, ptrdiff_t places, ptrdiff_t n, float most) {
    for (ptrdiff_t at = 0; at < n; at += TOGETHER) {
        const float *left = room + at, *top = left + places, *right = top + places, *bottom = right + places,
                    *area = bottom + places;
        int hit = 0;
        for (int i = 0; i < TOGETHER; i++) {
            float width = LESSER(b->right, right[i]) - LARGER(b->left, left[i]);
            float height = LESSER(b->bottom, bottom[i]) - LARGER(b->top, top[i]);
            float shared = width * height, joint = b->area + area[i] - shared;
            hit |= (width > 0) & (height > 0) & (b->area > 0) & (area[i] > 0) & (joint > 0) & (shared / joint > most);
        }
        if (hit)
            return 1;
    }
    return 0;
}

static ptrdiff_t greedy(const float *boxes, const int64_t *order, ptrdiff_t count, ptrdiff_t most, float overlap, int centred,
                        float *room, int64_t *found) {
    ptrdiff_t n = 0, places = most + TOGETHER;
    for (ptrdiff_t i = 0; i < 5 * places; i++)
        room[i] = 0; /* no area: overlaps none */
    for (ptrdiff_t i = 0; i < count && n < most; i++) {
        Box b = box_of(boxes + 4 * order[i], centred);
        if (overlaps(&b, room, places, n, overlap))
            continue;
        room[n] = b.left, room[places + n] = b.top, room[2 * places + n] = b.right, room[3 * places + n] = b.bottom;
        room[4 * places + n] = b.area;
        found[n++] = order[i];
    }
    return n;
}

const NmsLoops LOOPS(nms) = {greedy};
