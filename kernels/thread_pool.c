/* The pool of threads.h. A shared loop is a job in one of a few slots; its caller and whoever is free claim the
   ranges in order. The caller waits for those who claimed one and for nobody else, so a worker that the system has put
   aside costs nothing. Workers without a job spin for a moment, then sleep.

   All that a worker needs to know before it joins is in the job's ticket: generation, seats left, ranges left. One
   compare-and-swap takes a seat and a range, and fails if the slot has been given to another job meanwhile; only then
   is the rest of the job read, which from there on cannot change until the worker has left. */
#include "threads.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#if defined __SSE__
#include <xmmintrin.h>
#endif

enum {
    SLOTS = 8,          /* jobs at once; a caller beyond that works alone */
    MOST_THREADS = 256, /* participants of one job, its caller included */
    MOST_RANGES = 8,    /* for each participant: enough that one that is late does not matter */
    WORTH_NS = 8000,    /* a loop of less is not shared */
    RANGE_NS = 4000,    /* what a range holds at least */
    WAKE_NS = 40000,    /* the work for which a sleeper is woken: that costs the caller 10 us and takes 40 */
    SPIN_NS = 50000,    /* how long a worker looks for its next job before it sleeps */
    YIELD_NS = 20000,   /* how long a caller looks for the last ranges before it yields its core */
};

/* A ticket: generation (40 bits), seats left (12), ranges left (12). */
#define RANGE ((uint64_t)1)
#define SEAT ((uint64_t)1 << 12)
#define GENERATION ((uint64_t)1 << 24)
#define FIELD ((uint64_t)0xfff)

typedef struct Loop {
    Task task;
    const void *args;
    char *scratch;
    size_t each;
    ptrdiff_t count, work; /* items, nanoseconds */
    int threads, ranges;
    unsigned modes;
} Loop;

typedef struct Job {
    _Alignas(64) _Atomic uint64_t ticket;
    _Alignas(64) Loop loop;
    _Alignas(64) _Atomic uint64_t failure; /* range and status of the lowest that failed */
    atomic_int left;                       /* workers that joined and are through */
    atomic_bool taken;
} Job;

static struct {
    Job jobs[SLOTS];
    _Alignas(64) atomic_uint bell; /* rung for each new job */
    _Alignas(64) atomic_int spinning;
    atomic_int asleep;
    _Atomic ptrdiff_t missed; /* nanoseconds of work that sleepers were not woken for */
    _Alignas(64) atomic_int started;
    atomic_int limit; /* lowered where the system refuses a thread */
    bool watched;     /* whether fork is told */
    pthread_mutex_t mutex;
    pthread_cond_t wake;
} pool = {.limit = MOST_THREADS - 1, .mutex = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

/* What this thread is doing for a job, if it is inside one. */
static _Thread_local struct {
    bool inside;
    int seat;
    const char *team;
} here;

static void relax(void) {
#if defined __SSE__
    _mm_pause();
#elif defined __aarch64__
    __asm__ volatile("yield");
#endif
}

/* Rounding and denormals as the caller has them: its workers must compute the same bits. */
static unsigned get_modes(void) {
#if defined __SSE__
    return _mm_getcsr();
#else
    return 0;
#endif
}

static void set_modes(unsigned modes) {
#if defined __SSE__
    _mm_setcsr(modes);
#else
    (void)modes;
#endif
}

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int seats(uint64_t ticket) {
    return (int)(ticket / SEAT & FIELD);
}

static int ranges(uint64_t ticket) {
    return (int)(ticket & FIELD);
}

static char *scratch_of(const Loop *loop, int seat) {
    return loop->scratch ? loop->scratch + (size_t)seat * loop->each : NULL;
}

/* The first count % ranges ranges are longer by one item. */
static int run_range(const Loop *loop, int range, void *scratch) {
    ptrdiff_t size = loop->count / loop->ranges, longer = loop->count % loop->ranges;
    ptrdiff_t begin = range * size + (range < longer ? range : longer);
    return loop->task(loop->args, begin, begin + size + (range < longer), scratch);
}

/* Nobody begins another range; of several failures the lowest range's stays. */
static void fail(Job *job, int range, int status) {
    uint64_t mine = (uint64_t)range << 32 | (uint32_t)status, lowest = atomic_load(&job->failure);
    while (mine < lowest && !atomic_compare_exchange_weak(&job->failure, &lowest, mine))
        ;
    uint64_t ticket = atomic_load(&job->ticket);
    while (ranges(ticket) && !atomic_compare_exchange_weak(&job->ticket, &ticket, ticket - (ticket & FIELD)))
        ;
}

/* The next range that nobody has begun, or -1. */
static int claim(Job *job) {
    uint64_t ticket = atomic_load_explicit(&job->ticket, memory_order_relaxed);
    while (ranges(ticket))
        if (atomic_compare_exchange_weak(&job->ticket, &ticket, ticket - RANGE))
            return job->loop.ranges - ranges(ticket);
    return -1;
}

static void participate(Job *job, int seat, int range) {
    char *scratch = scratch_of(&job->loop, seat);
    here.seat = seat;
    here.team = job->loop.scratch;
    for (; range >= 0; range = claim(job)) {
        int status = run_range(&job->loop, range, scratch);
        if (status)
            fail(job, range, status);
    }
}

/* Takes a seat and a range in `job`, works until no range is left, and leaves; false if there was none to take. */
static bool help(Job *job) {
    uint64_t ticket = atomic_load_explicit(&job->ticket, memory_order_relaxed);
    do {
        if (!ranges(ticket) || !seats(ticket))
            return false;
    } while (!atomic_compare_exchange_weak(&job->ticket, &ticket, ticket - SEAT - RANGE));
    atomic_fetch_sub(&pool.spinning, 1);
    set_modes(job->loop.modes);
    participate(job, job->loop.threads - seats(ticket), job->loop.ranges - ranges(ticket));
    atomic_fetch_add(&pool.spinning, 1);
    atomic_fetch_add_explicit(&job->left, 1, memory_order_release);
    return true;
}

static bool help_any(void) {
    for (int k = 0; k < SLOTS; k++)
        if (help(&pool.jobs[k]))
            return true;
    return false;
}

/* Until the bell is rung again: first spinning, then asleep. Yields between, for the core may be the caller's. */
static void rest(unsigned rung) {
    for (int64_t until = now() + SPIN_NS; now() < until; sched_yield())
        for (int k = 0; k < 128; k++) {
            if (atomic_load_explicit(&pool.bell, memory_order_acquire) != rung)
                return;
            relax();
        }
    pthread_mutex_lock(&pool.mutex);
    atomic_fetch_sub(&pool.spinning, 1);
    atomic_fetch_add(&pool.asleep, 1);
    while (atomic_load(&pool.bell) == rung)
        pthread_cond_wait(&pool.wake, &pool.mutex);
    atomic_fetch_sub(&pool.asleep, 1);
    atomic_fetch_add(&pool.spinning, 1);
    pthread_mutex_unlock(&pool.mutex);
}

static void *work(void *nothing) {
    here.inside = true;
    for (;;) {
        unsigned rung = atomic_load(&pool.bell); /* read before looking, so that no job is missed */
        if (!help_any())
            rest(rung);
    }
    return nothing;
}

static void before_fork(void) {
    pthread_mutex_lock(&pool.mutex);
}

static void after_fork_in_parent(void) {
    pthread_mutex_unlock(&pool.mutex);
}

/* The child has none of the threads: neither workers nor the callers whose jobs the slots hold. */
static void after_fork_in_child(void) {
    for (int k = 0; k < SLOTS; k++) {
        atomic_store(&pool.jobs[k].ticket, 0);
        atomic_store(&pool.jobs[k].taken, false);
    }
    atomic_store(&pool.spinning, 0);
    atomic_store(&pool.asleep, 0);
    atomic_store(&pool.started, 0);
    atomic_store(&pool.limit, MOST_THREADS - 1);
    pthread_mutex_init(&pool.mutex, NULL);
    pthread_cond_init(&pool.wake, NULL);
}

/* Signals belong to the program's own threads, but for those that a fault raises in the thread itself. */
static void block_signals(sigset_t *before) {
    sigset_t all;
    sigfillset(&all);
    sigdelset(&all, SIGSEGV);
    sigdelset(&all, SIGBUS);
    sigdelset(&all, SIGFPE);
    sigdelset(&all, SIGILL);
    sigdelset(&all, SIGABRT);
    pthread_sigmask(SIG_SETMASK, &all, before);
}

static bool start_one(const pthread_attr_t *detached) {
    pthread_t thread;
    if (pthread_create(&thread, detached, work, NULL))
        return false;
    atomic_fetch_add(&pool.started, 1);
    atomic_fetch_add(&pool.spinning, 1);
    return true;
}

/* Starts what is missing to `wanted` workers, as far as the system allows. */
static void start(int wanted) {
    sigset_t before;
    pthread_attr_t detached;
    pthread_mutex_lock(&pool.mutex);
    if (!pool.watched)
        pool.watched = !pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    block_signals(&before);
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    while (atomic_load(&pool.started) < wanted && atomic_load(&pool.started) < atomic_load(&pool.limit))
        if (!start_one(&detached))
            atomic_store(&pool.limit, atomic_load(&pool.started));
    pthread_attr_destroy(&detached);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_mutex_unlock(&pool.mutex);
}

/* Whether sleepers are worth their waking for `work` more, a short loop alone or many in a row. */
static bool worth_waking(ptrdiff_t work) {
    if (work < WAKE_NS && atomic_fetch_add(&pool.missed, work) + work < WAKE_NS)
        return false;
    atomic_store(&pool.missed, 0);
    return true;
}

/* Wakes sleepers where fewer than `wanted` workers are up and free. */
static void wake(int wanted, ptrdiff_t work) {
    int asleep = atomic_load(&pool.asleep), missing = wanted - atomic_load(&pool.spinning);
    if (!asleep || missing <= 0 || !worth_waking(work))
        return;
    pthread_mutex_lock(&pool.mutex); /* whoever counts as asleep has heard the bell or is waiting now */
    pthread_mutex_unlock(&pool.mutex);
    if (missing >= asleep)
        pthread_cond_broadcast(&pool.wake);
    else
        while (missing--)
            pthread_cond_signal(&pool.wake);
}

static Job *take_slot(void) {
    for (int k = 0; k < SLOTS; k++) {
        Job *job = &pool.jobs[k];
        if (!atomic_load_explicit(&job->taken, memory_order_relaxed) && !atomic_exchange(&job->taken, true))
            return job;
    }
    return NULL;
}

/* With all seats but the caller's and all ranges but the first, which the caller begins with. */
static void open_job(Job *job, const Loop *loop) {
    uint64_t generation = atomic_load_explicit(&job->ticket, memory_order_relaxed) / GENERATION + 1;
    job->loop = *loop;
    atomic_store_explicit(&job->failure, UINT64_MAX, memory_order_relaxed);
    atomic_store_explicit(&job->left, 0, memory_order_relaxed);
    atomic_store(&job->ticket, generation * GENERATION + (uint64_t)(loop->threads - 1) * SEAT
                                   + (uint64_t)(loop->ranges - 1) * RANGE);
    atomic_fetch_add(&pool.bell, 1);
}

/* Until all who joined have left. No range is left to claim, so nobody joins any more. */
static void wait_for_last(Job *job) {
    int joined = job->loop.threads - 1 - seats(atomic_load(&job->ticket));
    if (atomic_load_explicit(&job->left, memory_order_acquire) == joined)
        return;
    for (int64_t until = now() + YIELD_NS;;) {
        for (int k = 0; k < 32; k++) {
            if (atomic_load_explicit(&job->left, memory_order_acquire) == joined)
                return;
            relax();
        }
        if (now() >= until)
            sched_yield();
    }
}

static int together(Job *job, const Loop *loop) {
    if (atomic_load_explicit(&pool.started, memory_order_relaxed) < loop->threads - 1
        && atomic_load_explicit(&pool.started, memory_order_relaxed) < atomic_load(&pool.limit))
        start(loop->threads - 1);
    open_job(job, loop);
    wake(loop->threads - 1, loop->work);
    here.inside = true;
    participate(job, 0, 0);
    here.inside = false;
    wait_for_last(job);
    uint64_t failure = atomic_load(&job->failure);
    atomic_store_explicit(&job->taken, false, memory_order_release);
    return failure == UINT64_MAX ? 0 : (int)(uint32_t)failure;
}

static int alone(const Loop *loop) {
    int seat = here.inside && here.team == loop->scratch ? here.seat : 0, status = 0;
    char *scratch = scratch_of(loop, seat);
    for (int range = 0; range < loop->ranges && !status; range++)
        status = run_range(loop, range, scratch);
    return status;
}

static ptrdiff_t least(ptrdiff_t a, ptrdiff_t b) {
    return a < b ? a : b;
}

/* How many threads the loop is worth, and in how many ranges: the one place where that is decided. */
static void cut(Loop *loop, int threads, ptrdiff_t cost) {
    ptrdiff_t most = least(threads, MOST_THREADS);
    loop->threads = loop->ranges = 1;
    if (__builtin_mul_overflow(loop->count, cost > 0 ? cost : 1, &loop->work))
        loop->work = PTRDIFF_MAX;
    if (most < 2 || loop->count < 2 || loop->work < WORTH_NS)
        return;
    loop->threads = (int)least(least(most, loop->count), loop->work / RANGE_NS);
    loop->ranges = (int)least(loop->threads * least(MOST_RANGES, loop->work / RANGE_NS / loop->threads), loop->count);
}

int share(const Team *team, Task task, const void *args, ptrdiff_t count, ptrdiff_t cost) {
    if (count <= 0)
        return 0;
    ptrdiff_t work; /* most loops are small: those cost no more than a call */
    if (!here.inside && !__builtin_mul_overflow(count, cost > 0 ? cost : 1, &work) && (team->threads < 2 || work < WORTH_NS))
        return task(args, 0, count, team->scratch);
    Loop loop = {.task = task, .args = args, .scratch = team->scratch, .each = team->each, .count = count};
    cut(&loop, team->threads, cost);
    Job *job = loop.threads > 1 && !here.inside ? take_slot() : NULL;
    if (!job)
        return alone(&loop);
    loop.modes = get_modes();
    return together(job, &loop);
}

int workers(void) {
    return atomic_load(&pool.started);
}
