/* Vectors of the four kinds of number that pools are folded in: read and written as any element type, compared, and every
   second lane taken. Sixteen-bit elements are folded as float and rounded to even on the way back. */
#ifndef INTERP_HOT_POOL_LANES_H
#define INTERP_HOT_POOL_LANES_H
#include <math.h>
#include <string.h>
#include "half.h"
#include "hot/pool.h"
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline))
#if defined(__AVX2__)
#define WIDTH 32
#else
#define WIDTH 16
#endif
#define VECTOR(bytes) __attribute__((vector_size(bytes)))

/* Element types; the last is a bfloat16 that was chosen among others, so that writing it needs no rounding. */
enum { FLOAT, DOUBLE, HALF, BRAIN, INT8, UINT8, CHOSEN_BRAIN };
static const ptrdiff_t size_of[] = {4, 8, 2, 2, 1, 1, 2};

typedef float lanes_float VECTOR(WIDTH);
typedef double lanes_double VECTOR(WIDTH);
typedef int8_t lanes_int8_t VECTOR(WIDTH);
typedef uint8_t lanes_uint8_t VECTOR(WIDTH);
typedef uint32_t bits_float VECTOR(WIDTH);
typedef uint64_t bits_double VECTOR(WIDTH);
typedef uint8_t bits_int8_t VECTOR(WIDTH);
typedef uint8_t bits_uint8_t VECTOR(WIDTH);
typedef uint16_t bits_half VECTOR(WIDTH / 2);
enum { LANES_float = WIDTH / 4, LANES_double = WIDTH / 8, LANES_int8_t = WIDTH, LANES_uint8_t = WIDTH };

/* Read from the middle backwards: all ones in the first bytes of a vector, zeros in the rest. */
static const uint8_t first_bytes[2 * WIDTH] = {[0 ... WIDTH - 1] = 0xff};

#define LOWEST_float (-INFINITY)
#define LOWEST_double (-(double)INFINITY)
#define LOWEST_int8_t INT8_MIN
#define LOWEST_uint8_t 0

/* The larger of two and of three; NaN where there is one (max of the processor gives its second operand then). */
#if defined(__AVX2__)
#define MAX_float(a, b) ((lanes_float)_mm256_max_ps((__m256)(a), (__m256)(b)))
#define MAX_double(a, b) ((lanes_double)_mm256_max_pd((__m256d)(a), (__m256d)(b)))
#define MAX_int8_t(a, b) ((lanes_int8_t)_mm256_max_epi8((__m256i)(a), (__m256i)(b)))
#define MAX_uint8_t(a, b) ((lanes_uint8_t)_mm256_max_epu8((__m256i)(a), (__m256i)(b)))
#define UNORDERED_float(a, b) ((bits_float)_mm256_cmp_ps((__m256)(a), (__m256)(b), _CMP_UNORD_Q))
#define UNORDERED_double(a, b) ((bits_double)_mm256_cmp_pd((__m256d)(a), (__m256d)(b), _CMP_UNORD_Q))
#elif defined(__SSE2__)
#define MAX_float(a, b) ((lanes_float)_mm_max_ps((__m128)(a), (__m128)(b)))
#define MAX_double(a, b) ((lanes_double)_mm_max_pd((__m128d)(a), (__m128d)(b)))
#define MAX_int8_t(a, b) ((lanes_int8_t)(_mm_max_epu8((__m128i)((a) ^ -128), (__m128i)((b) ^ -128)) ^ _mm_set1_epi8(-128)))
#define MAX_uint8_t(a, b) ((lanes_uint8_t)_mm_max_epu8((__m128i)(a), (__m128i)(b)))
#define UNORDERED_float(a, b) ((bits_float)_mm_cmpunord_ps((__m128)(a), (__m128)(b)))
#define UNORDERED_double(a, b) ((bits_double)_mm_cmpunord_pd((__m128d)(a), (__m128d)(b)))
#else
#define CHOSEN(kind, bits, a, b) ((kind)(((bits)(a) & (bits)((a) > (b))) | ((bits)(b) & ~(bits)((a) > (b)))))
#define MAX_float(a, b) CHOSEN(lanes_float, bits_float, a, b)
#define MAX_double(a, b) CHOSEN(lanes_double, bits_double, a, b)
#define MAX_int8_t(a, b) CHOSEN(lanes_int8_t, lanes_uint8_t, a, b)
#define MAX_uint8_t(a, b) CHOSEN(lanes_uint8_t, lanes_uint8_t, a, b)
#define UNORDERED_float(a, b) ((bits_float)((a) != (a)) | (bits_float)((b) != (b)))
#define UNORDERED_double(a, b) ((bits_double)((a) != (a)) | (bits_double)((b) != (b)))
#endif

/* Keeps a vector that is used twice in a register, where the compiler would load it twice: loads are what is short. */
#if defined(__SSE2__)
#define KEPT(v) __asm__("" : "+x"(v))
#else
#define KEPT(v)
#endif

#define LARGER_OF_REALS(real)                                                                   \
    INLINE lanes_##real larger_##real(lanes_##real a, lanes_##real b) {                         \
        KEPT(a);                                                                                \
        return (lanes_##real)((bits_##real)MAX_##real(a, b) | UNORDERED_##real(a, a));          \
    }                                                                                           \
    INLINE lanes_##real largest_##real(lanes_##real a, lanes_##real b, lanes_##real c) {        \
        KEPT(a);                                                                                \
        KEPT(b);                                                                                \
        lanes_##real most = MAX_##real(a, MAX_##real(b, c));                                    \
        return (lanes_##real)((bits_##real)most | UNORDERED_##real(a, b));                      \
    }
#define LARGER_OF_INTEGERS(real)                                                                \
    INLINE lanes_##real larger_##real(lanes_##real a, lanes_##real b) {                         \
        return MAX_##real(a, b);                                                                \
    }                                                                                           \
    INLINE lanes_##real largest_##real(lanes_##real a, lanes_##real b, lanes_##real c) {        \
        return MAX_##real(a, MAX_##real(b, c));                                                 \
    }
LARGER_OF_REALS(float)
LARGER_OF_REALS(double)
LARGER_OF_INTEGERS(int8_t)
LARGER_OF_INTEGERS(uint8_t)

/* Every second lane of a and b, from the first (evens) or the second (odds). With AVX2 it is so in each half of the vectors,
   which `ordered` puts right: it is cheaper to do that once, after folding. */
#if defined(__AVX2__)
INLINE lanes_float evens_float(lanes_float a, lanes_float b) {
    return (lanes_float)_mm256_shuffle_ps((__m256)a, (__m256)b, 0x88);
}
INLINE lanes_float odds_float(lanes_float a, lanes_float b) {
    return (lanes_float)_mm256_shuffle_ps((__m256)a, (__m256)b, 0xdd);
}
INLINE lanes_double evens_double(lanes_double a, lanes_double b) {
    return (lanes_double)_mm256_unpacklo_pd((__m256d)a, (__m256d)b);
}
INLINE lanes_double odds_double(lanes_double a, lanes_double b) {
    return (lanes_double)_mm256_unpackhi_pd((__m256d)a, (__m256d)b);
}
INLINE lanes_uint8_t evens_uint8_t(lanes_uint8_t a, lanes_uint8_t b) {
    __m256i low = _mm256_set1_epi16(0xff);
    return (lanes_uint8_t)_mm256_packus_epi16(_mm256_and_si256((__m256i)a, low), _mm256_and_si256((__m256i)b, low));
}
INLINE lanes_uint8_t odds_uint8_t(lanes_uint8_t a, lanes_uint8_t b) {
    return (lanes_uint8_t)_mm256_packus_epi16(_mm256_srli_epi16((__m256i)a, 8), _mm256_srli_epi16((__m256i)b, 8));
}
#define ORDERED(real)                                                                           \
    INLINE lanes_##real ordered_##real(lanes_##real v) {                                        \
        return (lanes_##real)_mm256_permute4x64_epi64((__m256i)v, 0xd8);                        \
    }                                                                                           \
    INLINE lanes_##real lows_##real(lanes_##real a, lanes_##real b) {                           \
        return (lanes_##real)_mm256_permute2x128_si256((__m256i)a, (__m256i)b, 0x20);           \
    }                                                                                           \
    INLINE lanes_##real highs_##real(lanes_##real a, lanes_##real b) {                          \
        return (lanes_##real)_mm256_permute2x128_si256((__m256i)a, (__m256i)b, 0x31);           \
    }
#else
#define SECOND(real, name, first)                                                               \
    INLINE lanes_##real name##_##real(lanes_##real a, lanes_##real b) {                         \
        lanes_##real v;                                                                         \
        for (int i = 0; i < LANES_##real / 2; i++)                                              \
            v[i] = a[2 * i + first], v[LANES_##real / 2 + i] = b[2 * i + first];                \
        return v;                                                                               \
    }
SECOND(float, evens, 0)
SECOND(float, odds, 1)
SECOND(double, evens, 0)
SECOND(double, odds, 1)
SECOND(uint8_t, evens, 0)
SECOND(uint8_t, odds, 1)
#define ORDERED(real)                                                                           \
    INLINE lanes_##real ordered_##real(lanes_##real v) {                                        \
        return v;                                                                               \
    }
#endif
ORDERED(float)
ORDERED(double)
ORDERED(int8_t)
ORDERED(uint8_t)
INLINE lanes_int8_t evens_int8_t(lanes_int8_t a, lanes_int8_t b) {
    return (lanes_int8_t)evens_uint8_t((lanes_uint8_t)a, (lanes_uint8_t)b);
}
INLINE lanes_int8_t odds_int8_t(lanes_int8_t a, lanes_int8_t b) {
    return (lanes_int8_t)odds_uint8_t((lanes_uint8_t)a, (lanes_uint8_t)b);
}

/* One element as a number, and back. */
#define ELEMENT_AS(real)                                                                        \
    INLINE real get_##real(const void *x, ptrdiff_t i, int element) {                           \
        switch (element) {                                                                      \
        case FLOAT: return (real)((const float *)x)[i];                                         \
        case DOUBLE: return (real)((const double *)x)[i];                                       \
        case HALF: return (real)half_to_float(((const uint16_t *)x)[i]);                        \
        case BRAIN: return (real)brain_to_float(((const uint16_t *)x)[i]);                      \
        case INT8: return (real)((const int8_t *)x)[i];                                         \
        default: return (real)((const uint8_t *)x)[i];                                          \
        }                                                                                       \
    }                                                                                           \
    INLINE void put_##real(void *y, ptrdiff_t i, real v, int element) {                         \
        switch (element) {                                                                      \
        case FLOAT: ((float *)y)[i] = (float)v; break;                                          \
        case DOUBLE: ((double *)y)[i] = (double)v; break;                                       \
        case HALF: ((uint16_t *)y)[i] = float_to_half((float)v); break;                         \
        case BRAIN:                                                                             \
        case CHOSEN_BRAIN: ((uint16_t *)y)[i] = float_to_brain((float)v); break;                \
        case INT8: ((int8_t *)y)[i] = (int8_t)v; break;                                         \
        default: ((uint8_t *)y)[i] = (uint8_t)v; break;                                         \
        }                                                                                       \
    }
ELEMENT_AS(float)
ELEMENT_AS(double)
ELEMENT_AS(int8_t)
ELEMENT_AS(uint8_t)

/* A vector of elements from x + i on, and back; `own` is the element type that needs no conversion. */
#define VECTOR_AS(real, own)                                                                    \
    INLINE lanes_##real load_##real(const void *x, ptrdiff_t i, int element) {                  \
        lanes_##real v;                                                                         \
        if (element == own)                                                                     \
            memcpy(&v, (const real *)x + i, sizeof v);                                          \
        else if (!widened_##real(&v, x, i, element))                                            \
            for (int k = 0; k < LANES_##real; k++)                                              \
                v[k] = get_##real(x, i + k, element);                                           \
        return v;                                                                               \
    }                                                                                           \
    INLINE void store_##real(void *y, ptrdiff_t i, lanes_##real v, int element) {               \
        if (element == own)                                                                     \
            memcpy((real *)y + i, &v, sizeof v);                                                \
        else if (!narrowed_##real(y, i, v, element))                                            \
            for (int k = 0; k < LANES_##real; k++)                                              \
                put_##real(y, i + k, v[k], element);                                            \
    }                                                                                           \
    INLINE lanes_##real load_some_##real(const void *x, ptrdiff_t i, ptrdiff_t n, int element) { \
        char room[WIDTH] = {0};                                                                 \
        memcpy(room, (const char *)x + i * size_of[element], (size_t)(n * size_of[element]));   \
        return load_##real(room, 0, element);                                                   \
    }                                                                                           \
    INLINE void store_some_##real(void *y, ptrdiff_t i, lanes_##real v, ptrdiff_t n, int element) { \
        char room[WIDTH];                                                                       \
        store_##real(room, 0, v, element);                                                      \
        memcpy((char *)y + i * size_of[element], room, (size_t)(n * size_of[element]));         \
    }                                                                                           \
    INLINE lanes_##real all_##real(real x) {                                                    \
        lanes_##real v;                                                                         \
        for (int i = 0; i < LANES_##real; i++)                                                  \
            v[i] = x;                                                                           \
        return v;                                                                               \
    }

INLINE int widened_float(lanes_float *v, const void *x, ptrdiff_t i, int element) {
    bits_half h;
    memcpy(&h, (const uint16_t *)x + i, sizeof h);
#if defined(__F16C__)
    if (element == BRAIN) {
        *v = (lanes_float)_mm256_slli_epi32(_mm256_cvtepu16_epi32((__m128i)h), 16);
        return 1;
    }
    if (element == HALF) {
        *v = (lanes_float)_mm256_cvtph_ps((__m128i)h);
        return 1;
    }
#endif
    return 0;
}

INLINE int narrowed_float(void *y, ptrdiff_t i, lanes_float v, int element) {
    bits_half h;
#if defined(__F16C__)
    if (element == HALF) {
        h = (bits_half)_mm256_cvtps_ph((__m256)v, _MM_FROUND_TO_NEAREST_INT);
        memcpy((uint16_t *)y + i, &h, sizeof h);
        return 1;
    }
#endif
    if (element == CHOSEN_BRAIN) {
        h = __builtin_convertvector((bits_float)v >> 16, bits_half);
        memcpy((uint16_t *)y + i, &h, sizeof h);
        return 1;
    }
    if (element == BRAIN) {
        bits_float b = (bits_float)v, nan = UNORDERED_float(v, v), even = (b + 0x7fff + ((b >> 16) & 1)) >> 16;
        h = __builtin_convertvector((even & ~nan) | (((b >> 16) | 0x40) & nan), bits_half);
        memcpy((uint16_t *)y + i, &h, sizeof h);
        return 1;
    }
    return 0;
}

#define NOT_CONVERTED(real)                                                                     \
    INLINE int widened_##real(lanes_##real *v, const void *x, ptrdiff_t i, int element) {       \
        return 0;                                                                               \
    }                                                                                           \
    INLINE int narrowed_##real(void *y, ptrdiff_t i, lanes_##real v, int element) {             \
        return 0;                                                                               \
    }
NOT_CONVERTED(double)
NOT_CONVERTED(int8_t)
NOT_CONVERTED(uint8_t)
VECTOR_AS(float, FLOAT)
VECTOR_AS(double, DOUBLE)
VECTOR_AS(int8_t, INT8)
VECTOR_AS(uint8_t, UINT8)
#endif
