/* Attention in one element type, REAL. Included once for each.

   Scores are kept for a block of keys only. Of each query the largest score so far and the sum of the powers are known; when
   a larger score comes, what was added up before shrinks. */
#include "hot/lines.h"
#include "hot/product.h"

/* Rows of some matrix, of `row` elements from one to the next. */
typedef struct {
    const REAL *at;
    ptrdiff_t row;
} OF(Rows);

/* What an item works in. */
typedef struct {
    REAL *scores, *k_panels, *v_panels, *most, *sum, *bias, *q, *k, *v, *y; /* the last four only for 16-bit elements */
} OF(Room);

static ptrdiff_t OF(room)(const Attention *how, char *scratch, OF(Room) *room) {
    ptrdiff_t wide = how->type < 2 ? 0 : 1, used = 0, columns = (how->v_size + COLUMNS - 1) / COLUMNS * COLUMNS;
    ptrdiff_t sizes[] = {QUERIES * KEYS, KEYS * how->size, KEYS * columns, how->rows, how->rows, KEYS,
                         wide * how->rows * how->size, wide * KEYS * how->size, wide * KEYS * how->v_size,
                         wide * how->rows * how->v_size};
    REAL **parts = (REAL **)room;
    for (int i = 0; i < 10; i++) {
        if (room)
            parts[i] = (REAL *)(scratch + used);
        used += (sizes[i] * (ptrdiff_t)sizeof(REAL) + 63) / 64 * 64;
    }
    return used;
}

static ptrdiff_t OF(limit)(ptrdiff_t n, ptrdiff_t low, ptrdiff_t high) {
    return n < low ? low : n > high ? high : n;
}

/* A row of 16-bit elements as floats. */
static void OF(widen)(const uint16_t *x, int type, ptrdiff_t n, REAL *y) {
    if (type == 2)
        half_row_to_float(x, (float *)(void *)y, n);
    else
        brain_row_to_float(x, (float *)(void *)y, n);
}

/* Rows of an array: where they lie, or widened into `room`. */
static OF(Rows) OF(rows)(const void *x, int type, ptrdiff_t at, ptrdiff_t row, ptrdiff_t count, ptrdiff_t size, REAL *room) {
    if (type < 2)
        return (OF(Rows)){(const REAL *)x + at, row};
    for (ptrdiff_t i = 0; i < count; i++)
        OF(widen)((const uint16_t *)x + at + i * row, type, size, room + i * size);
    return (OF(Rows)){room, size};
}

static void OF(scores)(const OF(Rows) *q, ptrdiff_t rows, const OF(Rows) *k, ptrdiff_t keys, ptrdiff_t size, const REAL *panels,
                       REAL scale, REAL *s) {
    if (!panels || !size) {
        for (ptrdiff_t j = 0; j < keys; j++)
            for (ptrdiff_t i = 0; i < rows; i++)
                s[i * KEYS + j] = scale * LINE(dot)(q->at + i * q->row, k->at + j * k->row, size);
        return;
    }
    OF(Epilogue) e = {s, KEYS, NULL, 0, 0, scale, 0, true};
    for (ptrdiff_t d = 0; d < size; d += DEPTH) {
        OF(Factor) a = {q->at + d, ROWS * q->row, q->row, 1}, b = {panels + d * COLUMNS, size * COLUMNS, 1, COLUMNS};
        OF(block)(&a, &b, rows, keys, lesser(DEPTH, size - d), &e);
        e.first = false;
    }
}

/* Adds to y the values of so many keys that each row of `p` weighs; `packed` is how many keys the panels have, or 0. */
static void OF(results)(const REAL *p, ptrdiff_t rows, const OF(Rows) *v, ptrdiff_t keys, ptrdiff_t size, ptrdiff_t packed,
                        REAL *panels, OF(Epilogue) *e) {
    OF(Factor) a = {p, ROWS * KEYS, KEYS, 1}, b = {panels, (packed ? packed : keys) * COLUMNS, 1, COLUMNS};
    if (packed) {
        OF(block)(&a, &b, rows, size, keys, e);
        return;
    }
    ptrdiff_t whole = size / COLUMNS * COLUMNS;
    OF(Factor) plain = {v->at, COLUMNS, 1, v->row};
    OF(part)(&a, &plain, rows, whole, keys, e);
    if (whole < size) {
        OF(Epilogue) rest = OF(from)(e, 0, whole);
        OF(pack)(v->at + whole, v->row, 1, keys, size - whole, panels);
        OF(block)(&a, &b, rows, size - whole, keys, &rest);
    }
}

/* A row of a mask as what is added: 0 or -inf where it is of truths. */
static const REAL *OF(bias)(const AttentionCall *call, ptrdiff_t at, ptrdiff_t first, ptrdiff_t keys, REAL *room) {
    const Attention *how = call->how;
    ptrdiff_t n = OF(limit)(how->mask_keys - first, 0, keys);
    at += first;
    for (ptrdiff_t j = n; j < keys; j++)
        room[j] = -(REAL)INFINITY;
    if (how->mask_type == 4) {
        const uint8_t *allowed = (const uint8_t *)call->mask + at;
        for (ptrdiff_t j = 0; j < n; j++)
            room[j] = allowed[j] ? 0 : -(REAL)INFINITY;
    } else if (how->mask_type >= 2)
        OF(widen)((const uint16_t *)call->mask + at, how->mask_type, n, room);
    else if (n == keys)
        return (const REAL *)call->mask + at;
    else if (n)
        memcpy(room, (const REAL *)call->mask + at, (size_t)n * sizeof(REAL));
    return room;
}

/* Powers of e of a row of scores less the largest; returns their sum. */
static REAL OF(to_e)(REAL *s, REAL most, ptrdiff_t n) {
#if defined(__AVX2__)
    if (sizeof(REAL) == sizeof(float))
        return (REAL)powers_row((const float *)(void *)s, (float)most, (float *)(void *)s, n);
#endif
    _Pragma("GCC ivdep") for (ptrdiff_t j = 0; j < n; j++) s[j] = TO_E(s[j] - most);
    return LINE(total)(s, n);
}

/* Scores to powers of e, of what the largest leaves; returns what the sums before are to be multiplied by. */
static REAL OF(powers)(REAL *s, ptrdiff_t n, REAL *most, REAL *sum) {
    REAL before = *most, now = LINE(largest)(s, n);
    now = before > now || now != now ? before : now;
    if (now == -(REAL)INFINITY) { /* nothing that takes part, unless it is NaN */
        bool unknown = false;
        for (ptrdiff_t j = 0; j < n; j++)
            unknown |= s[j] != s[j], s[j] = 0;
        if (unknown)
            *sum = (REAL)NAN;
        return 0;
    }
    REAL shrinks = before == now ? 1 : TO_E(before - now);
    *sum = *sum * shrinks + OF(to_e)(s, now, n);
    *most = now;
    return shrinks;
}

/* The keys from..to that a query sees, of all that take part. */
typedef struct {
    ptrdiff_t from, to;
} OF(Span);

static OF(Span) OF(seen)(const Attention *how, ptrdiff_t position, ptrdiff_t all) {
    OF(Span) s = {0, all};
    if (how->left >= 0)
        s.from = OF(limit)(position - how->left, 0, all);
    if (how->right >= 0)
        s.to = OF(limit)(position + how->right + 1, 0, all);
    return s;
}

/* Queries against a block of keys: cap, mask and bounds, then powers. */
static void OF(weigh)(const AttentionCall *call, ptrdiff_t mask_at, ptrdiff_t position, ptrdiff_t all, ptrdiff_t rows,
                      ptrdiff_t first, ptrdiff_t keys, const OF(Room) *room, ptrdiff_t row, const OF(Epilogue) *e) {
    const Attention *how = call->how;
    const REAL cap = (REAL)how->cap;
    for (ptrdiff_t i = 0; i < rows; i++) {
        REAL *s = room->scores + i * KEYS;
        if (how->cap != 0)
            _Pragma("GCC ivdep") for (ptrdiff_t j = 0; j < keys; j++) s[j] = cap * TANH(s[j] / cap);
        if (how->mask_type >= 0) {
            const REAL *bias = OF(bias)(call, mask_at + i * how->mask.row, first, keys, room->bias);
            _Pragma("GCC ivdep") for (ptrdiff_t j = 0; j < keys; j++) {
                REAL sum = s[j] + bias[j];
                s[j] = bias[j] == -(REAL)INFINITY ? -(REAL)INFINITY : sum;
            }
        }
        OF(Span) span = OF(seen)(how, position + i, all);
        ptrdiff_t from = OF(limit)(span.from - first, 0, keys), to = OF(limit)(span.to - first, from, keys);
        for (ptrdiff_t j = 0; j < from; j++)
            s[j] = -(REAL)INFINITY;
        for (ptrdiff_t j = to; j < keys; j++)
            s[j] = -(REAL)INFINITY;
        bool started = room->most[row + i] > -(REAL)INFINITY;
        REAL shrinks = OF(powers)(s, keys, room->most + row + i, room->sum + row + i);
        REAL *y = e->y + i * e->y_row;
        if (started && shrinks != 1)
            _Pragma("GCC ivdep") for (ptrdiff_t d = 0; d < how->v_size; d++) y[d] *= shrinks;
    }
}

/* Rows of sums over the sums of the weights, in the result's own type. */
static void OF(finish_rows)(const Attention *how, const OF(Room) *room, ptrdiff_t rows, REAL *y, ptrdiff_t y_row, void *out,
                            ptrdiff_t at) {
    for (ptrdiff_t i = 0; i < rows; i++) {
        REAL *row = y + i * y_row, sum = room->sum[i], over = 1 / sum;
        bool lost = sum == 0 || (how->lost == FORGIVEN && sum != sum);
        if (lost)
            for (ptrdiff_t d = 0; d < how->v_size; d++)
                row[d] = how->lost == UNKNOWN ? (REAL)NAN : 0;
        else
            _Pragma("GCC ivdep") for (ptrdiff_t d = 0; d < how->v_size; d++) row[d] *= over;
        if (how->type == 2)
            float_row_to_half((const float *)(void *)row, (uint16_t *)out + at + i * how->y.row, how->v_size);
        else if (how->type == 3)
            float_row_to_brain((const float *)(void *)row, (uint16_t *)out + at + i * how->y.row, how->v_size);
    }
}

/* The queries row..row + rows of a head, against all the keys that they see. */
static void OF(item)(const AttentionCall *call, ptrdiff_t batch, ptrdiff_t head, ptrdiff_t row, ptrdiff_t rows, char *scratch) {
    const Attention *how = call->how;
    ptrdiff_t kv = head / how->group, total = how->past + how->keys, all = total, position = how->past + row;
    if (call->valid) {
        ptrdiff_t valid = OF(limit)((ptrdiff_t)call->valid[batch], -((ptrdiff_t)1 << 40), (ptrdiff_t)1 << 40);
        all = OF(limit)(valid, 0, total);
        position = valid - how->queries + row;
    }
    OF(Room) room;
    OF(room)(how, scratch, &room);
    OF(Rows) q = OF(rows)(call->q, how->type, batch * how->q.batch + head * how->q.head + row * how->q.row, how->q.row, rows,
                          how->size, room.q);
    ptrdiff_t y_at = batch * how->y.batch + head * how->y.head + row * how->y.row;
    ptrdiff_t mask_at = batch * how->mask.batch + head * how->mask.head + row * how->mask.row;
    OF(Epilogue) e = {how->type < 2 ? (REAL *)call->y + y_at : room.y, how->type < 2 ? how->y.row : how->v_size, NULL, 0, 0, 1, 0,
                      false};
    bool packed = rows > FEW;
    ptrdiff_t at_once = how->right < 0 ? QUERIES : QUERIES / 2; /* smaller blocks leave more keys out that none of them sees */
    for (ptrdiff_t i = 0; i < rows; i++) {
        room.most[i] = -(REAL)INFINITY, room.sum[i] = 0;
        memset(e.y + i * e.y_row, 0, (size_t)how->v_size * sizeof(REAL));
    }
    ptrdiff_t end = OF(seen)(how, position + rows - 1, all).to;
    for (ptrdiff_t first = OF(seen)(how, position, all).from, keys; first < end; first += keys) {
        ptrdiff_t own = first - how->past;
        keys = lesser(KEYS, lesser(end, own < 0 ? how->past : end) - first);
        ptrdiff_t cache = batch * (how->heads / how->group) + kv;
        OF(Rows) k = own < 0 ? OF(rows)(call->past_k, how->type, (cache * how->past + first) * how->size, how->size, keys,
                                        how->size, room.k)
                             : OF(rows)(call->k, how->type, batch * how->k.batch + kv * how->k.head + own * how->k.row,
                                        how->k.row, keys, how->size, room.k);
        OF(Rows) v = own < 0 ? OF(rows)(call->past_v, how->type, (cache * how->past + first) * how->v_size, how->v_size, keys,
                                        how->v_size, room.v)
                             : OF(rows)(call->v, how->type, batch * how->v.batch + kv * how->v.head + own * how->v.row,
                                        how->v.row, keys, how->v_size, room.v);
        if (packed) {
            OF(pack)(k.at, 1, k.row, how->size, keys, room.k_panels);
            OF(pack)(v.at, v.row, 1, keys, how->v_size, room.v_panels);
        }
        for (ptrdiff_t i = 0, n; i < rows; i += n) {
            n = lesser(at_once, rows - i);
            ptrdiff_t some_keys = lesser(keys, OF(seen)(how, position + i + n - 1, all).to - first);
            if (some_keys <= 0 || OF(seen)(how, position + i, all).from >= first + keys)
                continue;
            OF(Rows) some = {q.at + i * q.row, q.row};
            OF(Epilogue) part = OF(from)(&e, i, 0);
            OF(scores)(&some, n, &k, some_keys, how->size, packed ? room.k_panels : NULL, (REAL)how->scale, room.scores);
            OF(weigh)(call, mask_at + i * how->mask.row, position + i, all, n, first, some_keys, &room, i, &part);
            OF(results)(room.scores, n, &v, some_keys, how->v_size, packed ? keys : 0, room.v_panels, &part);
        }
    }
    OF(finish_rows)(how, &room, rows, e.y, e.y_row, call->y, y_at);
}

static int OF(items)(const void *args, ptrdiff_t begin, ptrdiff_t end, void *scratch) {
    const AttentionCall *call = args;
    const Attention *how = call->how;
    ptrdiff_t pieces_of = pieces(how->queries, how->rows);
    for (ptrdiff_t i = begin; i < end; i++) {
        ptrdiff_t row = i % pieces_of * how->rows, head = i / pieces_of;
        OF(item)(call, head / how->heads, head % how->heads, row, lesser(how->rows, how->queries - row), scratch);
    }
    return 0;
}
