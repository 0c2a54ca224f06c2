/* A direction of a recurrent layer over a block of the batch, for one element type, REAL. Included once for each. What the
   input gives to the gates is one matrix product for many steps, what the hidden state gives is one for each step. */

/* One block at work: its share of the arrays, and its scratch. */
typedef struct {
    const Recurrent *how;
    const RecurrentCall *call;
    const Activation *activations;
    ptrdiff_t direction, from, rows; /* items of the batch */
    bool backward;
    const REAL *w, *r, *peephole, *reset_bias;
    REAL *bias, *products, *h, *c, *reset, *gates, *rows_of_x;
} OF(Block);

/* y = a b + c for rows of `depth` numbers, `cross` apart, and a matrix in panels; c is one row or NULL, or y itself is added.
   Rows are in even groups: they are so few that one or two in a group of their own would count. */
static void OF(times)(const REAL *a, ptrdiff_t cross, const REAL *panels, ptrdiff_t rows, ptrdiff_t columns, ptrdiff_t depth,
                      REAL *y, ptrdiff_t y_row, const REAL *c) {
    OF(Epilogue) e = {y, y_row, c, 0, 1, 1, 1, c != y};
    ptrdiff_t most = even_piece(depth, DEPTH), group = even_piece(rows, ROWS), k = 0;
    do {
        ptrdiff_t length = lesser(most, depth - k);
        OF(Factor) left = {a + k, group * cross, cross, 1};
        OF(Factor) right = {panels + k * COLUMNS, depth * COLUMNS, 1, COLUMNS};
        if (rows == 1)
            OF(part)(&left, &right, rows, columns, length, &e);
        else
            for (ptrdiff_t j = 0; j < columns; j += COLUMNS) {
                const REAL *panel = right.at + j * depth;
                ptrdiff_t hop = columns - j > COLUMNS ? PANEL_BYTES * group / (rows + group - 1) : 0;
                const char *ahead = (const char *)(hop ? panel + COLUMNS * depth : panel);
                for (ptrdiff_t i = 0; i < rows; i += group, ahead += length * hop)
                    OF(tile)(lesser(group, rows - i), &left, left.at + i * cross, &right, panel, length, &e, i, j, columns - j,
                             ahead, hop);
            }
        e.first = false;
        k += length;
    } while (k < depth);
}

static ptrdiff_t OF(length)(const OF(Block) *b, ptrdiff_t item) {
    return b->call->lengths ? b->call->lengths[b->from + item] : b->how->steps;
}

/* Where in time an item is at a step: backward, the first step sees the end of what is valid. */
static ptrdiff_t OF(time)(const OF(Block) *b, ptrdiff_t item, ptrdiff_t step) {
    return b->backward ? OF(length)(b, item) - 1 - step : step;
}

static const REAL *OF(input)(const OF(Block) *b, ptrdiff_t item, ptrdiff_t time) {
    return (const REAL *)b->call->x + time * b->how->x_step + (b->from + item) * b->how->x_item;
}

/* Whether the rows of all steps and items are one matrix as they lie. */
static bool OF(is_matrix)(const OF(Block) *b) {
    return !b->call->lengths && b->how->x_item == b->how->inputs && b->how->x_step == b->rows * b->how->inputs;
}

/* The inputs of some steps in the order of the steps; what an item does not have is left as it is. */
static const REAL *OF(gathered)(const OF(Block) *b, ptrdiff_t begin, ptrdiff_t end) {
    ptrdiff_t n = b->how->inputs;
    for (ptrdiff_t s = begin; s < end; s++)
        for (ptrdiff_t item = 0; item < b->rows; item++)
            if (s < OF(length)(b, item))
                memcpy(b->rows_of_x + ((s - begin) * b->rows + item) * n, OF(input)(b, item, OF(time)(b, item, s)),
                       n * sizeof(REAL));
    return b->rows_of_x;
}

/* What the input gives to the gates in some steps: one product. */
static void OF(project)(const OF(Block) *b, ptrdiff_t begin, ptrdiff_t end) {
    const Recurrent *how = b->how;
    ptrdiff_t each = how->gates * how->hidden;
    const REAL *x = OF(is_matrix)(b) ? OF(input)(b, 0, b->backward ? how->steps - end : begin) : OF(gathered)(b, begin, end);
    OF(times)(x, how->inputs, b->w, (end - begin) * b->rows, each, how->inputs, b->gates, each, b->bias);
}

/* The gates of a step among those that were worked out at once; of a matrix they are in the order of time. */
static REAL *OF(gates_at)(const OF(Block) *b, ptrdiff_t begin, ptrdiff_t end, ptrdiff_t s) {
    ptrdiff_t within = b->backward && OF(is_matrix)(b) ? end - 1 - s : s - begin;
    return b->gates + within * b->rows * b->how->gates * b->how->hidden;
}

/* One step of all items that are not over yet; g are their gates. */
static void OF(step)(const OF(Block) *b, ptrdiff_t s, REAL *g) {
    const Recurrent *how = b->how;
    const Activation *f = b->activations;
    ptrdiff_t n = how->hidden, each = how->gates * n, first = how->cell == GATED ? 2 * n : each;
    OF(times)(b->h, n, b->r, b->rows, first, n, g, each, g);
    if (how->cell == GATED) {
        for (ptrdiff_t i = 0; i < b->rows; i++)
            if (s < OF(length)(b, i))
                OF(reset)(how, f, g + i * each, b->h + i * n, b->reset + i * n);
        OF(times)(how->linear_first ? b->h : b->reset, n, b->r + how->r_first, b->rows, n, n, b->products, n, NULL);
    }
    for (ptrdiff_t i = 0; i < b->rows; i++) {
        REAL *mine = g + i * each, *h = b->h + i * n;
        if (s >= OF(length)(b, i))
            continue;
        if (how->cell == LONG_SHORT)
            OF(long_short)(how, f, mine, b->peephole, h, b->c + i * n);
        else if (how->cell == GATED)
            OF(update)(how, f, mine, b->products + i * n, b->reset_bias, h);
        else
            OF(simple)(how, f, mine, h);
        if (b->call->y)
            memcpy((REAL *)b->call->y + OF(time)(b, i, s) * how->y_step + (b->from + i) * how->y_item
                       + b->direction * how->y_direction, h, n * sizeof(REAL));
    }
}

/* States that come in, or go out; zeros where none come in. */
static void OF(bring)(const OF(Block) *b, const REAL *from, REAL *to) {
    ptrdiff_t n = b->how->hidden;
    for (ptrdiff_t i = 0; i < b->rows; i++)
        if (from)
            memcpy(to + i * n, from + (b->from + i) * b->how->state_item + b->direction * b->how->state_direction,
                   n * sizeof(REAL));
        else
            memset(to + i * n, 0, n * sizeof(REAL));
}

static void OF(leave)(const OF(Block) *b, const REAL *from, REAL *to) {
    ptrdiff_t n = b->how->hidden;
    for (ptrdiff_t i = 0; to && i < b->rows; i++)
        memcpy(to + (b->from + i) * b->how->state_item + b->direction * b->how->state_direction, from + i * n, n * sizeof(REAL));
}

/* Zeros where a sequence is over. */
static void OF(pad)(const OF(Block) *b) {
    const Recurrent *how = b->how;
    for (ptrdiff_t i = 0; b->call->y && i < b->rows; i++)
        for (ptrdiff_t t = OF(length)(b, i); t < how->steps; t++)
            memset((REAL *)b->call->y + t * how->y_step + (b->from + i) * how->y_item + b->direction * how->y_direction, 0,
                   how->hidden * sizeof(REAL));
}

/* The two biases of a gate are added at once, but for that of a product which the reset gate multiplies. */
static void OF(biases)(OF(Block) *b) {
    const Recurrent *how = b->how;
    ptrdiff_t n = how->gates * how->hidden, alone = how->linear_first ? how->hidden : 0;
    const REAL *given = b->call->bias ? (const REAL *)b->call->bias + b->direction * 2 * n : NULL;
    for (ptrdiff_t i = 0; given && i < n; i++)
        b->bias[i] = given[i] + (i < n - alone ? given[n + i] : 0);
    if (!given)
        b->bias = NULL;
    b->reset_bias = given && alone ? given + 2 * n - alone : NULL;
}

/* Weights of a direction in panels, packed here where a run brings them. */
static void OF(weights)(OF(Block) *b, REAL *room) {
    const Recurrent *how = b->how;
    ptrdiff_t n = how->hidden, each = how->gates * n, d = b->direction;
    if (how->w_panels)
        b->w = (const REAL *)how->w_panels + d * how->w_each;
    else {
        OF(pack)((const REAL *)b->call->w + d * each * how->inputs, 1, how->inputs, how->inputs, each, room);
        b->w = room;
        room += how->w_each;
    }
    if (how->r_panels)
        b->r = (const REAL *)how->r_panels + d * how->r_each;
    else {
        const REAL *r = (const REAL *)b->call->r + d * each * n;
        ptrdiff_t first = how->cell == GATED ? 2 * n : each;
        OF(pack)(r, 1, n, n, first, room);
        OF(pack)(r + first * n, 1, n, n, each - first, room + how->r_first);
        b->r = room;
    }
}

static void OF(sequence)(const RecurrentCall *call, ptrdiff_t direction, ptrdiff_t block, REAL *room) {
    const Recurrent *how = call->how;
    ptrdiff_t from = block * call->rows, rows = lesser(call->rows, how->batch - from), n = how->hidden, each = how->gates * n;
    OF(Block) b = {.how = how, .call = call, .activations = how->activations[direction], .direction = direction, .from = from,
                   .rows = rows, .backward = how->backward[direction]};
    b.bias = room;
    b.products = b.bias + each;
    b.h = b.products + rows * n;
    b.c = b.h + rows * n;
    b.reset = b.c + rows * n;
    b.gates = b.reset + rows * n;
    b.rows_of_x = b.gates + how->room * each;
    OF(weights)(&b, b.rows_of_x + how->room * how->inputs);
    OF(biases)(&b);
    b.peephole = call->peephole ? (const REAL *)call->peephole + direction * 3 * n : NULL;
    OF(bring)(&b, call->h, b.h);
    OF(bring)(&b, call->c, b.c);
    ptrdiff_t at_once = how->room / rows;
    for (ptrdiff_t begin = 0; begin < how->steps; begin += at_once) {
        ptrdiff_t end = lesser(begin + at_once, how->steps);
        OF(project)(&b, begin, end);
        for (ptrdiff_t s = begin; s < end; s++)
            OF(step)(&b, s, OF(gates_at)(&b, begin, end, s));
    }
    OF(pad)(&b);
    OF(leave)(&b, b.h, call->last_h);
    OF(leave)(&b, b.c, call->last_c);
}

static int OF(sequences)(const void *args, ptrdiff_t begin, ptrdiff_t end, void *scratch) {
    const RecurrentCall *call = args;
    for (ptrdiff_t item = begin; item < end; item++)
        OF(sequence)(call, item / call->blocks, item % call->blocks, scratch);
    return 0;
}
