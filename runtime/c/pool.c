/* Thread pool that shares a kernel's tasks, and the decision whether to share a launch.
 *
 * Idle workers spin for a short time after each launch, then they sleep (condition variable).
 * Sharing a launch with spinning workers costs a few atomic operations. If launches run
 * concurrently, one of them gets the workers, and the others run on their callers' threads
 * without waiting. The atomics are builtins of GCC and Clang, because C99 has none. */
#include "internal.h"

#include <stdlib.h>

/* Waking a sleeping thread takes about ALONE_NS, so that shorter launches run on one thread.
 * Launches of SHARED_NS or more are shared. For a launch between the two, TRIALS runs on one
 * thread and further shared runs are timed, and run_job compares them. */
enum { ALONE_NS = 5000, SHARED_NS = 100000, TRIALS = 3 };
/* Iterations of an idle worker's spin loop before it sleeps. */
enum { SPINS = 4096 };
/* Guided self-scheduling: a thread takes remaining tasks / (threads * PARTS_PER_THREAD) at a
 * time. */
enum { PARTS_PER_THREAD = 2 };
/* `state` packs three numbers: the job's number, the workers that may still join it (in PLACE
 * units), and the workers in it. */
#define PLACE ((uint64_t)1 << 16)
#define NUMBER ((uint64_t)1 << 32)

/* Shared word with padding to two adjacent cache lines, against false sharing. */
typedef struct word {
    uint64_t value;
    char apart[120];
} word;

struct kgen_pool {
    word state, next, busy, sleepers, awake, stop;
    word renewed, generation; /* kgen_os_forks at start and end of the last reset */
    const kgen_job *job;      /* written by the thread that holds `busy` */
    int num_threads;          /* threads of a launch, including the caller's */
    int most, count; /* limit on workers, which the system may lower; and workers started */
    os_thread *workers;
    os_lock lock;
    os_signal wake;
};

static uint64_t get(const word *of)
{
    return __atomic_load_n(&of->value, __ATOMIC_SEQ_CST);
}

static void put(word *of, uint64_t value)
{
    __atomic_store_n(&of->value, value, __ATOMIC_SEQ_CST);
}

static void pause_a_moment(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#else
    __asm__ volatile("yield");
#endif
}

/* ---- tasks ----------------------------------------------------------------------------------- */

/* Kernels take one pointer per argument, then the range: one function type per count, up to
 * MAX_POINTERS. */
#define LIST1(of) of(0)
#define LIST2(of) LIST1(of), of(1)
#define LIST3(of) LIST2(of), of(2)
#define LIST4(of) LIST3(of), of(3)
#define LIST5(of) LIST4(of), of(4)
#define LIST6(of) LIST5(of), of(5)
#define LIST7(of) LIST6(of), of(6)
#define LIST8(of) LIST7(of), of(7)
#define LIST9(of) LIST8(of), of(8)
#define LIST10(of) LIST9(of), of(9)
#define LIST11(of) LIST10(of), of(10)
#define LIST12(of) LIST11(of), of(11)
#define LIST13(of) LIST12(of), of(12)
#define LIST14(of) LIST13(of), of(13)
#define LIST15(of) LIST14(of), of(14)
#define LIST16(of) LIST15(of), of(15)
#define LIST17(of) LIST16(of), of(16)
#define LIST18(of) LIST17(of), of(17)
#define LIST19(of) LIST18(of), of(18)
#define LIST20(of) LIST19(of), of(19)
#define LIST21(of) LIST20(of), of(20)
#define LIST22(of) LIST21(of), of(21)
#define LIST23(of) LIST22(of), of(22)
#define LIST24(of) LIST23(of), of(23)
#define TYPE(i) void *
#define POINTER(i) p[i]
#define CASE(n)                                                                                   \
    case n: {                                                                                     \
        typedef void(KGEN_KERNEL_CALL * kernel)(LIST##n(TYPE), int64_t, int64_t);                 \
        ((kernel)function)(LIST##n(POINTER), begin, end);                                         \
        break;                                                                                    \
    }

void kgen_run_tasks(const kgen_launch *of, void *const *p, int64_t begin, int64_t end)
{
    uintptr_t function = (uintptr_t)of->function;
    switch (of->num_pointers) {
        CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8)
        CASE(9) CASE(10) CASE(11) CASE(12) CASE(13) CASE(14) CASE(15) CASE(16)
        CASE(17) CASE(18) CASE(19) CASE(20) CASE(21) CASE(22) CASE(23) CASE(24)
    default:
        break; /* check_extents refuses a launch without arguments */
    }
}

/* Run tasks of the job until none is left: many at a time at first and single ones at the end, so
 * that all threads finish at about the same time (guided self-scheduling). */
static void take_tasks(kgen_pool *from)
{
    const kgen_job *job = from->job;
    uint64_t tasks = (uint64_t)job->launch->num_tasks;
    uint64_t parts = (uint64_t)from->num_threads * PARTS_PER_THREAD;
    uint64_t begin = get(&from->next);
    while (begin < tasks) {
        uint64_t part = (tasks - begin) / parts, end = begin + (part > 0 ? part : 1);
        if (!__atomic_compare_exchange_n(&from->next.value, &begin, end, false, __ATOMIC_SEQ_CST,
                                         __ATOMIC_SEQ_CST))
            continue;
        kgen_run_tasks(job->launch, job->pointers, (int64_t)begin, (int64_t)end);
        begin = get(&from->next);
    }
}

/* ---- workers --------------------------------------------------------------------------------- */

/* Wait for a job with a number other than `last`, or for the end of the pool: spin, then sleep. */
static uint64_t await_job(kgen_pool *from, uint64_t last)
{
    for (int turn = 0; turn < SPINS; turn++) {
        uint64_t now = get(&from->state);
        if (now / NUMBER != last || get(&from->stop))
            return now;
        pause_a_moment();
        if (get(&from->awake))
            turn = 0;
    }
    kgen_os_lock_take(&from->lock);
    /* Increment the count before reading the state: a launch writes the state before it reads the
     * count, so that no wake-up is lost. */
    __atomic_fetch_add(&from->sleepers.value, 1, __ATOMIC_SEQ_CST);
    while (get(&from->state) / NUMBER == last && !get(&from->stop))
        kgen_os_signal_await(&from->wake, &from->lock);
    __atomic_fetch_sub(&from->sleepers.value, 1, __ATOMIC_SEQ_CST);
    kgen_os_lock_release(&from->lock);
    return get(&from->state);
}

static void work(void *argument)
{
    kgen_pool *from = (kgen_pool *)argument;
    uint64_t last = get(&from->state) / NUMBER;
    while (!get(&from->stop)) {
        uint64_t now = await_job(from, last), number = now / NUMBER;
        /* Take one of the places, if one is left and the job is still the same. */
        while (now / NUMBER == number && now / PLACE % (NUMBER / PLACE) > 0) {
            if (__atomic_compare_exchange_n(&from->state.value, &now, now - PLACE + 1, false,
                                            __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
                take_tasks(from);
                __atomic_fetch_sub(&from->state.value, 1, __ATOMIC_SEQ_CST);
                break;
            }
        }
        last = number;
    }
}

/* Start all workers, or as many as the system allows. The caller holds `busy`. */
static void make_workers(kgen_pool *of)
{
    while (of->count < of->most) {
        if (kgen_os_thread_start(&of->workers[of->count], work, of))
            of->count++;
        else
            of->most = of->count;
    }
}

static void wake_sleepers(kgen_pool *of)
{
    if (get(&of->sleepers) > 0) {
        kgen_os_lock_take(&of->lock);
        kgen_os_signal_all(&of->wake);
        kgen_os_lock_release(&of->lock);
    }
}

/* Reset the pool in a child of fork(2): its workers do not exist there, and a launch of the
 * parent that holds the pool never ends. */
static void renew(kgen_pool *of)
{
    uint64_t now = kgen_os_forks, last = get(&of->renewed);
    if (get(&of->generation) == now)
        return;
    if (last != now && __atomic_compare_exchange_n(&of->renewed.value, &last, now, false,
                                                   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
        put(&of->busy, 0);
        put(&of->sleepers, 0);
        put(&of->awake, 0);
        of->count = 0;
        of->most = of->num_threads - 1;
        kgen_os_lock_create(&of->lock);
        kgen_os_signal_create(&of->wake);
        put(&of->generation, now);
    }
    while (get(&of->generation) != now)
        pause_a_moment();
}

/* Run all tasks on this thread and the workers. Return false, with nothing done, if the workers
 * are busy. */
static bool share(kgen_pool *with, const kgen_job *job)
{
    renew(with);
    if (__atomic_exchange_n(&with->busy.value, 1, __ATOMIC_SEQ_CST))
        return false;
    make_workers(with);
    with->job = job;
    put(&with->next, 0);
    uint64_t places = (uint64_t)with->count, others = (uint64_t)job->launch->num_tasks - 1;
    if (others < places)
        places = others;
    put(&with->state, (get(&with->state) / NUMBER + 1) * NUMBER + places * PLACE);
    wake_sleepers(with);
    take_tasks(with);
    /* Let no further worker join, and wait for the workers that have. */
    __atomic_fetch_and(&with->state.value, ~(NUMBER - PLACE), __ATOMIC_SEQ_CST);
    while (get(&with->state) % PLACE > 0)
        pause_a_moment();
    put(&with->busy, 0);
    return true;
}

kgen_pool *kgen_pool_create(int num_threads)
{
    kgen_pool *made = (kgen_pool *)calloc(1, sizeof *made);
    kgen_os_watch_forks();
    if (made != NULL)
        made->workers = (os_thread *)calloc((size_t)num_threads, sizeof *made->workers);
    if (made == NULL || made->workers == NULL) {
        free(made);
        kgen_no_memory(sizeof *made);
        return NULL;
    }
    made->num_threads = num_threads;
    made->most = num_threads - 1;
    made->renewed.value = made->generation.value = kgen_os_forks;
    kgen_os_lock_create(&made->lock);
    kgen_os_signal_create(&made->wake);
    return made;
}

void kgen_pool_destroy(kgen_pool *threads)
{
    if (threads == NULL)
        return;
    /* In a child after fork the workers do not exist, and the lock may be held for ever. */
    if (get(&threads->generation) == kgen_os_forks) {
        kgen_os_lock_take(&threads->lock);
        put(&threads->stop, 1);
        kgen_os_signal_all(&threads->wake);
        kgen_os_lock_release(&threads->lock);
        for (int i = 0; i < threads->count; i++)
            kgen_os_thread_join(&threads->workers[i]);
        kgen_os_signal_destroy(&threads->wake);
        kgen_os_lock_destroy(&threads->lock);
    }
    free(threads->workers);
    free(threads);
}

/* ---- sharing --------------------------------------------------------------------------------- */

static int64_t note_of(const int64_t *of)
{
    return __atomic_load_n(of, __ATOMIC_RELAXED);
}

static void note(kgen_launch *of, int64_t *least, int64_t taken)
{
    int64_t before = note_of(least);
    if (before == 0 || taken < before)
        __atomic_store_n(least, taken > 0 ? taken : 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&of->trials, 1, __ATOMIC_RELAXED);
}

/* Run all tasks of a job. Return whether they were shared. */
static bool run_job(kgen_pool *threads, const kgen_job *job, int64_t shared_trials)
{
    kgen_launch *of = job->launch;
    int64_t tasks = of->num_tasks;
    if (threads->num_threads == 1 || tasks == 1) {
        kgen_run_tasks(of, job->pointers, 0, tasks);
        return false;
    }
    /* Time trials on one thread first, then shared trials if `alone` is in between, then use the
     * faster way. */
    int64_t count = note_of(&of->trials), alone = note_of(&of->alone);
    int64_t shared = note_of(&of->shared);
    bool decides = ALONE_NS <= alone && alone < SHARED_NS;
    bool tries_alone = count < TRIALS;
    bool tries_shared = !tries_alone && decides && count < TRIALS + shared_trials;
    bool pays = alone >= SHARED_NS || (shared > 0 && shared < alone / 10 * 9);
    bool is_trial = tries_alone || tries_shared;
    int64_t start = is_trial ? kgen_os_now() : 0;
    if (tries_alone || !(tries_shared || pays) || !share(threads, job)) {
        kgen_run_tasks(of, job->pointers, 0, tasks);
        if (tries_alone)
            note(of, &of->alone, kgen_os_now() - start);
        return false;
    }
    if (tries_shared)
        note(of, &of->shared, kgen_os_now() - start);
    return true;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

/* Keep idle workers spinning instead of sleeping, or stop doing so. */
static void keep_awake(kgen_pool *threads, bool awake)
{
    renew(threads);
    __atomic_fetch_add(&threads->awake.value, awake ? 1 : UINT64_MAX, __ATOMIC_SEQ_CST);
}

/* Run the jobs of each step, which end before ends[step], and write the nanoseconds of each step
 * unless `nanoseconds` is NULL. Workers are kept spinning from the start if the last run shared a
 * job. A single job does not keep them spinning. */
static void run_steps(kgen_jobs *all, const int64_t *ends, size_t num_steps, int64_t *nanoseconds)
{
    bool awake = all->count > 1 && __atomic_load_n(&all->is_shared, __ATOMIC_RELAXED);
    bool shares = false;
    if (awake)
        keep_awake(all->threads, true);
    const kgen_job *job = all->jobs;
    for (size_t step = 0; step < num_steps; step++) {
        int64_t start = nanoseconds != NULL ? kgen_os_now() : 0;
        for (; job < all->jobs + ends[step]; job++)
            if (run_job(all->threads, job, all->shared_trials))
                shares = true;
        if (nanoseconds != NULL)
            nanoseconds[step] = kgen_os_now() - start;
    }
    if (awake)
        keep_awake(all->threads, false);
    if (all->count > 1)
        __atomic_store_n(&all->is_shared, shares, __ATOMIC_RELAXED);
}

void kgen_jobs_run(kgen_jobs *all)
{
    run_steps(all, &all->count, 1, NULL);
}

void kgen_jobs_profile(kgen_jobs *all, const int64_t *ends, size_t num_steps, int64_t *nanoseconds)
{
    run_steps(all, ends, num_steps, nanoseconds);
}
