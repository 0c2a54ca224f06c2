/* Rows of one operand or another by a condition: both are read, so that compilers make vectors of the loops. */
#include "hot/choice.h"
#include <stdint.h>
#include <string.h>

/* The result may overwrite an operand, element by element. */
#define EACH _Pragma("GCC ivdep") for (ptrdiff_t i = 0; i < n; i++)

typedef struct { uint64_t low, high; } pair; /* 16 bytes */

#define CHOOSE(type)                                                                                                        \
    static void choose_##type(const char *c, const char *x_, const char *y_, char *z_, ptrdiff_t n, int repeats) {          \
        const type *x = (const type *)x_, *y = (const type *)y_;                                                            \
        type *z = (type *)z_;                                                                                               \
        if (n == 0)                                                                                                         \
            return;                                                                                                         \
        if (repeats & CONDITION) {                                                                                          \
            const type *from = *c ? x : y;                                                                                  \
            if (repeats & (*c ? FIRST : SECOND)) {                                                                          \
                type v = *from;                                                                                             \
                EACH z[i] = v;                                                                                              \
            } else                                                                                                          \
                memmove(z, from, (size_t)n * sizeof(type));                                                                 \
        } else if (repeats & FIRST && repeats & SECOND) {                                                                   \
            type u = *x, v = *y;                                                                                            \
            EACH z[i] = c[i] ? u : v;                                                                                       \
        } else if (repeats & FIRST) {                                                                                       \
            type u = *x;                                                                                                    \
            EACH { type v = y[i]; z[i] = c[i] ? u : v; }                                                                    \
        } else if (repeats & SECOND) {                                                                                      \
            type v = *y;                                                                                                    \
            EACH { type u = x[i]; z[i] = c[i] ? u : v; }                                                                    \
        } else                                                                                                              \
            EACH { type u = x[i], v = y[i]; z[i] = c[i] ? u : v; }                                                          \
    }

CHOOSE(uint8_t)
CHOOSE(uint16_t)
CHOOSE(uint32_t)
CHOOSE(uint64_t)
CHOOSE(pair)

const ChoiceLoops LOOPS(choice) = {{choose_uint8_t, choose_uint16_t, choose_uint32_t, choose_uint64_t, choose_pair}};
