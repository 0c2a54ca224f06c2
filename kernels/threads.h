/* Who works for one running program, and the loop that they share. Implemented once a process, in thread_pool.c. */
#ifndef INTERP_THREADS_H
#define INTERP_THREADS_H
#include <stddef.h>

/* A task runs over begin..end with scratch of its own; 0 or a status. */
typedef int (*Task)(const void *args, ptrdiff_t begin, ptrdiff_t end, void *scratch);

/* `each` bytes of scratch for each of `threads` participants: number k has scratch + k * each. */
typedef struct Team {
    int threads;
    char *scratch;
    size_t each;
} Team;

/* The task over 0..count in ranges, on the caller and as many others as the loop is worth. `cost`: rough nanoseconds of one
   item. 0, or the status of the first range that failed. */
int share(const Team *team, Task task, const void *args, ptrdiff_t count, ptrdiff_t cost);

#endif
