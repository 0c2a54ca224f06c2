/* Weights of bytes, sorted once for products in 16 bits. The processor multiplies unsigned by signed bytes and adds two
   neighbours in 16 bits; 255 * 128 still fits, so the sum is exact wherever neither the positive nor the negative ones of two
   weights come to more than 128. Weights are laid out in blocks of lines (columns of a matrix, or output channels), each in groups
   of four along the sums. A group is wide if it breaks that bound for any line; two that keep it even together are a quad,
   added up before they are widened; the others are narrow. Included by integer.c. */

enum {
    MOST_LINES = 16,
    MOST_SUM = 128,
    PENDING = 32, /* groups that wait for one to make a quad with */
};

/* A block: this, the places of its groups in order (those of quads by twos), then their weights. */
typedef struct {
    int32_t quads, narrows, wides, unused;
} Head;

static ptrdiff_t weights_at(ptrdiff_t groups) {
    return aligned((ptrdiff_t)sizeof(Head) + 4 * groups);
}

static ptrdiff_t block_size(ptrdiff_t groups, ptrdiff_t lines) {
    return weights_at(groups) + aligned(8 * lines * groups);
}

/* What the two halves of a group's lines come to. */
typedef struct {
    uint32_t group;
    int16_t up[2 * MOST_LINES], down[2 * MOST_LINES];
} Weight;

/* Weighs a group; answers whether it is narrow. */
static bool weigh(const int8_t *w, int lines, Weight *weight) {
    int most = 0;
    for (int l = 0; l < 2 * lines; l++) {
        int a = w[2 * l], b = w[2 * l + 1];
        int up = (a > 0 ? a : 0) + (b > 0 ? b : 0), down = up - a - b;
        weight->up[l] = (int16_t)up;
        weight->down[l] = (int16_t)down;
        most = up > most ? up : most;
        most = down > most ? down : most;
    }
    return most <= MOST_SUM;
}

static bool go_together(const Weight *a, const Weight *b, int lines) {
    int16_t most = 0;
    for (int l = 0; l < 2 * lines; l++) {
        int16_t up = (int16_t)(a->up[l] + b->up[l]), down = (int16_t)(a->down[l] + b->down[l]);
        most = up > most ? up : most;
        most = down > most ? down : most;
    }
    return most <= MOST_SUM;
}

/* Takes the one at p out of those that wait. */
static Weight taken(Weight *pending, int p, int *waiting) {
    Weight it = pending[p];
    memmove(pending + p, pending + p + 1, (--*waiting - p) * sizeof *pending);
    return it;
}

/* Sorts the groups of a block into `list`, which has room for three lists of all of them and keeps the first. */
static Head sort_groups(const int8_t *w, ptrdiff_t groups, int lines, uint32_t *list) {
    uint32_t *narrows = list + groups, *wides = narrows + groups;
    Weight pending[PENDING], next;
    Head head = {0, 0, 0, 0};
    int waiting = 0;
    for (ptrdiff_t g = 0; g < groups; g++) {
        int p = 0;
        next.group = (uint32_t)g;
        if (!weigh(w + g * lines * 4, lines, &next)) {
            wides[head.wides++] = next.group;
            continue;
        }
        while (p < waiting && !go_together(pending + p, &next, lines))
            p++;
        if (p < waiting) {
            list[2 * head.quads] = taken(pending, p, &waiting).group;
            list[2 * head.quads++ + 1] = next.group;
            continue;
        }
        if (waiting == PENDING)
            narrows[head.narrows++] = taken(pending, 0, &waiting).group;
        pending[waiting++] = next;
    }
    for (int p = 0; p < waiting; p++)
        narrows[head.narrows++] = pending[p].group;
    memcpy(list + 2 * head.quads, narrows, head.narrows * sizeof *list);
    memcpy(list + 2 * head.quads + head.narrows, wides, head.wides * sizeof *list);
    return head;
}

/* A wide group: the first and third of each line in 16 bits, then the second and fourth. */
static void widen_group(const int8_t *w, int lines, int16_t *out) {
    for (int l = 0; l < lines; l++)
        for (int i = 0; i < 4; i++)
            out[(i & 1) * 2 * lines + 2 * l + i / 2] = w[4 * l + i];
}

/* Weights of `lines` lines from `line` on, by groups: taps one after another, each with its channels; zeros fill up. */
static void gather_groups(const Weights *how, const uint8_t *w, ptrdiff_t line, int8_t *out) {
    int flip = how->is_signed ? 0 : 128;
    for (ptrdiff_t t = 0; t < how->taps; t++)
        for (ptrdiff_t c = 0; c < how->channels; c += 4)
            for (int l = 0; l < how->width; l++, out += 4)
                for (int i = 0; i < 4; i++) {
                    bool there = line + l < how->lines && c + i < how->channels;
                    const uint8_t *from = w + (line + l) * how->line_step + t * how->tap_step + (c + i) * how->channel_step;
                    out[i] = there ? (int8_t)(*from ^ flip) : 0;
                }
}

static ptrdiff_t groups_of(const Weights *how) {
    return how->taps * pieces(how->channels, 4);
}

static ptrdiff_t packed_block(const Weights *how) {
    return block_size(groups_of(how), how->width);
}

static ptrdiff_t packing_room(const Weights *how) {
    return aligned(12 * groups_of(how)) + 4 * how->width * groups_of(how);
}

/* Packs all lines, block after block, and sums each up; `room` is what packing_room says. */
static void pack_lines(const Weights *how, const uint8_t *w, uint8_t *out, int32_t *sums, uint8_t *room) {
    ptrdiff_t groups = groups_of(how), each = 4 * how->width;
    uint32_t *list = (uint32_t *)room;
    int8_t *gathered = (int8_t *)room + aligned(12 * groups);
    for (ptrdiff_t line = 0; line < how->lines; line += how->width, out += packed_block(how)) {
        gather_groups(how, w, line, gathered);
        for (ptrdiff_t l = line; l < lesser(line + how->width, how->lines); l++) {
            sums[l] = 0;
            for (ptrdiff_t g = 0; g < groups; g++)
                for (int i = 0; i < 4; i++)
                    sums[l] += gathered[g * each + (l - line) * 4 + i];
        }
        Head head = sort_groups(gathered, groups, how->width, list);
        memcpy(out, &head, sizeof head);
        memcpy(out + sizeof head, list, 4 * groups);
        uint8_t *to = out + weights_at(groups);
        for (ptrdiff_t g = 0; g < 2 * head.quads + head.narrows; g++, to += each)
            memcpy(to, gathered + list[g] * each, each);
        for (ptrdiff_t g = groups - head.wides; g < groups; g++, to += 2 * each)
            widen_group(gathered + list[g] * each, how->width, (int16_t *)to);
    }
}
