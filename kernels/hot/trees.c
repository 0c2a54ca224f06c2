/* Walks through decision trees, for every instruction set and floating type. */
#include "hot/trees.h"

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
    }                                                                                                                 \
                                                                                                                      \
    static void voted_##real(const Trees *t, const void *rows, ptrdiff_t n, ptrdiff_t first, ptrdiff_t last,           \
                             double *scores) {                                                                        \
        const Node *nodes = t->nodes;                                                                                 \
        const real *x = rows;                                                                                         \
        ptrdiff_t groups = n / LANES * LANES;                                                                         \
        for (ptrdiff_t i = first; i < last && groups; i++)                                                            \
            for (ptrdiff_t r = 0; r < groups; r += LANES) {                                                           \
                int32_t at[LANES];                                                                                    \
                for (int k = 0; k < LANES; k++)                                                                       \
                    at[k] = t->roots[i];                                                                              \
                walk_##real(nodes, x + r * t->features, t->features, t->depths[i], at);                               \
                for (int k = 0; k < LANES; k++)                                                                       \
                    vote(t, at[k], scores + (r + k) * t->scores);                                                     \
            }                                                                                                         \
        for (ptrdiff_t r = groups; r < n; r++)                                                                        \
            one_row_##real(t, x + r * t->features, first, last, scores + r * t->scores);                              \
    }
WALK(float, Node32)
WALK(double, Node64)

const TreesLoops LOOPS(trees) = {{voted_float, voted_double}};
