/* Elements as keys, the largest of them, and the k largest; sums and products up to each element. */
#include "hot/order.h"
#include "half.h"

#define EACH(n) _Pragma("GCC ivdep") for (ptrdiff_t i = 0; i < (n); i++)
#define SMALLER(a, b) ((a) < (b) ? (a) : (b))
enum { BLOCK = ORDER_BLOCK, DIGITS = ORDER_DIGITS };
typedef uint16_t half, brain;

/* Keys. Negative numbers are ordered against their bits; those of integers are shifted to signed ones. */

static inline int32_t real_key_int32_t(float x) {
    int32_t bits;
    x += 0.f; /* no negative zero */
    memcpy(&bits, &x, 4);
    return bits ^ ((bits >> 31) & INT32_MAX);
}

static inline int64_t real_key_int64_t(double x) {
    int64_t bits;
    x += 0.;
    memcpy(&bits, &x, 8);
    return bits ^ ((bits >> 63) & INT64_MAX);
}

#define REAL_KEYS(type, real, key, VALUE, most)                                                                    \
    static void keys_##type(const void *x_, ptrdiff_t stride, ptrdiff_t n, int falling, int nan_most, void *to) {  \
        const type *x = x_;                                                                                        \
        const key flip = falling ? -1 : 0, nan = nan_most ? most : ~most;                                          \
        key *keys = to;                                                                                            \
        if (stride == 1)                                                                                           \
            EACH(n) {                                                                                              \
                real v = VALUE(x[i]);                                                                              \
                keys[i] = v == v ? real_key_##key(v) ^ flip : nan;                                                 \
            }                                                                                                      \
        else                                                                                                       \
            for (ptrdiff_t i = 0; i < n; i++) {                                                                    \
                real v = VALUE(x[i * stride]);                                                                     \
                keys[i] = v == v ? real_key_##key(v) ^ flip : nan;                                                 \
            }                                                                                                      \
    }
#define AS_IT_IS(v) (v)
REAL_KEYS(float, float, int32_t, AS_IT_IS, INT32_MAX)
REAL_KEYS(double, double, int64_t, AS_IT_IS, INT64_MAX)
REAL_KEYS(half, float, int32_t, half_to_float, INT32_MAX)
REAL_KEYS(brain, float, int32_t, brain_to_float, INT32_MAX)

#define WHOLE_KEYS(type, key, sign)                                                                                \
    static void keys_##type(const void *x_, ptrdiff_t stride, ptrdiff_t n, int falling, int nan_most, void *to) {  \
        const type *x = x_;                                                                                        \
        const key flip = falling ? -1 : 0;                                                                         \
        key *keys = to;                                                                                            \
        if (stride == 1)                                                                                           \
            EACH(n) keys[i] = ((key)x[i] ^ sign) ^ flip;                                                           \
        else                                                                                                       \
            for (ptrdiff_t i = 0; i < n; i++)                                                                      \
                keys[i] = ((key)x[i * stride] ^ sign) ^ flip;                                                      \
    }
WHOLE_KEYS(int8_t, int32_t, 0)
WHOLE_KEYS(uint8_t, int32_t, 0)
WHOLE_KEYS(int16_t, int32_t, 0)
WHOLE_KEYS(uint16_t, int32_t, 0)
WHOLE_KEYS(int32_t, int32_t, 0)
WHOLE_KEYS(uint32_t, int32_t, INT32_MIN)
WHOLE_KEYS(int64_t, int64_t, 0)
WHOLE_KEYS(uint64_t, int64_t, INT64_MIN)

/* The largest: that of a block first, and its place once the best block is known. */

#define FOUND(key, least)                                                                                          \
    static int64_t find_##key(OrderKeys load, const void *x, ptrdiff_t size, ptrdiff_t n, int falling, int last) { \
        key room[BLOCK], best = least;                                                                             \
        ptrdiff_t block = 0, m;                                                                                    \
        for (ptrdiff_t at = 0; at < n; at += BLOCK) {                                                              \
            key most = least;                                                                                      \
            m = SMALLER(n - at, BLOCK);                                                                            \
            load((const char *)x + at * size, 1, m, falling, 1, room);                                             \
            EACH(m) most = room[i] > most ? room[i] : most;                                                        \
            if (most > best || (last && most == best))                                                             \
                best = most, block = at;                                                                           \
        }                                                                                                          \
        m = SMALLER(n - block, BLOCK);                                                                             \
        load((const char *)x + block * size, 1, m, falling, 1, room);                                              \
        for (ptrdiff_t i = 0; i < m; i++)                                                                          \
            if (room[last ? m - 1 - i : i] == best)                                                                \
                return block + (last ? m - 1 - i : i);                                                             \
        return 0;                                                                                                  \
    }                                                                                                              \
    static void find_rows_##key(OrderKeys load, const void *x, ptrdiff_t size, ptrdiff_t stride, ptrdiff_t n,      \
                                ptrdiff_t m, int falling, int last, int64_t *at) {                                 \
        key room[BLOCK], best[BLOCK];                                                                              \
        load(x, 1, m, falling, 1, best);                                                                           \
        EACH(m) at[i] = 0;                                                                                         \
        for (ptrdiff_t k = 1; k < n; k++) {                                                                        \
            load((const char *)x + k * stride * size, 1, m, falling, 1, room);                                     \
            if (last)                                                                                              \
                EACH(m) at[i] = room[i] >= best[i] ? k : at[i];                                                    \
            else                                                                                                   \
                EACH(m) at[i] = room[i] > best[i] ? k : at[i];                                                     \
            EACH(m) best[i] = room[i] > best[i] ? room[i] : best[i];                                               \
        }                                                                                                          \
    }
FOUND(int32_t, INT32_MIN)
FOUND(int64_t, INT64_MIN)

/* The k largest. A heap keeps the best so far, the least of them at its root; blocks without anything better are passed over.
   Where k is large all are sorted digit by digit, which keeps equals in order. */

#define TOP(key, bits, unsigned_key)                                                                               \
    typedef struct { key value; int64_t at; } key##_ranked;                                                        \
    static inline int key##_worse(key##_ranked a, key##_ranked b) {                                                \
        return a.value < b.value || (a.value == b.value && a.at > b.at);                                           \
    }                                                                                                              \
    static void key##_sink(key##_ranked *heap, ptrdiff_t n, ptrdiff_t i) {                                         \
        key##_ranked moved = heap[i];                                                                              \
        for (ptrdiff_t child; (child = 2 * i + 1) < n; i = child) {                                                \
            if (child + 1 < n && key##_worse(heap[child + 1], heap[child]))                                        \
                child++;                                                                                           \
            if (!key##_worse(heap[child], moved))                                                                  \
                break;                                                                                             \
            heap[i] = heap[child];                                                                                 \
        }                                                                                                          \
        heap[i] = moved;                                                                                           \
    }                                                                                                              \
    static void key##_kept(OrderKeys load, const char *x, ptrdiff_t size, ptrdiff_t stride, ptrdiff_t n, ptrdiff_t k, \
                           int falling, int64_t *to, key##_ranked *heap) {                                         \
        key room[BLOCK];                                                                                           \
        ptrdiff_t held = 0;                                                                                        \
        for (ptrdiff_t at = 0; at < n; at += BLOCK) {                                                              \
            ptrdiff_t m = SMALLER(n - at, BLOCK), j = 0;                                                           \
            load(x + at * stride * size, stride, m, falling, !falling, room);                                      \
            for (; j < m && held < k; j++) {                                                                       \
                heap[held++] = (key##_ranked){room[j], at + j};                                                    \
                if (held == k)                                                                                     \
                    for (ptrdiff_t i = k / 2; i-- > 0;)                                                            \
                        key##_sink(heap, k, i);                                                                    \
            }                                                                                                      \
            key most = room[0];                                                                                    \
            EACH(m) most = room[i] > most ? room[i] : most;                                                        \
            if (held < k || most <= heap[0].value)                                                                 \
                continue;                                                                                          \
            for (; j < m; j++)                                                                                     \
                if (room[j] > heap[0].value) {                                                                     \
                    heap[0] = (key##_ranked){room[j], at + j};                                                     \
                    key##_sink(heap, k, 0);                                                                        \
                }                                                                                                  \
        }                                                                                                          \
        while (held) {                                                                                             \
            to[held - 1] = heap[0].at;                                                                             \
            heap[0] = heap[--held];                                                                                \
            key##_sink(heap, held, 0);                                                                             \
        }                                                                                                          \
    }                                                                                                              \
    static void key##_sorted(OrderKeys load, const char *x, ptrdiff_t size, ptrdiff_t stride, ptrdiff_t n, ptrdiff_t k, \
                             int falling, int64_t *to, key##_ranked *from) {                                       \
        key##_ranked *into = from + n, *other;                                                                     \
        ptrdiff_t counts[sizeof(key)][DIGITS];                                                                     \
        key room[BLOCK];                                                                                           \
        memset(counts, 0, sizeof counts);                                                                          \
        for (ptrdiff_t at = 0; at < n; at += BLOCK) {                                                              \
            ptrdiff_t m = SMALLER(n - at, BLOCK);                                                                  \
            load(x + at * stride * size, stride, m, falling, !falling, room);                                      \
            for (ptrdiff_t i = 0; i < m; i++) {                                                                    \
                unsigned_key v = ~((unsigned_key)room[i] ^ ((unsigned_key)1 << (bits - 1)));                       \
                from[at + i] = (key##_ranked){(key)v, at + i};                                                     \
                for (size_t d = 0; d < sizeof(key); d++)                                                           \
                    counts[d][(v >> (8 * d)) % DIGITS]++;                                                          \
            }                                                                                                      \
        }                                                                                                          \
        for (size_t d = 0; d < sizeof(key); d++) {                                                                 \
            ptrdiff_t *count = counts[d], sum = 0;                                                                 \
            if (count[((unsigned_key)from[0].value >> (8 * d)) % DIGITS] == n)                                     \
                continue;                                                                                          \
            for (int i = 0; i < DIGITS; i++) {                                                                     \
                ptrdiff_t c = count[i];                                                                            \
                count[i] = sum, sum += c;                                                                          \
            }                                                                                                      \
            for (ptrdiff_t i = 0; i < n; i++)                                                                      \
                into[count[((unsigned_key)from[i].value >> (8 * d)) % DIGITS]++] = from[i];                        \
            other = from, from = into, into = other;                                                               \
        }                                                                                                          \
        EACH(k) to[i] = from[i].at;                                                                                \
    }                                                                                                              \
    static void top_##key(OrderKeys load, const void *x, ptrdiff_t size, ptrdiff_t stride, ptrdiff_t n, ptrdiff_t k, \
                          int falling, int64_t *to, void *room) {                                                  \
        (order_sorts(n, k) ? key##_sorted : key##_kept)(load, x, size, stride, n, k, falling, to, room);           \
    }
TOP(int32_t, 32, uint32_t)
TOP(int64_t, 64, uint64_t)

/* Sums and products up to each element: of floats in double, of integers modulo their range. */

#define ACCUMULATED(kind, type, wide, OP, start)                                                                   \
    static void kind##_##type(const void *x_, void *y_, ptrdiff_t step, ptrdiff_t n, ptrdiff_t m, int exclusive) { \
        const type *x = x_;                                                                                        \
        type *y = y_;                                                                                              \
        wide to[BLOCK], one = start;                                                                               \
        if (m == 1) {                                                                                              \
            for (ptrdiff_t k = 0; k < n; k++, x += step, y += step) {                                              \
                wide with = one OP *x;                                                                             \
                *y = (type)(exclusive ? one : with);                                                               \
                one = with;                                                                                        \
            }                                                                                                      \
            return;                                                                                                \
        }                                                                                                          \
        EACH(m) to[i] = start;                                                                                     \
        for (ptrdiff_t k = 0; k < n; k++, x += step, y += step)                                                    \
            EACH(m) {                                                                                              \
                wide with = to[i] OP x[i];                                                                         \
                y[i] = (type)(exclusive ? to[i] : with);                                                           \
                to[i] = with;                                                                                      \
            }                                                                                                      \
    }
#define ACCUMULATIONS(type, wide) ACCUMULATED(sums, type, wide, +, 0) ACCUMULATED(products, type, wide, *, 1)
ACCUMULATIONS(float, double)
ACCUMULATIONS(double, double)
ACCUMULATIONS(uint32_t, uint32_t)
ACCUMULATIONS(uint64_t, uint64_t)
#define ACCUMULATE(kind)                                                                                           \
    {[0] = kind##_float, [1] = kind##_double, [8] = kind##_uint32_t, [9] = kind##_uint32_t, [10] = kind##_uint64_t, \
     [11] = kind##_uint64_t}

const OrderLoops LOOPS(order) = {
    .keys = {keys_float, keys_double, keys_half, keys_brain, keys_int8_t, keys_uint8_t, keys_int16_t, keys_uint16_t, keys_int32_t,
             keys_uint32_t, keys_int64_t, keys_uint64_t, keys_uint8_t},
    .find = {find_int32_t, find_int64_t},
    .find_rows = {find_rows_int32_t, find_rows_int64_t},
    .top = {top_int32_t, top_int64_t},
    .sums = ACCUMULATE(sums),
    .products = ACCUMULATE(products),
};
