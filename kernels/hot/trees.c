/* Walks through decision trees, for every instruction set and floating type. */
#include "hot/trees.h"
#include "hot/treetops.h"

enum { LANES = 8 };

/* Votes are folded in the order of the trees; NaN stands for no vote yet. */
static inline void vote(const Trees *t, int32_t leaf, double *scores) {
    if (t->lone && t->fold == FOLD_SUM) {
        *scores += t->lone[leaf];
        return;
    }
    for (int32_t i = t->starts[leaf]; i < t->starts[leaf + 1]; i++) {
        double *s = scores + t->targets[i], w = t->weights[i];
        if (t->fold == FOLD_SUM)
            *s += w;
        else if (t->fold == FOLD_MIN ? !(*s <= w) : !(*s >= w))
            *s = w;
    }
}

/* Rows side by side: of each group, feature after feature, each for all rows of the group. Rows that are not there are 0. */
#define SIDE_BY_SIDE(real)                                                                                            \
    static void side_by_side_##real(const real *x, ptrdiff_t n, ptrdiff_t features, real *y) {                         \
        const ptrdiff_t group = TOGETHER_##real, all = (n + LANES - 1) / LANES * LANES;                               \
        for (ptrdiff_t r = 0; r < all; r++) {                                                                         \
            real *to = y + r / group * group * features + r % group;                                                  \
            for (ptrdiff_t f = 0; f < features; f++)                                                                  \
                to[f * group] = r < n ? x[r * features + f] : 0;                                                      \
        }                                                                                                             \
    }
SIDE_BY_SIDE(float)
SIDE_BY_SIDE(double)

/* The first levels of a tree for all rows: where they lead to, or the votes there. */
INLINE void levels_float(const Trees *t, ptrdiff_t tree, int levels, int nan_below, ptrdiff_t n, const float *x, int32_t *at,
                         double *scores) {
    const ptrdiff_t begin = t->tops[tree];
    Top_float top = {(const float *)t->limits + begin, x, t->columns + begin, nan_below};
    mask_float b[MOST_LEVELS];
    for (ptrdiff_t r = 0; r < n; r += TOGETHER_float, top.x += TOGETHER_float * t->features) {
        mask_float way = way_float(&top, levels, b);
        if (scores) {
            all_float votes = (all_float)votes_of(t->votes + begin, levels, way, b);
            for (int k = 0; k < TOGETHER_float; k++)
                scores[r + k] += votes[k];
        } else
            for (int k = 0; k < TOGETHER_float; k++)
                at[r + k] = t->exits[begin + way[k]];
    }
}

INLINE void levels_double(const Trees *t, ptrdiff_t tree, int levels, int nan_below, ptrdiff_t n, const double *x, int32_t *at,
                          double *scores) {
    const ptrdiff_t begin = t->tops[tree];
    Top_double top = {(const double *)t->limits + begin, x, t->columns + begin, nan_below};
    mask_double b[MOST_LEVELS];
    for (ptrdiff_t r = 0; r < n; r += TOGETHER_double, top.x += TOGETHER_double * t->features) {
        mask_double way = way_double(&top, levels, b);
        for (int k = 0; k < TOGETHER_double; k++)
            if (scores)
                scores[r + k] += t->votes[begin + way[k]];
            else
                at[r + k] = t->exits[begin + way[k]];
    }
}

#define CASE(real, l)                                                                                                 \
    case 2 * l:                                                                                                       \
        scores ? levels_##real(t, tree, l, 0, n, x, NULL, scores) : levels_##real(t, tree, l, 0, n, x, at, NULL);     \
        break;                                                                                                        \
    case 2 * l + 1:                                                                                                   \
        scores ? levels_##real(t, tree, l, 1, n, x, NULL, scores) : levels_##real(t, tree, l, 1, n, x, at, NULL);     \
        break;
#define THROUGH(real)                                                                                                 \
    static void through_##real(const Trees *t, ptrdiff_t tree, ptrdiff_t n, const real *x, int32_t *at, double *scores) { \
        switch (2 * t->levels[tree] + t->nan_below[tree]) {                                                           \
            CASE(real, 1)                                                                                             \
            CASE(real, 2)                                                                                             \
            CASE(real, 3)                                                                                             \
            CASE(real, 4)                                                                                             \
            CASE(real, 5)                                                                                             \
            CASE(real, 6)                                                                                             \
        }                                                                                                             \
    }
THROUGH(float)
THROUGH(double)

/* Steps of a walk between two looks whether all lanes are at leaves, which only long walks take. */
enum { STRIDE = 8 };

#define WALK(real, Node)                                                                                              \
    static inline int32_t next_##real(const Node *nodes, const real *x, int32_t at) {                                 \
        const Node *n = nodes + at;                                                                                   \
        real value = x[n->feature & INT32_MAX];                                                                       \
        int32_t above = !(value <= n->limit) & !((value != value) & (n->feature < 0));                                \
        return n->below + (-above & n->step);                                                                         \
    }                                                                                                                 \
                                                                                                                      \
    /* Lane k walks the row `apart` behind that of lane k - 1. */                                                     \
    static inline void walk_##real(const Node *nodes, const real *x, ptrdiff_t apart, int32_t depth, int32_t *at) {    \
        for (int32_t d = 0; d < depth; d++) {                                                                         \
            if (d && d % STRIDE == 0) {                                                                               \
                int32_t moving = 0;                                                                                   \
                for (int k = 0; k < LANES; k++)                                                                       \
                    moving |= nodes[at[k]].step | (nodes[at[k]].below ^ at[k]);                                       \
                if (!moving)                                                                                          \
                    return;                                                                                           \
            }                                                                                                         \
            for (int k = 0; k < LANES; k++)                                                                           \
                at[k] = next_##real(nodes, x + k * apart, at[k]);                                                     \
        }                                                                                                             \
    }                                                                                                                 \
                                                                                                                      \
    static inline int32_t alone_##real(const Node *nodes, const real *x, int32_t depth, int32_t at) {                  \
        for (int32_t d = 0; d < depth && (nodes[at].step || nodes[at].below != at); d++)                              \
            at = next_##real(nodes, x, at);                                                                           \
        return at;                                                                                                    \
    }                                                                                                                 \
                                                                                                                      \
    /* One row through all trees, eight trees at a time. */                                                           \
    static void one_row_##real(const Trees *t, const real *x, ptrdiff_t first, ptrdiff_t last, double *scores) {       \
        const Node *nodes = t->nodes;                                                                                 \
        ptrdiff_t i = first;                                                                                          \
        for (; i + LANES <= last; i += LANES) {                                                                       \
            int32_t at[LANES], depth = 0;                                                                             \
            for (int k = 0; k < LANES; k++) {                                                                         \
                at[k] = t->roots[i + k];                                                                              \
                depth = t->depths[i + k] > depth ? t->depths[i + k] : depth;                                          \
            }                                                                                                         \
            walk_##real(nodes, x, 0, depth, at);                                                                      \
            for (int k = 0; k < LANES; k++)                                                                           \
                vote(t, at[k], scores);                                                                               \
        }                                                                                                             \
        for (; i < last; i++)                                                                                         \
            vote(t, alone_##real(nodes, x, t->depths[i], t->roots[i]), scores);                                       \
    }  \
                                                                                                                      \
    /* The rest of the way from `at`, eight rows at a time, and the votes there. */                                   \
    static void onwards_##real(const Trees *t, const real *x, ptrdiff_t n, ptrdiff_t tree, int32_t levels, int32_t *at, \
                               double *scores) {                                                                      \
        ptrdiff_t r = 0;                                                                                              \
        for (; r + LANES <= n; r += LANES) {                                                                          \
            walk_##real(t->nodes, x + r * t->features, t->features, t->depths[tree] - levels, at + r);                \
            for (int k = 0; k < LANES; k++)                                                                           \
                vote(t, at[r + k], scores + (r + k) * t->scores);                                                     \
        }                                                                                                             \
        for (; r < n; r++)                                                                                            \
            vote(t, alone_##real(t->nodes, x + r * t->features, t->depths[tree], at[r]), scores + r * t->scores);     \
    }                                                                                                                 \
                                                                                                                      \
    static void voted_##real(const Trees *t, const void *rows, ptrdiff_t n, ptrdiff_t first, ptrdiff_t last,           \
                             double *scores, void *room) {                                                            \
        const real *x = rows;                                                                                         \
        int32_t *at = (int32_t *)((real *)room + (n + LANES - 1) / LANES * LANES * t->features);                       \
        if (n == 1 || !t->limits) {                                                                                   \
            for (ptrdiff_t r = 0; r < n; r++)                                                                         \
                one_row_##real(t, x + r * t->features, first, last, scores + r * t->scores);                          \
            return;                                                                                                   \
        }                                                                                                             \
        side_by_side_##real(x, n, t->features, room);                                                                 \
        for (ptrdiff_t i = first; i < last; i++) {                                                                    \
            int32_t levels = t->levels[i];                                                                            \
            if (levels && t->votes && t->depths[i] == levels) {                                                       \
                through_##real(t, i, n, room, at, scores);                                                            \
                continue;                                                                                             \
            }                                                                                                         \
            if (levels)                                                                                               \
                through_##real(t, i, n, room, at, NULL);                                                              \
            for (ptrdiff_t r = 0; r < n && !levels; r++)                                                              \
                at[r] = t->roots[i];                                                                                  \
            onwards_##real(t, x, n, i, levels, at, scores);                                                           \
        }                                                                                                             \
    }
WALK(float, Node32)
WALK(double, Node64)

const TreesLoops LOOPS(trees) = {{voted_float, voted_double}};
