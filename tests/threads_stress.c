/* Drives the pool without Python in the way: as a library for test_threads.py, or as a program beside thread_pool.c
   (cc -DMAIN -fsanitize=thread) for the sanitizer to watch. */
#include "threads.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined __SSE__
#include <xmmintrin.h>
#endif

typedef int (*Share)(const Team *, Task, const void *, ptrdiff_t, ptrdiff_t);

typedef struct Call {
    Share share;
    Team team;
    ptrdiff_t count, cost, failing; /* item `failing` and every one after it fails with its number + 1 */
    int rounds, wrong;
    int *seen;
} Call;

static int visit(const void *args, ptrdiff_t begin, ptrdiff_t end, void *scratch) {
    const Call *c = args;
    volatile int64_t *own = scratch; /* nobody else writes it while this range runs */
    for (ptrdiff_t i = begin; i < end; i++) {
        *own = i;
        if (i >= c->failing)
            return (int)(i + 1);
        c->seen[i] += *own == i;
    }
    return 0;
}

/* Rounds in which an item was not visited exactly once, or the status was another. */
static void *rounds(void *args) {
    Call *c = args;
    for (int r = 0; r < c->rounds; r++) {
        memset(c->seen, 0, (size_t)c->count * sizeof(int));
        int wrong = c->share(&c->team, visit, c, c->count, c->cost) != (c->failing < c->count ? c->failing + 1 : 0);
        for (ptrdiff_t i = 0; i < c->count && i < c->failing; i++)
            wrong |= c->seen[i] != 1;
        c->wrong += wrong;
    }
    return NULL;
}

/* Wrong rounds of `callers` threads that each share loops of its own. */
int stress(Share share, int callers, int threads, ptrdiff_t count, ptrdiff_t cost, ptrdiff_t failing, int times) {
    Call *calls = calloc((size_t)callers, sizeof *calls);
    pthread_t *ids = calloc((size_t)callers, sizeof *ids);
    int wrong = 0;
    for (int k = 0; k < callers; k++) {
        Team team = {threads, calloc((size_t)threads, 64), 64};
        calls[k] = (Call){share, team, count, cost, failing, times, 0, calloc((size_t)count, sizeof(int))};
        pthread_create(&ids[k], NULL, rounds, &calls[k]);
    }
    for (int k = 0; k < callers; k++) {
        pthread_join(ids[k], NULL);
        wrong += calls[k].wrong;
        free(calls[k].team.scratch);
        free(calls[k].seen);
    }
    free(calls);
    free(ids);
    return wrong;
}

static int outer(const void *args, ptrdiff_t begin, ptrdiff_t end, void *scratch) {
    const Call *c = args;
    int status = 0;
    for (ptrdiff_t i = begin; i < end && !status; i++) {
        Call inner = *c;
        inner.seen = c->seen + i * c->count;
        status = c->share(&c->team, visit, &inner, c->count, c->cost);
    }
    return *(int64_t *)scratch == c->count - 1 ? status : -1; /* the loop inside ran in this participant's scratch */
}

/* Wrong rounds of a loop whose items share loops themselves. */
int nested(Share share, int threads, ptrdiff_t count, int times) {
    Team team = {threads, calloc((size_t)threads, 64), 64};
    int wrong = 0;
    for (int r = 0; r < times; r++) {
        Call c = {share, team, count, 100000, count, 1, 0, calloc((size_t)(count * count), sizeof(int))};
        int bad = share(&team, outer, &c, count, 1000000);
        for (ptrdiff_t i = 0; i < count * count; i++)
            bad |= c.seen[i] != 1;
        wrong += bad != 0;
        free(c.seen);
    }
    free(team.scratch);
    return wrong;
}

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

typedef struct Meeting {
    atomic_int *here;
    int awaited, modes;
} Meeting;

/* Ends when everybody awaited has come: so one thread cannot do it all before the others are up. */
static int meet(const void *args, ptrdiff_t begin, ptrdiff_t end, void *scratch) {
    const Meeting *m = args;
    (void)begin, (void)end, (void)scratch;
    atomic_fetch_add(m->here, 1);
    for (int64_t late = now() + 2000000000; atomic_load(m->here) < m->awaited;)
        if (now() > late)
            return 1;
    return 0;
}

/* Nanoseconds of `times` loops in which `threads` threads only meet, each after `pause` nanoseconds of quiet. */
int latency(Share share, int threads, int64_t pause, int times, int64_t *spent) {
    Team team = {threads, NULL, 0};
    int alone = 0;
    for (int k = 0; k < times; k++) {
        atomic_int here = 0;
        Meeting meeting = {&here, threads, 0};
        for (int64_t until = now() + pause; now() < until;)
            ; /* busy, so that the caller's own core does not fall asleep */
        int64_t begin = now();
        /* said to be long, for a sleeper is not woken for less */
        alone += share(&team, meet, &meeting, threads, 1000000);
        spent[k] = now() - begin;
    }
    return alone;
}

#if defined __SSE__
static int look(const void *args, ptrdiff_t begin, ptrdiff_t end, void *scratch) {
    const Meeting *m = args;
    int status = meet(m, begin, end, scratch);
    return status ? status : (int)(_mm_getcsr() & ~0x3fu) != m->modes;
}

/* Whether every thread flushes denormals when, and only when, the caller does. */
int modes(Share share, int threads) {
    Team team = {threads, NULL, 0};
    unsigned before = _mm_getcsr() & ~0x3fu;
    int wrong = 0;
    for (int round = 0; round < 4; round++) {
        atomic_int here = 0;
        unsigned chosen = round % 2 ? before : before ^ 0x8040;
        Meeting meeting = {&here, threads, (int)chosen};
        _mm_setcsr(chosen);
        wrong |= share(&team, look, &meeting, threads, 1000000);
    }
    _mm_setcsr(before);
    return wrong;
}
#else
int modes(Share share, int threads) {
    (void)share, (void)threads;
    return 0;
}
#endif

#ifdef MAIN
int main(void) {
    int wrong = 0;
    for (int round = 0; round < 3; round++) {
        wrong += stress(share, 1, 2, 1000, 100, 1000, 300);
        wrong += stress(share, 8, 4, 97, 10000, 97, 300);
        wrong += stress(share, 12, 3, 97, 10000, 41, 300);
        wrong += nested(share, 4, 31, 30);
        wrong += modes(share, 2);
        struct timespec quiet = {0, 1000000}; /* long enough for the workers to fall asleep */
        nanosleep(&quiet, NULL);
    }
    return wrong != 0 || workers() != 3;
}
#endif
