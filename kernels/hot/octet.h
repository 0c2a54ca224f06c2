/* Eight channels of one place as a vector: what the blocked layout is made of. */
#ifndef INTERP_HOT_OCTET_H
#define INTERP_HOT_OCTET_H
#include <stddef.h>
#include <string.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif
#pragma GCC diagnostic ignored "-Wpsabi" /* octets are passed to inlined functions only */

#define INLINE static inline __attribute__((always_inline))
enum { OCTET = 8 };
typedef float octet __attribute__((vector_size(32)));
typedef int octet_bits __attribute__((vector_size(32)));

INLINE octet octet_at(const float *x) {
    octet v;
    memcpy(&v, x, sizeof v);
    return v;
}

INLINE void put_octet(float *y, octet v) {
    memcpy(y, &v, sizeof v);
}

INLINE octet octet_of(float x) {
    return (octet){x, x, x, x, x, x, x, x};
}
#endif
