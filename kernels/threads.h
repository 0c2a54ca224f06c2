/* The one pool of threads: who works for a running program, and how a loop is shared among them. The process has one,
   in the module threads; other files of kernels reach it through threads.pxd. */
#ifndef INTERP_THREADS_H
#define INTERP_THREADS_H
#include <stddef.h>

/* One contiguous range of a loop's items, in scratch of its own: 0, or a status. */
typedef int (*Task)(const void *args, ptrdiff_t begin, ptrdiff_t end, void *scratch);

/* `each` bytes of scratch for each of `threads` participants: number k has scratch + k * each. */
typedef struct Team {
    int threads;
    char *scratch;
    size_t each;
} Team;

/* The task over 0..count in contiguous ranges, on up to team->threads threads; the caller is one.

   `cost` is what one item takes on one thread, roughly and in nanoseconds: from it follows whether the loop is worth
   sharing. The ranges depend on count, cost and team->threads only and are begun in order. The first that fails ends
   the loop; the answer is 0 or the status of the lowest range that failed, the same in every run.

   A task may call share: that loop runs on the calling thread alone, in its scratch. A task must not fork. */
int share(const Team *team, Task task, const void *args, ptrdiff_t count, ptrdiff_t cost);

/* How many threads the pool has started. */
int workers(void);

#endif
