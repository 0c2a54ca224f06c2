/* Which instruction set the hot loops run on: picked once, when a module of kernels is imported.
   INTERP_ISA=baseline or avx2 forces one that the machine has. */
#ifndef INTERP_ISA_H
#define INTERP_ISA_H
#include <stdlib.h>
#include <string.h>

#define JOINED_(a, b) a##_##b
#define JOINED(a, b) JOINED_(a, b)
/* The name of a table of loops for the instruction set that is being compiled: LOOPS(pool) is pool_avx2. */
#define LOOPS(family) JOINED(family, ISA)

static inline int isa_has_avx2(void) {
#if defined(__x86_64__)
    const char *forced = getenv("INTERP_ISA");
    if (forced && !strcmp(forced, "baseline"))
        return 0;
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
#else
    return 0;
#endif
}

/* The table of a family for this machine: PICKED(pool) is &pool_avx2 or &pool_baseline. */
#if defined(__x86_64__)
#define PICKED(family) (isa_has_avx2() ? &family##_avx2 : &family##_baseline)
#else
#define PICKED(family) (&family##_baseline)
#endif
#endif
