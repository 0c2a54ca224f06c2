/* Rows of operands that repeat, side by side. */
#include "hot/chain.h"
#include <stdint.h>
#include <string.h>

#define SPREAD(type)                                                                                                      \
    static void spread_##type(const char *x, ptrdiff_t along, int repeats, char *y_, ptrdiff_t rows, ptrdiff_t n) {       \
        type *restrict y = (type *)y_;                                                                                    \
        for (ptrdiff_t r = 0; r < rows; r++, y += n) {                                                                    \
            const type *row = (const type *)(x + r * along);                                                              \
            if (repeats) {                                                                                                \
                type one = row[0];                                                                                        \
                for (ptrdiff_t i = 0; i < n; i++)                                                                         \
                    y[i] = one;                                                                                           \
            } else if (n == 8)                                                                                            \
                memcpy(y, row, 8 * sizeof(type));                                                                         \
            else                                                                                                          \
                memcpy(y, row, (size_t)n * sizeof(type));                                                                 \
        }                                                                                                                 \
    }
SPREAD(uint16_t)
SPREAD(uint32_t)
SPREAD(uint64_t)

const ChainLoops LOOPS(chain) = {{[2] = spread_uint16_t, [4] = spread_uint32_t, [8] = spread_uint64_t}};
